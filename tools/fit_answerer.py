"""Fit the weights of the extractive answerer: prints the constants of ``reasoning/weighing.py``.

Run from the checkout with ``PYTHONPATH=src python tools/fit_answerer.py FOLDER``: samples of the open
sets are indexed below FOLDER (once) and asked through the whole pipeline; a piece of the evidence
counts as right if it holds a gold answer. Deterministic: a fixed seed, Newton steps. The sets are
found in the folder that ``ANABRANCH_DATA`` names, else in ``../shared/data``.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from anabranch import KnowledgeBase
from anabranch.decoding import normalise
from anabranch.reasoning import weighing
from anabranch.types import Document, Outcome

DATA = Path(os.environ.get("ANABRANCH_DATA", Path(__file__).parents[2] / "shared" / "data"))
# (set, questions, documents): the encoder's speed decides the sizes.
SETS = (("squad2_dev", 240, 600), ("nq_open_oracle", 220, 600), ("cmrc2018", 160, 320))
SEED = 11
RIDGE = 1.0

Array = npt.NDArray[np.float64]


def lines(name: str, file: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / name / file, "rt", encoding="utf-8") as opened:
        return [json.loads(line) for line in opened]


def gold_documents(name: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for file in sorted((DATA / name / "qrels").glob("*.tsv")):
        for row in file.read_text(encoding="utf-8").splitlines()[1:]:
            query, document, grade = row.split("\t")
            if int(grade) > 0:
                found.setdefault(query, set()).add(document)
    return found


def sample(
    name: str, questions: int, documents: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Answered questions, and documents with theirs among them, drawn with the seed."""
    random_source = random.Random(SEED)
    gold, corpus = gold_documents(name), lines(name, "corpus.jsonl.gz")
    asked = [query for query in lines(name, "queries.jsonl.gz") if query["_id"] in gold]
    random_source.shuffle(asked)
    asked = [query for query in asked if query["metadata"].get("answer")][:questions]
    needed = {document for query in asked for document in gold[query["_id"]]}
    others = [document for document in corpus if document["_id"] not in needed]
    random_source.shuffle(others)
    kept = [document for document in corpus if document["_id"] in needed]
    return asked, kept + others[: max(0, documents - len(kept))]


def asked_of_its_documents(
    name: str, questions: int, documents: int, folder: Path
) -> Iterator[tuple[dict[str, Any], Outcome]]:
    queries, corpus = sample(name, questions, documents)
    with KnowledgeBase.open(folder / name) as base:
        base.add_documents([as_document(document) for document in corpus])
        for query in queries:
            yield query, base.retrieve(query["text"], interactive=False)


def as_document(entry: dict[str, Any]) -> Document:
    text = normalise(entry["text"])
    content = f"{entry['title']}\n{text}".encode()
    return Document(
        source=entry["_id"],
        title=normalise(entry["title"]),
        text=text,
        content_hash=hashlib.sha256(content).hexdigest(),
        media_type="text/plain",
    )


def holds(text: str, gold: Sequence[str]) -> bool:
    shown = plain(text)
    return any(plain(answer) in shown for answer in gold)


def plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.sub(r"\[\d+\]", " ", folded).split())


def fit(inputs: Array, labels: Array, weights: Array) -> Array:
    """Ridge logistic regression by Newton's method; the bias comes first, unpenalised."""
    design = np.hstack([np.ones((len(inputs), 1)), inputs])
    penalty = RIDGE * np.diag([0.0] + [1.0] * inputs.shape[1])
    coefficients = np.zeros(design.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-design @ coefficients))
        gradient = design.T @ (weights * (labels - chance)) - penalty @ coefficients
        curvature = (design.T * (weights * chance * (1 - chance))) @ design + penalty
        coefficients += np.linalg.solve(curvature, gradient)
    return coefficients


def main(folder: Path) -> None:
    rows: list[list[float]] = []
    labels: list[bool] = []
    of_set: list[str] = []
    names: list[str] = []
    for name, questions, documents in SETS:
        for query, outcome in asked_of_its_documents(name, questions, documents, folder):
            answer = query["metadata"]["answer"]
            gold = [answer] if isinstance(answer, str) else answer
            measured = weighing.measure(outcome.effective_question, outcome.evidence)
            right = [holds(unit.shown, gold) for _, _, unit, _ in measured]
            if any(right):  # else retrieval missed it, which teaches nothing here
                names = list(measured[0][3])
                rows += [list(values.values()) for *_, values in measured]
                labels += right
                of_set += [name] * len(right)
    # Every set counts the same, whatever its number of pieces.
    weights = np.array([len(of_set) / len(SETS) / of_set.count(name) for name in of_set])
    bias, *fitted = fit(np.array(rows), np.array(labels, float), weights).round(2).tolist()
    print(json.dumps({"bias": bias, **dict(zip(names, fitted, strict=True))}, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
