"""Which language model does what: the clients of a knowledge base, by role."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from anabranch.errors import ConfigurationError
from anabranch.ledger import Ledger
from anabranch.models.chat import ChatClient, RequestModel
from anabranch.models.chat_exchange import ChatSettings
from anabranch.models.chat_provider import check_name, split_name
from anabranch.models.limits import ProviderLimits
from anabranch.settings import Settings
from anabranch.types import Role


def model_names(settings: Settings) -> dict[Role, str]:
    """The model of each role that has one; roles without are done here."""
    fast, grade = settings.fast_model or settings.model, settings.grade_model or settings.model
    chosen: dict[Role, str | None] = {
        "plan": fast, "grade": grade, "rewrite": fast, "answer": settings.model,
    }  # fmt: skip
    return {role: name for role, name in chosen.items() if name}


class ChatModels:
    """One client for each model that is set, one limiter for each provider and address."""

    def __init__(self, settings: Settings, *, tries_again: bool = True) -> None:
        """Raises ConfigurationError for a model that cannot be used here; loads nothing."""
        self._tries_again = tries_again
        names = model_names(settings)
        if not names and settings.model_base_url:
            raise ConfigurationError(
                f"model_base_url = {settings.model_base_url!r}, but no model is named. Set "
                "ANABRANCH_MODEL to what that server calls it."
            )
        self._limits: dict[tuple[str | None, str | None], ProviderLimits] = {}
        self._clients: dict[str, ChatClient] = {}
        for name in names.values():
            if name not in self._clients:
                self._clients[name] = self._client(name, settings)
        self._by_role = {role: self._clients[name] for role, name in names.items()}
        self._prices = settings.model_prices or {}

    def __bool__(self) -> bool:
        return bool(self._by_role)

    def __iter__(self) -> Iterator[tuple[Role, ChatClient]]:
        return iter(self._by_role.items())

    def in_role(
        self, role: Role, ledger: Ledger, seconds: Callable[[], float]
    ) -> RequestModel | None:
        """The model of ``role`` for one request; ``seconds`` is what a call that begins may take."""
        client = self._by_role.get(role)
        return None if client is None else RequestModel(client, role, ledger, seconds)

    @property
    def agent(self) -> ChatClient | None:
        """The model that leads a conversation: the one that plans."""
        return self._by_role.get("plan")

    def ledger(self) -> Ledger:
        return Ledger(self._prices)

    async def load(self) -> None:
        """Imports and makes every client. One that cannot be made says so when it is asked."""
        loading = (client.load() for client in self._clients.values())
        await asyncio.gather(*loading, return_exceptions=True)

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()

    def _client(self, name: str, settings: Settings) -> ChatClient:
        first = settings.model or settings.fast_model or settings.grade_model or name
        # The address and the key are the main model's provider's: no other one may see them.
        base_url = settings.model_base_url
        own = split_name(name, base_url)[0] == split_name(first, base_url)[0]
        base_url = base_url if own else None
        check_name(name, base_url)
        chat = ChatSettings(
            name=name,
            base_url=base_url,
            api_key=settings.model_api_key.get_secret_value().strip() if own else "",
            timeout=settings.model_timeout,
            output_tokens=settings.model_output_tokens,
            temperature=settings.model_temperature,
            structured=settings.model_structured,
            cached_replies=settings.model_cache,
            tries_again=self._tries_again,
        )
        address = (split_name(name, base_url)[0], base_url)
        limits = self._limits.setdefault(
            address,
            ProviderLimits(
                concurrency=settings.model_concurrency,
                requests_per_minute=settings.model_requests_per_minute,
                tokens_per_minute=settings.model_tokens_per_minute,
            ),
        )
        return ChatClient(chat, limits)
