"""The embedded table with a copy of it in memory: all of it, or beyond some size its words alone.

A search of the engine costs milliseconds before it looks at a row, and a question makes a dozen;
and its text index counts all documents, so that those one may not see would shift the scores of
those one may. So words are always searched here. The copy (``snapshot.py``) is of one version of
the table. Every request first asks which version is the newest, so that a write of any process is
seen by the next one (``as_of_now``; without it, every search asks). The first search makes the copy before it answers, and later ones bring it
up to date: what answers depends on the size of the index alone, never on what was asked before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from anabranch.lexicon import Lexicon
from anabranch.ports import Store, Vectors, Windows
from anabranch.stores.lance import LanceStore
from anabranch.stores.snapshot import (
    EVERYTHING,
    OF_OTHERS,
    WORDS,
    Snapshot,
    empty_snapshot,
)
from anabranch.stores.view import BesideTable, StoreView
from anabranch.types import Chunk, Hit, Scope, SourceRecord

# Where a copy takes about 1 GB (8 KB a leaf, where each is a document) and ten seconds to make.
MOST_LEAVES = 120_000
# A copy of fewer leaves leaves too little behind to be worth giving back.
LEAVES_TO_TIDY = 10_000
# When more documents than this have changed, reading all of them is no slower.
MOST_CHANGED = 200
# How often a search of words alone is repeated when its passages were written anew meanwhile.
SEARCH_ATTEMPTS = 8

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Copy:
    """A version of the table, or a later one; ``number`` counts the copies as they were begun."""

    number: int
    version: int
    snapshot: Snapshot


class MirroredStore(BesideTable):
    """The Store port over a LanceStore, all of it searched in memory up to ``most_leaves`` leaves."""

    def __init__(self, store: LanceStore, *, most_leaves: int = MOST_LEAVES) -> None:
        super().__init__(store)
        self._most_leaves = most_leaves
        self._copy: _Copy | None = None
        self._begun = 0
        self._copying = asyncio.Lock()
        self._look: asyncio.Task[int] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    async def search_dense(
        self, vectors: Vectors, *, limit: int, scope: Scope
    ) -> list[tuple[Hit, ...]]:
        snapshot = await self._newest()
        if snapshot.words_only:
            return await self._store.search_dense(vectors, limit=limit, scope=scope)
        view = StoreView(self._store, snapshot)
        return await view.search_dense(vectors, limit=limit, scope=scope)

    async def search_text(self, query: str, *, limit: int, scope: Scope) -> tuple[Hit, ...]:
        snapshot = await self._newest()
        if snapshot.words_only:
            return await self._search_words(query, limit, scope)
        return await StoreView(self._store, snapshot).search_text(query, limit=limit, scope=scope)

    async def _search_words(self, query: str, limit: int, scope: Scope) -> tuple[Hit, ...]:
        """Leaves ranked by the copy, read from the table: again, if it was written in between."""
        for attempt in range(SEARCH_ATTEMPTS):
            copy = await self._newest_copy()
            ranked = await asyncio.to_thread(copy.snapshot.rank_text, query, limit, scope)
            chunks = await self._store.chunks([name for name, _ in ranked], scope)
            if attempt == SEARCH_ATTEMPTS - 1 or await self._version() == copy.version:
                break
        return tuple(Hit(chunks[name], score) for name, score in ranked if name in chunks)

    # What has no score is the same from either side, so that it does not make a copy of its own.

    async def chunks(self, chunk_ids: Sequence[str], scope: Scope) -> dict[str, Chunk]:
        return await (await self._either()).chunks(chunk_ids, scope)

    async def windows(self, chunk_ids: Sequence[str], scope: Scope) -> dict[str, Windows]:
        return await (await self._either()).windows(chunk_ids, scope)

    async def sources(self, scope: Scope) -> list[SourceRecord]:
        return await (await self._either()).sources(scope)

    async def collections(self, scope: Scope) -> list[str]:
        return await (await self._either()).collections(scope)

    async def fingerprint(self, scope: Scope) -> str:
        return await (await self._either()).fingerprint(scope)

    async def as_of_now(self) -> Store:
        return await self._view() or self

    async def lexicon(self, scope: Scope) -> Lexicon:
        return await self._store.lexicon(scope)  # which keeps it in memory itself

    async def close(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._store.close()

    # -------------------------------------------------------------------------------- the copy

    async def _newest(self) -> Snapshot:
        """A snapshot with everything written before this call. Whoever gets it makes all of one
        answer from it."""
        return (await self._newest_copy()).snapshot

    async def _newest_copy(self) -> _Copy:
        version = await self._version()
        if self._copy is not None and self._copy.version == version:
            return self._copy
        # A copy begun before this call may lack what was written before it.
        return await asyncio.shield(self._started(self._bring_up_to_date(self._begun + 1)))

    async def _either(self) -> StoreView | LanceStore:
        return await self._view() or self._store

    async def _view(self) -> StoreView | None:
        """Of the copy, if there is one, of everything, and nothing was written since."""
        if self._copy is None or self._copy.snapshot.words_only:
            return None
        version = await self._version()
        current = self._copy.version == version
        return StoreView(self._store, self._copy.snapshot) if current else None

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

    async def _bring_up_to_date(self, wanted: int) -> _Copy:
        async with self._copying:
            if self._copy is not None and self._copy.number >= wanted:
                return self._copy
            self._begun += 1
            number = self._begun
            # Asked before anything is read: what is read is of this version or a later one, and
            # a later one is at worst copied again.
            version = await self._store.version()
            self._copy = _Copy(number, version, await self._read(version))
            return self._copy

    async def _read(self, version: int) -> Snapshot:
        words_only = await self._store.leaf_count() > self._most_leaves
        columns = WORDS if words_only else EVERYTHING
        before = self._copy
        if before is not None and before.snapshot.words_only == words_only:
            updated = await self._updated(before.snapshot, version, columns)
            if updated is not None:
                return updated
        rows = await self._store.halves(columns, OF_OTHERS, source_ids=None)
        made = await asyncio.to_thread(empty_snapshot(self._store.dimensions).changed, (), *rows)
        del rows
        if len(made.leaves) > LEAVES_TO_TIDY:
            await asyncio.to_thread(_give_back_memory)
        return made

    async def _updated(
        self, snapshot: Snapshot, version: int, columns: Sequence[str]
    ) -> Snapshot | None:
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
        rows = await self._store.halves(columns, OF_OTHERS, source_ids=changed)
        if await self._store.version() != version:
            return None  # These were two queries: a write in between would mix two versions.
        return await asyncio.to_thread(snapshot.changed, gone, *rows)


def _give_back_memory() -> None:
    """Return to the system what reading a whole table has left free in the C library's heap.

    That keeps it otherwise, for as long as the process lives: as much again as the copy itself
    (measured for 100,000 leaves: 1,840 MB before, 970 after). Only the GNU C library can do it.
    """
    import ctypes

    import pyarrow

    pyarrow.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
