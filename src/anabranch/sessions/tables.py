"""The tables. A change here needs a migration: a test compares the two."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.engine import Dialect

# Named, so that a migration can name what it changes.
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class _Sought(TypeDecorator[str]):
    """Text that callers make up to look for it. No row has NUL, and PostgreSQL refuses to look for
    it: another character that no row has is looked for in its place."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return value and value.replace("\0", "\ufffd")


# Seconds since 1970 by the clock of the database, which all replicas share.
_TIME = Double

sessions = Table(
    "sessions",
    metadata,
    Column("id", _Sought(32), primary_key=True),
    Column("owner", String(200), nullable=False),
    Column("title", Text, nullable=False),
    Column("collections", JSON(none_as_null=True)),
    Column("within", JSON(none_as_null=True)),
    Column("principals", JSON(none_as_null=True)),
    Column("note", Text, nullable=False),
    Column("noted", Integer, nullable=False),
    # The position of the last message: counted up by the statement that reserves a place.
    Column("messages", Integer, nullable=False),
    Column("created_at", _TIME, nullable=False),
    Column("updated_at", _TIME, nullable=False),
    Index(None, "owner", "updated_at"),
)

messages = Table(
    "messages",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("role", String(16), nullable=False),
    Column("text", Text, nullable=False),
    Column("outcome", JSON(none_as_null=True)),
    Column("created_at", _TIME, nullable=False),
    UniqueConstraint("session_id", "position"),
)

pending_hitl = Table(
    "pending_hitl",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("clarification_id", _Sought(64), nullable=False),
    Column("message_id", ForeignKey("messages.id", ondelete="CASCADE"), nullable=False),
    Column("question", Text, nullable=False),
    Column("prompt", Text, nullable=False),
    Column("options", JSON, nullable=False),
    Column("route", String(32), nullable=False),
    Column("status", String(32), nullable=False),
    Column("replies", JSON, nullable=False),
    Column("snapshot", JSON, nullable=False),
    Column("state", String(16), nullable=False),
    Column("answered_by", String(32)),
    Column("created_at", _TIME, nullable=False),
    Column("expires_at", _TIME, nullable=False),
    Column("claim", String(32)),
    Column("leased_until", _TIME),
    Index(None, "session_id", "clarification_id"),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", _Sought(32), primary_key=True),
    Column("owner", String(200), nullable=False),
    Column("collection", Text, nullable=False),
    Column("allowed", JSON, nullable=False),
    Column("principals", JSON(none_as_null=True)),
    Column("state", String(16), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("cancelling", Boolean, nullable=False),
    Column("error", Text, nullable=False),
    Column("created_at", _TIME, nullable=False),
    Column("updated_at", _TIME, nullable=False),
    Column("claim", String(32)),
    Column("leased_until", _TIME),
    Index(None, "state", "created_at"),
    Index(None, "owner", "created_at"),
)

job_files = Table(
    "job_files",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("job_id", ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("path", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("status", String(16), nullable=False),
    Column("reason", Text, nullable=False),
    Column("pages", Integer),
    Column("chunks", Integer, nullable=False),
    UniqueConstraint("job_id", "position"),
)

# When a key has its whole allowance of requests again.
key_rates = Table(
    "key_rates",
    metadata,
    Column("key_id", String(64), primary_key=True),
    Column("full_at", _TIME, nullable=False),
)
