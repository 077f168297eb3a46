"""Haystack: BM25 and embedding retrieval from its in-memory store, joined in each of its modes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from benchmarks.peers.encoder import Encoder
from benchmarks.peers.exchange import Passage
from benchmarks.peers.peer import CANDIDATES, Mode

JOINS: tuple[tuple[str, str, list[float] | None, bool], ...] = (
    ("reciprocal_rank_fusion", "reciprocal_rank_fusion", None, False),
    ("distribution_based_rank_fusion", "distribution_based_rank_fusion", None, False),
    ("merge, scaled", "merge", None, True),
    ("merge, scaled .7 dense", "merge", [0.3, 0.7], True),
    ("merge", "merge", None, False),
    ("concatenate, scaled", "concatenate", None, True),
)


class Haystack:
    packages = ("haystack-ai", "numpy")
    timed_single = "reciprocal_rank_fusion"
    timed_multi = "reciprocal_rank_fusion, variants"

    def __init__(self, encoder: Encoder, *, for_quality: bool = False) -> None:
        self._encoder = encoder
        self._for_quality = for_quality
        self._remembered: dict[tuple[str, str], list[Any]] = {}

    def index(self, passages: Sequence[Passage]) -> None:
        from haystack import Document
        from haystack.components.retrievers import (
            InMemoryBM25Retriever,
            InMemoryEmbeddingRetriever,
        )
        from haystack.document_stores.in_memory import InMemoryDocumentStore

        store = InMemoryDocumentStore(shared=False, return_embedding=False)
        vectors = self._encoder.many([passage.text for passage in passages])
        store.write_documents(
            [
                Document(id=str(at), content=passage.text, embedding=vector)
                for at, (passage, vector) in enumerate(zip(passages, vectors.tolist(), strict=True))
            ]
        )
        if self._for_quality:
            # It copies the vector of whatever it returns, number by number. With arrays in their
            # place quality runs are short; its users have lists, so timed runs have them too.
            for document in store.storage.values():
                object.__setattr__(document, "embedding", vectors[int(document.id)])
        self._text = InMemoryBM25Retriever(store, top_k=CANDIDATES)
        self._dense = InMemoryEmbeddingRetriever(store, top_k=CANDIDATES)

    def modes(self) -> list[Mode]:
        return [
            Mode(f"{name}{', variants' if multi else ''}", multi,
                 partial(self._ask, join, weights, scaled, multi))
            for name, join, weights, scaled in JOINS
            for multi in (False, True)
        ]  # fmt: skip

    def _ask(
        self, join: str, weights: list[float] | None, scaled: bool, multi: bool,
        wordings: Sequence[str],
    ) -> list[int]:  # fmt: skip
        from haystack.components.joiners import DocumentJoiner
        from haystack.components.retrievers import (
            MultiQueryEmbeddingRetriever,
            MultiQueryTextRetriever,
        )

        joiner = DocumentJoiner(join_mode=join, weights=weights, top_k=CANDIDATES)
        if not multi:
            legs = [self.text(wordings[0], scaled), self.dense(wordings[0], scaled)]
        elif self._for_quality:
            legs = [
                _united([self.text(wording, scaled) for wording in wordings]),
                _united([self.dense(wording, scaled) for wording in wordings]),
            ]
        else:
            text = MultiQueryTextRetriever(retriever=self._text)
            dense = MultiQueryEmbeddingRetriever(
                retriever=self._dense, query_embedder=_embedder(self._encoder)
            )
            keywords = {"scale_score": scaled}
            legs = [
                text.run(list(wordings), retriever_kwargs=keywords)["documents"],
                dense.run(list(wordings), retriever_kwargs=keywords)["documents"],
            ]
        return [int(document.id) for document in joiner.run(legs)["documents"]]

    def text(self, wording: str, scaled: bool) -> list[Any]:
        return self._leg(
            "text", wording, scaled,
            lambda scale: self._text.run(query=wording, scale_score=scale)["documents"],
        )  # fmt: skip

    def dense(self, wording: str, scaled: bool) -> list[Any]:
        vector = self._encoder.one(wording).tolist()
        return self._leg(
            "dense", wording, scaled,
            lambda scale: self._dense.run(query_embedding=vector, scale_score=scale)["documents"],
        )  # fmt: skip

    def _leg(
        self, leg: str, wording: str, scaled: bool, search: Callable[[bool], list[Any]]
    ) -> list[Any]:
        if not self._for_quality:
            return search(scaled)
        key = (leg, wording)
        if key not in self._remembered:
            self._remembered[key] = search(False)
        return [_scaled(found, leg) if scaled else found for found in self._remembered[key]]


def _scaled(document: Any, leg: str) -> Any:
    """A document with its score as the store scales it when it is asked to."""
    from haystack.document_stores.in_memory.document_store import (
        BM25_SCALING_FACTOR,
        DOT_PRODUCT_SCALING_FACTOR,
        expit,
    )

    factor = BM25_SCALING_FACTOR if leg == "text" else DOT_PRODUCT_SCALING_FACTOR
    return replace(document, score=float(expit(document.score / factor)))


def _united(lists: Sequence[list[Any]]) -> list[Any]:
    """As its multi-query retrievers unite what several queries found: by score, each once.

    Where a document comes twice they keep the higher score.
    """
    best: dict[str, Any] = {}
    for document in (document for found in lists for document in found):
        if document.id not in best or document.score > best[document.id].score:
            best[document.id] = document
    return sorted(best.values(), key=lambda document: document.score or 0.0, reverse=True)


def _embedder(encoder: Encoder) -> Any:
    from haystack import component

    @component
    class Ours:
        @component.output_types(embedding=list[float])
        def run(self, text: str) -> dict[str, Any]:
            return {"embedding": encoder.one(text).tolist()}

    return Ours()
