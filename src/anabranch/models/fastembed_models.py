"""Embedders and rerankers by name, through the fastembed library (the ``fastembed`` extra).

It downloads a model when it is used first. The library is not part of ``[all]``, and none of its
models is run by the tests: ``docs/models.md`` says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib.metadata import version
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from anabranch.errors import ConfigurationError, MissingExtraError
from anabranch.ports import PassageText, PassageVectors, Vectors

if TYPE_CHECKING:
    from anabranch.models.embedding_cache import EmbeddingCache


def _library() -> Any:
    try:
        import fastembed
    except ImportError:
        raise MissingExtraError(
            "Models by the name 'fastembed:…' need the fastembed library: "
            "pip install 'anabranch[fastembed]'"
        ) from None
    return fastembed


def _cross_encoders() -> Any:
    _library()
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    return TextCrossEncoder


class FastembedEmbedder:
    """The ``Embedder`` port over ``fastembed.TextEmbedding``; no window vectors."""

    def __init__(self, model: str, *, cache: EmbeddingCache | None = None) -> None:
        library = _library()
        described = [
            m for m in library.TextEmbedding.list_supported_models() if m["model"] == model
        ]
        if not described:
            raise ConfigurationError(
                f"fastembed has no embedding model {model!r}; "
                "fastembed.TextEmbedding.list_supported_models() lists them."
            )
        self._name = model
        self._width = int(described[0]["dim"])
        # A release may pool a model in another way; a patch of one does not.
        self._version = ".".join(version("fastembed").split(".")[:2])
        self._cache = cache
        self._loading = Lock()
        self._model: Any = None

    @property
    def fingerprint(self) -> str:
        return f"fastembed:{self._name}@{self._version}"

    @property
    def dimensions(self) -> int:
        return self._width

    @property
    def languages(self) -> frozenset[str] | None:
        return None

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return await asyncio.to_thread(self._embed, list(texts), "query_embed")

    async def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
        joined = [f"{p.context}\n{p.text}" if p.context else p.text for p in passages]
        return await asyncio.to_thread(self._passages, joined)

    async def close(self) -> None:
        if self._cache is not None:
            await asyncio.to_thread(self._cache.close)

    def _passages(self, joined: list[str]) -> list[PassageVectors]:
        distinct = list(dict.fromkeys(joined))
        known: dict[str, PassageVectors] = {}
        if self._cache is not None and distinct:
            known = dict(
                self._cache.get_many(
                    distinct, model=self.fingerprint, kind="passage", dimensions=self._width
                )
            )
        missing = [text for text in distinct if text not in known]
        if missing:
            none = np.zeros((0, self._width), dtype=np.int8)
            rows = self._embed(missing, "passage_embed")
            computed = {
                text: PassageVectors(row, none) for text, row in zip(missing, rows, strict=True)
            }
            if self._cache is not None:
                self._cache.put_many(computed, model=self.fingerprint, kind="passage")
            known.update(computed)
        return [known[text] for text in joined]

    def _embed(self, texts: list[str], method: str) -> Vectors:
        with self._loading:
            if self._model is None:
                self._model = _library().TextEmbedding(self._name)
        # One text a call, as everywhere: a quantised model's vectors depend on their neighbours.
        rows = [next(iter(getattr(self._model, method)([text]))) for text in texts]
        vectors = np.array(rows, dtype=np.float32).reshape(len(texts), self._width)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)


class FastembedReranker:
    """The ``Reranker`` port over fastembed's cross-encoders."""

    def __init__(self, model: str) -> None:
        encoders = _cross_encoders()
        if model not in [described["model"] for described in encoders.list_supported_models()]:
            raise ConfigurationError(
                f"fastembed has no reranker {model!r}; fastembed.rerank.cross_encoder."
                "TextCrossEncoder.list_supported_models() lists them."
            )
        self._name = model
        self._loading = Lock()
        self._model: Any = None

    async def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        return await asyncio.to_thread(self._rerank, question, list(texts))

    async def close(self) -> None:
        """Nothing is held open."""

    def _rerank(self, question: str, texts: list[str]) -> list[float]:
        with self._loading:
            if self._model is None:
                self._model = _cross_encoders()(self._name)
        return [float(score) for score in self._model.rerank(question, texts)]
