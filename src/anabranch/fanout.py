"""A question's queries, searched together and fanned in: the one retrieval of every step.

The child graph ``embed -> search -> END`` is compiled once, on first use, and runs over the list
of queries. What fails is recorded per query and leg; the others go on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypedDict, TypeVar

import numpy as np
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from anabranch.fusion import deduplicate, fuse_legs, fuse_queries, identified, to_passages
from anabranch.language import window_spans
from anabranch.merging import drop_contained, merge_to_parents, parents_to_fetch
from anabranch.ports import RequestContext, Reranker, Vectors, Windows
from anabranch.trace import Trace
from anabranch.types import (
    Chunk,
    Failure,
    Hit,
    LegName,
    LegResult,
    Passage,
    Query,
    QueryKind,
    QueryResult,
    Retrieval,
    Variant,
    WindowScore,
)

Result = TypeVar("Result")

# A repaired spelling stands in place of the question; the words as typed stay, in case they
# were right (a name that the documents have nowhere is not evidence that it is misspelled).
MISSPELLED_WEIGHT = 0.3
# The cosine with these is similarity to the question; with a rewrite or a bridge it is not.
QUESTION_KINDS: frozenset[QueryKind] = frozenset(
    {"original", "spelling", "sub_question", "clarified"}
)
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


@dataclass(frozen=True, slots=True)
class _Embedded:
    query: Query
    vector: Vectors | None
    failure: Failure | None
    elapsed_ms: float


class FanoutState(TypedDict, total=False):
    queries: tuple[Query, ...]
    embedded: tuple[_Embedded, ...]
    results: tuple[QueryResult, ...]


async def embed(state: FanoutState, runtime: Runtime[RequestContext]) -> FanoutState:
    """Each query's vector, or why it has none."""
    embedded = await asyncio.gather(*(_embed(q, runtime.context) for q in state["queries"]))
    return {"embedded": tuple(embedded)}


async def search(state: FanoutState, runtime: Runtime[RequestContext]) -> FanoutState:
    """Each query's hits: the dense legs as one store call, the text legs beside it."""
    context, embedded = runtime.context, state["embedded"]
    started = time.perf_counter()
    dense, texts = await asyncio.gather(
        _search_dense(embedded, context),
        asyncio.gather(*(_search_text(item.query, context) for item in embedded)),
    )
    elapsed = (time.perf_counter() - started) * 1000
    results = (
        QueryResult(item.query, (dense_leg, text_leg), item.elapsed_ms + elapsed)
        for item, dense_leg, text_leg in zip(embedded, dense, texts, strict=True)
    )
    return {"results": tuple(results)}


@cache
def child_graph() -> CompiledStateGraph[Any, Any, Any, Any]:
    """``embed -> search -> END``, compiled on first use."""
    graph = StateGraph(FanoutState, context_schema=RequestContext)
    graph.add_node("embed", embed)
    graph.add_node("search", search)
    graph.add_edge(START, "embed")
    graph.add_edge("embed", "search")
    graph.add_edge("search", END)
    return graph.compile(name="fanout")


async def _embed(query: Query, context: RequestContext) -> _Embedded:
    started = time.perf_counter()
    vectors = await attempt(
        f"{query.id}.embed",
        context.parts.embedder.embed_queries([query.text]),
        context.remaining(context.budgets.query_timeout, share=SHARE_OF_A_LEG),
    )
    elapsed = (time.perf_counter() - started) * 1000
    if isinstance(vectors, Failure):
        return _Embedded(query, None, replace(vectors, where=f"{query.id}.dense"), elapsed)
    return _Embedded(query, vectors[0], None, elapsed)


async def _search_dense(
    embedded: Sequence[_Embedded], context: RequestContext
) -> tuple[LegResult, ...]:
    """The dense leg of every query. A call that fails for all is tried for each alone, so that
    one query the store chokes on does not take the others with it."""
    ready = [item for item in embedded if item.vector is not None]
    found: dict[str, tuple[Hit, ...] | Failure] = {}
    if ready:
        together = await _dense_call("dense", ready, context)
        if isinstance(together, Failure) and together.kind != "timeout" and len(ready) > 1:
            alone = await asyncio.gather(*(_dense_call("dense", [item], context) for item in ready))
            for item, single in zip(ready, alone, strict=True):
                found[item.query.id] = single if isinstance(single, Failure) else single[0]
        else:
            for index, item in enumerate(ready):
                found[item.query.id] = (
                    together if isinstance(together, Failure) else together[index]
                )
    return tuple(
        _leg("dense", item.query, found.get(item.query.id, item.failure)) for item in embedded
    )


