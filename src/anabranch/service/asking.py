"""Questions: ask, retrieve, resume."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from anabranch.service.bodies import AskBody, ResumeBody
from anabranch.service.caller import Reader
from anabranch.service.outcome_schema import RUN_RESPONSES
from anabranch.service.problems import documented
from anabranch.service.state import Shared
from anabranch.service.streaming import run_response

router = APIRouter(
    prefix="/v1", tags=["questions"], responses={**RUN_RESPONSES, **documented(404, 422)}
)


@router.post("/ask")
async def ask(request: Request, body: AskBody, caller: Reader, service: Shared) -> Response:
    """Answer a question from the documents, with citations."""
    events = service.knowledge_base.stream(body.question, **body.scoped(caller))
    return await run_response(request, events)


@router.post("/retrieve")
async def retrieve(request: Request, body: AskBody, caller: Reader, service: Shared) -> Response:
    """Find the evidence for a question without writing an answer."""
    events = service.knowledge_base.stream(body.question, answer=False, **body.scoped(caller))
    return await run_response(request, events)


@router.post("/resume")
async def resume(request: Request, body: ResumeBody, caller: Reader, service: Shared) -> Response:
    """Go on with a question that was asked back about, now with the reply."""
    events = service.knowledge_base.stream_resume(
        body.snapshot, body.reply, answer=body.answer, **body.scoped(caller)
    )
    return await run_response(request, events)
