"""Measures one peer inside its own environment; ``run.py`` starts it, a process for each piece.

python -m benchmarks.peers.worker quality    PEER --set FOLDER      --output FILE
python -m benchmarks.peers.worker latency    PEER --scale FOLDER --size N --output FILE
python -m benchmarks.peers.worker ingestion  PEER --scale FOLDER    --output FILE
python -m benchmarks.peers.worker robustness PEER                   --output FILE
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.peers.encoder import Encoder
from benchmarks.peers.exchange import (
    Passage,
    documents_in_order,
    read_lines,
    read_scale,
    read_set,
)
from benchmarks.peers.figures import spread
from benchmarks.peers.ingesting import first_words, measure_ingestion
from benchmarks.peers.peer import Mode, Peer, mode_named
from benchmarks.peers.robustness import measure_robustness

PEERS = {
    "baseline": "Baseline",
    "txtai": "Txtai",
    "langchain": "LangChain",
    "llamaindex": "LlamaIndex",
    "haystack": "Haystack",
}
DOCUMENTS_KEPT = 100
# Seconds after which a quality run that takes minutes writes down what it has.
KEPT_EVERY = 20
WAYS = (1, 4, 8)
FAN_OUT = 4
# Many at once only where a slow library ends within minutes.
ASKERS, SMALL = (20, 32), 5_000
# Lines of queries.jsonl: each part has its own, so that no wording is asked twice.
WARM_UP, PER_WAY, ASKED_AT_ONCE_FROM = 20, 100, 400
# A slow library is not asked a hundred times: it gets so many seconds for each figure, is asked
# twice at least, and not eight wordings where four take so many milliseconds.
SECONDS, LEAST = 3.0, 2
SLOW_MS = 2_000


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("quality", "latency", "ingestion", "robustness"))
    parser.add_argument("peer", choices=tuple(PEERS))
    parser.add_argument("--set", type=Path)
    parser.add_argument("--scale", type=Path)
    parser.add_argument("--size", type=int)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    kind = _kind(arguments.peer)
    measures: dict[str, Callable[[], Any]] = {
        "quality": lambda: _quality(kind, arguments.set, arguments.output),
        "latency": lambda: _latency(kind, arguments.scale, arguments.size),
        "ingestion": lambda: _ingestion(kind, arguments.scale),
        "robustness": lambda: measure_robustness(kind),
    }
    found = {
        "versions": {package: version(package) for package in kind.packages},
        "python": platform.python_version(),
        arguments.what: measures[arguments.what](),
    }
    written = arguments.output.with_suffix(".part")
    written.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
    written.rename(arguments.output)  # so that a piece that is there is whole


def _kind(name: str) -> Any:
    return getattr(importlib.import_module(f"benchmarks.peers.{name}"), PEERS[name])


# ------------------------------------------------------------------------------------- quality


def _quality(kind: Any, folder: Path, output: Path) -> dict[str, Any]:
    """Ranked documents by mode and question; goes on where an earlier run was stopped."""
    data = read_set(folder)
    encoder = Encoder(data.known)
    peer: Peer = kind(encoder, for_quality=True)
    peer.index(data.passages)
    modes = peer.modes()
    progress = output.with_suffix(".progress")
    rankings: dict[str, dict[str, list[str]]] = {mode.name: {} for mode in modes}
    if progress.is_file():
        rankings.update(json.loads(progress.read_text("utf-8")))
    kept = time.monotonic()
    for question in data.questions:
        for mode in modes:
            if question.id not in rankings[mode.name]:
                found = documents_in_order(data.passages, _ask(mode, question.wordings))
                rankings[mode.name][question.id] = found[:DOCUMENTS_KEPT]
        if time.monotonic() - kept > KEPT_EVERY:
            progress.write_text(json.dumps(rankings), encoding="utf-8")
            kept = time.monotonic()
    if encoder.runs:
        raise RuntimeError(f"{encoder.runs} texts were embedded that should have been known.")
    progress.unlink(missing_ok=True)
    return {"rankings": rankings, "multi": [mode.name for mode in modes if mode.multi]}


def _ask(mode: Mode, wordings: Sequence[str]) -> list[int]:
    return mode.search(wordings if mode.multi else wordings[:1])


# --------------------------------------------------------------------------------------- speed


def _latency(kind: Any, folder: Path, size: int) -> dict[str, Any]:
    passages, known = read_scale(folder, size)
    before = resident_mb()
    encoder = Encoder(known)
    encoder.load()
    peer: Peer = kind(encoder)
    started = time.perf_counter()
    peer.index(passages)
    found: dict[str, Any] = {
        "index_seconds": time.perf_counter() - started,
        "resident_mb": {"before": before, "after": resident_mb()},
        "ways": {},
        "askers": {},
    }
    asked = [row["wordings"] for row in read_lines(folder / "queries.jsonl")]
    single, multi = mode_named(peer, peer.timed_single), mode_named(peer, peer.timed_multi)
    _alone(single, asked[:WARM_UP], seconds=SECONDS / 2)
    first = 50
    for ways in WAYS:
        if ways > FAN_OUT and found["ways"][str(FAN_OUT)]["p50_ms"] > SLOW_MS:
            continue
        questions = [wordings[:ways] for wordings in asked[first : first + PER_WAY]]
        found["ways"][str(ways)] = _alone(single if ways == 1 else multi, questions)
        first += PER_WAY
    rest = iter(asked[ASKED_AT_ONCE_FROM:])
    for askers in ASKERS if size <= SMALL else ():
        found["askers"][str(askers)] = _together(multi, rest, askers)
    return found


def _alone(
    mode: Mode, questions: Sequence[Sequence[str]], *, seconds: float = SECONDS
) -> dict[str, Any]:
    """One after another until the time is up."""
    times: list[float] = []
    began, processor = time.perf_counter(), time.process_time()
    for wordings in questions:
        started = time.perf_counter()
        _checked(mode, wordings)
        times.append((time.perf_counter() - started) * 1000)
        if len(times) >= LEAST and time.perf_counter() - began > seconds:
            break
    cpu = (time.process_time() - processor) * 1000 / len(times)
    return {**spread(times), "cpu_ms": cpu}


def _together(mode: Mode, rest: Iterator[Sequence[str]], askers: int) -> dict[str, Any]:
    """Four-way fan-outs of ``askers`` threads; one at a time where the library cannot do more."""
    found, error = _threads(mode, rest, askers)
    if error is None:
        return found
    # An index that belongs to one thread is asked by that thread: the others wait their turn.
    times: list[float] = []
    began = time.perf_counter()
    while not times or time.perf_counter() - began < SECONDS / 2:
        _checked(mode, next(rest)[:FAN_OUT])
        times.append(time.perf_counter() - began)
    waited = [(end - (times[at - askers] if at >= askers else 0.0)) * 1000
              for at, end in enumerate(times)]  # fmt: skip
    return {
        **spread(waited),
        "fan_outs_per_second": len(times) / times[-1],
        "raised_in_threads": error,
    }


def _threads(
    mode: Mode, rest: Iterator[Sequence[str]], askers: int
) -> tuple[dict[str, Any], str | None]:
    times: list[float] = []
    errors: list[str] = []
    lock = threading.Lock()
    began, processor = time.perf_counter(), time.process_time()

    def asker(_: int) -> None:
        # Each asks once at least, so that a slow library has a figure at all.
        while not errors:
            with lock:
                wordings = next(rest, None)
            if wordings is None:
                return
            started = time.perf_counter()
            try:
                _checked(mode, wordings[:FAN_OUT])
            except Exception as error:
                errors.append(f"{type(error).__name__}: {str(error).splitlines()[0][:120]}")
                return
            times.append((time.perf_counter() - started) * 1000)
            if time.perf_counter() - began > SECONDS / 2:
                return

    with ThreadPoolExecutor(askers) as pool:
        list(pool.map(asker, range(askers)))
    if errors:
        return {}, errors[0]
    seconds, cpu = time.perf_counter() - began, time.process_time() - processor
    return {
        **spread(times),
        "cpu_ms": cpu * 1000 / len(times),
        "fan_outs_per_second": len(times) / seconds,
    }, None


def _checked(mode: Mode, wordings: Sequence[str]) -> None:
    if not mode.search(wordings)[:10]:
        raise RuntimeError(f"{mode.name} found nothing for {wordings!r}.")


def _ingestion(kind: Any, folder: Path) -> dict[str, Any]:
    """Texts until they can be searched, encoder included; and the encoder alone, in this process."""
    encoder = Encoder()
    encoder.load()

    def index(passages: Sequence[Passage]) -> None:
        peer: Peer = kind(encoder)
        peer.index(passages)
        _checked(mode_named(peer, peer.timed_single), [first_words(passages)])

    return measure_ingestion(encoder, folder, index)


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
