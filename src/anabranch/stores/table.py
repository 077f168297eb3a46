"""The LanceDB table itself: making it, keeping its indexes, and what its errors mean."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from anabranch.errors import IndexVersionError, ModelMismatchError, StorageError
from anabranch.stores.rows import FORMAT_KEY, FORMAT_VERSION, table_schema

if TYPE_CHECKING:
    import pyarrow
    from lancedb import AsyncConnection, AsyncTable

TABLE_NAME = "chunks"
# Two writers meet on commit; Lance repeats what it can itself, these repeats are for the rest.
WRITE_ATTEMPTS = 8
# Below this many leaves comparing with every vector is fast enough, and finds all.
EXACT_LEAVES = 20_000
# 300 partitions at 100,000 leaves, as measured; 20 of them looked into.
PARTITION_ROWS = 333
# Rows that the vector index does not hold yet are compared one by one.
UNINDEXED_ROWS = 2_000
SMALL_FRAGMENTS = 20
# A reader that is in the middle of a version must be able to finish.
KEEP_VERSIONS = timedelta(hours=1)
_VECTOR_INDEX = "vector_ivf_"
# Tables of earlier versions have an index of the terms, which nothing reads any more.
_TEXT_INDEX = "terms_idx"


# ------------------------------------------------------------------------------------- opening


async def open_table(path: Path, *, dimensions: int) -> tuple[AsyncConnection, AsyncTable]:
    """The table in the folder ``path``, made if it is not there, with its key."""
    import lancedb

    with storage_errors("opened", path):
        path.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240 - once, and local
        # Zero: every read looks for the newest version, also of another process.
        connection = await lancedb.connect_async(path, read_consistency_interval=timedelta(0))
        table = await _open_or_create(connection, dimensions)
        schema = await table.schema()
    _check_format(schema, path, dimensions)
    with storage_errors("completed", path):
        await _complete_table(table, schema)
    return connection, table


async def _open_or_create(connection: AsyncConnection, dimensions: int) -> AsyncTable:
    """The table, also where its folder is there without a first version.

    Its maker died before that was written, or is about to write it: creating it again does no
    harm, since the first version is written by whoever comes first, and both read that one.
    """
    for attempt in range(WRITE_ATTEMPTS):
        try:
            if TABLE_NAME in (await connection.list_tables()).tables:
                return await connection.open_table(TABLE_NAME)
        except (OSError, RuntimeError, ValueError) as error:
            if "not found" not in str(error):
                raise
        try:
            schema = table_schema(dimensions)
            return await connection.create_table(TABLE_NAME, schema=schema, exist_ok=True)
        except (OSError, RuntimeError, ValueError):
            if attempt == WRITE_ATTEMPTS - 1:
                raise
        await asyncio.sleep(0.05 * 2**attempt)
    raise AssertionError("unreachable: the last attempt returns or raises")


def _check_format(schema: pyarrow.Schema, path: Path, dimensions: int) -> None:
    written = int((schema.metadata or {}).get(FORMAT_KEY, b"0"))
    if written > FORMAT_VERSION:
        raise IndexVersionError(
            f"The index in {str(path)!r} has format {written!r}, this version reads up to "
            f"{FORMAT_VERSION!r}. Install a newer Anabranch, or add the files to a new folder."
        )
    stored = schema.field("vector").type.list_size
    if stored != dimensions:
        raise ModelMismatchError(
            f"The index in {str(path)!r} holds vectors of {stored!r} dimensions, the embedder makes "
            f"{dimensions!r}. Use the embedder that it was made with, or add the files to a new "
            "folder."
        )


async def _complete_table(table: AsyncTable, schema: pyarrow.Schema) -> None:
    """Give a new table its key; also one whose maker died in between.

    Without it two writers of one source would both stay.
    """
    for attempt in range(WRITE_ATTEMPTS):
        try:
            if not _has_key(schema):
                await table.set_unenforced_primary_key(["id"])
            return
        except (OSError, RuntimeError, ValueError):
            # Another process may be completing the same table: look again at what is missing.
            schema = await table.schema()
            if attempt == WRITE_ATTEMPTS - 1:
                raise


def _has_key(schema: pyarrow.Schema) -> bool:
    return any(b"primary-key" in key for key in schema.field("id").metadata or {})


# ---------------------------------------------------------------------------------- optimizing


async def optimize_files(table: AsyncTable) -> None:
    """Join small files and index the vectors that the index lacks, when there are many."""
    # A plain dictionary, whatever its annotation says.
    statistics = cast(dict[str, Any], await table.stats())
    fragments = statistics["fragment_stats"]["num_small_fragments"]
    unindexed = 0
    for index in await table.list_indices():
        if index.name == _TEXT_INDEX:
            await table.drop_index(_TEXT_INDEX)
        elif index.columns == ["vector"] and (held := await table.index_stats(index.name)):
            unindexed = held.num_unindexed_rows
    if unindexed >= UNINDEXED_ROWS or fragments >= SMALL_FRAGMENTS:
        await table.optimize(cleanup_older_than=KEEP_VERSIONS)


async def optimize_vectors(table: AsyncTable, *, exact_leaves: int) -> None:
    """Index vectors from ``exact_leaves`` on; again when they have become four times as many."""
    from lancedb.index import Bitmap, BTree, IvfFlat

    leaf_count = await table.count_rows("level = 3")
    if leaf_count < exact_leaves:
        return
    partitions = max(1, leaf_count // PARTITION_ROWS)
    known = await vector_partitions(table)
    if known is None or partitions >= 4 * known:
        config = IvfFlat(distance_type="dot", num_partitions=partitions)
        # The name is the only place that keeps how many partitions there are.
        name = f"{_VECTOR_INDEX}{partitions}"
        await table.create_index("vector", config=config, name=name)
        for index in await table.list_indices():
            if index.columns == ["vector"] and index.name != name:
                await table.drop_index(index.name)
    if known is None:
        # At this size what the scope and look-ups filter by is worth an index, too.
        for column in ("chunk_id", "source_id"):
            await table.create_index(column, config=BTree(), replace=True)
        await table.create_index("collection", config=Bitmap(), replace=True)


async def vector_partitions(table: AsyncTable) -> int | None:
    """Into how many partitions the vector index cuts the leaves; None if there is no index."""
    for index in await table.list_indices():
        if index.columns == ["vector"]:
            return int(index.name.removeprefix(_VECTOR_INDEX))
    return None


# -------------------------------------------------------------------------------------- errors


class ConflictError(StorageError):
    """Another process committed first."""


@contextmanager
def storage_errors(done: str, path: Path) -> Iterator[None]:
    """Turn what the engine raises into a StorageError that says what to do.

    The engine has no error types of its own: it raises built-in ones, whose text has the cause
    among places in its source code. That text stays with ``__cause__``, for a traceback.
    """
    try:
        yield
    except (OSError, RuntimeError, ValueError, NotImplementedError) as error:
        cause = str(error).lower()
        kind = ConflictError if "conflict" in cause else StorageError
        advice = next(
            (advice for signs, advice in _ADVICE if any(s in cause for s in signs)), _ELSE
        )
        raise kind(f"The index in {str(path)!r} could not be {done}: {advice}") from error


# What the text of an error has in it, and what that means for the one who reads it.
_ADVICE = (
    (
        ("no space", "os error 28", "quota", "os error 122"),
        "the disk is full. Make room, then do it again; nothing stored before is lost.",
    ),
    (
        ("permission", "read-only", "os error 13", "os error 30"),
        "it may not be written or read. Check the permissions of the folder, or name another with "
        "--kb.",
    ),
    (("conflict",), "another process kept writing. Do it again when it has finished."),
    (
        ("not a directory", "file exists", "os error 17", "os error 20"),
        "a file stands where its folder should be. Move the file away, or name another folder "
        "with --kb.",
    ),
    (
        ("too many open files", "os error 24"),
        "too many files are open. Raise the limit (ulimit -n).",
    ),
    (
        ("not found", "no such file", "os error 2)"),
        "a file of it is missing. Restore the folder from a backup, or add the documents to a new "
        "one.",
    ),
    (
        ("corrupt", "decode", "invalid", "magic", "checksum", "out of range"),
        "a file of it is damaged. Restore the folder from a backup, or add the documents to a new "
        "one.",
    ),
)
_ELSE = "the disk gave an error. Check that it works and has room, then do it again."
