"""A store in the memory of one process: small, exact, gone when it ends.

For tests, and for documents that are asked once. It means the same as the embedded store: BM25
over the same terms, exact cosine, the same scopes and the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from anabranch.language import question_terms, terms
from anabranch.lexicon import Lexicon, combine
from anabranch.ports import IndexedDocument, Vectors, Windows
from anabranch.stores.documents import (
    admits,
    admits_nothing,
    check_query_vectors,
    checked_documents,
    combined_digest,
    document_digest,
    owned_chunks,
    searched_text,
    source_order,
)
from anabranch.types import Chunk, Hit, Scope, SourceRecord

# The usual BM25 constants; the embedded store's engine has the same ones built in.
BM25_K1, BM25_B = 1.2, 0.75

Rows = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Stored:
    """One document with what is derived from it once."""

    document: IndexedDocument
    digest: str
    chunks: tuple[Chunk, ...]
    term_counts: tuple[Counter[str], ...]

    @property
    def leaves(self) -> list[Chunk]:
        return [chunk for chunk in self.chunks if chunk.level == 3]


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """Everything a reader needs, built whole and then swapped in."""

    stored: Mapping[str, _Stored] = field(default_factory=dict)
    leaves: tuple[Chunk, ...] = ()
    vectors: Vectors = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    weights: Mapping[str, tuple[Rows, Weights]] = field(default_factory=dict)
    fingerprint: str = combined_digest(())

    def visible(self, scope: Scope) -> list[_Stored]:
        if admits_nothing(scope):
            return []
        return [item for item in self.stored.values() if admits(scope, item.document.record)]

    def mask(self, scope: Scope) -> npt.NDArray[np.bool_]:
        sources = {item.document.record.source_id for item in self.visible(scope)}
        return np.array([leaf.source_id in sources for leaf in self.leaves], dtype=bool)


class MemoryStore:
    """The Store port over plain arrays. Writers swap in a new snapshot, readers keep theirs."""

    def __init__(self, *, dimensions: int) -> None:
        self._dimensions = dimensions
        self._snapshot = _Snapshot(vectors=np.zeros((0, dimensions), dtype=np.float32))
        # Kept because what is looked up in a lexicon is indexed on first use.
        self._lexicons: dict[tuple[str, Scope], Lexicon] = {}

    async def replace(self, documents: Sequence[IndexedDocument]) -> None:
        new = checked_documents(documents, self._dimensions)
        kept = {**self._snapshot.stored, **{name: _stored(item) for name, item in new.items()}}
        self._snapshot = _build(kept, self._dimensions)

    async def remove(self, source_ids: Sequence[str]) -> int:
        kept = {
            name: item for name, item in self._snapshot.stored.items() if name not in source_ids
        }
        removed = len(self._snapshot.stored) - len(kept)
        self._snapshot = _build(kept, self._dimensions)
        return removed

    async def sources(self, scope: Scope) -> list[SourceRecord]:
        records = [item.document.record for item in self._snapshot.visible(scope)]
        return sorted(records, key=source_order)

    async def collections(self, scope: Scope) -> list[str]:
        return sorted({item.document.record.collection for item in self._snapshot.visible(scope)})

    async def source_text(self, source_id: str, scope: Scope) -> str | None:
        for item in self._snapshot.visible(scope):
            if item.document.record.source_id == source_id:
                return item.document.document.text
        return None

    async def search_dense(
        self, vectors: Vectors, *, limit: int, scope: Scope
    ) -> list[tuple[Hit, ...]]:
        check_query_vectors(vectors, self._dimensions)
        snapshot = self._snapshot
        rows = np.flatnonzero(snapshot.mask(scope))
        # One product for each query: a batched one may round differently from a single one.
        found = [snapshot.vectors[rows] @ vector for vector in np.asarray(vectors, np.float32)]
        return [_best(snapshot.leaves, rows, scores, limit) for scores in found]

    async def search_text(self, query: str, *, limit: int, scope: Scope) -> tuple[Hit, ...]:
        snapshot = self._snapshot
        scores = np.zeros(len(snapshot.leaves))
        for term in question_terms(query):
            if term in snapshot.weights:
                rows, weights = snapshot.weights[term]
                scores[rows] += weights
        found = np.flatnonzero(snapshot.mask(scope) & (scores > 0))
        return _best(snapshot.leaves, found, scores[found], limit)

    async def chunks(self, chunk_ids: Sequence[str], scope: Scope) -> dict[str, Chunk]:
        visible = {
            chunk.chunk_id: chunk for item in self._snapshot.visible(scope) for chunk in item.chunks
        }
        return {name: visible[name] for name in chunk_ids if name in visible}

    async def windows(self, chunk_ids: Sequence[str], scope: Scope) -> dict[str, Windows]:
        visible = {
            leaf.chunk_id: windows
            for item in self._snapshot.visible(scope)
            for leaf, windows in zip(item.leaves, item.document.windows, strict=False)
            if len(windows)
        }
        return {name: visible[name] for name in chunk_ids if name in visible}

    async def lexicon(self, scope: Scope) -> Lexicon:
        snapshot = self._snapshot
        key = snapshot.fingerprint, scope
        if key not in self._lexicons:
            visible = snapshot.visible(scope)
            self._lexicons = {key: combine(item.document.lexicon for item in visible)}
        return self._lexicons[key]

    async def fingerprint(self) -> str:
        return self._snapshot.fingerprint

    async def optimize(self) -> None:
        """Nothing to do: every write builds the whole index."""

    async def close(self) -> None:
        """Nothing is held open."""


def _stored(document: IndexedDocument) -> _Stored:
    chunks = tuple(owned_chunks(document))
    return _Stored(
        document=document,
        digest=document_digest(document),
        chunks=chunks,
        term_counts=tuple(
            Counter(terms(searched_text(chunk))) for chunk in chunks if chunk.level == 3
        ),
    )


def _build(stored: Mapping[str, _Stored], dimensions: int) -> _Snapshot:
    items = [stored[name] for name in sorted(stored)]
    vectors = [item.document.vectors for item in items if len(item.document.vectors)]
    return _Snapshot(
        stored=stored,
        leaves=tuple(leaf for item in items for leaf in item.leaves),
        vectors=np.concatenate(vectors).astype(np.float32)
        if vectors
        else np.zeros((0, dimensions), dtype=np.float32),
        weights=_bm25_weights([counts for item in items for counts in item.term_counts]),
        fingerprint=combined_digest([item.digest for item in items]),
    )


def _bm25_weights(leaves: Sequence[Counter[str]]) -> dict[str, tuple[Rows, Weights]]:
    """For each term the rows that have it and what it adds to their score.

    Robertson and Zaragoza (2009), "The Probabilistic Relevance Framework", with the idf that
    cannot go below zero, so that a word of most documents still counts a little.
    """
    lengths = np.array([counts.total() for counts in leaves], dtype=np.float64)
    mean_length = lengths.mean() if lengths.any() else 1.0
    length_factor = BM25_K1 * (1 - BM25_B + BM25_B * lengths / mean_length)
    postings: dict[str, tuple[list[int], list[int]]] = {}
    for row, counts in enumerate(leaves):
        for term, count in counts.items():
            rows, frequencies = postings.setdefault(term, ([], []))
            rows.append(row)
            frequencies.append(count)
    weights: dict[str, tuple[Rows, Weights]] = {}
    for term, (rows, frequencies) in postings.items():
        row_array, frequency = np.array(rows), np.array(frequencies, dtype=np.float64)
        idf = np.log(1 + (len(leaves) - len(rows) + 0.5) / (len(rows) + 0.5))
        saturated = frequency * (BM25_K1 + 1) / (frequency + length_factor[row_array])
        weights[term] = row_array, idf * saturated
    return weights


def _best(
    leaves: Sequence[Chunk], rows: Rows, scores: npt.NDArray[np.floating], limit: int
) -> tuple[Hit, ...]:
    ranked = sorted(
        zip(scores.tolist(), (leaves[row] for row in rows.tolist()), strict=True),
        key=lambda pair: (-pair[0], pair[1].chunk_id),
    )
    return tuple(Hit(chunk=chunk, score=score) for score, chunk in ranked[: max(limit, 0)])
