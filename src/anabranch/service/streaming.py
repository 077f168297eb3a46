"""Runs over HTTP: as server-sent events while they happen, or as one outcome at the end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, TypeVar, cast

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from sse_starlette import EventSourceResponse, ServerSentEvent

from anabranch.errors import AnabranchError
from anabranch.service.problems import problem_of
from anabranch.trace import RunEvent
from anabranch.types import Outcome, to_plain

Result = TypeVar("Result")
Describe = Callable[[RunEvent], Mapping[str, Any]]

EVENT_STREAM = "text/event-stream"
# Proxies commonly close a connection on which nothing came for 30 or 60 seconds.
SECONDS_BETWEEN_COMMENTS = 15
# Nobody is there any more to read it; the status is for the log (nginx's "client closed request").
_CLIENT_CLOSED = 499


def outcome_of(event: RunEvent) -> Mapping[str, Any]:
    """The outcome that ends a run."""
    return ended(event).to_dict()


def ended(event: RunEvent) -> Outcome:
    """The outcome of the last event of a run."""
    if event.outcome is None:
        raise AssertionError("unreachable: the last event of a run has its outcome")
    return event.outcome


def wants_events(request: Request) -> bool:
    return EVENT_STREAM in request.headers.get("accept", "")


async def run_response(
    request: Request, events: AsyncIterator[RunEvent], *, describe: Describe = outcome_of
) -> Response:
    """The run behind ``events``, in the way that the request accepts.

    A client that goes away ends the run. What is raised before the first event is raised here.
    """
    if wants_events(request):
        return await stream_response(_sent_events(events, describe))
    return await plain_response(request, events, describe=describe)


async def plain_response(
    request: Request, events: AsyncIterator[RunEvent], *, describe: Describe
) -> Response:
    """The last of ``events`` as JSON. A client that goes away ends the run."""
    last = await unless_disconnected(request, last_event(events))
    if last is None:
        return Response(status_code=_CLIENT_CLOSED)
    return JSONResponse(describe(last))


async def stream_response(events: AsyncIterator[ServerSentEvent]) -> Response:
    """``events`` as a response that begins with the first: errors before it keep their status."""
    first = await anext(events, None)

    async def all_events() -> AsyncIterator[ServerSentEvent]:
        async with aclosing(cast(Any, events)):
            if first is not None:
                yield first
            async for event in events:
                yield event

    # The response also sets X-Accel-Buffering: no, so that nginx passes events on as they come.
    return EventSourceResponse(
        all_events(),
        ping=SECONDS_BETWEEN_COMMENTS,
        ping_message_factory=lambda: ServerSentEvent(comment="still here"),
        sep="\n",
    )


def sent_event(name: str, data: Mapping[str, Any]) -> ServerSentEvent:
    return ServerSentEvent(event=name, data=json.dumps(data, ensure_ascii=False))


async def _sent_events(
    events: AsyncIterator[RunEvent], describe: Describe
) -> AsyncIterator[ServerSentEvent]:
    started = False
    async with aclosing(cast(Any, events)):
        try:
            async for event in events:
                yield sent_event(event.name, _payload(event, describe))
                started = True
        except AnabranchError as error:
            if not started:
                raise
            yield sent_event("run.failed", {"status": "failed", "problem": problem_of(error)})


def _payload(event: RunEvent, describe: Describe) -> Mapping[str, Any]:
    match event.name:
        case "run.started":
            return {"question": event.text}
        case "step":
            return {"phase": event.phase, **to_plain(event.step)}
        case "answer.delta":
            return {"text": event.text, "restart": event.restart}
        case "evidence":
            return {"evidence": to_plain(event.outcome.evidence if event.outcome else ())}
        case _:
            return describe(event)


async def last_event(events: AsyncIterator[RunEvent]) -> RunEvent:
    last: RunEvent | None = None
    async with aclosing(cast(Any, events)):
        async for event in events:
            last = event
    if last is None:
        raise AssertionError("unreachable: a run has events, or raises")
    return last


async def unless_disconnected(request: Request, work: Awaitable[Result]) -> Result | None:
    """The result of ``work``, which is cancelled when the client goes away: then None."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        for unfinished in (task, gone):
            unfinished.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    # The body was read before the route began: all that can still come is the end.
    while (await request.receive())["type"] != "http.disconnect":
        pass
