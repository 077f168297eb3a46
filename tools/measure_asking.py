"""How often the user would be asked back, and what follow-ups gain from the conversation.

Run from the checkout with ``PYTHONPATH=src python tools/measure_asking.py CACHE``. Follow-ups:
token F1 with the standalone question that people wrote (canard_dev, cast_rewrite), of the question
as it was asked and as it was completed, and the share that is asked back about. Asking: the share of
the first questions of sets that leave nothing open which the whole pipeline asks back about; their
documents are indexed below CACHE as ``anabranch eval --cache CACHE`` does it. The sets are found in
the folder that ``ANABRANCH_DATA`` names, else in ``../shared/data``.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path

from anabranch.conversation_context import standalone
from anabranch.evaluation import labels
from anabranch.evaluation.datasets import load_dataset
from anabranch.evaluation.index import open_index
from anabranch.language import words
from anabranch.reasoning.ambiguity import unresolved_reference
from anabranch.settings import load_settings

DATA = Path(os.environ.get("ANABRANCH_DATA", Path(__file__).parents[2] / "shared" / "data"))
CONVERSATIONS = ("canard_dev", "cast_rewrite")
NOTHING_OPEN = ("squad2_dev", "nq_open_oracle", "scifact")
QUESTIONS = 300


def token_f1(one: str, other: str) -> float:
    """F1 of two texts as bags of words."""
    counts = Counter(words(one)), Counter(words(other))
    total = sum(counts[0].values()) + sum(counts[1].values())
    return 2 * sum((counts[0] & counts[1]).values()) / total if total else 0.0


def follow_ups(name: str) -> dict[str, float]:
    asked, completed, open_ones = 0.0, 0.0, 0
    queries = load_dataset(DATA / name).queries
    for query in queries:
        history = labels.history(query)
        found = standalone(query.text, history)
        text = found.text if found else query.text
        written = str(query.metadata["rewrite"])
        asked += token_f1(query.text, written)
        completed += token_f1(text, written)
        open_ones += unresolved_reference(text, history) is not None
    count = len(queries)
    return {
        "n": count,
        "F1 as asked": round(asked / count, 4),
        "F1 completed": round(completed / count, 4),
        "asked back": round(open_ones / count, 4),
    }


def asked_back(name: str, cache: Path) -> dict[str, object]:
    dataset = load_dataset(DATA / name, limit=QUESTIONS)
    base, _ = open_index(dataset, cache, settings=load_settings())
    with base:
        found = [
            (query.text, outcome.clarification.prompt)
            for query in dataset.queries
            if (outcome := base.retrieve(query.text)).clarification
        ]
    return {"n": len(dataset.queries), "asked back": found}


def main(cache: Path) -> None:
    for name in CONVERSATIONS:
        print(json.dumps({name: follow_ups(name)}), flush=True)
    for name in NOTHING_OPEN:
        print(json.dumps({name: asked_back(name, cache)}, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
