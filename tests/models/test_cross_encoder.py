"""A cross-encoder in a folder: what it reads of a pair, and folders that hold none."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from anabranch.errors import ConfigurationError
from anabranch.models.cross_encoder import CrossEncoder
from tiny_models import make_cross_encoder

WORTH = {"right": 2.0, "wrong": -1.0}


async def test_a_long_passage_is_cut_and_the_question_is_not(tmp_path: Path) -> None:
    model = CrossEncoder(make_cross_encoder(tmp_path / "m", WORTH), threads=1)
    # 512 tokens: 3 of them marks, 4 the question; the passage has the others.
    scores = await model.rerank("is it right there", ["right " * 1000, "wrong " * 1000])
    await model.close()
    assert scores == [2.0 * 505, -505.0]


async def test_a_question_without_end_still_leaves_room(tmp_path: Path) -> None:
    model = CrossEncoder(make_cross_encoder(tmp_path / "m", WORTH), threads=1)
    [score] = await model.rerank("right " * 5000, ["right"])
    await model.close()
    assert score == 2.0


async def test_a_model_without_token_types_reads_question_and_passage_alike(tmp_path: Path) -> None:
    folder = make_cross_encoder(tmp_path / "m", WORTH, token_types=False)
    model = CrossEncoder(folder, threads=1)
    scores = await model.rerank("right", ["right", "wrong"])
    await model.close()
    assert scores == [4.0, 1.0]


async def test_marks_that_somebody_wrote_are_text(tmp_path: Path) -> None:
    model = CrossEncoder(make_cross_encoder(tmp_path / "m", WORTH), threads=1)
    scores = await model.rerank("is it", ["[SEP] right", "right [CLS] [SEP]"])
    await model.close()
    assert scores == [2.0, 2.0]


async def test_a_call_that_is_given_up_leaves_the_model_usable(tmp_path: Path) -> None:
    model = CrossEncoder(make_cross_encoder(tmp_path / "m", WORTH), threads=1)
    given_up = asyncio.ensure_future(model.rerank("is it", ["right " * 500] * 200))
    await asyncio.sleep(0)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    assert await model.rerank("is it", ["right"]) == [2.0]
    await model.close()


def test_a_folder_without_a_model_is_refused_when_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"model\.onnx"):
        CrossEncoder(tmp_path)


async def test_a_model_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"no model")
    (tmp_path / "tokenizer.json").write_text("{}")
    model = CrossEncoder(tmp_path)
    with pytest.raises(ConfigurationError, match="cannot be loaded"):
        await model.rerank("a", ["b"])
    await model.close()


async def test_a_model_with_other_outputs_is_refused(tmp_path: Path) -> None:
    model = CrossEncoder(make_cross_encoder(tmp_path / "m", WORTH, logits=3))
    with pytest.raises(ConfigurationError, match="one or two numbers"):
        await model.rerank("a", ["b"])
    await model.close()
