"""The citation guard: nothing that an answer says of the evidence goes unproven."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.citations import cite, guard, supporting
from anabranch.types import Answer, Citation, Place
from fakes import evidence

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


# ------------------------------------------------------------------------ numbers, names, quotations


@pytest.mark.parametrize(
    ("said", "stands"),
    [
        ("Annual leave is thirty days [1].", "Annual leave is 30 days."),
        ("Annual leave is 30 days [1].", "Annual leave is thirty days."),
        ("Leave lasts 4 weeks [1].", "Leave lasts 28 days."),
        ("It costs 1,500 euros [1].", "It costs 1500 euros."),
        ("It began on 3 March 2024 [1].", "It began on 2024-03-03."),
        ("年假为30天[1]。", "年假为三十天。"),
        ("年假为三十天【1】。", "年假为30天。"),
        ("It is open from 9:30 [1].", "It is open from 9:30 am."),
        (
            "It was sold to Guzmán, as TechCrunch and the OpenAI blog say, in 1418 [1].",
            "As the OpenAI blog and TechCrunch say, it was sold to Guzmán in 1418.",
        ),
        (
            "The homeobox factor Prrx1 and the gene H19 direct it [1].",
            "It is directed by the homeobox factor Prrx1 and the gene H19.",
        ),
    ],
)
def test_a_number_is_the_same_however_it_is_written(said: str, stands: str) -> None:
    assert guard(Answer(said, "llm"), [evidence(stands)]).unsupported == ()


@pytest.mark.parametrize(
    ("said", "stands"),
    [
        ("Annual leave is thirty days [1].", "Annual leave is 28 days."),
        ("Annual leave is 30 days [1].", "Annual leave is thirteen days."),
        ("It costs 1,500 euros [1].", "It costs 15,000 euros."),
        ("It began on 3 March 2024 [1].", "It began on 2024-03-13."),
        ("年假为三十天[1]。", "年假为28天。"),
        ("Annual leave in Paris is 30 days [1].", "Annual leave in Berlin is 30 days."),
        ('It says "leave is carried over" [1].', "It says leave may not be carried over."),
        ("手册规定“年假可以顺延”[1]。", "手册规定年假不可以顺延。"),
    ],
)
def test_another_number_name_or_quotation_is_unsupported(said: str, stands: str) -> None:
    assert len(guard(Answer(said, "llm"), [evidence(stands)]).unsupported) == 1


@pytest.mark.parametrize(
    ("said", "stands"),
    [
        ('It says "Leave may be\ncarried over" [1].', "It says leave may be carried over."),
        ('It says "leave … carried over." [1]', "It says leave may be carried over."),
        ('It says "It is carried over. It ends." [1]', "It says: it is carried over. It ends."),
        ("手册规定“年假可以……顺延”[1]。", "手册规定年假可以一次顺延。"),
        ("手册规定“年假，可以顺延”[1]。", "手册规定年假可以顺延。"),
        ('"FS" is short for file system [1].', "The file system (Fs) is mounted."),
        ("The leave of Berlin's staff is 30 days [1].", "In Berlin staff leave is 30 days."),
    ],
)
def test_a_quotation_stands_whatever_its_line_breaks_and_marks(said: str, stands: str) -> None:
    assert guard(Answer(said.replace("\n", " "), "llm"), [evidence(stands)]).unsupported == ()


@pytest.mark.parametrize(
    ("said", "supported"),
    [
        ("柏林的年假为30天[1]。", True),
        ("柏林的年假为31天[1]。", False),
        ("VPN年假为30天[1]。", False),
    ],
)
def test_between_languages_numbers_and_what_both_write_decide(said: str, supported: bool) -> None:
    answer = guard(Answer(said, "llm"), [evidence("Annual leave in Berlin is 30 days.")])
    assert (answer.unsupported == ()) is supported


@pytest.mark.parametrize(
    "said", ["The documents do not mention Boston.", "资料中没有提到波士顿的年假。"]
)
def test_that_nothing_is_said_needs_no_citation(said: str) -> None:
    answer = guard(Answer(f"Annual leave is 30 days [1]. {said}", "llm"), [LEAVE])
    assert answer.unsupported == ()


def test_what_one_of_several_cited_passages_says_is_supported() -> None:
    answer = guarded("Annual leave in Berlin is 30 days, and the notice period four weeks [1, 2].")
    assert answer.text.endswith("[1][2].")
    assert answer.unsupported == ()


def test_a_marker_that_is_lost_among_others_flags_its_sentence() -> None:
    answer = guarded("Annual leave in Berlin is 30 days [1, 9].")
    assert answer.text == "Annual leave in Berlin is 30 days [1]."
    assert answer.unsupported == ("Annual leave in Berlin is 30 days.",)


# -------------------------------------------------------------------------------------- the quotes

HANDBOOK = evidence(
    "The office is in Berlin. Annual leave is 30 days. Trainees have two days more. "
    "Leave is requested in the portal.",
    provenance=(Place("leave.md", 1, 0, 25, "s"), Place("leave.md", 2, 25, 120, "s")),
)


def test_a_marker_gets_the_sentence_that_supports_it_and_its_page() -> None:
    [citation] = guard(Answer("Leave is 30 days a year [1].", "llm"), [HANDBOOK]).citations
    assert citation == Citation(1, "e1", "Annual leave is 30 days.", page=2)


def test_a_sentence_that_rests_on_two_others_quotes_both() -> None:
    quotes = supporting("Annual leave is 30 days, requested in the portal", HANDBOOK.text)
    assert quotes == ("Annual leave is 30 days.", "Leave is requested in the portal.")


def test_a_sentence_in_another_language_quotes_all_of_the_passage() -> None:
    assert supporting("年假很长", HANDBOOK.text) == (HANDBOOK.text,)


def test_a_chinese_marker_gets_its_sentence() -> None:
    text = "办公室在柏林。年假为三十天。请在门户网站申请。"
    assert supporting("员工有三十天年假", text) == ("年假为三十天。",)


def test_citations_that_are_proven_are_kept_as_they_are() -> None:
    own = Citation(1, "e1", "Annual leave", page=1)
    assert guarded("Annual leave in Berlin is 30 days [1].", own).citations == (own,)


def test_every_marker_is_cited_and_none_that_resolves_to_nothing() -> None:
    found = cite(
        "Annual leave is 30 days [1, 7]. The notice period is four weeks 【2】.", [LEAVE, NOTICE]
    )
    assert [(citation.marker, citation.evidence) for citation in found] == [(1, "e1"), (2, "e2")]


def test_a_quotation_of_a_reference_of_the_document_is_no_marker_of_ours() -> None:
    answer = guard(Answer("See (9) [1].", "extractive"), [evidence("See [9].")])
    assert answer.text == "See (9) [1]."
    assert answer.unsupported == ()


@given(
    st.lists(
        st.one_of(
            st.sampled_from(["30 days", "[1]", "[1-9]", "“", "”", "三十天", "\u00a0million", "…", ". ", "。", "\n", "Berlin"]),
            st.text(max_size=3),
        ),
        max_size=12,
    ).map("".join)
)  # fmt: skip
def test_whatever_is_written_can_be_checked(text: str) -> None:
    for mode in ("llm", "extractive"):
        answer = guard(Answer(text, mode), [LEAVE, NOTICE])  # type: ignore[arg-type]
        assert {citation.evidence for citation in answer.citations} <= {"e1", "e2"}
