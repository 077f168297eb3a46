"""How much one provider is asked at once and in a minute, over all requests of a knowledge base."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiolimiter import AsyncLimiter


class ProviderLimits:
    """Turns at a provider: at most ``concurrency`` at a time, and so many calls and tokens a minute.

    One for each provider and address, whatever models and roles it serves. It belongs to the event
    loop that it is first used in. Whoever is cancelled while waiting has used nothing up.
    """

    def __init__(
        self,
        *,
        concurrency: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
    ) -> None:
        self._slots = asyncio.Semaphore(concurrency)
        self._requests = _bucket(requests_per_minute)
        self._tokens = _bucket(tokens_per_minute)
        self._closed_until = 0.0

    @asynccontextmanager
    async def turn(self, tokens: int) -> AsyncIterator[None]:
        """A turn for a call of about ``tokens``, there and back, held until the block ends."""
        async with self._slots:
            await self._until_open()
            if self._requests is not None:
                await self._requests.acquire()
            if self._tokens is not None:
                # A call larger than a minute's allowance takes all of it, rather than never go.
                await self._tokens.acquire(min(float(tokens), self._tokens.max_rate))
            yield

    def close_for(self, seconds: float) -> None:
        """Nobody has a turn for so long: the provider said that it was asked too much."""
        until = asyncio.get_running_loop().time() + seconds
        self._closed_until = max(self._closed_until, until)

    async def _until_open(self) -> None:
        seconds = self._closed_until - asyncio.get_running_loop().time()
        if seconds > 0:
            await asyncio.sleep(seconds)
            await self._until_open()  # it may have been closed again meanwhile


def _bucket(per_minute: float | None) -> AsyncLimiter | None:
    if per_minute is None:
        return None
    from aiolimiter import AsyncLimiter

    # A bucket has to hold one call, however few a minute it is filled with.
    return AsyncLimiter(max(1.0, per_minute), 60.0 * max(1.0, 1.0 / per_minute))
