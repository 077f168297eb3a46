"""Whether the process lives, and whether it can answer."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from anabranch.service.caller import Reader
from anabranch.service.metrics import MEDIA_TYPE
from anabranch.service.problems import documented
from anabranch.service.state import Shared

router = APIRouter(tags=["operations"])


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """The process lives."""
    return {"status": "ok"}


@router.get("/metrics", responses=documented(401, 429), response_class=Response)
async def metrics(request: Request, caller: Reader) -> Response:
    """Counters for Prometheus."""
    return Response(request.app.state.metrics.text(), media_type=MEDIA_TYPE)


@router.get("/readyz", responses=documented(503))
async def readyz(service: Shared) -> dict[str, str]:
    """Questions can be answered and kept: documents and database were read for this reply."""
    await service.knowledge_base.acollections()
    await service.jobs.jobs(None, limit=1)
    return {"status": "ready"}
