"""All documents of a store at one moment, in memory, searched without further reading.

A snapshot never changes: a write makes a new one from it, and whoever reads the old one keeps
reading the old one. What it gives depends on the documents in scope alone, not on the way that led
to them, nor on other documents or the other queries of a call:

- a cosine is a dot product for each leaf by itself. One product of matrices, which rounds
  differently for one query than for four, only says which leaves need it;
- BM25 counts what the scope admits (``postings.py``);
- ties are cut by chunk id.

Beyond some size a snapshot has the words alone (``WORDS``): it ranks leaves by BM25, and their
texts and vectors stay in the store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from anabranch.language import question_terms
from anabranch.ports import Vectors, Windows
from anabranch.stores.columns import (
    ChunkColumns,
    no_chunks,
    places_by_id,
    vector_matrix,
)
from anabranch.stores.documents import (
    admission,
    admits_nothing,
    check_query_vectors,
    combined_digest,
    parsed_chunk,
    record_from_json,
    source_order,
)
from anabranch.stores.postings import Admitted, Flags, Postings, Rows, no_postings
from anabranch.stores.rows import ITEM
from anabranch.types import Chunk, Hit, Scope, SourceRecord

if TYPE_CHECKING:
    import pyarrow

Scores = npt.NDArray[np.float64]

# What a snapshot is made of: columns of leaves, and of documents and parents. The extracted texts,
# the largest column, stay in the store.
WORDS = ("source_id", "chunk_id", "terms")
EVERYTHING = (*WORDS, ITEM, "vector", "windows")
OF_OTHERS = ("source_id", "level", "chunk_id", ITEM, "digest")

# A view has a byte for each leaf, a parsed chunk about 2 KB.
CACHED_SCOPES = 64
CACHED_CHUNKS = 32_768
# Rows and queries of one product: the linear algebra library then starts no threads (measured on
# busy cores for 1,000 leaves: 8 ms with them, .1 without), and eight queries read the vectors once.
BLOCK, QUERIES_AT_ONCE = 64, 8
# Scores of which the highest stands for all, when the best of many are looked for.
GROUP = 64
# Two ways of summing n products of 32-bit floats differ by less than n roundings each.
ROUNDING = 2 * float(np.finfo(np.float32).eps)


@dataclass(frozen=True)  # without slots: they leave no place for what is parsed later
class StoredDocument:
    """One document; ``state``, its digest and record as JSON, is equal where it has not changed."""

    state: tuple[str, str]

    @property
    def digest(self) -> str:
        return self.state[0]

    @cached_property
    def record(self) -> SourceRecord:
        """Parsed when first asked for: that of all documents is a third of making a copy."""
        return record_from_json(self.state[1])


@dataclass(frozen=True, slots=True)
class _View:
    """What one scope admits; ``leaves`` is None where that is all of them."""

    sources: frozenset[str]
    leaves: Flags | None
    admitted: Admitted
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Documents by source id, and their leaves in rows of equal number everywhere."""

    documents: Mapping[str, StoredDocument]
    names: tuple[str, ...]
    leaves: ChunkColumns
    parents: ChunkColumns
    vectors: Vectors
    postings: Postings
    # Where a chunk is by its id: n is row n of the leaves, ~n is row n of the parents.
    places: Mapping[str, int]
    # The longest vector bounds what rounding can do; they are of unit length but for tests.
    longest: float = 0.0
    _views: dict[Scope, _View] = field(default_factory=dict, compare=False)
    _chunks: dict[int, Chunk] = field(default_factory=dict, compare=False)

    # ----------------------------------------------------------------------------- searching

    def search_dense(self, vectors: Vectors, limit: int, scope: Scope) -> list[tuple[Hit, ...]]:
        check_query_vectors(vectors, self.vectors.shape[1])
        visible = self._view(scope).leaves
        if limit <= 0 or not len(self.leaves) or (visible is not None and not visible.any()):
            return [()] * len(vectors)
        rows, scored = None, self.vectors
        if visible is not None and 2 * np.count_nonzero(visible) < len(visible):
            # To gather a few rows is cheaper than to compare with all of them.
            rows, visible = np.flatnonzero(visible), None
            scored = self.vectors[rows]
        queries = np.ascontiguousarray(vectors, dtype=np.float32)
        found = []
        for query, rough in zip(queries, _products(scored, queries), strict=True):
            if visible is not None:
                rough[~visible] = -np.inf
            longest = self.longest * float(np.linalg.norm(query))
            near = _highest(rough, limit, margin=ROUNDING * len(query) * longest)
            scores = np.vecdot(scored[near], query).astype(np.float64)
            best = _highest(scores, limit)
            kept = near[best]
            found.append(self._hits(kept if rows is None else rows[kept], scores[best], limit))
        return found

    def search_text(self, query: str, limit: int, scope: Scope) -> tuple[Hit, ...]:
        return self._hits(*self._best_by_words(query, limit, scope), limit)

    def rank_text(self, query: str, limit: int, scope: Scope) -> list[tuple[str, float]]:
        """What ``search_text`` would find, as chunk ids with their scores, best first."""
        rows, scores = self._best_by_words(query, limit, scope)
        return [(name, -cost) for cost, name, _ in self._ranked(rows, scores, limit)]

    def _best_by_words(self, query: str, limit: int, scope: Scope) -> tuple[Rows, Scores]:
        if limit <= 0:
            return np.zeros(0, dtype=np.int32), np.zeros(0)
        return self.postings.best(question_terms(query), limit, self._view(scope).admitted)

    def _hits(self, rows: npt.NDArray[np.integer], scores: Scores, limit: int) -> tuple[Hit, ...]:
        known, ranked = self._chunks, self._ranked(rows, scores, limit)
        return tuple([Hit(known.get(row) or self._chunk(row), -cost) for cost, _, row in ranked])

    def _ranked(
        self, rows: npt.NDArray[np.integer], scores: Scores, limit: int
    ) -> list[tuple[float, str, int]]:
        """Negative score, chunk id and row of the best, in this order: ties by chunk id."""
        costs = -scores
        order = np.argsort(costs)
        costs, places = costs[order], rows[order].tolist()
        names = self.leaves.chunk_ids
        ranked = zip(costs.tolist(), [names[row] for row in places], places, strict=True)
        # Sorted again only where there are equals, for the order of their ids.
        tied = bool((costs[1:] == costs[:-1]).any())
        return (sorted(ranked) if tied else list(ranked))[:limit]

    def _chunk(self, row: int) -> Chunk:
        chunk = self._chunks.get(row)
        if chunk is None:
            if len(self._chunks) >= CACHED_CHUNKS:
                self._chunks.clear()
            items = self.leaves.items if row >= 0 else self.parents.items
            chunk = self._chunks[row] = parsed_chunk(items[row if row >= 0 else ~row].as_py())
        return chunk

    # ---------------------------------------------------------------------------- looking up

    @property
    def words_only(self) -> bool:
        """Whether there are only words: no vectors, texts and windows of the leaves."""
        return len(self.leaves.items) < len(self.leaves)

    def chunks(self, chunk_ids: Sequence[str], scope: Scope) -> dict[str, Chunk]:
        visible = self._view(scope).sources
        places = ((chunk_id, self.places.get(chunk_id)) for chunk_id in chunk_ids)
        return {
            chunk_id: self._chunk(place)
            for chunk_id, place in places
            if place is not None and self._source_of(place) in visible
        }

    def windows(self, chunk_ids: Sequence[str], scope: Scope) -> dict[str, Windows]:
        visible, dimensions = self._view(scope).sources, self.vectors.shape[1]
        found: dict[str, Windows] = {}
        for chunk_id in chunk_ids:
            place = self.places.get(chunk_id)
            if place is None or place < 0 or self._source_of(place) not in visible:
                continue
            packed = self.leaves.windows[place].as_py()
            if packed and len(packed) % dimensions == 0:
                found[chunk_id] = np.frombuffer(packed, dtype=np.int8).reshape(-1, dimensions)
        return found

    def _source_of(self, place: int) -> str:
        chunks = self.leaves if place >= 0 else self.parents
        number = int(chunks.documents[place if place >= 0 else ~place])
        return self.names[number]

    def sources(self, scope: Scope) -> list[SourceRecord]:
        visible = self._view(scope).sources
        return sorted((self.documents[name].record for name in visible), key=source_order)

    def collections(self, scope: Scope) -> list[str]:
        return sorted({record.collection for record in self.sources(scope)})

    def fingerprint(self, scope: Scope) -> str:
        """Another one when anything in scope is."""
        return self._view(scope).fingerprint

    def admitted(self, scope: Scope) -> frozenset[str]:
        """The ids of the sources in scope."""
        return self._view(scope).sources

    def _view(self, scope: Scope) -> _View:
        view = self._views.get(scope)
        if view is None:
            if len(self._views) >= CACHED_SCOPES:
                self._views.clear()
            view = self._views[scope] = self._viewed(scope)
        return view

    def _viewed(self, scope: Scope) -> _View:
        visible = frozenset(self.documents if scope == Scope() else ())
        if not visible and not admits_nothing(scope):
            admits = admission(scope)
            visible = frozenset(
                name for name, stored in self.documents.items() if admits(stored.record)
            )
        leaves = None
        if len(visible) < len(self.documents):
            leaves = self._flags(visible)[self.leaves.documents]
        digests = [self.documents[name].digest for name in visible]
        return _View(visible, leaves, self.postings.admitted(leaves), combined_digest(digests))

    def _flags(self, sources: Collection[str]) -> Flags:
        """Which of ``names`` are among the sources."""
        return np.fromiter((name in sources for name in self.names), dtype=bool)

    # ------------------------------------------------------------------------------ changing

    def changed(
        self, gone: Collection[str], leaf_rows: pyarrow.Table, other_rows: pyarrow.Table
    ) -> Snapshot:
        """The snapshot without the sources ``gone``, and with all documents of the rows.

        ``leaf_rows`` have the columns ``EVERYTHING`` (or ``WORDS``, like all before), the others
        ``OF_OTHERS``. They are whole documents: each replaces an earlier one of its source.
        """
        levels = other_rows.column("level").to_numpy()
        added = _documents(other_rows.filter(levels == 0))
        left = {name: stored for name, stored in self.documents.items() if name not in gone}
        stay = self._flags(left.keys() - added.keys())
        documents = {**left, **added}
        # Only documents that are gone have no number here, and none of their chunks stay.
        numbers = {name: number for number, name in enumerate(documents)}
        moved = np.fromiter((numbers.get(name, -1) for name in self.names), dtype=np.int32)
        leaves = self.leaves.joined(stay, leaf_rows, numbers, moved)
        kept, vectors, parents = stay[self.leaves.documents], self.vectors, self.parents
        if "vector" in leaf_rows.column_names:
            parent_rows = other_rows.filter(levels > 0)
            parents = self.parents.joined(stay, parent_rows, numbers, moved)
            new = vector_matrix(leaf_rows, self.vectors.shape[1])
            vectors = np.concatenate((vectors[kept], new)) if kept.any() else new
        return Snapshot(
            documents=documents,
            names=tuple(documents),
            leaves=leaves,
            parents=parents,
            vectors=vectors,
            postings=self.postings.merged(kept, leaf_rows.column("terms").combine_chunks()),
            places={} if "vector" not in leaf_rows.column_names else places_by_id(leaves, parents),
            longest=_longest(vectors),
        )


