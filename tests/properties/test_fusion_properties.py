"""Fusion, whatever the scores: nothing is lost, counted twice, or decided by the order."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.foreign_passages import read_passages
from anabranch.fusion import (
    ScoredList,
    deduplicate,
    fold_copies,
    fuse,
    fuse_legs,
    fuse_queries,
    with_foreign,
)
from anabranch.synthesis import interleave
from anabranch.types import BranchResult, Hit, LegResult, Query, QueryResult, Retrieval, SubQuestion
from fakes import FakeDocument, chunk, passage

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


# ------------------------------------------------------------------------------ foreign retrievers

# What a stranger may give for a score, none of which may move anything of ours.
ODD_SCORES = st.floats() | st.integers(-9, 9) | st.booleans() | st.none() | st.text(max_size=3)
FOREIGN_LISTS = st.dictionaries(
    st.sampled_from(["mail", "web", "wiki"]), st.lists(ODD_SCORES, max_size=6), max_size=3
)


def foreign_results(lists: dict[str, list[object]]) -> list[QueryResult]:
    results = []
    for name, scores in lists.items():
        given_documents = [
            FakeDocument(f"{name} {at}", {"score": score}) for at, score in enumerate(scores)
        ]
        leg = read_passages(given_documents, "x", name=name, limit=10)
        query = Query(f"f-{name}", "x", "foreign", legs=("foreign",), retriever=name)
        results.append(QueryResult(query, (leg,)))
    return results


def joined(ours: dict[str, float], results: list[QueryResult]) -> dict[str, float]:
    rankings = {r.query.id: fuse_legs(r, {}, 100) for r in results}
    return with_foreign(ours, results, rankings)


@FAST
@given(FUSED, FOREIGN_LISTS, st.randoms())
def test_foreign_lists_lose_nothing_reorder_nothing_and_come_in_any_order(
    ours: dict[str, float], lists: dict[str, list[object]], order: random.Random
) -> None:
    results = foreign_results(lists)
    combined = joined(ours, results)
    assert [key for key in combined if key in ours] == sorted(ours, key=lambda k: (-ours[k], k))
    assert len(combined) == len(ours) + sum(map(len, lists.values()))
    shuffled = list(results)
    order.shuffle(shuffled)
    assert list(joined(ours, shuffled).items()) == list(combined.items())


@FAST
@given(FOREIGN_LISTS)
def test_whatever_its_scores_a_foreign_list_keeps_its_order(lists: dict[str, list[object]]) -> None:
    for result in foreign_results(lists):
        ranking = fuse_legs(result, {}, 100)
        places = [ranking[hit.chunk.chunk_id] for hit in result.legs[0].hits]
        assert places == sorted(places, reverse=True)


@FAST
@given(st.integers(1, 20))
def test_a_foreign_list_of_one_stands_where_the_first_of_many_does(count: int) -> None:
    [single] = foreign_results({"web": [None]})
    [many] = foreign_results({"web": [None] * min(count, 10)})
    assert max(joined({}, [single]).values()) == max(joined({}, [many]).values())


@FAST
@given(
    st.lists(st.sampled_from(["a b", "b c", "a b c", "a b c d", "x"]), max_size=5),
    st.lists(st.sampled_from(["a b", "b", "a b c", "x y z", "q"]), max_size=5),
)
def test_folding_copies_keeps_all_of_ours_in_order_and_every_place(
    ours: list[str], theirs: list[str]
) -> None:
    own = [passage(chunk=chunk(text, f"{at}.md")) for at, text in enumerate(ours)]
    foreign = [
        passage(chunk=chunk(text, f"{at}.html", collection="foreign:web", chunk_id=f"f{at}"))
        for at, text in enumerate(theirs)
    ]
    mixed = [item for pair in zip(own, foreign, strict=False) for item in pair]
    mixed += own[len(foreign) :] + foreign[len(own) :]
    kept = fold_copies(mixed)
    kept_ids = [p.chunk.chunk_id for p in kept]
    assert set(kept_ids) >= {p.chunk.chunk_id for p in own}
    assert len(kept_ids) == len(set(kept_ids))
    assert {place for p in kept for place in p.provenance} == {
        place for p in mixed for place in p.provenance
    }


# ------------------------------------------------------------------------------------- sub-questions


@FAST
@given(st.lists(st.integers(1, 12), min_size=1, max_size=5), st.integers(5, 20))
def test_every_branch_has_its_share_of_the_evidence(found: list[int], top_k: int) -> None:
    branches = []
    for number, count in enumerate(found):
        own = tuple(passage(f"text {number} {at}", f"{number}-{at}.md") for at in range(count))
        sub = SubQuestion(f"s{number}", "x") if number else None
        branches.append(BranchResult(sub, "answerable", Retrieval(own)))
    first = [item.chunk.text.split()[1] for item in interleave(branches, top_k=top_k)[:top_k]]
    quota = top_k // len(found)
    for number, count in enumerate(found):
        assert first.count(str(number)) >= min(quota, count)
