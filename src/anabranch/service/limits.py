"""How much a request may send: it is refused at the byte that is too many, not when all are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from anabranch.service.problem_documents import problem, problem_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Of anything but files. Reading JSON and cleaning its texts holds up every other request (60 MB:
# for ten seconds); the longest chat and history that make sense are far below.
MOST_JSON_BYTES = 2_000_000
# The one route that takes files: elsewhere a body that only calls itself multipart is no upload.
UPLOADS = "/v1/sources"
_TOO_LARGE = 413


class BodyLimit:
    """Lets bodies through up to ``upload_mb`` for uploaded files and 2 MB for anything else.

    What is no upload is read here, before the app sees any of it, so that no app can make another
    error of the refusal. Without ``upload_mb`` there are no uploads.
    """

    def __init__(self, app: ASGIApp, *, upload_mb: float | None = None) -> None:
        self._app = app
        self._most_upload_bytes = None if upload_mb is None else int(upload_mb * 1_000_000)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        files = self._most_upload_bytes if _has_files(scope) else None
        limit = MOST_JSON_BYTES if files is None else files
        detail = f"The request has more than {limit / 1_000_000:g} MB." + (
            ""
            if files is None
            else " Send the files in several requests, or raise ANABRANCH_MAX_UPLOAD_MB."
        )
        length = Headers(scope=scope).get("content-length", "")
        passed_on: Receive | None = None
        if not (length.isdecimal() and int(length) > limit):
            passed_on = (
                await _read(receive, limit)
                if files is None
                else _counted(receive, limit, HTTPException(_TOO_LARGE, detail))
            )
        if passed_on is None:
            await problem_response(problem(_TOO_LARGE, detail))(scope, receive, send)
        else:
            await self._app(scope, passed_on, send)


def _has_files(scope: Scope) -> bool:
    kind = Headers(scope=scope).get("content-type", "").lower()
    return (
        kind.startswith("multipart/")
        and scope["method"] == "POST"
        and str(scope["path"]).rstrip("/").endswith(UPLOADS)
    )


async def _read(receive: Receive, limit: int) -> Receive | None:
    """What gives the body that came by ``receive``, then goes on with it; None beyond ``limit``."""
    messages: list[Message] = []
    received, more = 0, True
    while more:
        message = await receive()
        messages.append(message)
        received += len(message.get("body", b""))
        more = message.get("more_body", False)
        if received > limit:
            return None
    messages.reverse()

    async def again() -> Message:
        return messages.pop() if messages else await receive()

    return again


def _counted(receive: Receive, limit: int, refusal: HTTPException) -> Receive:
    received = 0

    async def counting() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            raise refusal
        return message

    return counting
