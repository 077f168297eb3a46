"""Refuses requests that a foreign web page sends through a browser on this machine.

A page can have its own host name point at 127.0.0.1 (DNS rebinding): the browser then sends that
name as ``Host``. Or it posts across origins: the browser then sends the page's ``Origin``.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from anabranch.access import is_loopback
from anabranch.service.problem_documents import problem, problem_response

_MISDIRECTED, _FORBIDDEN = 421, 403


class OriginCheck:
    """Lets through what is addressed to this machine, or to one of ``hosts``, by a page of it."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = ()) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await problem_response(problem(*refusal))(scope, receive, send)

    def _refusal(self, headers: Headers) -> tuple[int, str] | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self._known(host):
            return _MISDIRECTED, (
                f"The service does not go by the name {host!r}. If it should, add the name to "
                "ANABRANCH_ALLOWED_HOSTS."
            )
        if origin is None or self._same(origin, host):
            return None
        return _FORBIDDEN, (
            f"Pages of {origin!r} may not call the service. If they should, add the host to "
            "ANABRANCH_ALLOWED_HOSTS."
        )

    def _known(self, host: str) -> bool:
        name = _host_name(f"//{host}")
        return name is not None and (is_loopback(name) or name in self._hosts)

    def _same(self, origin: str, host: str) -> bool:
        """From the very same place, or one that is listed; another port is another program."""
        name = _host_name(origin)
        return name is not None and (urlsplit(origin).netloc == host or name in self._hosts)


def _host_name(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:  # brackets that do not match
        return None
