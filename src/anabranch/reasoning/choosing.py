"""Which pieces of the evidence an answer shows, within its budget, and in which order; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from anabranch import conflicts, language
from anabranch.reasoning.asked_for import kind_asked
from anabranch.reasoning.named_thing import of_the_named
from anabranch.reasoning.presenting import Unit
from anabranch.reasoning.weighing import Candidate, PieceModel, gives, weigh
from anabranch.types import Evidence

MOST_SENTENCES = 4
_MOST_CHARACTERS = 600
# A further sentence is shown if it is at least this likely, compared with the best. On samples of
# squad2 and nq_open (400 questions each) this shows about three sentences; at .27 it was a third of
# a sentence less, and one answer in a hundred was not among them.
_WORTH_SHOWING = 0.15
# What lacks the kind of value that is asked for, where the best one has it, has to be so much likelier.
_WITHOUT_VALUE = 2.0
# In a line about one part of a question a reader looks for less.
_UNRELATED = 0.7
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


@dataclass(slots=True)
class Choice:
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
            len(self.candidates) >= MOST_SENTENCES or self.length + length > _MOST_CHARACTERS
        ):
            return False
        self.candidates.append(candidate)
        self.said.add(key)
        self.said.update(_key(item) for item in candidate.unit.items)
        self.length += length + sum(len(item.shown) + 1 for item in fitting(candidate.unit))
        return True


def is_yes_no(question: str) -> bool:
    return bool(_YES_NO.search(question) or _CHINESE_YES_NO.search(question))


def ranked_pieces(
    question: str, evidence: Sequence[Evidence], model: PieceModel
) -> list[Candidate]:
    """The pieces about the thing that the question names, if it names one of several; likeliest first."""
    return of_the_named(question, by_likelihood(weigh(question, evidence, model)), evidence)


def by_likelihood(candidates: Iterable[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda c: (-c.likelihood, c.number, c.index))


def in_order(question: str, chosen: Sequence[Candidate]) -> list[Candidate]:
    """Reading order; but the deciding sentence first where the answer is yes or no."""
    if is_yes_no(question):
        return list(chosen)
    return sorted(chosen, key=lambda candidate: (candidate.number, candidate.index))


def choose(
    ranked: Sequence[Candidate],
    choice: Choice,
    *,
    disputed: Sequence[frozenset[tuple[int, int]]] = (),
    most: int = MOST_SENTENCES,
    worth: float = _WORTH_SHOWING,
    worth_again: float = _WORTH_SHOWING,
    with_antecedents: bool = True,
    question: str = "",
) -> list[Candidate]:
    """The best candidates that fit, best first; with one side of a dispute comes the other.

    ``worth`` is the least likelihood of a further one, compared with the best; ``worth_again`` that
    of one with no word of the question that was not there yet. A piece without the kind of value that ``question``
    asks for needs more.
    """
    chosen: list[Candidate] = []

    def take(candidate: Candidate) -> None:
        if len(chosen) < most and choice.take(candidate):
            chosen.append(candidate)

    for candidate in _nearest_first(ranked):
        said = frozenset[str]().union(*(one.asked for one in chosen))
        least = worth if candidate.asked - said else worth_again
        if (
            chosen
            and kind_asked(question)
            and gives(question, chosen[0]) > gives(question, candidate)
        ):
            least *= _WITHOUT_VALUE
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


def understood(chosen: Sequence[Candidate]) -> list[Candidate]:
    """Those of ``chosen`` that do not point back ("It costs …") to what is not among them."""
    held = {(one.number, one.index) for one in chosen}
    return [
        one
        for one in chosen
        if (one.number, one.index - 1) in held or not _ANAPHOR.search(one.unit.shown)
    ]


def fit_together(wanted: Iterable[Candidate]) -> list[Candidate]:
    """Those of ``wanted`` that fit into one answer, the first ones before the others."""
    choice = Choice()
    return [one for one in wanted if choice.take(one)]


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


def fitting(unit: Unit) -> list[Unit]:
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


def disputed_places(
    question: str, evidence: Sequence[Evidence]
) -> list[frozenset[tuple[int, int]]]:
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
