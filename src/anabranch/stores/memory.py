"""A store in the memory of one process: small, exact, gone when it ends.

For tests, and for documents that are asked once. Documents become the same rows as in the embedded
store, so that it means the same: the same terms, scopes and order.
"""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.lexicon import Lexicon, combine
from anabranch.ports import IndexedDocument, Vectors, Windows
from anabranch.stores.documents import checked_documents
from anabranch.stores.rows import rows_of, split_rows
from anabranch.stores.snapshot import empty_snapshot
from anabranch.types import Chunk, Hit, Scope, SourceRecord


class MemoryStore:
    """The Store port over one snapshot. Writers swap in a new one, readers keep theirs."""

    def __init__(self, *, dimensions: int) -> None:
        self._dimensions = dimensions
        self._documents: dict[str, IndexedDocument] = {}
        self._snapshot = empty_snapshot(dimensions)
        # Kept because what is looked up in a lexicon is indexed on first use.
        self._lexicons: dict[tuple[str, Scope], Lexicon] = {}

    async def replace(self, documents: Sequence[IndexedDocument]) -> None:
        new = checked_documents(documents, self._dimensions)
        rows = split_rows(rows_of(new.values(), self._dimensions))
        self._snapshot = self._snapshot.changed((), *rows)
        self._documents.update(new)

    async def remove(self, source_ids: Sequence[str]) -> int:
        gone = self._documents.keys() & set(source_ids)
        nothing = split_rows(rows_of((), self._dimensions))
        self._snapshot = self._snapshot.changed(gone, *nothing)
        for source_id in gone:
            del self._documents[source_id]
        return len(gone)

    async def as_of_now(self) -> MemoryStore:
        return self

    async def sources(self, scope: Scope) -> list[SourceRecord]:
        return self._snapshot.sources(scope)

    async def collections(self, scope: Scope) -> list[str]:
        return self._snapshot.collections(scope)

    async def source_text(self, source_id: str, scope: Scope) -> str | None:
        if source_id not in self._snapshot.admitted(scope):
            return None
        return self._documents[source_id].document.text

    async def search_dense(
        self, vectors: Vectors, *, limit: int, scope: Scope
    ) -> list[tuple[Hit, ...]]:
        return self._snapshot.search_dense(vectors, limit, scope)

    async def search_text(self, query: str, *, limit: int, scope: Scope) -> tuple[Hit, ...]:
        return self._snapshot.search_text(query, limit, scope)

    async def chunks(self, chunk_ids: Sequence[str], scope: Scope) -> dict[str, Chunk]:
        return self._snapshot.chunks(chunk_ids, scope)

    async def windows(self, chunk_ids: Sequence[str], scope: Scope) -> dict[str, Windows]:
        return self._snapshot.windows(chunk_ids, scope)

    async def lexicon(self, scope: Scope) -> Lexicon:
        key = self._snapshot.fingerprint(scope), scope
        if key not in self._lexicons:
            visible = self._snapshot.admitted(scope)
            lexicons = (self._documents[name].lexicon for name in sorted(visible))
            self._lexicons = {key: combine(lexicons)}
        return self._lexicons[key]

    async def fingerprint(self, scope: Scope) -> str:
        return self._snapshot.fingerprint(scope)

    async def optimize(self) -> None:
        """Nothing to do: every write brings everything up to date."""

    async def close(self) -> None:
        """Nothing is held open."""
