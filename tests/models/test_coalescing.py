"""The pool that embeds: one computation for equal texts, the urgent first, no waiter hurts another."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from anabranch.errors import RunError
from anabranch.models.coalescing import CoalescingPool

PLUG, URGENT_PLUG = "plug", "plug!"
PATIENCE = 10.0  # seconds after which a thread that should long have answered counts as hung


class Workshop:
    """Upper-cases texts in one ordinary thread and one for urgent texts.

    The two plugs hold their threads, until their gates are opened; ``seen`` lists the other texts
    in the order in which they were worked on.
    """

    def __init__(self) -> None:
        self.gate = {PLUG: threading.Event(), URGENT_PLUG: threading.Event()}
        self.plugged = {PLUG: threading.Event(), URGENT_PLUG: threading.Event()}
        self.seen: list[str] = []
        self.pool = CoalescingPool(self._work, threads=1, remembered=2)

    def _work(self, text: str) -> str:
        if text in self.plugged:
            self.plugged[text].set()
            assert self.gate[text].wait(PATIENCE)
            return text.upper()
        self.seen.append(text)
        if text.startswith("bad"):
            raise ValueError(text)
        return text.upper()

    def release(self) -> None:
        for gate in self.gate.values():
            gate.set()

    async def hold_ordinary(self) -> asyncio.Task[list[str]]:
        task = await boarded(self.pool.run, [PLUG])
        assert await asyncio.to_thread(self.plugged[PLUG].wait, PATIENCE)
        return task

    async def hold(self) -> asyncio.Future[list[list[str]]]:
        """Occupy every thread; all that is asked for now queues up behind."""
        ordinary = await self.hold_ordinary()
        urgent = await boarded(self.pool.run, [URGENT_PLUG], urgent=True)
        assert await asyncio.to_thread(self.plugged[URGENT_PLUG].wait, PATIENCE)
        return asyncio.gather(ordinary, urgent)


async def boarded(
    run: Callable[..., object], texts: list[str], *, urgent: bool = False
) -> asyncio.Task[list[str]]:
    """A task that has reached the pool: it runs up to its first wait, which is for results."""
    task = asyncio.ensure_future(run(texts, urgent=urgent))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    return task  # type: ignore[return-value]


@pytest.fixture
def workshop():
    shop = Workshop()
    yield shop
    shop.release()
    shop.pool.close()


async def test_results_come_in_the_order_of_the_texts(workshop):
    assert await workshop.pool.run(["b", "a", "b", "c"]) == ["B", "A", "B", "C"]
    assert workshop.pool.runs == 3


async def test_no_texts_give_no_results(workshop):
    assert await workshop.pool.run([]) == []


async def test_concurrent_requests_for_one_text_share_one_computation(workshop):
    plug = await workshop.hold()
    tasks = [await boarded(workshop.pool.run, ["same"]) for _ in range(20)]
    workshop.release()
    assert await asyncio.gather(*tasks) == [["SAME"]] * 20
    await plug
    assert workshop.seen == ["same"]


async def test_a_cancelled_waiter_does_not_take_the_others_with_it(workshop):
    plug = await workshop.hold()
    first = await boarded(workshop.pool.run, ["same"])
    second = await boarded(workshop.pool.run, ["same"])
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    workshop.release()
    assert await second == ["SAME"]
    await plug
    assert workshop.seen == ["same"]


async def test_cancelling_the_waiter_of_a_running_text_leaves_it_to_the_other(workshop):
    first = await workshop.hold_ordinary()
    second = await boarded(workshop.pool.run, [PLUG])
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    workshop.release()
    assert await second == ["PLUG"]
    assert workshop.pool.runs == 1


async def test_a_text_that_nobody_waits_for_any_more_is_never_computed(workshop):
    plug = await workshop.hold()
    abandoned = await boarded(workshop.pool.run, ["a", "b", "c"])
    abandoned.cancel()
    with pytest.raises(asyncio.CancelledError):
        await abandoned
    kept = await boarded(workshop.pool.run, ["b"])
    workshop.release()
    assert await kept == ["B"]
    await plug
    assert workshop.seen == ["b"]


async def test_urgent_texts_overtake_all_that_is_queued(workshop):
    plug = await workshop.hold()
    ingestion = await boarded(workshop.pool.run, ["p1", "p2", "p3"])
    question = await boarded(workshop.pool.run, ["q"], urgent=True)
    workshop.gate[PLUG].set()  # one thread alone goes on, so the order is certain
    await asyncio.gather(ingestion, question)
    workshop.release()
    await plug
    assert workshop.seen == ["q", "p1", "p2", "p3"]


async def test_an_urgent_text_does_not_wait_for_an_ordinary_one_to_end(workshop):
    plug = await workshop.hold_ordinary()
    ingestion = await boarded(workshop.pool.run, ["p"])
    assert await workshop.pool.run(["q"], urgent=True) == ["Q"]
    # Ordinary texts leave the thread that this took to those that are urgent.
    assert workshop.seen == ["q"]
    assert not plug.done()
    workshop.release()
    await asyncio.gather(plug, ingestion)
    assert workshop.seen == ["q", "p"]


async def test_a_queued_text_becomes_urgent_when_it_is_asked_for_urgently(workshop):
    plug = await workshop.hold()
    ingestion = await boarded(workshop.pool.run, ["p1", "p2", "p3"])
    question = await boarded(workshop.pool.run, ["p3"], urgent=True)
    workshop.gate[PLUG].set()  # one thread alone goes on, so the order is certain
    await asyncio.gather(ingestion, question)
    workshop.release()
    await plug
    assert workshop.seen == ["p3", "p1", "p2"]


async def test_the_latest_urgent_results_are_remembered_and_no_others(workshop):
    for text in ("q1", "q2", "q1", "q3"):
        await workshop.pool.run([text], urgent=True)
    await workshop.pool.run(["p"])
    workshop.seen.clear()
    await workshop.pool.run(["q1", "q3", "q2", "p"])
    assert workshop.seen == ["q2", "p"]


async def test_an_error_reaches_every_waiter_and_is_not_remembered(workshop):
    plug = await workshop.hold()
    tasks = [await boarded(workshop.pool.run, ["bad"]) for _ in range(3)]
    workshop.release()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(outcome) for outcome in outcomes] == ["bad"] * 3
    await plug
    with pytest.raises(ValueError, match="bad"):
        await workshop.pool.run(["bad"], urgent=True)
    with pytest.raises(ValueError, match="bad"):
        await workshop.pool.run(["bad"])
    assert workshop.seen.count("bad") == 3


async def test_a_failed_text_does_not_spoil_its_neighbours(workshop):
    plug = await workshop.hold()
    failing = await boarded(workshop.pool.run, ["bad", "shared"])
    other = await boarded(workshop.pool.run, ["shared"])
    workshop.release()
    with pytest.raises(ValueError, match="bad"):
        await failing
    assert await other == ["SHARED"]
    await plug


async def test_two_event_loops_share_one_computation(workshop):
    plug = await workshop.hold()
    here = await boarded(workshop.pool.run, ["same"])

    async def elsewhere() -> list[str]:
        there = await boarded(workshop.pool.run, ["same"])
        workshop.release()
        return await there

    assert await asyncio.to_thread(asyncio.run, elsewhere()) == ["SAME"]
    assert await here == ["SAME"]
    await plug
    assert workshop.seen == ["same"]


async def test_closing_fails_what_is_queued_and_all_that_comes_later(workshop):
    plug = await workshop.hold()
    queued = await boarded(workshop.pool.run, ["queued"])
    closing = asyncio.create_task(asyncio.to_thread(workshop.pool.close))
    with pytest.raises(RunError, match="closed"):
        await queued
    workshop.release()
    await closing
    assert await plug == [["PLUG"], ["PLUG!"]]
    with pytest.raises(RunError, match="closed"):
        await workshop.pool.run(["late"])
    assert workshop.seen == []
