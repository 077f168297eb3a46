"""Jobs: how far uploads are; as they are now, or as events until they end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from sse_starlette import ServerSentEvent

from anabranch.access import Caller
from anabranch.ports import JobStore
from anabranch.records import FILE_ENDINGS, JOB_ENDINGS, Job
from anabranch.service.caller import Editor, Reader
from anabranch.service.problems import documented
from anabranch.service.state import Service, Shared
from anabranch.service.streaming import EVENT_STREAM, sent_event, stream_response, wants_events
from anabranch.types import to_plain

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

# Another replica may run the job: only the database knows.
_SECONDS_BETWEEN_LOOKS = 0.25
_EVENTS = (
    "The job as server-sent events: `job`, then `file` for each change of one, then one of "
    "`job.finished`, `job.failed`, `job.cancelled`."
)
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {EVENT_STREAM: {"schema": {"type": "string", "description": _EVENTS}}}}
}


def shown_job(job: Job) -> dict[str, Any]:
    """A job as JSON values, with how much of it is done."""
    done = sum(file.status in FILE_ENDINGS for file in job.files)
    shown = to_plain(job)
    del shown["owner"], shown["principals"]
    return {**shown, "progress": {"done": done, "total": len(job.files)}}


@router.get("")
async def jobs(caller: Reader, service: Shared) -> list[dict[str, Any]]:
    """The last hundred jobs of the caller; an admin sees everybody's in its collections."""
    found = await service.jobs.jobs(_owner(caller), within=caller.collections)
    return [shown_job(job) for job in found]


@router.get("/{job_id}", responses={**_STREAM, **documented(404)})
async def job(request: Request, job_id: str, caller: Reader, service: Shared) -> Response:
    """A job and how far each of its files is; a stream goes on until the job ends."""
    found = await _job(service, caller, job_id)
    if wants_events(request):
        return await stream_response(_events(service.jobs, found))
    return JSONResponse(shown_job(found))


@router.delete("/{job_id}", responses=documented(403, 404))
async def cancel_job(job_id: str, caller: Editor, service: Shared) -> dict[str, Any]:
    """Cancel a job; one that has ended stays as it is. What was added already stays in."""
    found = await _job(service, caller, job_id)
    await service.uploads.cancel(found)
    return shown_job(await service.jobs.job(None, found.id))


@router.post("/{job_id}/retry", status_code=202, responses=documented(403, 404, 409))
async def retry_job(job_id: str, caller: Editor, service: Shared) -> dict[str, Any]:
    """Add the files of a job again that failed or were cancelled; a conflict where there are none."""
    found = await _job(service, caller, job_id)
    # The key of whoever sent it may see less than it did then; somebody else's job stays theirs.
    own = found.owner == caller.name
    await service.uploads.retry(found, principals=caller.principals if own else found.principals)
    return shown_job(await service.jobs.job(None, found.id))


async def _job(service: Service, caller: Caller, job_id: str) -> Job:
    """Raises SessionNotFoundError for one that is not the caller's, or out of its collections."""
    return await service.jobs.job(_owner(caller), job_id, within=caller.collections)


def _owner(caller: Caller) -> str | None:
    return None if caller.role == "admin" else caller.name


async def _events(store: JobStore, job: Job) -> AsyncIterator[ServerSentEvent]:
    yield sent_event("job", shown_job(job))
    while job.status not in JOB_ENDINGS:
        await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
        later = await store.job(None, job.id)
        for file in later.files:
            if file not in job.files:
                yield sent_event("file", to_plain(file))
        job = later
    yield sent_event(f"job.{job.status}", shown_job(job))
