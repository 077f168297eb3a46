"""The files that every measured system reads: passages, vectors, questions with their wordings.

A folder for each data set, written once by ``export.py``:

- ``passages.jsonl``: ``{"document", "text"}``, the text as it was embedded (title, then passage);
- ``vectors.npy``: 32-bit floats, a unit row for each passage;
- ``questions.jsonl``: ``{"id", "wordings"}``, the question itself first;
- ``wordings.npy``: a unit row for each wording, in the order of the questions;
- ``qrels.json``: relevance grades by question and document.

It is imported in environments that do not have Anabranch: the standard library and NumPy only.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Passage:
    """A text to index, and the document that it is from."""

    document: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """``wordings[0]`` is the question as asked, the rest the variants that all systems are given."""

    id: str
    wordings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExchangeSet:
    """A data set as the measured systems see it; ``known`` has the vector of every text in it."""

    passages: tuple[Passage, ...]
    questions: tuple[Question, ...]
    known: Mapping[str, Any]


def write_set(
    folder: Path,
    *,
    passages: Sequence[Passage],
    vectors: Any,
    questions: Sequence[Question],
    wordings: Any,
    qrels: Mapping[str, Mapping[str, int]],
) -> None:
    """Write the five files; the judgments last, so that a folder with them is complete."""
    import numpy as np

    wanted = sum(len(question.wordings) for question in questions)
    if len(passages) != len(vectors) or wanted != len(wordings):
        raise ValueError(
            f"{len(passages)} passages with {len(vectors)} vectors, {wanted} wordings with "
            f"{len(wordings)}: each text needs one."
        )
    folder.mkdir(parents=True, exist_ok=True)
    _write_lines(
        folder / "passages.jsonl", ({"document": p.document, "text": p.text} for p in passages)
    )
    _write_lines(
        folder / "questions.jsonl", ({"id": q.id, "wordings": q.wordings} for q in questions)
    )
    np.save(folder / "vectors.npy", np.asarray(vectors, dtype=np.float32))
    np.save(folder / "wordings.npy", np.asarray(wordings, dtype=np.float32))
    (folder / "qrels.json").write_text(json.dumps(qrels), encoding="utf-8")


def read_set(folder: Path) -> ExchangeSet:
    """What ``write_set`` wrote, without the judgments: no measured system sees them."""
    import numpy as np

    passages = tuple(
        Passage(row["document"], row["text"]) for row in read_lines(folder / "passages.jsonl")
    )
    questions = tuple(
        Question(row["id"], tuple(row["wordings"]))
        for row in read_lines(folder / "questions.jsonl")
    )
    texts = itertools.chain(
        (passage.text for passage in passages),
        (wording for question in questions for wording in question.wordings),
    )
    rows = itertools.chain(np.load(folder / "vectors.npy"), np.load(folder / "wordings.npy"))
    return ExchangeSet(passages, questions, dict(zip(texts, rows, strict=True)))


def read_qrels(folder: Path) -> dict[str, dict[str, int]]:
    """Relevance grades by question and document."""
    qrels: dict[str, dict[str, int]] = json.loads((folder / "qrels.json").read_text("utf-8"))
    return qrels


def read_scale(folder: Path, size: int) -> tuple[tuple[Passage, ...], dict[str, Any]]:
    """The first ``size`` passages of the corpus of ``scale_corpus.py``, and their vectors by text."""
    import numpy as np

    rows = itertools.islice(read_lines(folder / "texts.jsonl"), size)
    passages = tuple(Passage(row["id"], row["text"]) for row in rows)
    vectors = np.array(np.load(folder / "vectors.npy", mmap_mode="r")[:size])
    return passages, {p.text: row for p, row in zip(passages, vectors, strict=True)}


def documents_in_order(passages: Sequence[Passage], positions: Iterable[int]) -> list[str]:
    """The documents of ranked passages, each at the place of its best one."""
    return list(dict.fromkeys(passages[position].document for position in positions))


def read_lines(file: Path) -> Iterator[Any]:
    with file.open(encoding="utf-8") as stream:
        for line in stream:
            yield json.loads(line)


def _write_lines(file: Path, rows: Iterable[Any]) -> None:
    with file.open("w", encoding="utf-8") as stream:
        for row in rows:
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