async def _dense_call(
    where: str, items: Sequence[_Embedded], context: RequestContext
) -> list[tuple[Hit, ...]] | Failure:
    vectors = np.stack([item.vector for item in items if item.vector is not None])
    return await attempt(
        where,
        context.parts.store.search_dense(
            vectors, limit=context.budgets.candidates, scope=context.scope
        ),
        context.remaining(context.budgets.query_timeout, share=SHARE_OF_A_LEG),
    )


async def _search_text(query: Query, context: RequestContext) -> LegResult:
    found = await attempt(
        "text",
        context.parts.store.search_text(
            query.text, limit=context.budgets.candidates, scope=context.scope
        ),
        context.remaining(context.budgets.query_timeout, share=SHARE_OF_A_LEG),
    )
    return _leg("text", query, found)


def _leg(leg: LegName, query: Query, found: tuple[Hit, ...] | Failure | None) -> LegResult:
    if isinstance(found, Failure):
        return LegResult(leg, failure=replace(found, where=f"{query.id}.{leg}"))
    return LegResult(leg, hits=tuple(identified(hit) for hit in found or ()))


# ------------------------------------------------------------------------------------- retrieval


async def retrieve(
    question: Query,
    context: RequestContext,
    *,
    trace: Trace,
    parent: str,
    variants: Sequence[Variant] = (),
    earlier: Retrieval | None = None,
) -> Retrieval:
    """``question`` and its variants searched at once and fanned in.

    ``earlier`` is a retrieval of the same request whose results take part in the fan-in. With
    every query failed the retrieval says so (``failed``); it is never just empty.
    """
    queries = _with_variants(question, variants, context)
    results = await _run(queries, context, trace=trace, parent=parent)
    if earlier is not None:
        results = (*earlier.results, *results)
    with trace.step(
        "merge", "fuse and merge", id=f"{parent}.merge", parent=parent, group=question.group
    ) as step:
        retrieval = await fan_in(results, context, question=question.text)
        step.detail.update(
            lists=sum(bool(leg.hits) for result in results for leg in result.legs),
            passages=len(retrieval.passages),
        )
    reranker = context.parts.reranker
    if reranker is not None and context.budgets.effort == "thorough":
        retrieval = await _rerank(
            question, retrieval, reranker, context, trace=trace, parent=parent
        )
    return retrieval


def _with_variants(
    question: Query, variants: Sequence[Variant], context: RequestContext
) -> tuple[Query, ...]:
    repaired = any(variant.kind == "spelling" for variant in variants)
    first = replace(question, weight=MISSPELLED_WEIGHT) if repaired else question
    others = (
        Query(
            id=f"q{index + 1}" if question.id == "q1" else f"{question.id}.{index}",
            text=variant.text,
            kind=variant.kind,
            weight=variant.weight,
            parent=question.id,
            group=question.group,
        )
        for index, variant in enumerate(variants, start=1)
    )
    return (first, *others)


async def _run(
    queries: tuple[Query, ...], context: RequestContext, *, trace: Trace, parent: str
) -> tuple[QueryResult, ...]:
    with ExitStack() as stack:
        steps = [
            stack.enter_context(
                trace.step(
                    "query", query.text, id=f"{parent}.{query.id}", parent=parent,
                    group=query.group, detail={"query": query.id, "kind": query.kind},
                )
            )
            for query in queries
        ]  # fmt: skip
        state = await child_graph().ainvoke({"queries": queries}, context=context)
        results: tuple[QueryResult, ...] = state["results"]
        for step, result in zip(steps, results, strict=True):
            hits = {leg.leg: len(leg.hits) for leg in result.legs}
            step.detail.update(status=result.status, hits=hits)
    return results


async def fan_in(
    results: Sequence[QueryResult], context: RequestContext, *, question: str
) -> Retrieval:
    """Results of queries as one list of passages: fused, each text once, merged to parents."""
    budgets = context.budgets
    rankings = {
        result.query.id: fuse_legs(result, context.weights.legs, budgets.candidates)
        for result in results
    }
    weights = {result.query.id: result.query.weight for result in results}
    asked = [result.query.id for result in results if result.query.kind in QUESTION_KINDS]
    combined = fuse_queries(rankings, weights)
    passages = deduplicate(to_passages(combined, results, rankings, similar_to=asked))
    # Merging looks at what may become evidence; the tail is kept only as a ranking.
    window = 3 * budgets.top_k
    head, failures = await _compare_windows(question, passages[:window], context)
    merged, more = await _merge(head, context)
    return Retrieval((*merged, *passages[window:]), tuple(results), rankings, (*failures, *more))


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


async def _rerank(
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
