"""Our index of a data set as the files of ``exchange.py``, so that every system gets the same.

Passages are the leaves of our own index with the vectors it holds: nobody embeds again, and
nobody is given better or worse cuts. Variants are those of our planner without a model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.peers.exchange import Passage, Question, write_set

from anabranch.evaluation.datasets import Dataset, load_dataset
from anabranch.lexicon import Lexicon
from anabranch.models.onnx_embedder import OnnxEmbedder
from anabranch.ports import Vectors
from anabranch.reasoning.phrasing import phrasings
from anabranch.stores.documents import chunk_from_json
from anabranch.stores.lance import LanceStore
from anabranch.stores.rows import ITEM
from anabranch.types import Scope

VARIANTS = 3
LEAF = 3
DIMENSIONS = 384


@dataclass(frozen=True, slots=True)
class QualitySet:
    """An open data set: the split, and the first so many of its queries for which ``where`` holds."""

    name: str
    split: str = "test"
    limit: int | None = None
    where: tuple[str, ...] = ()


SETS = (
    QualitySet("scifact", "train", 300), QualitySet("cranfield"), QualitySet("cacm"),
    QualitySet("med"), QualitySet("hotpotqa_mix"), QualitySet("musique_100"),
    QualitySet("multihop_rag_500"), QualitySet("squad2_dev", "test", 500, ("answerable=true",)),
)  # fmt: skip


def export(chosen: QualitySet, data: Path, *, indexes: Path, folder: Path) -> None:
    """Write ``folder`` unless it is complete. ``indexes`` is the cache of ``anabranch eval``.

    Only queries that have a relevant document count; raises FileNotFoundError without an index.
    """
    if (folder / "qrels.json").is_file():
        return
    stores = sorted(indexes.glob(f"{chosen.name}-*/index-1/store"))
    if not stores:
        raise FileNotFoundError(
            f"{str(indexes)!r} has no index of {chosen.name!r}. Run: anabranch eval "
            f"{data / chosen.name} --split {chosen.split} --limit 1 --cache {indexes}"
        )
    dataset = load_dataset(
        data / chosen.name, split=chosen.split, limit=chosen.limit, where=chosen.where
    )
    asyncio.run(_export(dataset, stores[-1], folder))


async def _export(dataset: Dataset, store_folder: Path, folder: Path) -> None:
    store = await LanceStore.open(store_folder, dimensions=DIMENSIONS)
    passages, vectors = await _leaves(store)
    lexicon = await store.lexicon(Scope())
    await store.close()
    qrels = {
        query: {document: grade for document, grade in grades.items() if grade > 0}
        for query, grades in dataset.qrels.items()
    }
    qrels = {query: grades for query, grades in qrels.items() if grades}
    questions = [
        Question(query.id, wordings(query.text, lexicon))
        for query in dataset.queries
        if query.id in qrels
    ]
    embedder = OnnxEmbedder.bundled()
    embedded = await embedder.embed_queries([w for q in questions for w in q.wordings])
    await embedder.close()
    write_set(
        folder, passages=passages, vectors=vectors, questions=questions, wordings=embedded,
        qrels=qrels,
    )  # fmt: skip


def wordings(question: str, lexicon: Lexicon) -> tuple[str, ...]:
    """The question, then what our planner makes of it without a model; each wording once."""
    asked = " ".join(question.split())
    variants = phrasings(asked, lexicon=lexicon, limit=VARIANTS)
    return tuple(dict.fromkeys((asked, *(variant.text for variant in variants))))


async def _leaves(store: LanceStore) -> tuple[Sequence[Passage], Vectors]:
    rows = await store.rows(["level", "chunk_id", ITEM, "vector"])
    found: list[tuple[str, Passage, Vectors]] = []
    columns = (rows.column(name).to_pylist() for name in ("level", "chunk_id", ITEM, "vector"))
    for level, chunk_id, item, vector in zip(*columns, strict=True):
        if level == LEAF:
            chunk = chunk_from_json(item)
            text = f"{chunk.context}\n{chunk.text}" if chunk.context else chunk.text
            row = np.array(vector, dtype=np.float32)
            found.append((chunk_id, Passage(chunk.source, text), row))
    found.sort(key=lambda leaf: leaf[0])
    return [leaf[1] for leaf in found], np.array([leaf[2] for leaf in found])
