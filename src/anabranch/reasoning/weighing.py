"""How likely each piece of the evidence is to hold the answer; pure.

A logistic regression over what a reader would look at: the question's words in the piece, in its
neighbours and in the headings above it, what it means, how relevant its passage is, and whether it
gives the kind of value that was asked for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from anabranch import language
from anabranch.reasoning import passages as features
from anabranch.reasoning.asked_for import asks_overview, kind_asked, units_asked, without_overview
from anabranch.reasoning.passages import LIKENESS, SAME_BEGINNING, beginnings
from anabranch.reasoning.presenting import Unit, units
from anabranch.reasoning.qualities import other_forms, with_noun
from anabranch.types import Evidence
from anabranch.values import values
from anabranch.written_forms import codes, says_another_code

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


_NOTHING: frozenset[str] = frozenset()
# What the title or the path of a page says holds for all its sentences, and tells little of one: "Berlin office"
# on the page of the Berlin office. Of .3 and 1 on samples of squad2, nq_open and cmrc2018: .976 and .973, .941 and
# .936, .911 and .900 answered.
_SAID_BY_PAGE = 0.3
# What only announces its page goes behind what says it, unless the page is what is asked about.
_ANNOUNCED = 0.15
# What is said of the HK-40 is no answer about the HK-20, however alike the rest is: it goes behind all that fits.
_ANOTHER_MODEL = 0.1
# Where all that is said of a thing is asked for, a sentence that has it as its subject says what it is.
_DEFINES = 2.0
_SUBJECT_WORDS = 3
_ASKS_OF_PAGE = re.compile(
    r"\b(?:page|document|section|chapter|guide|article|handbook|manual|note|policy|overview|report|table|leaflet|about|for\s+whom"
    r"|who|whom|whose)\b|页|頁|文档|文檔|文件|手册|手冊|指南|说明|說明|须知|政策|关于|關於|适用|適用|谁|誰",
    re.IGNORECASE,
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


# By tools/fit_answerer.py, on samples of squad2 and nq_open run through the whole pipeline; a piece
# counts as right if it has a gold answer in it.
FITTED = PieceModel(
    -2.05,
    MappingProxyType(
        {
            "own": 2.29,
            "placed": 0.72,
            "behind": -3.52,
            "relevance": 0.2,
            "rank": -2.11,
            "value": 0.67,
            "brevity": -0.78,
        }
    ),
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """Piece ``index`` of evidence ``number`` (from 0), and how likely it holds the answer.

    ``asked`` are the question's terms that stand in the piece itself, ``names`` those that
    name something or have a figure and stand in it or in what it stands under; ``placed`` are all
    that do so, in some form.
    """

    number: int
    index: int
    unit: Unit
    likelihood: float
    asked: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    placed: frozenset[str] = frozenset()


def weigh(
    question: str, evidence: Sequence[Evidence], model: PieceModel = FITTED
) -> list[Candidate]:
    """Every piece that can be part of an answer, in reading order."""
    cut = features.cut_question(question)
    asked = frozenset(cut.terms)
    names = features.named_terms(question)
    names |= {term for term in asked if any(map(str.isdigit, term))}
    forms = _asked_terms(question)
    models = codes(question)
    of_page = _ASKS_OF_PAGE.search(without_overview(question)) is not None
    overview = asks_overview(question)
    found = []
    for number, index, unit, read in measure(question, evidence):
        said = unit.terms | unit.headed
        near = said | unit.setting | features.place_terms(evidence[number])
        likelihood = model.likelihood(read)
        if unit.announces and not unit.items and not of_page:
            likelihood *= _ANNOUNCED
        if models and _of_another_model(models, unit, evidence[number]):
            likelihood *= _ANOTHER_MODEL
        if overview and _opens_with(unit.shown, asked):
            likelihood *= _DEFINES
        placed = frozenset(forms.credits(near))
        found.append(Candidate(number, index, unit, likelihood, asked & said, names & near, placed))
    return found


def _of_another_model(models: Sequence[str], unit: Unit, one: Evidence) -> bool:
    """Whether a piece, or else the page that it stands on, is about another model than the asked ones."""
    return says_another_code(models, (unit.shown, one.context, one.title, one.source))


def _opens_with(shown: str, asked: frozenset[str]) -> bool:
    """Whether a sentence, and no row of a table, begins with what is asked about."""
    opening = language.terms(
        " ".join(shown.split()[:_SUBJECT_WORDS]) if " " in shown else shown[:8]
    )
    return "; " not in shown and not asked.isdisjoint(opening)


def gives(question: str, candidate: Candidate) -> bool:
    """Whether a piece has a value of the kind and in the units that are asked for; else any has."""
    shown = candidate.unit.shown
    if units := units_asked(question):
        return any(
            value.unit.split(" ", 1)[0] in units or value.unit in units for value in values(shown)
        )
    return _gives(kind_asked(question), features.cut_question(question), shown) >= 0


def measure(
    question: str, evidence: Sequence[Evidence]
) -> list[tuple[int, int, Unit, dict[str, float]]]:
    """The pieces with what the regression reads of each; every value is about 0 to 1."""
    asked = features.cut_question(question)
    terms = _asked_terms(question)
    passages = [units(one) for one in evidence]
    weights = _weights(terms, [unit for pieces in passages for unit in pieces])
    closest = max((w.cosine for one in evidence for w in one.windows), default=0.0)
    kind = kind_asked(question)
    found = []
    for number, (one, pieces) in enumerate(zip(evidence, passages, strict=True)):
        place = features.place_terms(one)
        telling = _within_page(weights, terms, place)
        for index, unit in enumerate(pieces):
            if not unit.can_answer:
                continue
            given = _gives(kind, asked, unit.shown)
            # A heading is read with what stands below it, where that can be what is asked for.
            headed = unit.headed if given >= 0 else _NOTHING
            own = terms.coverage(terms.credits(unit.terms | headed), telling)
            placed = terms.coverage(terms.credits(unit.terms | unit.setting | place), weights)
            similarity = _similarity(one, unit)
            if similarity is None:  # No vectors: words stand in for meaning.
                similarity = closest * placed if closest else 0.7 * placed
            read = {
                "own": own,
                "placed": placed,
                "behind": max(closest - similarity, 0.0),
                "relevance": one.relevance,
                "rank": number / 8,
                "value": given,
                "brevity": 1.0
                - min(len(unit.shown) / (80 if language.has_cjk(unit.shown) else 240), 1.0),
            }
            found.append((number, index, unit, read))
    return found


def term_weights(question: str, evidence: Sequence[Evidence]) -> dict[str, float]:
    """How telling each term of ``question`` is among the pieces of ``evidence``, summing to 1."""
    return _weights(_asked_terms(question), [unit for one in evidence for unit in units(one)])


def _weights(asked: _Terms, pieces: Sequence[Unit]) -> dict[str, float]:
    """How telling each asked term is among the pieces at hand, summing to 1.

    What stands nowhere tells nothing apart: a word that the documents put in another way, a pair of
    Chinese characters over the seam of two words.
    """
    held = [asked.credits(unit.terms) for unit in pieces]
    counts = {term: math.fsum([one.get(term, 0.0) for one in held]) for term in asked.terms}
    raw = {
        term: math.log(1 + (len(pieces) + 1) / (count + 1))
        for term, count in counts.items()
        if count
    }
    for run in _runs(raw):  # else a word of three characters would count twice
        for term in run:
            raw[term] /= math.sqrt(len(run))
    total = math.fsum(raw.values()) or 1.0
    return {term: weight / total for term, weight in raw.items()}


def _within_page(
    weights: Mapping[str, float], asked: _Terms, place: frozenset[str]
) -> dict[str, float]:
    """``weights`` among the sentences of one page, summing to 1: what stands in ``place`` tells little."""
    said = asked.credits(place)
    told = {
        term: weight * (_SAID_BY_PAGE if said.get(term) == 1.0 else 1.0)
        for term, weight in weights.items()
    }
    total = math.fsum(told.values()) or 1.0
    return {term: weight / total for term, weight in told.items()}


def _runs(terms: Iterable[str]) -> list[list[str]]:
    """Pairs of characters that follow upon each other: those of one Chinese word, mostly."""
    runs: list[list[str]] = []
    for term in terms:
        joins = runs and len(term) == 2 and runs[-1][-1][-1:] == term[0] and language.has_cjk(term)
        if joins:
            runs[-1].append(term)
        else:
            runs.append([term])
    return runs


@dataclass(frozen=True, slots=True)
class _Terms:
    """What is asked for: ``other_forms`` of a term stand for it as well as it does itself."""

    terms: tuple[str, ...]
    other_forms: Mapping[str, frozenset[str]]

    def credits(self, found: frozenset[str]) -> dict[str, float]:
        """1 for a term that stands, or that another form of stands for, less where only its
        beginning does; those of which nothing stands are left out."""
        held = {term: 1.0 for term in self.terms if term in found}
        for term, forms in self.other_forms.items():
            if not forms.isdisjoint(found):
                held[term] = 1.0
        missing = [t for t in self.terms if t not in held and len(t) >= SAME_BEGINNING]
        if missing:
            standing = beginnings(found)
            for term in missing:
                if term[:SAME_BEGINNING] in standing:
                    held[term] = LIKENESS
        return held

    def coverage(self, held: Mapping[str, float], weights: Mapping[str, float]) -> float:
        return math.fsum([weights.get(term, 0.0) * credit for term, credit in held.items()])


def _asked_terms(question: str) -> _Terms:
    """The question's terms; of "cost" also "price", which is what a table has."""
    terms = features.cut_question(with_noun(question)).terms
    forms = {
        term: frozenset[str]().union(*nouns)
        for term, nouns in other_forms(question).items()
        if term in terms
    }
    return _Terms(terms, forms)


def _similarity(evidence: Evidence, unit: Unit) -> float | None:
    """The best cosine of a window that has most of the piece; None where none is known."""
    start, end = evidence.start + unit.start, evidence.start + unit.end
    most = (end - start) / 2
    found = [
        window.cosine
        for window in evidence.windows
        # Looked at a hundred times for a piece of evidence: min and max would be most of the work.
        if (end if end < window.end else window.end)
        - (start if start > window.start else window.start)
        > most
    ]
    return max(max(found), 0.0) if found else None


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
