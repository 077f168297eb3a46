"""A knowledge base as a LangChain retriever: graded evidence as documents."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

from anabranch.framework_metadata import Retrieves, best_effort, evidence_of, metadata_of
from anabranch.types import Outcome


class AnabranchRetriever(BaseRetriever):
    """Gives the evidence for a question, best first; nothing where the documents do not know.

    ``options`` are those of ``KnowledgeBase.retrieve``. Nobody can be asked back here, so an
    ambiguous question gets the best effort. The metadata of each document has its place, its
    ``score`` and ``relevance``, and ``status``, ``confidence`` and ``trace`` of the run
    (``framework_metadata.metadata_of``). Raises RunError where the run failed.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    knowledge_base: Any
    options: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        base: Retrieves = self.knowledge_base
        return as_documents(base.retrieve(query, **best_effort(self.options)))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        base: Retrieves = self.knowledge_base
        return as_documents(await base.aretrieve(query, **best_effort(self.options)))


def as_documents(outcome: Outcome) -> list[Document]:
    """The evidence of an outcome as LangChain documents; raises RunError for one that failed."""
    return [
        Document(id=item.chunk_id, page_content=item.text, metadata=metadata_of(item, outcome))
        for item in evidence_of(outcome)
    ]
