"""Sentence embeddings by ONNX Runtime: the bundled encoder, or a folder that holds another one.

A folder has ``model.onnx`` (token ids and mask in, a unit vector ``sentence_embedding`` out),
``tokenizer.json`` and, where the model wants prefixes, ``config.json``.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anabranch.errors import ConfigurationError, RunError
from anabranch.language import window_spans
from anabranch.models.coalescing import CoalescingPool
from anabranch.models.embedding_cache import EmbeddingCache
from anabranch.ports import PassageText, PassageVectors, Vectors, Windows

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

# The unit separator: normalised text has no control characters.
_SEPARATOR = "\x1f"
_TOKENWISE = "token_embeddings"

BUNDLED = Path(__file__).parent / "minilm"

# A question is asked again and again in one run: by the search, the second hop, the grader.
_REMEMBERED_QUERIES = 1_024
# Passages go to the threads, and then to the cache, this many at a time: about two seconds of
# work. That bounds what an interrupted ingestion computed in vain, and how long a program that is
# ended waits for its threads.
_PASSAGES_AT_A_TIME = 64
# No token of a WordPiece vocabulary spans more than 100 characters, so beyond this many times the
# token limit only the time to split the text into words would grow.
_CHARACTERS_TOKENWISE = 100


class EncoderConfig(BaseModel):
    """``config.json`` of an encoder's folder. Keys of other programs in it are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    query_prefix: str = ""
    passage_prefix: str = ""
    max_length: int = Field(
        default=256, ge=8, le=8192, description="Tokens of a text that are read."
    )


@dataclass(frozen=True, slots=True)
class Encoder:
    """A loaded model: ``encode`` gives the vectors of one text and may run in any thread."""

    encode: Callable[[str], PassageVectors]
    dimensions: int


class OnnxEmbedder:
    """The ``Embedder`` port over a local ONNX model; the same text gives the same bits.

    Each call of the model gets one text: dynamic int8 quantisation takes its scales from all that
    is in the call, so in a batch a vector would depend on its neighbours, and a batch is no faster.
    Passages are spread over ``threads`` threads (0: one for each core that this process may use),
    and queries have one more, so that an ingestion does not hold them up. Nothing is read from
    disk before the first use. Vectors of passages are kept in ``cache``, those of the latest
    queries in memory.
    """

    def __init__(
        self, folder: Path, *, threads: int = 0, cache: EmbeddingCache | None = None
    ) -> None:
        self.folder = folder
        self._cache = cache
        self._pool: CoalescingPool[PassageVectors] = CoalescingPool(
            self._encode, threads=threads or _usable_cores(), remembered=_REMEMBERED_QUERIES
        )
        self._loading = Lock()
        self._encoder: Encoder | None = None
        self._config: EncoderConfig | None = None
        self._fingerprint: str | None = None

    @classmethod
    def bundled(cls, *, threads: int = 0, cache: EmbeddingCache | None = None) -> Self:
        """The English encoder that comes with the package."""
        return cls(BUNDLED, threads=threads, cache=cache)

    @property
    def fingerprint(self) -> str:
        """``NAME@HASH`` of everything that a vector depends on: model, tokenizer and config."""
        if self._fingerprint is None:
            self._fingerprint = f"{self.folder.name}@{_folder_hash(self.folder)}"
        return self._fingerprint

    @property
    def dimensions(self) -> int:
        """Length of a vector; loads the model."""
        return self._loaded().dimensions

    @property
    def model_runs(self) -> int:
        """How many texts the model has been run on; caches and coalescing keep it low."""
        return self._pool.runs

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """A row for each text; goes ahead of all passages that are waiting."""
        await self._load()
        prefix = self._configuration().query_prefix
        cleaned = [_encodable(prefix + text) for text in texts]
        encoded = await self._pool.run(cleaned, urgent=True)
        rows = np.empty((len(encoded), self.dimensions), dtype=np.float32)
        for row, vectors in zip(rows, encoded, strict=True):
            row[:] = vectors.passage
        return rows

    async def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
        """The vectors of each passage, from the cache where it has them."""
        await self._load()
        prefix = self._configuration().passage_prefix
        cleaned = [_joined(prefix, passage) for passage in passages]
        distinct = list(dict.fromkeys(cleaned))
        vectors: dict[str, PassageVectors] = {}
        if self._cache is not None and distinct:
            vectors.update(await asyncio.to_thread(self._read_cache, self._cache, distinct))
        missing = [text for text in distinct if text not in vectors]
        for start in range(0, len(missing), _PASSAGES_AT_A_TIME):
            batch = missing[start : start + _PASSAGES_AT_A_TIME]
            computed = dict(zip(batch, await self._pool.run(batch), strict=True))
            if self._cache is not None:
                await asyncio.to_thread(self._write_cache, self._cache, computed)
            vectors.update(computed)
        return [vectors[text] for text in cleaned]

    async def close(self) -> None:
        """End the threads and release the cache; texts that still wait fail with ``RunError``."""
        await asyncio.to_thread(self._pool.close)
        if self._cache is not None:
            await asyncio.to_thread(self._cache.close)

    # ------------------------------------------------------------------------------------ loading

    async def _load(self) -> None:
        """Load away from the event loop: it reads 23 MB and takes some tenths of a second."""
        if self._encoder is None:
            await asyncio.to_thread(self._loaded)

    def _loaded(self) -> Encoder:
        with self._loading:
            if self._encoder is None:
                self._encoder = load_encoder(
                    self.folder, max_length=self._configuration().max_length
                )
            return self._encoder

    def _configuration(self) -> EncoderConfig:
        if self._config is None:
            self._config = read_config(self.folder)
        return self._config

    def _encode(self, text: str) -> PassageVectors:
        return self._loaded().encode(text)

    def _read_cache(self, cache: EmbeddingCache, texts: Sequence[str]) -> dict[str, PassageVectors]:
        return cache.get_many(
            texts, model=self.fingerprint, kind="passage", dimensions=self.dimensions
        )

    def _write_cache(self, cache: EmbeddingCache, vectors: dict[str, PassageVectors]) -> None:
        cache.put_many(vectors, model=self.fingerprint, kind="passage")


