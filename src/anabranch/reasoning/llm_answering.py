"""The answerer over a language model: one call writes the answer from numbered evidence, streamed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from anabranch.citations import cite
from anabranch.errors import UnusableReplyError
from anabranch.ports import ChatModel
from anabranch.reasoning.prompts import answer_prompt
from anabranch.types import Answer, Evidence, SubQuestion


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
        written = await self._model.write(prompt, lambda piece: self._say(fences.restore(piece)))
        text = fences.restore(written).strip()
        citations = cite(text, evidence)
        if not citations:
            raise UnusableReplyError("The written answer cites none of the evidence.")
        return Answer(text, "llm", citations)
