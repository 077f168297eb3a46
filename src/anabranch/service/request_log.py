"""Each request has an id, one line in the log, and one in the audit log if it was about documents.

The audit log says who asked and changed what, by name and id, without the words: those are
documents' and people's own. ``log_text`` adds the question.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders

from anabranch.access import Caller
from anabranch.knowledge_base import KnowledgeBase
from anabranch.runs import Observer
from anabranch.types import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

access_log = logging.getLogger("anabranch.access")
audit_log = logging.getLogger("anabranch.audit")

REQUEST_ID = "X-Request-ID"
# One that came from a proxy is kept, if it cannot break a line or fill the log.
_GIVEN_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")


@dataclass(slots=True)
class RequestInfo:
    """What is known of a request; whoever finds out more adds it."""

    id: str
    caller: Caller | None = None


# Of the request that this code runs for, also in the loop of the knowledge base.
current_request: ContextVar[RequestInfo | None] = ContextVar("anabranch_request", default=None)


@dataclass(frozen=True, slots=True)
class Handled:
    """A request that has ended; ``status`` 499: the client went away before it began to come."""

    method: str
    path: str
    route: str
    status: int
    seconds: float
    info: RequestInfo


class RequestLog:
    """Gives each request its id, and tells ``observe`` and the logs how it ended."""

    def __init__(self, app: ASGIApp, observe: Callable[[Handled], None] = lambda _: None) -> None:
        self._app = app
        self._observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(REQUEST_ID, "")
        info = RequestInfo(given if _GIVEN_ID.fullmatch(given) else uuid4().hex)
        # The same dictionary for what is inside: there the caller becomes known.
        state = scope.setdefault("state", {})
        status, started = 499, time.perf_counter()

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID] = info.id
            await send(message)

        token = current_request.set(info)
        try:
            await self._app(scope, receive, sending)
        except Exception:
            status = 500
            raise
        finally:
            current_request.reset(token)
            info.caller = info.caller or state.get("caller")
            seconds = time.perf_counter() - started
            handled = Handled(scope["method"], scope["path"], _route(scope), status, seconds, info)
            self._observe(handled)
            _write(handled)


def _route(scope: Scope) -> str:
    """The path with its parameters by name: there are few of them, whatever is asked for."""
    route = scope.get("route")
    return str(getattr(route, "path", "")) or "unknown"


def _write(handled: Handled) -> None:
    caller = handled.info.caller
    facts = {
        "request_id": handled.info.id,
        "method": handled.method,
        "path": handled.path,
        "status": handled.status,
        "seconds": round(handled.seconds, 4),
        "who": caller.name if caller else None,
        "key": caller.key_id if caller else None,
    }
    access_log.info("%s %s %s", handled.method, handled.route, handled.status, extra=facts)
    if handled.path.startswith("/v1/") or handled.path == "/mcp":
        audit_log.info("request", extra=facts)


@contextmanager
def observed(base: KnowledgeBase, *observers: Observer) -> Iterator[None]:
    """``observers`` told of the runs of ``base`` within the block."""
    with ExitStack() as stack:
        for observer in observers:
            stack.callback(base.observe(observer))
        yield


def audit_run(outcome: Outcome, *, with_text: bool) -> None:
    """A line in the audit log for a run: for whom, how it ended, and which sources it showed."""
    info = current_request.get()
    caller = info.caller if info else None
    facts = {
        "request_id": info.id if info else None,
        "who": caller.name if caller else None,
        "key": caller.key_id if caller else None,
        "outcome": outcome.status,
        "sources": sorted({item.source_id for item in outcome.evidence}),
    }
    if with_text:
        facts["question"] = outcome.question
    audit_log.info("run", extra=facts)
