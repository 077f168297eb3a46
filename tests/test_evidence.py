"""Evidence fits its budgets, and an answer says only what its citations hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.evidence import as_context, estimate_tokens, guard, nearest, pack
from anabranch.types import Answer, Citation, Passage, Place
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


# ---------------------------------------------------------------------------------- the guard

LEAVE = evidence("Annual leave in Berlin is 30 days.")
NOTICE = evidence("The notice period is four weeks.", 2)
CHINESE = evidence("柏林员工每年有三十天年假。", 3)


def guarded(text: str, *citations: Citation) -> Answer:
    return guard(Answer(text, "llm", citations), [LEAVE, NOTICE, CHINESE])


def test_a_cited_sentence_passes_untouched() -> None:
    answer = guarded("Annual leave in Berlin is 30 days [1].")
    assert answer.text == "Annual leave in Berlin is 30 days [1]."
    assert answer.unsupported == ()


@pytest.mark.parametrize("marker", ["[9]", "[0]", "[01]", f"[{'9' * 5_000}]"])
def test_a_marker_that_resolves_to_nothing_is_removed_and_its_sentence_flagged(marker: str) -> None:
    answer = guarded(f"Annual leave in Berlin is 30 days {marker}.")
    assert answer.text == "Annual leave in Berlin is 30 days."
    assert answer.unsupported == ("Annual leave in Berlin is 30 days.",)


def test_a_citation_is_dropped_unless_its_quote_stands_in_its_evidence() -> None:
    proven = Citation(1, "e1", "30 days", page=1)
    invented, misplaced = Citation(1, "e1", "40 days"), Citation(2, "e1", "30 days")
    lost = Citation(9, "e9", "30 days")
    answer = guarded("Annual leave in Berlin is 30 days [1].", invented, proven, misplaced, lost)
    assert answer.citations == (proven,)


def test_a_sentence_without_a_marker_is_unsupported() -> None:
    answer = guarded("Annual leave in Berlin is 30 days [1]. The canteen serves whales.")
    assert answer.unsupported == ("The canteen serves whales.",)


def test_a_number_that_the_evidence_does_not_have_is_unsupported() -> None:
    answer = guarded("Annual leave in Berlin is 31 days [1].")
    assert answer.unsupported == ("Annual leave in Berlin is 31 days.",)


def test_a_sentence_about_something_else_is_unsupported_by_its_citation() -> None:
    assert guarded("Whales sing loudly across cold oceans [1].").unsupported


@pytest.mark.parametrize(
    "text",
    [
        "Annual leave in Berlin is 30 days. [1] The notice period is four weeks. [2]",
        "Annual leave in Berlin is 30 days.[1] The notice period is four weeks.[2]",
    ],
)
def test_a_marker_behind_the_full_stop_belongs_to_the_sentence_before(text: str) -> None:
    answer = guarded(text)
    assert answer.text == text
    assert answer.unsupported == ()


def test_a_marker_behind_the_full_stop_does_not_cover_the_sentence_after() -> None:
    answer = guarded("Annual leave in Berlin is 30 days. [1] The notice period is four weeks.")
    assert answer.unsupported == ("The notice period is four weeks.",)


def test_a_chinese_sentence_is_held_to_its_evidence_too() -> None:
    answer = guarded("柏林员工每年有三十天年假。[3]上海员工可以养鲸鱼。[3]")
    assert answer.unsupported == ("上海员工可以养鲸鱼。",)


def test_what_the_answerer_itself_called_unsupported_stays() -> None:
    answer = Answer("Annual leave in Berlin is 30 days [1].", "llm", (), ("A guess.",))
    assert guard(answer, [LEAVE]).unsupported == ("A guess.",)


def test_an_extractive_quote_with_a_full_stop_in_it_is_cited_at_its_end() -> None:
    row = evidence("| Basic | Small teams. No support. | 5 euros |")
    text = "Plan: Basic; For: Small teams. No support.; Price: 5 euros [1]"
    row = replace(row, context="Plan | For | Price")
    assert guard(Answer(text, "extractive"), [row]).unsupported == ()
    assert guard(Answer(text, "llm"), [row]).unsupported


def test_extractive_words_behind_the_last_marker_are_unsupported() -> None:
    answer = guard(Answer("Annual leave in Berlin is 30 days. [1] Really.", "extractive"), [LEAVE])
    assert answer.unsupported == ("Really.",)


def test_a_citation_has_the_page_of_its_quote() -> None:
    text = "Contract of 2026.\nThe notice period is six weeks."
    over_two = evidence(
        text,
        provenance=(
            Place("leave.md", 1, 0, len(text), "s"),
            Place("leave.md", 1, 0, 18, "s"),
            Place("leave.md", 2, 18, len(text), "s"),
        ),
    )
    quote = "The notice period is six weeks."
    answer = Answer(f"{quote} [1]", "extractive", (Citation(1, "e1", quote),))
    [citation] = guard(answer, [over_two]).citations
    assert citation.page == 2
