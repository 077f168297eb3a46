"""The database: its address, its migrations, its clock."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import time
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, Pool, event, select

from anabranch.errors import ConfigurationError, StorageError
from anabranch.sessions.database import FILE, Database, now
from anabranch.sessions.tables import metadata


async def test_a_new_database_has_exactly_the_tables_of_the_code(database: Database) -> None:
    def differences(connection: Connection) -> list[object]:
        return compare_metadata(MigrationContext.configure(connection), metadata)  # type: ignore[return-value]

    async with database.reading() as connection:
        assert await connection.run_sync(differences) == []


async def test_replicas_that_start_together_migrate_once(address: str, tmp_path: Path) -> None:
    opened = await asyncio.gather(*(Database.open(address, folder=tmp_path) for _ in range(4)))
    for database in opened:
        async with database.reading() as connection:
            assert await connection.scalar(select(1)) == 1
        await database.close()


async def test_a_new_file_that_another_server_is_writing_is_waited_for(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        other = sqlite3.connect(tmp_path / FILE, isolation_level=None, check_same_thread=False)
        stack.callback(other.close)
        other.execute("BEGIN IMMEDIATE")

        def traced(statement: str) -> None:
            # The other one ends when it is waited for, and not before.
            if statement == "BEGIN IMMEDIATE" and other.in_transaction:
                other.rollback()

        def connected(connection: Any, record: object) -> None:
            connection.run_async(lambda driver: driver.set_trace_callback(traced))

        event.listen(Pool, "connect", connected, insert=True)
        stack.callback(event.remove, Pool, "connect", connected)
        await (await Database.open("", folder=tmp_path)).close()
    with closing(sqlite3.connect(tmp_path / FILE)) as opened:
        assert opened.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_its_clock_is_in_seconds_since_1970(database: Database) -> None:
    async with database.reading() as connection:
        told = await connection.scalar(select(now()))
    # The same day: a clock in other units, or from another year, is far off.
    assert told == pytest.approx(time.time(), abs=86_400)


async def test_without_an_address_it_is_a_file_in_the_knowledge_base(tmp_path: Path) -> None:
    await (await Database.open("", folder=tmp_path)).close()
    assert (tmp_path / FILE).is_file()


def modes(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
async def test_only_the_owner_reads_the_file_and_its_journals(tmp_path: Path) -> None:
    database = await Database.open("", folder=tmp_path)
    found = modes(tmp_path)
    await database.close()
    assert found == {FILE: 0o600, f"{FILE}-wal": 0o600, f"{FILE}-shm": 0o600}


@pytest.mark.parametrize("address", ["nothing", "mysql://user:secret@host/name"])
async def test_an_address_that_cannot_be_used_is_refused_without_its_password(
    address: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match="database_url") as raised:
        await Database.open(address, folder=tmp_path)
    assert "secret" not in str(raised.value)


async def test_a_server_that_is_not_there_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="ANABRANCH_DATABASE_URL") as raised:
        await Database.open("postgresql://me:secret@127.0.0.1:1/name", folder=tmp_path)
    assert "secret" not in str(raised.value)


async def test_a_file_in_a_folder_that_is_not_there_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="nowhere"):
        await Database.open(f"sqlite:///{tmp_path / 'nowhere' / 'x.sqlite'}", folder=tmp_path)
