"""Parts behind HTTP that see placeholders in place of personal data: compositions of the same ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anabranch.manifest import ANONYMIZED
from anabranch.ports import (
    Anonymizer,
    ChatModel,
    Embedder,
    PassageText,
    PassageVectors,
    Prompt,
    Reranker,
    Vectors,
)
from anabranch.privacy.personal_data import PersonalData
from anabranch.privacy.placeholders import NOTE, RestoredPieces


@dataclass(frozen=True, slots=True)
class AnonymizingChatModel:
    """A language model that one request asks without its personal data."""

    model: ChatModel
    anonymizer: Anonymizer

    async def complete(self, prompt: Prompt, *, schema: Mapping[str, Any] | None = None) -> str:
        reply = await self.model.complete(self._hidden(prompt), schema=schema)
        return self.anonymizer.restore(reply, as_json=schema is not None)

    async def write(self, prompt: Prompt, say: Callable[[str], None]) -> str:
        pieces = RestoredPieces(self.anonymizer, say)
        written = await self.model.write(self._hidden(prompt), pieces.feed)
        pieces.end()
        return self.anonymizer.restore(written)

    def _hidden(self, prompt: Prompt) -> Prompt:
        exchange = tuple(
            (who, self.anonymizer.hide(text, cut=True)) for who, text in prompt.exchange
        )
        return replace(
            prompt,
            system=f"{prompt.system}\n{NOTE}",
            user=self.anonymizer.hide(prompt.user),
            exchange=exchange,
        )


class AnonymizingEmbedder:
    """An embedder behind HTTP. Each text has placeholders of its own: the same text the same ones,
    so that its vector does not depend on what else was embedded."""

    def __init__(self, embedder: Embedder, personal: PersonalData) -> None:
        self._embedder = embedder
        self._personal = personal

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint + ANONYMIZED

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    @property
    def languages(self) -> frozenset[str] | None:
        return self._embedder.languages

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return await self._embedder.embed_queries([self._hidden(text) for text in texts])

    async def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
        return await self._embedder.embed_passages([self._hidden_passage(one) for one in passages])

    async def close(self) -> None:
        await self._embedder.close()

    def _hidden(self, text: str) -> str:
        return self._personal.begin().hide(text)

    def _hidden_passage(self, passage: PassageText) -> PassageText:
        placeholders = self._personal.begin()
        context = placeholders.hide(passage.context)
        return PassageText(placeholders.hide(passage.text), context)


class AnonymizingReranker:
    """A reranker behind HTTP; the question and the texts of a call share their placeholders."""

    def __init__(self, reranker: Reranker, personal: PersonalData) -> None:
        self._reranker = reranker
        self._personal = personal

    async def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        placeholders = self._personal.begin()
        hidden = placeholders.hide(question)
        return await self._reranker.rerank(hidden, [placeholders.hide(text) for text in texts])

    async def close(self) -> None:
        await self._reranker.close()
