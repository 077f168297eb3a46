"""The sample collection, asked for real: the product as a user meets it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anabranch import KnowledgeBase
from anabranch.types import Outcome

EXAMPLES = Path(__file__).parent.parent / "examples"
QUESTIONS = [
    json.loads(line)
    for line in (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(tmp_path_factory.mktemp("examples") / "kb") as opened:
        report = opened.add(EXAMPLES / "documents")
        assert report.count("failed") == 0
        assert report.count("empty") == 0
        yield opened


@pytest.fixture(scope="module")
def outcomes(base: KnowledgeBase) -> list[tuple[dict[str, Any], Outcome]]:
    return [(item, base.ask(item["question"])) for item in QUESTIONS]


def test_there_are_forty_questions_of_every_kind() -> None:
    assert len(QUESTIONS) == 40
    assert {item["status"] for item in QUESTIONS} >= {
        "answerable",
        "needs_clarification",
        "needs_scope_selection",
        "no_knowledge",
    }


def test_the_status_is_right_for_at_least_36_of_40(
    outcomes: list[tuple[dict[str, Any], Outcome]],
) -> None:
    wrong = [
        f"{item['question']}: {outcome.status}, not {item['status']}"
        for item, outcome in outcomes
        if outcome.status != item["status"]
    ]
    assert len(wrong) <= 4, "\n".join(wrong)


def test_the_expected_source_is_evidence_for_95_percent_of_the_answerable(
    outcomes: list[tuple[dict[str, Any], Outcome]],
) -> None:
    answerable = [(i, o) for i, o in outcomes if i["status"] in ("answerable", "partial")]
    missed = [item["question"] for item, outcome in answerable if not _has_sources(item, outcome)]
    assert len(missed) <= 0.05 * len(answerable), missed


def test_every_piece_of_evidence_is_the_text_at_its_place(
    base: KnowledgeBase, outcomes: list[tuple[dict[str, Any], Outcome]]
) -> None:
    texts = {record.source: base.source_text(record.source) for record in base.sources()}
    pieces = [piece for _, outcome in outcomes for piece in outcome.evidence]
    assert pieces
    for piece in pieces:
        assert piece.text == texts[piece.source][piece.start : piece.end]


def test_every_citation_quotes_its_evidence(
    outcomes: list[tuple[dict[str, Any], Outcome]],
) -> None:
    answers = [outcome for _, outcome in outcomes if outcome.answer]
    assert len(answers) >= 20
    for outcome in answers:
        assert outcome.answer is not None
        assert outcome.answer.citations
        evidence = {piece.id: piece.text for piece in outcome.evidence}
        for citation in outcome.answer.citations:
            assert citation.quote in evidence[citation.evidence]
            assert f"[{citation.marker}]" in outcome.answer.text


@pytest.mark.parametrize(
    "item", [item for item in QUESTIONS if item["reply"]], ids=lambda item: item["question"]
)
def test_a_reply_leads_to_the_answer(base: KnowledgeBase, item: dict[str, Any]) -> None:
    asked = base.ask(item["question"])
    if asked.resume is None:  # counted by the test of the status
        pytest.xfail("was not asked back")
    resumed = base.resume(asked.resume, item["reply"])
    assert resumed.status in ("answerable", "partial")
    found = {Path(piece.source).name for piece in resumed.evidence}
    assert found & {Path(source).name for source in item["reply_sources"]}
    assert any(item["contains"] in piece.text for piece in resumed.evidence)


def test_the_same_question_has_the_same_outcome(base: KnowledgeBase) -> None:
    question = "How does annual leave differ between Berlin and Boston?"
    first, second = base.ask(question), base.ask(question)
    assert _without_times(first.to_dict()) == _without_times(second.to_dict())


def _has_sources(item: dict[str, Any], outcome: Outcome) -> bool:
    places = {place.source for piece in outcome.evidence for place in piece.provenance}
    found = [any(place.endswith(source) for place in places) for source in item["sources"]]
    return all(found) if item["complexity"] == "complex" else any(found)


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_times(item)
            for key, item in value.items()
            if key not in ("started_ms", "elapsed_ms")
        }
    return [_without_times(item) for item in value] if isinstance(value, list) else value
