"""One small call for each role of a language model: is it there, and what can it do?"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from anabranch.errors import AnabranchError, UnusableReplyError
from anabranch.ledger import Ledger
from anabranch.models.chat import ChatClient, RequestModel
from anabranch.models.chat_models import ChatModels
from anabranch.ports import Prompt
from anabranch.types import Role

_SCHEMA: Mapping[str, Any] = {
    "title": "Check",
    "description": "A word.",
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}
_IN_JSON = Prompt(
    "You are being tested for replies in JSON.",
    'Reply with one JSON object and nothing else: {"word": "ready"}',
)
_IN_WORDS = Prompt("You are being tested.", "Reply with the words: one two three four five")
# Where servers say how much a model reads: vLLM, OpenRouter, LM Studio, Groq, llama.cpp.
_CONTEXT_KEYS = (
    "max_model_len", "loaded_context_length", "context_length", "max_context_length",
    "context_window", "n_ctx", "n_ctx_train",
)  # fmt: skip
_SECONDS_FOR_A_LIST = 5.0


class Word(BaseModel):
    """What the roles that reply in JSON are asked for."""

    word: str


Read = Callable[[str, type[Word]], Word]


@dataclass(frozen=True, slots=True)
class RoleCheck:
    role: Role
    model: str
    ok: bool
    detail: str


async def check_models(models: ChatModels, *, seconds: float, read: Read) -> list[RoleCheck]:
    """What each role's model does when it is asked; a call may take ``seconds``.

    ``read`` reads replies in JSON as the roles do, and raises UnusableReplyError.
    """
    return [await _check(role, client, seconds, read) for role, client in models]


async def _check(role: Role, client: ChatClient, seconds: float, read: Read) -> RoleCheck:
    model = RequestModel(client, role, Ledger(), lambda: seconds)
    try:
        await client.load()
        started = time.perf_counter()
        if role == "answer":
            pieces: list[str] = []
            await model.write(_IN_WORDS, pieces.append)
            does = f"streams ({len(pieces)} pieces)" if len(pieces) > 1 else "replies, not streamed"
        else:
            read(await model.complete(_IN_JSON, schema=_SCHEMA), Word)
            does = f"replies in JSON by {client.mode}"
        took = time.perf_counter() - started
    except UnusableReplyError as error:
        return RoleCheck(
            role, client.name, False,
            f"{client.name} does not reply in JSON as it was asked to: {error} For this role "
            "another model is needed (docs/language-models.md).",
        )  # fmt: skip
    except AnabranchError as error:
        return RoleCheck(role, client.name, False, str(error))
    reads = await _context_tokens(client)
    told = f"reads {reads:,} tokens" if reads else "how much it reads is not known"
    return RoleCheck(role, client.name, True, f"{client.name}: {does} in {took:.1f} s; {told}")


async def _context_tokens(client: ChatClient) -> int | None:
    """What LangChain knows of the model, else what its server says; None where neither does."""
    known = (await client.load()).context_tokens
    return known or (await _listed_context(client) if client.base_url else None)


async def _listed_context(client: ChatClient) -> int | None:
    import httpx

    try:
        async with asyncio.timeout(_SECONDS_FOR_A_LIST), httpx.AsyncClient() as http:
            reply = await http.get(
                f"{str(client.base_url).rstrip('/')}/models", headers=client.authorization
            )
            listed = reply.json()["data"]
        about = next((m for m in listed if m.get("id") == client.model_name), listed[0])
        return _context_of({**about, **(about.get("meta") or {})})
    except (
        httpx.HTTPError,
        TimeoutError,
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
    ):
        return None  # a courtesy of some servers


def _context_of(about: Mapping[str, Any]) -> int | None:
    sizes = (about.get(key) for key in _CONTEXT_KEYS)
    return next((size for size in sizes if isinstance(size, int) and size > 0), None)
