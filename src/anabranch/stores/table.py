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
# Text search has to scan rows that no index holds yet (measured: 15 ms more for each 1,000).
UNINDEXED_ROWS = 200
SMALL_FRAGMENTS = 20
# A reader that is in the middle of a version must be able to finish.
KEEP_VERSIONS = timedelta(hours=1)
_VECTOR_INDEX = "vector_ivf_"


# ------------------------------------------------------------------------------------- opening


async def open_table(path: Path, *, dimensions: int) -> tuple[AsyncConnection, AsyncTable]:
    """The table in the folder ``path``, made if it is not there, with its key and text index."""
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
    """Give a new table its key and text index; also one whose maker died in between.

    Without the key two writers of one source would both stay; without the index, text search
    would cut words by its own rules.
    """
    for attempt in range(WRITE_ATTEMPTS):
        try:
            if not _has_key(schema):
                await table.set_unenforced_primary_key(["id"])
            if not await _has_text_index(table):
                await _create_text_index(table)
            return
        except (OSError, RuntimeError, ValueError):
            # Another process may be completing the same table: look again at what is missing.
            schema = await table.schema()
            if attempt == WRITE_ATTEMPTS - 1:
                raise


def _has_key(schema: pyarrow.Schema) -> bool:
    return any(b"primary-key" in key for key in schema.field("id").metadata or {})


async def _has_text_index(table: AsyncTable) -> bool:
    return any(index.columns == ["terms"] for index in await table.list_indices())


async def _create_text_index(table: AsyncTable) -> None:
    """Index the terms as ``language.terms`` cut them: only splitting at blanks is left to do."""
    from lancedb.index import FTS

    config = FTS(
        base_tokenizer="whitespace",
        stem=False,
        remove_stop_words=False,
        ascii_folding=False,
        lower_case=False,
        max_token_length=None,
    )
    await table.create_index("terms", config=config, name="terms_idx")


# ---------------------------------------------------------------------------------- optimizing


async def optimize_text(table: AsyncTable) -> None:
    """Index the rows that no index holds yet and join small files, when there are many."""
    index = await table.index_stats("terms_idx")
    unindexed = index.num_unindexed_rows if index else 0
    # A plain dictionary, whatever its annotation says.
    statistics = cast(dict[str, Any], await table.stats())
    fragments = statistics["fragment_stats"]["num_small_fragments"]
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

    The engine has no error types of its own: it raises built-in ones, whose text has the cause.
    """
    try:
        yield
    except (OSError, RuntimeError, ValueError, NotImplementedError) as error:
        cause = str(error)
        kind = ConflictError if "conflict" in cause.lower() else StorageError
        raise kind(
            f"The index in {str(path)!r} could not be {done}: {_short(cause)} {_advice(cause)}"
        ) from error


def _short(cause: str) -> str:
    first = cause.strip().splitlines()[0] if cause.strip() else "no reason given"
    return first[:300].rstrip(".") + "."


def _advice(cause: str) -> str:
    lowered = cause.lower()
    if "no space" in lowered or "os error 28" in lowered or "quota" in lowered:
        return "The disk is full: make room, then do it again. Nothing stored before is lost."
    if "permission" in lowered or "read-only" in lowered or "os error 30" in lowered:
        return "The folder cannot be written: check its permissions, or name another with --kb."
    if "conflict" in lowered:
        return "Another process kept writing: do it again when it has finished."
    return "Check that the folder exists, is writable and on a working disk, then do it again."
