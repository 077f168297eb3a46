"""Queries through the real path, and what is kept of each run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from anabranch.errors import QuestionError
from anabranch.evaluation import labels
from anabranch.evaluation.datasets import Dataset, EvalQuery
from anabranch.evaluation.metrics import contains_gold
from anabranch.evaluation.progress import query_progress
from anabranch.knowledge_base import KnowledgeBase
from anabranch.request import AskOptions
from anabranch.types import Complexity, Effort, Outcome, Passage, Status

# Asked before anything is timed: it loads the model and the graph.
_WARM_UP = "What is in these documents?"


@dataclass(frozen=True, slots=True)
class Asked:
    """What one query came to. ``documents`` are ranked best first, before gating and packing.

    ``clarification`` is how much the run leans towards asking back, None where nobody said whether
    it should. ``contains_gold`` is None where there is no gold answer.
    """

    query: EvalQuery
    status: Status
    confidence: float = 0.0
    complexity: Complexity = "simple"
    documents: tuple[str, ...] = ()
    elapsed_ms: float = 0.0
    clarification: float | None = None
    contains_gold: bool | None = None
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Way:
    """How the queries are asked: what a user could set, and how many at once."""

    effort: Effort | None = None
    variants: int | None = None
    jobs: int = 1


async def ask_all(base: KnowledgeBase, dataset: Dataset, way: Way) -> list[Asked]:
    """Every query of ``dataset``, in its order.

    With one job the times are those of a user alone; with more they include waiting.
    """
    await base.ranked(_WARM_UP, **_options(way, None, interactive=False))
    needed = {labels.needs_clarification(query) for query in dataset.queries}
    asks_back = {True, False} <= needed
    gate = asyncio.Semaphore(way.jobs)
    with query_progress(len(dataset.queries)) as advance:

        async def ask(query: EvalQuery) -> Asked:
            async with gate:
                asked = await _ask(
                    base, query, way, asks_back=asks_back, has_corpus=dataset.corpus is not None
                )
            advance()
            return asked

        tasks = [asyncio.create_task(ask(query)) for query in dataset.queries]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:  # one that raised must not leave the others running
                task.cancel()


async def _ask(
    base: KnowledgeBase, query: EvalQuery, way: Way, *, asks_back: bool, has_corpus: bool
) -> Asked:
    started = time.perf_counter()
    try:
        run = await base.ranked(query.text, **_options(way, query, interactive=not has_corpus))
    except QuestionError as error:  # blank, or longer than is accepted
        return Asked(query, "failed", failures=(str(error),))
    elapsed_ms = (time.perf_counter() - started) * 1000
    outcome = run.outcome
    clarification: float | None = None
    if asks_back and labels.needs_clarification(query) is not None:
        interactive = outcome
        if has_corpus:
            options = _options(way, query, interactive=True)
            interactive = (await base.ranked(query.text, **options)).outcome
        clarification = leaning_to_ask(interactive, has_corpus=has_corpus)
    gold = labels.gold_answers(query) if has_corpus else ()
    return Asked(
        query=query,
        status=outcome.status,
        confidence=outcome.confidence,
        complexity=outcome.complexity,
        documents=documents_of(run.ranking),
        elapsed_ms=elapsed_ms,
        clarification=clarification,
        contains_gold=await _holds(base, outcome, gold) if gold else None,
        failures=tuple(f"{f.where}: {f.kind}" for f in outcome.failures),
    )


async def _holds(
    base: KnowledgeBase, outcome: Outcome, gold: Sequence[Sequence[str]]
) -> bool:  # fmt: skip
    """Whether the answer holds the gold; a run without evidence has no answer to hold it."""
    answer = (await base.answered(outcome)).answer if outcome.evidence else None
    return answer is not None and contains_gold(answer.text, gold)


def documents_of(ranking: Sequence[Passage]) -> tuple[str, ...]:
    """Documents in the order of their best passage; a passage counts for all that hold its text."""
    return tuple(
        dict.fromkeys(
            source
            for passage in ranking
            for source in (
                passage.chunk.source,
                *(place.source for place in passage.provenance),
            )
        )
    )


def leaning_to_ask(outcome: Outcome, *, has_corpus: bool) -> float:
    """How much a run leans towards asking back, 0 to 1.

    1 where it asks. 0.75 where the question was found to leave something open, but nothing was
    found that asking could help with. Below 0.5 otherwise: the less sure it is of its evidence the
    more; nothing where there was no evidence to be sure of.
    """
    if outcome.status in ("needs_clarification", "needs_scope_selection"):
        return 1.0
    if outcome.grade is not None and outcome.grade.ambiguity != "none":
        return 0.75
    return (1 - outcome.confidence) / 2 if has_corpus else 0.0


def _options(way: Way, query: EvalQuery | None, *, interactive: bool) -> AskOptions:
    options = AskOptions(effort=way.effort, variants=way.variants, interactive=interactive)
    if query is not None:
        options["sources"] = labels.candidates(query)
        options["history"] = labels.history(query)
    return options
