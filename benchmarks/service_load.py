"""Load on the service: streamed asks at the same time over the sample documents.

    python benchmarks/service_load.py [--workers 2] [--concurrent 200] [--requests 1000]

Starts `anabranch serve` over a temporary knowledge base and prints one JSON document: throughput,
latencies, errors, streams that held somebody else's question, processor time of server and client for
an ask, and the memory of each server process before and after every thousand. Client and server share
the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
from httpx_sse import EventSource

EXAMPLES = Path(__file__).parents[1] / "examples" / "documents"
QUESTIONS = (
    "How many days of annual leave does the Berlin office have?",
    "May I bring my dog to work in Berlin?",
    "How does annual leave differ between Berlin and Boston?",
    "What is the boiling point of tungsten?",
    "How long is the warranty of the Plover?",
)
ENDINGS = {"run.finished", "run.needs_input", "run.failed"}


async def ask(client: httpx.AsyncClient, number: int) -> tuple[float, str]:
    """Seconds that a streamed ask took, and what was wrong with it."""
    # No two are the same: a stream that holds another one's question is found out.
    question = f"{QUESTIONS[number % len(QUESTIONS)]} ({number})"
    started = time.perf_counter()
    wrong, endings = "", []
    try:
        async with client.stream(
            "POST", "/v1/ask", json={"question": question, "timeout": 300},
            headers={"Accept": "text/event-stream"},
        ) as response:  # fmt: skip
            async for event in EventSource(response).aiter_sse():
                data = event.json()
                if "question" in data and data["question"] != question:
                    wrong = "mixed"
                if event.event in ENDINGS:
                    endings.append((event.event, data["status"]))
        if len(endings) != 1 or endings[0][1] == "failed":
            wrong = wrong or f"ended with {endings}"
    except httpx.HTTPError as error:
        wrong = type(error).__name__
    return time.perf_counter() - started, wrong


async def run(
    address: str, *, concurrent: int, requests: int,
    every_thousand: Callable[[], object] = lambda: None,
) -> dict[str, object]:  # fmt: skip
    done = 0
    slots = asyncio.Semaphore(concurrent)
    limits = httpx.Limits(max_connections=concurrent)
    async with httpx.AsyncClient(base_url=address, timeout=300, limits=limits) as client:

        async def one(number: int) -> tuple[float, str]:
            nonlocal done
            async with slots:
                result = await ask(client, number)
            done += 1
            if not done % 1_000:
                every_thousand()
            return result

        started = time.perf_counter()
        results = await asyncio.gather(*(one(number) for number in range(requests)))
        seconds = time.perf_counter() - started
    times = sorted(taken for taken, _ in results)
    wrong = [what for _, what in results if what]
    return {
        "requests": requests, "concurrent": concurrent, "seconds": round(seconds, 1),
        "per_second": round(requests / seconds, 1), "p50_ms": round(1000 * statistics.median(times)),
        "p95_ms": round(1000 * times[int(0.95 * len(times))]),
        "mixed": wrong.count("mixed"), "errors": sorted(set(wrong) - {"mixed"}),
        "error_count": len(wrong) - wrong.count("mixed"),
    }  # fmt: skip


def family(parent: int) -> list[tuple[int, float, float]]:
    """The id of the process and of each below it, with MB held and seconds of processor time."""
    listed = subprocess.run(
        ["ps", "-eo", "pid,ppid,rss"], capture_output=True, text=True, check=True
    )
    rows = [tuple(map(int, line.split())) for line in listed.stdout.splitlines()[1:]]
    found = {parent}
    while below := {pid for pid, above, _ in rows if above in found} - found:
        found |= below
    return [(pid, size / 1024, _seconds(pid)) for pid, _, size in rows if pid in found]


def _seconds(pid: int) -> float:
    # Behind the name, which may hold anything, in parentheses: fields 14 and 15, from 3 on.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(parent: int) -> list[int]:
    """What each process holds, in MB."""
    return [round(size) for _, size, _ in family(parent)]


def processor_seconds(parent: int) -> float:
    return sum(seconds for _, _, seconds in family(parent))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--concurrent", type=int, default=200)
    parser.add_argument("--requests", type=int, default=1_000)
    chosen = parser.parse_args()
    anabranch = [sys.executable, "-m", "anabranch"]
    with tempfile.TemporaryDirectory() as folder:
        kb = ["--kb", f"{folder}/kb"]
        subprocess.run(
            [*anabranch, "add", str(EXAMPLES), *kb, "--json"], check=True, capture_output=True
        )
        server = subprocess.Popen(
            [*anabranch, "serve", *kb, "--port", "0", "--workers", str(chosen.workers)],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        try:
            assert server.stderr is not None
            address = next(
                filter(None, (re.search(r"http://[\d.:]+", line) for line in server.stderr))
            )[0]
            # Else it would stop once its log has filled the pipe.
            threading.Thread(target=server.stderr.read, daemon=True).start()
            ready = httpx.HTTPTransport(retries=20)
            with httpx.Client(transport=ready, timeout=60) as client:
                client.get(f"{address}/readyz").raise_for_status()
            asyncio.run(
                run(address, concurrent=8, requests=40)
            )  # every worker has opened its parts
            memory = [memory_mb(server.pid)]
            used, own = processor_seconds(server.pid), time.process_time()
            measured = asyncio.run(
                run(
                    address, concurrent=chosen.concurrent, requests=chosen.requests,
                    every_thousand=lambda: memory.append(memory_mb(server.pid)),
                )
            )  # fmt: skip
            used, own = processor_seconds(server.pid) - used, time.process_time() - own
        finally:
            server.terminate()
            server.wait()
    print(
        json.dumps(
            {
                "workers": chosen.workers, **measured,
                "server_cpu_ms": round(1000 * used / chosen.requests, 1),
                "client_cpu_ms": round(1000 * own / chosen.requests, 1),
                "mb_by_process": memory,
            }
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()
