"""The workflow: classify, retrieve, grade, rewrite once, ask, or fan out and merge.

Drawn in docs/workflow.md, which a test compares with the compiled graph. It delivers evidence,
status and trace; the answer is written outside of it.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, Literal, TypedDict

# The graph reads the annotations of its nodes, so these names are needed at run time. This module
# is imported only when the first question is asked.
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send

from anabranch import steps
from anabranch.fanout import attempt, retrieve
from anabranch.openings import without_opening
from anabranch.outcome import RagRun, RunFacts, finish
from anabranch.ports import RequestContext
from anabranch.resume import Snapshot
from anabranch.synthesis import (
    branch_status,
    conclude,
    relevance_of,
    resolve_route,
    synthesise,
)
from anabranch.trace import RunEvent, Trace
from anabranch.types import (
    BranchResult,
    Complexity,
    Conclusion,
    EvidenceGrade,
    Failure,
    GradeRoute,
    Query,
    Retrieval,
    Rewrite,
    SubQuestion,
    TraceEvent,
    Variant,
)

# A rewrite widens a question whose evidence was weak; beside the question's own hits it must not
# outweigh them.
REWRITE_WEIGHT = 0.5
_INDEX_CHANGED = Failure(
    "resume",
    "index_changed",
    "documents were added or removed since the question was asked back; the reply was searched "
    "in what is there now",
)
_SCOPE_CHANGED = Failure(
    "resume",
    "scope_changed",
    "the reply has another scope than the question had (collections, sources, or who may see them); "
    "it was searched in those of the question, as far as the scope of the reply goes",
)


class RagState(TypedDict, total=False):
    """What one run knows. A node returns the keys that it changed.

    ``question`` is as it was asked (and replied to); ``query`` has the text that is searched and
    graded: the question with what the conversation supplies.
    """

    question: str
    anonymized_question: str
    query: Query
    variants: tuple[Variant, ...]
    docs: Retrieval
    first_docs: Retrieval
    retrieval_status: Literal["ok", "empty", "failed"]
    grade: EvidenceGrade | None
    graded: Mapping[str, float]
    route: GradeRoute | None
    asked: int
    rewrite_count: int
    rewrite: Rewrite | None
    complexity: Complexity
    complexity_reason: str
    sub_questions: tuple[SubQuestion, ...]
    sub_results: Annotated[tuple[BranchResult, ...], operator.add]
    conclusion: Conclusion
    failures: tuple[Failure, ...]
    rag_trace: tuple[TraceEvent, ...]


class BranchState(TypedDict):
    """The state of one branch: fresh, shared with nobody. ``question`` is the user's whole one."""

    question: str
    query: Query
    variants: tuple[Variant, ...]
    sub_question: SubQuestion | None


# ------------------------------------------------------------------------------------------ nodes


async def classify_complexity(state: RagState, runtime: Runtime[RequestContext]) -> RagState:
    """Simple or complex, and why."""
    trace = runtime.context.trace()
    with trace.step("classify_complexity", state["question"]) as step:
        plan, failures = await steps.plan(state["question"], runtime.context)
        step.detail.update(
            complexity=plan.complexity, reason=plan.reason, **steps.shown_standalone(plan),
            **steps.shown_variants(plan.variants, runtime.context),
        )  # fmt: skip
    planned = RagState(
        query=replace(state["query"], text=without_opening(plan.standalone or state["question"])),
        complexity=plan.complexity, complexity_reason=plan.reason,
        variants=plan.variants, sub_questions=plan.sub_questions,
    )  # fmt: skip
    return {**planned, **_noted(state, trace, failures)}


async def retrieve_initial(state: RagState, runtime: Runtime[RequestContext]) -> RagState:
    """The question and its variants, searched at once."""
    trace = runtime.context.trace()
    with trace.step("retrieve_initial", state["query"].text) as step:
        docs = await retrieve(
            state["query"], runtime.context,
            trace=trace, parent=step.event.id, variants=state["variants"],
            multi_hop=state["complexity"] == "complex",
        )  # fmt: skip
    return {"docs": docs, "retrieval_status": _retrieval_status(docs), **_noted(state, trace)}


