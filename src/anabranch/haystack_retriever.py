"""A knowledge base as a Haystack component: graded evidence as documents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anabranch.errors import ConfigurationError, InputError, MissingExtraError
from anabranch.framework_metadata import best_effort, evidence_of, metadata_of
from anabranch.knowledge_base import KnowledgeBase
from anabranch.types import Outcome

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ImportError as error:
    raise MissingExtraError(
        "The Haystack component needs Haystack: pip install 'anabranch[haystack]'"
    ) from error


@component
class AnabranchHaystackRetriever:
    """Gives the evidence for a query, best first; nothing where the documents do not know.

    ``knowledge_base`` is a folder, opened when it is first needed, or an open ``KnowledgeBase``.
    ``options`` are those of ``KnowledgeBase.retrieve`` in plain JSON values, so that a pipeline can
    be saved; settings and passwords come from the environment of whoever loads it, never from the
    file. Nobody can be asked back here, so an ambiguous query gets the best effort. Outputs:
    ``documents``, with ``framework_metadata.metadata_of`` as their metadata, and the ``status`` and
    ``confidence`` of the outcome. Raises RunError where the run failed.
    """

    def __init__(
        self,
        knowledge_base: KnowledgeBase | str | Path,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._given = knowledge_base if isinstance(knowledge_base, KnowledgeBase) else None
        self._base = self._given
        # Absolute would tie a saved pipeline to one machine.
        self._path = str(self._given.path if self._given else knowledge_base)
        self._options = dict(options or {})
        try:
            json.dumps(self._options)
        except (TypeError, ValueError):
            raise InputError(
                f"options={self._options!r:.200}: give plain JSON values, so that the pipeline can be "
                "saved."
            ) from None

    def warm_up(self) -> None:
        """Open the knowledge base, so that the first query does not wait for it."""
        self._opened()

    def close(self) -> None:
        """Close the knowledge base if it was opened here; the next query opens it again."""
        if self._given is None and self._base is not None:
            self._base.close()

    def to_dict(self) -> dict[str, Any]:
        """Folder and options; raises ConfigurationError where foreign retrievers would be lost."""
        if self._given is not None and self._given.retriever_names:
            raise ConfigurationError(
                f"The knowledge base has retrievers {self._given.retriever_names!r}, which cannot be "
                "saved with a pipeline: give the component a folder, or open it in code."
            )
        saved: dict[str, Any] = default_to_dict(
            self, knowledge_base=self._path, options=dict(self._options)
        )
        return saved

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> AnabranchHaystackRetriever:
        """The component that ``to_dict`` saved, over the folder as it is now."""
        made: AnabranchHaystackRetriever = default_from_dict(cls, data)
        return made

    @component.output_types(documents=list[Document], status=str, confidence=float)
    def run(self, query: str, top_k: int | None = None) -> dict[str, Any]:
        """The evidence for ``query``; ``top_k`` in place of that of the options."""
        options = best_effort(self._options, {"top_k": top_k})
        return as_outputs(self._opened().retrieve(query, **options))

    @component.output_types(documents=list[Document], status=str, confidence=float)
    async def run_async(self, query: str, top_k: int | None = None) -> dict[str, Any]:
        """``run`` without blocking the loop."""
        options = best_effort(self._options, {"top_k": top_k})
        return as_outputs(await self._opened().aretrieve(query, **options))

    def _opened(self) -> KnowledgeBase:
        if self._base is None:
            self._base = KnowledgeBase.open(self._path)
        return self._base


def as_outputs(outcome: Outcome) -> dict[str, Any]:
    """What the component puts out; raises RunError for an outcome that failed."""
    documents = [
        Document(
            id=item.chunk_id, content=item.text, score=item.score, meta=metadata_of(item, outcome)
        )
        for item in evidence_of(outcome)
    ]
    return {
        "documents": documents,
        "status": outcome.status,
        "confidence": outcome.confidence,
    }
