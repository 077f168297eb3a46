"""What is logged of a request and a run, and what is not."""

from __future__ import annotations

import json
import logging
import logging.config
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from anabranch.errors import ConfigurationError
from anabranch.keys import KeyBook
from anabranch.service.app import create_app
from anabranch.service.logs import JsonLines, log_config
from anabranch.service.request_log import RequestInfo, current_request
from anabranch.settings import Settings
from fakes import World
from service.processes import serve_process
from service.servers import serving

Q = "How much leave is there?"


@pytest.fixture(autouse=True)
def everything_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="anabranch")


@contextmanager
def served(world: World, folder: Path, **settings: Any) -> Iterator[httpx.Client]:
    with world.knowledge_base() as base:
        base.path = folder
        app = create_app(Settings(kb=folder, **settings), knowledge_base=base)
        with serving(app) as address, httpx.Client(base_url=address, timeout=30) as client:
            yield client


def audited(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    names = ("message", "request_id", "who", "key", "method", "path", "status", "outcome",
             "sources", "question")  # fmt: skip
    return [
        {name: value for name, value in vars(record).items() if name in names}
        for record in caplog.records
        if record.name == "anabranch.audit"
    ]


def test_a_request_has_an_id_which_the_client_gets_and_may_give(client: httpx.Client) -> None:
    ids = {client.get("/healthz").headers["X-Request-ID"] for _ in range(3)}
    assert len(ids) == 3
    given = client.get("/healthz", headers={"X-Request-ID": "proxy-7:a.b"})
    assert given.headers["X-Request-ID"] == "proxy-7:a.b"


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, 'a"b'])
def test_an_id_that_could_spoil_the_log_is_not_taken(client: httpx.Client, given: str) -> None:
    assert client.get("/healthz", headers={"X-Request-ID": given}).headers["X-Request-ID"] != given


def test_the_audit_log_says_who_asked_and_what_was_shown_without_the_words(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key, made = KeyBook(tmp_path).create("ann")
    headers = {"Authorization": f"Bearer {key}", "X-Request-ID": "r1"}
    with served(world, tmp_path) as client:
        outcome = client.post("/v1/ask", json={"question": Q}, headers=headers).json()
    run, request = audited(caplog)
    who = {"request_id": "r1", "who": "ann", "key": made.id}
    sources = [item["source_id"] for item in outcome["evidence"]]
    assert run == {"message": "run", **who, "outcome": "answerable", "sources": sources}
    assert request == {
        "message": "request", **who, "method": "POST", "path": "/v1/ask", "status": 200,
    }  # fmt: skip
    everything = json.dumps([vars(record) for record in caplog.records], default=str)
    for word in (Q, key, "30 days"):
        assert word not in everything


def test_a_refused_request_is_in_the_audit_log_as_well(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    KeyBook(tmp_path).create("ann")
    with served(world, tmp_path) as client:
        client.delete("/v1/sources/secret", headers={"Authorization": "Bearer anabranch_0_0"})
        client.get("/v1/me", headers={"Host": "evil.example"})
    assert [(line["status"], line["who"], line["path"]) for line in audited(caplog)] == [
        (401, None, "/v1/sources/secret"),
        (421, None, "/v1/me"),
    ]


def test_the_question_is_in_the_audit_log_where_that_is_wanted(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with served(world, tmp_path, log_text=True) as client:
        client.post("/v1/ask", json={"question": Q})
    assert [line.get("question") for line in audited(caplog)] == [Q, None]


def test_life_and_metrics_are_nothing_for_the_audit_log(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with served(world, tmp_path) as client:  # a line is written behind its response
        client.get("/healthz")
        client.get("/metrics")
    assert audited(caplog) == []
    assert [r.getMessage() for r in caplog.records if r.name == "anabranch.access"] == [
        "GET /healthz 200",
        "GET /metrics 200",
    ]


def test_a_line_is_one_json_object_with_its_facts_and_request() -> None:
    record = logging.makeLogRecord(
        {
            "name": "a",
            "levelname": "INFO",
            "msg": "said %s\nand more",
            "args": ("谁",),
            "who": "ann",
        }
    )
    token = current_request.set(RequestInfo("r9"))
    try:
        (line,) = JsonLines().format(record).splitlines()
    finally:
        current_request.reset(token)
    plain = json.loads(line)
    assert plain.pop("time").endswith("+00:00")
    assert plain == {
        "level": "info", "logger": "a", "message": "said 谁\nand more", "request_id": "r9", "who": "ann",
    }  # fmt: skip


def test_an_exception_stays_on_its_line() -> None:
    try:
        raise ValueError("bad")
    except ValueError as error:
        record = logging.makeLogRecord({"msg": "m", "exc_info": (type(error), error, None)})
    assert "ValueError: bad" in json.loads(JsonLines().format(record))["exception"]


def test_an_audit_file_that_cannot_be_written_stops_the_service(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="audit_file"):
        log_config(as_json=True, audit_file=tmp_path / "nowhere" / "audit.log")


def test_a_service_that_runs_writes_its_audit_log_to_a_file(isolated: Path) -> None:
    file = isolated / "audit.log"
    with serve_process(isolated / "kb", ANABRANCH_AUDIT_FILE=str(file)) as process:
        httpx.post(f"{process.address}/v1/ask", json={"question": "Anything?"}, timeout=60)
        assert process.interrupt() == 0
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [(line["message"], line["who"]) for line in lines] == [
        ("run", "owner"), ("request", "owner"),
    ]  # fmt: skip
    assert len({line["request_id"] for line in lines}) == 1


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_only_the_owner_reads_the_audit_file(tmp_path: Path) -> None:
    file = tmp_path / "audit.log"
    log_config(as_json=True, audit_file=file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