async def grade_documents(state: RagState, runtime: Runtime[RequestContext]) -> RagState:
    """How well the documents answer, and the route that follows from it."""
    context, trace = runtime.context, runtime.context.trace()
    name = "grade_documents" if state["rewrite_count"] == 0 else "grade_documents.rewritten"
    with trace.step("grade_documents", "grade the evidence", id=name) as step:
        earlier = state.get("grade")
        grade, failures = await steps.grade_or_keep(
            state["query"].text, state["docs"], context,
            earlier=earlier, graded=state.get("graded", {}),
        )  # fmt: skip
        grade, docs = steps.better(
            grade, state["docs"], earlier=earlier, first_docs=state.get("first_docs")
        )
        route = _route(grade, state, context)
        step.detail.update(_shown(grade, route))
    return {
        "grade": grade, "docs": docs, "first_docs": docs, "graded": relevance_of(docs, grade),
        "route": route, **_noted(state, trace, failures),
    }  # fmt: skip


async def rewrite_question(state: RagState, runtime: Runtime[RequestContext]) -> RagState:
    """A broader or a fuller query, once; None when there is nothing to change."""
    context, trace = runtime.context, runtime.context.trace()
    with trace.step("rewrite_question", "rewrite the question") as step:
        rewrite, failures = await steps.rewrite(
            state["query"].text, state["docs"], state["grade"], context
        )
        step.detail.update(_shown_rewrite(rewrite))
    return {
        "rewrite": rewrite,
        "rewrite_count": state["rewrite_count"] + 1,
        **_noted(state, trace, failures),
    }


async def retrieve_rewritten(state: RagState, runtime: Runtime[RequestContext]) -> RagState:
    """The rewritten query's hits, fused with those of the question."""
    rewrite = state["rewrite"]
    if rewrite is None:
        return {}
    trace = runtime.context.trace()
    with trace.step("retrieve_rewritten", rewrite.query) as step:
        query = Query("r1", rewrite.query, rewrite.method, REWRITE_WEIGHT, state["query"].id)
        docs = await retrieve(
            query, runtime.context, trace=trace, parent=step.event.id, earlier=state["docs"]
        )
        step.detail["new_passages"] = steps.new_passages(docs, state["docs"])
    return {"docs": docs, "retrieval_status": _retrieval_status(docs), **_noted(state, trace)}


async def prepare_sub_questions(state: RagState, runtime: Runtime[RequestContext]) -> RagState:
    """Shows each sub-question before it is dispatched."""
    trace = runtime.context.trace()
    with trace.step(
        "prepare_sub_questions", f"{len(state['sub_questions'])} sub-questions"
    ) as step:
        step.detail.update({sub.id: sub.question for sub in state["sub_questions"]})
    return _noted(state, trace)


async def rag_sub_agent(state: BranchState, runtime: Runtime[RequestContext]) -> RagState:
    """One branch: retrieve, then grade. Its own failure is its result."""
    context, trace, query = runtime.context, runtime.context.trace(), state["query"]
    step = _branch(state, context, trace)
    seconds = context.remaining(
        context.budgets.branch_timeout + 2 * context.budgets.model_timeout,
        share=steps.SHARE_OF_A_BRANCH,
    )
    result = await attempt(query.id, step, seconds)
    if isinstance(result, Failure):
        status = "timed_out" if result.kind == "timeout" else "failed"
        result = BranchResult(state["sub_question"], status, failure=result)  # type: ignore[arg-type]
    return {"sub_results": (replace(result, trace=tuple(trace.events)),)}


async def synthesis(state: RagState, runtime: Runtime[RequestContext]) -> RagState:
    """The branches' evidence as one, in plan order, and what each sub-question came to."""
    context, trace = runtime.context, runtime.context.trace()
    with trace.step("synthesis", "bring the branches together") as step:
        conclusion = synthesise(
            state["sub_results"],
            top_k=context.budgets.top_k,
            may_ask=_may_ask(context, state["asked"]),
        )
        step.detail.update(status=conclusion.status, confidence=conclusion.confidence)
    branches = tuple(event for branch in state["sub_results"] for event in branch.trace)
    return {
        "conclusion": conclusion,
        "rag_trace": (*state["rag_trace"], *branches, *trace.events),
    }


# ---------------------------------------------------------------------------------------- routers


def after_complexity(state: RagState) -> Literal["retrieve_initial", "prepare_sub_questions"]:
    """Complex with at least two usable sub-questions fans out; anything else runs as simple."""
    return "prepare_sub_questions" if len(state["sub_questions"]) > 1 else "retrieve_initial"


def after_grade(state: RagState) -> Literal["rewrite_question", "__end__"]:
    """Only the route rewrite goes on; every other one ends the run."""
    return "rewrite_question" if state["route"] == "rewrite" else "__end__"


def fan_out(state: RagState) -> list[Send]:
    """One branch for the original question at full weight, one for each sub-question."""
    question = state["query"].text
    original = BranchState(
        question=question, query=state["query"], variants=state["variants"], sub_question=None
    )
    return [
        Send("rag_sub_agent", original),
        *(Send("rag_sub_agent", branch_state(sub, question)) for sub in state["sub_questions"]),
    ]


