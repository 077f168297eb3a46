"""The corpus of the scale benchmark: real passages with their vectors, the same for everybody.

    .venv/bin/python benchmarks/scale_corpus.py --indexes FOLDER --cache FOLDER

``--indexes`` is the cache of ``anabranch eval``: passages and their vectors are taken from the
indexes in it, so that nothing is embedded. What these do not fill is recombined: the first
sentences of one passage with the last ones of another of the same set, and the mean of both
vectors with a little seeded noise. The cache folder then holds

- ``texts.jsonl``: ``{"id", "text"}``; the corpus of size N is the first N lines;
- ``vectors.npy``: 32-bit floats of unit length, a row for each text;
- ``windows.npy`` and ``window_counts.npy``: the window vectors of all texts, and each one's number;
- ``queries.jsonl``: ``{"id", "wordings"}``, eight wordings of each question, the first as asked.

Everything depends on the indexes and the seed alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from anabranch.evaluation.datasets import load_dataset
from anabranch.language import question_terms, sentence_spans, window_spans, words
from anabranch.ports import Vectors, Windows
from anabranch.stores.documents import chunk_from_json
from anabranch.stores.lance import LanceStore
from anabranch.stores.rows import ITEM, windows_from_rows

ROOT = Path(__file__).parents[1]
# English sets with passages as people write them; the questions are theirs too.
SETS = (
    "squad2_dev", "hotpotqa_mix", "musique_100", "multihop_rag_500", "scifact", "cranfield",
    "cacm", "med",
)  # fmt: skip
SIZE = 100_000
SEED = 20_26
NOISE = 0.1
LONGEST_QUESTION = 200


@dataclass(frozen=True, slots=True)
class Passage:
    """A text as it was embedded, its vector and those of its windows, and the set it is from."""

    text: str
    vector: Vectors
    windows: Windows
    origin: str


def make_corpus(indexes: Path, cache: Path, *, size: int = SIZE) -> None:
    """Write the files into ``cache``; one that is there already stays."""
    if (cache / "queries.jsonl").is_file():
        return
    cache.mkdir(parents=True, exist_ok=True)
    passages = _real(indexes)
    chance = np.random.default_rng(SEED)
    chance.shuffle(passages)
    passages = passages[:size]
    passages.extend(_recombined(passages, size - len(passages), chance))
    with (cache / "texts.jsonl").open("w", encoding="utf-8") as file:
        for number, passage in enumerate(passages):
            row = {"id": f"p{number:06}", "text": passage.text}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    np.save(cache / "vectors.npy", np.array([passage.vector for passage in passages]))
    counts = np.array([len(passage.windows) for passage in passages], dtype=np.int64)
    np.save(cache / "window_counts.npy", counts)
    np.save(cache / "windows.npy", np.concatenate([passage.windows for passage in passages]))
    _write_queries(cache, np.random.default_rng(SEED + 1))  # last: it says that all are there


def _real(indexes: Path) -> list[Passage]:
    found: list[Passage] = []
    for name in SETS:
        for folder in sorted(indexes.glob(f"{name}-*/index-1/store")):
            found.extend(asyncio.run(_leaves(folder, name)))
    if not found:
        sys.exit(
            f"{str(indexes)!r} holds no index of {', '.join(SETS)}: run anabranch eval with "
            f"--cache {str(indexes)!r} first."
        )
    return found


async def _leaves(folder: Path, name: str) -> list[Passage]:
    store = await LanceStore.open(folder, dimensions=384)
    rows = await store.rows(["level", "chunk_id", ITEM, "vector", "windows"])
    await store.close()
    windows = windows_from_rows(rows.select(["chunk_id", "windows"]), 384)
    found: dict[str, Passage] = {}
    for level, chunk_id, item, vector in zip(
        *(rows.column(c).to_pylist() for c in ("level", "chunk_id", ITEM, "vector")), strict=True
    ):
        if level == 3 and chunk_id in windows:
            chunk = chunk_from_json(item)
            text = f"{chunk.context}\n{chunk.text}" if chunk.context else chunk.text
            row = np.array(vector, dtype=np.float32)
            found[text] = Passage(text, row, _fitted(windows[chunk_id], text), name)
    return [found[text] for text in sorted(found)]


def _fitted(windows: Windows, text: str) -> Windows:
    """As many rows as ``text`` has windows, repeated where there are too few."""
    return np.resize(windows, (len(window_spans(text)), windows.shape[1]))


def _recombined(
    passages: Sequence[Passage], count: int, chance: np.random.Generator
) -> Iterator[Passage]:
    by_origin: dict[str, list[Passage]] = {}
    for passage in passages:
        by_origin.setdefault(passage.origin, []).append(passage)
    for _ in range(count):
        first = passages[int(chance.integers(len(passages)))]
        family = by_origin[first.origin]
        second = family[chance.integers(len(family))]
        head, tail = _half(first.text, first=True), _half(second.text, first=False)
        text = f"{head} {tail}"
        share = len(head) / len(text)
        vector = share * first.vector + (1 - share) * second.vector
        vector = vector / np.linalg.norm(vector)
        vector = vector + NOISE * chance.standard_normal(len(vector)) / np.sqrt(len(vector))
        windows = _fitted(np.concatenate((first.windows, second.windows)), text)
        unit = (vector / np.linalg.norm(vector)).astype(np.float32)
        yield Passage(text, unit, windows, first.origin)


def _half(text: str, *, first: bool) -> str:
    spans = sentence_spans(text)
    if len(spans) < 2:
        middle = len(text) // 2
        return text[:middle].strip() if first else text[middle:].strip()
    cut = spans[len(spans) // 2][0]
    return text[:cut].strip() if first else text[cut:].strip()


# ------------------------------------------------------------------------------------- questions


def _write_queries(cache: Path, chance: np.random.Generator) -> None:
    data = Path(os.environ.get("ANABRANCH_DATA", ROOT.parent / "shared" / "data"))
    questions: dict[str, None] = {}
    for name in SETS:
        for query in load_dataset(
            data / name, split="train" if name == "scifact" else None
        ).queries:
            if len(query.text) <= LONGEST_QUESTION and len(question_terms(query.text)) > 2:
                questions[" ".join(query.text.split())] = None
    ordered = list(questions)
    chance.shuffle(ordered)
    with (cache / "queries.jsonl").open("w", encoding="utf-8") as file:
        for number, question in enumerate(ordered[:2_000]):
            row = {"id": f"q{number:04}", "wordings": _wordings(question)}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _wordings(question: str) -> list[str]:
    """Eight texts that ask the same: every fan-out benchmark needs the same ones."""
    bare = question.rstrip("?. ")
    telling = [word for word in words(question) if question_terms(word)]
    half = len(telling) // 2
    return [
        question,
        " ".join(telling),
        f"Please tell me: {bare[:1].lower()}{bare[1:]}?",
        " ".join((*telling[half:], *telling[:half])),
        f"What do the documents say about {' '.join(telling)}?",
        f"{bare}, in short",
        " ".join(reversed(telling)),
        f"Find the passage that answers: {bare}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--indexes", type=Path, required=True, help="cache of anabranch eval")
    parser.add_argument("--cache", type=Path, required=True, help="where the corpus is kept")
    parser.add_argument("--size", type=int, default=SIZE)
    arguments = parser.parse_args()
    make_corpus(arguments.indexes, arguments.cache, size=arguments.size)


if __name__ == "__main__":
    main()
