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
from anabranch.models.coalescing import CoalescingPool
from anabranch.models.embedding_cache import EmbeddingCache
from anabranch.ports import Vectors

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

BUNDLED = Path(__file__).parent / "minilm"

# A question is asked again and again in one run: by the search, the second hop, the grader.
_REMEMBERED_QUERIES = 1_024
# Passages go to the threads, and then to the cache, this many at a time: about two seconds of
# work. That bounds what an interrupted ingestion computed in vain, and how long a program that is
# ended waits for its threads.
_PASSAGES_AT_A_TIME = 64
# No token of a WordPiece vocabulary spans more than 100 characters, so beyond this many times the
# token limit only the time to split the text into words would grow.
_CHARACTERS_PER_TOKEN = 100


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
    """A loaded model: ``encode`` gives the unit vector of one text and may run in any thread."""

    encode: Callable[[str], Vectors]
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
        self._pool: CoalescingPool[Vectors] = CoalescingPool(
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
        return self._stacked(await self._pool.run(cleaned, urgent=True))

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """A row for each text, from the cache where it has them."""
        await self._load()
        prefix = self._configuration().passage_prefix
        cleaned = [_encodable(prefix + text) for text in texts]
        distinct = list(dict.fromkeys(cleaned))
        vectors: dict[str, Vectors] = {}
        if self._cache is not None and distinct:
            vectors.update(await asyncio.to_thread(self._read_cache, self._cache, distinct))
        missing = [text for text in distinct if text not in vectors]
        for start in range(0, len(missing), _PASSAGES_AT_A_TIME):
            batch = missing[start : start + _PASSAGES_AT_A_TIME]
            computed = dict(zip(batch, await self._pool.run(batch), strict=True))
            if self._cache is not None:
                await asyncio.to_thread(self._write_cache, self._cache, computed)
            vectors.update(computed)
        return self._stacked([vectors[text] for text in cleaned])

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

    def _encode(self, text: str) -> Vectors:
        return self._loaded().encode(text)

    def _read_cache(self, cache: EmbeddingCache, texts: Sequence[str]) -> dict[str, Vectors]:
        return cache.get_many(
            texts, model=self.fingerprint, kind="passage", dimensions=self.dimensions
        )

    def _write_cache(self, cache: EmbeddingCache, vectors: dict[str, Vectors]) -> None:
        cache.put_many(vectors, model=self.fingerprint, kind="passage")

    def _stacked(self, vectors: Sequence[Vectors]) -> Vectors:
        rows = np.empty((len(vectors), self.dimensions), dtype=np.float32)
        for row, vector in zip(rows, vectors, strict=True):
            row[:] = vector
        return rows


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

    def encode(text: str) -> Vectors:
        tokens = tokenizer.encode(text[: max_length * _CHARACTERS_PER_TOKEN])
        feed = {
            "input_ids": np.array([tokens.ids], dtype=np.int64),
            "attention_mask": np.array([tokens.attention_mask], dtype=np.int64),
        }
        vector: Vectors = session.run(["sentence_embedding"], feed)[0][0]
        if not np.isfinite(vector).all():
            raise RunError(f"The embedding model gave no finite vector for {text[:80]!r}.")
        vector.flags.writeable = False  # it is shared by everyone who asked for this text
        return vector

    return Encoder(encode, dimensions)


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


def _encodable(text: str) -> str:
    """``text`` with lone surrogates, which no tokenizer takes, as question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
