"""How much a request may send: it is refused at the byte that is too many, not when all are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from anabranch.service.problems import problem, problem_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Of JSON: the longest chat and history that make sense stay far below.
MOST_JSON_BYTES = 8_000_000
_TOO_LARGE = 413


class BodyLimit:
    """Lets bodies through up to ``upload_mb`` for files (multipart) and 8 MB for anything else."""

    def __init__(self, app: ASGIApp, *, upload_mb: float) -> None:
        self._app = app
        self._most_upload_bytes = int(upload_mb * 1_000_000)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        files = headers.get("content-type", "").lower().startswith("multipart/")
        limit = self._most_upload_bytes if files else MOST_JSON_BYTES
        detail = f"The request has more than {limit / 1_000_000:g} MB." + (
            " Send the files in several requests, or raise ANABRANCH_MAX_UPLOAD_MB."
            if files
            else ""
        )
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length) > limit:
            await problem_response(problem(_TOO_LARGE, detail))(scope, receive, send)
            return
        received = 0

        async def counting() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise HTTPException(_TOO_LARGE, detail)
            return message

        await self._app(scope, counting, send)
