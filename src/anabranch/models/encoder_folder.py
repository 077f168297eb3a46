"""A folder that holds a sentence encoder, loaded.

``model.onnx``
    takes ``input_ids``, ``attention_mask`` and perhaps ``token_type_ids``; gives a pooled
    ``sentence_embedding``, or vectors of the tokens (``token_embeddings`` or
    ``last_hidden_state``), which are then pooled here.
``tokenizer.json``
    as the ``tokenizers`` library saves it.
``config.json``
    optional: how it pools, the prefixes it wants, how much it reads.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anabranch.errors import ConfigurationError, RunError
from anabranch.language import window_spans
from anabranch.models.onnx_session import CHARACTERS_A_TOKEN, feed_of, open_model
from anabranch.ports import PassageVectors, Vectors, Windows

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding

CONFIG = "config.json"
# The unit separator: normalised text has no control characters.
SEPARATOR = "\x1f"
_POOLED = "sentence_embedding"
_TOKENWISE = ("token_embeddings", "last_hidden_state")

Pooling = Literal["graph", "mean", "cls", "last"]


class EncoderConfig(BaseModel):
    """``config.json`` of an encoder's folder. Keys of other programs in it are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    query_prefix: str = ""
    passage_prefix: str = ""
    pooling: Pooling | None = Field(
        default=None,
        description="graph: the model's own; else how vectors of tokens become one. Not given: "
        "graph where the model has a pooled output, else mean.",
    )
    languages: tuple[str, ...] = Field(
        default=(), description="Codes of the languages it reads; none: all of them."
    )
    max_length: int = Field(
        default=256, ge=8, le=8192, description="Tokens of a text that are read."
    )


@dataclass(frozen=True, slots=True)
class Encoder:
    """A loaded model: ``encode`` gives the vectors of one text and may run in any thread."""

    encode: Callable[[str], PassageVectors]
    dimensions: int
    has_windows: bool


def read_config(folder: Path) -> EncoderConfig:
    """``config.json`` of the folder; what is not given, or the whole file, has defaults."""
    path = folder / CONFIG
    if not path.is_file():
        return EncoderConfig()
    try:
        return EncoderConfig.model_validate_json(path.read_bytes())
    except ValidationError as error:
        problem = error.errors()[0]
        raise ConfigurationError(
            f"The embedder's {str(path)!r} does not fit at "
            f"{'.'.join(map(str, problem['loc'])) or 'its beginning'}: {problem['msg']}. "
            "Correct it or remove it."
        ) from None


@dataclass(frozen=True, slots=True)
class _Outputs:
    """Which outputs of the graph are used, and how wide they are."""

    pooled: str | None
    tokenwise: str | None
    pooling: Pooling
    dimensions: int

    @property
    def names(self) -> list[str]:
        return [name for name in (self.pooled, self.tokenwise) if name is not None]


def load_encoder(folder: Path, config: EncoderConfig) -> Encoder:
    """The model of ``folder``, ready to run; raises ConfigurationError if it is not one."""
    tokenizer, session = open_model(folder, what="embedding model")
    tokenizer.enable_truncation(config.max_length)
    outputs = _outputs(session, folder, config)

    def encode(joined: str) -> PassageVectors:
        before = max(joined.find(SEPARATOR), 0)
        text = joined.replace(SEPARATOR, "", 1)
        tokens = tokenizer.encode(text[: config.max_length * CHARACTERS_A_TOKEN])
        found = session.run(outputs.names, feed_of(session, tokens))
        of_output = {name: value[0] for name, value in zip(outputs.names, found, strict=True)}
        per_token = of_output[outputs.tokenwise] if outputs.tokenwise else None
        if outputs.pooled is None and per_token is not None:
            vector = _pool(per_token, tokens, outputs.pooling)
        else:
            vector = of_output[_POOLED]
        vector = _unit(vector, text)
        windows = np.zeros((0, outputs.dimensions), dtype=np.int8)
        if per_token is not None:
            windows = _window_vectors(text, before, tokens.offsets, per_token)
        for array in (vector, windows):
            array.flags.writeable = False  # they are shared by everyone who asked for this text
        return PassageVectors(vector, windows)

    return Encoder(encode, outputs.dimensions, has_windows=outputs.tokenwise is not None)


