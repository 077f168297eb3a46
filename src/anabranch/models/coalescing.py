"""Work on texts in a few threads: the most urgent first, equal texts once.

It belongs to no event loop: any number of loops may wait on one pool, each for its own results,
and a loop that goes away takes nothing from the others.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Generic, TypeVar

from anabranch.errors import RunError

Result = TypeVar("Result")

URGENT, ORDINARY = 0, 1


@dataclass(slots=True, eq=False)
class _Flight(Generic[Result]):
    """One computation and everyone who waits for it."""

    text: str
    urgency: int
    future: Future[Result] = field(default_factory=Future)
    waiters: int = 0
    started: bool = False


class CoalescingPool(Generic[Result]):
    """Runs ``work`` on ordinary texts in at most ``threads`` threads; one more is for urgent ones.

    A text that is asked for while it is queued or running is not computed again: everyone waits
    for the one computation. Who stops waiting changes nothing for the others; a text that nobody
    waits for any more is dropped if it has not started. Urgent texts overtake all that is queued
    and need not wait for a long ordinary one to end; the results of the latest ``remembered``
    urgent ones are kept.
    """

    def __init__(self, work: Callable[[str], Result], *, threads: int, remembered: int = 0) -> None:
        self._work = work
        self._remembered = remembered
        self._memory: OrderedDict[str, _Flight[Result]] = OrderedDict()
        self._threads = threads
        self._ordinary_running = 0
        self._executor = ThreadPoolExecutor(threads + 1, thread_name_prefix="anabranch-embed")
        self._lock = Lock()
        self._flights: dict[str, _Flight[Result]] = {}
        self._queue: list[tuple[int, int, _Flight[Result]]] = []
        self._tickets = itertools.count()
        self._closed = False
        self._runs = 0

    @property
    def runs(self) -> int:
        """How many times ``work`` has been called."""
        return self._runs

    async def run(self, texts: Sequence[str], *, urgent: bool = False) -> list[Result]:
        """The result of each text, in order; raises what ``work`` raised for the first that did."""
        flights = self._board(texts, URGENT if urgent else ORDINARY)
        try:
            futures = [flight.future for flight in flights]
            await _landed(futures)
            return [future.result() for future in futures]
        finally:
            self._leave(flights)

    def close(self) -> None:
        """End the threads; what is queued fails, what is running is waited for."""
        with self._lock:
            self._closed = True
            queued = {id(flight): flight for _, _, flight in self._queue if not flight.started}
            self._queue.clear()
            for flight in queued.values():
                flight.started = True
                self._flights.pop(flight.text, None)
        for flight in queued.values():
            flight.future.set_exception(_closed_error())
        self._executor.shutdown(wait=True, cancel_futures=True)

    def _board(self, texts: Sequence[str], urgency: int) -> list[_Flight[Result]]:
        with self._lock:
            if self._closed:
                raise _closed_error()
            return [self._join(text, urgency) for text in texts]

    def _join(self, text: str, urgency: int) -> _Flight[Result]:
        if text in self._memory:
            self._memory.move_to_end(text)
            return self._memory[text]
        flight = self._flights.get(text)
        if flight is None:
            flight = self._flights[text] = _Flight(text, urgency)
            flight.future.set_running_or_notify_cancel()
            self._enqueue(flight)
        elif urgency < flight.urgency and not flight.started:
            # Queued a second time further ahead; the later entry finds it started and does nothing.
            flight.urgency = urgency
            self._enqueue(flight)
        flight.waiters += 1
        return flight

    def _enqueue(self, flight: _Flight[Result]) -> None:
        heapq.heappush(self._queue, (flight.urgency, next(self._tickets), flight))
        # The executor's own queue is first come, first served, so it holds no texts, only turns:
        # each turn takes whatever is most urgent when a thread becomes free.
        self._executor.submit(self._take_turn)

    def _leave(self, flights: Sequence[_Flight[Result]]) -> None:
        with self._lock:
            for flight in flights:
                flight.waiters -= 1
                if not flight.waiters and not flight.started:
                    self._flights.pop(flight.text, None)
                    flight.started = True  # its place in the queue is skipped

    def _take_turn(self) -> None:
        # A turn that finds all ordinary threads taken leaves its text in the queue: the turns that
        # hold those threads look there again before they end.
        while (flight := self._next_flight()) is not None:
            ordinary = flight.urgency == ORDINARY
            try:
                result = self._work(flight.text)
            except BaseException as error:  # whatever it is: the waiters must not wait for ever
                self._land(flight, keep=False, ordinary=ordinary)
                flight.future.set_exception(error)
            else:
                self._land(flight, keep=not ordinary, ordinary=ordinary)
                flight.future.set_result(result)

    def _next_flight(self) -> _Flight[Result] | None:
        with self._lock:
            while self._queue:
                urgency, _, flight = self._queue[0]
                # Started already: abandoned, or taken from a place further ahead.
                if not flight.started and urgency == ORDINARY:
                    if self._ordinary_running >= self._threads:
                        return None
                    self._ordinary_running += 1
                heapq.heappop(self._queue)
                if not flight.started:
                    flight.started = True
                    self._runs += 1
                    return flight
            return None

    def _land(self, flight: _Flight[Result], *, keep: bool, ordinary: bool) -> None:
        """Move the flight into memory or forget it, in one step.

        A caller who comes in between would otherwise find it in neither place and compute again.
        """
        with self._lock:
            self._ordinary_running -= ordinary
            self._flights.pop(flight.text, None)
            if keep and self._remembered:
                self._memory[flight.text] = flight
                if len(self._memory) > self._remembered:
                    self._memory.popitem(last=False)


async def _landed(futures: Sequence[Future[Any]]) -> None:
    """Until all are done; raises the error of one that failed as soon as there is one.

    The event loop is woken once, not for each: that would cost as much as all else here together.
    """
    loop = asyncio.get_running_loop()
    woken = loop.create_future()
    counting = Lock()
    left = len(futures)

    def wake() -> None:
        if not woken.done():
            woken.set_result(None)

    def land(future: Future[Any]) -> None:
        nonlocal left
        with counting:
            left -= 1
            all_done = left == 0
        if all_done or future.exception() is not None:
            with suppress(RuntimeError):  # the loop was closed, and nobody waits any more
                loop.call_soon_threadsafe(wake)

    for future in futures:
        future.add_done_callback(land)
    if futures:
        await woken
    for future in futures:
        if future.done() and (error := future.exception()) is not None:
            raise error


def _closed_error() -> RunError:
    return RunError(
        "The embedder was closed while texts were waiting; open the knowledge base again."
    )
