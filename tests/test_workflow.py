"""The run of a question: what each node leaves, and what the outcome says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anabranch.types import Outcome, Plan, Rewrite, Scope, SubQuestion, Turn, Variant
from anabranch.workflow import build_rag_graph, resume_rag_from_hitl, run_rag_graph
from fakes import (
    CANDIDATES,
    HANG,
    MISSING,
    NOTHING,
    PARTIAL,
    SLOT,
    STRONG,
    World,
    chunk,
    complex_plan,
    hits,
    replied,
    without_times,
)

Q = "How does leave differ between Berlin and Boston?"
BERLIN, BOSTON, PARIS = "Leave in Berlin?", "Leave in Boston?", "Leave in Paris?"
BROAD = Rewrite("step_back", "leave rules", "broader")


async def ask(world: World, question: str = Q, **changes: Any) -> Outcome:
    return (await run_rag_graph(question, world.context(**changes))).outcome


async def reply(world: World, outcome: Outcome, text: str, **changes: Any) -> Outcome:
    known = replied(outcome.resume, text)
    return (await resume_rag_from_hitl(known, world.context(**changes))).outcome


def sub_statuses(outcome: Outcome) -> dict[str, str]:
    return {report.id: report.status for report in outcome.sub_questions}


def query_statuses(outcome: Outcome) -> dict[str, str]:
    return {report.id: report.status for report in outcome.queries}


def failed(outcome: Outcome) -> dict[str, str]:
    return {failure.where: failure.kind for failure in outcome.failures}


def evidence_texts(outcome: Outcome) -> list[str]:
    return [item.text for item in outcome.evidence]


def simple(*found: Any) -> World:
    world = World()
    world.store.found = {Q: hits(*(found or ("a", "b")))}
    return world


def fanned_out(found: Mapping[str, Any], *questions: str) -> World:
    world = World()
    world.planner.script = complex_plan(*(questions or (BERLIN, BOSTON)))
    world.store.found = found
    return world


# ------------------------------------------------------------------------------------- simple


async def test_a_simple_question_is_searched_graded_and_given_evidence() -> None:
    outcome = await ask(simple())
    assert (outcome.status, outcome.route, outcome.complexity) == ("answerable", "answer", "simple")
    assert evidence_texts(outcome) == ["a", "b"]
    assert outcome.confidence == STRONG.confidence
    assert (outcome.clarification, outcome.resume, outcome.rewrite) == (None, None, None)


async def test_nothing_found_is_no_knowledge_without_evidence() -> None:
    outcome = await ask(World())
    assert (outcome.status, outcome.route) == ("no_knowledge", "no_knowledge")
    assert (outcome.evidence, outcome.context, outcome.nearest) == ((), "", ())
    assert query_statuses(outcome) == {"q1": "empty"}


async def test_irrelevant_documents_are_shown_as_nearest_but_are_no_evidence() -> None:
    world = simple("whales sing")
    world.grader.script = {Q: NOTHING}
    outcome = await ask(world)
    assert outcome.status == "no_knowledge"
    assert outcome.evidence == ()
    assert [item.text for item in outcome.nearest] == ["whales sing"]
    assert outcome.confidence == NOTHING.confidence


async def test_a_search_that_failed_is_failed_and_not_no_knowledge() -> None:
    world = World()
    world.store.dense = world.store.text = {Q: OSError("the disk is gone")}
    outcome = await ask(world)
    assert (outcome.status, outcome.route) == ("failed", None)
    assert failed(outcome) == {"q1.dense": "OSError", "q1.text": "OSError"}


async def test_a_dead_leg_costs_the_other_legs_evidence_nothing() -> None:
    world = simple()
    world.store.dense = {Q: OSError("the disk is gone")}
    outcome = await ask(world)
    assert outcome.status == "answerable"
    assert failed(outcome) == {"q1.dense": "OSError"}


# --------------------------------------------------------------------------------- planning


@pytest.mark.parametrize(
    ("line", "kind"), [(ValueError("bad JSON"), "ValueError"), (HANG, "timeout")]
)
async def test_a_planner_that_fails_leaves_the_question_searched_as_it_is(
    line: Any, kind: str
) -> None:
    world = simple()
    world.planner.script = world.planner.other = line
    outcome = await ask(world, query_timeout=0.05)
    assert (outcome.status, outcome.complexity) == ("answerable", "simple")
    assert failed(outcome) == {"classify_complexity": kind, "variants": kind}
    assert "planner failed" in outcome.complexity_reason


async def test_a_planner_that_hangs_leaves_time_to_search_in_a_short_request() -> None:
    world = simple()
    world.planner.script = world.planner.other = HANG
    outcome = await ask(world, seconds=1.5)
    assert outcome.status == "answerable"
    assert world.planner.cancelled.is_set()


async def test_minimal_effort_neither_plans_nor_varies() -> None:
    world = simple()
    world.planner.other = (Variant("other"),)
    outcome = await ask(world, effort="minimal", variants=0, rewrites=0)
    assert (world.planner.planned, world.planner.varied) == ([], [])
    assert query_statuses(outcome) == {"q1": "ok"}


async def test_no_more_variants_are_searched_than_the_request_allows() -> None:
    world = simple()
    many = tuple(Variant(f"other {number}") for number in range(5))
    world.planner.script = Plan("simple", "one fact", variants=many)
    assert list(query_statuses(await ask(world, variants=2))) == ["q1", "q2", "q3"]
    assert list(query_statuses(await ask(world, variants=0))) == ["q1"]


async def test_sub_questions_keep_to_the_number_of_variants_too() -> None:
    world = World()
    subs = tuple(SubQuestion(f"s{i}", f"Part {i}?", variants=(Variant(f"v{i}"),)) for i in (1, 2))
    world.planner.script = Plan("complex", "parts", sub_questions=subs)
    assert list(query_statuses(await ask(world, variants=0))) == ["q1", "s1", "s2"]
    assert "s1.1" in query_statuses(await ask(world, variants=1))


@pytest.mark.parametrize("questions", [(BERLIN,), (BERLIN, " "), (BERLIN, BERLIN), ()])
async def test_fewer_than_two_usable_sub_questions_run_as_simple(
    questions: tuple[str, ...],
) -> None:
    world = simple()
    world.planner.script = complex_plan(*questions)
    outcome = await ask(world)
    assert outcome.sub_questions == ()
    assert query_statuses(outcome) == {"q1": "ok"}


async def test_at_most_four_sub_questions_are_dispatched_each_shown_before() -> None:
    world = fanned_out({}, *(f"Part {number}?" for number in range(6)))
    outcome = await ask(world)
    assert list(sub_statuses(outcome)) == ["s1", "s2", "s3", "s4"]
    [shown] = [event for event in outcome.trace if event.type == "prepare_sub_questions"]
    assert list(shown.detail.values()) == [f"Part {number}?" for number in range(4)]


# ---------------------------------------------------------------------------------- rewriting


async def test_weak_evidence_is_rewritten_once_and_the_hits_are_fused() -> None:
    world = simple("a")
    world.store.found = {Q: hits("a"), BROAD.query: hits("b")}
    world.grader.script = {Q: [PARTIAL, STRONG]}
    world.rewriter.script = BROAD
    outcome = await ask(world)
    assert outcome.status == "answerable"
    assert sorted(evidence_texts(outcome)) == ["a", "b"]
    assert outcome.rewrite == BROAD
    [rewritten] = [query for query in outcome.queries if query.id == "r1"]
    assert (rewritten.kind, rewritten.parent) == ("step_back", "q1")
    assert {e.text: e.found_by for e in outcome.evidence} == {"a": ("q1",), "b": ("r1",)}


@pytest.mark.parametrize(("found", "new"), [(("a", "c"), 1), (("a",), 0)])
async def test_the_trace_says_how_many_passages_a_rewrite_brought(
    found: tuple[str, ...], new: int
) -> None:
    world = simple("a", "b")
    world.store.found = {Q: hits("a", "b"), BROAD.query: hits(*found)}
    world.grader.script = {Q: [PARTIAL, STRONG]}
    world.rewriter.script = BROAD
    outcome = await ask(world)
    step = next(event for event in outcome.trace if event.type == "retrieve_rewritten")
    assert step.detail["new_passages"] == new


async def test_a_question_is_rewritten_only_once_however_weak_it_stays() -> None:
    world = simple("a")
    world.store.found = {Q: hits("a"), BROAD.query: hits("b")}
    world.grader.script = {Q: PARTIAL}
    world.rewriter.script = BROAD
    outcome = await ask(world)
    assert world.rewriter.calls == [Q]
    assert len(world.grader.calls) == 2
    assert (outcome.status, outcome.route) == ("partial", "answer")


async def test_without_a_budget_nothing_is_rewritten() -> None:
    world = simple("a")
    world.grader.script = {Q: PARTIAL}
    outcome = await ask(world, rewrites=0)
    assert world.rewriter.calls == []
    assert outcome.status == "partial"


@pytest.mark.parametrize("found", [(), ("a",)])
async def test_a_rewrite_that_finds_nothing_new_is_not_graded_again(found: tuple[str, ...]) -> None:
    world = simple("a")
    world.store.found = {Q: hits("a"), BROAD.query: hits(*found)}
    world.grader.script = {Q: [PARTIAL]}
    world.rewriter.script = BROAD
    outcome = await ask(world)
    assert len(world.grader.calls) == 1
    assert outcome.status == "partial"
    assert outcome.evidence[0].relevance == 0.9


async def test_a_rewrite_that_makes_things_worse_is_ignored() -> None:
    world = simple()
    world.store.found = {Q: hits("a", "b"), BROAD.query: hits("c", "d")}
    world.grader.script = {Q: [PARTIAL, replace(NOTHING, confidence=0.1)]}
    world.rewriter.script = BROAD
    outcome = await ask(world, interactive=False)
    assert (outcome.status, outcome.confidence) == ("partial", PARTIAL.confidence)
    assert {item.text for item in outcome.evidence} == {"a", "b"}
    assert "r1" in {query.id for query in outcome.queries}


async def test_a_rewriter_with_nothing_to_change_searches_nothing_again() -> None:
    world = simple("a")
    world.grader.script = {Q: [PARTIAL]}
    outcome = await ask(world)
    assert outcome.rewrite is None
    assert world.store.text_calls == [Q]
    assert outcome.status == "partial"


@pytest.mark.parametrize("line", [ValueError("bad JSON"), HANG])
async def test_a_rewriter_that_fails_leaves_the_first_evidence(line: Any) -> None:
    world = simple("a")
    world.grader.script = {Q: [PARTIAL]}
    world.rewriter.script = line
    outcome = await ask(world, query_timeout=0.05)
    assert (outcome.status, evidence_texts(outcome)) == ("partial", ["a"])
    assert list(failed(outcome)) == ["rewrite_question"]


@pytest.mark.parametrize("line", [ValueError("bad JSON"), HANG])
async def test_a_grader_that_fails_is_failed_and_what_was_found_stays_in_the_outcome(
    line: Any,
) -> None:
    world = simple("a")
    world.grader.script = {Q: line}
    outcome = await ask(world, query_timeout=0.05)
    assert (outcome.status, outcome.route) == ("failed", None)
    assert query_statuses(outcome) == {"q1": "ok"}
    assert list(failed(outcome)) == ["grade_documents"]


async def test_a_grader_that_fails_after_a_rewrite_leaves_its_first_grade() -> None:
    world = simple("a")
    world.store.found = {Q: hits("a"), BROAD.query: hits("b")}
    world.grader.script = {Q: [PARTIAL, ValueError("bad JSON")]}
    world.rewriter.script = BROAD
    outcome = await ask(world)
    assert outcome.status == "partial"
    assert list(failed(outcome)) == ["grade_documents"]


# ------------------------------------------------------------------------------------- asking


async def test_a_missing_slot_is_asked_about_with_its_options() -> None:
    world = simple()
    world.grader.script = {Q: SLOT}
    outcome = await ask(world)
    assert (outcome.status, outcome.route) == ("needs_clarification", "clarify")
    assert outcome.clarification is not None
    assert outcome.clarification.prompt == "Which office?"
    assert outcome.clarification.options == ("Berlin", "Boston")
    assert outcome.evidence == ()
    assert outcome.resume is not None
    assert outcome.resume["id"] == outcome.clarification.id


async def test_several_candidates_ask_for_a_scope() -> None:
    world = simple()
    world.grader.script = {Q: CANDIDATES}
    outcome = await ask(world)
    assert (outcome.status, outcome.route) == ("needs_scope_selection", "scope_select")
    assert outcome.clarification is not None
    assert outcome.clarification.kind == "scope_select"


async def test_partial_evidence_asks_once_naming_what_is_missing() -> None:
    world = simple()
    world.grader.script = {Q: MISSING}
    outcome = await ask(world)
    assert world.rewriter.calls == [Q]
    assert outcome.status == "needs_clarification"
    assert outcome.clarification is not None
    assert '"Boston"' in outcome.clarification.prompt


async def test_the_missing_part_of_a_chinese_question_is_asked_about_in_chinese() -> None:
    world = World()
    world.store.found = {"波士顿的年假有多少天？": hits("柏林的年假是三十天。")}
    world.grader.script = {"波士顿的年假有多少天？": replace(MISSING, missing_slots=("波士顿",))}
    outcome = await ask(world, "波士顿的年假有多少天？")
    assert outcome.clarification is not None
    assert "“波士顿”" in outcome.clarification.prompt


@pytest.mark.parametrize("grade", [MISSING, SLOT, CANDIDATES])
async def test_where_questions_are_forbidden_the_best_effort_is_partial(grade: Any) -> None:
    world = simple("a")
    world.grader.script = {Q: grade}
    outcome = await ask(world, interactive=False)
    assert (outcome.status, outcome.route) == ("partial", "answer")
    assert evidence_texts(outcome) == ["a"]
    assert (outcome.clarification, outcome.resume) == (None, None)
    assert outcome.grade is not None
    assert outcome.grade.missing_slots == grade.missing_slots


# ----------------------------------------------------------------------------------- resuming


async def asked_back(world: World, **changes: Any) -> Outcome:
    world.store.found = {Q: hits("a"), f"{Q} Berlin": hits("b")}
    world.grader.script = {Q: SLOT}
    return await ask(world, **changes)


async def test_a_reply_is_joined_to_the_question_searched_and_graded() -> None:
    world = World()
    outcome = await reply(world, await asked_back(world), "Berlin")
    assert outcome.status == "answerable"
    assert evidence_texts(outcome) == ["b"]
    assert (outcome.question, outcome.effective_question) == (Q, f"{Q} Berlin")
    assert [query.kind for query in outcome.queries] == ["clarified"]


async def test_a_resumed_run_never_plans_again() -> None:
    world = World()
    first = await asked_back(world)
    await reply(world, first, "Berlin")
    assert world.planner.planned == [Q]
    # Other phrasings of the refined question are no plan.
    assert world.planner.varied == [Q, f"{Q} Berlin"]


async def test_a_reply_may_be_asked_about_again_up_to_the_cap() -> None:
    world = World()
    first = await asked_back(world)
    world.grader.script = {f"{Q} Berlin": SLOT, f"{Q} Berlin interns": SLOT}
    world.store.found = {f"{Q} Berlin": hits("b"), f"{Q} Berlin interns": hits("c")}
    second = await reply(world, first, "Berlin")
    assert second.status == "needs_clarification"
    assert second.resume is not None
    assert (second.resume["asked"], second.resume["replies"]) == (2, ["Berlin"])
    third = await reply(world, second, "interns")
    assert (third.status, third.resume) == ("partial", None)
    assert third.effective_question == f"{Q} Berlin interns"


async def test_questions_asked_in_a_row_before_this_one_count_towards_the_cap() -> None:
    world = simple()
    world.grader.script = {Q: SLOT}
    assert (await ask(world, asked=1)).status == "needs_clarification"
    assert (await ask(world, asked=2)).status == "partial"


async def test_with_no_asks_allowed_nothing_is_asked() -> None:
    assert (await asked_back(World(), asks=0)).status == "partial"


async def test_a_long_reply_can_be_asked_about_again() -> None:
    world = World()
    first = await asked_back(world)
    long = "x" * 2_000
    world.grader.script = {f"{Q} {long}": SLOT}
    world.store.found = {f"{Q} {long}": hits("b")}
    second = await reply(world, first, long)
    assert replied(second.resume, "more").replies == (long, "more")


async def test_an_unspent_rewrite_may_be_spent_after_a_reply() -> None:
    world = World()
    first = await asked_back(world)
    world.grader.script = {f"{Q} Berlin": [PARTIAL, STRONG]}
    world.store.found = {f"{Q} Berlin": hits("b"), BROAD.query: hits("c")}
    world.rewriter.script = BROAD
    outcome = await reply(world, first, "Berlin")
    assert outcome.rewrite == BROAD
    assert sorted(evidence_texts(outcome)) == ["b", "c"]


async def test_a_spent_rewrite_is_not_spent_again_after_a_reply() -> None:
    world = simple("a")
    world.grader.script = {Q: MISSING}
    first = await ask(world)
    assert world.rewriter.calls == [Q]
    world.grader.script = {f"{Q} Berlin": MISSING}
    world.store.found = {f"{Q} Berlin": hits("b")}
    await reply(world, first, "Berlin")
    assert world.rewriter.calls == [Q]


async def test_the_snapshot_of_a_complex_question_keeps_its_plan_through_every_reply() -> None:
    world = fanned_out({BERLIN: hits("b"), f"{Q} 2026": hits("c")})
    world.grader.script = {BERLIN: SLOT, f"{Q} 2026": SLOT}
    first = await ask(world)
    assert first.resume is not None
    assert (first.resume["complexity"], first.resume["plan"]) == ("complex", [BERLIN, BOSTON])
    second = await reply(world, first, "2026")
    assert second.resume is not None
    assert second.resume["plan"] == [BERLIN, BOSTON]
    assert second.complexity == "complex"


async def test_words_of_a_model_longer_than_a_snapshot_holds_break_nothing() -> None:
    world = fanned_out({}, BERLIN + "x" * 9_000, BOSTON)
    world.planner.script = replace(world.planner.script, reason="r" * 9_000)
    found = world.planner.script.sub_questions[0].question
    world.store.found = {found: hits("b")}
    world.grader.script = {
        found: replace(SLOT, hitl_prompt="p" * 9_000, hitl_options=("o" * 9_000,))
    }
    outcome = await ask(world)
    assert outcome.clarification is not None
    assert len(outcome.clarification.prompt) == 9_000
    assert replied(outcome.resume, "Berlin").asked == 1


async def test_a_reply_is_searched_in_an_index_that_changed_and_the_outcome_says_so() -> None:
    world = World()
    first = await asked_back(world)
    same = await reply(world, first, "Berlin")
    changed = await reply(world, first, "Berlin", index_fingerprint="version-2")
    assert (same.failures, changed.status) == ((), "answerable")
    assert [failure.where for failure in changed.failures] == ["resume"]


async def test_a_reply_that_cannot_be_searched_is_failed() -> None:
    world = World()
    first = await asked_back(world)
    world.store.dense = world.store.text = {f"{Q} Berlin": OSError("disk")}
    assert (await reply(world, first, "Berlin")).status == "failed"


# --------------------------------------------------------------------------------- fanning out


async def test_every_sub_question_answered_is_answerable() -> None:
    world = fanned_out({BERLIN: hits("b"), BOSTON: hits("c"), Q: hits("a")})
    outcome = await ask(world)
    assert (outcome.status, outcome.complexity) == ("answerable", "complex")
    assert evidence_texts(outcome) == ["a", "b", "c"]
    assert {report.id: report.evidence for report in outcome.sub_questions} == {
        "s1": ("e2",), "s2": ("e3",),
    }  # fmt: skip
    assert [query.kind for query in outcome.queries] == ["original", "sub_question", "sub_question"]


async def test_a_branch_that_raises_one_that_hangs_and_one_that_is_empty_are_told_apart() -> None:
    world = fanned_out({BERLIN: hits("b")}, BERLIN, BOSTON, PARIS, "Rome?")
    broken = {BOSTON: OSError("disk"), PARIS: HANG}
    world.store.dense = world.store.text = {**world.store.found, **broken}
    outcome = await ask(world, query_timeout=0.05)
    assert sub_statuses(outcome) == {
        "s1": "answerable", "s2": "failed", "s3": "timed_out", "s4": "no_knowledge",
    }  # fmt: skip
    assert query_statuses(outcome) == {
        "q1": "empty", "s1": "ok", "s2": "failed", "s3": "timed_out", "s4": "empty",
    }  # fmt: skip
    assert (outcome.status, evidence_texts(outcome)) == ("partial", ["b"])
    assert failed(outcome) == {
        "s2.dense": "OSError", "s2.text": "OSError", "s3.dense": "timeout", "s3.text": "timeout",
    }  # fmt: skip


@pytest.mark.parametrize(("line", "status"), [(ValueError("x"), "failed"), (HANG, "timed_out")])
async def test_a_branch_that_breaks_as_a_whole_leaves_the_others_evidence(
    line: Any, status: str
) -> None:
    world = fanned_out({BERLIN: hits("b"), BOSTON: hits("c")})
    world.grader.script = {BOSTON: line}
    outcome = await ask(world, branch_timeout=0.3)
    assert sub_statuses(outcome) == {"s1": "answerable", "s2": status}
    assert (outcome.status, evidence_texts(outcome)) == ("partial", ["b"])
    assert list(failed(outcome)) == ["s2"]
    assert outcome.sub_questions[1].reason


async def test_a_branch_that_hangs_is_cut_off_before_the_request_is() -> None:
    world = fanned_out({BERLIN: hits("b"), BOSTON: hits("c")})
    world.grader.script = {BOSTON: HANG}
    outcome = await ask(world, seconds=1.0)
    assert sub_statuses(outcome) == {"s1": "answerable", "s2": "timed_out"}
    assert outcome.status == "partial"


async def test_every_branch_failing_is_failed_with_no_route() -> None:
    world = fanned_out({})
    broken = {question: OSError("disk") for question in (Q, BERLIN, BOSTON)}
    world.store.dense = world.store.text = broken
    outcome = await ask(world)
    assert (outcome.status, outcome.route) == ("failed", None)
    assert sub_statuses(outcome) == {"s1": "failed", "s2": "failed"}
    assert outcome.resume is None


async def test_a_sub_question_without_evidence_is_listed_as_uncovered() -> None:
    outcome = await ask(fanned_out({BERLIN: hits("b")}))
    assert outcome.status == "partial"
    assert sub_statuses(outcome) == {"s1": "answerable", "s2": "no_knowledge"}
    assert outcome.grade is not None
    assert outcome.grade.missing_slots == (BOSTON,)


async def test_an_open_sub_question_is_shown_beside_the_evidence_of_its_siblings() -> None:
    world = fanned_out({BERLIN: hits("b"), BOSTON: hits("c")})
    world.grader.script = {BOSTON: SLOT}
    outcome = await ask(world)
    assert outcome.status == "partial"
    assert outcome.sub_questions[1].status == "needs_clarification"
    assert outcome.sub_questions[1].clarification == "Which office?"
    assert evidence_texts(outcome) == ["b"]


async def test_open_sub_questions_are_asked_about_together_and_a_scope_wins() -> None:
    world = fanned_out({BERLIN: hits("b"), BOSTON: hits("c")})
    world.grader.script = {BERLIN: SLOT, BOSTON: CANDIDATES}
    outcome = await ask(world)
    assert outcome.status == "needs_scope_selection"
    assert outcome.clarification is not None
    assert outcome.clarification.prompt == "Which office? Which handbook?"
    assert outcome.clarification.options == ("Berlin", "Boston", "2025", "2026")
    assert outcome.evidence == ()


async def test_ambiguous_sub_questions_give_their_best_effort_where_asking_is_forbidden() -> None:
    world = fanned_out({BERLIN: hits("b"), BOSTON: hits("c")})
    world.grader.script = {BERLIN: SLOT, BOSTON: SLOT}
    outcome = await ask(world, interactive=False)
    assert (outcome.status, evidence_texts(outcome)) == ("partial", ["b", "c"])
    assert sub_statuses(outcome) == {"s1": "partial", "s2": "partial"}


async def test_a_sub_question_names_the_evidence_that_its_leaf_became_part_of() -> None:
    leaves = [
        chunk("a" * 30 + str(i), start=31 * i, chunk_index=i, parent_id="parent") for i in range(3)
    ]
    world = fanned_out({Q: hits(*leaves), BERLIN: hits(leaves[1]), BOSTON: hits("c")})
    world.store.parents = {"parent": chunk("a" * 93, level=2, chunk_id="parent")}
    outcome = await ask(world)
    assert outcome.evidence[0].chunk_id == "parent"
    assert outcome.evidence[0].found_by == ("q1", "s1")
    assert outcome.queries[1].results[0].evidence == "e1"
    assert outcome.sub_questions[0].evidence == ("e1",)


async def test_the_same_sentence_in_two_files_is_one_evidence_that_both_queries_point_to() -> None:
    world = fanned_out({BERLIN: hits(chunk(source="a.md")), BOSTON: hits(chunk(source="b.md"))})
    outcome = await ask(world)
    [item] = outcome.evidence
    assert [place.source for place in item.provenance] == ["a.md", "b.md"]
    assert item.found_by == ("s1", "s2")
    assert [report.evidence for report in outcome.sub_questions] == [("e1",), ("e1",)]
    assert [query.results[0].evidence for query in outcome.queries[1:]] == ["e1", "e1"]


async def test_a_branch_with_partial_evidence_is_never_rewritten() -> None:
    world = fanned_out({BERLIN: hits("b"), BOSTON: hits("c")})
    world.grader.script = {BERLIN: PARTIAL}
    world.rewriter.script = BROAD
    outcome = await ask(world)
    assert world.rewriter.calls == []
    assert sub_statuses(outcome) == {"s1": "partial", "s2": "answerable"}


# ----------------------------------------------------------------------------- every kind of run


async def test_the_order_in_which_branches_finish_changes_nothing() -> None:
    outcomes = []
    for turns in ({}, {Q: 40}, {BERLIN: 60, Q: 5}, {BOSTON: 30, BERLIN: 10}):
        world = fanned_out({Q: hits("a", "x"), BERLIN: hits("b", "x"), BOSTON: hits("c", "b")})
        world.store.turns = world.grader.turns = turns
        outcomes.append(without_times(await ask(world)))
    assert all(outcome == outcomes[0] for outcome in outcomes[1:])


async def test_the_same_question_twice_gives_the_same_outcome() -> None:
    world = fanned_out({Q: hits("a"), BERLIN: hits("b"), BOSTON: hits("c")})
    assert without_times(await ask(world)) == without_times(await ask(world))


async def test_a_run_that_passes_its_deadline_is_failed_with_the_steps_it_took() -> None:
    world = simple()
    world.grader.script = {Q: HANG}
    world.store.words = HANG
    outcome = await ask(world, seconds=0.2)
    assert (outcome.status, outcome.route) == ("failed", None)
    assert failed(outcome) == {"run": "timeout"}
    assert [event.type for event in outcome.trace] == ["classify_complexity"]


async def test_the_scope_holds_in_every_branch() -> None:
    world = fanned_out({BERLIN: hits("b")})
    scope = Scope(collections=("handbook",), principals=("ann",))
    await ask(world, scope=scope)
    assert set(world.store.scopes) == {scope}


async def test_history_reaches_every_grade_and_a_part_is_told_the_whole_question() -> None:
    world = fanned_out({BERLIN: hits("b")})
    history = (Turn("user", "We were talking of Berlin."),)
    await ask(world, history=history)
    assert world.planner.histories == [history]
    inside = (*history, Turn("user", Q))
    assert world.grader.histories == [history, inside, inside]


FOLLOW_UP, STANDALONE = "And in Boston?", "How much leave is there in Boston?"


def follow_up(**changes: Any) -> World:
    world = World()
    world.planner.script = replace(
        Plan("simple", "one fact", standalone=STANDALONE, filled_in="'leave' from turn 1"),
        **changes,
    )
    world.store.found = {STANDALONE: hits("a")}
    return world


async def test_a_follow_up_is_searched_varied_graded_and_shown_as_it_stands_on_its_own() -> None:
    world = follow_up()
    outcome = await ask(world, FOLLOW_UP)
    assert (outcome.question, outcome.effective_question) == (FOLLOW_UP, STANDALONE)
    assert [query.text for query in outcome.queries] == [STANDALONE]
    assert world.planner.varied == [STANDALONE]
    assert [question for question, _ in world.grader.calls] == [STANDALONE]
    assert outcome.status == "answerable"


async def test_the_trace_says_what_the_conversation_supplied() -> None:
    outcome = await ask(follow_up(), FOLLOW_UP)
    detail = outcome.trace[0].detail
    assert (detail["standalone"], detail["filled_in"]) == (STANDALONE, "'leave' from turn 1")


async def test_the_parts_of_a_complex_follow_up_are_told_the_question_on_its_own() -> None:
    subs = complex_plan(BERLIN, BOSTON).sub_questions
    world = follow_up(complexity="complex", sub_questions=subs)
    outcome = await ask(world, FOLLOW_UP)
    inside = (Turn("user", STANDALONE),)
    assert world.grader.histories == [(), inside, inside]
    assert {query.text for query in outcome.queries} == {STANDALONE, BERLIN, BOSTON}


async def test_a_reply_joins_the_follow_up_as_it_stands_on_its_own() -> None:
    world = follow_up()
    world.grader.script = {STANDALONE: SLOT}
    asked = await ask(world, FOLLOW_UP)
    resumed = await reply(world, asked, "for interns")
    joined = f"{STANDALONE} for interns"
    assert (resumed.question, resumed.effective_question) == (FOLLOW_UP, joined)
    assert [query.text for query in resumed.queries] == [joined]


async def test_every_node_of_a_run_is_in_its_trace_in_order() -> None:
    world = simple("a")
    world.store.found = {Q: hits("a"), BROAD.query: hits("b")}
    world.grader.script = {Q: [PARTIAL, STRONG]}
    world.rewriter.script = BROAD
    outcome = await ask(world)
    nodes = [event.type for event in outcome.trace if event.parent is None]
    assert nodes == [
        "classify_complexity", "retrieve_initial", "grade_documents", "rewrite_question",
        "retrieve_rewritten", "grade_documents",
    ]  # fmt: skip
    assert len({event.id for event in outcome.trace}) == len(outcome.trace)


async def test_the_steps_of_a_branch_carry_its_group() -> None:
    outcome = await ask(fanned_out({BERLIN: hits("b")}))
    groups = {event.id: event.group for event in outcome.trace if event.type == "query"}
    assert groups == {
        "rag_sub_agent.q1.q1": None, "rag_sub_agent.s1.s1": "s1", "rag_sub_agent.s2.s2": "s2",
    }  # fmt: skip


async def test_what_the_sink_saw_is_what_the_trace_says() -> None:
    world = fanned_out({BERLIN: hits("b"), BOSTON: hits("c")})
    outcome = await ask(world)
    ended = [event.step for event in world.events if event.phase == "end"]
    assert sorted(e.id for e in ended if e) == sorted(e.id for e in outcome.trace)


def test_the_graph_is_drawn_in_the_documentation() -> None:
    page = (Path(__file__).parents[1] / "docs" / "workflow.md").read_text(encoding="utf-8")
    drawn = page.split("```mermaid\n", 1)[1].split("```", 1)[0]
    assert drawn.strip() == build_rag_graph().get_graph().draw_mermaid().strip()
