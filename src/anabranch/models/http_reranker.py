"""A reranker behind HTTP: ``POST /rerank`` as Jina, Cohere and text-embeddings-inference speak it.

Jina and Cohere take ``documents`` with a ``model`` and answer ``{"results": [{"index",
"relevance_score"}]}``; text-embeddings-inference serves one model, takes ``texts`` and answers a
bare list of ``{"index", "score"}``. Which of them it is shows in whether a model is named, and
where that is misleading in a refusal: then the other form is tried, and kept. One request with
the fields of both would be refused, since Cohere takes no field that it does not know (422).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from anabranch.errors import RemoteError
from anabranch.models.endpoint import Endpoint

Form = Literal["documents", "texts"]
# How servers refuse a request whose fields they do not know, or miss.
_MISUNDERSTOOD = frozenset({400, 422})


class _Scored(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    index: int
    score: float = Field(validation_alias=AliasChoices("relevance_score", "score"))


class _Results(BaseModel):
    model_config = ConfigDict(extra="ignore")

    results: list[_Scored]


_REPLY: TypeAdapter[_Results | list[_Scored]] = TypeAdapter(_Results | list[_Scored])


class HttpReranker:
    """The ``Reranker`` port over an endpoint; ``model`` is empty where a server has only one."""

    def __init__(self, endpoint: Endpoint, *, model: str = "") -> None:
        self._endpoint = endpoint
        self._model = model
        self._form: Form = "documents" if model else "texts"

    async def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        """A score for each text. Raises RemoteError for a reply that does not score each once."""
        if not texts:
            return []
        try:
            reply = await self._asked(self._form, question, texts)
        except RemoteError as refused:
            if refused.status not in _MISUNDERSTOOD:
                raise
            reply = await self._asked_otherwise(question, texts, refused)
        return self._scores(reply, len(texts))

    async def close(self) -> None:
        await self._endpoint.close()

    async def _asked(self, form: Form, question: str, texts: Sequence[str]) -> Any:
        body: dict[str, object] = {"query": question, form: list(texts)}
        if form == "texts":
            body["truncate"] = True  # else one passage that is too long refuses them all
        else:
            body["top_n"] = len(texts)
            if self._model:
                body["model"] = self._model
        return await self._endpoint.post(body)

    async def _asked_otherwise(
        self, question: str, texts: Sequence[str], refused: RemoteError
    ) -> Any:
        other: Form = "texts" if self._form == "documents" else "documents"
        try:
            reply = await self._asked(other, question, texts)
        except RemoteError:
            raise refused from None  # it is about the form that was likelier
        self._form = other
        return reply

    def _scores(self, reply: object, count: int) -> list[float]:
        try:
            found = _REPLY.validate_python(reply)
        except ValidationError as error:
            raise RemoteError(
                f"{self._endpoint.url!r} did not answer as a reranker: it needs a list of index and "
                f"score ({error.errors()[0]['msg']})."
            ) from None
        results = found.results if isinstance(found, _Results) else found
        scores = {item.index: item.score for item in results}
        wrong = [index for index in scores if not 0 <= index < count]
        if len(results) != count or len(scores) != count or wrong:
            raise RemoteError(
                f"{self._endpoint.url!r} gave {len(results)} scores for {count} texts, of the "
                f"indexes {sorted(scores)[:10]!r}."
            )
        if not all(math.isfinite(score) for score in scores.values()):
            raise RemoteError(f"{self._endpoint.url!r} gave a score that is no number.")
        return [scores[index] for index in range(count)]
