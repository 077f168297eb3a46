"""The documents on disk: one LanceDB table in a folder, shared by any number of processes.

Everything of a document is in that one table (``rows.py``), so that a replacement is one commit,
and each read is one query on one version: a reader sees a document old or new, never both. It has
all of the Store port but the search by words, which counts what is in scope (``mirror.py``).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from anabranch.errors import StorageError
from anabranch.lexicon import Lexicon, combine
from anabranch.ports import IndexedDocument, Vectors, Windows
from anabranch.stores.documents import (
    admits_nothing,
    check_query_vectors,
    checked_documents,
    combined_digest,
    lexicon_from_json,
    record_from_json,
    source_order,
)
from anabranch.stores.rows import (
    ITEM,
    chunks_from_rows,
    conjunction,
    one_of,
    rows_of,
    scope_predicate,
    split_rows,
    windows_from_rows,
)
from anabranch.stores.table import (
    EXACT_LEAVES,
    WRITE_ATTEMPTS,
    ConflictError,
    open_table,
    optimize_files,
    optimize_vectors,
    storage_errors,
    vector_partitions,
)
from anabranch.types import Chunk, Hit, Scope, SourceRecord

if TYPE_CHECKING:
    import pyarrow
    from lancedb import AsyncConnection, AsyncTable

# Partitions of the vector index looked into when nothing is filtered out.
PROBES = 20
# Rows fetched beyond the limit, so that a tie at the limit is cut by chunk id, not by chance.
TIE_MARGIN = 16
CACHED_LEXICONS = 8
CACHED_FINGERPRINTS = 64

Result = TypeVar("Result")


class LanceStore:
    """An embedded LanceDB table of documents; ``MirroredStore`` makes it a Store."""

    def __init__(
        self,
        connection: AsyncConnection,
        table: AsyncTable,
        *,
        path: Path,
        dimensions: int,
        exact_leaves: int,
    ) -> None:
        self._connection = connection
        self._table = table
        self._path = path
        self._dimensions = dimensions
        self._exact_leaves = exact_leaves
        self._write_lock = asyncio.Lock()
        self._lexicon_lock = asyncio.Lock()
        self._fingerprints: tuple[int, dict[Scope, str]] = -1, {}
        self._partitions: tuple[int, int | None] | None = None
        self._lexicons: OrderedDict[tuple[str, Scope], Lexicon] = OrderedDict()

    @classmethod
    async def open(
        cls, path: Path, *, dimensions: int, exact_leaves: int = EXACT_LEAVES
    ) -> LanceStore:
        """The store in the folder ``path``, made if it is not there.

        A folder that cannot be written can still be searched once the store is in it. From
        ``exact_leaves`` leaves on ``optimize`` makes an index of the vectors.
        """
        connection, table = await open_table(path, dimensions=dimensions)
        return cls(connection, table, path=path, dimensions=dimensions, exact_leaves=exact_leaves)

    # ------------------------------------------------------------------------------- writing

    async def replace(self, documents: Sequence[IndexedDocument]) -> None:
        by_source = checked_documents(documents, self._dimensions)
        if not by_source:
            return
        rows = await asyncio.to_thread(rows_of, by_source.values(), self._dimensions)
        await self._merge(rows, list(by_source))

    async def replace_rows(self, rows: pyarrow.Table) -> None:
        """Store whole documents as the rows they have in a table, each in place of an earlier one."""
        if not rows.num_rows:
            return
        await self._merge(rows, sorted(set(rows.column("source_id").to_pylist())))

    async def _merge(self, rows: pyarrow.Table, source_ids: Sequence[str]) -> None:
        replaced = one_of("source_id", source_ids)

        async def merge() -> None:
            await (
                self._table.merge_insert(["id"])
                .when_matched_update_all()
                .when_not_matched_insert_all()
                .when_not_matched_by_source_delete(replaced)
                # Parents have no vector on purpose; vectors that are no numbers were refused above.
                .execute(rows, on_bad_vectors="null")
            )

        await self._write(merge, "written")

    async def remove(self, source_ids: Sequence[str]) -> int:
        if not source_ids:
            return 0
        named = one_of("source_id", source_ids)
        removed = await self._count(conjunction("level = 0", named))

        async def delete() -> None:
            await self._table.delete(named)

        for _ in range(WRITE_ATTEMPTS):
            await self._write(delete, "removed from")
            if not await self._count(named):
                return removed
        raise StorageError(
            f"Rows of {list(source_ids)!r} are still in {str(self._path)!r}: another process keeps "
            "adding them. Stop it, then remove again."
        )

    async def _write(self, operation: Callable[[], Awaitable[Result]], done: str) -> Result:
        """Run one write at a time; one that another process came before is repeated."""
        async with self._write_lock:
            for attempt in range(WRITE_ATTEMPTS):
                try:
                    with storage_errors(done, self._path):
                        return await operation()
                except ConflictError:
                    if attempt == WRITE_ATTEMPTS - 1:
                        raise
                await asyncio.sleep(0.05 * 2**attempt)
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def optimize(self) -> None:
        try:
            await self._write(lambda: optimize_files(self._table), "optimized")
            await self._write(
                lambda: optimize_vectors(self._table, exact_leaves=self._exact_leaves), "optimized"
            )
        except ConflictError:
            return  # Another process is writing or optimizing; the next call does the rest.

    # ------------------------------------------------------------------------------- searching

    async def search_dense(
        self, vectors: Vectors, *, limit: int, scope: Scope
    ) -> list[tuple[Hit, ...]]:
        check_query_vectors(vectors, self._dimensions)
        if not len(vectors) or limit <= 0 or admits_nothing(scope):
            return [()] * len(vectors)
        predicate = scope_predicate(scope)
        queries = list(np.ascontiguousarray(vectors, dtype=np.float32))
        with storage_errors("searched", self._path):
            probes = await self._probes(predicate)

            async def fetch(count: int) -> list[list[Hit]]:
                query = self._table.query().nearest_to(queries).distance_type("dot")
                query = query.nprobes(probes) if probes else query.bypass_vector_index()
                if predicate:
                    query = query.where(predicate)
                return _dense_hits(await _rows(query, "_distance", count), len(queries))

            return await _cut(fetch, limit)

    async def _probes(self, predicate: str | None) -> int:
        """Partitions to look into; 0 means to compare with every vector in scope.

        A filter leaves few rows in each partition, and recall falls (measured: to .65), so that
        a small scope is compared whole and a larger one looked up in more partitions.
        """
        version = await self.version()
        if self._partitions is None or self._partitions[0] != version:
            self._partitions = version, await vector_partitions(self._table)
        partitions = self._partitions[1]
        if partitions is None:
            return 0
        if predicate is None:
            return PROBES
        in_scope = await self._table.count_rows(conjunction("level = 3", predicate))
        if in_scope < self._exact_leaves:
            return 0
        leaf_count = await self._table.count_rows("level = 3")
        return min(partitions, PROBES * leaf_count // in_scope)

    # ------------------------------------------------------------------------------- looking up

    async def chunks(self, chunk_ids: Sequence[str], scope: Scope) -> dict[str, Chunk]:
        if not chunk_ids or admits_nothing(scope):
            return {}
        condition = conjunction(one_of("chunk_id", chunk_ids), scope_predicate(scope))
        rows = await self._select([ITEM], condition)
        found = {chunk.chunk_id: chunk for chunk in chunks_from_rows(rows)}
        return {name: found[name] for name in chunk_ids if name in found}

    async def windows(self, chunk_ids: Sequence[str], scope: Scope) -> dict[str, Windows]:
        if not chunk_ids or admits_nothing(scope):
            return {}
        condition = conjunction(one_of("chunk_id", chunk_ids), scope_predicate(scope))
        rows = await self._select(["chunk_id", "windows"], condition)
        return windows_from_rows(rows, self._dimensions)

    async def sources(self, scope: Scope) -> list[SourceRecord]:
        records = map(record_from_json, await self._document_column(ITEM, scope))
        return sorted(records, key=source_order)

    async def collections(self, scope: Scope) -> list[str]:
        return sorted(set(await self._document_column("collection", scope)))

    async def source_text(self, source_id: str, scope: Scope) -> str | None:
        named = one_of("source_id", [source_id])
        return next(iter(await self._document_column("text", scope, named)), None)

    def known_lexicon(self, scope: Scope, *, fingerprint: str) -> Lexicon | None:
        """The lexicon of the content with this fingerprint, if it is at hand."""
        known = self._lexicons.get((fingerprint, scope))
        if known is not None:
            self._lexicons.move_to_end((fingerprint, scope))
        return known

    async def lexicon(self, scope: Scope) -> Lexicon:
        # Branches ask for the same one at once: the lock lets the first build it for all.
        async with self._lexicon_lock:
            key = await self.fingerprint(scope), scope
            if (known := self.known_lexicon(scope, fingerprint=key[0])) is not None:
                return known
            # Rows come in the order of the files, which says nothing.
            stored = sorted(await self._document_column("lexicon", scope))
            lexicon = await asyncio.to_thread(_combined, stored)
            # A write in between would keep words under the fingerprint of a content without them.
            if key[0] == await self.fingerprint(scope):
                self._lexicons[key] = lexicon
                if len(self._lexicons) > CACHED_LEXICONS:
                    self._lexicons.popitem(last=False)
            return lexicon

    async def fingerprint(self, scope: Scope) -> str:
        version = await self.version()
        if self._fingerprints[0] != version or len(self._fingerprints[1]) >= CACHED_FINGERPRINTS:
            self._fingerprints = version, {}
        known = self._fingerprints[1]
        if scope not in known:
            # Of the content, not the version: optimizing changes that too, and says nothing.
            known[scope] = combined_digest(await self._document_column("digest", scope))
        return known[scope]

    # ----------------------------------------------------------------- for a copy of the table

    @property
    def dimensions(self) -> int:
        return self._dimensions

    async def version(self) -> int:
        """The newest version of the table, by whatever process; every write makes one."""
        with storage_errors("read", self._path):
            return int(await self._table.version())

    async def leaf_count(self) -> int:
        return await self._count("level = 3")

    async def states(self) -> dict[str, tuple[str, str]]:
        """For each source id what is another when anything of the document is."""
        rows = await self._select(["source_id", "digest", ITEM], "level = 0")
        names, *states = (rows.column(name).to_pylist() for name in rows.column_names)
        return dict(zip(names, zip(*states, strict=True), strict=True))

    async def rows(
        self, columns: Sequence[str], *, source_ids: Sequence[str] | None = None
    ) -> pyarrow.Table:
        """All rows of all documents, or of those named, as one version of the table has them."""
        condition = None if source_ids is None else one_of("source_id", source_ids)
        return await self._select(columns, condition)

    async def halves(
        self,
        leaf_columns: Sequence[str],
        columns: Sequence[str],
        *,
        source_ids: Sequence[str] | None,
    ) -> tuple[pyarrow.Table, pyarrow.Table]:
        """The leaves, then the other rows, of all documents or of those named, from one version.

        Rows without a vector take as much memory as those with one, and there are more of them:
        hence two queries, which are repeated when something was written in between.
        """
        named = None if source_ids is None else one_of("source_id", source_ids)
        # Parents are of use to those who have the texts of the leaves.
        other_levels = "level < 3" if ITEM in leaf_columns else "level = 0"
        for _ in range(WRITE_ATTEMPTS):
            version = await self.version()
            leaves = await self._select(leaf_columns, conjunction("level = 3", named))
            others = await self._select(columns, conjunction(other_levels, named))
            if await self.version() == version:
                return leaves, others
        rows = await self._select([*dict.fromkeys((*leaf_columns, *columns))], named)
        return split_rows(rows)

    async def close(self) -> None:
        self._table.close()  # type: ignore[no-untyped-call]
        self._connection.close()  # type: ignore[no-untyped-call]

    async def _document_column(
        self, column: str, scope: Scope, condition: str | None = None
    ) -> list[str]:
        """One column of the document rows in scope."""
        if admits_nothing(scope):
            return []
        where = conjunction("level = 0", condition, scope_predicate(scope))
        values: list[str] = (await self._select([column], where)).column(column).to_pylist()
        return values

    async def _select(self, columns: Sequence[str], condition: str | None) -> pyarrow.Table:
        with storage_errors("read", self._path):
            query = self._table.query().select(list(columns))
            return await (query.where(condition) if condition else query).to_arrow()

    async def _count(self, condition: str | None) -> int:
        with storage_errors("read", self._path):
            return int(await self._table.count_rows(condition))


# ------------------------------------------------------------------------------------- reading


async def _rows(query: Any, score: str, count: int) -> pyarrow.Table:
    rows: pyarrow.Table = await query.select([ITEM, score]).limit(count).to_arrow()
    return rows


def _dense_hits(rows: pyarrow.Table, query_count: int) -> list[list[Hit]]:
    # One query alone has no ``query_index`` column.
    indexes = rows.column("query_index").to_pylist() if query_count > 1 else [0] * rows.num_rows
    # With "dot" the distance is 1 - cosine, as the vectors have unit length.
    scores = (1.0 - rows.column("_distance").to_numpy().astype(np.float64)).tolist()
    hits: list[list[Hit]] = [[] for _ in range(query_count)]
    for index, chunk, score in zip(indexes, chunks_from_rows(rows), scores, strict=True):
        hits[index].append(Hit(chunk=chunk, score=score))
    return hits


async def _cut(
    fetch: Callable[[int], Awaitable[list[list[Hit]]]], limit: int
) -> list[tuple[Hit, ...]]:
    """The best ``limit`` hits of each query, ties by chunk id also where the limit cuts them.

    The engine cuts ties by place in its files. So more are fetched, until the last one fetched
    is worse than the last one kept.
    """
    count = limit + TIE_MARGIN
    while True:
        found = await fetch(count)
        ranked = [sorted(hits, key=lambda hit: (-hit.score, hit.chunk.chunk_id)) for hits in found]
        if all(len(hits) < count or hits[-1].score < hits[limit - 1].score for hits in ranked):
            return [tuple(hits[:limit]) for hits in ranked]
        count *= 4


def _combined(lexicons: Sequence[str]) -> Lexicon:
    return combine(map(lexicon_from_json, lexicons))
