"""A figure that a question takes for granted, held against what stands in the documents."""

from __future__ import annotations

import pytest

from anabranch.language import terms
from anabranch.reasoning.premises import contradicted

LEAVE = (
    "Full-time colleagues have 30 vacation days in a calendar year.",
    frozenset(terms("leave Bonn office")),
)
HOURS = ("The Bonn office opens at 8:00 and closes at 18:30.", frozenset(terms("Bonn office")))
TERM = ("Heron的保修期为十八个月，从签收之日起计算。", frozenset(terms("Heron保修条款")))


@pytest.mark.parametrize(
    ("question", "place", "claimed", "said"),
    [
        ("Why does the Bonn office give 40 days of leave?", LEAVE, "40 days", "30 vacation days"),
        ("Does the Bonn office open at 6:00?", HOURS, "6:00", "8:00"),
        ("Heron的保修期是36个月吗？", TERM, "36个月", "十八个月"),
        ("为什么Heron的保修期只有一年？", TERM, "一年", "十八个月"),
    ],
)
def test_another_figure_for_the_same_thing_is_seen(
    question: str, place: tuple[str, frozenset[str]], claimed: str, said: str
) -> None:
    found = contradicted(question, [place])
    assert found is not None
    assert (found.claimed, found.said, found.place) == (claimed, said, 0)


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("Why does the Bonn office give 30 days of leave?", LEAVE),  # it is so
        ("How many days of leave are there after 5 years?", LEAVE),  # a condition
        ("Is there leave after 40 days in the Bonn office?", LEAVE),
        ("Why does the Graz kitchen give 40 days of grace?", LEAVE),  # about something else
        ("Does the Bonn office close at 18:30?", HOURS),
    ],
)
def test_nothing_is_held_against_a_question_without_need(
    question: str, place: tuple[str, frozenset[str]]
) -> None:
    assert contradicted(question, [place]) is None


def test_one_place_that_bears_the_question_out_is_enough() -> None:
    other = ("Since 2020 colleagues have had 40 vacation days.", LEAVE[1])
    assert contradicted("Why does the Bonn office give 40 days of leave?", [LEAVE, other]) is None