def branch_state(sub: SubQuestion, question: str) -> BranchState:
    query = Query(sub.id, sub.question, "sub_question", parent="q1", group=sub.id)
    return BranchState(question=question, query=query, variants=sub.variants, sub_question=sub)


# ------------------------------------------------------------------------------------ what they do


def _route(
    grade: EvidenceGrade | None, state: RagState, context: RequestContext
) -> GradeRoute | None:
    if grade is None:
        return None
    return resolve_route(
        grade,
        rewrites_left=context.budgets.rewrites - state["rewrite_count"],
        may_ask=_may_ask(context, state["asked"]),
    )


async def _branch(state: BranchState, context: RequestContext, trace: Trace) -> BranchResult:
    query, sub = state["query"], state["sub_question"]
    name = f"rag_sub_agent.{query.id}"
    with trace.step("rag_sub_agent", query.text, id=name, group=query.group) as step:
        docs = await retrieve(
            query, context, trace=trace, parent=name, variants=state["variants"], multi_hop=True
        )
        within = state["question"] if sub else None
        grade = await steps.grade(query.text, docs, context, within=within)
        may_ask = _may_ask(context, context.asked)
        route = resolve_route(grade, rewrites_left=0, may_ask=may_ask, in_branch=True)
        status = branch_status(docs, grade, route)
        step.detail.update(status=status, **_shown(grade, route))
    return BranchResult(sub, status, docs, grade)


def _noted(state: RagState, trace: Trace, failures: Sequence[Failure] = ()) -> RagState:
    noted = RagState(rag_trace=(*state["rag_trace"], *trace.events))
    if failures:
        noted["failures"] = (*state["failures"], *failures)
    return noted


def _retrieval_status(docs: Retrieval) -> Literal["ok", "empty", "failed"]:
    return "failed" if docs.failed else ("ok" if docs.passages else "empty")


def _may_ask(context: RequestContext, asked: int) -> bool:
    return context.interactive and asked < context.budgets.asks


def _shown(grade: EvidenceGrade | None, route: GradeRoute | None) -> dict[str, Any]:
    if grade is None:
        return {"reason": "the grader failed"}
    return {
        "relevance": grade.relevance, "answerability": grade.answerability,
        "ambiguity": grade.ambiguity, "confidence": round(grade.confidence, 4),
        "reason": grade.reason, "proposed": grade.route, "route": route,
        "features": dict(grade.features),
    }  # fmt: skip


def _shown_rewrite(rewrite: Rewrite | None) -> dict[str, Any]:
    if rewrite is None:
        return {"method": None, "reason": "nothing to change"}
    return {"method": rewrite.method, "query": rewrite.query, "reason": rewrite.reason}


# ------------------------------------------------------------------------------------ entry points


async def run_rag_graph(question: str, context: RequestContext) -> RagRun:
    """The whole run of one question. Never raises for what happens inside of it: a run that
    breaks or passes its deadline is an outcome with the status ``failed``."""
    state = _first_state(question, Query("q1", question, "original"), context)
    watched, steps = _watched(context)
    run = build_rag_graph().ainvoke(state, context=watched)
    final = await attempt("run", run, context.remaining(float("inf")))
    return _finished(state, final, context, steps=steps)


async def resume_rag_from_hitl(snapshot: Snapshot, context: RequestContext) -> RagRun:
    """The run of a question that the user has replied to: retrieve and grade, never re-plan.

    ``snapshot`` is validated and holds the reply (``resume.validate``). The scope of ``context`` is
    already the caller's, intersected with the snapshot's.
    """
    question = snapshot.refined_question()
    state = _first_state(question, Query("q1", without_opening(question), "clarified"), context)
    state["asked"], state["rewrite_count"] = snapshot.asked, snapshot.rewrite_count
    state["complexity"] = snapshot.complexity
    state["complexity_reason"] = snapshot.complexity_reason
    if not snapshot.was_asked_in(context.scope, context.signing_key):
        # Which documents changed cannot be told then: these are others.
        state["failures"] = (_SCOPE_CHANGED,)
    elif snapshot.index_fingerprint != context.index_fingerprint:
        state["failures"] = (_INDEX_CHANGED,)
    watched, steps = _watched(context)
    final = await attempt("run", _resumed(state, watched), context.remaining(float("inf")))
    return _finished(state, final, context, snapshot=snapshot, steps=steps)


