"""A real server on loopback over an app, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import uvicorn
from fastapi import FastAPI

Parser = Literal["auto", "h11"]


class _Server(uvicorn.Server):
    """Tells when it listens, and leaves the signals of the process alone."""

    def __init__(self, app: FastAPI, *, http: Parser) -> None:
        super().__init__(
            uvicorn.Config(app, port=0, log_level="warning", timeout_graceful_shutdown=5, http=http)
        )
        self.listening = threading.Event()

    async def startup(self, sockets: list[object] | None = None) -> None:
        try:
            await super().startup(sockets)  # type: ignore[arg-type]
        finally:
            self.listening.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextmanager
def serving(app: FastAPI, *, http: Parser = "auto") -> Iterator[str]:
    """The address of a server of ``app`` that runs while the block does."""
    server = _Server(app, http=http)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    server.listening.wait()
    if not server.started:
        raise AssertionError("the app did not start; its log says why")
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
