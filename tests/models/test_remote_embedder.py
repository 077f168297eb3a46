"""An embedder behind HTTP: as many unit vectors as texts, each in its place, or an error."""

import asyncio
import base64
import threading

import numpy as np
import pytest

from anabranch.errors import RemoteError
from anabranch.models.embedding_cache import EmbeddingCache
from anabranch.models.endpoint import Endpoint
from anabranch.models.remote_embedder import RemoteEmbedder, _whatever_happens
from anabranch.ports import PassageText
from model_server import ModelServer, Reply


def vector_of(text: str) -> list[float]:
    return [float(len(text)), 1.0, float(text.count("a")), 0.5]


def embeddings(request, *, encode=False):
    def shown(text):
        vector = np.array(vector_of(text), dtype="<f4")
        return base64.b64encode(vector.tobytes()).decode() if encode else vector.tolist()

    data = [{"index": i, "embedding": shown(text)} for i, text in enumerate(request["input"])]
    return Reply({"object": "list", "data": data[::-1], "usage": {"total_tokens": 3}})


def unit(text: str) -> np.ndarray:
    return np.array(vector_of(text)) / np.linalg.norm(vector_of(text))


@pytest.fixture
def server():
    with ModelServer(embeddings) as running:
        yield running


async def opened(server, **options):
    embedder = RemoteEmbedder(Endpoint(server.url, key="sk-secret"), model="small", **options)
    await embedder.prepare()
    return embedder


async def test_each_text_has_its_own_unit_vector(server):
    embedder = await opened(server)
    texts = [f"text {'a' * number}" for number in range(100)]
    found = await embedder.embed_queries(texts)
    await embedder.close()
    assert embedder.dimensions == 4
    np.testing.assert_allclose(found, [unit(text) for text in texts], atol=1e-6)
    assert max(len(request["input"]) for request in server.requests) <= 32


async def test_vectors_in_base64_are_read():
    with ModelServer(lambda request: embeddings(request, encode=True)) as server:
        embedder = await opened(server)
        found = await embedder.embed_queries(["banana"])
        await embedder.close()
    np.testing.assert_allclose(found, [unit("banana")], atol=1e-6)


async def test_a_passage_is_read_with_its_context_and_embedded_once(server, tmp_path):
    cache = EmbeddingCache(tmp_path / "vectors.sqlite")
    embedder = await opened(server, cache=cache)
    passage = PassageText("a bear", "Animals")
    [first, again] = await embedder.embed_passages([passage, passage])
    np.testing.assert_allclose(first.passage, unit("Animals\na bear"), atol=1e-6)
    assert first is again
    assert first.windows.shape == (0, 4)
    asked = len(server.requests)
    await embedder.close()
    later = await opened(server, cache=EmbeddingCache(tmp_path / "vectors.sqlite"), dimensions=4)
    [known] = await later.embed_passages([passage])
    await later.close()
    np.testing.assert_array_equal(known.passage, first.passage)
    assert len(server.requests) == asked


async def test_a_question_is_asked_for_once(server):
    embedder = await opened(server, dimensions=4)
    await embedder.embed_queries(["a question"])
    await embedder.embed_queries(["a question", "another", "a question"])
    await embedder.close()
    assert [request["input"] for request in server.requests] == [["a question"], ["another"]]


async def test_an_index_of_known_width_opens_without_the_server():
    embedder = RemoteEmbedder(Endpoint("http://127.0.0.1:9/v1"), model="small", dimensions=4)
    await embedder.prepare()
    assert embedder.dimensions == 4


def test_the_fingerprint_names_model_and_server_and_not_the_key():
    def of(url, model="small", key="sk-secret"):
        return RemoteEmbedder(Endpoint(url, key=key), model=model, dimensions=4).fingerprint

    assert of("http://a/v1/embeddings") == of("http://a/v1/embeddings", key="another")
    places = [of("http://a/v1"), of("http://b/v1"), of("http://a:81/v1"), of("http://a/v2")]
    assert len({*places, of("http://a/v1", model="large")}) == 5
    assert "sk-secret" not in of("http://a/v1")


