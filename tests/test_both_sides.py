"""An answer that rests on one side of a conflict names the other."""

from __future__ import annotations

from anabranch.both_sides import name_all_sides
from anabranch.types import Answer, Citation, Conflict, ConflictValue, Place
from fakes import evidence

FIRST = evidence("Leave is generous. Annual leave is 30 days.", 1, source_id="a", start=100)
SECOND = evidence(
    "Staff read this. Annual leave is 28 days. It ends.", 2, source_id="b",
    provenance=(Place("b.md", 7, 0, 60, "b"),),
)  # fmt: skip
CHINESE = evidence("员工须知。年假为28天。到期作废。", 3, source_id="c")


def conflict(*sides: tuple[str, int]) -> Conflict:
    values = tuple(ConflictValue("", name, start, start + 2) for name, start in sides)
    return Conflict("annual leave", values)


LEAVE = conflict(("e1", 135), ("e2", 33))


def test_the_side_that_is_not_cited_is_quoted_with_its_page() -> None:
    answer = Answer("Annual leave is 30 days [1].", "llm", (Citation(1, "e1", "30 days"),))
    named = name_all_sides(answer, [LEAVE], [FIRST, SECOND])
    assert named.text == (
        "Annual leave is 30 days [1].\nAnother source says otherwise: “Annual leave is 28 days.” [2]"
    )
    assert named.citations[1] == Citation(2, "e2", "Annual leave is 28 days.", page=7)


def test_a_chinese_answer_says_it_in_chinese() -> None:
    answer = Answer("年假为30天[1]。", "llm", (Citation(1, "e1", "30 days"),))
    named = name_all_sides(answer, [conflict(("e1", 135), ("e3", 8))], [FIRST, SECOND, CHINESE])
    assert named.text.endswith("\n另一份资料的说法不同：“年假为28天。”[3]")


def test_an_answer_that_cites_both_sides_or_none_stays_as_it_is() -> None:
    both = (Citation(1, "e1", "30 days"), Citation(2, "e2", "28 days"))
    for answer in (Answer("30 [1] or 28 [2].", "llm", both), Answer("Ask.", "llm")):
        assert name_all_sides(answer, [LEAVE], [FIRST, SECOND]) == answer
