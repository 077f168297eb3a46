"""An answer as it is told while it is written."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from anabranch.answer import Telling
from anabranch.citations import guard
from anabranch.trace import RunEvent
from anabranch.types import Answer
from fakes import evidence

ITEMS = [evidence("Annual leave is 30 days."), evidence("Notice is four weeks.", 2)]


def told(pieces: Sequence[str], settled: str) -> list[tuple[str, bool]]:
    events: list[RunEvent] = []
    telling = Telling(events.append, ITEMS)
    for piece in pieces:
        telling.say(piece)
    telling.settle(settled)
    return [(event.text, event.restart) for event in events]


@pytest.mark.parametrize(
    "pieces",
    [
        ["Leave is 30 days [", "1", "]. Notice is four weeks [", "2, 9]."],
        [*"  Leave is 30 days【1】. Notice is four weeks [2][9].\n"],
        ["Leave is 30 days [1]", ". Notice is four weeks [2] ![x](https", "://a.example/?q=1)"],
    ],
)
def test_the_pieces_told_are_the_answer_of_the_outcome(pieces: Sequence[str]) -> None:
    text = guard(Answer("".join(pieces).strip(), "llm"), ITEMS).text
    events = told(pieces, text)
    assert "".join(piece for piece, _ in events) == text
    assert not any(restart for _, restart in events)


def test_an_answer_that_came_out_otherwise_is_told_again() -> None:
    events = told(["Leave is thir"], "Annual leave is 30 days. [1]")
    assert events[-1] == ("Annual leave is 30 days. [1]", True)


def test_what_is_not_told_piece_by_piece_is_told_at_once() -> None:
    assert told([], "Annual leave is 30 days. [1]") == [("Annual leave is 30 days. [1]", False)]
