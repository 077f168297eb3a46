"""A process that serves: it makes the app, and tells why that did not start.

Imports little: what starts several of these asks each whether it lives, from its first moment on,
and a process that is busy importing does not answer.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import TYPE_CHECKING, Protocol

from anabranch.errors import AnabranchError
from anabranch.service.counters import hold
from anabranch.settings import Settings

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_FAILED = "lifespan.startup.failed"


class Reasons(Protocol):
    """A queue of why it did not start: within this process, or between processes."""

    def put(self, reason: str, /) -> None: ...
    def get(self) -> str: ...
    def empty(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class AppMaker:
    """Makes the app of ``settings`` in whichever process; ``reasons`` gets why one did not start."""

    settings: Settings
    reasons: Reasons
    counters: str | None = None  # the folder in which several workers count together

    def __call__(self) -> ASGIApp:
        if self.counters is not None:  # before Prometheus's library is imported, which looks once
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = self.counters
            hold(self.counters)
        if (service := multiprocessing.parent_process()) is not None:
            Thread(target=_end_with, args=(service,), daemon=True).start()
        from anabranch.service.app import create_app

        return _telling(create_app(self.settings), self.reasons)


def _end_with(service: BaseProcess) -> None:
    """Ends this process in good order after ``service``, which may have been killed.

    It would go on otherwise, and keep the address from the service that is started next.
    """
    service.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _telling(app: ASGIApp, reasons: Reasons) -> ASGIApp:
    async def told(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await app(scope, receive, send)
            return
        failed = False

        async def sending(message: Message) -> None:
            nonlocal failed
            failed = message["type"] == _FAILED
            if not failed:
                await send(message)

        try:
            await app(scope, receive, sending)
        except Exception as error:
            if not failed:
                raise
            known = isinstance(error, AnabranchError)
            reasons.put(str(error) if known else f"{type(error).__name__}: {error}")
            # Where an error is known, its message says what to do; a traceback would bury it.
            logged = str(error) if known else traceback.format_exc()
            await send({"type": _FAILED, "message": logged})

    return told
