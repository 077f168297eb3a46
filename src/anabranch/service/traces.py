"""Runs that are asked for over HTTP belong to the trace of whoever asked (W3C ``traceparent``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import Headers

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


class JoinedTrace:
    """Makes the trace that a request names the current one while it is handled."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from opentelemetry import context
        from opentelemetry.propagate import extract

        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        token = context.attach(extract(dict(Headers(scope=scope))))
        try:
            await self._app(scope, receive, send)
        finally:
            context.detach(token)
