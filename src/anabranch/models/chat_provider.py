"""From the name of a model to its client in LangChain, with what is known about it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from anabranch.errors import ConfigurationError, MissingExtraError
from anabranch.models.chat_connections import closing
from anabranch.models.endpoint import checked_address

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from anabranch.models.chat_exchange import ChatSettings

# What carries each provider, where it is not in the extra: for a message before the first call.
PACKAGES = {
    "openai": "langchain-openai",
    "azure_openai": "langchain-openai",
    "anthropic": "langchain-anthropic",
    "google_genai": "langchain-google-genai",
    "ollama": "langchain-ollama",
    "mistralai": "langchain-mistralai",
    "groq": "langchain-groq",
    "deepseek": "langchain-deepseek",
}
# Their clients take one of ours, and tell the tokens of a stream only if asked.
_OPENAI = ("openai", "azure_openai")
# Where LangChain calls the most tokens of a reply otherwise.
_OUTPUT_TOKENS = {"ollama": "num_predict"}
# Google's client takes 0 for its default of several.
_NO_RETRIES = {"google_genai": 1}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model's client. ``context_tokens`` is None where nobody says how much it reads."""

    model: BaseChatModel
    secrets: tuple[str, ...]
    prefers_tools: bool
    context_tokens: int | None
    close: Callable[[], Awaitable[None]]


def split_name(name: str, base_url: str | None) -> tuple[str | None, str]:
    """Provider and model of ``name``; without a provider, an address makes it OpenAI's protocol."""
    provider, colon, model = name.partition(":")
    if colon and provider.replace("-", "_").isidentifier() and (
        provider in PACKAGES or base_url is None
    ):  # fmt: skip
        return provider, model
    return ("openai" if base_url else None), name


def check_name(name: str, base_url: str | None) -> None:
    """Raises ConfigurationError for a model that cannot be used here; loads nothing."""
    if base_url is not None:
        checked_address(base_url)
    provider, model = split_name(name, base_url)
    if not model.strip():
        raise ConfigurationError(f"The model {name!r} has no name behind its provider.")
    if find_spec("langchain") is None:
        raise MissingExtraError(
            f"The model {name!r} needs the extra llm: pip install 'anabranch[llm]'"
        )
    package = PACKAGES.get(provider or "")
    if package is not None and find_spec(package.replace("-", "_")) is None:
        raise MissingExtraError(f"The model {name!r} needs another package: pip install {package}")


def load(settings: ChatSettings) -> Loaded:
    """The client of a model. Blocks: it may import a large library.

    Raises ConfigurationError where the name, the key or the address does not fit.
    """
    import httpx
    from langchain.chat_models import init_chat_model

    provider, model = split_name(settings.name, settings.base_url)
    options: dict[str, Any] = {
        # Tried again by us, within the request's deadline and the provider's limits.
        "max_retries": _NO_RETRIES.get(provider or "", 0),
        # Ours ends first, and says so.
        "timeout": settings.timeout + 5,
        _OUTPUT_TOKENS.get(provider or "", "max_tokens"): settings.output_tokens,
    }
    if settings.temperature is not None:
        options["temperature"] = settings.temperature
    if settings.base_url:
        options["base_url"] = settings.base_url
    if settings.api_key:
        options["api_key"] = settings.api_key
    client: httpx.AsyncClient | None = None
    if provider in _OPENAI:
        # Theirs is shared by the whole process, also by event loops that have ended. Ours follows
        # no redirect, which could carry the key elsewhere.
        client = httpx.AsyncClient(timeout=settings.timeout + 5)
        # Their own limit between two chunks waits in a way that can lose a cancellation.
        options |= {
            "http_async_client": client, "stream_usage": settings.counts_streams,
            "stream_chunk_timeout": 0,
        }  # fmt: skip

    def made(**more: Any) -> BaseChatModel:
        chat: BaseChatModel = init_chat_model(model, model_provider=provider, **options, **more)
        return chat

    try:
        chat = made()
    except Exception as error:  # every provider's library raises errors of its own
        if not (settings.base_url and provider in _OPENAI and not settings.api_key):
            raise ConfigurationError(_cannot(settings, error)) from None
        chat = made(api_key="none")  # a server of one's own asks for none, its client does
    profile = getattr(chat, "profile", None) or {}
    return Loaded(
        model=chat,
        secrets=tuple(_secrets(chat)),
        prefers_tools=not profile.get("structured_output", True)
        and bool(profile.get("tool_calling")),
        context_tokens=profile.get("max_input_tokens"),
        close=client.aclose if client else closing(chat, seconds=settings.timeout + 5),
    )


def _cannot(settings: ChatSettings, error: Exception) -> str:
    said = " ".join(str(error).split())
    if settings.api_key:
        said = said.replace(settings.api_key, "(key)")
    return (
        f"The model {settings.name!r} cannot be used: {said[:300]} Set ANABRANCH_MODEL to "
        "provider:name, and ANABRANCH_MODEL_API_KEY or the provider's own variable to its key."
    )


def _secrets(chat: BaseChatModel) -> list[str]:
    """Keys that the client found by itself, so that no message repeats them."""
    values = (getattr(chat, name, None) for name in type(chat).model_fields)
    found = (value.get_secret_value() for value in values if isinstance(value, SecretStr))
    return [secret for secret in found if len(secret) > 4]  # not the "none" of a local server
