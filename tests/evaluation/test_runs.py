from __future__ import annotations

import pytest

from anabranch.evaluation.datasets import EvalQuery
from anabranch.evaluation.evaluation import trec_run
from anabranch.evaluation.runs import Asked, documents_of, leaning_to_ask
from anabranch.types import Chunk, EvidenceGrade, Outcome, Passage, Place, Status


def passage(*sources: str) -> Passage:
    chunk = Chunk(
        chunk_id=f"{sources[0]}-chunk", source_id=sources[0], collection="default",
        source=sources[0], title="", text="text", start=0, end=4, chunk_index=0, level=3,
        content_hash="hash",
    )  # fmt: skip
    return Passage(chunk, 0.5, provenance=tuple(Place(source, None, 0, 4) for source in sources))


def outcome(status: Status, *, confidence: float, ambiguous: bool = False) -> Outcome:
    grade = EvidenceGrade("weak", "partial", ambiguity="missing_slot" if ambiguous else "none")
    return Outcome("q", "q", status, None, "simple", "", confidence, grade=grade)


def test_documents_rank_by_their_best_passage_and_copies_follow_it() -> None:
    ranking = [passage("a"), passage("b", "c"), passage("a"), passage("c"), passage("d")]
    assert documents_of(ranking) == ("a", "b", "c", "d")


def test_asking_leans_further_than_an_open_question_and_that_further_than_doubt() -> None:
    asks = leaning_to_ask(outcome("needs_clarification", confidence=0.9), has_corpus=True)
    selects = leaning_to_ask(outcome("needs_scope_selection", confidence=0.9), has_corpus=True)
    is_open = leaning_to_ask(
        outcome("no_knowledge", confidence=0.0, ambiguous=True), has_corpus=True
    )
    doubts = leaning_to_ask(outcome("partial", confidence=0.2), has_corpus=True)
    is_sure = leaning_to_ask(outcome("answerable", confidence=0.9), has_corpus=True)
    assert asks == selects == 1.0
    assert asks > is_open > doubts > is_sure


def test_without_documents_confidence_says_nothing_about_asking() -> None:
    leanings = {
        leaning_to_ask(outcome("no_knowledge", confidence=confidence), has_corpus=False)
        for confidence in (0.0, 0.3)
    }
    assert leanings == {0.0}


@pytest.mark.parametrize("documents", [(), ("d1", "d2")])
def test_a_trec_run_has_a_line_for_each_document_with_falling_scores(
    documents: tuple[str, ...],
) -> None:
    asked = [Asked(EvalQuery("q1", "?", {}), "answerable", documents=documents)]
    lines = [line.split() for line in trec_run(asked, tag="tag").splitlines()]
    assert [(row[0], row[1], row[2], row[3], row[5]) for row in lines] == [
        ("q1", "Q0", document, str(rank), "tag") for rank, document in enumerate(documents, 1)
    ]
    scores = [float(row[4]) for row in lines]
    assert scores == sorted(set(scores), reverse=True)