def _outputs(session: InferenceSession, folder: Path, config: EncoderConfig) -> _Outputs:
    shapes = {node.name: node.shape for node in session.get_outputs()}
    pooled = _POOLED if _width(shapes.get(_POOLED), 2) else None
    tokenwise = next((name for name in _TOKENWISE if _width(shapes.get(name), 3)), None)
    pooling = config.pooling or ("graph" if pooled else "mean")
    used = pooled if pooling == "graph" else tokenwise
    if used is None:
        wanted = _POOLED if pooling == "graph" else " or ".join(_TOKENWISE)
        raise ConfigurationError(
            f"The embedding model in {str(folder)!r} has the outputs {shapes!r}: for the pooling "
            f"{pooling!r} it needs {wanted}, of fixed width."
        )
    dimensions = shapes[used][-1]
    if tokenwise is not None and shapes[tokenwise][-1] != dimensions:
        tokenwise = None  # of another width than the pooled vector: not comparable with it
    return _Outputs(
        pooled if pooling == "graph" else None, tokenwise, pooling, dimensions=dimensions
    )


def _width(shape: Sequence[object] | None, axes: int) -> bool:
    """Whether an output is there, with so many axes of which the last has a fixed width."""
    return shape is not None and len(shape) == axes and isinstance(shape[-1], int)


def _pool(per_token: Vectors, tokens: Encoding, pooling: Pooling) -> Vectors:
    kept = per_token[np.array(tokens.attention_mask, dtype=bool)]
    if pooling == "mean":
        mean: Vectors = kept.mean(axis=0)
        return mean
    row: Vectors = kept[0] if pooling == "cls" else kept[-1]
    return row


def _unit(vector: Vectors, text: str) -> Vectors:
    length = float(np.linalg.norm(vector))
    if not np.isfinite(length) or length == 0:
        raise RunError(f"The embedding model gave no usable vector for {text[:80]!r}.")
    # A graph that normalises is off by some 1e-7: its bits stay, so that vectors stay the same.
    if abs(length - 1) < 1e-5:
        return vector
    return (vector / length).astype(np.float32)


def _window_vectors(
    text: str, before: int, offsets: Sequence[tuple[int, int]], token_vectors: Vectors
) -> Windows:
    """The mean of the token vectors in each window of ``text[before:]``, as directions in bytes.

    A window that the model did not read, being behind its token limit, is all zeros.
    """
    spans = window_spans(text[before:])
    windows = np.zeros((len(spans), token_vectors.shape[1]), dtype=np.int8)
    # The special tokens at both ends have empty offsets and stand for no text.
    real = [at for at, (start, end) in enumerate(offsets) if end > start]
    if not spans or not real:
        return windows
    token_vectors = token_vectors[real[0] : real[-1] + 1]
    if len(real) < len(token_vectors):
        token_vectors = token_vectors[[at - real[0] for at in real]]
    # Tokens come in the order of the text, so that those of a window are neighbours.
    starts = [offsets[at][0] for at in real]
    sums = np.zeros(windows.shape, dtype=np.float32)
    counts = np.ones((len(spans), 1), dtype=np.float32)
    for row, (start, end) in enumerate(spans):
        first, last = bisect_left(starts, before + start), bisect_left(starts, before + end)
        if first < last:
            np.add.reduce(token_vectors[first:last], axis=0, out=sums[row])
            counts[row] = last - first
    means = sums / counts
    largest = np.abs(means).max(axis=1, keepdims=True).astype(np.float64)
    scales = np.divide(127, largest, out=np.zeros_like(largest), where=largest > 0)
    np.rint(means * scales.astype(np.float32), out=windows, casting="unsafe")
    return windows
