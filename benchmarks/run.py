"""``make bench``: how fast, how large and (where the data sets are) how good; kept with the commit.

    .venv/bin/python benchmarks/run.py [--quality] [--output FOLDER]

Results are dated JSON in ``benchmarks/results``. Times depend on the machine and on what else runs
there: compare figures of one run, or runs on one idle machine. ``--quality`` also runs the open
evaluation sets that ``ANABRANCH_DATA`` (or ``../shared/data``) holds, which takes an hour the first
time; without the folder it says so and leaves them out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from peers.figures import spread
from record import RESULTS, ROOT, provenance, write_results

from anabranch import KnowledgeBase, __version__
from anabranch.models.onnx_embedder import OnnxEmbedder
from anabranch.ports import PassageText

EXAMPLES = ROOT / "examples"
VARIANTS = (0, 1, 2, 4, 8)
ASKERS = (1, 8, 20, 32)
ROUNDS = 3
# Name, split, first N queries, and the filter of queries that have an answer at all.
QUALITY = (
    ("scifact", "train", 300), ("cranfield", "test", None), ("cacm", "test", None),
    ("med", "test", None), ("hotpotqa_mix", "test", None), ("musique_100", "test", None),
    ("multihop_rag_500", "test", None), ("squad2_dev", "test", 500),
)  # fmt: skip


def main() -> None:
    arguments = _arguments()
    results: dict[str, Any] = {
        "version": __version__,
        **provenance(),
        "machine": {
            "python": platform.python_version(),
            "processor": platform.machine(),
            "cores": len(os.sched_getaffinity(0)),
            "load_at_start": os.getloadavg()[0],
        },
        "command": _command(),
    }
    questions = [
        json.loads(line)["question"]
        for line in (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    with tempfile.TemporaryDirectory() as folder, KnowledgeBase.open(Path(folder) / "kb") as base:
        results["ingestion"] = _ingestion(base)
        results["ask"] = _ask(base, questions)
        results["retrieve_by_variants"] = _retrieve(base, questions)
        results["concurrent_asks"] = asyncio.run(_concurrent(base, questions))
    results["peak_memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if arguments.quality:
        results["quality"] = _quality(arguments.cache)
    written = write_results(results, arguments.output)
    shown = {key: value for key, value in written.items() if key != "quality"}
    print(json.dumps(shown, indent=1, ensure_ascii=False))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quality", action="store_true", help="also run the evaluation sets")
    parser.add_argument("--cache", type=Path, help="where the evaluation sets are indexed")
    parser.add_argument("--output", type=Path, default=RESULTS)
    return parser.parse_args()


def _command() -> dict[str, Any]:
    """Seconds of ``anabranch --help``, and what the environment weighs."""
    times = []
    for _ in range(2 * ROUNDS):
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "anabranch", "--help"], check=True, capture_output=True
        )
        times.append(time.perf_counter() - started)
    packages = Path(json.__file__).parents[1] / "site-packages"
    if sys.prefix != sys.base_prefix:
        packages = next(Path(sys.prefix).glob("lib/python*/site-packages"))
    sizes = {item.name: _size(item) for item in packages.iterdir()}
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:10]
    return {
        "help_seconds": statistics.median(times[1:]),
        "environment_mb": sum(sizes.values()),
        "largest_mb": dict(largest),
    }


def _size(path: Path) -> float:
    files = path.rglob("*") if path.is_dir() else iter([path])
    return sum(file.lstat().st_size for file in files if file.is_file()) / 1e6


def _ingestion(base: KnowledgeBase) -> dict[str, float]:
    started = time.perf_counter()
    report = base.add(EXAMPLES / "documents")
    seconds = time.perf_counter() - started
    again = base.add(EXAMPLES / "documents")
    chunks = sum(file.chunks for file in report.files)
    return {
        "files": len(report.files),
        "chunks": chunks,
        "seconds": seconds,
        "chunks_per_second": chunks / seconds,
        "seconds_when_unchanged": again.elapsed_ms / 1000,
        "raw_encoder_chunks_per_second": asyncio.run(_raw_encoder(base)),
    }


async def _raw_encoder(base: KnowledgeBase) -> float:
    """Passages a second of the encoder alone, on texts as long as the leaves."""
    text = "\n".join([base.source_text(record.source) for record in base.sources()][:8])
    passages = [PassageText(text[at : at + 500]) for at in range(0, 40_000, 500) if text[at:]]
    embedder = OnnxEmbedder.bundled()
    await embedder.embed_passages(passages[:2])
    started = time.perf_counter()
    await embedder.embed_passages(passages[2:])
    seconds = time.perf_counter() - started
    await embedder.close()
    return (len(passages) - 2) / seconds


def _ask(base: KnowledgeBase, questions: Sequence[str]) -> dict[str, float]:
    for question in questions:
        base.ask(question)
    # Another wording of the same question, so that its vector is not remembered.
    fresh = [f"{question} (round {n})" for n in range(ROUNDS) for question in questions]
    return spread([_timed(lambda q=question: base.ask(q)) for question in fresh])


def _retrieve(base: KnowledgeBase, questions: Sequence[str]) -> dict[str, Any]:
    by_count: dict[str, Any] = {}
    for count in VARIANTS:
        fresh = [f"{question} (with {count}, {n})" for n in range(ROUNDS) for question in questions]
        cpu = time.process_time()
        times = [_timed(lambda q=q, n=count: base.retrieve(q, variants=n)) for q in fresh]
        by_count[str(count)] = {
            **spread(times),
            "cpu_ms": (time.process_time() - cpu) * 1000 / len(fresh),
        }
    first, last = (by_count[str(count)]["p50_ms"] for count in (VARIANTS[0], VARIANTS[-1]))
    by_count["ms_per_added_variant"] = (last - first) / VARIANTS[-1]
    return by_count


async def _concurrent(base: KnowledgeBase, questions: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for askers in ASKERS:
        waiting = [f"{question} (by {askers})" for question in questions for _ in range(2)]
        times: list[float] = []

        async def asker(queue: list[str] = waiting, kept: list[float] = times) -> None:
            while queue:
                question = queue.pop()
                kept.append(await _atimed(lambda q=question: base.aask(q)))

        started = time.perf_counter()
        await asyncio.gather(*(asker() for _ in range(askers)))
        seconds = time.perf_counter() - started
        found[str(askers)] = {**spread(times), "asks_per_second": len(times) / seconds}
    return found


def _quality(cache: Path | None) -> dict[str, Any]:
    data = Path(os.environ.get("ANABRANCH_DATA", ROOT.parent / "shared" / "data"))
    found: dict[str, Any] = {}
    for name, split, limit in QUALITY:
        if not (data / name).is_dir():
            print(f"left out: {name} is not in {data}", file=sys.stderr)
            continue
        command = [sys.executable, "-m", "anabranch", "eval", str(data / name), "--json"]
        command += ["--split", split]
        command += ["--limit", str(limit)] if limit else []
        command += ["--cache", str(cache)] if cache else []
        print(f"evaluating {name} …", file=sys.stderr)
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found[name] = json.loads(done.stdout)
    return found


def _timed(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000


async def _atimed(call: Callable[[], Awaitable[Any]]) -> float:
    started = time.perf_counter()
    await call()
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    main()
