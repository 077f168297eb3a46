"""What has been said before a question, as the follow-up rules read it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Topic:
    """What was spoken of, as it was written in a turn."""

    name: str
    turn: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question of the user, completed, and what it was answered; ``turn`` counts from 1.

    ``person`` and ``thing`` are what "she" and "it" mean after the question.
    """

    turn: int
    question: str
    answer: str = ""
    person: Topic | None = None
    thing: Topic | None = None


@dataclass(frozen=True, slots=True)
class Filled:
    """A completed question, and in words what came from which turn.

    ``person`` and ``thing`` are what its pointing words were found to mean.
    """

    text: str
    supplied: tuple[str, ...]
    person: Topic | None = None
    thing: Topic | None = None


def told(word: str, meant: str, turn: int) -> str:
    """How the trace says that ``word`` was completed from a turn."""
    return f"{word!r} is {meant!r} (turn {turn})"
