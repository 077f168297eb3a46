"""Replies of the reranking servers there are: what ``ModelServer`` answers with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from model_server import Reply

Answer = Callable[[Any], Reply]


def worth(words: Mapping[str, float], text: str) -> float:
    return sum(words.get(word, 0.0) for word in text.split())


def jina(words: Mapping[str, float]) -> Answer:
    """Jina and Cohere: strict about fields (as Cohere is), best first."""

    def answer(request: Any) -> Reply:
        unknown = set(request) - {"model", "query", "documents", "top_n"}
        if unknown or not request.get("model"):
            return Reply({"message": f"unknown field or no model: {sorted(unknown)}"}, 422)
        results = [
            {"index": index, "relevance_score": worth(words, text)}
            for index, text in enumerate(request["documents"])
        ]
        best_first = sorted(results, key=lambda result: -result["relevance_score"])
        return Reply({"id": "1", "results": best_first[: request["top_n"]], "meta": {}})

    return answer


def text_embeddings_inference(words: Mapping[str, float]) -> Answer:
    """One model, a bare list; fields that it does not know are passed over."""

    def answer(request: Any) -> Reply:
        if "texts" not in request:
            return Reply({"error": "missing field `texts`", "error_type": "Validation"}, 422)
        ranks = [
            {"index": index, "score": worth(words, text)}
            for index, text in enumerate(request["texts"])
        ]
        return Reply(sorted(ranks, key=lambda rank: -rank["score"]))

    return answer
