"""How far an evaluation is, on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from anabranch.rendering import clean, console

_LINES = 10


def say(message: str) -> None:
    print(clean(message), file=sys.stderr, flush=True)


@contextmanager
def query_progress(total: int) -> Iterator[Callable[[], None]]:
    """A function to call after each query."""
    if not sys.stderr.isatty():
        yield _lines(total)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    with Progress(
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task("", total=total)
        yield lambda: progress.advance(task)


def _lines(total: int) -> Callable[[], None]:
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        if done * _LINES // total > (done - 1) * _LINES // total:
            say(f"asked {done} of {total}")

    return advance
