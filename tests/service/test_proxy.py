"""Behind nginx with its buffering on a stream arrives while the run lasts."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from anabranch.service.app import create_app
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
      # Buffers larger than all that a run sends. Without X-Accel-Buffering this nginx passes events
      # on as well where the sender pauses; that the header is sent is tested with the streams.
      proxy_buffering on; proxy_buffers 8 1m; proxy_buffer_size 1m;
    }}
  }}
}}
"""


@contextmanager
def proxy(address: str, folder: Path) -> Iterator[str]:
    """The address of an nginx before the service at ``address``."""
    assert NGINX is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    configuration = folder / "nginx.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder, port=port, address=address))
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
