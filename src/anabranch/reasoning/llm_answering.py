"""The answerer over a language model: one call writes the answer from numbered evidence, streamed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from anabranch.citations import cite
from anabranch.errors import UnusableReplyError
from anabranch.ports import ChatModel
from anabranch.reasoning.prompts import answer_prompt
from anabranch.types import Answer, Evidence, SubQuestion

_THINKING = re.compile(r"\s*<(think|thinking|reasoning)>", re.IGNORECASE)
_THOUGHT = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_TAGS = ("<think>", "<thinking>", "<reasoning>")


def without_thinking(text: str) -> str:
    """``text`` without what a model thought aloud before it; some leave the first tag out."""
    return _THINKING.sub("", _THOUGHT.split(text)[-1]) if not _is_thinking(text) else ""


def _is_thinking(text: str) -> bool:
    return bool(_THINKING.match(text)) and not _THOUGHT.search(text)


class Spoken:
    """An answer that comes in pieces, without what a model thinks aloud before it."""

    def __init__(self) -> None:
        self._begun = False
        self._held = ""

    def feed(self, piece: str) -> str:
        """What of it can be said now: nothing until the thinking is over, or there is none."""
        if self._begun:
            return piece
        self._held += piece
        opening = self._held.lstrip()
        if not opening or _is_thinking(opening):
            return ""
        if any(tag.startswith(opening.lower()) for tag in _TAGS):  # it may become one
            return ""
        self._begun = True
        return without_thinking(self._held)


class LlmAnswerer:
    """``say`` gets the answer as it is written, ``key`` is the secret of the fences."""

    def __init__(self, model: ChatModel, say: Callable[[str], None], *, key: bytes) -> None:
        self._model = model
        self._say = say
        self._key = key

    async def answer(
        self, question: str, evidence: Sequence[Evidence], *, sub_questions: Sequence[SubQuestion]
    ) -> Answer:
        """Raises UnusableReplyError for an answer that cites nothing that there is."""
        if not evidence:
            return Answer("", "llm")
        prompt, fences = answer_prompt(
            question, evidence, sub_questions=sub_questions, key=self._key
        )
        spoken = Spoken()

        def hear(piece: str) -> None:
            if said := fences.restore(spoken.feed(piece)):
                self._say(said)

        written = await self._model.write(prompt, hear)
        text = fences.restore(without_thinking(written)).strip()
        citations = cite(text, evidence)
        if not citations:
            raise UnusableReplyError("The written answer cites none of the evidence.")
        return Answer(text, "llm", citations)
