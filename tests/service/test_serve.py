"""`anabranch serve`, as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from service.processes import ROOT, serve_process


def test_it_serves_an_empty_knowledge_base_until_it_is_interrupted(isolated: Path) -> None:
    with serve_process(isolated / "kb") as process:
        assert httpx.get(f"{process.address}/readyz").json() == {"status": "ready"}
        asked = httpx.post(f"{process.address}/v1/ask", json={"question": "Anything?"}, timeout=60)
        assert asked.json()["status"] == "no_knowledge"
        assert process.interrupt() == 0


def test_an_address_that_others_reach_is_refused_without_a_key(isolated: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "anabranch", "serve", "--host", "0.0.0.0"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert "0.0.0.0" in done.stderr
    assert "anabranch keys create" in done.stderr


def test_several_processes_serve_one_address(isolated: Path) -> None:
    with serve_process(isolated / "kb", ANABRANCH_WORKERS="2") as process:
        transport = httpx.HTTPTransport(retries=20)  # they are still opening the knowledge base
        with httpx.Client(base_url=process.address, transport=transport, timeout=60) as client:
            assert client.get("/readyz").json() == {"status": "ready"}
        assert process.interrupt() == 0


def test_a_port_that_is_taken_is_told(isolated: Path) -> None:
    with serve_process(isolated / "kb") as process:
        port = process.address.rpartition(":")[2]
        done = subprocess.run(
            [sys.executable, "-m", "anabranch", "serve", "--kb", "other", "--port", port],
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            capture_output=True,
            text=True,
        )
    assert done.returncode == 3
    assert "address already in use" in done.stderr


@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_cannot_start_ends_and_says_why(isolated: Path, workers: str) -> None:
    kb = isolated / "kb"
    kb.mkdir()
    (kb / "sessions.sqlite").write_text("no database, but something that was put here by mistake")
    done = subprocess.run(
        [sys.executable, "-m", "anabranch", "serve", "--kb", str(kb), "--port", "0"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "ANABRANCH_WORKERS": workers},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert "could not start: The database of sessions and jobs refused" in done.stderr
    assert "Traceback" not in done.stderr
