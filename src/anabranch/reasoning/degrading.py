"""Two implementations of a part as one: the preferred one, and in its place the local one.

What went wrong with the preferred one is told as a Failure of the request, never raised: an outcome
says which of its parts were made here, and why.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from anabranch.ledger import Ledger, failure_of
from anabranch.lexicon import Lexicon
from anabranch.ports import Answerer, ConflictFinder, Grader, Planner, Rewriter
from anabranch.types import (
    Answer,
    Background,
    Conflict,
    Evidence,
    EvidenceGrade,
    Passage,
    Plan,
    Rewrite,
    SubQuestion,
    Turn,
    Variant,
)

Result = TypeVar("Result")


async def _or_local(
    where: str, preferred: Awaitable[Result], local: Callable[[], Awaitable[Result]], ledger: Ledger
) -> Result:
    """What ``preferred`` gives, else what ``local`` does. Cancellation passes through."""
    try:
        return await preferred
    except Exception as error:  # the edge of what may fail: behind it the local part stands
        ledger.failures.append(failure_of(where, error))
    return await local()


class DegradingPlanner:
    def __init__(self, preferred: Planner, local: Planner, ledger: Ledger) -> None:
        self._preferred = preferred
        self._local = local
        self._ledger = ledger

    async def plan(self, question: str, *, history: Sequence[Turn], lexicon: Lexicon) -> Plan:
        return await _or_local(
            "classify_complexity.model",
            self._preferred.plan(question, history=history, lexicon=lexicon),
            lambda: self._local.plan(question, history=history, lexicon=lexicon),
            self._ledger,
        )

    async def variants(self, question: str, *, lexicon: Lexicon, limit: int) -> tuple[Variant, ...]:
        return await _or_local(
            "variants.model",
            self._preferred.variants(question, lexicon=lexicon, limit=limit),
            lambda: self._local.variants(question, lexicon=lexicon, limit=limit),
            self._ledger,
        )


class DegradingGrader:
    def __init__(self, preferred: Grader, local: Grader, ledger: Ledger) -> None:
        self._preferred = preferred
        self._local = local
        self._ledger = ledger

    async def grade(
        self,
        question: str,
        passages: Sequence[Passage],
        *,
        history: Sequence[Turn],
        lexicon: Lexicon,
        background: Background | None = None,
    ) -> EvidenceGrade:
        def graded(by: Grader) -> Awaitable[EvidenceGrade]:
            return by.grade(
                question, passages, history=history, lexicon=lexicon, background=background
            )

        return await _or_local(
            "grade_documents.model", graded(self._preferred), lambda: graded(self._local),
            self._ledger,
        )  # fmt: skip


class DegradingRewriter:
    def __init__(self, preferred: Rewriter, local: Rewriter, ledger: Ledger) -> None:
        self._preferred = preferred
        self._local = local
        self._ledger = ledger

    async def rewrite(
        self, question: str, passages: Sequence[Passage], grade: EvidenceGrade, *, lexicon: Lexicon
    ) -> Rewrite | None:
        def rewritten(by: Rewriter) -> Awaitable[Rewrite | None]:
            return by.rewrite(question, passages, grade, lexicon=lexicon)

        return await _or_local(
            "rewrite_question.model", rewritten(self._preferred), lambda: rewritten(self._local),
            self._ledger,
        )  # fmt: skip


class DegradingConflictFinder:
    def __init__(self, preferred: ConflictFinder, local: ConflictFinder, ledger: Ledger) -> None:
        self._preferred = preferred
        self._local = local
        self._ledger = ledger

    async def find(
        self, question: str, evidence: Sequence[Evidence], known: Sequence[Conflict]
    ) -> tuple[Conflict, ...]:
        return await _or_local(
            "conflicts.model",
            self._preferred.find(question, evidence, known),
            lambda: self._local.find(question, evidence, known),
            self._ledger,
        )


class DegradingAnswerer:
    def __init__(self, preferred: Answerer, local: Answerer, ledger: Ledger) -> None:
        self._preferred = preferred
        self._local = local
        self._ledger = ledger

    async def answer(
        self, question: str, evidence: Sequence[Evidence], *, sub_questions: Sequence[SubQuestion]
    ) -> Answer:
        def answered(by: Answerer) -> Awaitable[Answer]:
            return by.answer(question, evidence, sub_questions=sub_questions)

        return await _or_local(
            "answer.model", answered(self._preferred), lambda: answered(self._local), self._ledger
        )
