"""How grades become a route, and how branches become one conclusion."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.synthesis import (
    branch_status,
    conclude,
    interleave,
    relevance_of,
    resolve_route,
    synthesise,
)
from anabranch.types import (
    BranchResult,
    BranchStatus,
    EvidenceGrade,
    Failure,
    GradeRoute,
    LegResult,
    Query,
    QueryResult,
    Retrieval,
    SubQuestion,
)
from fakes import CANDIDATES, MISSING, NOTHING, PARTIAL, SLOT, STRONG, chunk, passage


@pytest.mark.parametrize(
    ("grade", "rewrites_left", "may_ask", "route"),
    [
        (NOTHING, 1, True, "no_knowledge"),
        (replace(STRONG, relevance="none"), 1, True, "no_knowledge"),
        (replace(SLOT, answerability="none"), 1, True, "no_knowledge"),
        (CANDIDATES, 1, True, "scope_select"),
        (SLOT, 1, True, "clarify"),
        (SLOT, 1, False, "answer"),
        (CANDIDATES, 1, False, "answer"),
        (STRONG, 1, True, "answer"),
        (STRONG, 0, False, "answer"),
        (PARTIAL, 1, True, "rewrite"),
        (PARTIAL, 1, False, "rewrite"),
        (PARTIAL, 0, True, "answer"),
        (MISSING, 0, True, "clarify"),
        (MISSING, 0, False, "answer"),
    ],
)
def test_the_route_follows_from_grade_and_budgets(
    grade: EvidenceGrade, rewrites_left: int, may_ask: bool, route: GradeRoute
) -> None:
    assert resolve_route(grade, rewrites_left=rewrites_left, may_ask=may_ask) == route


def test_what_the_grader_proposes_decides_nothing() -> None:
    stubborn = replace(NOTHING, route="answer")
    assert resolve_route(stubborn, rewrites_left=1, may_ask=True) == "no_knowledge"


@pytest.mark.parametrize("grade", [PARTIAL, MISSING])
def test_a_branch_never_rewrites(grade: EvidenceGrade) -> None:
    assert resolve_route(grade, rewrites_left=1, may_ask=True, in_branch=True) == "answer"


def test_a_branch_does_not_ask_where_questions_are_forbidden() -> None:
    route = resolve_route(SLOT, rewrites_left=0, may_ask=False, in_branch=True)
    assert branch_status(Retrieval((passage(),)), SLOT, route) == "partial"


def failed_retrieval(*kinds: str) -> Retrieval:
    legs = tuple(LegResult("text", failure=Failure("text", kind)) for kind in kinds)
    return Retrieval(results=(QueryResult(Query("s1", "x", "sub_question"), legs),))


@pytest.mark.parametrize(
    ("retrieval", "grade", "route", "status"),
    [
        (Retrieval((passage(),)), STRONG, "answer", "answerable"),
        (Retrieval((passage(),)), PARTIAL, "answer", "partial"),
        (Retrieval((passage(),)), SLOT, "clarify", "needs_clarification"),
        (Retrieval(), NOTHING, "no_knowledge", "no_knowledge"),
        (failed_retrieval("StorageError", "timeout"), NOTHING, "no_knowledge", "failed"),
        (failed_retrieval("timeout", "timeout"), NOTHING, "no_knowledge", "timed_out"),
    ],
)
def test_what_failed_what_hung_and_what_is_empty_are_told_apart(
    retrieval: Retrieval, grade: EvidenceGrade, route: GradeRoute, status: BranchStatus
) -> None:
    assert branch_status(retrieval, grade, route) == status


def test_a_simple_question_whose_search_failed_has_failed_and_has_no_route() -> None:
    conclusion = conclude(failed_retrieval("StorageError"), NOTHING, "no_knowledge")
    assert (conclusion.status, conclusion.route) == ("failed", None)


def test_a_route_to_rewrite_is_never_final() -> None:
    conclusion = conclude(Retrieval((passage(),)), PARTIAL, "rewrite")
    assert (conclusion.status, conclusion.route) == ("partial", "answer")


# -------------------------------------------------------------------------------- synthesis


def test_nothing_is_answered_from_nothing_where_questions_are_forbidden() -> None:
    assert conclude(Retrieval(), SLOT, "answer").status == "no_knowledge"
    assert branch_status(Retrieval(), SLOT, "answer") == "no_knowledge"


def branch(
    number: int, status: BranchStatus, grade: EvidenceGrade | None = None, *texts: str
) -> BranchResult:
    """Branch 0 is that of the original question."""
    sub = SubQuestion(f"s{number}", f"Question {number}?") if number else None
    found = Retrieval(
        tuple(passage(text, f"{text}.md", found_by=(sub.id if sub else "q1",)) for text in texts)
    )
    return BranchResult(sub, status, found, grade)


def test_answerable_means_that_every_sub_question_is() -> None:
    whole = branch(0, "answerable", STRONG, "a")
    both = [whole, branch(1, "answerable", STRONG, "b"), branch(2, "answerable", STRONG, "c")]
    assert synthesise(both, top_k=8, may_ask=True).status == "answerable"
    both[2] = branch(2, "no_knowledge", NOTHING)
    conclusion = synthesise(both, top_k=8, may_ask=True)
    assert (conclusion.status, conclusion.route) == ("partial", "answer")
    assert conclusion.grade is not None
    assert conclusion.grade.missing_slots == ("Question 2?",)


@pytest.mark.parametrize("status", ["failed", "timed_out"])
def test_a_branch_that_failed_leaves_the_others_their_evidence(status: BranchStatus) -> None:
    conclusion = synthesise(
        [branch(0, status), branch(1, "answerable", STRONG, "b"), branch(2, status)],
        top_k=8,
        may_ask=True,
    )
    assert conclusion.status == "partial"
    assert [item.chunk.text for item in conclusion.passages] == ["b"]


def test_all_failing_is_failed_and_not_empty() -> None:
    branches = [branch(0, "failed"), branch(1, "timed_out"), branch(2, "failed")]
    conclusion = synthesise(branches, top_k=8, may_ask=True)
    assert (conclusion.status, conclusion.route) == ("failed", None)


def test_one_branch_that_came_back_empty_is_enough_for_no_knowledge() -> None:
    branches = [branch(0, "no_knowledge", NOTHING), branch(1, "failed"), branch(2, "failed")]
    assert synthesise(branches, top_k=8, may_ask=True).status == "no_knowledge"


def test_only_branches_that_answer_give_evidence() -> None:
    conclusion = synthesise(
        [
            branch(0, "no_knowledge", NOTHING, "noise"),
            branch(1, "answerable", STRONG, "b"),
            branch(2, "needs_clarification", SLOT, "unclear"),
        ],
        top_k=8,
        may_ask=True,
    )
    assert [item.chunk.text for item in conclusion.passages] == ["b"]
    assert conclusion.status == "partial"


def test_open_clarifications_join_their_prompts_and_unite_their_options() -> None:
    other = replace(SLOT, hitl_prompt="Which year?", hitl_options=("2026", "Berlin"))
    conclusion = synthesise(
        [
            branch(0, "no_knowledge", NOTHING),
            branch(1, "needs_clarification", SLOT),
            branch(2, "needs_clarification", other),
        ],
        top_k=8,
        may_ask=True,
    )
    assert (conclusion.status, conclusion.route) == ("needs_clarification", "clarify")
    assert conclusion.prompt == "Which office? Which year?"
    assert conclusion.options == ("Berlin", "Boston", "2026")
    assert conclusion.grade is not None
    assert (conclusion.grade.ambiguity, conclusion.grade.route) == ("missing_slot", "clarify")


def test_scope_select_wins_over_clarify() -> None:
    conclusion = synthesise(
        [
            branch(0, "no_knowledge", NOTHING),
            branch(1, "needs_clarification", SLOT),
            branch(2, "needs_clarification", CANDIDATES),
        ],
        top_k=8,
        may_ask=True,
    )
    assert (conclusion.status, conclusion.route) == ("needs_scope_selection", "scope_select")
    assert conclusion.grade is not None
    assert conclusion.grade.ambiguity == "multiple_candidates"


def confidence_of(whole: EvidenceGrade | None, *parts: BranchStatus) -> float:
    branches = [branch(0, "answerable" if whole else "failed", whole)]
    branches += [branch(number, status, STRONG) for number, status in enumerate(parts, start=1)]
    return synthesise(branches, top_k=8, may_ask=True).confidence


def test_a_question_that_was_split_is_as_sure_as_it_is_unsplit() -> None:
    assert confidence_of(STRONG, "answerable", "answerable") == STRONG.confidence
    assert confidence_of(PARTIAL, "answerable", "partial") == PARTIAL.confidence


def test_a_part_that_nothing_was_found_for_lowers_the_confidence_of_the_whole() -> None:
    half = confidence_of(STRONG, "answerable", "no_knowledge")
    none = confidence_of(STRONG, "failed", "no_knowledge")
    assert STRONG.confidence > half > none == pytest.approx(STRONG.confidence / 2)


def test_where_the_whole_was_not_graded_the_weakest_part_speaks_for_it() -> None:
    assert confidence_of(None, "answerable", "answerable") == STRONG.confidence


# ------------------------------------------------------------------------------- interleaving


def test_every_branch_gets_its_turn_before_any_gets_more_than_its_quota() -> None:
    whole = branch(0, "answerable", STRONG, "a1", "a2", "a3", "a4")
    parts = [
        branch(1, "answerable", STRONG, "b1", "b2", "b3"),
        branch(2, "answerable", STRONG, "c1"),
    ]
    texts = [item.chunk.text for item in interleave([whole, *parts], top_k=6)]
    assert texts == ["a1", "b1", "c1", "a2", "b2", "a3", "a4", "b3"]


def test_the_original_question_comes_first_wherever_its_branch_stands() -> None:
    whole, part = branch(0, "answerable", STRONG, "a"), branch(1, "answerable", STRONG, "b")
    assert interleave([part, whole], top_k=8) == interleave([whole, part], top_k=8)


def test_with_fewer_places_than_branches_each_sub_question_comes_before_the_whole() -> None:
    whole = branch(0, "answerable", STRONG, "a1", "a2")
    parts = [branch(number, "answerable", STRONG, f"p{number}") for number in (1, 2, 3)]
    texts = [item.chunk.text for item in interleave([whole, *parts], top_k=3)]
    assert texts == ["p1", "p2", "p3", "a1", "a2"]


def test_joined_neighbours_in_a_later_branch_keep_what_the_first_of_them_alone_lacks() -> None:
    text = "a" * 90
    leaf = passage(chunk=chunk(text, "long.md", chunk_id="leaf"))
    both = passage(chunk=chunk(f"{text} b", "long.md", chunk_id="both"), merged_from=("leaf", "b"))
    [kept] = interleave(
        [
            BranchResult(None, "answerable", Retrieval((leaf,)), STRONG),
            BranchResult(SubQuestion("s1", "?"), "answerable", Retrieval((both,)), STRONG),
        ],
        top_k=8,
    )
    assert kept.chunk == both.chunk
    assert kept.merged_from == ("leaf", "b")


def test_a_passage_that_two_branches_found_is_one_with_both_as_finders() -> None:
    [kept] = interleave(
        [branch(0, "answerable", STRONG, "a"), branch(1, "answerable", STRONG, "a")], top_k=8
    )
    assert kept.found_by == ("q1", "s1")
    assert kept.merged_from == ()


def test_a_parent_in_one_branch_and_its_child_in_another_are_one() -> None:
    parent = passage(chunk=chunk("a" * 90, level=2, chunk_id="parent"))
    child = passage(chunk=chunk("a" * 30, start=10, chunk_id="child"), found_by=("s1",))
    [kept] = interleave(
        [
            BranchResult(None, "answerable", Retrieval((parent,)), STRONG),
            BranchResult(SubQuestion("s1", "?"), "answerable", Retrieval((child,)), STRONG),
        ],
        top_k=8,
    )
    assert kept.chunk.chunk_id == "parent"
    assert (kept.found_by, kept.merged_from) == (("q1", "s1"), ("child",))


def test_relevance_is_known_for_the_leaves_of_a_merged_passage() -> None:
    merged = passage(chunk=chunk(level=2, chunk_id="p"), merged_from=("a", "b"))
    grade = replace(STRONG, passage_relevance=(0.7,))
    assert relevance_of(Retrieval((merged,)), grade) == {"p": 0.7, "a": 0.7, "b": 0.7}
