"""The pieces of a chain: the one that names the next thing, and what is said of that thing; pure.

"Who directed the film that was shot in Leland?" is answered by two passages: that of Leland names the film, that of the
film its director. No piece has all that is asked. So two pieces of different passages make a chain where the first names
what the second stands under, or has as well, and both together hold more of the question than any piece alone. It is
the search's second hop (``bridging.py``) read back from what it found.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from anabranch import language
from anabranch.names import named_by, names_in_sentence
from anabranch.reasoning import passages as features
from anabranch.reasoning.complexity import complexity_reason
from anabranch.reasoning.weighing import Candidate, PieceModel, term_weights, weigh
from anabranch.types import Evidence, SubQuestion

# How much more of the question a chain has to hold than the best single piece: what stands under the name leads on for
# certain, what only has it as well may by chance.
_TITLED_GAIN = 0.05
_NAMED_GAIN = 0.2
# Of two chains that hold as much, the one to a page about the name, and to what ranks higher.
_TITLED_BONUS = 0.3
_RANK_LOSS = 0.03
# Of the last passage so many pieces stand in the answer: the first alone has the answer three times in four, and nine
# times in ten they have it together.
_PIECES_AT_THE_END = 2


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked, how telling each term is, and whether the question reads as one that takes several facts."""

    terms: frozenset[str]
    weights: Mapping[str, float]
    detour: bool

    def share(self, held: frozenset[str]) -> float:
        return math.fsum(self.weights.get(term, 0.0) for term in sorted(held))


@dataclass(frozen=True, slots=True)
class _Link:
    """``first`` has a ``name`` that evidence ``number`` has as well, or as its title; ``worth`` compares links."""

    first: Candidate
    number: int
    name: str
    worth: float


def chained(
    question: str, pieces: Sequence[Candidate], evidence: Sequence[Evidence], model: PieceModel
) -> list[Candidate]:
    """The pieces of the chain that holds most of the question, the one that leads on first.

    ``pieces`` are all those of ``evidence``. None where a single piece holds as much, or nothing leads from one
    passage to another.
    """
    asked = _Asked(
        frozenset(features.cut_question(question).terms),
        term_weights(question, evidence),
        complexity_reason(question) is not None,
    )
    best = max(_links(asked, pieces, evidence), key=lambda link: link.worth, default=None)
    if best is None:
        return []
    # Weighed among themselves: what stands here alone is what the first passage leaves open.
    end = weigh(question, [evidence[best.number]], model)
    about = best.name in named_by(evidence[best.number].title)
    end.sort(
        key=lambda one: (not about and best.name not in one.unit.shown, -one.likelihood, one.index)
    )
    if not about:  # What comes behind the name is said of it: "It costs …" further up is another's.
        end[1:] = sorted(end[1:], key=lambda one: one.index != end[0].index + 1)
    return [best.first, *(replace(one, number=best.number) for one in end[:_PIECES_AT_THE_END])]


def is_nested(sub_questions: Sequence[SubQuestion]) -> bool:
    """Whether the second of two questions has all of the first in it: two links of a chain."""
    said = [features.term_set(one.question) for one in sub_questions]
    asked = [frozenset(features.cut_question(one.question).terms) for one in sub_questions]
    return len(said) == 2 and asked[0] <= said[1]


def _links(
    asked: _Asked, pieces: Sequence[Candidate], evidence: Sequence[Evidence]
) -> Iterator[_Link]:
    passages: dict[int, list[frozenset[str]]] = {}
    for one in pieces:
        passages.setdefault(one.number, []).append(one.placed)
    titles = [named_by(one.title) for one in evidence]
    single = max((asked.share(one.placed) for one in pieces), default=0.0)
    likeliest = max(pieces, key=lambda one: one.likelihood, default=None)
    for first in pieces:
        # What reads as one fact is not looked for beside the passage that most likely has it.
        if not asked.detour and likeliest and first.number != likeliest.number:
            continue
        named: list[str] | None = None
        for number, held in passages.items():
            together = max(asked.share(first.placed | other) for other in held)
            gain = together - single
            if gain < _TITLED_GAIN or titles[number] == titles[first.number]:
                continue
            worth = together - _RANK_LOSS * number
            if title := _named_title(first.unit.shown, titles[number], asked.terms):
                yield _Link(first, number, title, worth + _TITLED_BONUS)
            elif asked.detour and gain >= _NAMED_GAIN:
                named = _new_names(first, asked.terms) if named is None else named
                if name := next((name for name in named if name in evidence[number].text), ""):
                    yield _Link(first, number, name, worth)


def _named_title(shown: str, title: str, asked: frozenset[str]) -> str:
    """What a piece names and a passage has as its ``title``, and the question does not; else empty."""
    name = re.split(r"[,，]", title)[0]
    if len(name) < 2 or features.term_set(title) <= asked:
        return ""
    if language.has_cjk(name):
        return name if name in shown else ""
    return name if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", shown) else ""


def _new_names(first: Candidate, asked: frozenset[str]) -> list[str]:
    """The names in a piece that the question does not have."""
    return [
        name
        for name in names_in_sentence(first.unit.shown)
        if not features.term_set(name) <= asked and not name.isdigit()
    ]
