"""What a run came to, packed into an Outcome; pure."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from anabranch.conflicts import find
from anabranch.evidence import as_context, nearest, pack
from anabranch.fusion import rank_score
from anabranch.language import has_cjk
from anabranch.languages import question_notices
from anabranch.ports import RequestContext
from anabranch.resume import (
    MAX_NAME_CHARACTERS,
    MAX_PROMPT_CHARACTERS,
    Snapshot,
    SnapshotScope,
    clarification_id,
    join_question,
    scope_fingerprint,
    sign,
)
from anabranch.types import (
    RESUME_SCHEMA,
    BranchResult,
    Clarification,
    Complexity,
    Conclusion,
    Evidence,
    Failure,
    LeftOut,
    Outcome,
    Passage,
    QueryHit,
    QueryReport,
    Retrieval,
    Rewrite,
    SubQuestionReport,
    TraceEvent,
)

QUERY_HITS_SHOWN = 20
# Below it an answer is more often none than one: docs/judgement.md has the figures.
DOUBTFUL = 0.1


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a finished run knows beside its conclusion.

    ``standalone`` is the question with what the conversation supplied, empty where it is as asked.
    """

    question: str
    effective_question: str
    replies: tuple[str, ...]
    complexity: Complexity
    complexity_reason: str
    plan: tuple[str, ...]
    rewrite: Rewrite | None
    rewrite_count: int
    asked: int
    retrievals: tuple[Retrieval, ...]
    branches: tuple[BranchResult, ...]
    failures: tuple[Failure, ...]
    trace: tuple[TraceEvent, ...]
    standalone: str = ""


@dataclass(frozen=True, slots=True)
class RagRun:
    """An outcome, and the whole fused ranking behind it, before gating and packing."""

    outcome: Outcome
    ranking: tuple[Passage, ...]


