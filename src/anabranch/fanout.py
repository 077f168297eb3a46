"""A question's queries, searched together and fanned in: the one retrieval of every step.

The child graph ``embed -> search -> END`` is compiled once, on first use, and runs over the list
of queries. What fails is recorded per query and leg; the others go on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypedDict

import numpy as np
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from anabranch.fanin import SHARE_OF_A_LEG, Looked, attempt, fan_in, rerank
from anabranch.foreign_legs import ask_foreign, is_foreign_alone, place_foreign
from anabranch.fusion import identified
from anabranch.hops import BRIDGED_KINDS, follow_hops
from anabranch.languages import is_readable
from anabranch.ports import RequestContext, Vectors
from anabranch.trace import Trace
from anabranch.types import (
    Failure,
    Hit,
    LegName,
    LegResult,
    Query,
    QueryResult,
    Retrieval,
    Variant,
)

__all__ = ["attempt", "child_graph", "fan_in", "retrieve"]

# A repaired spelling stands in place of the question; the words as typed stay, in case they
# were right (a name that the documents have nowhere is not evidence that it is misspelled).
MISSPELLED_WEIGHT = 0.5
# From here on a wording has a form that the documents use; a lighter one only moves words about.
TELLING_WEIGHT = 0.3


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
        QueryResult(
            item.query, _asked(item.query, (dense_leg, text_leg)), item.elapsed_ms + elapsed
        )
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
    if "dense" not in query.legs:
        return _Embedded(query, None, None, 0.0)
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
        _leg("dense", item.query, _read(found.get(item.query.id, item.failure), context))
        for item in embedded
    )


def _read(
    found: tuple[Hit, ...] | Failure | None, context: RequestContext
) -> tuple[Hit, ...] | Failure | None:
    """``found`` without the passages that the encoder does not read: their vectors are noise."""
    languages = context.parts.embedder.languages
    if languages is None or not isinstance(found, tuple):
        return found
    # Asked of every hit, and the answer is nearly always plain.
    if all(hit.chunk.text.isascii() or is_readable(hit.chunk.text, languages) for hit in found):
        return found
    return tuple(hit for hit in found if is_readable(hit.chunk.text, languages))


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


def _asked(query: Query, legs: Sequence[LegResult]) -> tuple[LegResult, ...]:
    """Only the legs that the query has: one that was not searched has not found nothing."""
    return tuple(leg for leg in legs if leg.leg in query.legs)


async def _search_text(query: Query, context: RequestContext) -> LegResult:
    if "text" not in query.legs:
        return LegResult("text")
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
    if found is not None and all(hit.chunk.chunk_id for hit in found):  # nearly always
        return LegResult(leg, hits=found)
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
    multi_hop: bool = False,
) -> Retrieval:
    """``question`` and its variants searched at once, followed up and fanned in.

    The names that the first hop brings up are always followed by their words; with ``multi_hop``
    (the question was found to be complex) by their meaning too, which costs an embedding each.
    Foreign retrievers in scope are asked the question itself, beside all that, never its variants
    or follow-ups. ``earlier`` is a retrieval of the same request whose results take part in the
    fan-in. With every query failed the retrieval says so (``failed``); it is never just empty.
    """
    queries = _with_variants(question, variants, context)
    # What finishes first must not come first in the trace.
    aside = replace(trace, events=[])
    try:
        (results, looked), foreign = await asyncio.gather(
            _search_stored(queries, context, trace=trace, parent=parent, multi_hop=multi_hop),
            ask_foreign(question, context, trace=aside, parent=parent),
        )
    finally:
        trace.events.extend(aside.events)
    results += await place_foreign(foreign, results, context)
    if earlier is not None:
        results, looked = (*earlier.results, *results), None
    with trace.step(
        "merge", "fuse and merge", id=f"{parent}.merge", parent=parent, group=question.group
    ) as step:
        retrieval = await fan_in(results, context, question=question.text, looked=looked)
        step.detail.update(
            lists=sum(bool(leg.hits) for result in results for leg in result.legs),
            passages=len(retrieval.passages),
        )
    reranker = context.parts.reranker
    if reranker is not None and context.budgets.effort == "thorough":
        retrieval = await rerank(question, retrieval, reranker, context, trace=trace, parent=parent)
    return retrieval


async def _search_stored(
    queries: Sequence[Query],
    context: RequestContext,
    *,
    trace: Trace,
    parent: str,
    multi_hop: bool,
) -> tuple[tuple[QueryResult, ...], Looked | None]:
    """What the queries found in the store and the follow-ups of what they found; with their first
    ranking, where there were follow-ups.

    A scope of foreign retrievers alone leaves nothing to search here, which is not a search that
    found nothing.
    """
    if is_foreign_alone(context.scope):
        return tuple(QueryResult(query, ()) for query in queries[:1]), None
    results = await _run(queries, context, trace=trace, parent=parent)
    if queries[0].kind not in BRIDGED_KINDS:
        return results, None
    search = partial(_run, trace=trace, parent=parent)
    legs: tuple[LegName, ...] = ("dense", "text") if multi_hop else ("text",)
    bridges, looked = await follow_hops(queries, results, context, search=search, legs=legs)
    return results + bridges, looked


def _with_variants(
    question: Query, variants: Sequence[Variant], context: RequestContext
) -> tuple[Query, ...]:
    repaired = any(variant.kind == "spelling" for variant in variants)
    first = replace(question, weight=MISSPELLED_WEIGHT) if repaired else question
    light = [v.weight for v in variants if v.kind != "spelling" and v.weight < TELLING_WEIGHT]
    queries = (
        Query(
            id=f"q{index + 1}" if question.id == "q1" else f"{question.id}.{index}",
            text=variant.text,
            kind=variant.kind,
            weight=_weight(variant, light, context),
            parent=question.id,
            group=question.group,
        )
        for index, variant in enumerate(variants, start=1)
    )
    return (first, *queries)


def _weight(variant: Variant, light: Sequence[float], context: RequestContext) -> float:
    """A repaired spelling stands for the question, and any other variant counts at most what is
    set; the ``light`` ones count together as much as the heaviest of them: they say nothing new."""
    if variant.kind == "spelling":
        return variant.weight
    share = max(light) / sum(light) if 0 < variant.weight < TELLING_WEIGHT else 1.0
    return min(variant.weight * share, context.weights.variant)


def _as_read(query: Query, context: RequestContext) -> Query:
    """``query`` by its words alone where the encoder does not read it: its vector would be noise."""
    if is_readable(query.text, context.parts.embedder.languages):
        return query
    return replace(query, legs=tuple(leg for leg in query.legs if leg != "dense"))


async def _run(
    queries: Sequence[Query], context: RequestContext, *, trace: Trace, parent: str
) -> tuple[QueryResult, ...]:
    queries = [_as_read(query, context) for query in queries]
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
        state = await child_graph().ainvoke({"queries": tuple(queries)}, context=context)
        results: tuple[QueryResult, ...] = state["results"]
        for step, result in zip(steps, results, strict=True):
            hits = {leg.leg: len(leg.hits) for leg in result.legs}
            step.detail.update(status=result.status, hits=hits)
    return results
