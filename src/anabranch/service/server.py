"""``anabranch serve``: the app under uvicorn."""

from __future__ import annotations

import multiprocessing
from contextlib import nullcontext, suppress
from queue import SimpleQueue as Queue

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

import anabranch.service.app  # noqa: F401 - what is missing for it is missed before anything starts
from anabranch.access import is_loopback
from anabranch.errors import ConfigurationError
from anabranch.keys import KeyBook
from anabranch.service.counters import counters_folder
from anabranch.service.logs import log_config
from anabranch.service.worker import AppMaker, Reasons
from anabranch.settings import Settings

# What still runs when the service is told to stop gets this long.
SECONDS_TO_STOP = 30
# A worker that does not answer for so long is killed, and another one started. uvicorn's five
# seconds are soon over where the disk is cold and everything else starts as well.
SECONDS_OF_SILENCE = 30


def serve(settings: Settings) -> None:
    """Serve until told to stop.

    Raises ConfigurationError where that would be open to anyone, and where it cannot start.
    """
    check_address(settings)
    with counters_folder() if settings.workers > 1 else nullcontext() as folder:
        _serve(settings, counters=folder)


def _serve(settings: Settings, *, counters: str | None) -> None:
    # A queue between processes wants another process that tidies up: one alone does without.
    several = settings.workers > 1
    reasons: Reasons = multiprocessing.get_context("spawn").SimpleQueue() if several else Queue()
    config = uvicorn.Config(
        AppMaker(settings, reasons, counters),
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        timeout_worker_healthcheck=SECONDS_OF_SILENCE,
        timeout_graceful_shutdown=SECONDS_TO_STOP,
        server_header=False,
        access_log=False,
        log_config=log_config(
            as_json=settings.log_format == "json", audit_file=settings.audit_file
        ),
    )
    # uvicorn.run would want the app of several workers as a name, without our settings.
    started = _started_workers(config) if several else _started(config)
    if not started:
        why = "what it logged says why." if reasons.empty() else reasons.get()
        raise ConfigurationError(f"The service could not start: {why}")


def _started(config: uvicorn.Config) -> bool:
    server = uvicorn.Server(config)
    # Interrupted, it has stopped in good order by then; it exits by itself where it cannot start.
    with suppress(KeyboardInterrupt, SystemExit):
        server.run()
    return server.started


def _started_workers(config: uvicorn.Config) -> bool:
    workers = _Workers(config, sockets=[config.bind_socket()])
    workers.run()
    return all(worker.exitcode != STARTUP_FAILURE for worker in workers.processes)


class _Workers(Multiprocess):
    """Several processes; one that cannot start ends them all, as it would end alone."""

    def keep_subprocess_alive(self) -> None:
        for worker in self.processes:
            # With this end open here as well, a dead worker would look like one that is silent.
            worker.child_conn.close()
        super().keep_subprocess_alive()


def check_address(settings: Settings) -> None:
    """Without keys whoever reaches the service is its owner: then only this machine may."""
    if not is_loopback(settings.host) and not KeyBook(settings.kb).in_use:
        raise ConfigurationError(
            f"host = {settings.host!r} can be reached from other machines, and no key is set up: "
            "everybody could read, add and remove documents. Make a key first (anabranch keys "
            "create), or serve on 127.0.0.1."
        )
