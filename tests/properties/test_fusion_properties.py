"""Fusion, whatever the scores: nothing is lost, counted twice, or decided by the order."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.fusion import ScoredList, deduplicate, fuse, fuse_legs, fuse_queries
from anabranch.types import Hit, LegResult, Query, QueryResult
from fakes import chunk, passage

# Enough to meet every shape of list; a slow machine is no failure.
FAST = settings(max_examples=25, deadline=None)

KEYS = st.sampled_from([f"c{number}" for number in range(12)])
SCORES = st.integers(-40, 40).map(lambda quarters: quarters / 4)


@st.composite
def scored_lists(draw: st.DrawFn) -> ScoredList:
    """Lists of none, one, two or more hits, often with equal scores."""
    scores = draw(st.dictionaries(KEYS, SCORES | st.sampled_from([0.0, 1.0]), max_size=8))
    floor = min(scores.values(), default=0.0) - draw(st.sampled_from([0.0, 0.5]))
    return ScoredList(scores, draw(st.sampled_from([0.0, 0.3, 0.5, 1.0])), floor)


LISTS = st.lists(scored_lists(), max_size=5)


@FAST
@given(LISTS, st.randoms())
def test_the_order_of_the_lists_changes_nothing(
    lists: list[ScoredList], order: random.Random
) -> None:
    shuffled = list(lists)
    order.shuffle(shuffled)
    assert list(fuse(shuffled).items()) == list(fuse(lists).items())


@FAST
@given(scored_lists(), st.randoms())
def test_the_order_inside_a_list_changes_nothing(one: ScoredList, order: random.Random) -> None:
    items = list(one.scores.items())
    order.shuffle(items)
    assert fuse([ScoredList(dict(items), one.weight, one.floor)]) == fuse([one])


@FAST
@given(LISTS)
def test_every_candidate_of_a_living_list_is_kept_once(lists: list[ScoredList]) -> None:
    assert set(fuse(lists)) == {key for one in lists if one.weight > 0 for key in one.scores}


@FAST
@given(LISTS, st.dictionaries(KEYS, SCORES, max_size=5))
def test_a_list_that_is_empty_or_has_no_weight_changes_nothing(
    lists: list[ScoredList], scores: dict[str, float]
) -> None:
    assert fuse([*lists, ScoredList(scores, 0.0, 0.0), ScoredList({}, 1.0, 0.0)]) == fuse(lists)


@FAST
@given(LISTS, st.floats(0.01, 1_000), st.floats(-1_000, 1_000))
def test_the_scale_and_the_zero_of_a_list_do_not_matter(
    lists: list[ScoredList], scale: float, shift: float
) -> None:
    moved = [
        ScoredList(
            {key: score * scale + shift for key, score in one.scores.items()},
            one.weight,
            one.floor * scale + shift,
        )
        for one in lists
    ]
    assert fuse(moved) == pytest.approx(fuse(lists), abs=1e-5)


@FAST
@given(scored_lists())
def test_a_single_list_keeps_its_order(one: ScoredList) -> None:
    fused = fuse([ScoredList(one.scores, 1.0, one.floor)])
    assert list(fused) == sorted(one.scores, key=lambda key: (-one.scores[key], key))


@FAST
@given(st.lists(st.tuples(KEYS, SCORES), max_size=10), st.randoms())
def test_a_chunk_is_credited_once_a_list_however_often_it_comes(
    found: list[tuple[str, float]], order: random.Random
) -> None:
    ranked = sorted(found, key=lambda item: -item[1])
    hits = [Hit(chunk(key, chunk_id=key), score) for key, score in ranked]
    best: dict[str, Hit] = {}
    for hit in hits:
        best.setdefault(hit.chunk.chunk_id, hit)

    def fused(listed: list[Hit]) -> dict[str, float]:
        result = QueryResult(Query("q1", "x", "original"), (LegResult("dense", tuple(listed)),))
        return fuse_legs(result, {"dense": 0.5}, 100)

    assert fused(hits) == fused(list(best.values()))


FUSED = st.dictionaries(KEYS, SCORES, max_size=6)


@FAST
@given(st.dictionaries(st.sampled_from(["q1", "q2", "q3", "q4"]), FUSED, max_size=4), st.randoms())
def test_the_order_in_which_queries_finish_changes_nothing(
    fused: dict[str, dict[str, float]], order: random.Random
) -> None:
    weights = {name: 1.0 if name == "q1" else 0.3 for name in fused}
    items = list(fused.items())
    order.shuffle(items)
    combined = fuse_queries(fused, weights)
    assert list(fuse_queries(dict(items), weights).items()) == list(combined.items())
    assert set(combined) == {key for scores in fused.values() for key in scores}


@FAST
@given(FUSED)
def test_the_original_keeps_its_order_when_its_variants_found_nothing(
    original: dict[str, float],
) -> None:
    combined = fuse_queries({"q1": original, "q2": {}}, {"q1": 1.0, "q2": 0.3})
    assert list(combined) == sorted(original, key=lambda key: (-original[key], key))


@FAST
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["x.md", "y.md"])), max_size=10))
def test_every_text_is_kept_once_with_every_place(placed: list[tuple[str, str]]) -> None:
    passages = [
        passage(chunk=chunk(text, source, chunk_index=ord(text), start=10 * ord(text)))
        for text, source in placed
    ]
    kept = deduplicate(passages)
    assert [p.chunk.text for p in kept] == list(dict.fromkeys(text for text, _ in placed))
    places = {(p.chunk.text, place.source) for p in kept for place in p.provenance}
    assert places == set(placed)
