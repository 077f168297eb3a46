"""The planner over a language model: one call for complexity, sub-questions and other phrasings."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from anabranch import language
from anabranch.lexicon import Lexicon
from anabranch.ports import ChatModel, Planner
from anabranch.reasoning.complexity import complexity_reason
from anabranch.reasoning.prompts import plan_prompt
from anabranch.reasoning.structured_reply import Complexity, Lines, Text, ask
from anabranch.types import Plan, SubQuestion, Turn, Variant

# What a model knows of other words is worth as much as what the documents' own words suggest.
VARIANT_WEIGHT = 0.3
MOST_SUB_QUESTIONS = 4
# Earlier turns beyond these say little about what a follow-up leaves out.
TURNS_READ = 6
_TURN_CHARACTERS = 1_000
# A question of so many words that asks for one thing has nothing to take apart.
_FEW_WORDS = 7
_FEW_CHARACTERS = 14
_SUBORDINATE = re.compile(
    r"\b(?:and|or|but|that|which|who|whose|whom|where|when|while|before|after|than|both|between|each|"
    r"every|same|other|also|if|because)\b|[,;:]",
    re.IGNORECASE,
)
_OPENING = re.compile(r"^\W*(?:who|whose|whom|which|where|when)\b", re.IGNORECASE)
_CHINESE_JOINS = re.compile(r"和|与|或|及|、|，|；|并|又|的.+的|比|之间|分别|各|都|同时|以及|还是")


class PlanReply(BaseModel):
    """How to search for the question."""

    model_config = ConfigDict(frozen=True)

    complexity: Complexity
    reason: Text = ""
    standalone: Text = ""
    sub_questions: Lines = ()
    variants: Lines = ()


class LlmPlanner:
    """Plans by one call of ``model``; what the local rules see as plainly simple costs none.

    ``variants`` is how many phrasings the request may have besides the original, ``key`` the secret
    of the fences. Phrasings of sub-questions and replies are the local ones: a call for each would
    cost more than it finds.
    """

    def __init__(self, model: ChatModel, local: Planner, *, variants: int, key: bytes) -> None:
        self._model = model
        self._local = local
        self._variants = variants
        self._key = key

    async def plan(self, question: str, *, history: Sequence[Turn], lexicon: Lexicon) -> Plan:
        if not history and is_plainly_simple(question):
            return await self._local.plan(question, history=history, lexicon=lexicon)
        turns = [Turn(t.role, t.text[:_TURN_CHARACTERS]) for t in history[-TURNS_READ:]]
        prompt, fences = plan_prompt(question, turns, variants=self._variants, key=self._key)
        reply = await ask(self._model, prompt, PlanReply, fences)
        standalone = reply.standalone if history and reply.standalone != question else ""
        searched = standalone or question
        sub_questions = _sub_questions(searched, reply.sub_questions)
        if reply.complexity == "complex" and sub_questions:
            return Plan(
                "complex", _with_names(reply.reason, sub_questions), sub_questions=sub_questions,
                standalone=standalone, filled_in=_filled_in(standalone),
            )  # fmt: skip
        reason = reply.reason or "asks for one thing"
        if reply.complexity == "complex":
            reason = f"{reason.rstrip('.')}; it has no two parts that can be asked alone"
        return Plan(
            "simple", reason, variants=await self._phrasings(searched, reply, lexicon),
            standalone=standalone, filled_in=_filled_in(standalone),
        )  # fmt: skip

    async def variants(self, question: str, *, lexicon: Lexicon, limit: int) -> tuple[Variant, ...]:
        return await self._local.variants(question, lexicon=lexicon, limit=limit)

    async def _phrasings(
        self, question: str, reply: PlanReply, lexicon: Lexicon
    ) -> tuple[Variant, ...]:
        """A repaired spelling, which is sure, then the model's phrasings."""
        if not self._variants:
            return ()
        local = await self._local.variants(question, lexicon=lexicon, limit=1)
        repaired = tuple(variant for variant in local if variant.kind == "spelling")
        others = tuple(
            Variant(text, weight=VARIANT_WEIGHT, reason="other words for it")
            for text in reply.variants
            if _key(text) != _key(question)
        )
        return (repaired + others)[: self._variants]


def is_plainly_simple(question: str) -> bool:
    """Whether a glance tells that the question asks for one thing: short, one clause, no rule fires."""
    if complexity_reason(question) is not None:
        return False
    if language.asks_in_cjk(question):
        short = len(re.findall(r"\w", question)) <= _FEW_CHARACTERS
        return short and not _CHINESE_JOINS.search(question)
    rest = _OPENING.sub("", question)
    return len(question.split()) <= _FEW_WORDS and not _SUBORDINATE.search(rest)


def _sub_questions(question: str, lines: Sequence[str]) -> tuple[SubQuestion, ...]:
    """At most four that differ from the question and each other; none where fewer than two do."""
    by_key = {_key(line): line for line in reversed(lines)}
    usable = [line for line in lines if by_key.get(_key(line)) is line]
    kept = [line for line in usable if _key(line) not in ("", _key(question))]
    if len(kept) < 2:
        return ()
    return tuple(
        SubQuestion(f"s{number}", line)
        for number, line in enumerate(kept[:MOST_SUB_QUESTIONS], start=1)
    )


def _key(text: str) -> str:
    return "".join(re.findall(r"\w", language.fold(text)))


def _with_names(reason: str, sub_questions: Sequence[SubQuestion]) -> str:
    parts = " | ".join(sub.question for sub in sub_questions)
    return f"{reason.rstrip('.') or 'has several parts'}: {parts}"


def _filled_in(standalone: str) -> str:
    return "by the model, from the earlier turns" if standalone else ""
