"""``anabranch serve``: the app under uvicorn."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import uvicorn
from uvicorn.supervisors import Multiprocess

from anabranch.access import is_loopback
from anabranch.errors import ConfigurationError
from anabranch.keys import KeyBook
from anabranch.service.app import create_app
from anabranch.service.logs import log_config
from anabranch.settings import Settings

# What still runs when the service is told to stop gets this long.
SECONDS_TO_STOP = 30


def serve(settings: Settings) -> None:
    """Serve until told to stop. Raises ConfigurationError where that would be open to anyone."""
    check_address(settings)
    config = uvicorn.Config(
        partial(create_app, settings),
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        timeout_graceful_shutdown=SECONDS_TO_STOP,
        server_header=False,
        access_log=False,
        log_config=log_config(
            as_json=settings.log_format == "json", audit_file=settings.audit_file
        ),
    )
    # uvicorn.run would want the app of several workers as a name, without our settings.
    if settings.workers > 1:
        Multiprocess(config, sockets=[config.bind_socket()]).run()
        return
    server = uvicorn.Server(config)
    with suppress(KeyboardInterrupt):  # it has stopped in good order by then
        server.run()
    if not server.started:
        raise ConfigurationError("The service could not start; what it logged says why.")


def check_address(settings: Settings) -> None:
    """Without keys whoever reaches the service is its owner: then only this machine may."""
    if not is_loopback(settings.host) and not KeyBook(settings.kb).in_use:
        raise ConfigurationError(
            f"host = {settings.host!r} can be reached from other machines, and no key is set up: "
            "everybody could read, add and remove documents. Make a key first (anabranch keys "
            "create), or serve on 127.0.0.1."
        )
