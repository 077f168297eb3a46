"""A conclusion packed into an outcome: its shape, and what it must not hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from anabranch.outcome import RunFacts, finish, missing_prompt, settings_fingerprint
from anabranch.types import (
    BranchResult,
    Conclusion,
    Failure,
    LegResult,
    Outcome,
    Query,
    QueryResult,
    Retrieval,
    Scope,
    Status,
    SubQuestion,
)
from fakes import NOTHING, SLOT, STRONG, World, chunk, hits, passage, replied


def facts(**changes: Any) -> RunFacts:
    values: dict[str, Any] = {
        "question": "How much leave?", "effective_question": "How much leave?", "replies": (),
        "complexity": "simple", "complexity_reason": "one fact", "plan": (), "rewrite": None,
        "rewrite_count": 0, "asked": 0, "retrievals": (), "branches": (), "failures": (),
        "trace": (),
    }  # fmt: skip
    return RunFacts(**{**values, **changes})


def conclusion(status: Status = "answerable", *texts: str, **changes: Any) -> Conclusion:
    routes = {
        "answerable": "answer", "partial": "answer", "needs_clarification": "clarify",
        "needs_scope_selection": "scope_select", "no_knowledge": "no_knowledge", "failed": None,
    }  # fmt: skip
    values: dict[str, Any] = {
        "status": status, "route": routes[status], "confidence": 0.5, "grade": STRONG,
        "passages": tuple(passage(text, f"{text}.md") for text in texts or ("a", "b")),
    }  # fmt: skip
    return Conclusion(**{**values, **changes})


def finished(known: RunFacts, concluded: Conclusion, **changes: Any) -> Outcome:
    return finish(known, concluded, World().context(**changes)).outcome


@pytest.mark.parametrize(
    ("status", "has_evidence"),
    [
        ("answerable", True), ("partial", True), ("no_knowledge", False), ("failed", False),
        ("needs_clarification", False), ("needs_scope_selection", False),
    ],
)  # fmt: skip
def test_evidence_is_given_with_an_answer_only_and_nearest_otherwise(
    status: Status, has_evidence: bool
) -> None:
    outcome = finished(facts(), conclusion(status))
    assert bool(outcome.evidence) == bool(outcome.context) == has_evidence
    assert bool(outcome.nearest) != has_evidence
    assert (outcome.resume is None) == (outcome.clarification is None)


@pytest.mark.parametrize(
    ("changes", "plan", "doubted"),
    [
        ({"confidence": 0.04}, (), True),
        ({"confidence": 0.5}, (), False),
        # Its parts were each graded for itself.
        ({"confidence": 0.04}, ("How much leave in Berlin?", "How much in Boston?"), False),
        # Which says already that something is missing.
        ({"confidence": 0.04, "status": "partial"}, (), False),
    ],
)
def test_an_answer_beside_a_low_confidence_is_doubted(
    changes: dict[str, Any], plan: tuple[str, ...], doubted: bool
) -> None:
    outcome = finished(facts(plan=plan), conclusion(**changes))
    assert any("confidence 0.04" in notice for notice in outcome.notices) is doubted


def test_what_the_token_budget_cost_is_listed() -> None:
    outcome = finished(facts(), conclusion("answerable", "a", "b" * 900), context_tokens=100)
    assert [item.reason for item in outcome.left_out] == ["budget"]


def test_the_ranking_behind_an_outcome_is_whole() -> None:
    run = finish(facts(), conclusion("no_knowledge"), World().context(top_k=1))
    assert [item.chunk.text for item in run.ranking] == ["a", "b"]


def retrieval(*found: str, failure: Failure | None = None, name: str = "q1") -> Retrieval:
    leg = LegResult("text", hits(*found), failure)
    result = QueryResult(Query(name, "leave", "original"), (leg,), 3.0)
    ranking = {hit.chunk.chunk_id: hit.score for hit in leg.hits}
    passages = tuple(passage(chunk=hit.chunk) for hit in leg.hits)
    return Retrieval(passages, (result,), {name: ranking} if found else {name: {}})


def test_a_query_says_which_of_its_hits_became_which_evidence() -> None:
    found = retrieval("a", "b")
    outcome = finished(
        facts(retrievals=(found,)), conclusion("answerable", passages=found.passages), top_k=1
    )
    [query] = outcome.queries
    assert [(hit.rank, hit.evidence) for hit in query.results] == [(1, "e1"), (2, None)]
    assert (query.hits, query.status) == (2, "ok")
    assert all(0 <= hit.score <= 1 for hit in query.results)


def test_a_query_shows_its_first_hits_and_counts_all() -> None:
    [query] = finished(
        facts(retrievals=(retrieval(*(f"hit {i}" for i in range(30))),)), conclusion()
    ).queries
    assert (query.hits, len(query.results)) == (30, 20)


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (None, "empty"),
        (Failure("q1.text", "timeout"), "timed_out"),
        (Failure("q1.text", "OSError"), "failed"),
    ],
)
def test_a_query_that_failed_one_that_hung_and_one_that_is_empty_are_told_apart(
    failure: Failure | None, status: str
) -> None:
    outcome = finished(facts(retrievals=(retrieval(failure=failure),)), conclusion())
    assert [query.status for query in outcome.queries] == [status]
    assert outcome.failures == ((failure,) if failure else ())


def test_a_failure_that_several_places_report_is_listed_once() -> None:
    failure = Failure("s1", "timeout", "no result within 1 s")
    branch = BranchResult(SubQuestion("s1", "?"), "timed_out", failure=failure)
    outcome = finished(facts(branches=(branch,), failures=(failure,)), conclusion())
    assert outcome.failures == (failure,)
    assert outcome.sub_questions[0].reason == "no result within 1 s"


def test_a_sub_question_that_is_open_shows_its_question_and_no_evidence() -> None:
    found = retrieval("a", name="s1")
    branch = BranchResult(SubQuestion("s1", "Leave?"), "needs_clarification", found, SLOT)
    outcome = finished(facts(branches=(branch,)), conclusion("partial", passages=found.passages))
    [report] = outcome.sub_questions
    assert (report.clarification, report.evidence) == ("Which office?", ())
    assert len(outcome.evidence) == 1


# --------------------------------------------------------------------------------- asking back


def asking(**changes: Any) -> Conclusion:
    return conclusion("needs_clarification", prompt="Which office?", options=("Berlin",), **changes)


def test_a_question_to_the_user_comes_with_a_snapshot_that_validates() -> None:
    scope = Scope(collections=("handbook",), sources=("leave.md",), principals=("ann",))
    outcome = finished(facts(asked=1, rewrite_count=1, replies=("2026",)), asking(), scope=scope)
    known = replied(outcome.resume, "Berlin")
    assert outcome.clarification is not None
    assert known.id == outcome.clarification.id
    assert (known.asked, known.rewrite_count, known.replies) == (2, 1, ("2026", "Berlin"))
    assert known.scope.to_scope() == Scope(("handbook",), ("leave.md",))


def test_a_snapshot_holds_neither_passages_nor_principals() -> None:
    outcome = finished(
        facts(), asking(passages=(passage("the secret text"),)), scope=Scope(principals=("ann",))
    )
    written = json.dumps(outcome.resume)
    assert "secret" not in written
    assert "ann" not in written


def test_the_same_question_back_has_the_same_id_in_every_run() -> None:
    ids = {finished(facts(), asking()).to_dict()["clarification"]["id"] for _ in range(2)}
    assert len(ids) == 1


def test_without_a_prompt_what_is_missing_is_named() -> None:
    assert '"Boston", "Paris"' in missing_prompt("How much leave?", ["Boston", "Paris"])
    assert "“波士顿”、“巴黎”" in missing_prompt("年假有多少天？", ["波士顿", "巴黎"])


def test_another_model_has_another_settings_fingerprint() -> None:
    one, other = World(), World()
    other.embedder.fingerprint = "other-model"
    assert settings_fingerprint(one.context()) == settings_fingerprint(World().context())
    assert settings_fingerprint(one.context()) != settings_fingerprint(other.context())


# ------------------------------------------------------------------------------------ as JSON

# docs/outcome.md has the same keys; scripts rely on them.
KEYS = [
    "schema",
    "question",
    "effective_question",
    "status",
    "route",
    "complexity",
    "complexity_reason",
    "confidence",
    "grade",
    "rewrite",
    "context",
    "answer",
    "evidence",
    "queries",
    "sub_questions",
    "clarification",
    "resume",
    "failures",
    "conflicts",
    "nearest",
    "left_out",
    "trace",
    "usage",
    "elapsed_ms",
]


def test_an_outcome_is_json_with_every_key_of_the_contract() -> None:
    found = retrieval("a")
    plain = finished(
        facts(retrievals=(found,)), conclusion("answerable", passages=found.passages)
    ).to_dict()
    assert set(KEYS) <= set(plain)
    assert json.loads(json.dumps(plain)) == plain
    assert plain["schema"] == "anabranch.outcome/1"
    item = plain["evidence"][0]
    assert item["end"] - item["start"] == len(item["text"])
    assert {"id", "chunk_id", "chunk_index", "collection", "source_id", "source", "title", "page",
            "level", "score", "relevance", "found_by", "provenance"} <= set(item)  # fmt: skip
    assert "passage_relevance" not in plain["grade"]


def test_a_page_is_null_where_the_format_has_none() -> None:
    found = passage(chunk=chunk(page=None))
    plain = finished(facts(), conclusion("answerable", passages=(found,))).to_dict()
    assert plain["evidence"][0]["page"] is None


def test_confidence_is_given_in_every_outcome() -> None:
    outcome = finished(facts(), conclusion("no_knowledge", grade=NOTHING, confidence=0.05))
    assert outcome.to_dict()["confidence"] == 0.05


def test_sources_that_contradict_each_other_are_a_conflict_of_the_outcome() -> None:
    known = facts(effective_question="How long is the notice period?")
    sides = ("The notice period is four weeks.", "The notice period is six weeks.")
    passages = tuple(
        passage(chunk=chunk(text, f"{number}.md", source_id=f"s{number}"))
        for number, text in enumerate(sides)
    )
    relevance = {item.chunk.chunk_id: 0.8 for item in passages}
    outcome = finished(known, conclusion(passages=passages, relevance=relevance))
    [conflict] = outcome.to_dict()["conflicts"]
    assert conflict["fact"] == "The notice period is …"
    assert [value["value"] for value in conflict["values"]] == ["four weeks", "six weeks"]
