"""Problem documents (RFC 9457) as responses; nothing here needs the extra ``service``."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse

MEDIA_TYPE = "application/problem+json"


def problem(status: int, detail: str, **more: Any) -> dict[str, Any]:
    """A problem document that stands for no error of ours."""
    return {
        "type": "about:blank", "title": HTTPStatus(status).phrase, "status": status,
        "detail": detail, **more,
    }  # fmt: skip


def problem_response(
    document: dict[str, Any], *, headers: dict[str, str] | None = None
) -> JSONResponse:
    return JSONResponse(
        document, status_code=document["status"], media_type=MEDIA_TYPE, headers=headers
    )
