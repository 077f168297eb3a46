"""One limiter for a provider: how many at once, how many a minute, and nobody while it is closed."""

from __future__ import annotations

import asyncio

import pytest

from anabranch.models.limits import ProviderLimits


async def turns(loops: int = 50) -> None:
    """Lets everything that can go on go on."""
    for _ in range(loops):
        await asyncio.sleep(0)


async def test_no_more_than_the_slots_are_under_way_at_once() -> None:
    limits = ProviderLimits(concurrency=2)
    under_way, most = 0, 0
    go_on = asyncio.Event()

    async def call() -> None:
        nonlocal under_way, most
        async with limits.turn(1):
            under_way += 1
            most = max(most, under_way)
            await go_on.wait()
            under_way -= 1

    calls = [asyncio.create_task(call()) for _ in range(6)]
    await turns()
    assert under_way == 2
    go_on.set()
    await asyncio.gather(*calls)
    assert most == 2


@pytest.mark.parametrize(
    ("limits", "tokens"),
    [
        ({"requests_per_minute": 2}, 1),
        ({"tokens_per_minute": 1_000}, 500),
    ],
)
async def test_calls_beyond_a_minutes_allowance_wait(limits: dict[str, float], tokens: int) -> None:
    limited = ProviderLimits(concurrency=10, **limits)  # type: ignore[arg-type]
    done: list[int] = []

    async def call(number: int) -> None:
        async with limited.turn(tokens):
            done.append(number)

    calls = [asyncio.create_task(call(number)) for number in range(4)]
    await turns()
    assert sorted(done) == [0, 1]
    for task in calls:
        task.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    assert sorted(done) == [0, 1]


async def test_a_call_larger_than_a_minutes_allowance_still_goes() -> None:
    limits = ProviderLimits(concurrency=1, tokens_per_minute=100)
    async with asyncio.timeout(5), limits.turn(5_000):
        pass


async def test_fewer_than_one_call_a_minute_lets_the_first_one_go() -> None:
    limits = ProviderLimits(concurrency=1, requests_per_minute=0.5)
    async with asyncio.timeout(5), limits.turn(1):
        pass


async def test_a_cancelled_wait_gives_its_slot_back() -> None:
    limits = ProviderLimits(concurrency=1)
    async with limits.turn(1):
        waiting = asyncio.create_task(limits.turn(1).__aenter__())
        await turns()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    async with asyncio.timeout(5), limits.turn(1):
        pass


async def test_nobody_has_a_turn_while_the_provider_is_closed() -> None:
    limits = ProviderLimits(concurrency=5)
    limits.close_for(3600)
    waiting = asyncio.create_task(limits.turn(1).__aenter__())
    await turns()
    assert not waiting.done()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
