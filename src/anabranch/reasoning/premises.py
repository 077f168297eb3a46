"""A figure that a question takes for granted, and a document that gives another one for the same thing; pure.

"Why does the Berlin office give 40 days of leave?" supposes something that can be looked up. Only figures with a
unit are compared, and only where nearly all that the question says stands with the other figure: what else a
question supposes is not seen here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from anabranch import language
from anabranch.reasoning import passages as texts
from anabranch.reasoning.asked_for import asks_yes_or_no
from anabranch.reasoning.qualities import other_forms
from anabranch.values import Value, values

# "Why is …" and "Is it …" state something; "what do I get after 5 years" gives a condition.
_TAKES_FOR_GRANTED = re.compile(
    r"^\W*(?:why|how\s+come)\b|为什么|為什麼|为何|為何|怎么会|怎麼會", re.IGNORECASE
)
# A figure behind one of these is a bound or a condition, and no claim.
_CONDITION = re.compile(
    r"\b(?:after|before|within|than|until|by|from|since|over|under|every|about|at\s+(?:least|most)|up\s+to)\s+(?:the\s+)?$|(?:超过|超過|至少|最多|不到|每)$",
    re.IGNORECASE,
)
# Share of what else the question says that has to stand with the other figure.
_LEAST_SHARED = 0.75


@dataclass(frozen=True, slots=True)
class Otherwise:
    """What the question says and what stands instead, as they are written; ``place`` is where."""

    claimed: str
    said: str
    place: int


def contradicted(question: str, places: Iterable[tuple[str, frozenset[str]]]) -> Otherwise | None:
    """The first sentence that gives another figure for what the question takes for granted.

    ``places``: sentences, the likeliest first, each with the terms of what it stands under. None where one of them
    bears the question out.
    """
    claim = _claim(question)
    if claim is None:
        return None
    written = question[claim.start : claim.end]
    rest = question[: claim.start] + " " + question[claim.end :]
    terms = frozenset(texts.cut_question(rest).terms) - frozenset(language.terms(_unit(claim)))
    if not terms:
        return None
    forms = other_forms(question)
    found: Otherwise | None = None
    for place, (sentence, setting) in enumerate(places):
        near = frozenset(language.terms(sentence)) | setting
        shared = [
            term
            for term in terms
            if term in near or any(noun <= near for noun in forms.get(term, ()))
        ]
        if len(shared) < _LEAST_SHARED * len(terms):
            continue
        same = [value for value in values(sentence) if _unit(value) == _unit(claim)]
        if any(value.amount == claim.amount for value in same):
            return None
        if found is None and same:
            found = Otherwise(written, sentence[same[0].start : same[0].end], place)
    return found


def _claim(question: str) -> Value | None:
    """The one figure that the question states; None where there are more, or it is a condition."""
    if not (_TAKES_FOR_GRANTED.search(question) or asks_yes_or_no(question)):
        return None
    found = list(values(question))
    if len(found) != 1 or _CONDITION.search(question[: found[0].start]):
        return None
    return found[0]


def _unit(value: Value) -> str:
    """The unit of a value without what its days are days of."""
    return value.unit if value.unit == "time of day" else value.unit.split()[-1]
