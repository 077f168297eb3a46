"""All documents of a store at one moment, in memory, searched without further reading.

A snapshot never changes: a write makes a new one from it, and whoever reads the old one keeps
reading the old one. What it gives depends on the documents alone, not on the way that led to
them, nor on the other queries of a call:

- a cosine is a dot product for each leaf by itself. A product of matrices rounds differently for one
  query than for four; and the threads it starts cost more than it saves (measured for 1,000 leaves
  and four queries on two busy cores: 10 ms against .2);
- BM25 counts what is there (``postings.py``);
- ties are cut by chunk id.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from anabranch.language import question_terms
from anabranch.ports import Vectors, Windows
from anabranch.stores.documents import (
    admits,
    admits_nothing,
    check_query_vectors,
    chunk_from_json,
    combined_digest,
    record_from_json,
    source_order,
)
from anabranch.stores.postings import Flags, Postings, Scores, no_postings
from anabranch.stores.rows import ITEM
from anabranch.types import Chunk, Hit, Scope, SourceRecord

if TYPE_CHECKING:
    import pyarrow

# What a snapshot is made of. The extracted texts, the largest column, stay in the store.
COLUMNS = ("source_id", "level", "chunk_id", ITEM, "terms", "vector", "windows", "digest")

CACHED_SCOPES = 64


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """One document as its rows have it; ``parents`` are chunks of levels 1 and 2 by id, as JSON.

    ``state`` is equal where nothing of the document has changed.
    """

    record: SourceRecord
    state: tuple[str, str]
    parents: Mapping[str, str]

    @property
    def digest(self) -> str:
        return self.state[0]


@dataclass(frozen=True, slots=True)
class _Leaf:
    chunk_id: str
    source_id: str
    item: str
    windows: bytes | None


@dataclass(frozen=True, slots=True)
class _View:
    """What one scope admits; ``leaves`` is None where that is all of them."""

    sources: frozenset[str]
    leaves: Flags | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Documents by source id, and their leaves in rows of equal number everywhere."""

    documents: Mapping[str, StoredDocument]
    leaves: tuple[_Leaf, ...]
    vectors: Vectors
    postings: Postings
    # Where a chunk of any level is: the row of a leaf, or the source that a parent belongs to.
    places: Mapping[str, int | str]
    fingerprint: str
    _views: dict[Scope, _View] = field(default_factory=dict, compare=False)

    # ----------------------------------------------------------------------------- searching

    def search_dense(self, vectors: Vectors, limit: int, scope: Scope) -> list[tuple[Hit, ...]]:
        check_query_vectors(vectors, self.vectors.shape[1])
        visible = self._view(scope).leaves
        if limit <= 0 or not len(self.leaves) or (visible is not None and not visible.any()):
            return [()] * len(vectors)
        rows, scored = np.arange(len(self.leaves)), self.vectors
        if visible is not None and 2 * np.count_nonzero(visible) < len(visible):
            # To gather a few rows is cheaper than to compare with all of them.
            rows, visible = np.flatnonzero(visible), None
            scored = self.vectors[rows]
        found = []
        for query in np.ascontiguousarray(vectors, dtype=np.float32):
            scores = np.vecdot(scored, query).astype(np.float64)
            if visible is not None:
                scores[~visible] = -np.inf
            best = _highest(scores, limit)
            found.append(self._hits(rows[best], scores[best], limit))
        return found

    def search_text(self, query: str, limit: int, scope: Scope) -> tuple[Hit, ...]:
        if limit <= 0:
            return ()
        scores = self.postings.scores(question_terms(query))
        visible = self._view(scope).leaves
        matching = np.flatnonzero(scores if visible is None else scores * visible)
        rows = matching[_highest(scores[matching], limit)]
        return self._hits(rows, scores[rows], limit)

    def _hits(self, rows: npt.NDArray[np.intp], scores: Scores, limit: int) -> tuple[Hit, ...]:
        leaves = [self.leaves[row] for row in rows.tolist()]
        names = (leaf.chunk_id for leaf in leaves)
        ranked = sorted(zip((-scores).tolist(), names, range(len(leaves)), strict=True))
        return tuple(
            Hit(chunk_from_json(leaves[place].item), -score) for score, _, place in ranked[:limit]
        )

    # ---------------------------------------------------------------------------- looking up

    def chunks(self, chunk_ids: Sequence[str], scope: Scope) -> dict[str, Chunk]:
        visible = self._view(scope).sources
        found: dict[str, Chunk] = {}
        for chunk_id in chunk_ids:
            place = self.places.get(chunk_id)
            if isinstance(place, int):
                leaf = self.leaves[place]
                if leaf.source_id in visible:
                    found[chunk_id] = chunk_from_json(leaf.item)
            elif place in visible:
                found[chunk_id] = chunk_from_json(self.documents[place].parents[chunk_id])
        return found

    def windows(self, chunk_ids: Sequence[str], scope: Scope) -> dict[str, Windows]:
        visible, dimensions = self._view(scope).sources, self.vectors.shape[1]
        found: dict[str, Windows] = {}
        for chunk_id in chunk_ids:
            place = self.places.get(chunk_id)
            leaf = self.leaves[place] if isinstance(place, int) else None
            if leaf is None or leaf.source_id not in visible or not leaf.windows:
                continue
            if len(leaf.windows) % dimensions == 0:
                packed = np.frombuffer(leaf.windows, dtype=np.int8)
                found[chunk_id] = packed.reshape(-1, dimensions)
        return found

    def sources(self, scope: Scope) -> list[SourceRecord]:
        visible = self._view(scope).sources
        return sorted((self.documents[name].record for name in visible), key=source_order)

    def collections(self, scope: Scope) -> list[str]:
        return sorted({record.collection for record in self.sources(scope)})

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
        if admits_nothing(scope):
            return _View(frozenset(), np.zeros(len(self.leaves), dtype=bool))
        visible = frozenset(
            name for name, stored in self.documents.items() if admits(scope, stored.record)
        )
        if len(visible) == len(self.documents):
            return _View(visible, None)
        return _View(visible, self._of(visible))

    def _of(self, sources: Collection[str]) -> Flags:
        """Which leaves belong to one of the sources."""
        return np.array([leaf.source_id in sources for leaf in self.leaves], dtype=bool)

    # ------------------------------------------------------------------------------ changing

    def changed(self, gone: Collection[str], rows: pyarrow.Table) -> Snapshot:
        """The snapshot without the sources ``gone``, and with all documents of ``rows``.

        ``rows`` has ``COLUMNS``, and whole documents: each replaces an earlier one of its source.
        """
        added = _documents(rows)
        left = {name: stored for name, stored in self.documents.items() if name not in gone}
        kept = self._of(left.keys() - added.keys())
        leaf_rows = _of_level(rows, "equal")
        leaves = (
            *(leaf for leaf, stays in zip(self.leaves, kept.tolist(), strict=True) if stays),
            *_leaves(leaf_rows),
        )
        documents = {**left, **added}
        places: dict[str, int | str] = {
            chunk_id: name for name, stored in documents.items() for chunk_id in stored.parents
        }
        places.update((leaf.chunk_id, row) for row, leaf in enumerate(leaves))
        return Snapshot(
            documents=documents,
            leaves=leaves,
            vectors=np.concatenate((self.vectors[kept], _matrix(leaf_rows, self.vectors.shape[1]))),
            postings=self.postings.merged(kept, leaf_rows.column("terms").combine_chunks()),
            places=places,
            fingerprint=combined_digest([stored.digest for stored in documents.values()]),
        )


