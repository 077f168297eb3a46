"""How a fan-out scales: latency, processor time, memory and throughput at several corpus sizes.

    .venv/bin/python benchmarks/scale.py --cache FOLDER [--indexes FOLDER] [--sizes 5000 20000 100000]

What is measured is ``fanout.retrieve`` itself, from texts to merged passages: the encoder included,
every wording new to it, no hops and no model (minimal effort, the wordings given as variants). Each
size has a process of its own. The corpus is the one of ``scale_corpus.py``, one passage a document;
it and the stores over it are made in ``--cache`` once. Results are dated JSON with the commit.
Figures of a busy machine say little: the load before and after stands beside them.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from peers.figures import spread
from record import RESULTS, provenance, write_results
from scale_corpus import make_corpus

from anabranch import fanout
from anabranch.build import Built, build
from anabranch.chunking import text_hash
from anabranch.lexicon import mine
from anabranch.ports import Budgets, IndexedDocument, RequestContext
from anabranch.settings import load_settings
from anabranch.trace import Trace, ignore_event
from anabranch.types import Chunk, Document, Level, Query, Scope, SourceRecord, Variant

SIZES = (5_000, 20_000, 100_000)
WAYS = (1, 4, 8)
ASKERS = (1, 8, 20, 32)
FAN_OUT = 4
# Lines of queries.jsonl: each is asked once in a process, so that every wording is a new one.
WARM_UP, PER_WAY, FAN_OUTS = 50, 100, 320
BATCH = 2_000


def main() -> None:
    arguments = _arguments()
    if arguments.measure:
        print(json.dumps(asyncio.run(_measure(arguments.cache, arguments.measure))))
        return
    if arguments.indexes:
        make_corpus(arguments.indexes, arguments.cache)
    results: dict[str, Any] = {
        **provenance(),
        "cores": len(os.sched_getaffinity(0)),
        "sizes": {},
    }
    for size in arguments.sizes:
        if not _store_of(arguments.cache, size).with_suffix(".ready").is_file():
            print(f"storing {size:,} passages …", file=sys.stderr)
            asyncio.run(_fill(arguments.cache, size))
        if arguments.only_fill:
            continue
        print(f"measuring {size:,} passages …", file=sys.stderr)
        command = [sys.executable, __file__, "--cache", str(arguments.cache)]
        load = os.getloadavg()[0]
        done = subprocess.run(
            [*command, "--measure", str(size)], check=True, stdout=subprocess.PIPE, text=True
        )
        found = {**json.loads(done.stdout), "load": [load, os.getloadavg()[0]]}
        print(json.dumps(found, indent=1), file=sys.stderr)
        results["sizes"][str(size)] = found
    if results["sizes"]:
        write_results(results, arguments.output, kind="scale", digits=2)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cache", type=Path, required=True, help="corpus and stores, kept")
    parser.add_argument("--indexes", type=Path, help="cache of anabranch eval, for the corpus")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--only-fill", action="store_true", help="make the stores, measure nothing")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


# ----------------------------------------------------------------------------------- the store


def _store_of(cache: Path, size: int) -> Path:
    return cache / f"anabranch-{size}"


async def _fill(cache: Path, size: int) -> None:
    built = await _open(cache, size)
    try:
        documents = _documents(cache, size)
        while batch := list(itertools.islice(documents, BATCH)):
            await built.parts.store.replace(batch)
        await built.parts.store.optimize()
    finally:
        await built.close()
    _store_of(cache, size).with_suffix(".ready").touch()


async def _open(cache: Path, size: int) -> Built:
    settings = load_settings(kb=_store_of(cache, size))
    built = await build(settings.kb, settings, create=True)
    assert built is not None  # it is made where there is none
    return built


def _documents(cache: Path, size: int) -> Iterator[IndexedDocument]:
    vectors = np.load(cache / "vectors.npy", mmap_mode="r")
    windows = np.load(cache / "windows.npy", mmap_mode="r")
    ends = np.cumsum(np.load(cache / "window_counts.npy"))
    with (cache / "texts.jsonl").open(encoding="utf-8") as file:
        for number, line in enumerate(itertools.islice(file, size)):
            row = json.loads(line)
            start = ends[number - 1] if number else 0
            yield IndexedDocument(
                record=_record(row["id"], row["text"]),
                document=_document(row["id"], row["text"]),
                chunks=_chunks(row["id"], row["text"]),
                vectors=np.array(vectors[number : number + 1]),
                lexicon=mine(row["text"]),
                windows=(np.array(windows[start : ends[number]]),),
            )


def _record(name: str, text: str) -> SourceRecord:
    return SourceRecord(
        source_id=name, collection="default", source=name, location=name, title="",
        media_type="text/plain", content_hash=text_hash(text), characters=len(text),
        page_count=None, chunk_count=1, added_at="",
    )  # fmt: skip


def _document(name: str, text: str) -> Document:
    return Document(
        source=name, title="", text=text, content_hash=text_hash(text), media_type="text/plain"
    )


def _chunks(name: str, text: str) -> tuple[Chunk, ...]:
    """The three levels of a text that is one passage, as the chunker cuts a short one."""
    levels: tuple[Level, ...] = (1, 2, 3)
    return tuple(
        Chunk(
            chunk_id=f"{name}-{level}", source_id=name, collection="default", source=name,
            title="", text=text, start=0, end=len(text), chunk_index=0, level=level,
            content_hash=text_hash(text), parent_id=f"{name}-{level - 1}" if level > 1 else None,
        )
        for level in levels
    )  # fmt: skip


# ----------------------------------------------------------------------------------- measuring


async def _measure(cache: Path, size: int) -> dict[str, Any]:
    before = _resident_mb()
    built = await _open(cache, size)
    with (cache / "queries.jsonl").open(encoding="utf-8") as file:
        wordings = [json.loads(line)["wordings"] for line in file]
    questions = iter(wordings)
    started = time.perf_counter()
    await _fan_out(built, next(questions)[:FAN_OUT])
    first = (time.perf_counter() - started) * 1000
    for wording in itertools.islice(questions, WARM_UP):
        await _fan_out(built, wording[:FAN_OUT])
    found: dict[str, Any] = {"first_ms": first, "ways": {}, "askers": {}}
    for ways in WAYS:
        found["ways"][str(ways)] = await _alone(
            built, [wording[:ways] for wording in itertools.islice(questions, PER_WAY)]
        )
    ways_found = found["ways"]
    for of in ("p50_ms", "cpu_ms"):
        added = ways_found[str(WAYS[-1])][of] - ways_found[str(WAYS[0])][of]
        found[f"{of}_per_added_query"] = added / (WAYS[-1] - WAYS[0])
    for askers in ASKERS:
        fan_outs = FAN_OUTS if askers > 1 else PER_WAY
        found["askers"][str(askers)] = await _together(
            built, [wording[:FAN_OUT] for wording in itertools.islice(questions, fan_outs)], askers
        )
    found["resident_mb"] = {"before": before, "after": _resident_mb()}
    await built.close()
    return found


async def _fan_out(built: Built, wordings: Sequence[str]) -> float:
    """Milliseconds of one retrieval; raises if a leg of it failed or nothing was found."""
    now = time.perf_counter()
    context = RequestContext(
        parts=built.parts, scope=Scope(), budgets=Budgets(effort="minimal", query_timeout=60),
        started=now, deadline=now + 60, index_fingerprint="", signing_key=built.signing_key,
    )  # fmt: skip
    question = Query(id="q1", text=wordings[0], kind="original")
    variants = [Variant(text) for text in wordings[1:]]
    retrieval = await fanout.retrieve(
        question, context, trace=Trace(ignore_event, now), parent="bench", variants=variants
    )
    if retrieval.failures or not retrieval.passages:
        raise RuntimeError(f"{wordings[0]!r}: {retrieval.failures!r}")
    return (time.perf_counter() - now) * 1000


async def _alone(built: Built, questions: Sequence[Sequence[str]]) -> dict[str, float]:
    processor = time.process_time()
    times = [await _fan_out(built, wordings) for wordings in questions]
    return {
        **spread(times),
        "cpu_ms": (time.process_time() - processor) * 1000 / len(questions),
    }


async def _together(built: Built, questions: list[Sequence[str]], askers: int) -> dict[str, float]:
    waiting, times = iter(questions), list[float]()

    async def asker() -> None:
        for wordings in waiting:
            times.append(await _fan_out(built, wordings))

    started, processor = time.perf_counter(), time.process_time()
    await asyncio.gather(*(asker() for _ in range(askers)))
    return {
        **spread(times),
        "cpu_ms": (time.process_time() - processor) * 1000 / len(questions),
        "fan_outs_per_second": len(times) / (time.perf_counter() - started),
    }


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
