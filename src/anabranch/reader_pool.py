"""Worker processes for foreign parsers: started when needed, kept alive, killed when they hang."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO, cast

from anabranch.errors import ReadingError
from anabranch.reader_worker import read_message, write_message

# What a parser may know of our environment: no key of a model provider is among it.
_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT",
                "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "VIRTUAL_ENV")  # fmt: skip


class ReaderPool:
    """Hands a request to an idle worker; a worker serves one request at a time.

    Its methods block: they are called from threads. Nothing here belongs to an event loop, so
    that a pool serves whichever loop asks.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._closed = False

    @property
    def started(self) -> int:
        """How many workers are alive."""
        return len(self._idle) + len(self._busy)

    def ask(
        self, request: dict[str, Any], data: bytes, *, timeout: float, cancelled: threading.Event
    ) -> dict[str, Any]:
        """The worker's reply. Raises ReadingError of kind timeout or damaged when it dies."""
        worker = self._take()
        try:
            reply = worker.ask({**request, "timeout": timeout}, data, timeout, cancelled)
        except BaseException:
            worker.kill()
            with self._lock:
                self._busy.discard(worker)
            raise
        self._give_back(worker)
        return reply

    def _take(self) -> _Worker:
        with self._lock:
            if self._closed:
                raise ReadingError("The reader was closed; open a new one.", kind="closed")
            worker = self._idle.pop() if self._idle else _Worker()
            self._busy.add(worker)
            return worker

    def _give_back(self, worker: _Worker) -> None:
        with self._lock:
            self._busy.discard(worker)
            if not self._closed:
                self._idle.append(worker)
                return
        worker.kill()

    def close(self) -> None:
        """Ends every worker; one that is busy makes its request fail."""
        with self._lock:
            self._closed = True
            workers = [*self._idle, *self._busy]
            self._idle.clear()
        for worker in workers:
            worker.kill()


class _Worker:
    """One process and the pipe to it."""

    def __init__(self) -> None:
        root = str(Path(__file__).resolve().parent.parent)
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        # Thread pools sized by the machine's cores would reserve more address space than allowed.
        environment |= {
            "PYTHONPATH": root, "PYTHONIOENCODING": "utf-8", "MALLOC_ARENA_MAX": "2",
            "RAYON_NUM_THREADS": "2", "TOKIO_WORKER_THREADS": "2", "OMP_NUM_THREADS": "1",
        }  # fmt: skip
        self._process = subprocess.Popen(
            # -P: a file of the current folder must never stand in for a module.
            [sys.executable, "-P", "-m", "anabranch.reader_worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=environment, start_new_session=True,
        )  # fmt: skip
        self._requests = cast(BinaryIO, self._process.stdin)
        self._replies = cast(BinaryIO, self._process.stdout)

    def ask(
        self, request: dict[str, Any], data: bytes, timeout: float, cancelled: threading.Event
    ) -> dict[str, Any]:
        timed_out = threading.Event()
        answered = threading.Event()

        def watch() -> None:
            """Kills the process when time is up or the caller is gone; polling costs nothing."""
            deadline = time.monotonic() + timeout
            while not answered.wait(min(0.1, timeout)):
                if time.monotonic() >= deadline:
                    timed_out.set()
                if timed_out.is_set() or cancelled.is_set():
                    self._process.kill()
                    return

        watcher = threading.Thread(target=watch, name="anabranch-reader-watch", daemon=True)
        watcher.start()
        try:
            write_message(self._requests, request, data)
            message = read_message(self._replies)
        except (OSError, ValueError):  # The pipe broke: the process is gone.
            message = None
        finally:
            answered.set()
            watcher.join()
        if message is not None and not timed_out.is_set():
            return message[0]
        if timed_out.is_set():
            raise ReadingError(f"not read within {timeout:g} s", kind="timeout")
        raise ReadingError("the parser crashed or ran out of memory", kind="damaged")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._requests, self._replies):
            # What was not yet written cannot be written any more.
            with contextlib.suppress(OSError):
                stream.close()
