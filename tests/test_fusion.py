"""Fusion: lists of different scales meet as equals, and one text is one passage."""

from __future__ import annotations

import pytest

from anabranch.fusion import (
    POOL,
    ScoredList,
    absorb,
    deduplicate,
    fuse,
    fuse_legs,
    fuse_queries,
    identified,
    rank_score,
    to_passages,
    with_the_rest,
)
from anabranch.types import Failure, Hit, LegName, LegResult, Query, QueryResult
from fakes import chunk, digest, hits, passage

WEIGHTS = {"dense": 0.5, "text": 0.5}


def result(*legs: LegResult, name: str = "q1") -> QueryResult:
    return QueryResult(Query(name, "leave", "original"), legs)


def test_a_leg_with_scores_a_hundred_times_larger_weighs_no_more() -> None:
    small = ScoredList({"a": 0.9, "b": 0.8, "c": 0.1}, 1.0, 0.0)
    large = ScoredList({"c": 90.0, "b": 80.0, "a": 10.0}, 1.0, 0.0)
    fused = fuse([small, large])
    assert next(iter(fused)) == "b"
    assert fused["a"] == pytest.approx(fused["c"])


def test_a_leg_that_failed_pulls_nothing_down() -> None:
    dense = LegResult("dense", hits("a", "b", "c"))
    dead = LegResult("text", failure=Failure("q1.text", "timeout"))
    alone = fuse_legs(result(dense), WEIGHTS, 100)
    assert fuse_legs(result(dense, dead), WEIGHTS, 100) == alone


def test_a_chunk_that_comes_twice_in_a_list_is_credited_once_with_its_best_score() -> None:
    first, second, third = hits("a", "b", "c")
    again = Hit(first.chunk, 0.05)
    once = fuse_legs(result(LegResult("dense", (first, second, third))), WEIGHTS, 100)
    twice = fuse_legs(result(LegResult("dense", (first, second, third, again))), WEIGHTS, 100)
    assert twice == once


def test_a_chunk_without_any_of_the_words_counts_as_zero_in_a_text_leg_that_found_all() -> None:
    a, b = hits("a", "b")
    dense = LegResult("dense", (a, Hit(b.chunk, 0.9)))
    text = LegResult("text", (Hit(a.chunk, 5.0), *hits("c", best=5.0)))
    complete = fuse_legs(result(dense, text), WEIGHTS, 100)
    cut_off = fuse_legs(result(dense, text), WEIGHTS, 2)
    assert complete[b.chunk.chunk_id] < complete[a.chunk.chunk_id]
    assert cut_off[b.chunk.chunk_id] == cut_off[a.chunk.chunk_id]


MANY = hits(*(f"document {number}" for number in range(POOL + 20)), best=20.0)


@pytest.mark.parametrize("leg", ["dense", "text"])
def test_more_candidates_move_none_of_the_first(leg: LegName) -> None:
    other = LegResult("text" if leg == "dense" else "dense", hits("document 3", "something else"))
    asked_for_more = fuse_legs(result(LegResult(leg, MANY), other), WEIGHTS, 2 * POOL)
    assert asked_for_more == fuse_legs(result(LegResult(leg, MANY[:POOL]), other), WEIGHTS, POOL)


def test_what_is_beyond_the_first_comes_behind_all_of_them_in_its_order() -> None:
    legs = [LegResult("dense", MANY), LegResult("text", MANY[:3])]
    fused = fuse_legs(result(*legs), WEIGHTS, 2 * POOL)
    whole = with_the_rest(fused, legs)
    assert list(whole) == [*fused, *(hit.chunk.chunk_id for hit in MANY[POOL:])]
    assert list(whole.values()) == sorted(whole.values(), reverse=True)


def test_equal_scores_are_ordered_by_id() -> None:
    fused = fuse([ScoredList({"b": 1.0, "c": 1.0, "a": 1.0}, 1.0, 0.0)])
    assert list(fused) == ["a", "b", "c"]


def test_a_variant_moves_the_original_less_than_the_original_itself() -> None:
    original = {"a": 1.0, "b": 0.0, "c": -1.0}
    variant = {"c": 1.0, "b": 0.0, "a": -1.0}
    fused = fuse_queries({"q1": original, "q2": variant}, {"q1": 1.0, "q2": 0.3})
    assert list(fused) == ["a", "b", "c"]


def test_queries_that_found_nothing_keep_the_original_scores() -> None:
    original = {"a": 1.5, "b": 0.2, "c": -1.7}
    fused = fuse_queries({"q1": original, "q2": {}, "q3": {}}, {"q1": 1.0, "q2": 0.3, "q3": 0.3})
    assert fused == pytest.approx(original)


