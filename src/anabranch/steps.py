"""What the nodes of the workflow do with the parts: plan, grade and rewrite, each within its limits.

A part that fails is replaced by the least that lets the request go on, and told as a Failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from anabranch.background import background_of
from anabranch.conversation_context import complete
from anabranch.fanout import TELLING_WEIGHT, attempt
from anabranch.foreign_legs import lexicon_beside
from anabranch.lexicon import Lexicon
from anabranch.openings import without_opening
from anabranch.ports import RequestContext
from anabranch.types import (
    EvidenceGrade,
    Failure,
    Plan,
    Retrieval,
    Rewrite,
    SubQuestion,
    Turn,
    Variant,
)

# The grader looks at what may become evidence, and a little further.
GRADED_BEYOND = 2
MOST_SUB_QUESTIONS = 4
# Of the time left: a planner that hangs must leave enough to search the question as it is, and a
# branch that hangs enough to bring the others together.
SHARE_OF_PLANNING = 0.4
SHARE_OF_A_BRANCH = 0.9

Failures = tuple[Failure, ...]


async def plan(question: str, context: RequestContext) -> tuple[Plan, Failures]:
    """The planner's plan within the limits of the request; a simple one if the planner fails."""
    if context.budgets.effort == "minimal":
        return _unplanned(question, "minimal effort: searched as it is", context), ()
    lexicon = await context.parts.store.lexicon(context.scope)
    planned = await attempt(
        "classify_complexity",
        context.parts.planner.plan(question, history=context.history, lexicon=lexicon),
        context.remaining(_part_seconds(context), share=SHARE_OF_PLANNING),
    )
    failures: Failures = ()
    if isinstance(planned, Failure):
        failures = (planned,)
        planned = _unplanned(question, "the planner failed: searched as it is", context)
    variants = planned.variants[: context.budgets.variants]
    if not variants:
        asked = without_opening(planned.standalone or question)
        variants, more = await vary(asked, context, lexicon=lexicon)
        failures += more
    subs = [await _with_variants(sub, context, lexicon) for sub in _usable(planned)]
    return replace(planned, variants=variants, sub_questions=tuple(subs)), failures


def _unplanned(question: str, reason: str, context: RequestContext) -> Plan:
    """A simple plan. A follow-up is completed even so: by rules, which call no model."""
    return complete(question, context.history, lambda text: Plan("simple", reason))


async def vary(
    question: str, context: RequestContext, *, lexicon: Lexicon | None = None
) -> tuple[tuple[Variant, ...], Failures]:
    """Other phrasings of a question, as many as the request may have; none if the planner fails."""
    if not context.budgets.variants:
        return (), ()
    words = lexicon or await context.parts.store.lexicon(context.scope)
    variants = await attempt(
        "variants",
        context.parts.planner.variants(question, lexicon=words, limit=context.budgets.variants),
        context.remaining(_part_seconds(context), share=SHARE_OF_PLANNING),
    )
    return ((), (variants,)) if isinstance(variants, Failure) else (variants, ())


def _part_seconds(context: RequestContext) -> float:
    """Seconds that a part of reasoning may take: two model calls, and then still our own part."""
    return context.budgets.query_timeout + 2 * context.budgets.model_timeout


def shown_standalone(planned: Plan) -> dict[str, str]:
    """What the conversation supplied, for the trace; nothing where the question is as asked."""
    if not planned.standalone:
        return {}
    return {"standalone": planned.standalone, "filled_in": planned.filled_in}


def shown_variants(variants: Sequence[Variant], context: RequestContext) -> dict[str, int | str]:
    """How many other phrasings there are, and why where they are fewer than asked for."""
    asked = context.budgets.variants
    shown: dict[str, int | str] = {"variants": len(variants), "variants_asked": asked}
    if len(variants) < asked:
        shown["variants_reason"] = "the question and the documents' words suggest no others"
    return shown


def _usable(planned: Plan) -> tuple[SubQuestion, ...]:
    """At most four sub-questions that ask something, each once; none if fewer than two are left."""
    asking = {sub.question.strip(): sub for sub in reversed(planned.sub_questions)}
    usable = [sub for sub in planned.sub_questions if asking.get(sub.question.strip()) is sub]
    kept = [sub for sub in usable if sub.question.strip()][:MOST_SUB_QUESTIONS]
    return () if planned.complexity == "simple" or len(kept) < 2 else tuple(kept)


