"""The fan-in: what the queries found as one list of passages, merged to parents and reranked."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

import numpy as np

from anabranch.bridging import DOCUMENTS_LIFTED, Bridge, lift
from anabranch.fusion import (
    deduplicate,
    fold_copies,
    fuse_legs,
    fuse_queries,
    to_passages,
    with_foreign,
    with_the_rest,
)
from anabranch.language import window_spans
from anabranch.languages import is_readable
from anabranch.merging import (
    ancestors_to_fetch,
    drop_contained,
    drop_repeats,
    join_neighbours,
    merge_to_parents,
    parents_to_fetch,
)
from anabranch.ports import RequestContext, Reranker, Vectors, Windows
from anabranch.second_look import LOOKED_AT, Seen, look_again
from anabranch.trace import Trace
from anabranch.types import (
    Chunk,
    Failure,
    Passage,
    Query,
    QueryKind,
    QueryResult,
    Retrieval,
    WindowScore,
)

Result = TypeVar("Result")

# The cosine with these is similarity to the question; with a rewrite or a bridge it is not.
QUESTION_KINDS: frozenset[QueryKind] = frozenset(
    {"original", "spelling", "sub_question", "clarified"}
)
# Hits of each leg of a bridge: what ranks lower is not lifted anyway, and costs reading.
BRIDGE_CANDIDATES = 20
# Of the time left, so that the other leg, the fan-in and the grade still have some when one hangs.
SHARE_OF_A_LEG = 0.6


async def attempt(where: str, step: Awaitable[Result], seconds: float) -> Result | Failure:
    """The result of ``step``, or its exception or timeout as a Failure: the edge of a branch.

    Cancellation passes through. Nothing else in the workflow catches exceptions.
    """
    try:
        async with asyncio.timeout(seconds) as limit:
            return await step
    except TimeoutError as error:
        ours = f"no result within {seconds:.3g} s" if seconds else "no time was left for it"
        return Failure(where, "timeout", ours if limit.expired() else _said(error) or "timed out")
    except Exception as error:
        return Failure(where, type(error).__name__, _said(error))


def _said(error: Exception) -> str:
    try:
        return str(error)[:300]
    except Exception:  # Of foreign code even the message may be one that raises.
        return "(its message cannot be read)"


async def fan_in(
    results: Sequence[QueryResult],
    context: RequestContext,
    *,
    question: str,
    looked: Looked | None = None,
) -> Retrieval:
    """Results of queries as one list of passages: fused, each text once, merged to parents.

    ``looked`` is their first ranking, where it is known.
    """
    looked = looked or await first_ranking(results, context, question=question)
    passages, rankings = ranked(results, context, looked)
    # Merging looks at what may become evidence; the tail is kept only as a ranking.
    window = 3 * context.budgets.top_k
    head, failures = await _compare_windows(passages[:window], looked, context)
    merged, more = await _merge(head, context)
    merged = drop_repeats(fold_copies(merged))
    failures = (*looked.failures, *failures, *more)
    return Retrieval((*merged, *passages[window:]), tuple(results), rankings, failures)


@dataclass(frozen=True, slots=True)
class Looked:
    """A first ranking: scores by chunk id, best first, and what the encoder showed of them.

    ``asked`` are the chunks whose windows were looked for, also where they have none; ``rankings``
    what queries found (``own_ranking``), as far as it is known, by query id.
    """

    scores: Mapping[str, float]
    seen: Seen
    asked: frozenset[str]
    rankings: Mapping[str, dict[str, float]]
    failures: tuple[Failure, ...] = ()


async def first_ranking(
    results: Sequence[QueryResult], context: RequestContext, *, question: str
) -> Looked:
    """What the question and its other wordings found, fused and looked at again, best first.

    Without window vectors (a store that hangs, an encoder that has none) it goes by the texts.
    """
    own = [r for r in results if r.query.kind != "bridge" and r.query.retriever is None]
    rankings = {result.query.id: own_ranking(result, context) for result in own}
    fused = fuse_queries(rankings, {result.query.id: result.query.weight for result in own})
    chunks = {hit.chunk.chunk_id: hit.chunk for r in own for leg in r.legs for hit in leg.hits}
    first = list(fused)[:LOOKED_AT]
    # A repaired spelling stands in place of the question, here too.
    repaired = (result.query.text for result in own if result.query.kind == "spelling")
    asked = next(repaired, question)
    seen = Seen()
    failures: tuple[Failure, ...] = ()
    reads = is_readable(asked, context.parts.embedder.languages)
    if reads and any(leg.leg == "dense" and leg.hits for r in own for leg in r.legs):
        found = await attempt(
            "windows",
            _seen(asked, first, context),
            context.remaining(context.budgets.query_timeout, share=SHARE_OF_A_LEG),
        )
        if isinstance(found, Failure):
            failures = (found,)
        else:
            seen = found
    scores = look_again(asked, fused, chunks, seen)
    return Looked(scores, seen, frozenset(first), rankings, failures)


async def _seen(question: str, chunk_ids: Sequence[str], context: RequestContext) -> Seen:
    # The search has embedded this text already; the embedder remembers it.
    vectors = await context.parts.embedder.embed_queries([question])
    return Seen(vectors[0], await context.parts.store.windows(chunk_ids, context.scope))


def ranked(
    results: Sequence[QueryResult],
    context: RequestContext,
    looked: Looked,
    *,
    most: int | None = None,
) -> tuple[list[Passage], dict[str, dict[str, float]]]:
    """Passages best first, each text once, and each query's own ranking by query id.

    What a bridge found is lifted, by the weight of its query, into the first ranking; it never
    lowers or displaces what the question itself found. ``most`` is how many passages are made,
    before equal texts are one.
    """
    known = looked.rankings
    rankings = {r.query.id: known.get(r.query.id) or own_ranking(r, context) for r in results}
    bridges = [result for result in results if result.query.kind == "bridge"]
    combined = lift(
        looked.scores,
        [Bridge(rankings[r.query.id], r.lifts, r.query.is_clause) for r in bridges],
    )
    own = [r for r in results if r.query.kind != "bridge" and r.query.retriever is None]
    combined = with_the_rest(combined, [leg for result in own for leg in result.legs])
    rankings |= {r.query.id: with_the_rest(rankings[r.query.id], r.legs) for r in own}
    combined = with_foreign(combined, results, rankings)
    if most is not None:
        combined = dict(islice(combined.items(), most))
    asked = [result.query.id for result in results if result.query.kind in QUESTION_KINDS]
    finders = _finders(rankings, {result.query.id for result in bridges})
    return deduplicate(to_passages(combined, results, finders, similar_to=asked)), rankings


def _finders(
    rankings: Mapping[str, Mapping[str, float]], bridges: AbstractSet[str]
) -> dict[str, Mapping[str, float]]:
    """What each query is to be named for: a follow-up for its first finds, and for what nothing
    else found. Its list goes on through half of what the question found anyway."""
    known = {key for name, found in rankings.items() if name not in bridges for key in found}
    return {
        name: found
        if name not in bridges
        else {
            key: score
            for place, (key, score) in enumerate(found.items())
            if place < DOCUMENTS_LIFTED or key not in known
        }
        for name, found in rankings.items()
    }


def own_ranking(result: QueryResult, context: RequestContext) -> dict[str, float]:
    """What one query found, by chunk id, its legs fused, best first."""
    is_bridge = result.query.kind == "bridge"
    limit = BRIDGE_CANDIDATES if is_bridge else context.budgets.candidates
    return fuse_legs(result, context.weights.legs, limit)


async def _compare_windows(
    passages: list[Passage], looked: Looked, context: RequestContext
) -> tuple[list[Passage], tuple[Failure, ...]]:
    """Passages with the cosine of each of their windows with the question, where it can be had."""
    vector = looked.seen.question
    if vector is None:  # not searched by meaning, or the store has hung once already
        return passages, ()
    stored = dict(looked.seen.windows)
    missing = [p.chunk.chunk_id for p in passages if p.chunk.chunk_id not in looked.asked]
    failures: tuple[Failure, ...] = ()
    if missing:  # what only follow-ups found
        more = await attempt(
            "windows",
            context.parts.store.windows(missing, context.scope),
            context.remaining(context.budgets.query_timeout, share=SHARE_OF_A_LEG),
        )
        if isinstance(more, Failure):
            failures = (more,)
        else:
            stored |= more
    compared = {
        passage.chunk.chunk_id: (passage.chunk, stored[passage.chunk.chunk_id])
        for passage in passages
        if passage.chunk.chunk_id in stored
    }
    scores = dict(zip(compared, score_windows(list(compared.values()), vector), strict=True))
    return [
        replace(passage, windows=scores[passage.chunk.chunk_id])
        if passage.chunk.chunk_id in scores
        else passage
        for passage in passages
    ], failures


def score_windows(
    chunks: Sequence[tuple[Chunk, Windows]], vector: Vectors
) -> list[tuple[WindowScore, ...]]:
    """The cosine of each window of each chunk with ``vector``; none where they do not fit its text."""
    if not chunks:
        return []
    # All at once, but a product for each row: no cosine depends on what else is compared.
    directions = np.concatenate([windows for _, windows in chunks]).astype(np.float32)
    lengths = np.sqrt(np.vecdot(directions, directions))
    cosines = np.vecdot(directions, vector) / np.where(lengths > 0, lengths, 1.0)
    left = iter(cosines.tolist())
    scored = []
    for chunk, windows in chunks:
        own = list(islice(left, len(windows)))
        spans = window_spans(chunk.text)
        if len(spans) != len(own):  # cut by other rules than today's: not comparable
            spans = ()
        scored.append(
            tuple(
                [
                    WindowScore(chunk.start + start, chunk.start + end, cosine)
                    for (start, end), cosine in zip(spans, own, strict=False)
                ]
            )
        )
    return scored


async def _merge(
    passages: list[Passage], context: RequestContext
) -> tuple[list[Passage], tuple[Failure, ...]]:
    missing: dict[str, None] = {}
    known: dict[str, Chunk] = {}
    for _ in range(2):  # leaves to level 2, then level 2 to level 1
        wanted = parents_to_fetch(passages)
        if not wanted:
            break
        parents = await _parents(wanted, context)
        if isinstance(parents, Failure):  # the leaves are evidence without their parents too
            return drop_contained(passages), (parents,)
        known |= parents
        missing |= dict.fromkeys(name for name in wanted if name not in parents)
        merged = merge_to_parents(passages, parents)
        if len(merged) == len(passages):
            break
        passages = merged
    passages, failures = await _join(drop_contained(passages), known, context)
    warnings = (
        Failure("merge", "missing_parent", f"{name!r} is not stored; its passages stay as they are")
        for name in missing
    )
    return passages, (*warnings, *failures)


async def _join(
    passages: list[Passage], known: Mapping[str, Chunk], context: RequestContext
) -> tuple[list[Passage], tuple[Failure, ...]]:
    """Neighbours that are both to be evidence as one; further down the list they stay apart, so
    that what is only near does not make long what is found."""
    top_k = context.budgets.top_k
    head, ancestors = passages[:top_k], dict(known)
    for _ in range(2):  # up to the level that holds both
        wanted = ancestors_to_fetch(head, ancestors)
        if not wanted:
            break
        found = await _parents(wanted, context)
        if isinstance(found, Failure):
            return passages, (found,)
        ancestors |= found
        if not found:
            break
    return [*join_neighbours(head, ancestors), *passages[top_k:]], ()


async def _parents(wanted: Sequence[str], context: RequestContext) -> dict[str, Chunk] | Failure:
    return await attempt(
        "merge",
        context.parts.store.chunks(wanted, context.scope),
        context.remaining(context.budgets.query_timeout, share=SHARE_OF_A_LEG),
    )


async def rerank(
    question: Query,
    retrieval: Retrieval,
    reranker: Reranker,
    context: RequestContext,
    *,
    trace: Trace,
    parent: str,
) -> Retrieval:
    """The first passages in the reranker's order; as they were, with a Failure, if it fails."""
    most = context.budgets.reranked
    head, tail = retrieval.passages[:most], retrieval.passages[most:]
    with trace.step(
        "rerank", f"rerank {len(head)}", id=f"{parent}.rerank", parent=parent, group=question.group
    ) as step:
        scores = await attempt(
            f"{question.id}.rerank",
            _rerank_scores(reranker, question.text, [p.chunk.text for p in head]),
            context.remaining(context.budgets.rerank_timeout, share=SHARE_OF_A_LEG),
        )
        if isinstance(scores, Failure):
            step.detail["failure"] = scores.kind
            return replace(retrieval, failures=(*retrieval.failures, scores))
    order = sorted(range(len(head)), key=lambda index: (-scores[index], index))
    # Passages keep a falling score, so that their order survives a later merge of branches.
    falling = [passage.score for passage in head]
    reranked = (
        replace(head[index], score=score) for index, score in zip(order, falling, strict=True)
    )
    return replace(retrieval, passages=(*reranked, *tail))


async def _rerank_scores(reranker: Reranker, question: str, texts: Sequence[str]) -> list[float]:
    scores = await reranker.rerank(question, texts)
    if len(scores) != len(texts):
        raise ValueError(f"the reranker gave {len(scores)} scores for {len(texts)} texts")
    if not all(map(math.isfinite, scores)):  # they would be sorted anywhere
        raise ValueError("the reranker gave a score that is no number")
    return scores
