"""Brings a database up to date, when it is opened."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

# Any number, as long as nobody else locks with it: "anabra" in ASCII.
_LOCK = 0x616E61627261
MIGRATIONS = Path(__file__).parent / "migrations"


def upgrade(connection: Connection) -> None:
    """Run the migrations that ``connection``'s database lacks, in its transaction.

    Replicas that start together wait for one another: SQLite's transaction is a writer from its
    beginning, PostgreSQL has a lock for it.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    command.upgrade(config(connection), "head")


def config(connection: Connection) -> Config:
    """What Alembic's commands need to work on ``connection``."""
    made = Config()
    made.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    made.attributes["connection"] = connection
    return made
