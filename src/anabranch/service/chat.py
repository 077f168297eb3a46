"""The OpenAI-compatible front: each collection is a model, a chat is asked by its last message.

There is no session. A question that was asked back leaves a marker in the assistant's message: the
signed snapshot in one word, which the client sends back with the user's reply. So any replica goes
on with it, also after a restart, and what comes of it is what the one who replies may see.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from typing import Any, cast
from uuid import uuid4

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from sse_starlette import ServerSentEvent

from anabranch.access import Caller
from anabranch.errors import AnabranchError, CollectionNotFoundError, RunError
from anabranch.notes import said
from anabranch.request import AskOptions, checked_question
from anabranch.service.caller import Reader
from anabranch.service.chat_bodies import (
    ChatBody,
    about,
    chunk,
    completion,
    marked,
    pieces,
    url_citations,
    usage,
)
from anabranch.service.problems import documented, headers_of, problem_of
from anabranch.service.settled import Settled
from anabranch.service.state import Service, Shared
from anabranch.service.streaming import ended, plain_response, stream_response
from anabranch.trace import RunEvent
from anabranch.types import ALL_COLLECTIONS, Outcome


class _OpenAiRoute(APIRoute):
    """Errors are problem documents that also have the member ``error``, which clients look for."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except AnabranchError as error:
                document = _error(error)
                return JSONResponse(
                    document, status_code=document["status"], headers=headers_of(error)
                )

        return handled


router = APIRouter(prefix="/v1", tags=["OpenAI"], route_class=_OpenAiRoute)


@router.get("/models", responses=documented(401, 429))
async def models(caller: Reader, service: Shared) -> dict[str, Any]:
    """A model for each collection that the caller may see, and `anabranch` for all of them."""
    return {"object": "list", "data": [_model(name) for name in await _names(service, caller)]}


@router.get("/models/{model:path}", responses=documented(401, 404, 429))
async def model(model: str, caller: Reader, service: Shared) -> dict[str, Any]:
    """One model."""
    return _model(_known(model, await _names(service, caller)))


@router.post("/chat/completions", responses=documented(401, 404, 422, 429))
async def chat_completions(
    request: Request, body: ChatBody, caller: Reader, service: Shared
) -> Response:
    """Answer the last message of a chat from the documents, with citations as annotations."""
    model = _known(body.model, await _names(service, caller))
    events = _run(service, body, caller)
    named: dict[str, Any] = {
        "id": f"chatcmpl-{uuid4().hex}",
        "model": model,
        "created": int(time.time()),
    }
    root = str(request.base_url)
    if body.stream:
        with_usage = body.stream_options is not None and body.stream_options.include_usage
        # What a reply goes on from is only known to be ours, and in force, once its run begins.
        at_once = body.pending() is None
        return await stream_response(
            _chunks(events, named, at_once=at_once, root=root, with_usage=with_usage)
        )

    def whole(last: RunEvent) -> dict[str, Any]:
        outcome = ended(last)
        return completion(outcome, _content(outcome), root=root, **named)

    return await plain_response(request, events, describe=whole)


def _run(service: Service, body: ChatBody, caller: Caller) -> AsyncIterator[RunEvent]:
    options = AskOptions(
        collections=None if body.model == ALL_COLLECTIONS else [body.model],
        within=caller.collections,
        principals=caller.principals,
        effort=body.effort(),
        history=body.history(),
    )
    longest = service.settings.max_question_characters
    question, pending = checked_question(body.question(), longest=longest), body.pending()
    if pending is not None:
        return service.knowledge_base.stream_resume(pending, question, **options)
    return service.knowledge_base.stream_turn(question, **options)


async def _chunks(
    events: AsyncIterator[RunEvent], named: dict[str, Any], *, at_once: bool, root: str,
    with_usage: bool,
) -> AsyncIterator[ServerSentEvent]:  # fmt: skip
    """The answer sentence by sentence, as each is settled: what was sent cannot be taken back.

    ``at_once``: the request is known to be one that can be answered, so that the stream begins
    before its run does; errors before the run keep their status otherwise.
    """
    settled, outcome, begun = Settled(), None, at_once
    beginning = _sent(chunk({"role": "assistant", "content": ""}, **named))
    if at_once:
        yield beginning
    async with aclosing(cast(Any, events)):
        try:
            async for event in events:
                match event.name:
                    case "run.started" if not begun:
                        begun = True
                        yield beginning
                    case "answer.delta":
                        for piece in pieces(settled.hear(event)):
                            yield _sent(chunk({"content": piece}, **named))
                outcome = event.outcome or outcome
            if outcome is None:
                raise AssertionError("unreachable: a run ends with an outcome, or raises")
            content = _content(outcome)
        except AnabranchError as error:
            if not begun:
                raise
            yield _sent(_error(error))
            return
    before = settled.broken_off(content)
    for piece in pieces(settled.rest(content)):
        yield _sent(chunk({"content": piece}, **named))
    annotations = url_citations(outcome, root=root, before=before)
    last = chunk({"annotations": annotations}, finish="stop", **named)
    yield _sent({**last, "anabranch": about(outcome)})
    if with_usage:
        yield _sent({**last, "choices": [], "usage": usage(outcome)})
    yield ServerSentEvent(data="[DONE]")


def _content(outcome: Outcome) -> str:
    """What the assistant says. Raises RunError for a run that failed: that is no answer."""
    if outcome.status == "failed":
        failed = outcome.failures[0] if outcome.failures else None
        why = f" ({failed.where}: {failed.kind})" if failed else ""
        raise RunError(f"The run failed{why}. Try it again.")
    return marked(said(outcome), outcome.resume)


def _sent(data: dict[str, Any]) -> ServerSentEvent:
    return ServerSentEvent(data=json.dumps(data, ensure_ascii=False))


def _error(error: AnabranchError) -> dict[str, Any]:
    document = problem_of(error)
    server = document["status"] >= 500
    described = {
        "message": document["detail"],
        "type": "server_error" if server else "invalid_request_error",
        "code": "model_not_found"
        if isinstance(error, CollectionNotFoundError)
        else type(error).__name__,
        "param": None,
    }
    return {**document, "error": described}


async def _names(service: Service, caller: Caller) -> list[str]:
    collections = await service.knowledge_base.acollections(**caller.scope)
    return list(dict.fromkeys((ALL_COLLECTIONS, *collections)))


def _known(model: str, names: list[str]) -> str:
    if model not in names:
        there = ", ".join(map(repr, names))
        raise CollectionNotFoundError(
            f"There is no model {model!r}. Those that are there: {there}."
        )
    return model


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "anabranch"}