def item(index, embedding):
    return {"index": index, "embedding": embedding}


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ({}, "did not answer as an embedder"),
        ({"data": []}, "0 vectors for 2 texts"),
        ({"data": [item(0, [1, 0, 0, 0])] * 2}, r"2 vectors for 2 texts, of the indexes \[0\]"),
        ({"data": [item(0, [1, 0, 0, 0]), item(1, [1, 0, 0])]}, r"width \[3, 4\]"),
        ({"data": [item(0, [1, 0, 0]), item(1, [1, 0, 0])]}, r"width \[3\] instead of \{4\}"),
        ({"data": [item(0, [0, 0, 0, 0]), item(1, [1, 0, 0, 0])]}, "without a length"),
        ({"data": [item(0, "no base64!"), item(1, [1, 0, 0, 0])]}, "neither numbers nor base64"),
        ({"data": [item(0, "AAAA"), item(1, [1, 0, 0, 0])]}, "neither numbers nor base64"),
        ({"data": [item(0, ["x"]), item(1, [1, 0, 0, 0])]}, "did not answer as an embedder"),
        (b'{"data":[{"index":0,"embedding":[NaN,0,0,0]},{"index":1,"embedding":[1,0,0,0]}]}',
         "without a length"),
    ],
)  # fmt: skip
async def test_a_reply_that_cannot_be_trusted_is_an_error(reply, told):
    with ModelServer(lambda _: Reply(reply)) as server:
        embedder = await opened(server, dimensions=4)
        with pytest.raises(RemoteError, match=told):
            await embedder.embed_queries(["one", "two"])
        await embedder.close()


async def test_batches_go_out_together_and_come_back_in_order(server):
    embedder = await opened(server, dimensions=4)
    passages = [PassageText("a" * number + "!") for number in range(200)]
    one, other = await asyncio.gather(
        embedder.embed_passages(passages), embedder.embed_passages(passages[::-1])
    )
    await embedder.close()
    for passage, vectors in zip(passages, one, strict=True):
        np.testing.assert_allclose(vectors.passage, unit(passage.text), atol=1e-6)
    assert [v.passage.tolist() for v in one] == [v.passage.tolist() for v in other[::-1]]


async def test_an_ingestion_leaves_a_call_free_for_questions():
    let_go, ingesting = threading.Event(), threading.Semaphore(0)

    def answer(request):
        if request["input"] == ["a question"]:
            return embeddings(request)
        ingesting.release()
        reply = embeddings(request)
        reply.hold = let_go
        return reply

    with ModelServer(answer) as server:
        endpoint = Endpoint(server.url, concurrency=3)
        embedder = RemoteEmbedder(endpoint, model="small", dimensions=4)
        adding = asyncio.ensure_future(
            embedder.embed_passages([PassageText(f"passage {n}") for n in range(320)])
        )
        for _ in range(2):
            await asyncio.to_thread(ingesting.acquire)
        [asked] = await embedder.embed_queries(["a question"])
        assert not adding.done()
        let_go.set()
        assert len(await adding) == 320
        await embedder.close()
    np.testing.assert_allclose(asked, unit("a question"), atol=1e-6)


async def test_the_first_failure_ends_an_ingestion_and_what_came_before_is_kept(tmp_path):
    def answer(request):
        return Reply({}, 401) if len(server.requests) > 2 else embeddings(request)

    passages = [PassageText(f"passage {n}") for n in range(32 * 20)]
    with ModelServer(answer) as server:
        endpoint = Endpoint(server.url, concurrency=1)
        cache = EmbeddingCache(tmp_path / "vectors.sqlite")
        embedder = RemoteEmbedder(endpoint, model="small", dimensions=4, cache=cache)
        with pytest.raises(RemoteError, match="answered with 401"):
            await embedder.embed_passages(passages)
        assert len(server.requests) == 3
        server.requests.clear()
        await embedder.embed_passages(passages[:64])
        assert server.requests == []
        await embedder.close()


async def test_a_server_that_is_busy_once_costs_a_second_try_and_no_passage(server):
    busy = [True]

    def answer(request):
        if busy and busy.pop():
            return Reply({}, 429, {"Retry-After": "0"})
        return embeddings(request)

    with ModelServer(answer) as crowded:
        embedder = await opened(crowded, dimensions=4)
        found = await embedder.embed_passages([PassageText("a"), PassageText("b")])
        await embedder.close()
    np.testing.assert_allclose([v.passage for v in found], [unit("a"), unit("b")], atol=1e-6)


async def test_what_was_begun_ends_before_a_cancellation_goes_on():
    gate, kept = asyncio.Event(), []

    async def keep():
        await gate.wait()
        kept.append("a batch")

    keeping = asyncio.ensure_future(_whatever_happens(keep()))
    await asyncio.sleep(0)
    keeping.cancel()
    await asyncio.sleep(0)
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await keeping
    assert kept == ["a batch"]
