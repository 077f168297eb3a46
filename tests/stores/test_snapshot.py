"""That a snapshot gives what its documents give, whatever way led to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.ports import IndexedDocument, Vectors
from anabranch.stores.rows import rows_of, split_rows
from anabranch.stores.snapshot import Snapshot, empty_snapshot
from anabranch.types import Scope
from store_samples import DIMENSIONS, indexed, vectors_of

EVERYTHING = Scope()
WIDE = 384

WORDS = ["apple", "pear", "plum", "带薪年假", "zeppelin", "of the"]
PASSAGES = st.lists(st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join), max_size=3)
CHANGES = st.lists(
    st.tuples(st.lists(st.integers(0, 4), max_size=2), st.dictionaries(st.integers(0, 4), PASSAGES))
)


def snapshot_of(*documents: IndexedDocument, dimensions: int = DIMENSIONS) -> Snapshot:
    return after(empty_snapshot(dimensions), *documents, dimensions=dimensions)


def after(
    snapshot: Snapshot,
    *documents: IndexedDocument,
    gone: tuple[str, ...] = (),
    dimensions: int = DIMENSIONS,
) -> Snapshot:
    return snapshot.changed(gone, *split_rows(rows_of(documents, dimensions)))


def answers(snapshot: Snapshot, limit: int) -> list[object]:
    scopes = [EVERYTHING, Scope(sources=("1.txt", "3.txt"))]
    return [
        (
            snapshot.search_text(" ".join(WORDS), limit, scope),
            snapshot.search_dense(vectors_of("apple", "plum pear"), limit, scope),
            snapshot.sources(scope),
            snapshot.chunks([f"default:{n}.txt#{m}-0" for n in range(5) for m in (1, 3)], scope),
        )
        for scope in scopes
    ] + [snapshot.fingerprint(EVERYTHING)]


@given(changes=CHANGES, limit=st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_a_changed_snapshot_gives_to_the_last_bit_what_a_new_one_gives(
    changes: list[tuple[list[int], dict[int, list[str]]]], limit: int
) -> None:
    snapshot, documents = snapshot_of(), dict[str, IndexedDocument]()
    for removed, written in changes:
        gone = tuple(f"default:{n}.txt" for n in removed)
        new = [indexed(f"{n}.txt", *passages) for n, passages in written.items()]
        snapshot = after(snapshot, *new, gone=gone)
        documents = {name: item for name, item in documents.items() if name not in gone}
        documents.update((item.record.source_id, item) for item in new)
    fresh = snapshot_of(*(documents[name] for name in sorted(documents)))
    assert answers(snapshot, limit) == answers(fresh, limit)


def test_the_old_snapshot_stays_as_it_was() -> None:
    old = snapshot_of(indexed("a.txt", "apple pie"), indexed("b.txt", "apple"))
    before = answers(old, 9)
    after(old, indexed("a.txt", "pear"), gone=("default:b.txt",))
    assert answers(old, 9) == before


def _wide(leaf_count: int, *, seed: int) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(leaf_count, WIDE))
    unit: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


@pytest.fixture(scope="module")
def wide() -> Snapshot:
    """As many leaves and dimensions as make a linear algebra library cut its work in blocks."""
    document = indexed("a.txt", *(f"word{n}" for n in range(501)))
    other = indexed("b.txt", *(f"word{n}" for n in range(17)))
    vectors = _wide(501, seed=1)
    return snapshot_of(
        replace(document, vectors=vectors),
        replace(other, vectors=vectors[-17:]),
        dimensions=WIDE,
    )


def test_a_query_gets_the_same_bits_alone_and_among_others(wide: Snapshot) -> None:
    queries = _wide(5, seed=2)
    together = wide.search_dense(queries, 600, EVERYTHING)
    assert together == [wide.search_dense(queries[n : n + 1], 600, EVERYTHING)[0] for n in range(5)]


def test_a_leaf_gets_the_same_bits_wherever_it_stands_and_whatever_the_scope(
    wide: Snapshot,
) -> None:
    query = _wide(1, seed=3)
    score = {hit.chunk.chunk_id: hit.score for hit in wide.search_dense(query, 600, EVERYTHING)[0]}
    for n in range(17):
        assert score[f"default:b.txt#3-{n}"] == score[f"default:a.txt#3-{501 - 17 + n}"]
    for source in ("a.txt", "b.txt"):
        (hits,) = wide.search_dense(query, 600, Scope(sources=(source,)))
        assert hits == tuple(sorted(hits, key=lambda hit: (-hit.score, hit.chunk.chunk_id)))
        assert {hit.chunk.chunk_id: hit.score for hit in hits} == {
            name: value for name, value in score.items() if source in name
        }
