"""The question as it stands on its own: what it leaves out is taken from the earlier turns; pure.

"And in Boston?" after "How much leave is there in Berlin?" asks how much leave there is in Boston,
and "How much does it cost?" asks for the price of what was spoken of. Something is filled in only
where one thing fits; a question that stands on its own is never changed, so that a new topic does
not drag the old one along.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from anabranch import chinese_context, english_context, english_topics, language
from anabranch.exchanges import Exchange, Filled
from anabranch.types import Plan, Turn

# What was said longer ago is seldom meant, and each turn costs a little time.
_MOST_TURNS = 24
# The beginning of an answer names what it is about.
_LONGEST_TURN = 600


@dataclass(frozen=True, slots=True)
class Standalone:
    """A question with what the conversation supplies; ``filled_in`` tells it in words."""

    text: str
    filled_in: str


def standalone(question: str, history: Sequence[Turn]) -> Standalone | None:
    """``question`` on its own; None where it is so already, or nothing fits for certain.

    Earlier questions of the user are completed first, so that what "it" meant two turns ago is
    still known.
    """
    said: list[Exchange] = []
    first = max(0, len(history) - _MOST_TURNS)
    for number, turn in enumerate(history[first:], first + 1):
        text = " ".join(turn.text.split())[:_LONGEST_TURN]
        if turn.role == "user":
            said.append(_exchange(number, text, said))
        elif said:
            said[-1] = replace(said[-1], answer=f"{said[-1].answer} {text}".strip())
    filled = _fill(question, said)
    if filled is None or language.words(filled.text) == language.words(question):
        return None
    return Standalone(filled.text, "; ".join(filled.supplied))


def complete(question: str, history: Sequence[Turn], plan: Callable[[str], Plan]) -> Plan:
    """The plan of ``question`` as it stands on its own, with what the conversation supplied."""
    found = standalone(question, history)
    if found is None:
        return plan(question)
    return replace(plan(found.text), standalone=found.text, filled_in=found.filled_in)


def _exchange(turn: int, question: str, said: Sequence[Exchange]) -> Exchange:
    filled = _fill(question, said)
    whole = filled or Filled(question, ())
    if language.has_cjk(question):
        return chinese_context.exchange(turn, whole, said)
    return english_topics.exchange(turn, whole, said)


def _fill(question: str, said: Sequence[Exchange]) -> Filled | None:
    if not said:
        return None
    if language.has_cjk(question):
        return chinese_context.fill(question, said)
    return english_context.fill(question, said)
