"""Events that are handed from the background loop to who listens in another one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from anabranch.event_loop import BackgroundLoop


@pytest.fixture
def background() -> Iterator[BackgroundLoop]:
    loop = BackgroundLoop()
    yield loop
    loop.close()


async def test_every_event_comes_in_order_before_what_is_raised(background: BackgroundLoop) -> None:
    async def run(sink: Callable[[int], None]) -> None:
        for number in range(3):
            sink(number)
            await asyncio.sleep(0)
        sink(3)
        raise ValueError("after its events")

    seen = []

    async def listen() -> None:
        async for event in background.stream(run):
            seen.append(event)

    with pytest.raises(ValueError, match="after its events"):
        await listen()
    assert seen == [0, 1, 2, 3]


async def test_a_burst_wakes_who_listens_once(background: BackgroundLoop) -> None:
    here, woken = asyncio.get_running_loop(), 0
    busy, all_handed_over = threading.Event(), threading.Event()
    waking = here.call_soon_threadsafe

    def counted(callback: Callable[..., object], *values: Any, **options: Any) -> asyncio.Handle:
        nonlocal woken
        woken += not all_handed_over.is_set()
        return waking(callback, *values, **options)

    async def run(sink: Callable[[int], None]) -> None:
        busy.wait()
        for number in range(100):
            sink(number)
        all_handed_over.set()

    def keep_busy() -> None:
        busy.set()
        all_handed_over.wait()

    here.call_soon_threadsafe = counted  # type: ignore[method-assign]
    here.call_later(0, keep_busy)
    assert [event async for event in background.stream(run)] == list(range(100))
    assert woken == 1
