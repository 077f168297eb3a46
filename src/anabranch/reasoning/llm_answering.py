"""The answerer over a language model: one call writes the answer from numbered evidence, streamed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from anabranch.errors import UnusableReplyError
from anabranch.language import sentence_spans, terms
from anabranch.ports import ChatModel
from anabranch.reasoning.prompts import answer_prompt
from anabranch.types import Answer, Citation, Evidence, SubQuestion

_MARKER = re.compile(r"\[(\d{1,3})\]")
_MARKERS_BEHIND = re.compile(r"(?:\s*\[\d{1,3}\])+")


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
        citations = cited(text, evidence)
        if not citations:
            raise UnusableReplyError("The written answer cites none of the evidence.")
        return Answer(text, "llm", citations)


def cited(text: str, evidence: Sequence[Evidence]) -> tuple[Citation, ...]:
    """A citation for each piece of evidence that a sentence names, with what of it comes closest."""
    found: dict[tuple[int, str], Citation] = {}
    for start, end in sentence_spans(text):
        behind = _MARKERS_BEHIND.match(text, end)
        said = text[start : behind.end() if behind else end]
        wanted = set(terms(_MARKER.sub("", said)))
        for marker in _MARKER.findall(said):
            number = int(marker)
            if 1 <= number <= len(evidence):
                item = evidence[number - 1]
                quote = _closest(item.text, wanted)
                found.setdefault((number, quote), Citation(number, item.id, quote))
    return tuple(found.values())


def _closest(text: str, wanted: set[str]) -> str:
    """The sentence of ``text`` with most of the words; the first of equals."""
    sentences = [text[start:end] for start, end in sentence_spans(text)] or [text]
    return max(sentences, key=lambda sentence: len(wanted & set(terms(sentence))))
