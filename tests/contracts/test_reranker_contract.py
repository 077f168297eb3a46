"""What every implementation of the Reranker port promises: one score for each text, in its place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from anabranch.models.cross_encoder import CrossEncoder
from anabranch.models.endpoint import Endpoint
from anabranch.models.http_reranker import HttpReranker
from anabranch.ports import Reranker
from model_server import ModelServer
from rerank_servers import jina, text_embeddings_inference, worth
from tiny_models import make_cross_encoder

WORTH = {"right": 2.0, "wrong": -1.0}
TEXTS = ["wrong wrong", "right", "right right wrong"]
ODD_TEXTS = ["", " ", "对的。", "a\x00b", "right \ud800", "\U0001f40d" * 50, "right " * 3_000]


@asynccontextmanager
async def behind_documents(folder: Path) -> AsyncIterator[Reranker]:
    with ModelServer(jina(WORTH)) as server:
        yield HttpReranker(Endpoint(server.url), model="small")


@asynccontextmanager
async def behind_texts(folder: Path) -> AsyncIterator[Reranker]:
    with ModelServer(text_embeddings_inference(WORTH)) as server:
        yield HttpReranker(Endpoint(server.url))


@asynccontextmanager
async def one_logit(folder: Path) -> AsyncIterator[Reranker]:
    yield CrossEncoder(make_cross_encoder(folder / "model", WORTH), threads=2)


@asynccontextmanager
async def two_logits(folder: Path) -> AsyncIterator[Reranker]:
    yield CrossEncoder(make_cross_encoder(folder / "model", WORTH, logits=2), threads=2)


@pytest.fixture(params=[behind_documents, behind_texts, one_logit, two_logits])
async def reranker(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Reranker]:
    opened: Callable[[Path], AbstractAsyncContextManager[Reranker]] = request.param
    async with opened(tmp_path) as model:
        yield model
        await model.close()


async def test_each_text_has_its_score_in_the_order_given(reranker: Reranker) -> None:
    assert await reranker.rerank("which is it", TEXTS) == [worth(WORTH, text) for text in TEXTS]


async def test_a_score_does_not_depend_on_the_other_texts(reranker: Reranker) -> None:
    together = await reranker.rerank("which is it", TEXTS)
    backwards = await reranker.rerank("which is it", TEXTS[::-1])
    alone = [(await reranker.rerank("which is it", [text]))[0] for text in TEXTS]
    assert together == backwards[::-1] == alone


async def test_equal_texts_have_equal_scores(reranker: Reranker) -> None:
    assert await reranker.rerank("which is it", ["right"] * 3) == [2.0] * 3


async def test_no_texts_have_no_scores(reranker: Reranker) -> None:
    assert await reranker.rerank("which is it", []) == []


async def test_any_text_and_any_question_has_a_finite_score(reranker: Reranker) -> None:
    for question in ("which is it", "", "哪一个是对的？", "right \ud800", "which " * 2_000):
        scores = await reranker.rerank(question, ODD_TEXTS)
        assert len(scores) == len(ODD_TEXTS)
        assert np.isfinite(scores).all()


async def test_several_questions_at_once_do_not_mix(reranker: Reranker) -> None:
    counts = (1, 2, 3, 2, 1, 3, 3, 1)
    found = await asyncio.gather(*(reranker.rerank("which", TEXTS[:count]) for count in counts))
    assert found == [[worth(WORTH, text) for text in TEXTS[:count]] for count in counts]
