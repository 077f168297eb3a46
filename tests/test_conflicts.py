"""Sources that contradict each other are found; sources about different things are not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.conflicts import find
from anabranch.types import Conflict, Evidence
from fakes import evidence

HANDBOOK = (
    "Internet for guests\n\nGuests may use the visitor Wi-Fi. Its password changes every 30 days "
    "and stands on the card that the front desk hands out together with the badge."
)
NETWORK = (
    "## Larkmoor Visitor\n\nThe password of the visitor network is changed every 90 days, on a "
    "Monday, and is printed on the card at the front desk."
)
WIFI = "How often does the password of the visitor Wi-Fi change?"


def item(
    text: str, number: int = 1, *, source: str = "", title: str = "", start: int = 0
) -> Evidence:
    return replace(
        evidence(text, number, source=source or f"{number}.md"),
        title=title, source_id=f"s{number}", start=start, end=start + len(text), context=title,
        relevance=0.7,
    )  # fmt: skip


def conflicts(question: str, *texts: str) -> tuple[Conflict, ...]:
    return find(question, [item(text, number) for number, text in enumerate(texts, 1)])


def test_two_sources_with_other_values_for_one_fact_are_a_conflict() -> None:
    first = item(HANDBOOK, 1, source="handbook/visitors.md", title="Visitors", start=100)
    second = item(NETWORK, 2, source="it/network.md", title="Networks and passwords")
    [conflict] = find(WIFI, [first, second])
    assert conflict.fact == "The password of the visitor network is changed every …"
    assert [(value.value, value.evidence) for value in conflict.values] == [
        ("30 days", "e1"),
        ("90 days", "e2"),
    ]
    for value, one in zip(conflict.values, (first, second), strict=True):
        assert one.text[value.start - one.start : value.end - one.start] == value.value


def test_all_sides_of_a_conflict_are_listed() -> None:
    text = "The notice period is {} weeks."
    [conflict] = conflicts(
        "How long is the notice period?", *(text.format(n) for n in ("four", "six", "four"))
    )
    assert [value.value for value in conflict.values] == ["four weeks", "six weeks", "four weeks"]


def test_a_yes_in_one_source_and_a_no_in_another_are_a_conflict() -> None:
    [conflict] = conflicts(
        "Are dogs allowed in the kitchen?",
        "Dogs are allowed in the office kitchen.",
        "Dogs are not allowed in the office kitchen.",
    )
    assert [value.evidence for value in conflict.values] == ["e1", "e2"]


@pytest.mark.parametrize(
    ("question", "one", "other", "said"),
    [
        (
            "访客网络的密码多久更换一次？", "访客网络的密码每30天更换一次。",
            "访客网络的密码每九十天更换。", ["30天", "九十天"],
        ),
        (
            "办公室可以带狗吗？", "员工可以带狗进入办公室。", "员工不得带狗进入办公室。",
            ["员工可以带狗进入办公室", "员工不得带狗进入办公室"],
        ),
    ],
)  # fmt: skip
def test_chinese_sources_conflict_too(question: str, one: str, other: str, said: list[str]) -> None:
    [conflict] = conflicts(question, one, other)
    assert [value.value for value in conflict.values] == said


@pytest.mark.parametrize(
    ("question", "one", "other"),
    [
        (  # other subject in the sentence
            "How long is the warranty?",
            "The warranty for the Dipper lasts 36 months from delivery.",
            "The warranty for the Plover lasts 18 months from delivery.",
        ),
        (  # a qualifier that only one of them has
            "How often does the password change?",
            "The password changes every 30 days.",
            "The admin password changes every 90 days.",
        ),
        (  # the same span of time
            "How long is the warranty?",
            "The warranty lasts 12 months from delivery.",
            "The warranty lasts one year from delivery.",
        ),
        (  # values of different kinds
            "What does parking cost?",
            "Parking at the office costs 9 dollars.",
            "Parking at the office costs 20 minutes.",
        ),
        ("保修期多久？", "Dipper的保修期为三十六个月。", "Plover的保修期为十八个月。"),
        (  # not what was asked
            "Who leads the workshop?",
            "The notice period is four weeks.",
            "The notice period is six weeks.",
        ),
        (
            "Are dogs allowed?",
            "Dogs are allowed in the office kitchen.",
            "Cats are not allowed in the office kitchen.",
        ),
    ],
)
def test_different_things_do_not_conflict(question: str, one: str, other: str) -> None:
    assert conflicts(question, one, other) == ()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"title": "Annual leave in Berlin"}, {"title": "Annual leave in Boston"}),
        ({"source": "offices/berlin/leave.md"}, {"source": "offices/boston/leave.md"}),
        ({"source": "leave-2024.md"}, {"source": "leave-2025.md"}),
        ({"title": "Leave"}, {"title": "Leave for trainees"}),
        ({"title": "柏林办公室"}, {"title": "上海办公室"}),
    ],
)
def test_documents_of_one_kind_about_different_things_do_not_conflict(
    first: dict[str, str], second: dict[str, str]
) -> None:
    text = "Full-time colleagues have {} vacation days in a calendar year."
    question = "How many vacation days do full-time colleagues have?"
    one, other = item(text.format(30), 1, **first), item(text.format(20), 2, **second)
    assert find(question, [one, other]) == ()


def test_an_older_copy_of_the_same_document_does_conflict() -> None:
    text = "Full-time colleagues have {} vacation days in a calendar year."
    one = item(text.format(30), 1, source="handbook/leave.md", title="Leave")
    other = item(text.format(28), 2, source="archive/leave.md", title="Leave")
    assert find("How many vacation days do colleagues have?", [one, other])


def test_one_source_does_not_conflict_with_itself() -> None:
    one, other = (
        item("The notice period is four weeks."),
        item("The notice period is six weeks.", 2),
    )
    other = replace(other, source_id=one.source_id)
    assert find("How long is the notice period?", [one, other]) == ()


def test_evidence_that_is_hardly_relevant_takes_no_side() -> None:
    one, other = (
        item("The notice period is four weeks."),
        item("The notice period is six weeks.", 2),
    )
    assert find("How long is the notice period?", [one, replace(other, relevance=0.05)]) == ()
