"""LangChain: BM25Retriever and a Faiss vector store in an EnsembleRetriever, MultiQueryRetriever above."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from benchmarks.peers.encoder import Encoder
from benchmarks.peers.exchange import Passage
from benchmarks.peers.peer import CANDIDATES, Mode

WEIGHTS = ((".5", [0.5, 0.5]), (".7 dense", [0.3, 0.7]), (".3 dense", [0.7, 0.3]))
# MultiQueryRetriever unites the lists of its queries in their order, so that with long lists nothing
# but the first query would ever be in the top ten; and it compares every document with every other.
# Ten of each leg is its best case in both.
OF_EACH_QUERY = 10
_WORD = re.compile(r"\w+")


class LangChain:
    packages = ("langchain", "langchain-classic", "langchain-community", "rank-bm25", "faiss-cpu")
    timed_single = "ensemble .5, words"
    timed_multi = "MultiQuery over ensemble .5, words"

    def __init__(self, encoder: Encoder, *, for_quality: bool = False) -> None:
        self._encoder = encoder
        self._for_quality = for_quality
        self._words = ("", ", words") if for_quality else (", words",)

    def index(self, passages: Sequence[Passage]) -> None:
        from langchain_community.retrievers import BM25Retriever
        from langchain_community.vectorstores import FAISS
        from langchain_core.documents import Document

        documents = [
            Document(page_content=passage.text, metadata={"at": at})
            for at, passage in enumerate(passages)
        ]
        # By default BM25Retriever splits at blanks and keeps the case. The other way gives it
        # lower-case words, by the parameter that is there for this.
        store = FAISS.from_documents(documents, self._embeddings())
        cuts: dict[str, Any] = {
            "": {},
            ", words": {"preprocess_func": lower_case_words},
        }
        self._legs = {
            (words, count): (
                self._leg(text.model_copy(update={"k": count})),
                self._leg(store.as_retriever(search_kwargs={"k": count})),
            )
            for words in self._words
            for text in (BM25Retriever.from_documents(documents, **cuts[words]),)
            for count in (CANDIDATES, OF_EACH_QUERY)
        }

    def modes(self) -> list[Mode]:
        singles = [
            Mode(f"ensemble {shown}{words}", False,
                 partial(self._ask, self._ensemble((words, CANDIDATES), pair)))
            for words in self._words
            for shown, pair in WEIGHTS
        ]  # fmt: skip
        several = self._ensemble((", words", OF_EACH_QUERY), [0.5, 0.5])
        return [*singles, Mode(self.timed_multi, True, partial(self._ask_all, several))]

    def _ensemble(self, legs: tuple[str, int], weights: list[float]) -> Any:
        from langchain_classic.retrievers import EnsembleRetriever

        return EnsembleRetriever(retrievers=list(self._legs[legs]), weights=weights, id_key="at")

    def _leg(self, retriever: Any) -> Any:
        from langchain_core.runnables import RunnableLambda

        if not self._for_quality:
            return retriever
        remembered: dict[str, Any] = {}

        def ask(text: str) -> Any:
            if text not in remembered:
                remembered[text] = retriever.invoke(text)
            return remembered[text]

        return RunnableLambda(ask)

    def _ask(self, retriever: Any, wordings: Sequence[str]) -> list[int]:
        return [document.metadata["at"] for document in retriever.invoke(wordings[0])]

    def _ask_all(self, retriever: Any, wordings: Sequence[str]) -> list[int]:
        from langchain_classic.retrievers import MultiQueryRetriever
        from langchain_core.runnables import RunnableLambda

        # Its union keeps the order of the queries, so the question goes first: its best case.
        several = MultiQueryRetriever(
            retriever=retriever,
            llm_chain=RunnableLambda(lambda _: list(wordings)),
            include_original=False,
        )
        # The asynchronous way searches the wordings side by side.
        found = asyncio.run(several.ainvoke(wordings[0]))
        return [document.metadata["at"] for document in found]

    def _embeddings(self) -> Any:
        from langchain_core.embeddings import Embeddings

        encoder = self._encoder

        class Ours(Embeddings):
            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                found: list[list[float]] = encoder.many(texts).tolist()
                return found

            def embed_query(self, text: str) -> list[float]:
                found: list[float] = encoder.one(text).tolist()
                return found

        return Ours()


def lower_case_words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
