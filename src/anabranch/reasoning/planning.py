"""The local planner: simple or complex, sub-questions and other phrasings, by rules alone."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.conversation_context import complete
from anabranch.lexicon import Lexicon
from anabranch.openings import without_opening
from anabranch.reasoning.complexity import complexity_reason
from anabranch.reasoning.decomposition import parts
from anabranch.reasoning.phrasing import phrasings
from anabranch.types import Plan, SubQuestion, Turn, Variant

SIMPLE_REASON = "asks for one thing"


class LocalPlanner:
    """Plans without a key, a model or a clock: the same question gives the same plan."""

    async def plan(self, question: str, *, history: Sequence[Turn], lexicon: Lexicon) -> Plan:
        """Whether the question is simple or complex, and its parts where it shows them.

        A complex question whose parts cannot stand alone has no sub-questions. What the question
        leaves out is taken from ``history`` first.
        """
        return complete(question, history, self._plan)

    def _plan(self, question: str) -> Plan:
        question = without_opening(question)
        reason = complexity_reason(question)
        if reason is None:
            return Plan("simple", SIMPLE_REASON)
        sub_questions = tuple(
            SubQuestion(id=f"s{number}", question=part, reason=why)
            for number, (part, why) in enumerate(parts(question), 1)
        )
        return Plan("complex", _with_names(reason, sub_questions), sub_questions=sub_questions)

    async def variants(self, question: str, *, lexicon: Lexicon, limit: int) -> tuple[Variant, ...]:
        """At most ``limit`` other phrasings: spelling, short forms, then wordings."""
        return phrasings(question, lexicon=lexicon, limit=limit)


def _with_names(reason: str, sub_questions: tuple[SubQuestion, ...]) -> str:
    """The reason with the parts it sees, as a person reads it."""
    if not sub_questions:
        return reason
    return f"{reason}: {' | '.join(sub.question for sub in sub_questions)}"
