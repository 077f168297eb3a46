"""A knowledge base as a LangChain retriever: graded evidence as documents."""

from __future__ import annotations

from typing import Any, Protocol

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

from anabranch.types import Evidence, Outcome, to_plain


class Retrieves(Protocol):
    """What is needed of a knowledge base."""

    def retrieve(self, question: str, **options: Any) -> Outcome: ...

    async def aretrieve(self, question: str, **options: Any) -> Outcome: ...


class AnabranchRetriever(BaseRetriever):
    """Gives the evidence for a question, best first; nothing where the documents do not know.

    ``options`` are those of ``KnowledgeBase.retrieve``. Nobody can be asked back here, so an
    ambiguous question gets the best effort. The metadata of each document has its place
    (``source``, ``page``, ``start``, ``end``, ``provenance``), ``score``, ``relevance`` and the
    ``status`` and ``confidence`` of the whole outcome.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    knowledge_base: Any
    options: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        base: Retrieves = self.knowledge_base
        return as_documents(base.retrieve(query, **{**self.options, "interactive": False}))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        base: Retrieves = self.knowledge_base
        return as_documents(await base.aretrieve(query, **{**self.options, "interactive": False}))


def as_documents(outcome: Outcome) -> list[Document]:
    """The evidence of an outcome as LangChain documents."""
    return [_document(item, outcome) for item in outcome.evidence]


def _document(item: Evidence, outcome: Outcome) -> Document:
    plain: dict[str, Any] = to_plain(item)
    text = plain.pop("text")
    evidence_id = plain.pop("id")
    return Document(
        id=item.chunk_id,
        page_content=text,
        metadata={
            **plain,
            "evidence": evidence_id,
            "status": outcome.status,
            "confidence": outcome.confidence,
        },
    )
