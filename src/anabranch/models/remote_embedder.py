"""An embedder behind HTTP: ``POST …/embeddings`` as OpenAI and many servers speak it.

Every text that is indexed or asked leaves the machine. What comes back is checked: as many vectors
as texts, each index once, all of the index's width, made to unit length.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import numpy as np
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from anabranch.errors import RemoteError
from anabranch.ports import PassageText, PassageVectors, Vectors

if TYPE_CHECKING:
    from anabranch.models.embedding_cache import EmbeddingCache
    from anabranch.models.endpoint import Endpoint

# Texts a call: servers take 32 to 2,048; a small batch loses little when one is refused.
_BATCH = 32
# About 8,000 tokens of English, which is what the common models read.
_MOST_CHARACTERS = 24_000
_REMEMBERED_QUERIES = 1_024
# Widths of a vector that are believable; 0 would pass every later check.
_WIDTHS = range(2, 16_385)


class _Item(BaseModel):
    model_config = ConfigDict(extra="ignore")

    index: int
    embedding: list[float] | str


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore")

    data: list[_Item]


_REPLY = TypeAdapter(_Reply)
Result = TypeVar("Result")


class RemoteEmbedder:
    """The ``Embedder`` port over an endpoint. Gives no window vectors: a server has only whole ones.

    ``dimensions`` is what the index was made with; None asks the server once, with ``prepare``.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        model: str,
        dimensions: int | None = None,
        cache: EmbeddingCache | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._model = model
        self._dimensions = dimensions
        self._cache = cache
        self._remembered: dict[str, Vectors] = {}
        # An ingestion leaves one call free, so that a question need not wait for all of it.
        self._passage_slots = asyncio.Semaphore(max(1, endpoint.concurrency - 1))

    @property
    def fingerprint(self) -> str:
        """Model and server: another server may well serve another model by the same name."""
        parts = urlsplit(self._endpoint.url)
        place = f"{parts.netloc}{parts.path}".encode()
        return f"openai:{self._model}@{hashlib.sha256(place).hexdigest()[:12]}"

    @property
    def dimensions(self) -> int:
        if self._dimensions is None:
            raise RemoteError(f"The width of {self._model!r} is not known before its first reply.")
        return self._dimensions

    @property
    def languages(self) -> frozenset[str] | None:
        return None

    async def prepare(self) -> None:
        """Learn the width of a vector from the server, where it is not known."""
        if self._dimensions is None:
            self._dimensions = len((await self._embedded(["width"]))[0])

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """A row for each text; the latest ones are remembered."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._remembered]
        vectors = dict(zip(missing, await self._in_batches(missing), strict=True))
        known = {text: self._remembered[text] for text in texts if text in self._remembered}
        found = [known[text] if text in known else vectors[text] for text in texts]
        self._remembered |= vectors
        while len(self._remembered) > _REMEMBERED_QUERIES:
            del self._remembered[next(iter(self._remembered))]
        return np.array(found, dtype=np.float32).reshape(len(texts), self.dimensions)

    async def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
        """The vectors of each passage, from the cache where it has them."""
        joined = [f"{p.context}\n{p.text}" if p.context else p.text for p in passages]
        distinct = list(dict.fromkeys(joined))
        known: dict[str, PassageVectors] = {}
        cache = self._cache
        if cache is not None and distinct and self._dimensions is not None:
            width = self._dimensions
            known.update(
                await asyncio.to_thread(
                    lambda: cache.get_many(
                        distinct, model=self.fingerprint, kind="passage", dimensions=width
                    )
                )
            )
        missing = [text for text in distinct if text not in known]
        await _together([self._embed_batch(batch, known) for batch in _batches(missing)])
        return [known[text] for text in joined]

    async def close(self) -> None:
        await self._endpoint.close()
        if self._cache is not None:
            await asyncio.to_thread(self._cache.close)

    async def _embed_batch(self, texts: list[str], known: dict[str, PassageVectors]) -> None:
        async with self._passage_slots:
            vectors = await self._embedded(texts)
        computed = {
            text: PassageVectors(vector, np.zeros((0, len(vector)), dtype=np.int8))
            for text, vector in zip(texts, vectors, strict=True)
        }
        cache = self._cache
        if cache is not None:  # each batch is kept when it is there, whatever becomes of others
            await _whatever_happens(
                asyncio.to_thread(
                    lambda: cache.put_many(computed, model=self.fingerprint, kind="passage")
                )
            )
        known.update(computed)

    async def _in_batches(self, texts: Sequence[str]) -> list[Vectors]:
        found = await _together([self._embedded(batch) for batch in _batches(texts)])
        return [vector for batch in found for vector in batch]

    async def _embedded(self, texts: Sequence[str]) -> list[Vectors]:
        # An empty input is refused by most servers; a blank one is a text like any other.
        inputs = [text[:_MOST_CHARACTERS] or " " for text in texts]
        reply = await self._endpoint.post(
            {"model": self._model, "input": inputs, "encoding_format": "float"}
        )
        return self._vectors(reply, len(texts))

    def _vectors(self, reply: object, count: int) -> list[Vectors]:
        try:
            items = _REPLY.validate_python(reply).data
        except ValidationError as error:
            raise self._unusable(error.errors()[0]["msg"]) from None
        by_index = {item.index: item.embedding for item in items}
        if len(items) != count or sorted(by_index) != list(range(count)):
            raise self._unusable(
                f"{len(items)} vectors for {count} texts, of the indexes {sorted(by_index)[:10]!r}"
            )
        vectors = [self._vector(by_index[index]) for index in range(count)]
        widths = {len(vector) for vector in vectors}
        wanted = {self._dimensions} if self._dimensions is not None else widths
        if widths != wanted or len(widths) != 1 or not widths <= set(_WIDTHS):
            raise self._unusable(f"vectors of width {sorted(widths)!r} instead of {wanted!r}")
        return vectors

    def _vector(self, given: list[float] | str) -> Vectors:
        try:
            vector = (
                np.frombuffer(base64.b64decode(given, validate=True), dtype="<f4")
                if isinstance(given, str)
                else np.array(given, dtype=np.float64)
            )
        except (binascii.Error, ValueError):
            raise self._unusable("a vector that is neither numbers nor base64") from None
        length = float(np.linalg.norm(vector.astype(np.float64)))
        if not np.isfinite(length) or length == 0:
            raise self._unusable("a vector without a length")
        unit: Vectors = (vector / length).astype(np.float32)
        unit.flags.writeable = False
        return unit

    def _unusable(self, what: str) -> RemoteError:
        return RemoteError(f"{self._endpoint.url!r} did not answer as an embedder: {what}.")


def _batches(texts: Sequence[str]) -> list[list[str]]:
    return [list(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)]


async def _whatever_happens(step: Coroutine[Any, Any, None]) -> None:
    """Ends ``step`` before a cancellation goes on: one that waits for a thread would be dropped."""
    begun = asyncio.ensure_future(step)
    try:
        await asyncio.shield(begun)
    except asyncio.CancelledError:
        await begun
        raise


async def _together(calls: Sequence[Coroutine[Any, Any, Result]]) -> list[Result]:
    """All results in order; the first failure ends the other calls, which would cost in vain."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]
