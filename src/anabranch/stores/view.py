"""A store as one request sees it: from one copy in memory, whatever is written meanwhile.

To ask for every step whether something was written costs more than most of the steps, and what was
found before a write would be joined with what was found after it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from anabranch.lexicon import Lexicon
from anabranch.ports import IndexedDocument, Vectors, Windows
from anabranch.stores.lance import LanceStore
from anabranch.stores.snapshot import Snapshot
from anabranch.types import Chunk, Hit, Scope, SourceRecord

# Pairs of a query and a leaf that are compared in about three milliseconds, and leaves whose words
# are searched in one: more would keep other requests waiting, and fewer are not worth a thread.
MOST_PAIRS_INLINE = 50_000
MOST_WORDS_INLINE = 30_000


class BesideTable:
    """What no copy of a table has: its texts, and everything that is written."""

    def __init__(self, store: LanceStore) -> None:
        self._store = store

    async def source_text(self, source_id: str, scope: Scope) -> str | None:
        return await self._store.source_text(source_id, scope)

    async def replace(self, documents: Sequence[IndexedDocument]) -> None:
        await self._store.replace(documents)

    async def remove(self, source_ids: Sequence[str]) -> int:
        return await self._store.remove(source_ids)

    async def optimize(self) -> None:
        await self._store.optimize()


class StoreView(BesideTable):
    """The Store port over ``snapshot``, which has everything else."""

    def __init__(self, store: LanceStore, snapshot: Snapshot) -> None:
        super().__init__(store)
        self._snapshot = snapshot

    async def as_of_now(self) -> StoreView:
        return self

    async def search_dense(
        self, vectors: Vectors, *, limit: int, scope: Scope
    ) -> list[tuple[Hit, ...]]:
        if len(vectors) * len(self._snapshot.leaves) > MOST_PAIRS_INLINE:
            return await asyncio.to_thread(self._snapshot.search_dense, vectors, limit, scope)
        return self._snapshot.search_dense(vectors, limit, scope)

    async def search_text(self, query: str, *, limit: int, scope: Scope) -> tuple[Hit, ...]:
        if len(self._snapshot.leaves) > MOST_WORDS_INLINE:
            return await asyncio.to_thread(self._snapshot.search_text, query, limit, scope)
        return self._snapshot.search_text(query, limit, scope)

    async def chunks(self, chunk_ids: Sequence[str], scope: Scope) -> dict[str, Chunk]:
        return self._snapshot.chunks(chunk_ids, scope)

    async def windows(self, chunk_ids: Sequence[str], scope: Scope) -> dict[str, Windows]:
        return self._snapshot.windows(chunk_ids, scope)

    async def sources(self, scope: Scope) -> list[SourceRecord]:
        return self._snapshot.sources(scope)

    async def collections(self, scope: Scope) -> list[str]:
        return self._snapshot.collections(scope)

    async def fingerprint(self, scope: Scope) -> str:
        return self._snapshot.fingerprint(scope)

    async def lexicon(self, scope: Scope) -> Lexicon:
        known = self._store.known_lexicon(scope, fingerprint=self._snapshot.fingerprint(scope))
        return known or await self._store.lexicon(scope)

    async def close(self) -> None:
        """Nothing: what it is a view of stays open."""
