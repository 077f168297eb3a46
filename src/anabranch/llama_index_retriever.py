"""A knowledge base as a LlamaIndex retriever: graded evidence as nodes with scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.errors import MissingExtraError
from anabranch.framework_metadata import Retrieves, best_effort, evidence_of, metadata_of
from anabranch.types import EMPTY, Outcome

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise MissingExtraError(
        "The LlamaIndex retriever needs LlamaIndex: pip install 'anabranch[llama-index]'"
    ) from error

# What a model should read of the metadata beside the text; offsets and ids only cost tokens.
_READ_BY_MODELS = frozenset({"source", "title", "page"})


class AnabranchLlamaIndexRetriever(BaseRetriever):
    """Gives the evidence for a question, best first; nothing where the documents do not know.

    ``options`` are those of ``KnowledgeBase.retrieve``. Nobody can be asked back here, so an
    ambiguous question gets the best effort. The score of a node is how high it ranks; how well it
    answers is ``relevance`` in its metadata (``framework_metadata.metadata_of``). Raises RunError
    where the run failed.
    """

    def __init__(
        self, knowledge_base: Any, *, options: Mapping[str, Any] = EMPTY, **base: Any
    ) -> None:
        super().__init__(**base)  # callback_manager, verbose: LlamaIndex's own
        self._knowledge_base: Retrieves = knowledge_base
        self._options = dict(options)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        options = best_effort(self._options)
        return as_nodes(self._knowledge_base.retrieve(query_bundle.query_str, **options))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        options = best_effort(self._options)
        return as_nodes(await self._knowledge_base.aretrieve(query_bundle.query_str, **options))


def as_nodes(outcome: Outcome) -> list[NodeWithScore]:
    """The evidence of an outcome as LlamaIndex nodes; raises RunError for one that failed."""
    nodes = []
    for item in evidence_of(outcome):
        metadata = metadata_of(item, outcome)
        hidden = sorted(set(metadata) - _READ_BY_MODELS)
        node = TextNode(
            id_=item.chunk_id, text=item.text, metadata=metadata,
            start_char_idx=item.start, end_char_idx=item.end,
            excluded_llm_metadata_keys=hidden, excluded_embed_metadata_keys=hidden,
        )  # fmt: skip
        nodes.append(NodeWithScore(node=node, score=item.score))
    return nodes
