"""Hop after hop: what ``bridging`` proposes is searched, graded, and read for the next names.

Part of every retrieval of an original question, whether it was called complex or not: plain-looking
questions need a second hop too, and it never lowers what the first one found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from anabranch.bridging import (
    CLAUSE_WEIGHT,
    FollowUp,
    Found,
    Question,
    follow_ups,
    name_key,
    shares,
    weigh,
)
from anabranch.clauses import asks
from anabranch.fanin import (
    BRIDGE_CANDIDATES,
    QUESTION_KINDS,
    Looked,
    attempt,
    first_ranking,
    own_ranking,
    ranked,
)
from anabranch.language import terms
from anabranch.ports import RequestContext
from anabranch.types import Chunk, Effort, Failure, LegName, Passage, Query, QueryKind, QueryResult

# Sub-questions would pay for hops as often as there are of them; the original question has a
# branch of its own.
BRIDGED_KINDS: frozenset[QueryKind] = frozenset({"original", "clarified"})
HOPS: Mapping[Effort, int] = {"minimal": 0, "standard": 1, "thorough": 2}
FOLLOW_UPS: Mapping[Effort, int] = {"minimal": 0, "standard": 6, "thorough": 12}
# What only thorough effort asks for, names beyond the first and a third hop, stands behind what
# standard effort does. At .65 it pushed the last evidence of four questions of hotpotqa_mix out of
# the first ten, at .4 of two (and .002 nDCG@10 of musique_100's gain is gone).
LATER_SHARE = 0.4
# Passages made for each one that is read: equal texts are one.
READ_MORE = 3
# Of the time left: a hop that hangs must leave the fan-in and the grade most of theirs.
SHARE_OF_A_HOP = 0.3


class Search(Protocol):
    """Searches queries together; what fails is in the results."""

    async def __call__(
        self, queries: Sequence[Query], context: RequestContext
    ) -> tuple[QueryResult, ...]: ...


@dataclass(frozen=True, slots=True)
class _Known:
    """What the hops so far have read, asked for, and closed of the question."""

    question: Question
    asked: frozenset[str] = frozenset()
    closed: frozenset[str] = frozenset()
    read: frozenset[str] = frozenset()

    def after(self, asked: Sequence[FollowUp], passages: Sequence[Passage]) -> _Known:
        read = passages[:1]
        closed = {term for p in read for term in terms(f"{p.chunk.title} {p.chunk.text}")}
        return replace(
            self,
            asked=self.asked | {name_key(follow_up.name) for follow_up in asked},
            closed=self.closed | (closed & set(self.question.weights)),
            read=self.read | {passage.chunk.chunk_id for passage in passages},
        )


async def follow_hops(
    queries: Sequence[Query],
    results: Sequence[QueryResult],
    context: RequestContext,
    *,
    search: Search,
    legs: tuple[LegName, ...] = ("dense", "text"),
) -> tuple[tuple[QueryResult, ...], Looked | None]:
    """The results of the follow-up queries, each weighed by how much of the question it closed,
    and the first ranking of ``results``, where it was needed.

    A repaired spelling is followed up in place of the words as typed. Where the first hop found
    nothing, no time is left, or the text asks nothing (``clauses.asks``), there is nothing to follow.
    """
    effort = context.budgets.effort
    start = next((query for query in queries if query.kind == "spelling"), queries[0])
    found_something = any(result.status == "ok" for result in results)
    if not HOPS[effort] or not found_something or not asks(start.text):
        return (), None
    lexicon = await attempt(
        "bridge",
        context.parts.store.lexicon(context.scope),
        context.remaining(context.budgets.query_timeout, share=SHARE_OF_A_HOP),
    )
    if isinstance(lexicon, Failure):  # planning has failed with it already, and says so
        return (), None
    known = _Known(Question.of(start.text, lexicon))
    looked = await first_ranking(results, context, question=queries[0].text)
    bridges: tuple[QueryResult, ...] = ()
    for hop in range(HOPS[effort]):
        passages = _to_read(hop, (*results, *bridges), known, context, looked)
        proposed = follow_ups(
            known.question, passages,
            limit=FOLLOW_UPS[effort], closed=known.closed, asked=known.asked,
        )  # fmt: skip
        seconds = context.remaining(context.budgets.query_timeout, share=SHARE_OF_A_HOP)
        if not proposed or seconds <= 0:
            break
        asked = _queries(proposed, start, bridges, legs)
        found = await search(asked, _within(context, seconds))
        rankings = {result.query.id: own_ranking(result, context) for result in found}
        bridges += _weighed(found, proposed, known.question, (*results, *bridges), rankings)
        looked = replace(looked, rankings={**looked.rankings, **rankings})
        known = known.after(proposed, passages)
    return bridges, looked


def _to_read(
    hop: int,
    results: Sequence[QueryResult],
    known: _Known,
    context: RequestContext,
    looked: Looked,
) -> list[Passage]:
    """The passages to look for names in; later hops read only what the one before brought up,
    and only where it closes something of the question."""
    top_k = context.budgets.top_k
    passages = ranked(results, context, looked, most=READ_MORE * top_k)[0][:top_k]
    if not hop:
        return passages
    still_open = set(known.question.weights) - known.closed
    return [
        passage
        for passage in passages
        if passage.chunk.chunk_id not in known.read
        and not still_open.isdisjoint(terms(f"{passage.chunk.title} {passage.chunk.text}"))
    ]


def _queries(
    proposed: Sequence[FollowUp],
    start: Query,
    bridges: Sequence[QueryResult],
    legs: tuple[LegName, ...],
) -> list[Query]:
    """Follow-ups as queries: b1, b2, … within the group; the parent is who found the passage."""
    finder = {
        hit.chunk.chunk_id: result.query.id
        for result in reversed(bridges)
        for leg in result.legs
        for hit in leg.hits
    }
    prefix = f"{start.group}." if start.group else ""
    return [
        Query(
            id=f"{prefix}b{number}",
            text=follow_up.text,
            kind="bridge",
            parent=finder.get(follow_up.source, start.id),
            group=start.group,
            legs=legs,
            is_clause=follow_up.is_clause,
        )
        for number, follow_up in enumerate(proposed, len(bridges) + 1)
    ]


def _within(context: RequestContext, seconds: float) -> RequestContext:
    budgets = replace(context.budgets, query_timeout=seconds, candidates=BRIDGE_CANDIDATES)
    return replace(context, budgets=budgets)


def _weighed(
    found: Sequence[QueryResult],
    proposed: Sequence[FollowUp],
    question: Question,
    earlier: Sequence[QueryResult],
    rankings: Mapping[str, Mapping[str, float]],
) -> tuple[QueryResult, ...]:
    """``found`` with what each query has earned, how high it lifts its finds and the highest of it;
    one of a later hop a share of what the query earned that it came from."""
    finds = [
        Found(follow_up, _chunks(result, rankings[result.query.id]))
        for follow_up, result in zip(proposed, found, strict=True)
    ]
    first = sum(one.follow_up.is_clause for one in finds) + FOLLOW_UPS["standard"]
    similarity = _similarity(earlier)
    grades = weigh(question, finds, similarity)
    # On the scale of the first names: what thorough effort adds must not pass for as good.
    best = max((grade for own in grades[:first] for grade in own.values()), default=0.0)
    earned = {r.query.id: r.query.weight for r in earlier if r.query.kind == "bridge"}
    weighed = []
    for place, (result, own) in enumerate(zip(found, grades, strict=True)):
        share = 1.0 if place < first else LATER_SHARE
        if result.query.parent in earned:
            share *= LATER_SHARE * earned[result.query.parent]
        lifts = {key: share * height for key, height in shares(own, best).items()}
        weight = CLAUSE_WEIGHT if result.query.is_clause else max(lifts.values(), default=0.0)
        query = replace(result.query, weight=weight)
        weighed.append(replace(result, query=query, lifts=lifts))
    return tuple(weighed)


def _chunks(result: QueryResult, ranking: Mapping[str, float]) -> list[Chunk]:
    by_id = {hit.chunk.chunk_id: hit.chunk for leg in result.legs for hit in leg.hits}
    return [by_id[name] for name in ranking]


def _similarity(results: Sequence[QueryResult]) -> dict[str, float]:
    """Cosines with the question, of what its own dense legs found."""
    return {
        hit.chunk.chunk_id: hit.score
        for result in results
        if result.query.kind in QUESTION_KINDS
        for leg in result.legs
        if leg.leg == "dense"
        for hit in leg.hits
    }
