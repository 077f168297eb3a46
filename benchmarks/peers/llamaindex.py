"""LlamaIndex: a vector index and BM25Retriever in a QueryFusionRetriever, in each of its modes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from benchmarks.peers.encoder import Encoder
from benchmarks.peers.exchange import Passage
from benchmarks.peers.peer import CANDIDATES, Mode

FUSIONS = ("reciprocal_rerank", "relative_score", "dist_based_score")
WEIGHTS = (("", None), (" .7 dense", [0.7, 0.3]), (" .3 dense", [0.3, 0.7]))


class LlamaIndex:
    packages = (
        "llama-index-core", "llama-index-retrievers-bm25", "llama-index-vector-stores-faiss",
        "bm25s", "faiss-cpu",
    )  # fmt: skip
    timed_single = "relative_score"
    timed_multi = "relative_score, variants"

    def __init__(self, encoder: Encoder, *, for_quality: bool = False) -> None:
        self._encoder = encoder
        self._for_quality = for_quality

    def index(self, passages: Sequence[Passage]) -> None:
        import faiss
        from llama_index.core import StorageContext, VectorStoreIndex
        from llama_index.core.schema import TextNode
        from llama_index.retrievers.bm25 import BM25Retriever
        from llama_index.vector_stores.faiss import FaissVectorStore

        # Its place travels with a node, hidden from the encoder and from BM25.
        nodes = [
            TextNode(
                text=passage.text, id_=str(at), metadata={"at": at},
                excluded_embed_metadata_keys=["at"],
            )
            for at, passage in enumerate(passages)
        ]  # fmt: skip
        store = FaissVectorStore(faiss_index=faiss.IndexFlatIP(384))
        index = VectorStoreIndex(
            nodes=nodes, embed_model=_embedding(self._encoder),
            storage_context=StorageContext.from_defaults(vector_store=store),
        )  # fmt: skip
        dense = index.as_retriever(similarity_top_k=CANDIDATES)
        text = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=CANDIDATES)
        self._dense, self._text = (
            _remembering(leg) if self._for_quality else leg for leg in (dense, text)
        )

    def modes(self) -> list[Mode]:
        found = []
        for fusion in FUSIONS:
            for shown, pair in WEIGHTS if fusion == "relative_score" else WEIGHTS[:1]:
                for multi in (False, True) if pair is None else (False,):
                    name = f"{fusion}{shown}{', variants' if multi else ''}"
                    ask = partial(self._ask, fusion, pair, multi)
                    found.append(Mode(name, multi, ask))
        return found

    def _ask(
        self, fusion: Any, weights: list[float] | None, multi: bool, wordings: Sequence[str]
    ) -> list[int]:
        from llama_index.core.retrievers import QueryFusionRetriever

        retriever = QueryFusionRetriever(
            [self._dense, self._text], llm=_variants(wordings[1:]), mode=fusion,
            num_queries=len(wordings) if multi else 1, similarity_top_k=CANDIDATES,
            retriever_weights=weights, use_async=False,
        )  # fmt: skip
        return [int(found.node.metadata["at"]) for found in retriever.retrieve(wordings[0])]


def _remembering(leg: Any) -> Any:
    """A retriever that asks ``leg`` for a text once; each time with scores of its own, which the
    fusion writes over."""
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore

    remembered: dict[str, list[tuple[Any, float]]] = {}

    class Remembering(BaseRetriever):
        def _retrieve(self, query_bundle: Any) -> Any:
            text = query_bundle.query_str
            if text not in remembered:
                remembered[text] = [(found.node, found.score) for found in leg.retrieve(text)]
            return [NodeWithScore(node=node, score=score) for node, score in remembered[text]]

    return Remembering()


def _variants(wordings: Sequence[str]) -> Any:
    """A model that writes the given variants: what the library asks a model for."""
    from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata

    class Given(CustomLLM):
        @property
        def metadata(self) -> Any:
            return LLMMetadata()

        def complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
            return CompletionResponse(text="\n".join(wordings))

        def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
            raise NotImplementedError("Nothing here asks for a stream.")

    return Given()


def _embedding(encoder: Encoder) -> Any:
    from llama_index.core.embeddings import BaseEmbedding

    class Ours(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> Any:
            return encoder.one(query).tolist()

        async def _aget_query_embedding(self, query: str) -> Any:
            return encoder.one(query).tolist()

        def _get_text_embedding(self, text: str) -> Any:
            return encoder.one(text).tolist()

        def _get_text_embeddings(self, texts: list[str]) -> Any:
            return encoder.many(texts).tolist()

    return Ours(model_name="bundled", embed_batch_size=64)