async def _with_variants(
    sub: SubQuestion, context: RequestContext, lexicon: Lexicon
) -> SubQuestion:
    if sub.variants:
        return replace(sub, variants=sub.variants[: context.budgets.variants])
    variants, _ = await vary(sub.question, context, lexicon=lexicon)
    # What only moves a sub-question's words about is not worth a search.
    telling = tuple(variant for variant in variants if variant.weight >= TELLING_WEIGHT)
    return replace(sub, variants=telling)


async def grade(
    question: str, docs: Retrieval, context: RequestContext, *, within: str | None = None
) -> EvidenceGrade:
    """The grade of the documents for ``question``, in the spelling that was repaired, if it was.

    ``within``: the whole question that ``question`` is part of. What it says is never asked.
    """
    repaired = (r.query.text for r in docs.results if r.query.kind == "spelling")
    passages = docs.passages[: context.budgets.top_k + GRADED_BEYOND]
    lexicon = await context.parts.store.lexicon(context.scope)
    beside = lexicon_beside(lexicon, passages, question)
    if beside is lexicon:  # else a foreign passage has the word as it was typed
        question = next(repaired, question)
    return await context.parts.grader.grade(
        question, passages,
        history=(*context.history, Turn("user", within)) if within else context.history,
        lexicon=beside, background=background_of(docs),
    )  # fmt: skip


async def grade_or_keep(
    question: str,
    docs: Retrieval,
    context: RequestContext,
    *,
    earlier: EvidenceGrade | None,
    graded: Mapping[str, float],
) -> tuple[EvidenceGrade | None, Failures]:
    """The grade of the documents; after a rewrite that found nothing new, the ``earlier`` one.

    ``graded`` has the relevance of the passages that were graded before, by chunk id. A grader
    that fails leaves the earlier grade, or none: then the run has failed, since nothing is known
    about what the documents are worth.
    """
    window = docs.passages[: context.budgets.top_k + GRADED_BEYOND]
    known = tuple(graded.get(passage.chunk.chunk_id, 0.0) for passage in window)
    if earlier is not None and all(passage.chunk.chunk_id in graded for passage in window):
        return replace(earlier, passage_relevance=known), ()
    found = await attempt(
        "grade_documents",
        grade(question, docs, context),
        context.remaining(_part_seconds(context), share=SHARE_OF_A_BRANCH),
    )
    if not isinstance(found, Failure):
        return found, ()
    kept = None if earlier is None else replace(earlier, passage_relevance=known)
    return kept, (found,)


def new_passages(found: Retrieval, earlier: Retrieval) -> int:
    """How many passages a rewrite brought that were not there before, whole or in parts."""
    known = {id for p in earlier.passages for id in (p.chunk.chunk_id, *p.merged_from)}
    ids = ({p.chunk.chunk_id, *p.merged_from} for p in found.passages)
    return sum(known.isdisjoint(own) for own in ids)


def better(
    found: EvidenceGrade | None,
    docs: Retrieval,
    *,
    earlier: EvidenceGrade | None,
    first_docs: Retrieval | None,
) -> tuple[EvidenceGrade | None, Retrieval]:
    """The grade, and the documents that it is of: a rewrite that made things worse is ignored.

    Its queries stay listed, so that the outcome says what was searched.
    """
    if found is None or earlier is None or first_docs is None:
        return found, docs
    if found.confidence >= earlier.confidence:
        return found, docs
    return earlier, replace(docs, passages=first_docs.passages)


async def rewrite(
    question: str, docs: Retrieval, found: EvidenceGrade | None, context: RequestContext
) -> tuple[Rewrite | None, Failures]:
    """The rewriter's query; None when it has none, or fails: the first evidence stands."""
    if found is None:  # only a graded run is rewritten
        return None, ()
    lexicon = await context.parts.store.lexicon(context.scope)
    passages = docs.passages[: context.budgets.top_k]
    rewritten = await attempt(
        "rewrite_question",
        context.parts.rewriter.rewrite(question, passages, found, lexicon=lexicon),
        context.remaining(_part_seconds(context), share=SHARE_OF_PLANNING),
    )
    return (None, (rewritten,)) if isinstance(rewritten, Failure) else (rewritten, ())