def empty_snapshot(dimensions: int) -> Snapshot:
    """The snapshot of a store without documents."""
    return Snapshot(
        documents={},
        leaves=(),
        vectors=np.zeros((0, dimensions), dtype=np.float32),
        postings=no_postings(),
        places={},
        fingerprint=combined_digest(()),
    )


def _highest(scores: Scores, limit: int) -> npt.NDArray[np.intp]:
    """Places of the ``limit`` highest scores, with all that tie with the last of them.

    Scores of minus infinity are out of scope, and never among them.
    """
    lowest = -np.inf
    if len(scores) > limit:
        lowest = np.partition(scores, len(scores) - limit)[len(scores) - limit]
    return np.flatnonzero((scores >= lowest) & (scores > -np.inf))


# --------------------------------------------------------------------------- from rows of a table


def _of_level(rows: pyarrow.Table, comparison: str) -> pyarrow.Table:
    """The rows that are leaves (``equal``), or those that are not (``not_equal``)."""
    import pyarrow.compute as compute

    return rows.filter(compute.call_function(comparison, [rows.column("level"), 3]))


def _documents(rows: pyarrow.Table) -> dict[str, StoredDocument]:
    columns = _of_level(rows, "not_equal").select(
        ["source_id", "level", "chunk_id", ITEM, "digest"]
    )
    states: dict[str, tuple[str, str]] = {}
    parents: dict[str, dict[str, str]] = {}
    for source_id, level, chunk_id, item, digest in zip(
        *(column.to_pylist() for column in columns.columns), strict=True
    ):
        if level == 0:
            states[source_id] = digest, item
        else:
            parents.setdefault(source_id, {})[chunk_id] = item
    return {
        name: StoredDocument(record_from_json(state[1]), state, parents.get(name, {}))
        for name, state in states.items()
    }


def _leaves(leaf_rows: pyarrow.Table) -> Iterable[_Leaf]:
    columns = leaf_rows.select(["chunk_id", "source_id", ITEM, "windows"]).columns
    return map(_Leaf, *(column.to_pylist() for column in columns))


def _matrix(leaf_rows: pyarrow.Table, dimensions: int) -> Vectors:
    vectors = leaf_rows.column("vector").combine_chunks()
    flat: Vectors = vectors.flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(-1, dimensions)
