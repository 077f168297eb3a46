"""What a source looks like: a page as a picture with a passage marked on it, or its text."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from anabranch.service.caller import Reader
from anabranch.service.problems import documented
from anabranch.service.state import Shared

router = APIRouter(prefix="/v1", tags=["documents"], responses=documented(401, 404, 422, 429))

# Page and place go to code that counts in C.
MOST = 2**31 - 1
Start = Annotated[int, Query(ge=0, le=MOST, description="First character of the passage.")]
End = Annotated[int | None, Query(ge=0, le=MOST, description="Where it ends; its end if left out.")]
# The texts of others: a browser may keep them for its user, a proxy for nobody.
_PRIVATE = {"Cache-Control": "private, max-age=300", "X-Content-Type-Options": "nosniff"}


@router.get(
    "/sources/{source_id}/pages/{page}.png",
    response_class=Response,
    responses={200: {"content": {"image/png": {}}, "description": "The page."}},
)
async def page_picture(
    source_id: str,
    page: Annotated[int, Path(ge=1, le=MOST)],
    caller: Reader,
    service: Shared,
    start: Start = 0,
    end: Annotated[int, Query(ge=0, le=MOST, description="Where it ends.")] = 0,
) -> Response:
    """A page of a PDF as a picture, the passage from `start` to `end` of the text marked on it."""
    picture = await service.knowledge_base.apage_picture(
        source_id, page, start=start, end=end, **caller.scope
    )
    return Response(picture, media_type="image/png", headers=_PRIVATE)


@router.get("/sources/{source_id}/text")
async def source_text(
    source_id: str, caller: Reader, service: Shared, start: Start = 0, end: End = None
) -> dict[str, Any]:
    """The extracted text of a source, or a part of it; all offsets count its characters."""
    record = await service.knowledge_base.asource(source_id, **caller.scope)
    text = await service.knowledge_base.asource_text(record.source_id, **caller.scope)
    part = text[start:end]
    return {
        "source_id": record.source_id, "source": record.source, "start": min(start, len(text)),
        "end": min(start, len(text)) + len(part), "characters": len(text), "text": part,
    }  # fmt: skip
