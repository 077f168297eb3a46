"""Answering without a model: the sentences of the evidence that answer, each with its citation.

At most four sentences are shown, and fewer where the first ones are plainly the best, so that the
reader sees an answer and not another search result. Sources that contradict each other are both
quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from anabranch import conflicts, language
from anabranch.reasoning import passages as features
from anabranch.reasoning.premises import contradicted
from anabranch.reasoning.presenting import Unit
from anabranch.reasoning.qualities import other_forms
from anabranch.reasoning.slots import one_difference
from anabranch.reasoning.weighing import FITTED, Candidate, PieceModel, gives, weigh
from anabranch.types import Answer, Citation, Evidence, SubQuestion
from anabranch.values import values

_MOST_SENTENCES = 4
_MOST_CHARACTERS = 600
# A further sentence is shown if it is at least this likely, compared with the best. On samples of
# squad2 and nq_open (400 questions each) this shows about three sentences; at .27 it was a third of
# a sentence less, and one answer in a hundred was not among them.
_WORTH_SHOWING = 0.15
# In a line about one part of a question a reader looks for less.
_WORTH_SHOWING_IN_LINE = 0.27
_UNRELATED = 0.7
# A sub-question has a line of its own: there the second sentence must be nearly as good.
_WORTH_SHOWING_IN_PART = 0.6
# Less likely than this, a sentence is no answer to a sub-question, and its line is left out.
_LEAST_LIKELY = 0.06
# From half of their words in common two sentences say the same of two things; such a pair goes
# ahead of sentences that are up to five times as likely by themselves.
_LEAST_PARALLEL, _PARALLEL_BONUS = 0.5, 4.0
# Where some piece has the value that a part asks for, one without it is this much less likely.
_WITHOUT_VALUE = 0.4
# What follows the best sentence, or leads to it, is more likely than the same words elsewhere.
_NEIGHBOURS = {1: 1.6, -1: 1.3}
# A sentence that begins so is understood only with the one before it.
_ANAPHOR = re.compile(
    r"^(?:he|she|it|they|his|her|its|their|this|these|that|those|the (?:former|latter))\b"
    r"|^(?:他|她|它|其|该|本|这|此)",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    r"^\s*(?:is|are|was|were|do|does|did|can|could|may|must|should|will|would|has|have|had|am)\b",
    re.IGNORECASE,
)
_CHINESE_YES_NO = re.compile(r"吗[？?]?\s*$|是否|是不是|能不能|有没有|可不可以|能否")
# What stands before an answer that gives another figure than the question takes for granted.
_OTHERWISE = {False: "Other than the question says", True: "与问题所说不同"}


@dataclass(slots=True)
class _Choice:
    """Candidates chosen so far, within the budget of one answer."""

    candidates: list[Candidate] = field(default_factory=list)
    said: set[str] = field(default_factory=set)
    length: int = 0

    def take(self, candidate: Candidate) -> bool:
        """Adds a candidate with what it introduces, unless it is said already or does not fit."""
        key = _key(candidate.unit)
        length = len(candidate.unit.shown) + 1
        if key in self.said:
            return False
        if self.candidates and (
            len(self.candidates) >= _MOST_SENTENCES or self.length + length > _MOST_CHARACTERS
        ):
            return False
        self.candidates.append(candidate)
        self.said.add(key)
        self.said.update(_key(item) for item in candidate.unit.items)
        self.length += length + sum(len(item.shown) + 1 for item in _fitting(candidate.unit))
        return True


class LocalAnswerer:
    """Quotes the best sentences, rows and list items; deterministic, no model call.

    ``model`` says how likely a piece is to answer.
    """

    def __init__(self, model: PieceModel = FITTED) -> None:
        self._model = model

    async def answer(
        self, question: str, evidence: Sequence[Evidence], *, sub_questions: Sequence[SubQuestion]
    ) -> Answer:
        if not evidence:
            return Answer("", "extractive")
        if len(sub_questions) > 1:
            lines = _answer_parts(question, evidence, sub_questions, self._model)
            if lines:
                return _answer(lines, evidence)
        choice = _Choice()
        ranked, lead = _against_premise(
            question, _ranked(question, evidence, self._model), evidence
        )
        chosen = _choose(
            ranked,
            choice,
            disputed=_disputed(question, evidence),
            with_antecedents=not _is_yes_no(question),
        )
        ordered = chosen if lead else _in_order(question, chosen)
        return _answer([(lead, ordered)], evidence)


def _is_yes_no(question: str) -> bool:
    return bool(_YES_NO.search(question) or _CHINESE_YES_NO.search(question))


def _ranked(question: str, evidence: Sequence[Evidence], model: PieceModel) -> list[Candidate]:
    return _sorted(weigh(question, evidence, model))


def _against_premise(
    question: str, ranked: list[Candidate], evidence: Sequence[Evidence]
) -> tuple[list[Candidate], str]:
    """The candidates with the one ahead that gives another figure than the question, and what says so."""
    places = [(one.unit.shown, one.unit.setting | _place(evidence[one.number])) for one in ranked]
    found = contradicted(question, places)
    if found is None:
        return ranked, ""
    first = ranked[found.place]
    ahead = replace(first, likelihood=max(first.likelihood, ranked[0].likelihood))
    lead = _OTHERWISE[language.asks_in_cjk(question)]
    return [ahead, *(one for one in ranked if one is not first)], lead


def _place(evidence: Evidence) -> frozenset[str]:
    return features.term_set(f"{evidence.title}\n{evidence.context}\n{evidence.source}")


def _in_order(question: str, chosen: Sequence[Candidate]) -> list[Candidate]:
    """Reading order; but the deciding sentence first where the answer is yes or no."""
    if _is_yes_no(question):
        return list(chosen)
    return sorted(chosen, key=lambda candidate: (candidate.number, candidate.index))


def _choose(
    ranked: Sequence[Candidate],
    choice: _Choice,
    *,
    disputed: Sequence[frozenset[tuple[int, int]]] = (),
    most: int = _MOST_SENTENCES,
    worth: float = _WORTH_SHOWING,
    worth_again: float = _WORTH_SHOWING,
    with_antecedents: bool = True,
) -> list[Candidate]:
    """The best candidates that fit, best first; with one side of a dispute comes the other.

    ``worth`` is the least likelihood of a further one, compared with the best; ``worth_again`` that
    of one with no word of the question that was not there yet.
    """
    chosen: list[Candidate] = []

    def take(candidate: Candidate) -> None:
        if len(chosen) < most and choice.take(candidate):
            chosen.append(candidate)

    for candidate in _nearest_first(ranked):
        said = frozenset[str]().union(*(one.asked for one in chosen))
        least = worth if candidate.asked - said else worth_again
        if chosen and not _adds_to(chosen, candidate, least):
            continue
        count = len(chosen)
        take(candidate)
        if len(chosen) == count:
            continue
        for other in _other_sides(candidate, ranked, disputed):
            take(other)
        if with_antecedents and _ANAPHOR.search(candidate.unit.shown):
            for other in ranked:
                if (other.number, other.index) == (candidate.number, candidate.index - 1):
                    take(other)
    return chosen


def _nearest_first(ranked: Sequence[Candidate]) -> list[Candidate]:
    """The candidates with the neighbours of the best one ahead of equals elsewhere."""
    if not ranked:
        return []
    best = ranked[0]
    boosted = [
        replace(one, likelihood=one.likelihood * _NEIGHBOURS.get(one.index - best.index, 1.0))
        if one.number == best.number and not (one.unit.alone or best.unit.alone)
        else one
        for one in ranked[1:]
    ]
    return [best, *sorted(boosted, key=lambda c: (-c.likelihood, c.number, c.index))]


def _adds_to(chosen: Sequence[Candidate], candidate: Candidate, worth: float) -> bool:
    """Whether a further candidate is likely enough, and more than a weaker copy of a better one."""
    best = chosen[0]
    # Without one of the question's words, a sentence of another passage is chance.
    related = bool(candidate.asked) or candidate.number == best.number
    if candidate.likelihood < (worth if related else _UNRELATED) * best.likelihood:
        return False
    # The lead-in of another list; its items stand for themselves.
    if candidate.unit.items:
        return False
    # A row or a line that lacks what a better one has of the question is about another thing.
    return not candidate.unit.alone or not any(
        candidate.asked < other.asked or candidate.names < other.names for other in chosen
    )


def _key(unit: Unit) -> str:
    return " ".join(language.words(unit.shown))


def _fitting(unit: Unit) -> list[Unit]:
    """The items of the list that a piece introduces, as many as an answer holds."""
    room = _MOST_CHARACTERS - len(unit.shown)
    items: list[Unit] = []
    for item in unit.items:
        room -= len(item.shown) + 1
        if room < 0:
            break
        items.append(item)
    return items


# ------------------------------------------------------------------------------------- disputes


def _disputed(question: str, evidence: Sequence[Evidence]) -> list[frozenset[tuple[int, int]]]:
    """For each conflict the places (evidence number, offset in its text) of its values."""
    numbers = {one.id: number for number, one in enumerate(evidence)}
    return [
        frozenset(
            (numbers[value.evidence], value.start - evidence[numbers[value.evidence]].start)
            for value in conflict.values
        )
        for conflict in conflicts.find(question, evidence)
    ]


def _other_sides(
    candidate: Candidate,
    ranked: Iterable[Candidate],
    disputed: Sequence[frozenset[tuple[int, int]]],
) -> list[Candidate]:
    """The candidates that say otherwise than this one."""
    return [
        other
        for places in disputed
        if _holds_any(candidate, places)
        for other in ranked
        if other is not candidate and _holds_any(other, places)
    ]


def _holds_any(candidate: Candidate, places: Iterable[tuple[int, int]]) -> bool:
    return any(
        number == candidate.number and candidate.unit.start <= offset < candidate.unit.end
        for number, offset in places
    )


# --------------------------------------------------------------------------------- sub-questions


def _answer_parts(
    question: str,
    evidence: Sequence[Evidence],
    sub_questions: Sequence[SubQuestion],
    model: PieceModel,
) -> list[tuple[str, list[Candidate]]]:
    """One labelled line for each sub-question that the evidence says something about."""
    choice = _Choice()
    disputed = _disputed(question, evidence)
    per_part = max(1, _MOST_SENTENCES // len(sub_questions))
    labels = _labels(sub_questions)
    owned = _own_terms(sub_questions)
    parts = [
        _with_value_first(
            one.question, _about(own, _ranked(one.question, evidence, model), evidence)
        )
        for one, own in zip(sub_questions, owned, strict=True)
    ]
    if labels[0]:
        parts = [_of_attribute(own, part) for own, part in zip(owned, parts, strict=True)]
        parts = [
            _deciding_first(
                own, part, [one for other in parts if other is not part for one in other]
            )
            for own, part in zip(owned, parts, strict=True)
        ]
    # A second pair that differs may tell more than the first one.
    again = _WORTH_SHOWING_IN_LINE if labels[0] else _WORTH_SHOWING_IN_PART
    lines: list[tuple[str, list[Candidate]]] = []
    best = [_place_of(part[0]) for part in parts if part and part[0].likelihood >= _LEAST_LIKELY]
    for sub_question, label, part in zip(sub_questions, labels, parts, strict=True):
        # The best piece of another part is left to its own line.
        ranked = [
            one
            for number, one in enumerate(part)
            if one.likelihood >= _LEAST_LIKELY and not (number and _place_of(one) in best)
        ]
        chosen = _choose(
            ranked, choice, disputed=disputed, most=per_part,
            worth=_WORTH_SHOWING_IN_LINE, worth_again=again,
        )  # fmt: skip
        if chosen:
            lines.append((label, _in_order(sub_question.question, chosen)))
    return lines


def _place_of(candidate: Candidate) -> tuple[int, int]:
    return candidate.number, candidate.index


def _with_value_first(question: str, part: Sequence[Candidate]) -> list[Candidate]:
    """The candidates of a part with those ahead that have a value as it asks for."""
    having = [gives(question, one) for one in part]
    if not any(
        has and one.likelihood >= _LEAST_LIKELY for has, one in zip(having, part, strict=True)
    ):
        return list(part)
    return _sorted(
        one if has else replace(one, likelihood=one.likelihood * _WITHOUT_VALUE)
        for has, one in zip(having, part, strict=True)
    )


def _of_attribute(own: frozenset[str], part: Sequence[Candidate]) -> list[Candidate]:
    """The candidates of one side weighed by how much they have of what is asked of every side,
    without those that have less of it than a better one.

    "30 vacation days" is no answer about sick days where another piece stands under "Sickness".
    """
    most = max((len(one.placed - own) for one in part), default=0)
    if not most:
        return list(part)
    weighed = _sorted(
        replace(one, likelihood=one.likelihood * len(one.placed - own) / most) for one in part
    )
    kept: list[Candidate] = []
    better: set[frozenset[str]] = set()
    for one in weighed:
        attribute = one.placed - own
        if not any(attribute < other for other in better):
            kept.append(one)
            better.add(attribute)
    return kept


def _sorted(candidates: Iterable[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda c: (-c.likelihood, c.number, c.index))


def _deciding_first(
    own: frozenset[str], part: Sequence[Candidate], others: Sequence[Candidate]
) -> list[Candidate]:
    """Candidates of a comparison with those ahead that say of one thing what is said of another.

    "Full-time staff have 30 days" beside "full-time staff have 20 days" is what differs, whether
    or not the question uses these words; but not beside a piece with more of what is asked.
    """
    most = max((len(one.placed - own) for one in part), default=0)
    return _sorted(
        replace(one, likelihood=one.likelihood * (1 + _PARALLEL_BONUS * _parallel(one, others)))
        if len(one.placed - own) == most
        else one
        for one in part
    )


def _parallel(candidate: Candidate, others: Sequence[Candidate]) -> float:
    """How much a candidate is like one of another passage that gives another value; 0 to 1."""
    terms = candidate.unit.terms
    best = 0.0
    for other in others:
        shared = len(terms & other.unit.terms) / max(len(terms | other.unit.terms), 1)
        if shared <= max(best, _LEAST_PARALLEL) or other.number == candidate.number:
            continue
        if any(
            a.differs(b) for a in values(candidate.unit.shown) for b in values(other.unit.shown)
        ):
            best = shared
    return best


def _own_terms(sub_questions: Sequence[SubQuestion]) -> list[frozenset[str]]:
    """What each sub-question asks about and none of the others."""
    cuts = [_said(one.question) for one in sub_questions]
    return [
        terms - frozenset[str]().union(*(cuts[at] for at in range(len(cuts)) if at != number))
        for number, terms in enumerate(cuts)
    ]


def _said(question: str) -> frozenset[str]:
    """The terms of a question, and of what it asks for the nouns that stand for it."""
    nouns = (noun for forms in other_forms(question).values() for noun in forms)
    return frozenset(features.cut_question(question).terms).union(*nouns)


def _about(
    own: frozenset[str], ranked: Sequence[Candidate], evidence: Sequence[Evidence]
) -> list[Candidate]:
    """The candidates that name what this sub-question alone asks about, themselves or by where
    they stand; if none does, those of passages that name it anywhere."""
    if not own:
        return list(ranked)
    places = [_place(one) for one in evidence]
    close = [c for c in ranked if own & (c.unit.terms | c.unit.setting | places[c.number])]
    return close or [c for c in ranked if own & features.cut(evidence[c.number].text).terms]


def _labels(sub_questions: Sequence[SubQuestion]) -> list[str]:
    """What stands before each line: the thing in which a sub-question differs from the others.

    Only where they are the same question about different things; fragments of different questions
    are no label that a reader would understand.
    """
    questions = [one.question for one in sub_questions]
    found: list[str] = []
    for number, question in enumerate(questions):
        differences = [
            one_difference(question, other) for at, other in enumerate(questions) if at != number
        ]
        found.append(next((pair[0] for pair in differences if pair), ""))
    return found if all(found) and len(set(found)) == len(found) else [""] * len(found)


# ------------------------------------------------------------------------------------- the answer


def _answer(
    lines: Sequence[tuple[str, Sequence[Candidate]]], evidence: Sequence[Evidence]
) -> Answer:
    written: list[str] = []
    citations: list[Citation] = []
    for label, candidates in lines:
        pieces: list[str] = []
        named: set[tuple[int, int]] = set()
        for candidate in candidates:
            one = evidence[candidate.number]
            marker = int(one.id.removeprefix("e"))
            for unit in _with_company(candidate, named):
                separator = ("\n" if unit.is_item or unit.names else " ") if pieces else ""
                pieces.append(f"{separator}{unit.shown} [{marker}]")
                citations.append(Citation(marker, one.id, one.text[unit.start : unit.end]))
        text = "".join(pieces)
        written.append(f"{label}: {text}" if label else text)
    return Answer("\n".join(written), "extractive", tuple(citations))


def _with_company(candidate: Candidate, named: set[tuple[int, int]]) -> list[Unit]:
    """A piece with the list that it introduces, or below the line that names its figures."""
    unit = candidate.unit
    company: list[Unit] = []
    if unit.names and (candidate.number, unit.names.start) not in named:
        named.add((candidate.number, unit.names.start))
        company.append(unit.names)
    return [*company, unit, *_fitting(unit)]