def empty_snapshot(dimensions: int) -> Snapshot:
    """The snapshot of a store without documents."""
    return Snapshot(
        documents={},
        names=(),
        leaves=no_chunks(),
        parents=no_chunks(),
        vectors=np.zeros((0, dimensions), dtype=np.float32),
        postings=no_postings(),
        places={},
    )


def _products(scored: Vectors, queries: Vectors) -> Iterator[Vectors]:
    """The dot products of each query with every row, but for rounding."""
    blocks, rest = divmod(len(scored), BLOCK)
    whole = len(scored) - rest
    stacked = scored[:whole].reshape(blocks, BLOCK, scored.shape[1])
    for start in range(0, len(queries), QUERIES_AT_ONCE):
        some = np.ascontiguousarray(queries[start : start + QUERIES_AT_ONCE].T)
        products = np.matmul(stacked, some).reshape(whole, some.shape[1])
        yield from np.concatenate((products.T, (scored[whole:] @ some).T), axis=1)


def _highest(scores: npt.NDArray[np.floating], limit: int, *, margin: float = 0.0) -> Rows:
    """Places of the ``limit`` highest scores, with all that come within ``margin`` of the last.

    Scores of minus infinity are out of scope, and never among them.
    """
    if len(scores) <= limit:
        return np.flatnonzero(scores > -np.inf).astype(np.int32)
    # The last of the best is no lower than the last of the best of as many groups: most of what is
    # below that is never sorted.
    groups = len(scores) // GROUP
    if groups > limit:
        highest = scores[: groups * GROUP].reshape(groups, GROUP).max(axis=1)
        near = np.flatnonzero(scores >= _last_of(highest, limit) - margin)
        scores = scores[near]
    else:
        near = np.arange(len(scores))
    kept = (scores >= _last_of(scores, limit) - margin) & (scores > -np.inf)
    return near[kept].astype(np.int32)


def _last_of(scores: npt.NDArray[np.floating], limit: int) -> float:
    return float(np.partition(scores, len(scores) - limit)[len(scores) - limit])


def _longest(vectors: Vectors) -> float:
    return float(np.sqrt(np.vecdot(vectors, vectors).max())) if len(vectors) else 0.0


# --------------------------------------------------------------------------- from rows of a table


def _documents(rows: pyarrow.Table) -> dict[str, StoredDocument]:
    columns = (rows.column(name).to_pylist() for name in ("source_id", "digest", ITEM))
    return {
        name: StoredDocument((digest, item)) for name, digest, item in zip(*columns, strict=True)
    }
