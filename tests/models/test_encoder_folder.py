"""Encoders of other make: pooled here, with their own prefixes and outputs."""

import numpy as np
import pytest

from anabranch.errors import ConfigurationError, RunError
from anabranch.models.onnx_embedder import OnnxEmbedder
from anabranch.ports import PassageText
from tiny_models import SPECIAL, make_encoder

WORDS = ("query", "passage", "red", "green", "blue")


def direction(**shares: float) -> np.ndarray:
    vector = np.zeros(len(SPECIAL) + len(WORDS))
    for word, share in shares.items():
        name = {"cls": "[CLS]", "sep": "[SEP]"}.get(word, word)
        vector[(*SPECIAL, *WORDS).index(name)] = share
    return vector / np.linalg.norm(vector)


async def query_vector(folder, text):
    embedder = OnnxEmbedder(folder, threads=1)
    [vector] = await embedder.embed_queries([text])
    await embedder.close()
    return vector


@pytest.mark.parametrize("output", ["last_hidden_state", "token_embeddings"])
@pytest.mark.parametrize(
    ("pooling", "wanted"),
    [
        ("mean", {"cls": 1, "red": 2, "blue": 1, "sep": 1}),
        ("cls", {"cls": 1}),
        ("last", {"sep": 1}),
        (None, {"cls": 1, "red": 2, "blue": 1, "sep": 1}),
    ],
)
async def test_token_vectors_are_pooled_as_the_configuration_says(
    tmp_path, output, pooling, wanted
):
    config = {} if pooling is None else {"pooling": pooling}
    folder = make_encoder(tmp_path / "m", WORDS, output=output, **config)
    vector = await query_vector(folder, "red blue red")
    np.testing.assert_allclose(vector, direction(**wanted), atol=1e-6)


async def test_prefixes_are_read_before_queries_and_passages(tmp_path):
    folder = make_encoder(tmp_path / "m", WORDS, query_prefix="query ", passage_prefix="passage ")
    embedder = OnnxEmbedder(folder, threads=1)
    [asked] = await embedder.embed_queries(["red"])
    [stored] = await embedder.embed_passages([PassageText("red")])
    await embedder.close()
    np.testing.assert_allclose(asked, direction(cls=1, query=1, red=1, sep=1), atol=1e-6)
    np.testing.assert_allclose(stored.passage, direction(cls=1, passage=1, red=1, sep=1), atol=1e-6)
    assert len(stored.windows) == 1


async def test_a_window_has_the_mean_direction_of_its_own_words(tmp_path):
    folder = make_encoder(tmp_path / "m", WORDS, max_length=11)
    embedder = OnnxEmbedder(folder, threads=1)
    text = "Red red blue. Green. Blue blue. Passage."
    [stored] = await embedder.embed_passages([PassageText(text, "query")])
    await embedder.close()
    # Two sentences each; a full stop is an unknown word, and behind 11 tokens nothing is read.
    wanted = [
        {"red": 2, "blue": 1, "green": 1, "[UNK]": 2},
        {"green": 1, "blue": 2, "[UNK]": 1},
        {"blue": 2},
    ]
    for window, shares in zip(stored.windows.astype(float), wanted, strict=True):
        np.testing.assert_allclose(window / np.linalg.norm(window), direction(**shares), atol=0.01)


async def test_no_more_than_the_maximum_is_read(tmp_path):
    folder = make_encoder(tmp_path / "m", WORDS, max_length=8)
    vector = await query_vector(folder, "red " * 6 + "green " * 100)
    np.testing.assert_allclose(vector, direction(cls=1, red=6, sep=1), atol=1e-6)


async def test_a_pooled_output_is_used_as_it_is_and_made_to_unit_length(tmp_path):
    folder = make_encoder(tmp_path / "m", WORDS, output="sentence_embedding")
    embedder = OnnxEmbedder(folder, threads=1)
    [vector] = await embedder.embed_queries(["red blue red"])
    [stored] = await embedder.embed_passages([PassageText("red blue. red.")])
    await embedder.close()
    np.testing.assert_allclose(vector, direction(cls=1, red=2, blue=1, sep=1), atol=1e-6)
    assert stored.windows.shape == (0, embedder.dimensions)


def test_another_configuration_is_another_model(tmp_path):
    plain = OnnxEmbedder(make_encoder(tmp_path / "a", WORDS))
    first = OnnxEmbedder(make_encoder(tmp_path / "b", WORDS, pooling="cls"))
    assert plain.fingerprint.split("@")[1] != first.fingerprint.split("@")[1]


def test_a_pooled_output_that_is_not_there_is_named(tmp_path):
    embedder = OnnxEmbedder(make_encoder(tmp_path / "m", WORDS, pooling="graph"))
    with pytest.raises(ConfigurationError, match="'graph' it needs sentence_embedding"):
        _ = embedder.dimensions


def test_a_pooling_that_is_not_known_is_named(tmp_path):
    embedder = OnnxEmbedder(make_encoder(tmp_path / "m", WORDS, pooling="max"))
    with pytest.raises(ConfigurationError, match="pooling"):
        _ = embedder.dimensions


async def test_an_output_of_nothing_is_an_error_and_no_vector(tmp_path):
    from tiny_models import onnx

    folder = make_encoder(tmp_path / "m", WORDS)
    model = onnx.load(str(folder / "model.onnx"))
    table = next(item for item in model.graph.initializer if item.name == "table")
    zeros = np.zeros_like(onnx.numpy_helper.to_array(table))
    table.CopyFrom(onnx.numpy_helper.from_array(zeros, "table"))
    onnx.save(model, str(folder / "model.onnx"))
    with pytest.raises(RunError, match="no usable vector"):
        await query_vector(folder, "red")
