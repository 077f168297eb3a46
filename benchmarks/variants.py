"""What other phrasings of a question are worth: where they are needed, and where they are not.

    .venv/bin/python benchmarks/variants.py mismatch|typos|harm [--cache FOLDER] [--only SET] [--json]

``mismatch`` asks the questions of ``vocabulary_mismatch.jsonl``, whose key word the relevant
documents do not have (which is checked first), with one query and as a fan-out. ``typos`` misspells
the words of squad2 questions and says how much of the loss comes back. ``harm`` asks the questions
of the open sets with and without variants. All of it runs the real path, over the sets that
``ANABRANCH_DATA`` (or ``../shared/data``) holds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import statistics
import string
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from anabranch import KnowledgeBase
from anabranch.evaluation.datasets import Dataset, EvalQuery, load_dataset
from anabranch.evaluation.index import default_cache, open_index
from anabranch.evaluation.metrics import ranking_metrics
from anabranch.evaluation.runs import Way, ask_all
from anabranch.language import has_cjk
from anabranch.settings import load_settings

ROOT = Path(__file__).parents[1]
QUESTIONS = Path(__file__).with_name("vocabulary_mismatch.jsonl")
DEPTH = 20
SINGLE: Final = Way(effort="minimal", jobs=4)
FANNED: Final = Way(effort="standard", jobs=4)
TYPO_SEED, TYPO_SHARE, TYPO_QUESTIONS = 7, 0.12, 300
# Name, split and first N questions of the sets whose ranking is judged.
SETS = (
    ("scifact", "train", 300), ("cranfield", "test", None), ("cacm", "test", None),
    ("med", "test", None), ("hotpotqa_mix", "test", None), ("musique_100", "test", None),
    ("multihop_rag_500", "test", None), ("squad2_dev", "test", 500), ("cmrc2018", "test", 300),
)  # fmt: skip
VARIANT_COUNTS = (0, 2, 4)


@dataclass(frozen=True, slots=True)
class MismatchQuestion:
    """A question whose ``key`` stands in none of the ``documents`` that answer it.

    ``half``: ``open`` for those that the rules were made with, ``measured`` for the others.
    """

    id: str
    question: str
    key: str
    link: str
    dataset: str
    documents: tuple[str, ...]
    half: str


def main() -> None:
    arguments = _arguments()
    measure = {"mismatch": _mismatch, "typos": _typos, "harm": _harm}[arguments.what]
    results = measure(arguments)
    if arguments.json:
        print(json.dumps(results, ensure_ascii=False, indent=1))
    else:
        for name, row in results.items():
            print(f"{name:32}", "  ".join(f"{key} {_shown(value)}" for key, value in row.items()))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["mismatch", "typos", "harm"])
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--only", action="append", help="data set or half; repeatable")
    parser.add_argument("--variants", type=int, help="queries besides the original, for mismatch")
    parser.add_argument("--each", action="store_true", help="mismatch: every question")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _shown(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def data_folder() -> Path:
    """Where the open sets are; raises SystemExit, saying how to name it, where they are not."""
    folder = Path(os.environ.get("ANABRANCH_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        raise SystemExit(f"There are no data sets in {str(folder)!r}. Set ANABRANCH_DATA.")
    return folder


# ------------------------------------------------------------------------- vocabulary mismatch


def read_questions(file: Path = QUESTIONS) -> list[MismatchQuestion]:
    rows = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    return [MismatchQuestion(**{**row, "documents": tuple(row["documents"])}) for row in rows]


def holds(text: str, key: str) -> bool:
    """Whether ``key`` stands in ``text`` as whole words, in any case; in Chinese, at all."""
    written = re.escape(key).replace(r"\ ", r"\s+")
    pattern = written if has_cjk(key) else rf"(?<!\w){written}(?!\w)"
    return re.search(pattern, text, re.I) is not None


def _mismatch(arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    asked = [
        question
        for question in read_questions()
        if not arguments.only or {question.dataset, question.half} & set(arguments.only)
    ]
    recalls: dict[str, dict[str, float]] = {"single": {}, "fanned": {}}
    for name in sorted({question.dataset for question in asked}):
        mine = [question for question in asked if question.dataset == name]
        dataset = _with_questions(load_dataset(data_folder() / name), mine)
        with _opened(dataset, arguments.cache) as base:
            ways = {"single": SINGLE, "fanned": replace(FANNED, variants=arguments.variants)}
            for way_name, way in ways.items():
                rankings = _rankings(base, dataset, way)
                for question in mine:
                    found = set(rankings[question.id][:DEPTH]) & set(question.documents)
                    recalls[way_name][question.id] = len(found) / len(question.documents)
    groups: dict[str, list[str]] = defaultdict(list)
    for question in asked:
        for group in ("all", question.half, question.link):
            groups[group].append(question.id)
        if arguments.each:
            groups[f"{question.id} {question.question}"].append(question.id)
    return {
        group: {
            "n": len(ids),
            **{way: statistics.mean(found[name] for name in ids) for way, found in recalls.items()},
        }
        for group, ids in groups.items()
    }


def _with_questions(dataset: Dataset, questions: Sequence[MismatchQuestion]) -> Dataset:
    """``dataset`` with these questions; SystemExit where a key stands in what answers it."""
    texts = {document.id: f"{document.title}\n{document.text}" for document in dataset.documents()}
    for question in questions:
        for document in question.documents:
            if document not in texts:
                raise SystemExit(f"{question.id}: {dataset.name} has no document {document!r}.")
            if holds(texts[document], question.key):
                raise SystemExit(f"{question.id}: {document!r} has {question.key!r}.")
    return replace(
        dataset,
        queries=tuple(EvalQuery(question.id, question.question, {}) for question in questions),
        qrels={question.id: dict.fromkeys(question.documents, 1) for question in questions},
    )


# -------------------------------------------------------------------------------------- typos


def _typos(arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    dataset = load_dataset(data_folder() / "squad2_dev", limit=TYPO_QUESTIONS)
    misspelt = replace(
        dataset,
        queries=tuple(
            replace(query, text=with_typos(query.text, seed=TYPO_SEED + number))
            for number, query in enumerate(dataset.queries)
        ),
    )
    plain = replace(FANNED, variants=0)
    with _opened(dataset, arguments.cache) as base:
        figures = {
            "clean": _ndcg(base, dataset, plain),
            "clean, repaired": _ndcg(base, dataset, replace(FANNED, variants=1)),
            "misspelt": _ndcg(base, misspelt, plain),
            "misspelt, repaired": _ndcg(base, misspelt, replace(FANNED, variants=1)),
        }
    means = {name: statistics.mean(found.values()) for name, found in figures.items()}
    lost = means["clean"] - means["misspelt"]
    return {
        **{name: {"nDCG@10": value} for name, value in means.items()},
        "recovered": {"share": (means["misspelt, repaired"] - means["misspelt"]) / lost},
    }


def with_typos(question: str, *, seed: int) -> str:
    """``question`` with one edit in each of a share of its longer words, the same every time."""
    chance = random.Random(seed)

    def slip(match: re.Match[str]) -> str:
        word = match.group()
        return _edited(word, chance) if chance.random() < TYPO_SHARE else word

    return re.sub(r"[A-Za-z]{4,}", slip, question)


def _edited(word: str, chance: random.Random) -> str:
    at = chance.randrange(1, len(word) - 1)
    letter = chance.choice(string.ascii_lowercase)
    return chance.choice(
        (
            word[:at] + word[at + 1 :],
            word[:at] + letter + word[at:],
            word[:at] + letter + word[at + 1 :],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        )
    )


# --------------------------------------------------------------------------------------- harm


def _harm(arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    results: dict[str, dict[str, Any]] = {}
    for name, split, limit in SETS:
        if arguments.only and name not in arguments.only:
            continue
        dataset = load_dataset(
            data_folder() / name, split=split if name != "cmrc2018" else None, limit=limit
        )
        with _opened(dataset, arguments.cache) as base:
            figures = {
                count: _ndcg(base, dataset, replace(FANNED, variants=count))
                for count in VARIANT_COUNTS
            }
        row: dict[str, Any] = {
            "n": len(figures[0]),
            "without": statistics.mean(figures[0].values()),
        }
        for count in VARIANT_COUNTS[1:]:
            changes = [figures[count][query] - value for query, value in figures[0].items()]
            row[f"with {count}"] = statistics.mean(changes)
            row[f"better/worse {count}"] = (
                f"{sum(c > 0 for c in changes)}/{sum(c < 0 for c in changes)}"
            )
        results[name] = row
    return results


# ------------------------------------------------------------------------------------- running


@contextmanager
def _opened(dataset: Dataset, cache: Path) -> Iterator[KnowledgeBase]:
    base, _ = open_index(dataset, cache, settings=load_settings())
    with base:
        yield base


def _rankings(base: KnowledgeBase, dataset: Dataset, way: Way) -> dict[str, tuple[str, ...]]:
    asked = asyncio.run(ask_all(base, dataset, way))
    return {item.query.id: item.documents for item in asked}


def _ndcg(base: KnowledgeBase, dataset: Dataset, way: Way) -> Mapping[str, float]:
    judged = {query.id: dataset.qrels[query.id] for query in dataset.queries
              if query.id in dataset.qrels}  # fmt: skip
    measured = ranking_metrics(_rankings(base, dataset, way), judged)
    return {query: figures["nDCG@10"] for query, figures in measured.items()}


if __name__ == "__main__":
    main()
