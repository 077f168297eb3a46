"""Behind nginx with its buffering on a stream arrives while the run lasts: by its header."""

from __future__ import annotations

import asyncio
import select
import shutil
import socket
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from fastapi.responses import Response
from sse_starlette import ServerSentEvent

from anabranch.service.app import create_app
from anabranch.service.streaming import sent_event, stream_response
from anabranch.settings import Settings
from fakes import HANG, World, complex_plan, hits
from service.conftest import Q
from service.events import events_in
from service.servers import serving

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")

CONFIGURATION = """
daemon off;
pid {folder}/nginx.pid;
error_log stderr;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass {address};
      # Buffers larger than all that a run sends.
      proxy_buffering on; proxy_buffers 8 1m; proxy_buffer_size 1m;
      {further}
    }}
  }}
}}
"""


@contextmanager
def proxy(address: str, folder: Path, *, further: str = "") -> Iterator[str]:
    """The address of an nginx before the service at ``address``; ``further`` configures it."""
    assert NGINX is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    configuration = folder / "nginx.conf"
    configuration.write_text(
        CONFIGURATION.format(folder=folder, port=port, address=address, further=further)
    )
    server = subprocess.Popen([NGINX, "-c", str(configuration), "-p", str(folder)])
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_a_stream_arrives_through_nginx_while_the_run_lasts(world: World, tmp_path: Path) -> None:
    world.planner.script = {Q: complex_plan("One?", "Two?")}
    world.store.found = {Q: hits("All."), "One?": hits("One."), "Two?": HANG}
    settings = Settings(kb=tmp_path)
    with (
        world.knowledge_base(path=tmp_path) as opened,
        serving(create_app(settings, knowledge_base=opened)) as address,
        proxy(address, tmp_path) as through,
        httpx.Client(base_url=through, transport=httpx.HTTPTransport(retries=20)) as client,
        client.stream(
            "POST", "/v1/ask", json={"question": Q}, headers={"Accept": "text/event-stream"},
            timeout=20,
        ) as response,
    ):  # fmt: skip
        ended = (
            data["id"]
            for name, data in events_in(response)
            if name == "step" and data["phase"] == "end"
        )
        # The second question hangs in its search: what comes of the first comes while the run runs.
        assert "rag_sub_agent.s1" in ended
        assert not world.store.cancelled.is_set()


@dataclass
class Paused:
    """An app with a stream of ours that pauses after its first event until it is let go on."""

    first_is_sent: threading.Event = field(default_factory=threading.Event)
    may_go_on: threading.Event = field(default_factory=threading.Event)

    async def events(self) -> AsyncIterator[ServerSentEvent]:
        yield sent_event("run.started", {"question": Q})
        self.first_is_sent.set()  # It is gone when the next one is asked for.
        await asyncio.to_thread(self.may_go_on.wait)
        yield sent_event("run.finished", {"status": "answerable"})

    def app(self) -> FastAPI:
        app = FastAPI()

        @app.get("/stream")
        async def stream() -> Response:
            return await stream_response(self.events())

        @app.get("/other")
        async def other() -> None: ...

        return app


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
@pytest.mark.parametrize(
    ("further", "comes_at_once"), [("", True), ("proxy_ignore_headers X-Accel-Buffering;", False)]
)
def test_it_is_the_header_that_lets_the_first_event_through(
    tmp_path: Path, further: str, comes_at_once: bool
) -> None:
    paused = Paused()
    with (
        # This parser answers nginx's HTTP/1.0 without chunks. What comes in chunks, as from the
        # other one, nginx passes on at once, whatever the header says.
        serving(paused.app(), http="h11") as address,
        proxy(address, tmp_path, further=further) as through,
        httpx.Client(base_url=through, transport=httpx.HTTPTransport(retries=20)) as client,
        ExitStack() as stack,
    ):
        stack.callback(paused.may_go_on.set)
        client.get("/other").raise_for_status()  # nginx has started
        host, port = through.removeprefix("http://").split(":")
        waiting = stack.enter_context(socket.create_connection((host, int(port))))
        waiting.sendall(b"GET /stream HTTP/1.0\r\nHost: localhost\r\n\r\n")
        assert paused.first_is_sent.wait(60)
        # nginx has one loop for all: what it does about the event is done when it has answered
        # what came later.
        for _ in range(3):
            client.get("/other").raise_for_status()
        readable, _, _ = select.select([waiting], [], [], 0)
        come = waiting.recv(10_000, socket.MSG_PEEK) if readable else b""
        assert (b"run.started" in come) is comes_at_once
        paused.may_go_on.set()
        with waiting.makefile("rb") as received:
            whole = received.read()
    assert b"run.started" in whole
    assert b"run.finished" in whole
