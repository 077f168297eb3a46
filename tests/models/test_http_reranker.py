"""A reranker behind HTTP: two ways to ask, and no reply that is taken on trust."""

from __future__ import annotations

from typing import Any

import pytest

from anabranch.errors import RemoteError
from anabranch.models.endpoint import Endpoint
from anabranch.models.http_reranker import HttpReranker
from model_server import ModelServer, Reply
from rerank_servers import jina, text_embeddings_inference

TEXTS = ["wrong wrong", "right", "right right wrong"]
WORTH = {"right": 2.0, "wrong": -1.0}
SCORES = [-2.0, 2.0, 3.0]


def index_scores(*indexes: int) -> list[dict[str, Any]]:
    return [{"index": index, "score": 1.0} for index in indexes]


async def test_a_named_model_is_asked_as_jina_and_cohere_are() -> None:
    with ModelServer(jina(WORTH)) as server:
        model = HttpReranker(Endpoint(server.url), model="small")
        assert await model.rerank("right", TEXTS) == SCORES
        await model.close()
    assert server.requests == [{"model": "small", "query": "right", "documents": TEXTS, "top_n": 3}]


async def test_a_server_with_one_model_is_asked_as_text_embeddings_inference_is() -> None:
    with ModelServer(text_embeddings_inference(WORTH)) as server:
        model = HttpReranker(Endpoint(server.url))
        assert await model.rerank("right", TEXTS) == SCORES
        await model.close()
    assert server.requests == [{"query": "right", "texts": TEXTS, "truncate": True}]


async def test_a_server_that_does_not_understand_is_asked_the_other_way_from_then_on() -> None:
    with ModelServer(text_embeddings_inference(WORTH)) as server:
        model = HttpReranker(Endpoint(server.url), model="small")
        assert [await model.rerank("right", TEXTS) for _ in range(2)] == [SCORES, SCORES]
        await model.close()
    assert ["texts" in request for request in server.requests] == [False, True, True]


async def test_where_neither_way_is_understood_the_first_refusal_is_told() -> None:
    def refuse(request: Any) -> Reply:
        return Reply({"message": f"no {'texts' if 'texts' in request else 'documents'}"}, 400)

    with ModelServer(refuse) as server:
        model = HttpReranker(Endpoint(server.url), model="small")
        with pytest.raises(RemoteError, match=r"answered with 400: .*no documents"):
            await model.rerank("right", TEXTS)
        await model.close()
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_another_refusal_is_final(status: int) -> None:
    with ModelServer(lambda _: Reply({}, status)) as server:
        model = HttpReranker(Endpoint(server.url))
        with pytest.raises(RemoteError, match=f"answered with {status}") as refused:
            await model.rerank("right", TEXTS)
        await model.close()
    assert refused.value.status == status
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ({}, "did not answer as a reranker"),
        ([], "0 scores for 3 texts"),
        ({"results": None}, "did not answer as a reranker"),
        (index_scores(0, 0, 0), r"3 scores for 3 texts, of the indexes \[0\]"),
        (index_scores(0, 1, 2, 2), r"4 scores for 3 texts"),
        (index_scores(0, 1, 3), r"indexes \[0, 1, 3\]"),
        (index_scores(0, 1, -1), r"indexes \[-1, 0, 1\]"),
        ([{"index": i, "score": "high"} for i in range(3)], "did not answer as a reranker"),
        ([{"index": True, "score": 1.0}] * 3, "did not answer as a reranker"),
        (b'[{"index":0,"score":NaN},{"index":1,"score":1},{"index":2,"score":1}]', "no number"),
        (b'[{"index":0,"score":1e999},{"index":1,"score":1},{"index":2,"score":1}]', "no number"),
        ("[]", "did not answer as a reranker"),
    ],
)
async def test_a_reply_that_does_not_score_each_text_once_is_an_error(
    reply: Any, told: str
) -> None:
    with ModelServer(lambda _: Reply(reply)) as server:
        model = HttpReranker(Endpoint(server.url))
        with pytest.raises(RemoteError, match=told):
            await model.rerank("right", TEXTS)
        await model.close()


async def test_without_texts_nobody_is_asked() -> None:
    with ModelServer(text_embeddings_inference(WORTH)) as server:
        model = HttpReranker(Endpoint(server.url))
        assert await model.rerank("right", []) == []
        await model.close()
    assert server.requests == []
