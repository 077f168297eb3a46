"""Server-sent events, as a client reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
from httpx_sse import EventSource

ENDINGS = {"run.finished", "run.needs_input", "run.failed"}


def events_in(response: httpx.Response) -> Iterator[tuple[str, Any]]:
    """Name and data of each event of a stream."""
    for event in EventSource(response).iter_sse():
        yield event.event, event.json()
