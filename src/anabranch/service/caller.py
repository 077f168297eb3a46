"""Who is asking, and what they may: every route takes a ``Caller`` and hands its scope on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from anabranch.access import Caller
from anabranch.keys import Role
from anabranch.service.request_log import current_request
from anabranch.service.state import Shared

# For the API's own description; whether a key is needed depends on whether one was ever made.
_bearer = HTTPBearer(auto_error=False, description="A key of `anabranch keys create`.")


async def caller(
    request: Request,
    service: Shared,
    _: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
) -> Caller:
    """Whoever sent the request; without any key that is the owner, on loopback."""
    found = await service.gate.admit(request.headers.get("authorization"))
    request.state.caller = found
    if (info := current_request.get()) is not None:
        info.caller = found
    return found


def _at_least(role: Role) -> Callable[[Caller], Caller]:
    def check(caller: Annotated[Caller, Depends(caller)]) -> Caller:
        caller.require(role)
        return caller

    return check


Reader = Annotated[Caller, Depends(caller)]
Editor = Annotated[Caller, Depends(_at_least("editor"))]
