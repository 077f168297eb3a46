"""Sessions, open questions and jobs in SQLite or PostgreSQL."""
