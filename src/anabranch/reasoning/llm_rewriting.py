"""The rewriter over a language model: one call chooses a step back or a hypothetical document.

Both texts are searched with and nothing else: evidence comes from the store alone, so that what a
model made up cannot be cited.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from anabranch import language
from anabranch.errors import UnusableReplyError
from anabranch.lexicon import Lexicon
from anabranch.ports import ChatModel
from anabranch.reasoning.llm_grading import within
from anabranch.reasoning.prompts import rewrite_prompt
from anabranch.reasoning.structured_reply import Method, Text, ask
from anabranch.types import EvidenceGrade, Passage, Rewrite

# What was found shows the documents' words; a few passages do.
_PASSAGES_SHOWN = 3
_TOKENS_SHOWN = 800
# As much as an encoder reads (256 tokens).
_LONGEST = 1_000


class RewriteReply(BaseModel):
    """The text to search with next."""

    model_config = ConfigDict(frozen=True)

    method: Method
    query: Text
    reason: Text = ""


class LlmRewriter:
    def __init__(self, model: ChatModel, *, key: bytes) -> None:
        self._model = model
        self._key = key

    async def rewrite(
        self,
        question: str,
        passages: Sequence[Passage],
        grade: EvidenceGrade,
        *,
        lexicon: Lexicon,
    ) -> Rewrite | None:
        shown = within(passages[:_PASSAGES_SHOWN], _TOKENS_SHOWN) if passages else ()
        prompt, fences = rewrite_prompt(question, shown, grade.missing_slots, key=self._key)
        reply = await ask(self._model, prompt, RewriteReply, fences)
        query = reply.query[:_LONGEST].strip()
        if not language.question_terms(query):
            raise UnusableReplyError(
                f"The rewritten query {query[:80]!r} has no word to search for."
            )
        if language.fold(query) == language.fold(question):
            return None
        return Rewrite(reply.method, query, reply.reason or "The evidence was weak.")
