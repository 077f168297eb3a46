"""Conversations without documents as a set that can be searched: what was answered, as documents.

CANARD has questions in a conversation with people's stand-alone rewrites, and no documents. An answer
in it is a span of the article that the conversation is about, and stands in the history of the next
question: so the answers of all conversations, headed by their article and section, are documents, and
what a question must find is its own answer.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from anabranch.conversation_context import standalone
from anabranch.evaluation import labels
from anabranch.evaluation.comparison import paired_difference
from anabranch.evaluation.datasets import EvalQuery
from anabranch.types import to_plain

# What is said where the article has no answer.
_NO_ANSWER = ("i don't know", "cannotanswer")


def write_searchable(queries: Sequence[EvalQuery], folder: Path) -> int:
    """A BEIR folder of the ``queries`` that have an answer; how many those are.

    Ids are ``conversation_turn``. The answer to a turn is read from the history of the next one.
    """
    by_id = {query.id: query for query in queries}
    answers = {query.id: found for query in queries if (found := _answer(query, by_id))}
    (folder / "qrels").mkdir(parents=True)
    judged = [query for query in queries if query.id in answers]
    _write(
        folder / "corpus.jsonl",
        [
            {"_id": query.id, "title": _heading(query), "text": answers[query.id], "metadata": {}}
            for query in judged
        ],
    )
    _write(
        folder / "queries.jsonl",
        [{"_id": q.id, "text": q.text, "metadata": dict(q.metadata)} for q in judged],
    )
    lines = ["query-id\tcorpus-id\tscore", *(f"{q.id}\t{q.id}\t1" for q in judged)]
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(judged)


def likeness(queries: Sequence[EvalQuery]) -> dict[str, Any]:
    """Token F1 to people's rewrite, of the question as asked and as completed here.

    Over the questions that people changed; and the share of those they left alone that were left
    alone here too.
    """
    pairs: list[tuple[float, float]] = []
    kept: list[bool] = []
    for query in queries:
        rewrite = str(query.metadata["rewrite"])
        found = standalone(query.text, labels.history(query))
        if _words(rewrite) == _words(query.text):
            kept.append(found is None)
        else:
            made = found.text if found else query.text
            pairs.append((token_f1(query.text, rewrite), token_f1(made, rewrite)))
    return {
        "changed_by_people": to_plain(paired_difference(pairs)),
        "left_alone_by_people": {"n": len(kept), "left_alone_here": sum(kept) / len(kept)},
    }


def token_f1(text: str, gold: str) -> float:
    """F1 of the words, as SQuAD's evaluation counts them (Rajpurkar et al. 2016), articles kept."""
    said, wanted = Counter(_words(text)), Counter(_words(gold))
    shared = (said & wanted).total()
    return 2 * shared / (said.total() + wanted.total()) if shared else 0.0


def _answer(query: EvalQuery, by_id: Mapping[str, EvalQuery]) -> str | None:
    conversation, _, turn = query.id.rpartition("_")
    following = by_id.get(f"{conversation}_{int(turn) + 1}")
    turns = labels.history(following) if following else ()
    # Where the history is not this question and its answer, the rows do not follow each other.
    if len(turns) < 2 or turns[-2].text != query.text or turns[-1].role != "assistant":
        return None
    said = turns[-1].text.strip()
    return None if said.lower().rstrip(".") in _NO_ANSWER else said


def _heading(query: EvalQuery) -> str:
    return ", ".join(map(str, query.metadata.get("context_title", ())))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _write(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    file.write_text("".join(lines), encoding="utf-8")
