"""Every store test runs on SQLite, and on PostgreSQL where it is installed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from anabranch.sessions.database import Database
from postgres import new_schema, postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with postgres_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database that is new."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'sessions.sqlite'}"
    return new_schema(request.getfixturevalue("postgres"))


@pytest.fixture
async def database(address: str, tmp_path: Path) -> AsyncIterator[Database]:
    opened = await Database.open(address, folder=tmp_path)
    yield opened
    await opened.close()