def test_no_list_gives_no_candidates() -> None:
    assert fuse([]) == {}
    assert fuse_queries({"q1": {}}, {"q1": 1.0}) == {}
    assert fuse_legs(result(), WEIGHTS, 100) == {}


def test_rank_scores_stay_between_zero_and_one_and_keep_the_order() -> None:
    scores = [rank_score(value) for value in (-1000.0, -1.0, 0.0, 1.0, 1000.0)]
    assert scores == sorted(scores)
    assert all(0 <= score <= 1 for score in scores)


def test_similarity_is_the_cosine_with_a_question_and_not_with_a_bridge() -> None:
    asked = QueryResult(Query("q1", "a", "original"), (LegResult("dense", hits("x", best=0.4)),))
    bridge = QueryResult(Query("b1", "b", "bridge"), (LegResult("dense", hits("x", best=0.9)),))
    results = (asked, bridge)
    rankings = {r.query.id: fuse_legs(r, WEIGHTS, 100) for r in results}
    combined = fuse_queries(rankings, {"q1": 1.0, "b1": 0.5})
    [found] = to_passages(combined, results, rankings, similar_to=["q1"])
    assert found.similarity == pytest.approx(0.4)
    assert found.found_by == ("q1", "b1")


def test_a_chunk_that_only_text_search_saw_has_no_similarity() -> None:
    only = result(LegResult("dense"), LegResult("text", hits("x", best=7.0)))
    rankings = {"q1": fuse_legs(only, WEIGHTS, 100)}
    combined = fuse_queries(rankings, {"q1": 1.0})
    [found] = to_passages(combined, [only], rankings, similar_to=["q1"])
    assert found.similarity is None


# --------------------------------------------------------------------------------- identity


def test_the_same_sentence_in_two_files_is_one_passage_with_both_places() -> None:
    one, two = passage(source="a.md"), passage(source="b.md", found_by=("q2",))
    [kept] = deduplicate([one, two])
    assert kept.chunk.source == "a.md"
    assert [place.source for place in kept.provenance] == ["a.md", "b.md"]
    assert kept.found_by == ("q1", "q2")


def test_the_copy_that_ranks_first_stays_whichever_file_it_is_in() -> None:
    one, two = passage(source="a.md"), passage(source="b.md")
    [kept] = deduplicate([two, one])
    assert kept.chunk.source == "b.md"


def test_a_copy_stays_known_by_its_id() -> None:
    one, two = passage(source="a.md"), passage(source="b.md")
    [kept] = deduplicate([one, two])
    assert kept.merged_from == (two.chunk.chunk_id,)


def test_equal_file_names_in_two_folders_are_two_documents() -> None:
    texts = ("Berlin has 30 days.", "Boston has 20 days.")
    same = [
        passage(chunk=chunk(text, "readme.md", source_id=f"id{i}", chunk_id=f"c{i}"))
        for i, text in enumerate(texts)
    ]
    assert len(deduplicate(same)) == 2


def test_two_versions_of_one_place_are_one_passage() -> None:
    beginning = "The notice period is four weeks to the end of a month, in writing, for all of us. "
    old = passage(chunk=chunk(beginning + "Old end.", chunk_id="old"))
    new = passage(chunk=chunk(beginning + "New end.", chunk_id="new"))
    assert [p.chunk.chunk_id for p in deduplicate([new, old])] == ["new"]


def test_the_same_beginning_at_another_place_is_another_passage() -> None:
    beginning = "Name | Days | Country | Since | Remark | Approved by | Valid until | Office | x "
    rows = [passage(chunk=chunk(f"{beginning}{i}", chunk_index=i, start=i * 100)) for i in range(3)]
    assert len(deduplicate(rows)) == 3


def test_absorbing_keeps_the_best_similarity() -> None:
    one, two = passage(similarity=None), passage(source="b.md", similarity=0.4)
    assert absorb(one, two).similarity == 0.4
    assert absorb(two, passage(source="c.md", similarity=0.2)).similarity == 0.4


def test_the_same_chunk_found_with_two_scores_is_one_candidate() -> None:
    item = chunk()
    both = result(LegResult("dense", (Hit(item, 0.3),)), LegResult("text", (Hit(item, 12.0),)))
    assert list(fuse_legs(both, WEIGHTS, 100)) == [item.chunk_id]


@pytest.mark.parametrize("content_hash", [digest("some text"), ""])
def test_a_chunk_without_an_id_goes_by_its_content(content_hash: str) -> None:
    bare = [
        Hit(chunk(text, chunk_id="", content_hash=content_hash and digest(text)), 0.5)
        for text in ("one", "two", "one")
    ]
    names = [identified(hit).chunk.chunk_id for hit in bare]
    assert all(names)
    assert names[0] == names[2] != names[1]
