"""What is measured of an ingestion: other texts first, then the encoder, then the system."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from benchmarks.peers.encoder import Encoder
from benchmarks.peers.exchange import Passage
from benchmarks.peers.ingesting import INGESTED, THROWN_AWAY, measure_ingestion


class Recorded(Encoder):
    """Notes what it was asked, and computes nothing."""

    def __init__(self, asked: list[tuple[str, int]]) -> None:
        super().__init__()
        self._asked = asked

    def many(self, texts: Sequence[str]) -> np.ndarray:
        self._asked.append(("encoder", len(texts)))
        return np.zeros((len(texts), 1))


def test_nothing_that_is_measured_was_seen_before(tmp_path: Path) -> None:
    lines = [json.dumps({"id": str(n), "text": f"text {n}"}) for n in range(2 * INGESTED)]
    (tmp_path / "texts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    asked: list[tuple[str, int]] = []
    indexed: list[Sequence[Passage]] = []

    def index(passages: Sequence[Passage]) -> None:
        asked.append(("system", len(passages)))
        indexed.append(passages)

    found = measure_ingestion(Recorded(asked), tmp_path, index)
    assert asked == [
        ("encoder", THROWN_AWAY), ("system", THROWN_AWAY),
        ("encoder", INGESTED), ("system", INGESTED),
    ]  # fmt: skip
    first, measured = ({passage.text for passage in passages} for passages in indexed)
    assert not first & measured
    assert found["passages"] == INGESTED
    assert found["of_encoder"] == found["encoder"]["seconds"] / found["seconds"]