def finish(facts: RunFacts, conclusion: Conclusion, context: RequestContext) -> RagRun:
    """The outcome of a run. Evidence is given only with an answerable or partial status."""
    answered = conclusion.status in ("answerable", "partial")
    facts = _with_settled(facts, conclusion) if answered else facts
    evidence: tuple[Evidence, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    if answered:
        evidence, left_out = pack(
            conclusion.passages, conclusion.relevance,
            top_k=context.budgets.top_k, context_tokens=context.budgets.context_tokens,
        )  # fmt: skip
    clarification = _clarification(facts, conclusion)
    became = _chunk_to_evidence(evidence, conclusion.passages)
    outcome = Outcome(
        question=facts.question,
        effective_question=facts.effective_question,
        status=conclusion.status,
        route=conclusion.route,
        complexity=facts.complexity,
        complexity_reason=facts.complexity_reason,
        confidence=conclusion.confidence,
        grade=conclusion.grade,
        rewrite=facts.rewrite,
        context=as_context(evidence),
        evidence=evidence,
        queries=tuple(_queries(facts.retrievals, became)),
        sub_questions=tuple(_sub_questions(facts.branches, became)),
        clarification=clarification,
        resume=_snapshot(facts, conclusion, clarification, context) if clarification else None,
        failures=_failures(facts, context.ledger.failures),
        conflicts=find(facts.effective_question, evidence),
        nearest=() if answered else nearest(conclusion.passages, conclusion.relevance),
        left_out=(*left_out, *_unread(facts.retrievals)),
        trace=facts.trace,
        usage=context.ledger.usage(),
        elapsed_ms=(time.perf_counter() - context.started) * 1000,
        notices=(
            *question_notices(facts.effective_question, context.parts.embedder.languages),
            *_doubts(facts, conclusion),
            *context.notices,
        ),
    )
    return RagRun(outcome, conclusion.passages)


def _doubts(facts: RunFacts, conclusion: Conclusion) -> tuple[str, ...]:
    """What is to be said where the status goes by the topic, and the confidence does not go with it.

    Of a question in parts each part is graded for itself; the whole's confidence says less.
    """
    if conclusion.status != "answerable" or conclusion.confidence >= DOUBTFUL or facts.plan:
        return ()
    return (
        f"The documents are about this, but it is doubtful that they say what is asked "
        f"(confidence {conclusion.confidence:.2f}). Read the quoted passages before you rely on them.",
    )


def _with_settled(facts: RunFacts, conclusion: Conclusion) -> RunFacts:
    """The facts with what an earlier turn settled behind the question, as the reply to it would be."""
    settled = conclusion.grade.settled if conclusion.grade else ""
    if not settled:
        return facts
    return replace(facts, effective_question=join_question(facts.effective_question, (settled,)))


def _unread(retrievals: Sequence[Retrieval]) -> tuple[LeftOut, ...]:
    """What of foreign documents was not read, each once."""
    legs = (leg for found in retrievals for result in found.results for leg in result.legs)
    return tuple(dict.fromkeys(item for leg in legs for item in leg.left_out))


def _chunk_to_evidence(evidence: Sequence[Evidence], passages: Iterable[Passage]) -> dict[str, str]:
    """Which evidence a chunk became part of: itself, its parent, or another copy of its text."""
    found = {item.chunk_id: item.id for item in evidence}
    for passage in passages:
        if passage.chunk.chunk_id in found:
            found |= dict.fromkeys(passage.merged_from, found[passage.chunk.chunk_id])
    return found


def _queries(retrievals: Sequence[Retrieval], became: Mapping[str, str]) -> Iterable[QueryReport]:
    for retrieval in retrievals:
        for result in retrieval.results:
            ranking = retrieval.rankings[result.query.id]
            yield QueryReport(
                id=result.query.id,
                text=result.query.text,
                kind=result.query.kind,
                parent=result.query.parent,
                status=result.status,
                hits=len(ranking),
                results=tuple(
                    QueryHit(chunk_id, became.get(chunk_id), rank, rank_score(score))
                    for rank, (chunk_id, score) in enumerate(ranking.items(), start=1)
                    if rank <= QUERY_HITS_SHOWN
                ),
                elapsed_ms=result.elapsed_ms,
                retriever=result.query.retriever,
            )


def _sub_questions(
    branches: Sequence[BranchResult], became: Mapping[str, str]
) -> Iterable[SubQuestionReport]:
    for branch in branches:
        if branch.sub_question is None:
            continue
        own = dict.fromkeys(
            became[passage.chunk.chunk_id]
            for passage in branch.retrieval.passages
            if passage.chunk.chunk_id in became
        )
        gives = branch.status in ("answerable", "partial")
        grade = branch.grade
        yield SubQuestionReport(
            id=branch.sub_question.id,
            question=branch.sub_question.question,
            status=branch.status,
            reason=branch.failure.detail if branch.failure else (grade.reason if grade else ""),
            clarification=grade.hitl_prompt or None if grade else None,
            evidence=tuple(own) if gives else (),
        )


def _failures(facts: RunFacts, degraded: Sequence[Failure]) -> tuple[Failure, ...]:
    found = [*facts.failures, *degraded]
    for retrieval in facts.retrievals:
        found.extend(failure for result in retrieval.results for failure in result.failures)
        found.extend(retrieval.failures)
    found.extend(branch.failure for branch in facts.branches if branch.failure)
    return tuple(dict.fromkeys(found))


# --------------------------------------------------------------------------------- asking the user


def _clarification(facts: RunFacts, conclusion: Conclusion) -> Clarification | None:
    if conclusion.status not in ("needs_clarification", "needs_scope_selection"):
        return None
    slots = conclusion.grade.missing_slots if conclusion.grade else ()
    prompt = conclusion.prompt or missing_prompt(facts.effective_question, slots)
    return Clarification(
        id=clarification_id(facts.question, facts.replies, prompt),
        kind="scope_select" if conclusion.route == "scope_select" else "clarify",
        prompt=prompt,
        options=conclusion.options,
    )


def missing_prompt(question: str, slots: Sequence[str]) -> str:
    """What to ask when the documents cover a question in part: names what they have nothing on."""
    if has_cjk(question):
        named = "、".join(f"“{slot}”" for slot in slots)
        return f"文档中有相关内容，但没有找到关于{named}的说明。您具体想了解什么？"
    named = ", ".join(f'"{slot}"' for slot in slots)
    return (
        f"The documents touch on this, but nothing was found on {named}. "
        "Can you say it in other words, or say what you need to know?"
    )


def settings_fingerprint(context: RequestContext) -> str:
    """Changes when a resumed run would search with another model than the first run did."""
    return hashlib.blake2b(context.parts.embedder.fingerprint.encode(), digest_size=8).hexdigest()


def _snapshot(
    facts: RunFacts,
    conclusion: Conclusion,
    clarification: Clarification,
    context: RequestContext,
) -> dict[str, object]:
    snapshot = Snapshot(
        schema=RESUME_SCHEMA,
        id=clarification.id,
        question=facts.question,
        standalone=facts.standalone,
        replies=facts.replies,
        route=clarification.kind,
        status=conclusion.status,  # type: ignore[arg-type]
        # Words of a model may be longer than a snapshot holds.
        prompt=clarification.prompt[:MAX_PROMPT_CHARACTERS],
        options=tuple(option[:MAX_NAME_CHARACTERS] for option in clarification.options),
        rewrite_count=facts.rewrite_count,
        asked=facts.asked + 1,
        complexity=facts.complexity,
        complexity_reason=facts.complexity_reason[:MAX_NAME_CHARACTERS],
        plan=tuple(question[:MAX_NAME_CHARACTERS] for question in facts.plan),
        scope=SnapshotScope(collections=context.scope.collections, sources=context.scope.sources),
        index_fingerprint=context.index_fingerprint,
        settings_fingerprint=settings_fingerprint(context),
        scope_fingerprint=scope_fingerprint(context.scope, context.signing_key),
    )
    return sign(snapshot, context.signing_key)
