"""Foreign retrieval systems beside the documents: what they are, and how they are called.

Their code is not ours: it may block, hang, end threads, or raise what nobody expects. Each runs in
an event loop of its own in a daemon thread, its blocking calls in daemon threads, so that neither a
request, nor closing, nor the end of the program ever waits for one.
"""

from __future__ import annotations

import asyncio
import contextvars
import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from anabranch.errors import ConfigurationError, RunError
from anabranch.event_loop import BackgroundLoop
from anabranch.foreign_passages import MOST_HITS, read_passages
from anabranch.types import LegResult

# Calls of one system at once: a question with its sub-questions takes five; the next ones wait
# their turn within their own deadline.
MOST_CALLS = 8
# Threads that blocking calls of one system may hold, those that were given up included.
MOST_THREADS = 32
DEFAULT_LIMIT = 10
LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class ForeignRetriever:
    """A LangChain retriever (anything with ``ainvoke`` or ``invoke``) as part of the fan-out.

    ``name`` is what outcomes call it; its collection is ``foreign:NAME``. ``weight`` says how far it
    is trusted beside the documents, above 0 to 1 (default: the setting ``foreign_weight``),
    ``timeout`` how many seconds a search may take (default: ``query_timeout``), ``limit`` how many
    of its documents are read, 1 to 50. ``allowed`` lists the principals it is asked for beside the
    owner; ``"*"`` is everyone. Raises ConfigurationError for what does not fit.
    """

    retriever: Any
    name: str = ""
    weight: float | None = None
    timeout: float | None = None
    limit: int = DEFAULT_LIMIT
    allowed: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not any(callable(getattr(self.retriever, way, None)) for way in ("ainvoke", "invoke")):
            raise ConfigurationError(
                f"{self.retriever!r:.200} cannot be asked: a retriever has `ainvoke` or `invoke`, as "
                "those of LangChain have."
            )
        # The name of a class is a name for a person too; two of a kind need names of their own.
        object.__setattr__(self, "name", self.name or type(self.retriever).__name__)
        _check_name(self.name)
        _check_number("weight", self.weight, most=1.0)
        _check_number("timeout", self.timeout)
        if isinstance(self.limit, bool) or not isinstance(self.limit, int):
            raise ConfigurationError(f"limit={self.limit!r}: it is a whole number.")
        if not 1 <= self.limit <= MOST_HITS:
            raise ConfigurationError(f"limit={self.limit!r}: give 1 to {MOST_HITS}.")
        if isinstance(self.allowed, str):  # a string is a sequence of its letters
            object.__setattr__(self, "allowed", (self.allowed,))
        object.__setattr__(self, "allowed", tuple(self.allowed))


def _check_name(name: str) -> None:
    fits = isinstance(name, str) and 0 < len(name) <= LONGEST_NAME
    if not fits or not name.isprintable() or name != name.strip() or ":" in name:
        raise ConfigurationError(
            f"name={name!r:.100} cannot be the name of a retriever: 1 to {LONGEST_NAME} characters "
            "that can be seen, without a colon or blanks at its ends."
        )


def _check_number(name: str, value: float | None, *, most: float = math.inf) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigurationError(f"{name}={value!r}: it is a number.")
    if not (0 < value <= most and math.isfinite(value)):
        up_to = "" if math.isinf(most) else f" and at most {most:g}"
        raise ConfigurationError(f"{name}={value!r}: it has to be above 0{up_to}.")


def open_retrievers(given: Sequence[Any]) -> tuple[ForeignSystem, ...]:
    """What ``KnowledgeBase.open`` was given, ready to be asked; bare retrievers are wrapped.

    Raises ConfigurationError where two have one name: an outcome could not say which one gave what.
    """
    wrapped = [
        item if isinstance(item, ForeignRetriever) else ForeignRetriever(item) for item in given
    ]
    names = [item.name for item in wrapped]
    for name in names:
        if names.count(name) > 1:
            raise ConfigurationError(
                f"{names.count(name)} retrievers are called {name!r}. Give each a name of its own: "
                "ForeignRetriever(retriever, name=…)."
            )
    return tuple(ForeignSystem(item) for item in wrapped)


class ForeignSystem:
    """A ``ports.Retriever`` over a foreign retriever, kept apart from the rest of the program."""

    def __init__(self, given: ForeignRetriever) -> None:
        self._given = given
        self._loop = BackgroundLoop(name=f"anabranch-foreign-{given.name}", seconds_to_stop=0.0)
        self._home: asyncio.AbstractEventLoop | None = None
        self._turns = asyncio.Semaphore(MOST_CALLS)

    @property
    def name(self) -> str:
        return self._given.name

    @property
    def weight(self) -> float | None:
        return self._given.weight

    @property
    def timeout(self) -> float | None:
        return self._given.timeout

    @property
    def allowed(self) -> tuple[str, ...]:
        return tuple(self._given.allowed)

    async def search(self, question: str) -> LegResult:
        """What the foreign retriever gave for ``question``; raises what it raised."""
        # An empty context: callbacks and run ids of our graph are no business of theirs.
        begun = contextvars.Context().run(self._loop.start, self._search(question))
        return await asyncio.wrap_future(begun)

    def close(self) -> None:
        self._loop.close()

    async def _search(self, question: str) -> LegResult:
        async with self._turn():
            try:
                found = await self._ask(question)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise
                # Theirs, not ours: it must not look as if the whole request had been called off.
                raise RunError(f"{self.name!r} cancelled its own search.") from None
            except (SystemExit, KeyboardInterrupt) as error:
                raise RunError(f"{self.name!r} tried to end the program: {error!r}") from None
            # Here, since reading what may be megabytes must not hold up other requests.
            return read_passages(found, question, name=self.name, limit=self._given.limit)

    async def _ask(self, question: str) -> object:
        retriever = self._given.retriever
        if callable(getattr(retriever, "ainvoke", None)):
            # One that is only blocking inside is run by LangChain in the loop's own threads.
            return await retriever.ainvoke(question)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, retriever.invoke, question)

    def _turn(self) -> asyncio.Semaphore:
        """The queue of the running loop, made ready when the loop is new."""
        loop = asyncio.get_running_loop()
        if self._home is not loop:
            loop.set_default_executor(_DaemonThreads(MOST_THREADS))
            self._home, self._turns = loop, asyncio.Semaphore(MOST_CALLS)
        return self._turns


class _DaemonThreads(ThreadPoolExecutor):
    """A daemon thread for each call: nobody waits for one that hangs, but they are counted.

    A subclass only because a loop takes nothing else as its executor; no pool is ever started.
    """

    def __init__(self, most: int) -> None:
        super().__init__(max_workers=1)
        self._most = most
        self._count = 0
        self._counting = threading.Lock()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        with self._counting:
            if self._count >= self._most:
                raise RunError(f"{self._most} earlier calls have not come back; not asked again.")
            self._count += 1
        future: Future[Any] = Future()
        call = partial(fn, *args, **kwargs)
        threading.Thread(
            target=self._fill, args=(future, call), name="anabranch-foreign-call", daemon=True
        ).start()
        return future

    def _fill(self, future: Future[Any], call: Callable[[], Any]) -> None:
        try:
            if future.set_running_or_notify_cancel():
                try:
                    result = call()
                except StopIteration as error:  # asyncio cannot hand it on, and would wait forever
                    future.set_exception(RunError(f"it raised {error!r}"))
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
        finally:
            with self._counting:
                self._count -= 1
