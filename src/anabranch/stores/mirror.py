"""The embedded store with a copy of it in memory, for as long as it is small.

A search of the engine costs milliseconds before it looks at a row, and a question makes a dozen.
The copy (``snapshot.py``) is of one version of the table. Every search first asks which version is
the newest, so that a write of any process is seen by the next search. The first search
makes the copy before it answers, and later ones bring it up to date: which of the two answers
depends on the size of the index alone, never on what was asked before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from anabranch.lexicon import Lexicon
from anabranch.ports import IndexedDocument, Vectors, Windows
from anabranch.stores.lance import LanceStore
from anabranch.stores.snapshot import COLUMNS, Snapshot, empty_snapshot
from anabranch.types import Chunk, Hit, Scope, SourceRecord

# Where a copy takes about 140 MB and a second to make; from here on the engine's vector index pays.
MOST_LEAVES = 20_000
# When more documents than this have changed, reading all of them is no slower.
MOST_CHANGED = 200
# Pairs of a query and a leaf that are compared in about three milliseconds: more would keep other
# requests waiting, and fewer are not worth a thread.
MOST_INLINE = 25_000

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Copy:
    """A version of the table, or a later one. Without a snapshot: it has too many leaves.

    ``number`` counts the copies in the order in which they were begun.
    """

    number: int
    version: int
    snapshot: Snapshot | None


class MirroredStore:
    """The Store port over a LanceStore, searched in memory up to ``most_leaves`` leaves."""

    def __init__(self, store: LanceStore, *, most_leaves: int = MOST_LEAVES) -> None:
        self._store = store
        self._most_leaves = most_leaves
        self._copy = _Copy(0, -1, None)
        self._begun = 0
        self._copying = asyncio.Lock()
        self._look: asyncio.Task[int] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    async def search_dense(
        self, vectors: Vectors, *, limit: int, scope: Scope
    ) -> list[tuple[Hit, ...]]:
        snapshot = await self._newest()
        if snapshot is None:
            return await self._store.search_dense(vectors, limit=limit, scope=scope)
        if len(vectors) * len(snapshot.leaves) > MOST_INLINE:
            return await asyncio.to_thread(snapshot.search_dense, vectors, limit, scope)
        return snapshot.search_dense(vectors, limit, scope)

    async def search_text(self, query: str, *, limit: int, scope: Scope) -> tuple[Hit, ...]:
        snapshot = await self._newest()
        if snapshot is None:
            return await self._store.search_text(query, limit=limit, scope=scope)
        return snapshot.search_text(query, limit, scope)

    # What has no score is the same from either side, so that it does not make a copy of its own.

    async def chunks(self, chunk_ids: Sequence[str], scope: Scope) -> dict[str, Chunk]:
        snapshot = await self._if_current()
        if snapshot is None:
            return await self._store.chunks(chunk_ids, scope)
        return snapshot.chunks(chunk_ids, scope)

    async def windows(self, chunk_ids: Sequence[str], scope: Scope) -> dict[str, Windows]:
        snapshot = await self._if_current()
        if snapshot is None:
            return await self._store.windows(chunk_ids, scope)
        return snapshot.windows(chunk_ids, scope)

    async def sources(self, scope: Scope) -> list[SourceRecord]:
        snapshot = await self._if_current()
        return await self._store.sources(scope) if snapshot is None else snapshot.sources(scope)

    async def collections(self, scope: Scope) -> list[str]:
        snapshot = await self._if_current()
        if snapshot is None:
            return await self._store.collections(scope)
        return snapshot.collections(scope)

    async def fingerprint(self) -> str:
        snapshot = await self._if_current()
        return await self._store.fingerprint() if snapshot is None else snapshot.fingerprint

    async def source_text(self, source_id: str, scope: Scope) -> str | None:
        return await self._store.source_text(source_id, scope)

    async def lexicon(self, scope: Scope) -> Lexicon:
        return await self._store.lexicon(scope)  # which keeps it in memory itself

    # --------------------------------------------------------------------------------- writing

    async def replace(self, documents: Sequence[IndexedDocument]) -> None:
        await self._store.replace(documents)

    async def remove(self, source_ids: Sequence[str]) -> int:
        return await self._store.remove(source_ids)

    async def optimize(self) -> None:
        await self._store.optimize()

    async def close(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._store.close()

    # -------------------------------------------------------------------------------- the copy

    async def _newest(self) -> Snapshot | None:
        """A snapshot with everything written before this call; None where there are too many
        leaves. Whoever gets it makes all of one answer from it."""
        version = await self._version()
        if self._copy.version != version:
            # A copy begun before this call may lack what was written before it.
            wanted = self._begun + 1
            await asyncio.shield(self._started(self._bring_up_to_date(wanted)))
        return self._copy.snapshot

    async def _if_current(self) -> Snapshot | None:
        """The snapshot, if there is one and nothing was written since."""
        if self._copy.snapshot is None:
            return None
        version = await self._version()
        return self._copy.snapshot if self._copy.version == version else None

    async def _version(self) -> int:
        """The newest version of the table. Calls of one turn of the event loop share a look:
        it begins after all of them."""
        if self._look is None:
            self._look = self._started(self._look_up())
        return await asyncio.shield(self._look)

    async def _look_up(self) -> int:
        self._look = None  # From now on a call may come after a write that this look misses.
        return await self._store.version()

    def _started(self, work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        """``work`` as a task that goes on when the one who waits for it is cut off: a slow copy
        would otherwise be begun by every question and finished by none."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _bring_up_to_date(self, wanted: int) -> None:
        async with self._copying:
            if self._copy.number >= wanted:
                return
            self._begun += 1
            number = self._begun
            # Asked before anything is read: what is read is of this version or a later one, and
            # a later one is at worst copied again.
            version = await self._store.version()
            self._copy = _Copy(number, version, await self._read(version))

    async def _read(self, version: int) -> Snapshot | None:
        if await self._store.leaf_count() > self._most_leaves:
            return None
        if self._copy.snapshot is not None:
            updated = await self._updated(self._copy.snapshot, version)
            if updated is not None:
                return updated
        # One query reads one version.
        rows = await self._store.rows(COLUMNS)
        return await asyncio.to_thread(empty_snapshot(self._store.dimensions).changed, (), rows)

    async def _updated(self, snapshot: Snapshot, version: int) -> Snapshot | None:
        """``snapshot`` with what has changed; None where all has to be read."""
        states = await self._store.states()
        stored = snapshot.documents
        gone = stored.keys() - states.keys()
        changed = [
            name
            for name, state in states.items()
            if name not in stored or stored[name].state != state
        ]
        if not changed and not gone:
            return snapshot
        if len(changed) > MOST_CHANGED:
            return None
        rows = await self._store.rows(COLUMNS, source_ids=changed)
        if await self._store.version() != version:
            return None  # These were two queries: a write in between would mix two versions.
        return await asyncio.to_thread(snapshot.changed, gone, rows)
