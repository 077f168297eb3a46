"""How likely each piece of the evidence is to hold the answer; pure.

A logistic regression over what a reader would look at: the question's words in the piece, in its
neighbours and in the headings above it, what it means, how relevant its passage is, and whether it
gives the kind of value that was asked for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from anabranch import language
from anabranch.reasoning import passages as features
from anabranch.reasoning.presenting import Unit, units
from anabranch.types import Evidence

_ASKS_NUMBER = re.compile(
    r"\bhow\s+(?:many|much|long|often|far|old|big|large|high|tall|fast|late|soon|heavy|tight)\b"
    r"|\b(?:number|amount|percentage|rate|price|cost|limit|population|distance|size)\b"
    r"|多少|几[个天年月岁次位名台度元]|多[长久大高远重]|百分",
    re.IGNORECASE,
)
_ASKS_TIME = re.compile(
    r"\bwhen\b|\b(?:what|which|in what|in which)\s+(?:year|date|day|month|century|time)\b"
    r"|什么时[候间]|何时|哪一?[年天日月]|几[点月号]",
    re.IGNORECASE,
)
_ASKS_NAME = re.compile(r"\b(?:who|whom|whose|where)\b|谁|哪里|哪儿|在哪|什么地方", re.IGNORECASE)
_HAS_NUMBER = re.compile(
    r"\d|[一二三四五六七八九十百千万两]+[个天年月岁次位名元台度]"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|half|dozen"
    r"|hundred|thousand|million)\b",
    re.IGNORECASE,
)
_HAS_TIME = re.compile(
    r"\b(?:1\d|20)\d\d\b|\d+(?:st|nd|rd|th)\b|\d[年月日点时]|[一二三四五六七八九十]+[点月日]"
    r"|\b(?:January|February|March|April|May|June|July|August|September|October|November"
    r"|December|century|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|noon|midnight)\b"
    r"|\d:\d\d"
)


@dataclass(frozen=True, slots=True)
class PieceModel:
    """A logistic regression over what ``measure`` gives of a piece."""

    bias: float
    coefficients: Mapping[str, float]

    def likelihood(self, values: Mapping[str, float]) -> float:
        total = self.bias + math.fsum(
            weight * values[name] for name, weight in self.coefficients.items()
        )
        return 1.0 / (1.0 + math.exp(-total))


# By tools/fit_answerer.py, on samples of squad2, nq_open and cmrc2018 run through the whole
# pipeline; a piece counts as right if it has a gold answer in it.
FITTED = PieceModel(
    -3.04,
    MappingProxyType(
        {
            "own": 2.51,
            "placed": 0.89,
            "behind": -3.94,
            "relevance": 1.28,
            "rank": -0.9,
            "value": 0.68,
            "brevity": -1.08,
        }
    ),
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """Piece ``index`` of evidence ``number`` (from 0), and how likely it holds the answer.

    ``asked`` are the question's terms that stand in the piece itself, ``names`` those that
    name something or have a figure and stand in it or in what it stands under.
    """

    number: int
    index: int
    unit: Unit
    likelihood: float
    asked: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()


def weigh(
    question: str, evidence: Sequence[Evidence], model: PieceModel = FITTED
) -> list[Candidate]:
    """Every piece that can be part of an answer, in reading order."""
    cut = features.cut_question(question)
    asked = frozenset(cut.terms)
    names = frozenset[str]().union(*cut.names)
    names |= {term for term in asked if any(map(str.isdigit, term))}
    found = []
    for number, index, unit, read in measure(question, evidence):
        said = unit.terms | unit.headed
        named = names & (said | unit.setting | _place(evidence[number]))
        found.append(Candidate(number, index, unit, model.likelihood(read), asked & said, named))
    return found


def _place(evidence: Evidence) -> frozenset[str]:
    return features.term_set(f"{evidence.title}\n{evidence.context}\n{evidence.source}")


def measure(
    question: str, evidence: Sequence[Evidence]
) -> list[tuple[int, int, Unit, dict[str, float]]]:
    """The pieces with what the regression reads of each; every value is about 0 to 1."""
    asked = features.cut_question(question)
    passages = [units(one) for one in evidence]
    weights = _weights(asked.terms, [unit for pieces in passages for unit in pieces])
    closest = max((w.cosine for one in evidence for w in one.windows), default=0.0)
    kind = _kind_asked(question)
    found = []
    for number, (one, pieces) in enumerate(zip(evidence, passages, strict=True)):
        place = _place(one)
        for index, unit in enumerate(pieces):
            if not unit.can_answer:
                continue
            own = _coverage(unit.terms | unit.headed, weights)
            placed = _coverage(unit.terms | unit.setting | place, weights)
            similarity = _similarity(one, unit)
            if similarity is None:  # No vectors: words stand in for meaning.
                similarity = closest * placed if closest else 0.7 * placed
            values = {
                "own": own,
                "placed": placed,
                "behind": max(closest - similarity, 0.0),
                "relevance": one.relevance,
                "rank": number / 8,
                "value": _gives(kind, asked, unit.shown),
                "brevity": 1.0
                - min(len(unit.shown) / (80 if language.has_cjk(unit.shown) else 240), 1.0),
            }
            found.append((number, index, unit, values))
    return found


def _weights(terms: Sequence[str], pieces: Sequence[Unit]) -> dict[str, float]:
    """How telling each asked term is among the pieces at hand, summing to 1."""
    raw = {
        term: math.log(1 + (len(pieces) + 1) / (sum(term in unit.terms for unit in pieces) + 1))
        for term in terms
    }
    total = sum(raw.values()) or 1.0
    return {term: weight / total for term, weight in raw.items()}


def _coverage(found: frozenset[str], weights: Mapping[str, float]) -> float:
    return sum(weight for term, weight in weights.items() if term in found)


def _similarity(evidence: Evidence, unit: Unit) -> float | None:
    """The best cosine of a window that has most of the piece; None where none is known."""
    start, end = evidence.start + unit.start, evidence.start + unit.end
    found = [
        window.cosine
        for window in evidence.windows
        if 2 * (min(end, window.end) - max(start, window.start)) > end - start
    ]
    return max(max(found), 0.0) if found else None


def _kind_asked(question: str) -> str:
    if _ASKS_TIME.search(question):
        return "time"
    if _ASKS_NUMBER.search(question):
        return "number"
    return "name" if _ASKS_NAME.search(question) else ""


def _gives(kind: str, asked: features.CutQuestion, text: str) -> float:
    """1 if the piece has a time, a figure or a name as was asked, -1 if it lacks it, else 0."""
    if not kind:
        return 0.0
    if kind == "time":
        return 1.0 if _HAS_TIME.search(text) else -1.0
    if kind == "number":
        return 1.0 if _HAS_NUMBER.search(text) else -1.0
    if language.has_cjk(text):  # Chinese names have no capitals.
        return 0.0
    folded = language.fold(asked.text)
    return 1.0 if any(language.fold(n) not in folded for n in features.names(text)) else -1.0
