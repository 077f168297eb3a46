"""The fan-in: what the queries found as one list of passages, merged to parents and reranked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeVar

import numpy as np

from anabranch.bridging import lift
from anabranch.fusion import deduplicate, fuse_legs, fuse_queries, to_passages
from anabranch.language import window_spans
from anabranch.merging import drop_contained, merge_to_parents, parents_to_fetch
from anabranch.ports import RequestContext, Reranker, Vectors, Windows
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
RERANKED = 30
# Of the time left, so that the other leg, the fan-in and the grade still have some when one hangs.
SHARE_OF_A_LEG = 0.6


async def attempt(where: str, step: Awaitable[Result], seconds: float) -> Result | Failure:
    """The result of ``step``, or its exception or timeout as a Failure: the edge of a branch.

    Cancellation passes through. Nothing else in the workflow catches exceptions.
    """
    try:
        async with asyncio.timeout(seconds):
            return await step
    except TimeoutError:
        return Failure(where, "timeout", f"no result within {seconds:.3g} s")
    except Exception as error:
        return Failure(where, type(error).__name__, str(error)[:300])


async def fan_in(
    results: Sequence[QueryResult], context: RequestContext, *, question: str
) -> Retrieval:
    """Results of queries as one list of passages: fused, each text once, merged to parents."""
    passages, rankings = ranked(results, context)
    # Merging looks at what may become evidence; the tail is kept only as a ranking.
    window = 3 * context.budgets.top_k
    head, failures = await _compare_windows(question, passages[:window], context)
    merged, more = await _merge(head, context)
    return Retrieval((*merged, *passages[window:]), tuple(results), rankings, (*failures, *more))


def ranked(
    results: Sequence[QueryResult], context: RequestContext, *, most: int | None = None
) -> tuple[list[Passage], dict[str, dict[str, float]]]:
    """Passages best first, each text once, and each query's own ranking by query id.

    What a bridge found is lifted by the weight of its query; it never lowers or displaces what
    the question itself found. ``most`` is how many passages are made, before equal texts are one.
    """
    rankings = {result.query.id: own_ranking(result, context) for result in results}
    weights = {result.query.id: result.query.weight for result in results}
    bridges = [result.query.id for result in results if result.query.kind == "bridge"]
    first = {name: ranking for name, ranking in rankings.items() if name not in bridges}
    combined = lift(
        fuse_queries(first, weights), [(rankings[name], weights[name]) for name in bridges]
    )
    if most is not None:
        combined = dict(islice(combined.items(), most))
    asked = [result.query.id for result in results if result.query.kind in QUESTION_KINDS]
    return deduplicate(to_passages(combined, results, rankings, similar_to=asked)), rankings


def own_ranking(result: QueryResult, context: RequestContext) -> dict[str, float]:
    """What one query found, by chunk id, its legs fused, best first."""
    is_bridge = result.query.kind == "bridge"
    limit = BRIDGE_CANDIDATES if is_bridge else context.budgets.candidates
    return fuse_legs(result, context.weights.legs, limit)


async def _compare_windows(
    question: str, passages: list[Passage], context: RequestContext
) -> tuple[list[Passage], tuple[Failure, ...]]:
    """Passages with the cosine of each of their windows with the question, where it can be had."""
    if not any(passage.similarity is not None for passage in passages):
        return passages, ()  # no dense leg: the question has no vector to compare with
    found = await attempt(
        "windows",
        _window_scores(question, passages, context),
        context.remaining(context.budgets.query_timeout, share=SHARE_OF_A_LEG),
    )
    if isinstance(found, Failure):
        return passages, (found,)
    scored = (
        replace(passage, windows=found.get(passage.chunk.chunk_id, ())) for passage in passages
    )
    return list(scored), ()


async def _window_scores(
    question: str, passages: Sequence[Passage], context: RequestContext
) -> dict[str, tuple[WindowScore, ...]]:
    chunks = {passage.chunk.chunk_id: passage.chunk for passage in passages}
    stored = await context.parts.store.windows(list(chunks), context.scope)
    # The search has embedded this text already; the embedder remembers it.
    vector = (await context.parts.embedder.embed_queries([question]))[0]
    return {name: _scored(chunks[name], windows, vector) for name, windows in stored.items()}


def _scored(chunk: Chunk, windows: Windows, vector: Vectors) -> tuple[WindowScore, ...]:
    spans = window_spans(chunk.text)
    if len(spans) != len(windows):  # cut by other rules than today's: not comparable
        return ()
    directions = windows.astype(np.float32)
    lengths = np.linalg.norm(directions, axis=1)
    cosines = (directions @ vector) / np.where(lengths > 0, lengths, 1.0)
    return tuple(
        WindowScore(chunk.start + start, chunk.start + end, float(cosine))
        for (start, end), cosine in zip(spans, cosines, strict=True)
    )


async def _merge(
    passages: list[Passage], context: RequestContext
) -> tuple[list[Passage], tuple[Failure, ...]]:
    missing: dict[str, None] = {}
    for _ in range(2):  # leaves to level 2, then level 2 to level 1
        wanted = parents_to_fetch(passages)
        if not wanted:
            break
        parents = await attempt(
            "merge",
            context.parts.store.chunks(wanted, context.scope),
            context.remaining(context.budgets.query_timeout, share=SHARE_OF_A_LEG),
        )
        if isinstance(parents, Failure):  # the leaves are evidence without their parents too
            return drop_contained(passages), (parents,)
        missing |= dict.fromkeys(name for name in wanted if name not in parents)
        merged = merge_to_parents(passages, parents)
        if len(merged) == len(passages):
            break
        passages = merged
    warnings = (
        Failure("merge", "missing_parent", f"{name!r} is not stored; its passages stay as they are")
        for name in missing
    )
    return drop_contained(passages), tuple(warnings)


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
    head, tail = retrieval.passages[:RERANKED], retrieval.passages[RERANKED:]
    with trace.step(
        "rerank", f"rerank {len(head)}", id=f"{parent}.rerank", parent=parent, group=question.group
    ) as step:
        scores = await attempt(
            f"{question.id}.rerank",
            _rerank_scores(reranker, question.text, [p.chunk.text for p in head]),
            context.remaining(context.budgets.query_timeout, share=SHARE_OF_A_LEG),
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
    return scores
