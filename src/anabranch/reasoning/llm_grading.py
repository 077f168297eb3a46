"""The grader over a language model: one call for the whole grade, held to what a grade can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import BaseModel, ConfigDict

from anabranch.evidence import estimate_tokens
from anabranch.lexicon import Lexicon
from anabranch.ports import ChatModel, Grader
from anabranch.reasoning.llm_planning import TURNS_READ
from anabranch.reasoning.prompts import grade_prompt
from anabranch.reasoning.structured_reply import (
    Ambiguity,
    Answerability,
    Chance,
    Lines,
    Numbers,
    Relevance,
    Text,
    ask,
)
from anabranch.shown_text import plain_words
from anabranch.types import Background, EvidenceGrade, GradeRoute, Passage, Turn

MOST_OPTIONS = 5
_PROMPT_CHARACTERS = 300
_OPTION_CHARACTERS = 120
_MOST_SLOTS = 5


class GradeReply(BaseModel):
    """How well the passages answer the question."""

    model_config = ConfigDict(frozen=True)

    relevance: Relevance
    answerability: Answerability
    confidence: Chance = 0.5
    passages: Numbers = ()
    missing_slots: Lines = ()
    ambiguity: Ambiguity = "none"
    hitl_prompt: Text = ""
    hitl_options: Lines = ()
    route: Text = ""
    reason: Text = ""


class LlmGrader:
    """Grades by one call of ``model``. It starts from the local grade: what the model does not see
    or say (passages beyond ``context_tokens``, features) is as that has it.
    """

    def __init__(self, model: ChatModel, local: Grader, *, context_tokens: int, key: bytes) -> None:
        self._model = model
        self._local = local
        self._context_tokens = context_tokens
        self._key = key

    async def grade(
        self,
        question: str,
        passages: Sequence[Passage],
        *,
        history: Sequence[Turn],
        lexicon: Lexicon,
        background: Background | None = None,
    ) -> EvidenceGrade:
        local = await self._local.grade(
            question, passages, history=history, lexicon=lexicon, background=background
        )
        if not passages:
            return local
        seen = within(passages, self._context_tokens)
        prompt, fences = grade_prompt(question, seen, history[-TURNS_READ:], key=self._key)
        reply = await ask(self._model, prompt, GradeReply, fences)
        return graded(reply, local, seen=len(seen))


def within(passages: Sequence[Passage], tokens: int) -> Sequence[Passage]:
    """The first passages, whole, as many as ``tokens`` hold; the first one always."""
    spent, count = 0, 0
    for passage in passages:
        spent += estimate_tokens(passage.chunk.text)
        if count and spent > tokens:
            break
        count += 1
    return passages[:count]


def graded(reply: GradeReply, local: EvidenceGrade, *, seen: int) -> EvidenceGrade:
    """``reply`` as a grade that does not contradict itself."""
    nothing = "none" in (reply.relevance, reply.answerability)
    confidence = reply.confidence
    if nothing:  # some mean how sure they are of their "none"
        confidence = min(confidence, 1 - confidence)
    asked = _asked_back(reply) if not nothing else ()
    ambiguity = reply.ambiguity if asked else "none"
    if ambiguity == "multiple_candidates" and len(asked) < 3:  # nothing to choose between
        ambiguity = "missing_slot"
    missing = tuple(slot[:_OPTION_CHARACTERS] for slot in reply.missing_slots[:_MOST_SLOTS])
    grade = replace(
        local,
        relevance="none" if nothing else reply.relevance,
        answerability="none" if nothing else reply.answerability,
        ambiguity=ambiguity,
        confidence=confidence,
        missing_slots=() if reply.answerability == "sufficient" and not asked else missing,
        reason=plain_words(reply.reason) or local.reason,
        hitl_prompt=asked[0] if asked else "",
        hitl_options=asked[1:],
        passage_relevance=_by_passage(reply.passages, local.passage_relevance, seen=seen),
    )
    return replace(grade, route=_route(grade))


def _asked_back(reply: GradeReply) -> tuple[str, ...]:
    """The question to the user and its options; nothing where there is none to ask."""
    if reply.ambiguity == "none" or not reply.hitl_prompt:
        return ()
    # The user is asked in the model's words, which may be those of a document that gives orders.
    options = (
        plain_words(option)[:_OPTION_CHARACTERS] for option in reply.hitl_options[:MOST_OPTIONS]
    )
    return (plain_words(reply.hitl_prompt)[:_PROMPT_CHARACTERS], *options)


def _route(grade: EvidenceGrade) -> GradeRoute:
    # Follows from the rest: a route that contradicts it ("answer" to no evidence) is not kept.
    if grade.answerability == "none":
        return "no_knowledge"
    if grade.ambiguity != "none":
        return "clarify" if grade.ambiguity == "missing_slot" else "scope_select"
    return "answer" if grade.answerability == "sufficient" else "rewrite"


def _by_passage(
    named: Sequence[int], local: Sequence[float], *, seen: int
) -> tuple[float, ...]:  # fmt: skip
    """Relevance by passage: halfway between what the local grader and the model say of it."""
    if not any(1 <= number <= seen for number in named):
        return tuple(local)
    return tuple(
        relevance if number > seen else (relevance + (number in named)) / 2
        for number, relevance in enumerate(local, start=1)
    )
