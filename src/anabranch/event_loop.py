"""An event loop of its own in a background thread, for callers in any thread or loop."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

Result = TypeVar("Result")
Event = TypeVar("Event")

# What still runs when it is closed is cancelled, and then has this long to end.
SECONDS_TO_STOP = 5.0


class BackgroundLoop:
    """Started by its first use. Closed, it starts again when it is used again.

    ``seconds_to_stop`` is how long ``close`` waits for what it cancelled.
    """

    def __init__(
        self, *, name: str = "anabranch", seconds_to_stop: float = SECONDS_TO_STOP
    ) -> None:
        self._name = name
        self._seconds_to_stop = seconds_to_stop
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    @property
    def running(self) -> bool:
        return self._loop is not None

    def wait(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """The result of ``coroutine``, blocking. An interrupted caller cancels it."""
        future = self.start(coroutine)
        try:
            return future.result()
        except BaseException:  # Ctrl-C in the caller's thread: the work must not go on alone
            future.cancel()
            raise

    async def submit(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """The result of ``coroutine``, awaited in the caller's loop; cancelled with the caller."""
        return await asyncio.wrap_future(self.start(coroutine))

    def start(self, coroutine: Coroutine[Any, Any, Result]) -> Future[Result]:
        """The coroutine begun, in a copy of the caller's context; its future cancels it."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._running())

    async def stream(
        self, start: Callable[[Callable[[Event], None]], Coroutine[Any, Any, object]]
    ) -> AsyncIterator[Event]:
        """What the coroutine that ``start`` makes hands to its sink, as it comes.

        Raises what the coroutine raised, after its events. Who stops listening cancels it.
        """
        events: deque[Event] = deque()
        come, loop = asyncio.Event(), asyncio.get_running_loop()
        waking = False

        def wake() -> None:
            nonlocal waking
            waking = False  # First: what is handed over from now on may be missed by who is woken.
            come.set()

        def hand_over(event: Event) -> None:
            nonlocal waking
            events.append(event)
            # Events come in bursts, and to wake another thread costs more than most of them: it is
            # done once for those that are handed over before it gets to run.
            if not waking and not loop.is_closed():  # closed: who listened has gone
                waking = True
                loop.call_soon_threadsafe(wake)

        run = asyncio.ensure_future(self.submit(start(hand_over)))
        run.add_done_callback(lambda _: come.set())
        try:
            while not run.done():
                await come.wait()
                come.clear()
                while events:
                    yield events.popleft()
            while events:
                yield events.popleft()
            await run
        finally:
            run.cancel()

    def close(self) -> None:
        """Stop the loop; whoever waits for something in it gets a cancellation."""
        with self._starting:
            loop, self._loop = self._loop, None
        if loop is None:
            return
        loop.call_soon_threadsafe(loop.stop)
        if self._thread is not None:
            self._thread.join(self._seconds_to_stop)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                # A daemon: a program that forgets to close still ends.
                self._thread = threading.Thread(
                    target=_run, args=(self._loop,), name=self._name, daemon=True
                )
                self._thread.start()
            return self._loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        unfinished = asyncio.all_tasks(loop)
        for task in unfinished:
            task.cancel()
        if unfinished:
            loop.run_until_complete(asyncio.gather(*unfinished, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
