"""Run by Alembic: migrates the connection that ``migrate.config`` was given."""

from alembic import context

from anabranch.sessions.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    # SQLite cannot change a column: Alembic then makes the table anew.
    render_as_batch=True,
    # The transaction is that of the caller.
    transactional_ddl=False,
)
context.run_migrations()
