"""Foreign retrievers asked beside the store, within the scope, and placed beside its hits."""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from anabranch.fanin import QUESTION_KINDS, SHARE_OF_A_LEG, attempt, score_windows
from anabranch.language import fold, words
from anabranch.lexicon import Lexicon, combine, mine
from anabranch.ports import PassageText, PassageVectors, RequestContext, Retriever, Vectors
from anabranch.trace import Trace
from anabranch.types import (
    FOREIGN,
    Effort,
    Failure,
    Hit,
    LegResult,
    Passage,
    Query,
    QueryResult,
    Scope,
)

EVERYONE = "*"
# Passages of one search that are embedded for it, about 22 ms each over two cores the first time;
# a sub-question is one of several that pay. Never none: beside passages that were compared with
# the question, the grader takes one that was not for one that is far from it.
EMBEDDED: Mapping[Effort, int] = {"minimal": 4, "standard": 8, "thorough": 16}
EMBEDDED_FOR_A_PART = 4
# The few cosines of a small collection may lie close together by chance.
LEAST_DEVIATION = 0.05
# Further off than this a standard score says nothing more.
FAR = 8.0
# Ranks alone say less: uncompared, hits of a system that has nothing to say cost .03 nDCG@10 at full
# height and .002 at this share of it (docs/foreign.md).
RANKS_ALONE = 0.8
# What our own encoder says beside the rank: of it comes most of the order (docs/foreign.md).
ENCODER_SHARE = 0.7
# An address in an error message may hold a key.
_SECRETS = re.compile(r"(?<=://)[^\s/@'\"]+@|\?[^\s'\"<>)]*")


def may_be_asked(retriever: Retriever, scope: Scope) -> bool:
    """Whether a request may leave the documents for this retriever; in doubt it may not.

    Whoever names collections has to name this one too. Naming sources alone never asks it. A
    caller who is not the owner is asked for only if the retriever says so: nobody here can
    apply the caller's rights inside of a foreign system.
    """
    if scope.collections is not None and FOREIGN + retriever.name not in scope.collections:
        return False
    if scope.sources is not None and (scope.collections is None or not scope.sources):
        return False
    return is_open_to(retriever, scope.principals)


def is_foreign_alone(scope: Scope) -> bool:
    """Whether the scope has collections, and all of them are foreign retrievers'."""
    return bool(scope.collections) and all(
        name.startswith(FOREIGN) for name in scope.collections or ()
    )


def is_open_to(retriever: Retriever, principals: Sequence[str] | None) -> bool:
    allowed = retriever.allowed
    return principals is None or EVERYONE in allowed or not set(allowed).isdisjoint(principals)


async def ask_foreign(
    question: Query, context: RequestContext, *, trace: Trace, parent: str
) -> tuple[QueryResult, ...]:
    """``question`` put to every foreign retriever that may be asked, at once, each on its own time."""
    asked = [r for r in context.retrievers if may_be_asked(r, context.scope)]
    # A trace for each, joined in their order: what finishes first must not come first.
    traces = [replace(trace, events=[]) for _ in asked]
    searches = (
        _ask(_query(question, number, retriever), retriever, context, trace=own, parent=parent)
        for number, (retriever, own) in enumerate(zip(asked, traces, strict=True), start=1)
    )
    try:
        return tuple(await asyncio.gather(*searches))
    finally:
        for own in traces:
            trace.events.extend(own.events)


def _query(question: Query, number: int, retriever: Retriever) -> Query:
    return Query(
        id=f"f{number}" if question.id == "q1" else f"{question.id}.f{number}",
        text=question.text,
        kind="foreign",
        weight=question.weight,
        parent=question.id,
        group=question.group,
        legs=("foreign",),
        retriever=retriever.name,
    )


async def _ask(
    query: Query, retriever: Retriever, context: RequestContext, *, trace: Trace, parent: str
) -> QueryResult:
    started = time.perf_counter()
    with trace.step(
        "query", query.text, id=f"{parent}.{query.id}", parent=parent, group=query.group,
        detail={"query": query.id, "kind": query.kind, "retriever": retriever.name},
    ) as step:  # fmt: skip
        found = await attempt(
            f"{query.id}.foreign",
            retriever.search(context.hidden(query.text)),
            context.remaining(
                retriever.timeout or context.budgets.query_timeout, share=SHARE_OF_A_LEG
            ),
        )
        leg = _in_scope(_named(found, retriever), context.scope)
        result = QueryResult(query, (leg,), (time.perf_counter() - started) * 1000)
        step.detail.update(status=result.status, hits={"foreign": len(leg.hits)})
    return result


def _named(found: LegResult | Failure, retriever: Retriever) -> LegResult:
    if not isinstance(found, Failure):
        return found
    detail = _SECRETS.sub("…", f"{retriever.name}: {found.detail}")
    return LegResult("foreign", failure=replace(found, detail=detail))


def _in_scope(leg: LegResult, scope: Scope) -> LegResult:
    if scope.sources is None:
        return leg
    kept = (hit for hit in leg.hits if {hit.chunk.source, hit.chunk.source_id} & set(scope.sources))
    return replace(leg, hits=tuple(kept))


# --------------------------------------------------------------------------------------- placing


@dataclass(frozen=True, slots=True)
class _Tail:
    """What the dense leg of the question gives in this collection."""

    mean: float
    deviation: float

    def standard(self, cosine: float) -> float:
        return max(-FAR, min(FAR, (cosine - self.mean) / self.deviation))


