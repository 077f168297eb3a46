"""Several workers of one service count together: what is asked of one of them counts for all."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from anabranch.keys import KeyBook
from service.processes import serve_process

PER_MINUTE = 6


class Workers:
    """A service of two; ``only`` has one of them take the requests: the other one is held still."""

    def __init__(self, address: str, folder: Path, key: str) -> None:
        self._address = address
        self._key = key
        self.pids = self._started(folder)

    def _started(self, folder: Path) -> list[int]:
        # Each opens a file of its own to count in.
        while len(files := list(folder.glob("anabranch-metrics-*/counter_*.db"))) < 2:
            self.get("/healthz")
        return [int(file.stem.removeprefix("counter_")) for file in files]

    @contextmanager
    def only(self, worker: int) -> Iterator[None]:
        others = [pid for pid in self.pids if pid != self.pids[worker]]
        for pid in others:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in others:
                os.kill(pid, signal.SIGCONT)

    def get(self, path: str) -> httpx.Response:
        """By a connection of its own, which whoever is awake takes."""
        headers = {"Authorization": f"Bearer {self._key}"}
        transport = httpx.HTTPTransport(retries=20)  # they may still be opening the knowledge base
        with httpx.Client(base_url=self._address, transport=transport, timeout=60) as client:
            return client.get(path, headers=headers)

    def statuses(self, path: str, times: int) -> Sequence[int]:
        return [self.get(path).status_code for _ in range(times)]


@contextmanager
def two_workers(folder: Path, **environment: str) -> Iterator[Workers]:
    key, _ = KeyBook(folder / "kb").create("ann")
    metrics = folder / "tmp"
    metrics.mkdir()
    with serve_process(
        folder / "kb", ANABRANCH_WORKERS="2", TMPDIR=str(metrics), **environment
    ) as process:
        workers = Workers(process.address, metrics, key)
        for worker in range(2):
            with workers.only(worker):
                assert workers.get("/healthz").status_code == 200
        yield workers
        assert process.interrupt() == 0
        assert list(metrics.glob("anabranch-metrics-*")) == []  # nothing is left behind


def test_workers_end_with_a_service_that_is_killed(tmp_path: Path) -> None:
    metrics = tmp_path / "tmp"
    metrics.mkdir()
    with serve_process(tmp_path / "kb", ANABRANCH_WORKERS="2", TMPDIR=str(metrics)) as process:
        key, _ = KeyBook(tmp_path / "kb").create("ann")
        Workers(process.address, metrics, key)  # both have started
        process.kill()  # which waits for all that have its log open
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{process.address}/healthz")


def test_any_worker_tells_what_all_have_counted(tmp_path: Path) -> None:
    with two_workers(tmp_path) as workers:
        for worker, times in enumerate((3, 4)):
            with workers.only(worker):
                assert workers.statuses("/v1/me", times) == [200] * times
        for worker in range(2):
            with workers.only(worker):
                assert counted(workers.get("/metrics").text, "/v1/me") == 7


def counted(text: str, route: str) -> float:
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "anabranch_requests_total" and sample.labels["route"] == route
    )


def test_a_key_has_one_allowance_with_all_workers(tmp_path: Path) -> None:
    with two_workers(tmp_path, ANABRANCH_RATE_LIMIT=str(PER_MINUTE)) as workers:
        began = time.monotonic()
        given: list[int] = []
        for worker in range(2):
            with workers.only(worker):
                given += workers.statuses("/v1/me", PER_MINUTE)
        refilled = (time.monotonic() - began) * PER_MINUTE / 60
    assert set(given) == {200, 429}
    # Each alone would have let as many in as all may.
    assert PER_MINUTE <= given.count(200) <= PER_MINUTE + refilled
