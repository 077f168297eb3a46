"""How long a system takes from texts to a first answered search, beside the encoder alone.

It is imported in environments that do not have Anabranch.
"""

from __future__ import annotations

import itertools
import resource
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.encoder import Encoder
from benchmarks.peers.exchange import Passage, read_lines

INGESTED = 1_000
# Added and asked first, so that what is imported and loaded once is in nobody's figure: more than a
# search asks for, and other texts than those measured, so that none of these is remembered.
THROWN_AWAY = 120


def measure_ingestion(
    encoder: Encoder, scale: Path, index: Callable[[Sequence[Passage]], None]
) -> dict[str, Any]:
    """Seconds, of the clock and of all cores, of ``index`` and of the encoder on the same texts.

    ``index`` makes passages searchable, in an index of their own, and searches them once.
    """
    rows = itertools.islice(read_lines(scale / "texts.jsonl"), INGESTED + THROWN_AWAY)
    passages = [Passage(row["id"], row["text"]) for row in rows]
    measured, thrown_away = passages[:INGESTED], passages[INGESTED:]
    encoder.many([passage.text for passage in thrown_away])
    index(thrown_away)
    alone = _timed(lambda: encoder.many([passage.text for passage in measured]))
    whole = _timed(lambda: index(measured))
    for figures in (whole, alone):
        figures["per_second"] = len(measured) / figures["seconds"]
    return {
        "passages": len(measured),
        **whole,
        "encoder": alone,
        "of_encoder": alone["seconds"] / whole["seconds"],
    }


def first_words(passages: Sequence[Passage]) -> str:
    """A question that finds something: how the last of the passages begins."""
    return passages[-1].text[:80]


def _timed(work: Callable[[], object]) -> dict[str, float]:
    started, processor = time.perf_counter(), _processor_seconds()
    work()
    return {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": _processor_seconds() - processor,
    }


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
