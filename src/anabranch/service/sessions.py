"""Sessions: conversations that are kept, and what they wait for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from anabranch.access import Caller
from anabranch.decoding import normalise
from anabranch.errors import NotAllowedError
from anabranch.records import OpenQuestion, Session
from anabranch.request import CallerScope
from anabranch.service.bodies import MessageBody, SessionBody
from anabranch.service.caller import Reader
from anabranch.service.outcome_schema import RUN_RESPONSES
from anabranch.service.problems import documented
from anabranch.service.state import Service, Shared
from anabranch.service.streaming import outcome_of, run_response
from anabranch.trace import RunEvent
from anabranch.types import to_plain

router = APIRouter(prefix="/v1/sessions", tags=["sessions"])


@router.post("", status_code=201, responses=documented(404, 422))
async def create_session(body: SessionBody, caller: Reader, service: Shared) -> dict[str, Any]:
    """Begin a conversation."""
    if body.collections is not None:  # refused now, not when the first question is asked
        await service.knowledge_base.asources(collections=body.collections, **caller.scope)
    session = await service.sessions.create_session(
        caller.name,
        title=normalise(body.title).strip(),
        collections=body.collections,
        **caller.scope,
    )
    return _shown(session)


@router.get("", responses=documented(422))
async def sessions(
    caller: Reader,
    service: Shared,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> list[dict[str, Any]]:
    """The caller's conversations, the one that was used last first."""
    found = await service.sessions.sessions(caller.name, limit=limit, offset=offset)
    return [_shown(session, "note") for session in found]


@router.get("/{session_id}", responses=documented(403, 404))
async def session(session_id: str, caller: Reader, service: Shared) -> dict[str, Any]:
    """A conversation with its messages, as they were shown, and the questions that it waits for."""
    found = await _seen(session_id, caller, service)
    messages = await service.sessions.messages(found.id)
    waiting = await service.sessions.open_questions(found.id)
    return {
        **_shown(found),
        "messages": [to_plain(message) for message in messages],
        "pending": [_shown_question(question) for question in waiting],
    }


@router.delete("/{session_id}", status_code=204, responses=documented(404))
async def delete_session(session_id: str, caller: Reader, service: Shared) -> None:
    """Delete a conversation and everything in it."""
    await service.sessions.delete_session(caller.name, session_id)


@router.post(
    "/{session_id}/messages", responses={**RUN_RESPONSES, **documented(403, 404, 409, 410, 422)}
)
async def add_message(
    request: Request, session_id: str, body: MessageBody, caller: Reader, service: Shared
) -> Response:
    """Ask in a conversation, or reply to what it asked back.

    The outcome has `session_id` and `message_id` besides. A reply to a question that was answered
    is a conflict (409) that carries the `answer`; one that comes too late (410) says what to
    `ask_afresh`.
    """
    found = await _seen(session_id, caller, service)
    events = service.conversation.turn(
        found,
        body.text,
        options={**body.options(caller, collections=found.collections), **_scope(found)},
        clarification_id=body.clarification_id,
        new_question=body.new_question,
    )
    return await run_response(request, events, describe=_kept_in(found))


def _scope(session: Session) -> CallerScope:
    return {"within": session.within, "principals": session.principals}


async def _seen(session_id: str, caller: Caller, service: Service) -> Session:
    """The session, if all that is in it may still be seen: keys can be given less than they had."""
    found = await service.sessions.session(caller.name, session_id)
    if not caller.covers(_scope(found)):
        raise NotAllowedError(
            "This session was held with collections or documents that the key may not see any more. "
            "Begin another one, and ask there."
        )
    return found


def _kept_in(session: Session) -> Callable[[RunEvent], Mapping[str, Any]]:
    def describe(event: RunEvent) -> Mapping[str, Any]:
        outcome = outcome_of(event)
        shown = {**outcome, "session_id": session.id, "message_id": event.message_id}
        # The reply was searched in other documents than the question: it may fit no longer.
        if any(failure["kind"] == "index_changed" for failure in outcome["failures"]):
            shown["ask_afresh"] = outcome["effective_question"]
        return shown

    return describe


def _shown(session: Session, *hidden: str) -> dict[str, Any]:
    hidden += ("owner", "noted", "within", "principals")
    return {name: value for name, value in to_plain(session).items() if name not in hidden}


def _shown_question(question: OpenQuestion) -> dict[str, Any]:
    hidden = ("id", "session_id", "snapshot", "answered_by", "state")
    return {name: value for name, value in to_plain(question).items() if name not in hidden}
