"""Conflicts that no rule sees, proposed by a language model and held against the evidence.

"Led by Mary Stone" and "its head is John Reed" have no number that differs. A model may say so, but
what it says counts only where its quotations stand in two documents, word by word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from anabranch import conflicts, language
from anabranch.ports import ChatModel
from anabranch.reasoning.prompts import conflicts_prompt
from anabranch.reasoning.structured_reply import Text, ask
from anabranch.types import Conflict, ConflictValue, Effort, Evidence
from anabranch.values import values

_MOST_CONFLICTS = 5
_LONGEST_QUOTE = 400
_LONGEST_FACT = 120
# Passages that barely touch the question say nothing about its fact.
_LEAST_RELEVANCE = 0.2
# Share of the question's terms in a sentence that may say what is asked.
_LEAST_ASKED = 0.5


class Pair(BaseModel):
    model_config = ConfigDict(frozen=True)

    fact: Text = ""
    first: int
    first_quote: Text
    second: int
    second_quote: Text


def _pairs(given: Any) -> list[Pair]:
    """Those that can be read: one that cannot does not cost the others."""
    found: list[Pair] = []
    for item in list(given)[:20] if isinstance(given, (list, tuple)) else ():
        if isinstance(item, Mapping):
            try:
                found.append(Pair.model_validate(item))
            except ValidationError:
                continue
    return found


class ConflictsReply(BaseModel):
    """Pairs of passages that contradict each other."""

    model_config = ConfigDict(frozen=True)

    conflicts: Annotated[tuple[Pair, ...], BeforeValidator(_pairs)]


class LlmConflictFinder:
    """Asks where a contradiction may be: at thorough effort wherever two documents are about the
    question, otherwise only where they give different values."""

    def __init__(self, model: ChatModel, *, effort: Effort, key: bytes) -> None:
        self._model = model
        self._effort = effort
        self._key = key

    async def find(
        self, question: str, evidence: Sequence[Evidence], known: Sequence[Conflict]
    ) -> tuple[Conflict, ...]:
        compared = about(question, evidence)
        if not _may_conflict(question, compared, thorough=self._effort == "thorough"):
            return tuple(known)
        prompt, fences = conflicts_prompt(question, compared, key=self._key)
        reply = await ask(self._model, prompt, ConflictsReply, fences)
        return (*known, *verified(reply.conflicts, compared, known))


def about(question: str, evidence: Sequence[Evidence]) -> list[Evidence]:
    """The pieces with a sentence that may say what is asked."""
    return [
        item
        for item in evidence
        if item.relevance >= _LEAST_RELEVANCE and any(_telling(question, item))
    ]


def _telling(question: str, item: Evidence) -> Iterator[str]:
    """The sentences of ``item`` with enough of the question's words, its title and headings lent."""
    asked = set(language.question_terms(question))
    setting = set(language.terms(f"{item.title}\n{item.context}"))
    for start, end in language.sentence_spans(item.text):
        said = set(language.terms(item.text[start:end]))
        if said & asked and len(asked & (said | setting)) >= _LEAST_ASKED * len(asked):
            yield item.text[start:end]


def _may_conflict(question: str, compared: Sequence[Evidence], *, thorough: bool) -> bool:
    by_source: dict[str, list[str]] = {}
    for item in compared:
        by_source.setdefault(item.source_id, []).extend(_telling(question, item))
    if thorough or len(by_source) < 2:
        return len(by_source) > 1
    return any(
        _give_other_values(said, other)
        for one, another in combinations(by_source.values(), 2)
        for said in one
        for other in another
    )


def _give_other_values(one: str, other: str) -> bool:
    """Whether two sentences give different values, and not plainly of different things."""
    return any(a.differs(b) for a in values(one) for b in values(other)) and not (
        conflicts.names_another_thing(one, other)
    )


def verified(
    pairs: Sequence[Pair], evidence: Sequence[Evidence], known: Sequence[Conflict]
) -> tuple[Conflict, ...]:
    """The proposed pairs whose quotations stand in two documents, say different things, and are
    not known already."""
    told = {frozenset(value.evidence for value in conflict.values) for conflict in known}
    found: list[Conflict] = []
    for pair in pairs:
        sides = [
            _side(number, quote, evidence)
            for number, quote in ((pair.first, pair.first_quote), (pair.second, pair.second_quote))
        ]
        if len(found) == _MOST_CONFLICTS:
            break
        one, other = sides
        if one is None or other is None or one[0].source_id == other[0].source_id:
            continue
        ids = frozenset({one[0].id, other[0].id})
        if ids in told or not _differ(one, other):
            continue
        told.add(ids)
        fact = pair.fact[:_LONGEST_FACT] or one[0].text[one[1] : one[2]][:_LONGEST_FACT]
        found.append(Conflict(fact, tuple(_value(*side) for side in (one, other))))
    return tuple(found)


Side = tuple[Evidence, int, int]


def _side(number: int, quote: str, evidence: Sequence[Evidence]) -> Side | None:
    """Where ``quote`` stands in its passage, whatever its line breaks; None where it does not."""
    if not 1 <= number <= len(evidence) or not quote.strip() or len(quote) > _LONGEST_QUOTE:
        return None
    item = evidence[number - 1]
    words = [re.escape(word) for word in quote.strip(" \t\n\"'“”「」.。").split()]
    match = re.search(r"\s*".join(words), item.text) if words else None
    return None if match is None else (item, *match.span())


def _differ(one: Side, other: Side) -> bool:
    """Whether two quotations are about one thing and say another: some words are shared, not all."""
    a, b = (set(language.terms(item.text[start:end])) for item, start, end in (one, other))
    return bool(a & b) and a != b


def _value(item: Evidence, start: int, end: int) -> ConflictValue:
    return ConflictValue(item.text[start:end], item.id, item.start + start, item.start + end)