async def place_foreign(
    found: Sequence[QueryResult], own: Sequence[QueryResult], context: RequestContext
) -> tuple[QueryResult, ...]:
    """``found`` with the first passages compared with the question by our own encoder.

    The cosine of a question and a passage is the same measure whoever found the passage: in
    deviations of the question's own dense leg it joins the rank (``ENCODER_SHARE``).
    Where the question has no such leg, or the encoder fails, the ranks have to do, and count
    less. Either is then multiplied by how far the retriever is trusted.
    """
    question = next((r.query for r in own if r.query.kind in QUESTION_KINDS), None)
    tail = _tail(own)
    chosen = _first(found, context) if question is not None and tail is not None else []
    failure: Failure | None = None
    known: dict[str, tuple[float, PassageVectors]] = {}
    vector: Vectors | None = None
    if chosen and question is not None:
        compared = await attempt(
            f"{question.id}.foreign.embed",
            _compared(question.text, chosen, context),
            context.remaining(context.budgets.query_timeout, share=SHARE_OF_A_LEG),
        )
        if isinstance(compared, Failure):
            failure = compared
        else:
            vector, known = compared
    trusted = {r.name: r.weight or context.weights.foreign for r in context.retrievers}
    placed = []
    for result in found:
        trust = trusted.get(result.query.retriever or "", context.weights.foreign)
        legs = _placed(result.legs[0], known, vector, tail, trust)
        if failure is not None and result is found[0]:
            legs = (*legs, LegResult("dense", failure=failure))
        placed.append(replace(result, legs=legs))
    return tuple(placed)


def _tail(own: Sequence[QueryResult]) -> _Tail | None:
    cosines = [
        hit.score
        for result in own[:1]
        for leg in result.legs
        if leg.leg == "dense"
        for hit in leg.hits
    ]
    if not cosines:
        return None
    mean = math.fsum(cosines) / len(cosines)
    deviation = math.sqrt(math.fsum((c - mean) ** 2 for c in cosines) / len(cosines))
    return _Tail(mean, max(deviation, LEAST_DEVIATION))


def _first(found: Sequence[QueryResult], context: RequestContext) -> list[Hit]:
    """The first passages of every retriever in turns, as many as are embedded."""
    most = EMBEDDED[context.budgets.effort]
    if any(result.query.group for result in found):
        most = min(most, EMBEDDED_FOR_A_PART)
    lists = [result.legs[0].hits for result in found]
    longest = max((len(hits) for hits in lists), default=0)
    turns = (hits[rank] for rank in range(longest) for hits in lists if rank < len(hits))
    return list({hit.chunk.chunk_id: hit for hit in turns}.values())[:most]


async def _compared(
    question: str, hits: Sequence[Hit], context: RequestContext
) -> tuple[Vectors, dict[str, tuple[float, PassageVectors]]]:
    embedder = context.parts.embedder
    # The search has embedded the question already; the embedder remembers it.
    vector = (await embedder.embed_queries([question]))[0]
    texts = [PassageText(hit.chunk.text, hit.chunk.context) for hit in hits]
    found = await embedder.embed_passages(texts)
    return vector, {
        hit.chunk.chunk_id: (float(np.dot(vectors.passage, vector)), vectors)
        for hit, vectors in zip(hits, found, strict=True)
    }


def _placed(
    leg: LegResult,
    known: Mapping[str, tuple[float, PassageVectors]],
    vector: Vectors | None,
    tail: _Tail | None,
    trust: float,
) -> tuple[LegResult, ...]:
    """The foreign leg in its final scores, and what our own encoder made of it as a dense leg."""
    cosines = {
        hit.chunk.chunk_id: known[hit.chunk.chunk_id][0]
        for hit in leg.hits
        if hit.chunk.chunk_id in known
    }
    if not cosines or tail is None or vector is None:
        hits = tuple(replace(hit, score=RANKS_ALONE * trust * hit.score) for hit in leg.hits)
        return (replace(leg, hits=hits),)
    standard = {name: tail.standard(cosine) for name, cosine in cosines.items()}
    # What was not embedded is taken to be as far off as the furthest that was.
    furthest = min(standard.values())
    hits = tuple(
        replace(hit, score=trust * _both(hit.score, standard.get(hit.chunk.chunk_id, furthest)))
        for hit in leg.hits
    )
    dense = tuple(
        Hit(
            hit.chunk,
            cosines[hit.chunk.chunk_id],
            score_windows([(hit.chunk, known[hit.chunk.chunk_id][1].windows)], vector)[0],
        )
        for hit in leg.hits
        if hit.chunk.chunk_id in cosines
    )
    return replace(leg, hits=hits), LegResult("dense", dense)


def _both(rank: float, encoder: float) -> float:
    return (1 - ENCODER_SHARE) * rank + ENCODER_SHARE * encoder


# --------------------------------------------------------------------------------------- grading


def lexicon_beside(lexicon: Lexicon, passages: Sequence[Passage], question: str) -> Lexicon:
    """``lexicon`` with the words of foreign passages, where the question has a word only they have.

    A name that our documents lack says that they are about something else, unless a passage that
    came from elsewhere is about that very name.
    """
    foreign = [p.chunk for p in passages if p.chunk.collection.startswith(FOREIGN)]
    asked = [fold(word) for word in words(question)]
    if not foreign or not lexicon.words or all(word in lexicon.words for word in asked):
        return lexicon
    theirs = combine(mine(f"{chunk.title}\n{chunk.text}") for chunk in foreign)
    if all(word in lexicon.words or word not in theirs.words for word in asked):
        return lexicon
    return replace(
        lexicon,
        document_count=lexicon.document_count + theirs.document_count,
        word_count=lexicon.word_count + theirs.word_count,
        words={
            word: lexicon.words.get(word, 0) + theirs.words.get(word, 0)
            for word in (*lexicon.words, *theirs.words)
        },
        short_forms={**theirs.short_forms, **lexicon.short_forms},
    )
