"""The connections of a provider's client: of one model, and closed with it.

LangChain's classes have no method for that. What they keep their connections in is known of the
providers below; those of others are closed when the process ends.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

Close = Callable[[], Awaitable[None]]


def closing(chat: BaseChatModel, *, seconds: float) -> Close:
    """What closes the connections of ``chat``, in the event loop that it was asked in.

    ``seconds``: what a request may take, of a client that is made anew.
    """
    match type(chat).__module__.partition(".")[0]:
        case "langchain_anthropic":
            return _anthropic(chat, seconds)
        case "langchain_google_genai":
            return _google(chat)
        case "langchain_ollama":
            return _ollama(chat)
    return _nothing


async def _nothing() -> None:
    """Nothing is known of how this one keeps its connections."""


def _anthropic(chat: Any, seconds: float) -> Close:
    """Theirs is one for the process: to close it would cut off others, and it outlives its loop."""
    import anthropic

    # Like ours for OpenAI it follows no redirect, which could carry the key elsewhere.
    http = anthropic.DefaultAsyncHttpxClient(timeout=seconds, follow_redirects=False)
    # A cached property: whoever asks for it gets what is there.
    chat.__dict__["_async_client"] = chat._async_client.with_options(http_client=http)
    return http.aclose


def _google(chat: Any) -> Close:
    async def close() -> None:
        await chat.client.aio.aclose()
        chat.client.close()

    return close


def _ollama(chat: Any) -> Close:
    async def close() -> None:
        await chat._async_client.close()
        chat._client.close()

    return close
