"""What every implementation of the Embedder port promises: unit vectors, each text always its own."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anabranch.language import window_spans
from anabranch.models.embedding_cache import EmbeddingCache
from anabranch.models.endpoint import Endpoint
from anabranch.models.onnx_embedder import OnnxEmbedder
from anabranch.models.remote_embedder import RemoteEmbedder
from anabranch.ports import Embedder, PassageText
from model_server import ModelServer, Reply
from tiny_models import make_encoder

WORDS = ("the", "tern", "nests", "in", "may", "query", "passage")
TEXTS = ["the tern nests in may", "may", "in the nests. The tern nests.", "燕鸥五月筑巢。"]
ODD_TEXTS = ["", " \n", "a\x00b\x1fc", "tern \ud800", "\U0001f426" * 40, "the tern " * 4_000]

# Opens another embedder of the same kind over the same model, with a cache or without.
Opener = Callable[[EmbeddingCache | None], Embedder]


def scattered(request: Any) -> Reply:
    """A vector for each text that depends on all of it and on nothing else."""

    def vector(text: str) -> list[float]:
        return [byte - 127.5 for byte in hashlib.sha256(text.encode()).digest()]

    data = [{"index": i, "embedding": vector(text)} for i, text in enumerate(request["input"])]
    return Reply({"object": "list", "model": request["model"], "data": data})


@asynccontextmanager
async def bundled(folder: Path) -> AsyncIterator[Opener]:
    yield lambda cache: OnnxEmbedder.bundled(threads=2, cache=cache)


@asynccontextmanager
async def token_vectors(folder: Path) -> AsyncIterator[Opener]:
    made = make_encoder(
        folder / "model", WORDS, query_prefix="query ", passage_prefix="passage ", pooling="mean"
    )
    yield lambda cache: OnnxEmbedder(made, threads=2, cache=cache)


@asynccontextmanager
async def pooled(folder: Path) -> AsyncIterator[Opener]:
    made = make_encoder(folder / "model", WORDS, output="sentence_embedding")
    yield lambda cache: OnnxEmbedder(made, threads=2, cache=cache)


@asynccontextmanager
async def remote(folder: Path) -> AsyncIterator[Opener]:
    with ModelServer(scattered) as server:
        yield lambda cache: RemoteEmbedder(
            Endpoint(server.url), model="small", dimensions=32, cache=cache
        )


@pytest.fixture(params=[bundled, token_vectors, pooled, remote])
async def opener(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Opener]:
    of_kind: Callable[[Path], AbstractAsyncContextManager[Opener]] = request.param
    async with of_kind(tmp_path) as opened:
        yield opened


@pytest.fixture
async def embedder(opener: Opener) -> AsyncIterator[Embedder]:
    opened = opener(None)
    yield opened
    await opened.close()


def passages(texts: list[str]) -> list[PassageText]:
    return [PassageText(text) for text in texts]


async def test_each_question_has_a_unit_vector_of_the_width_that_is_told(
    embedder: Embedder,
) -> None:
    found = await embedder.embed_queries(TEXTS)
    assert found.shape == (len(TEXTS), embedder.dimensions)
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


async def test_a_question_has_the_same_bits_alone_in_any_order_and_at_once(
    embedder: Embedder, opener: Opener
) -> None:
    together = await embedder.embed_queries(TEXTS)
    other = opener(None)
    backwards = await other.embed_queries(TEXTS[::-1])
    at_once = await asyncio.gather(*(other.embed_queries([text]) for text in TEXTS * 3))
    await other.close()
    np.testing.assert_array_equal(together, backwards[::-1])
    np.testing.assert_array_equal(np.concatenate(at_once), np.concatenate([together] * 3))


async def test_a_passage_has_the_same_bits_alone_and_among_others(embedder: Embedder) -> None:
    together = await embedder.embed_passages(passages(TEXTS))
    for text, expected in zip(TEXTS, together, strict=True):
        [alone] = await embedder.embed_passages(passages([text]))
        np.testing.assert_array_equal(alone.passage, expected.passage)
        np.testing.assert_array_equal(alone.windows, expected.windows)


async def test_vectors_of_passages_are_of_unit_length_with_a_row_for_each_window_or_none(
    embedder: Embedder,
) -> None:
    for text, vectors in zip(TEXTS, await embedder.embed_passages(passages(TEXTS)), strict=True):
        assert vectors.passage.shape == (embedder.dimensions,)
        assert vectors.passage.dtype == np.float32
        assert abs(float(np.linalg.norm(vectors.passage)) - 1) < 1e-5
        assert vectors.windows.dtype == np.int8
        assert vectors.windows.shape[1] == embedder.dimensions
        assert len(vectors.windows) in (0, len(window_spans(text)))


async def test_the_context_of_a_passage_is_read_and_is_in_none_of_its_windows(
    embedder: Embedder,
) -> None:
    [plain, within] = await embedder.embed_passages(
        [PassageText("nests in may"), PassageText("nests in may", "the tern")]
    )
    assert not np.array_equal(plain.passage, within.passage)
    assert plain.windows.shape == within.windows.shape


async def test_nothing_has_no_vectors(embedder: Embedder) -> None:
    assert (await embedder.embed_queries([])).shape == (0, embedder.dimensions)
    assert await embedder.embed_passages([]) == []


async def test_any_text_has_a_vector(embedder: Embedder) -> None:
    found = await embedder.embed_queries(ODD_TEXTS)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    for vectors in await embedder.embed_passages(passages(ODD_TEXTS)):
        assert abs(float(np.linalg.norm(vectors.passage)) - 1) < 1e-5


async def test_the_same_model_has_the_same_fingerprint(embedder: Embedder, opener: Opener) -> None:
    other = opener(None)
    assert embedder.fingerprint == other.fingerprint
    assert "@" in embedder.fingerprint
    await other.close()


async def test_a_cache_gives_back_the_bits_that_were_computed(
    embedder: Embedder, opener: Opener, tmp_path: Path
) -> None:
    computed = await embedder.embed_passages(passages(TEXTS))
    for _ in range(2):
        cached = opener(EmbeddingCache(tmp_path / "vectors.sqlite"))
        for found, expected in zip(
            await cached.embed_passages(passages(TEXTS)), computed, strict=True
        ):
            np.testing.assert_array_equal(found.passage, expected.passage)
            np.testing.assert_array_equal(found.windows, expected.windows)
        await cached.close()


async def test_it_can_be_closed_twice(embedder: Embedder) -> None:
    await embedder.embed_queries(TEXTS[:1])
    await embedder.close()
    await embedder.close()
