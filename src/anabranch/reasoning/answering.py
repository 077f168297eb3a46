"""Answering without a model: the sentences of the evidence that answer, each with its citation.

A sentence is weighed by the question's terms in it and its neighbour, by what kind of value the
question asks for, and by how relevant its passage is. At most four sentences are shown, so that
the reader sees an answer and not another search result.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from anabranch import language
from anabranch.reasoning import passages as features
from anabranch.reasoning.presenting import Unit, units
from anabranch.types import Answer, Citation, Evidence, SubQuestion

_MOST_SENTENCES = 4
_MOST_CHARACTERS = 600
# A further window must be about as good as the best one.
_WORTH_SHOWING = 0.5
# How much a passage's relevance, its title and the kind of value count beside term coverage.
_RELEVANCE, _SETTING, _VALUE, _ORDER = 0.35, 0.25, 0.15, 0.1
_ASKS_NUMBER = re.compile(
    r"\bhow\s+(?:many|much|long|often|far|old|big|large|high|tall|fast|late|soon)\b"
    r"|\b(?:number|amount|percentage|rate|price|cost|limit|population|distance|size)\b"
    r"|多少|几[个天年月岁次位名]|多[长久大高远]|百分",
    re.IGNORECASE,
)
_ASKS_TIME = re.compile(
    r"\bwhen\b|\b(?:what|which|in what|in which)\s+(?:year|date|day|month|century|time)\b|什么时候|何时|哪一?[年天日月]|几[点月号]",
    re.IGNORECASE,
)
_ASKS_NAME = re.compile(r"\b(?:who|whom|whose|where)\b|谁|哪里|哪儿|在哪|什么地方", re.IGNORECASE)
_YES_NO = re.compile(
    r"^\s*(?:is|are|was|were|do|does|did|can|could|may|must|should|will|would|has|have|had|am)\b",
    re.IGNORECASE,
)
_CHINESE_YES_NO = re.compile(r"吗[？?]?\s*$|是否|是不是|能不能|有没有|可不可以|能否")
_HAS_NUMBER = re.compile(
    r"\d|[一二三四五六七八九十百千万两]+[个天年月岁次位名元]"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twenty|thirty|half|dozen|hundred|thousand)\b",
    re.IGNORECASE,
)
_HAS_TIME = re.compile(
    r"\b(?:1\d|20)\d\d\b|\d+(?:st|nd|rd|th)\b|\d[年月日点]|\b(?:January|February|March|April|May|June|July"
    r"|August|September|October|November|December|century|Monday|Friday|noon|midnight)\b|\d:\d\d"
)


@dataclass(frozen=True, slots=True)
class _Window:
    """One or two neighbouring units of a piece of evidence, and how well they answer."""

    number: int
    units: tuple[Unit, ...]
    score: float

    @property
    def length(self) -> int:
        return sum(len(unit.shown) + 1 for unit in self.units)

    @property
    def order(self) -> tuple[int, int]:
        return self.number, self.units[0].start


class LocalAnswerer:
    """Quotes the best sentences, rows and list items; deterministic, no model call."""

    async def answer(
        self, question: str, evidence: Sequence[Evidence], *, sub_questions: Sequence[SubQuestion]
    ) -> Answer:
        if not evidence:
            return Answer("", "extractive")
        if len(sub_questions) > 1:
            return _answer_parts(question, evidence, sub_questions)
        windows = _choose(_windows(question, evidence))
        if not _is_yes_no(question):  # There the deciding sentence comes first.
            windows = sorted(windows, key=lambda window: window.order)
        return _answer([(None, window) for window in windows], evidence)


def _is_yes_no(question: str) -> bool:
    return bool(_YES_NO.search(question) or _CHINESE_YES_NO.search(question))


def _windows(question: str, evidence: Sequence[Evidence]) -> list[_Window]:
    """Every window of the evidence, best first."""
    asked = features.cut_question(question)
    everything = [(number, unit) for number, one in enumerate(evidence) for unit in units(one)]
    weights = _weights(asked.terms, [unit for _, unit in everything])
    found: list[_Window] = []
    for number, one in enumerate(evidence):
        setting = features.term_set(f"{one.title}\n{one.context}\n{one.source}")
        base = _SETTING * _coverage(setting, weights)
        base += _RELEVANCE * one.relevance - _ORDER * number / len(evidence)
        pieces = units(one)
        for at, unit in enumerate(pieces):
            for last in pieces[at : at + 2]:
                window = (unit,) if last is unit else (unit, last)
                if len(window) == 2 and (unit.alone or last.alone):
                    continue
                score = base + _worth(asked, window, weights)
                found.append(_Window(number, window, score))
    return sorted(found, key=lambda w: (-w.score, len(w.units), w.order))


def _weights(terms: Sequence[str], pieces: Sequence[Unit]) -> dict[str, float]:
    """How telling each asked term is among the sentences at hand, summing to 1."""
    sets = [unit.terms for unit in pieces]
    raw = {
        term: math.log(1 + (len(sets) + 1) / (sum(term in found for found in sets) + 1))
        for term in terms
    }
    total = sum(raw.values()) or 1.0
    return {term: weight / total for term, weight in raw.items()}


def _coverage(found: frozenset[str], weights: dict[str, float]) -> float:
    return sum(weight for term, weight in weights.items() if term in found)


def _worth(asked: features.CutQuestion, window: Sequence[Unit], weights: dict[str, float]) -> float:
    terms = frozenset[str]().union(*(unit.terms for unit in window))
    text = " ".join(unit.shown for unit in window)
    value = _coverage(terms, weights)
    if _gives_what_is_asked(asked.text, text):
        value += _VALUE
    # A heading announces an answer; alone it is none.
    if all(unit.is_heading for unit in window):
        value -= 0.6
    if any(unit.is_column_names for unit in window):
        value -= 0.4
    return value


def _gives_what_is_asked(question: str, text: str) -> bool:
    """Whether the window has a figure, a time or a name that the question lacks, if it asks so."""
    if _ASKS_TIME.search(question):
        return bool(_HAS_TIME.search(text))
    if _ASKS_NUMBER.search(question):
        return bool(_HAS_NUMBER.search(text))
    if _ASKS_NAME.search(question):
        folded = language.fold(question)
        return any(language.fold(name) not in folded for name in features.names(text))
    return False


def _choose(ranked: Sequence[_Window]) -> list[_Window]:
    """The best windows that fit, without overlap or repetition, the best one first."""
    chosen: list[_Window] = []
    said: set[str] = set()
    for window in ranked:
        if chosen and window.score < _WORTH_SHOWING * chosen[0].score:
            break
        fresh = tuple(unit for unit in window.units if _key(unit) not in said)
        if not fresh or any(unit.is_column_names for unit in fresh):
            continue
        if not chosen and sum(len(unit.shown) for unit in fresh) > _MOST_CHARACTERS:
            continue  # Its halves are windows too.
        trimmed = _Window(window.number, fresh, window.score)
        count = sum(len(one.units) for one in chosen) + len(fresh)
        length = sum(one.length for one in chosen) + trimmed.length
        if chosen and (count > _MOST_SENTENCES or length > _MOST_CHARACTERS):
            continue
        chosen.append(trimmed)
        said.update(_key(unit) for unit in fresh)
        if count >= _MOST_SENTENCES:
            break
    return _with_list(chosen)


def _with_list(chosen: list[_Window]) -> list[_Window]:
    """If the best window introduces a list, its items instead of the further windows."""
    if not chosen or not chosen[0].units[-1].items:
        return chosen
    first = chosen[0]
    room = _MOST_CHARACTERS - first.length
    items: list[Unit] = []
    for item in first.units[-1].items:
        room -= len(item.shown)
        if room < 0:
            break
        items.append(item)
    return [_Window(first.number, (*first.units, *items), first.score)]


def _key(unit: Unit) -> str:
    return " ".join(language.words(unit.shown))


def _answer_parts(
    question: str, evidence: Sequence[Evidence], sub_questions: Sequence[SubQuestion]
) -> Answer:
    """One line for each sub-question that the evidence says something about."""
    lines: list[tuple[str | None, _Window]] = []
    said: set[tuple[int, int]] = set()
    per_part = max(1, _MOST_SENTENCES // len(sub_questions))
    for sub_question, (subject, own) in zip(sub_questions, _subjects(sub_questions), strict=True):
        for window in _windows(sub_question.question, evidence):
            one = evidence[window.number]
            around = features.term_set(f"{one.title}\n{one.context}\n{one.source}\n{one.text}")
            if own and not own & around:
                continue
            kept = window.units[:per_part]
            if (window.number, kept[0].start) in said or kept[0].is_column_names:
                continue
            said.add((window.number, kept[0].start))
            lines.append((subject, _Window(window.number, kept, window.score)))
            break
    if not lines:
        lines = [(None, window) for window in _choose(_windows(question, evidence))]
    return _answer(lines, evidence, separator="\n")


def _subjects(sub_questions: Sequence[SubQuestion]) -> list[tuple[str | None, frozenset[str]]]:
    """For each sub-question what it alone asks about, as written (if short) and as terms."""
    cuts = [features.cut_question(one.question) for one in sub_questions]
    found: list[tuple[str | None, frozenset[str]]] = []
    for cut in cuts:
        others = frozenset[str]().union(*(other.terms for other in cuts if other is not cut))
        own = frozenset(cut.terms) - others
        written = features.written(cut.text, [term for term in cut.terms if term in own])
        found.append((" ".join(written) if 0 < len(written) <= 3 else None, own))
    return found


def _answer(
    lines: Sequence[tuple[str | None, _Window]],
    evidence: Sequence[Evidence],
    *,
    separator: str = " ",
) -> Answer:
    written: list[str] = []
    citations: list[Citation] = []
    for subject, window in lines:
        one = evidence[window.number]
        marker = int(one.id.removeprefix("e"))
        joined = "\n" if any(unit.is_item for unit in window.units) else " "
        text = joined.join(f"{unit.shown} [{marker}]" for unit in window.units)
        written.append(f"{subject}: {text}" if subject else text)
        citations.extend(
            Citation(marker, one.id, one.text[unit.start : unit.end]) for unit in window.units
        )
    return Answer(separator.join(written), "extractive", tuple(citations))
