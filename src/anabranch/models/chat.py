"""A language model behind LangChain's chat interface: asked within limits, tried again, counted.

A client belongs to one open knowledge base and so to one event loop. It is loaded by the first
call, which is when its provider's library is imported.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anabranch.errors import RemoteError
from anabranch.ledger import Ledger, ModelCall
from anabranch.models.chat_errors import Fault, read_fault
from anabranch.models.chat_exchange import (
    MODES,
    ChatSettings,
    Mode,
    Reply,
    ask,
    messages_of,
    size_of,
    stream,
    without,
)
from anabranch.models.chat_provider import Loaded, load, split_name
from anabranch.models.limits import ProviderLimits
from anabranch.ports import Prompt
from anabranch.types import Role

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

# Times that a call is sent while the provider is only busy or out of reach for a moment.
MOST_TRIES = 3
# And where no connection comes about: a server that is not there costs no more than a second.
MOST_CONNECTIONS = 2
# Seconds before the second try where the provider names none, doubled before the third.
_PAUSE = 0.5


class ChatClient:
    """One model of one provider, for every request of a knowledge base.

    What the model does not understand (a schema, a tool, a temperature) is found out by asking and
    not asked again.
    """

    def __init__(self, settings: ChatSettings, limits: ProviderLimits) -> None:
        self.name = settings.name
        self._settings = settings
        self._limits = limits
        self._loaded: Loaded | None = None
        self._loading = asyncio.Lock()
        self._mode: Mode | None = None if settings.structured == "auto" else settings.structured
        self._replies: OrderedDict[str, str] = OrderedDict()
        self._retired: list[Loaded] = []

    def __repr__(self) -> str:
        return f"ChatClient({self.name!r})"

    async def load(self) -> Loaded:
        """The provider's client, made on first use. Raises ConfigurationError where it cannot be."""
        async with self._loading:
            if self._loaded is None:
                # In a thread: the import of a provider's library takes a second or more.
                self._loaded = await asyncio.to_thread(load, self._settings)
            return self._loaded

    @property
    def base_url(self) -> str | None:
        return self._settings.base_url

    @property
    def model_name(self) -> str:
        """What the provider calls it."""
        return split_name(self.name, self._settings.base_url)[1]

    @property
    def authorization(self) -> dict[str, str]:
        """The header that the server of ``base_url`` wants; none where there is no key."""
        key = self._settings.api_key
        return {"Authorization": f"Bearer {key}"} if key else {}

    @property
    def mode(self) -> Mode | None:
        """How it is made to reply in JSON; None before that is known."""
        return self._mode

    async def close(self) -> None:
        for loaded in (*self._retired, *filter(None, [self._loaded])):
            await loaded.close()
        self._retired, self._loaded = [], None

    # ---------------------------------------------------------------------------------- asking

    async def complete(
        self, prompt: Prompt, *, schema: Mapping[str, Any] | None, role: Role, ledger: Ledger,
        deadline: asyncio.Timeout,
    ) -> str:  # fmt: skip
        """The text of the reply: JSON, as far as the model keeps to ``schema``."""
        key = self._key(prompt, schema)
        if (kept := self._kept(key, ledger)) is not None:
            return kept

        async def send(settings: ChatSettings, mode: Mode, call: ModelCall) -> Reply:
            model = (await self.load()).model
            return await ask(model, settings, prompt, schema, mode)

        reply = await self._tried(
            send, prompt, structured=schema is not None, role=role, ledger=ledger, deadline=deadline
        )
        self._keep(key, reply.text)
        return reply.text

    async def write(
        self, prompt: Prompt, say: Callable[[str], None], *, role: Role, ledger: Ledger,
        deadline: asyncio.Timeout,
    ) -> str:  # fmt: skip
        """The text of the reply, each piece handed to ``say`` as it comes.

        What was said is never said again: a stream that breaks after its first word is an error.
        """
        key = self._key(prompt, None)
        if (kept := self._kept(key, ledger)) is not None:
            say(kept)
            return kept
        pieces: list[str] = []

        def hear(piece: str) -> None:
            pieces.append(piece)
            say(piece)

        async def send(settings: ChatSettings, mode: Mode, call: ModelCall) -> Reply:
            model = (await self.load()).model
            return await stream(model, settings, prompt, hear, call)

        reply = await self._tried(
            send, prompt, structured=False, role=role, ledger=ledger, deadline=deadline,
            begun=lambda: bool(pieces),
        )  # fmt: skip
        self._keep(key, reply.text)
        return reply.text

    async def chat_model(self) -> BaseChatModel:
        """LangChain's, for whoever calls it within ``counted``."""
        return (await self.load()).model

    @asynccontextmanager
    async def counted(self, tokens: int, *, role: Role, ledger: Ledger) -> AsyncIterator[ModelCall]:
        """A turn at the provider for a call of ``tokens`` that somebody else sends, once.

        They fill in what it spent. What the provider's client raises comes out as an error of ours.
        """
        async with self._limits.turn(tokens):
            call = ledger.begin(role, self.name)
            try:
                yield call
            except Exception as error:
                secrets = self._secrets()
                raise read_fault(error, model=self.name, secrets=secrets).error from None

    async def _tried(
        self, send: Callable[[ChatSettings, Mode, ModelCall], Awaitable[Reply]], prompt: Prompt, *,
        structured: bool, role: Role, ledger: Ledger, deadline: asyncio.Timeout,
        begun: Callable[[], bool] = lambda: False,
    ) -> Reply:  # fmt: skip
        jitter = random.Random(self._key(prompt, None))  # noqa: S311 - spreads load, hides nothing
        mode = self._first_mode(await self.load()) if structured else "prompt"
        tries = 0
        while True:
            tries += 1
            used = self._settings
            try:
                async with self._limits.turn(self._expected(prompt)):
                    used = self._settings  # what another call found out while this one waited
                    call = ledger.begin(role, self.name)
                    reply = await send(used, mode, call)
            except Exception as error:  # every provider's client raises errors of its own
                fault = read_fault(error, model=self.name, secrets=self._secrets())
                if begun():
                    raise fault.error from None
                other = self._asked_otherwise(fault, mode, used)
                if other is not None:
                    mode, tries = other, 0
                    continue
                most = MOST_TRIES if fault.status else MOST_CONNECTIONS
                if not (fault.again and used.tries_again) or tries == most:
                    raise fault.error from None
                await self._pause(fault, tries, jitter, deadline)
            else:
                call.input_tokens, call.output_tokens = reply.input_tokens, reply.output_tokens
                if structured:
                    self._mode = mode
                return reply

    def _asked_otherwise(self, fault: Fault, mode: Mode, used: ChatSettings) -> Mode | None:
        """The mode in which to ask again at once; None where that would be the same as before."""
        if not fault.not_understood:
            return None
        if without(used, fault.said) is not None:
            left_out = without(self._settings, fault.said)
            if left_out is not None:  # else another call has left it out meanwhile
                self._settings = left_out
                if self._loaded is not None:
                    self._retired.append(self._loaded)  # other calls are still under way with it
                self._loaded = None
            return mode
        if self._settings.structured != "auto" or mode == MODES[-1]:
            return None
        return MODES[MODES.index(mode) + 1]

    async def _pause(
        self, fault: Fault, tries: int, jitter: random.Random, deadline: asyncio.Timeout
    ) -> None:
        seconds = fault.retry_after
        if seconds is None:
            seconds = _PAUSE * 2 ** (tries - 1) * (1 + jitter.random())
        ends = deadline.when()
        if ends is not None and seconds > ends - asyncio.get_running_loop().time():
            raise fault.error from None  # it would only be cut off by the deadline
        if fault.status == 429:
            self._limits.close_for(seconds)
        else:
            await asyncio.sleep(seconds)

    # ------------------------------------------------------------------------------- small things

    def _first_mode(self, loaded: Loaded) -> Mode:
        if self._mode is not None:
            return self._mode
        return "function_calling" if loaded.prefers_tools else "json_schema"

    def _expected(self, prompt: Prompt) -> int:
        # Providers count what may be written too; few replies are as long as they may be.
        return size_of(prompt) + min(self._settings.output_tokens, 500)

    def _secrets(self) -> tuple[str, ...]:
        own = (self._settings.api_key,) if self._settings.api_key else ()
        return own + (self._loaded.secrets if self._loaded else ())

    def _key(self, prompt: Prompt, schema: Mapping[str, Any] | None) -> str:
        asked = [self.name, self._settings.base_url, self._settings.temperature,
                 self._settings.output_tokens, schema, messages_of(prompt)]  # fmt: skip
        text = json.dumps(asked, ensure_ascii=True, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def _kept(self, key: str, ledger: Ledger) -> str | None:
        kept = self._replies.get(key)
        if kept is not None:
            self._replies.move_to_end(key)
            ledger.cached += 1
        return kept

    def _keep(self, key: str, text: str) -> None:
        if self._settings.cached_replies:
            self._replies[key] = text
            if len(self._replies) > self._settings.cached_replies:
                self._replies.popitem(last=False)


@dataclass(frozen=True, slots=True)
class RequestModel:
    """A model in one role for one request: the port ``ChatModel``.

    ``seconds`` says how long a call that begins now may take.
    """

    client: ChatClient
    role: Role
    ledger: Ledger
    seconds: Callable[[], float]

    async def complete(self, prompt: Prompt, *, schema: Mapping[str, Any] | None = None) -> str:
        return await self._within(
            lambda deadline: self.client.complete(
                prompt, schema=schema, role=self.role, ledger=self.ledger, deadline=deadline
            )
        )

    async def write(self, prompt: Prompt, say: Callable[[str], None]) -> str:
        return await self._within(
            lambda deadline: self.client.write(
                prompt, say, role=self.role, ledger=self.ledger, deadline=deadline
            )
        )

    async def _within(self, ask: Callable[[asyncio.Timeout], Awaitable[str]]) -> str:
        await self.client.load()  # where it was not prepared: the import is no fault of the model's
        seconds = self.seconds()
        try:
            async with asyncio.timeout(seconds) as deadline:
                return await ask(deadline)
        except TimeoutError:
            raise RemoteError(
                f"The model {self.client.name!r} gave no reply within {seconds:.3g} s.",
                kind="timeout",
            ) from None
