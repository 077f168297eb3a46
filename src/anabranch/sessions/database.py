"""One database behind sessions and jobs: SQLite in the knowledge base folder, or PostgreSQL.

Every change is one short transaction. Leases are read off the database's clock, so that replicas
whose own clocks differ agree on who holds one.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection, Double, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from anabranch.errors import ConfigurationError, MissingExtraError, StorageError
from anabranch.private_files import begin_private

# How long a writer waits for another one, in SQLite.
SECONDS_BUSY = 30
FILE = "sessions.sqlite"
# Drivers for the names that addresses commonly carry.
_DRIVERS = {
    "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg",
    "sqlite": "sqlite+aiosqlite",
}  # fmt: skip


class now(FunctionElement[float]):  # noqa: N801 - reads as the SQL function that it is
    """Seconds since 1970 when the statement runs, by the clock of the database."""

    type = Double()
    inherit_cache = True


@compiles(now, "sqlite")
def _now_in_sqlite(element: now, compiler: Any, **options: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(now, "postgresql")
def _now_in_postgresql(element: now, compiler: Any, **options: Any) -> str:
    # Not now(): that is when the transaction began.
    return "extract(epoch from clock_timestamp())::double precision"


def new_id() -> str:
    """An id that nobody can guess and no replica makes twice."""
    return secrets.token_hex(16)


def as_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


class Database:
    """Open; closed with ``close``."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    @classmethod
    async def open(cls, address: str, *, folder: Path) -> Self:
        """The database at ``address``, brought up to date; SQLite in ``folder`` where it is empty.

        Raises ConfigurationError for an address that cannot be used, StorageError where the
        database cannot be reached.
        """
        url = _url(address) if address else URL.create(
            _DRIVERS["sqlite"], database=str(folder / FILE)
        )  # fmt: skip
        try:
            engine = create_async_engine(url, pool_pre_ping=True)
        except ModuleNotFoundError as error:
            raise MissingExtraError(
                f"{url.render_as_string()!r} needs {error.name!r}, which is not installed: "
                "pip install 'anabranch[postgres]'"
            ) from None
        if url.get_backend_name() == "sqlite":
            _make_file(url)
            _prepare_sqlite(engine)
        database = cls(engine)
        try:
            await database._migrate()
        except StorageError:
            await database.close()
            raise
        return database

    async def _migrate(self) -> None:
        from anabranch.sessions.migrate import upgrade

        async with self.changing() as connection:
            await connection.run_sync(upgrade)

    @asynccontextmanager
    async def changing(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that is committed with the block. Raises StorageError."""
        with _refusals():
            async with self._engine.begin() as connection:
                yield connection

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A connection that only reads, each statement by itself. Raises StorageError."""
        with _refusals():
            async with self._engine.connect() as connection:
                yield await connection.execution_options(isolation_level="AUTOCOMMIT")

    async def close(self) -> None:
        await self._engine.dispose()


class _refusals:  # noqa: N801 - used as a block
    """What the database refuses as StorageError, without the values of the statement."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        # Some drivers raise OSError where the server is not there.
        if isinstance(error, SQLAlchemyError | OSError):
            cause = getattr(error, "orig", None) or error
            raise StorageError(
                f"The database of sessions and jobs refused: {cause}. Check ANABRANCH_DATABASE_URL, "
                "or the disk."
            ) from error


def _url(address: str) -> URL:
    try:
        url = make_url(address)
    except ArgumentError:
        # Without the address: it may hold a password.
        raise ConfigurationError(
            "database_url is not the address of a database; it looks like "
            "postgresql://user:password@host/name."
        ) from None
    if url.drivername in _DRIVERS:
        return url.set(drivername=_DRIVERS[url.drivername])
    if url.drivername in _DRIVERS.values():
        return url
    raise ConfigurationError(
        f"database_url begins with {url.drivername!r}; it is postgresql://… or sqlite://…."
    )


def _make_file(url: URL) -> None:
    """Makes the file, for its owner's eyes; SQLite gives its journals the same permissions."""
    name = url.database or ""
    parent = Path(name).absolute().parent
    if not parent.is_dir():
        raise StorageError(
            f"There is no folder {str(parent)!r} for the database of sessions and jobs. Make it, or "
            "change ANABRANCH_DATABASE_URL."
        )
    if name not in ("", ":memory:") and not name.startswith("file:"):
        with _refusals():
            begin_private(Path(name))


def _prepare_sqlite(engine: AsyncEngine) -> None:
    @event.listens_for(engine.sync_engine, "connect")
    def _connected(connection: Any, record: Any) -> None:
        # SQLAlchemy begins transactions then (below), not the driver, which does it too late.
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {SECONDS_BUSY * 1000}")
        cursor.execute("PRAGMA foreign_keys = ON")
        _turn_to_wal(cursor)
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def _begun(connection: Connection) -> None:
        # At once as a writer: one that reads first and then writes is refused instead of waiting
        # where another one wrote in between.
        if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
            connection.exec_driver_sql("BEGIN IMMEDIATE")


def _turn_to_wal(cursor: Any) -> None:
    """Turns a new file to WAL, or waits for whoever else is writing to it.

    The turning itself never waits: servers that start together on a new file, each turning it,
    would be refused ("database is locked"). A transaction that begins as a writer does wait.
    """
    last = time.monotonic() + SECONDS_BUSY
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > last:
                raise
        cursor.execute("BEGIN IMMEDIATE")
        cursor.execute("ROLLBACK")
