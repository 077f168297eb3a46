"""Sentence embeddings by ONNX Runtime: the bundled encoder, or a folder that holds another one.

What a folder has to hold is in ``encoder_folder.py``.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from threading import Lock
from typing import Self

import numpy as np

from anabranch.models.coalescing import CoalescingPool
from anabranch.models.embedding_cache import EmbeddingCache
from anabranch.models.encoder_folder import (
    CONFIG,
    SEPARATOR,
    Encoder,
    EncoderConfig,
    load_encoder,
    read_config,
)
from anabranch.models.onnx_session import MODEL, TOKENIZER, encodable, require_files, usable_cores
from anabranch.ports import PassageText, PassageVectors, Vectors

BUNDLED = Path(__file__).parent / "minilm"

# A question is asked again and again in one run: by the search, the second hop, the grader.
_REMEMBERED_QUERIES = 1_024
# Passages go to the threads, and then to the cache, this many at a time, half a second of work on two
# cores, and a second batch waits while one is computed or written. That bounds what an interrupted
# ingestion computed in vain, and how long a program that is ended waits for its threads.
_PASSAGES_AT_A_TIME = 64
_BATCHES_AT_A_TIME = 2


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
        self,
        folder: Path,
        *,
        threads: int = 0,
        cache: EmbeddingCache | None = None,
        languages: frozenset[str] | None = None,
    ) -> None:
        self.folder = folder
        self._languages = languages
        self._cache = cache
        self._pool: CoalescingPool[PassageVectors] = CoalescingPool(
            self._encode, threads=threads or usable_cores(), remembered=_REMEMBERED_QUERIES
        )
        self._loading = Lock()
        self._encoder: Encoder | None = None
        self._config: EncoderConfig | None = None
        self._fingerprint: str | None = None

    @classmethod
    def bundled(cls, *, threads: int = 0, cache: EmbeddingCache | None = None) -> Self:
        """The English encoder that comes with the package."""
        return cls(BUNDLED, threads=threads, cache=cache, languages=frozenset({"en"}))

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
    def languages(self) -> frozenset[str] | None:
        """As given, else as the folder's ``config.json`` says."""
        listed = self._configuration().languages
        return self._languages or (frozenset(listed) if listed else None)

    @property
    def model_runs(self) -> int:
        """How many texts the model has been run on; caches and coalescing keep it low."""
        return self._pool.runs

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """A row for each text; goes ahead of all passages that are waiting."""
        await self._load()
        prefix = self._configuration().query_prefix
        # Nothing comes after the separator: no windows are made, which a tenth of the time went to.
        cleaned = [encodable(prefix + text) + SEPARATOR for text in texts]
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
        async with aclosing(self._computed(missing)) as batches:
            async for computed in batches:
                if self._cache is not None:
                    await asyncio.to_thread(self._write_cache, self._cache, computed)
                vectors.update(computed)
        return [vectors[text] for text in cleaned]

    async def _computed(
        self, texts: Sequence[str]
    ) -> AsyncGenerator[dict[str, PassageVectors], None]:
        """Vectors in batches; the next is begun before one is given, so that no thread is idle."""
        begun: deque[tuple[Sequence[str], asyncio.Task[list[PassageVectors]]]] = deque()
        try:
            for start in range(0, len(texts), _PASSAGES_AT_A_TIME):
                batch = texts[start : start + _PASSAGES_AT_A_TIME]
                begun.append((batch, asyncio.create_task(self._pool.run(batch))))
                if len(begun) == _BATCHES_AT_A_TIME:
                    batch, task = begun.popleft()
                    yield dict(zip(batch, await task, strict=True))
            while begun:
                batch, task = begun.popleft()
                yield dict(zip(batch, await task, strict=True))
        finally:
            tasks = [task for _, task in begun]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

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
                self._encoder = load_encoder(self.folder, self._configuration())
            return self._encoder

    def _configuration(self) -> EncoderConfig:
        if self._config is None:
            self._config = read_config(self.folder)
        return self._config

    def _encode(self, text: str) -> PassageVectors:
        return self._loaded().encode(text)

    def _read_cache(self, cache: EmbeddingCache, texts: Sequence[str]) -> dict[str, PassageVectors]:
        encoder = self._loaded()
        known = cache.get_many(
            texts, model=self.fingerprint, kind="passage", dimensions=encoder.dimensions
        )
        if not encoder.has_windows:
            return known
        # Kept by a version that made no windows: half of what there is to know of the text.
        return {text: vectors for text, vectors in known.items() if len(vectors.windows)}

    def _write_cache(self, cache: EmbeddingCache, vectors: dict[str, PassageVectors]) -> None:
        cache.put_many(vectors, model=self.fingerprint, kind="passage")


def _folder_hash(folder: Path) -> str:
    """The first 12 hex digits of a hash over the files that decide about a vector."""
    require_files(folder, what="embedding model")
    digest = hashlib.sha256()
    for name in (MODEL, TOKENIZER, CONFIG):
        path = folder / name
        if path.is_file():
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:12]


def _joined(prefix: str, passage: PassageText) -> str:
    """What is encoded of a passage; the separator, which is not, marks where its text begins."""
    before = f"{prefix}{passage.context}\n" if passage.context else prefix
    return encodable(f"{before}{SEPARATOR}{passage.text}" if before else passage.text)