def read_config(folder: Path) -> EncoderConfig:
    """``config.json`` of the folder; what is not given, or the whole file, has defaults."""
    path = folder / "config.json"
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


def load_encoder(folder: Path, *, max_length: int) -> Encoder:
    """The model of ``folder``, ready to run; raises ConfigurationError if it is not one."""
    from onnxruntime import InferenceSession, SessionOptions
    from tokenizers import Tokenizer

    _require_files(folder)
    options = SessionOptions()
    # One text has too little work for two threads; cores are used by several texts at once.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3  # errors only: warnings are about graph details
    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        session = InferenceSession(
            str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # both libraries raise direct subclasses of Exception, or itself
        raise ConfigurationError(
            f"The embedding model in {str(folder)!r} cannot be loaded ({error}): install Anabranch "
            "again, or give a folder with a working model.onnx and tokenizer.json."
        ) from error
    # A published tokenizer may pad every text to a fixed length: wasted work with one text a call.
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length)
    # "[SEP]" in a document is text that someone wrote, not an instruction to the model.
    tokenizer.encode_special_tokens = True
    dimensions = _output_dimensions(session, folder)
    outputs = ["sentence_embedding"]
    if _TOKENWISE in {node.name for node in session.get_outputs()}:
        outputs.append(_TOKENWISE)

    def encode(joined: str) -> PassageVectors:
        before = max(joined.find(_SEPARATOR), 0)
        text = joined.replace(_SEPARATOR, "", 1)
        tokens = tokenizer.encode(text[: max_length * _CHARACTERS_TOKENWISE])
        feed = {
            "input_ids": np.array([tokens.ids], dtype=np.int64),
            "attention_mask": np.array([tokens.attention_mask], dtype=np.int64),
        }
        vector, *per_token = (output[0] for output in session.run(outputs, feed))
        if not np.isfinite(vector).all():
            raise RunError(f"The embedding model gave no finite vector for {text[:80]!r}.")
        windows = np.zeros((0, dimensions), dtype=np.int8)
        if per_token:
            windows = _window_vectors(text, before, tokens.offsets, per_token[0])
        for array in (vector, windows):
            array.flags.writeable = False  # they are shared by everyone who asked for this text
        return PassageVectors(vector, windows)

    return Encoder(encode, dimensions)


def _window_vectors(
    text: str, before: int, offsets: Sequence[tuple[int, int]], token_vectors: Vectors
) -> Windows:
    """The mean of the token vectors in each window of ``text[before:]``, as directions in bytes.

    A window that the model did not read, being behind its token limit, is all zeros.
    """
    spans = window_spans(text[before:])
    starts = np.array([start for start, _ in offsets])
    # The special tokens at both ends have empty offsets and stand for no text.
    real = np.array([end > start for start, end in offsets], dtype=bool)
    windows = np.zeros((len(spans), token_vectors.shape[1]), dtype=np.int8)
    for row, (start, end) in zip(windows, spans, strict=True):
        inside = real & (starts >= before + start) & (starts < before + end)
        if inside.any():
            mean = token_vectors[inside].mean(axis=0)
            largest = float(np.abs(mean).max())
            row[:] = np.rint(mean * (127 / largest)) if largest > 0 else 0
    return windows


def _output_dimensions(session: InferenceSession, folder: Path) -> int:
    inputs = {node.name for node in session.get_inputs()}
    outputs = {node.name: node.shape for node in session.get_outputs()}
    shape = outputs.get("sentence_embedding", [])
    if (
        inputs != {"input_ids", "attention_mask"}
        or len(shape) != 2
        or not isinstance(shape[1], int)
    ):
        raise ConfigurationError(
            f"The embedding model in {str(folder)!r} has inputs {sorted(inputs)!r} and outputs "
            f"{sorted(outputs)!r}: it needs input_ids and attention_mask, and a pooled output "
            "sentence_embedding of fixed width."
        )
    return shape[1]


def _require_files(folder: Path) -> None:
    for name in ("model.onnx", "tokenizer.json"):
        if not (folder / name).is_file():
            raise ConfigurationError(
                f"The embedding model's file {str(folder / name)!r} is not there: install "
                "Anabranch again, or give a folder that holds model.onnx and tokenizer.json."
            )


def _folder_hash(folder: Path) -> str:
    """The first 12 hex digits of a hash over the files that decide about a vector."""
    _require_files(folder)
    digest = hashlib.sha256()
    for name in ("model.onnx", "tokenizer.json", "config.json"):
        path = folder / name
        if path.is_file():
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:12]


def _usable_cores() -> int:
    """Cores that this process may run on: in a container often fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _joined(prefix: str, passage: PassageText) -> str:
    """What is encoded of a passage; the separator, which is not, marks where its text begins."""
    before = f"{prefix}{passage.context}\n" if passage.context else prefix
    return _encodable(f"{before}{_SEPARATOR}{passage.text}" if before else passage.text)


def _encodable(text: str) -> str:
    """``text`` with lone surrogates, which no tokenizer takes, as question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
