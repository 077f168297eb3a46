"""`anabranch serve` and `anabranch mcp --http` as processes of their own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


class Process:
    """A server process that listens at ``address``."""

    def __init__(self, kb: Path, environment: Mapping[str, str], *command: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "anabranch", *command, "--kb", str(kb), "--port", "0"],
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment},
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        self._draining = threading.Thread(target=self._process.stderr.read, daemon=True)
        self.address = self._listening()

    def _listening(self) -> str:
        assert self._process.stderr is not None
        said = []
        for line in self._process.stderr:
            said.append(line)
            if found := re.search(r"(?:^|running on )(http://\S+)", line):
                # Else it would stop once its log has filled the pipe.
                self._draining.start()
                return found[1]
        raise AssertionError(f"the service did not start: {''.join(said)}")

    def kill(self) -> None:
        """As the system does it when memory is short: nothing is said and nothing is saved."""
        self._process.kill()
        self._end()

    def interrupt(self) -> int:
        """Ctrl-C; the exit code."""
        self._process.send_signal(signal.SIGINT)
        return self._end()

    def terminate(self) -> int:
        """As a supervisor ends it; the exit code."""
        self._process.terminate()
        return self._end()

    def _end(self) -> int:
        code = self._process.wait()
        self._draining.join()
        self._process.stderr.close()
        return code

    def close(self) -> None:
        if self._process.returncode is None:
            self.kill()


@contextmanager
def serve_process(kb: Path, **environment: str) -> Iterator[Process]:
    with _running(Process(kb, environment, "serve")) as process:
        yield process


@contextmanager
def mcp_process(kb: Path, **environment: str) -> Iterator[Process]:
    with _running(Process(kb, environment, "mcp", "--http")) as process:
        yield process


@contextmanager
def _running(process: Process) -> Iterator[Process]:
    try:
        yield process
    finally:
        process.close()