def _watched(context: RequestContext) -> tuple[RequestContext, list[TraceEvent]]:
    """``context``, and the list that its steps will be kept in: all that a broken run leaves."""
    steps: list[TraceEvent] = []

    def keep(event: RunEvent) -> None:
        if event.phase == "end" and event.step is not None:
            steps.append(event.step)
        context.sink(event)

    return replace(context, sink=keep), steps


async def _resumed(state: RagState, context: RequestContext) -> RagState:
    runtime = Runtime(context=context)
    trace = context.trace()
    with trace.step("resume", state["question"]):
        variants, failures = await steps.vary(state["question"], context)
    state = {**state, "variants": variants, **_noted(state, trace, failures)}
    for node in (retrieve_initial, grade_documents):
        state = {**state, **await node(state, runtime)}
    if after_grade(state) == "rewrite_question":
        for node in (rewrite_question, retrieve_rewritten, grade_documents):
            state = {**state, **await node(state, runtime)}
    return state


def _first_state(question: str, query: Query, context: RequestContext) -> RagState:
    return RagState(
        question=question, anonymized_question=context.hidden(question), query=query, variants=(),
        asked=context.asked, rewrite_count=0, rewrite=None, complexity="simple", complexity_reason="",
        sub_questions=(), failures=(), rag_trace=(),
    )  # fmt: skip


def _finished(
    first: RagState,
    final: Mapping[str, Any] | RagState | Failure,
    context: RequestContext,
    *,
    snapshot: Snapshot | None = None,
    steps: Sequence[TraceEvent] = (),
) -> RagRun:
    """The outcome of a run that came to its end, or broke after ``steps``."""
    if isinstance(final, Failure):
        facts = _facts(first, snapshot)
        facts = replace(facts, failures=(*facts.failures, final), trace=tuple(steps))
        return finish(facts, Conclusion("failed", None, 0.0), context)
    conclusion = final.get("conclusion") or conclude(final["docs"], final["grade"], final["route"])
    return finish(_facts(final, snapshot), conclusion, context)


def _facts(state: Mapping[str, Any] | RagState, snapshot: Snapshot | None) -> RunFacts:
    branches = tuple(state.get("sub_results", ()))
    docs = (state["docs"],) if "docs" in state else ()
    return RunFacts(
        question=snapshot.question if snapshot else state["question"],
        effective_question=state["query"].text,
        standalone=_standalone(state, snapshot),
        replies=snapshot.replies if snapshot else (),
        complexity=state["complexity"],
        complexity_reason=state["complexity_reason"],
        plan=snapshot.plan if snapshot else tuple(s.question for s in state["sub_questions"]),
        rewrite=state["rewrite"],
        rewrite_count=state["rewrite_count"],
        asked=state["asked"],
        retrievals=docs or tuple(branch.retrieval for branch in branches),
        branches=branches,
        failures=state["failures"],
        trace=state["rag_trace"],
    )


def _standalone(state: Mapping[str, Any] | RagState, snapshot: Snapshot | None) -> str:
    """The question on its own, without replies; empty where it is as it was asked."""
    if snapshot is not None:
        return snapshot.standalone
    searched = state["query"].text
    return "" if searched in (state["question"], without_opening(state["question"])) else searched


@cache
def build_rag_graph() -> CompiledStateGraph[Any, Any, Any, Any]:
    """The graph, compiled once for every request."""
    graph = StateGraph(RagState, context_schema=RequestContext)
    graph.add_node("classify_complexity", classify_complexity)
    graph.add_node("retrieve_initial", retrieve_initial)
    graph.add_node("grade_documents", grade_documents)
    graph.add_node("rewrite_question", rewrite_question)
    graph.add_node("retrieve_rewritten", retrieve_rewritten)
    graph.add_node("prepare_sub_questions", prepare_sub_questions)
    graph.add_node("rag_sub_agent", rag_sub_agent)
    graph.add_node("synthesis", synthesis)
    graph.add_edge(START, "classify_complexity")
    graph.add_conditional_edges(
        "classify_complexity", after_complexity, ["retrieve_initial", "prepare_sub_questions"]
    )
    graph.add_edge("retrieve_initial", "grade_documents")
    graph.add_conditional_edges("grade_documents", after_grade, ["rewrite_question", END])
    graph.add_edge("rewrite_question", "retrieve_rewritten")
    graph.add_edge("retrieve_rewritten", "grade_documents")
    graph.add_conditional_edges("prepare_sub_questions", fan_out, ["rag_sub_agent"])
    graph.add_edge("rag_sub_agent", "synthesis")
    graph.add_edge("synthesis", END)
    return graph.compile(name="anabranch")
