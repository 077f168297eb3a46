"""Evidence fits its budgets, and an answer says only what its citations hold."""

from __future__ import annotations

import pytest

from anabranch.evidence import as_context, estimate_tokens, nearest, pack
from anabranch.types import PAGE_SPANS, Passage, WindowScore
from fakes import chunk, evidence, passage


def test_chinese_costs_a_token_a_character_and_english_a_quarter() -> None:
    assert estimate_tokens("年" * 100) == 101
    assert estimate_tokens("word" * 100) == 101


def test_a_long_passage_is_left_out_and_listed_and_the_next_ones_still_come() -> None:
    passages = [passage(text * 40, f"{i}.md") for i, text in enumerate(("aa ", "bb " * 90, "cc "))]
    kept, left_out = pack(passages, {}, top_k=8, context_tokens=200)
    assert [item.source for item in kept] == ["0.md", "2.md"]
    assert [(item.chunk_id, item.reason) for item in left_out] == [
        (passages[1].chunk.chunk_id, "budget")
    ]


def test_the_first_passage_is_evidence_whatever_it_costs() -> None:
    kept, left_out = pack([passage("long " * 5_000)], {}, top_k=8, context_tokens=100)
    assert (len(kept), left_out) == (1, ())


def test_evidence_ends_at_top_k_without_listing_the_rest() -> None:
    kept, left_out = pack(
        [passage(f"Fact {i}.", f"{i}.md") for i in range(9)], {}, top_k=3, context_tokens=9_999
    )
    assert [item.id for item in kept] == ["e1", "e2", "e3"]
    assert left_out == ()


def listed(*found_by: str) -> list[Passage]:
    return [passage(f"Fact {i}.", f"{i}.md", found_by=(name,)) for i, name in enumerate(found_by)]


def relevances(passages: list[Passage], *values: float) -> dict[str, float]:
    return {item.chunk.chunk_id: value for item, value in zip(passages, values, strict=True)}


def test_room_is_no_reason_to_be_evidence() -> None:
    passages = listed("q1", "q1", "q1", "q1", "q1")
    known = relevances(passages, 0.9, 0.01, 0.01, 0.01, 0.5)
    kept, left_out = pack(passages, known, top_k=8, context_tokens=999)
    assert [item.source for item in kept] == ["0.md", "1.md", "2.md", "4.md"]
    assert [(item.chunk_id, item.reason) for item in left_out] == [
        (passages[3].chunk.chunk_id, "relevance")
    ]


@pytest.mark.parametrize("finder", ["b2", "s1", "s1.2"])
def test_what_a_follow_up_or_a_sub_question_found_keeps_its_place(finder: str) -> None:
    passages = listed("q1", "q1", "q1", finder)
    kept, left_out = pack(
        passages, relevances(passages, 0.9, 0.1, 0.1, 0.0), top_k=8, context_tokens=999
    )
    assert (len(kept), left_out) == (4, ())


def test_nothing_below_top_k_is_listed_as_irrelevant() -> None:
    passages = listed(*["q1"] * 12)
    known = relevances(passages, 0.9, *[0.0] * 11)
    _, left_out = pack(passages, known, top_k=5, context_tokens=999)
    assert len(left_out) == 2


def test_a_short_budget_goes_to_each_sub_question_before_more_of_the_first() -> None:
    passages = [
        passage(f"{i} " * 100, f"{i}.md", found_by=(name,))
        for i, name in enumerate(("s1", "s1", "s1", "s2"))
    ]
    kept, _ = pack(passages, {}, top_k=4, context_tokens=110)
    assert [item.source for item in kept] == ["0.md", "3.md"]


def test_a_merged_passage_is_as_relevant_as_its_best_leaf() -> None:
    parent = passage(chunk=chunk(level=2, chunk_id="p"), merged_from=("a", "b"))
    [item], _ = pack([parent], {"a": 0.2, "b": 0.8}, top_k=1, context_tokens=100)
    assert item.relevance == 0.8


def test_the_context_numbers_each_passage_with_its_place() -> None:
    shown = as_context([evidence("One."), evidence("Two.", 2, page=None, source="b.md")])
    assert shown == "[1] leave.md, page 1\nOne.\n\n[2] b.md\nTwo."


def test_nearest_shows_at_most_three_with_their_relevance() -> None:
    passages = [passage(f"Fact {i}. " * 90, f"{i}.md") for i in range(5)]
    shown = nearest(passages, {passages[0].chunk.chunk_id: 0.3})
    assert [item.source for item in shown] == ["0.md", "1.md", "2.md"]
    assert shown[0].relevance == 0.3
    assert len(shown[0].text) == 300


def test_nearest_is_shown_from_where_it_comes_closest_with_the_page_of_that_place() -> None:
    first, second = "Opening hours are long. ", "The canteen closes at two."
    spans = {PAGE_SPANS: [[1, 10, 34], [2, 34, 60]]}
    made = passage(
        chunk=chunk(first + second, start=10, metadata=spans),
        windows=(WindowScore(10, 34, 0.1), WindowScore(34, 60, 0.4)),
    )
    [shown] = nearest([made], {})
    assert (shown.text, shown.page) == (second, 2)
