"""What every front calls: one engine behind blocking calls, their twins and streams."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import pytest

from anabranch.errors import (
    AnabranchError,
    CollectionNotFoundError,
    InputError,
    QuestionError,
    SnapshotError,
    SourceNotFoundError,
    StorageError,
)
from anabranch.knowledge_base import KnowledgeBase
from anabranch.request import budgets_of
from anabranch.settings import Settings
from anabranch.trace import RunEvent
from anabranch.types import Effort, Scope, SourceRecord
from fakes import (
    CANDIDATES,
    HANG,
    NOTHING,
    SLOT,
    FakeBuilt,
    World,
    chunk,
    complex_plan,
    hits,
    without_times,
)

Q = "How much leave is there?"
ENDINGS = {"run.finished", "run.needs_input", "run.failed"}


@pytest.fixture
def world() -> World:
    world = World()
    world.store.found = {Q: hits("Annual leave is 30 days."), f"{Q} Berlin": hits("Berlin: 30.")}
    return world


@pytest.fixture
def kb(world: World) -> Iterator[KnowledgeBase]:
    with world.knowledge_base() as opened:
        yield opened


async def events_of(stream: AsyncIterator[RunEvent]) -> list[RunEvent]:
    return [event async for event in stream]


# ------------------------------------------------------------------------------------- asking


def test_a_question_gets_its_outcome_with_a_checked_answer(kb: KnowledgeBase) -> None:
    outcome = kb.ask(Q)
    assert outcome.status == "answerable"
    assert outcome.answer is not None
    assert outcome.answer.text == "Annual leave is 30 days. [1]"
    assert outcome.answer.unsupported == ()
    assert outcome.trace[-1].type == "answer"


def test_retrieve_gives_the_same_evidence_and_writes_no_answer(
    kb: KnowledgeBase, world: World
) -> None:
    retrieved = kb.retrieve(Q)
    assert (retrieved.answer, world.answerer.calls) == (None, [])
    assert retrieved.evidence == kb.ask(Q).evidence


def test_nothing_is_answered_without_evidence(kb: KnowledgeBase, world: World) -> None:
    outcome = kb.ask("Who feeds the whales?")
    assert (outcome.status, outcome.answer, world.answerer.calls) == ("no_knowledge", None, [])


@pytest.mark.parametrize(("line", "kind"), [(OSError("down"), "OSError"), (HANG, "timeout")])
def test_an_answerer_that_fails_leaves_the_evidence_and_a_failure(
    world: World, line: Any, kind: str
) -> None:
    world.answerer.script = line
    with world.knowledge_base(answer_timeout=0.05) as kb:
        outcome = kb.ask(Q)
    assert (outcome.status, outcome.answer) == ("answerable", None)
    assert [(f.where, f.kind) for f in outcome.failures] == [("answer", kind)]
    assert outcome.trace[-1].detail == {"failure": kind}


@pytest.mark.parametrize("question", ["", "  \n ", "\u200b", "x" * 4_001, "x" + " " * 4_000 + "y"])
def test_a_question_that_is_blank_or_too_long_is_refused(kb: KnowledgeBase, question: str) -> None:
    with pytest.raises(QuestionError):
        kb.ask(question)


def test_a_question_is_cleaned_before_it_is_searched(kb: KnowledgeBase) -> None:
    assert kb.ask(f"  {Q.replace(' ', chr(10))}\x00 ").question == Q


def test_a_knowledge_base_that_is_not_there_yet_says_how_to_make_one(tmp_path: Any) -> None:
    there_is_none = pytest.raises(InputError, match=r"kb' yet\. .*anabranch add PATH")
    with KnowledgeBase.open(tmp_path / "kb", settings=Settings()) as kb, there_is_none:
        kb.ask(Q)
    assert not (tmp_path / "kb").exists()


def test_a_collection_that_is_not_there_is_named_with_those_that_are(kb: KnowledgeBase) -> None:
    with pytest.raises(CollectionNotFoundError, match=r"'salaries'.*'default', 'handbook'"):
        kb.ask(Q, collections=["salaries"])


def test_a_single_collection_may_be_given_as_a_string(kb: KnowledgeBase, world: World) -> None:
    kb.ask(Q, collections="handbook")
    assert {scope.collections for scope in world.store.scopes} == {("handbook",)}


def test_an_empty_choice_of_collections_is_nothing_and_not_everything(
    kb: KnowledgeBase, world: World
) -> None:
    kb.ask(Q, collections=[])
    assert {scope.collections for scope in world.store.scopes} == {()}


@pytest.mark.parametrize(
    "options", [{"effort": "heroic"}, {"top_k": 0}, {"variants": -1}, {"timeout": 0.0}]
)
def test_an_option_that_no_request_can_have_is_refused_by_name(
    kb: KnowledgeBase, options: Any
) -> None:
    with pytest.raises(InputError, match=f"^{next(iter(options))}="):
        kb.ask(Q, **options)


def test_minimal_effort_plans_nothing(kb: KnowledgeBase, world: World) -> None:
    assert kb.ask(Q, effort="minimal", variants=4).status == "answerable"
    assert (world.planner.planned, world.planner.varied) == ([], [])


@pytest.mark.parametrize(
    ("named", "effort", "seconds"),
    [
        ({}, "standard", 0.0),
        ({"model": "openai:a"}, "minimal", 0.0),
        ({"model": "openai:a"}, "standard", 7.0),
        ({"grade_model": "openai:a"}, "thorough", 7.0),
    ],
)
def test_nothing_waits_for_a_model_where_none_takes_part(
    named: dict[str, Any], effort: Effort, seconds: float
) -> None:
    settings = Settings(model_timeout=7.0, **named)
    assert budgets_of({"effort": effort}, settings).model_timeout == seconds


async def test_a_turn_refuses_an_effort_that_there_is_not(kb: KnowledgeBase) -> None:
    with pytest.raises(InputError, match="effort"):
        async for _ in kb.stream_turn(Q, effort="most"):  # type: ignore[typeddict-item]
            pass


def test_a_request_ends_at_its_timeout(kb: KnowledgeBase, world: World) -> None:
    world.store.words = HANG
    outcome = kb.ask(Q, timeout=0.1)
    assert (outcome.status, outcome.route) == ("failed", None)
    assert world.store.cancelled.is_set()


def test_the_settings_bound_what_the_caller_leaves_open(world: World) -> None:
    with world.knowledge_base(top_k=1) as kb:
        world.store.found = {Q: hits("a", "b", "c")}
        assert len(kb.ask(Q).evidence) == 1
        assert len(kb.ask(Q, top_k=2).evidence) == 2


# ----------------------------------------------------------------------------------- resuming


def snapshot(world: World, **options: Any) -> Any:
    world.grader.script = {Q: SLOT}
    with world.knowledge_base() as kb:
        outcome = kb.ask(Q, **options)
    assert outcome.status == "needs_clarification"
    return json.loads(json.dumps(outcome.to_dict()["resume"]))


def test_a_restart_between_question_and_reply_changes_nothing(world: World) -> None:
    carried = snapshot(world)
    with world.knowledge_base() as here:
        first = here.resume(carried, "Berlin")
    with world.knowledge_base() as there:
        second = there.resume(carried, "Berlin")
    assert first.status == "answerable"
    assert first.effective_question == f"{Q} Berlin"
    assert without_times(first) == without_times(second)
    assert world.planner.planned == [Q]


def test_a_snapshot_of_another_knowledge_base_is_refused(world: World) -> None:
    carried = snapshot(world)
    with world.knowledge_base(key=b"other" * 8) as other, pytest.raises(SnapshotError):
        other.resume(carried, "Berlin")


@pytest.mark.parametrize("reply", ["", " \u200b\n"])
def test_a_blank_reply_is_refused(world: World, reply: str) -> None:
    carried = snapshot(world)
    with world.knowledge_base() as kb, pytest.raises(SnapshotError, match="blank"):
        kb.resume(carried, reply)


def test_who_knows_no_answer_is_not_asked_again(world: World) -> None:
    carried = snapshot(world)
    with world.knowledge_base() as kb:
        # The question as it was lacks something still.
        declined = kb.resume(carried, "I don't know")
    assert (declined.status, declined.clarification) == ("partial", None)
    assert declined.effective_question == Q
    assert [item.text for item in declined.evidence] == ["Annual leave is 30 days."]


def test_a_reply_is_cleaned_as_a_question_is(world: World) -> None:
    carried = snapshot(world)
    with world.knowledge_base() as kb:
        assert kb.resume(carried, "Ber\ud800lin\x00\n").effective_question.startswith(f"{Q} Ber")


def test_a_run_that_asked_nothing_cannot_be_resumed(kb: KnowledgeBase) -> None:
    with pytest.raises(SnapshotError, match="no open question"):
        kb.resume(kb.ask(Q).resume, "Berlin")


@pytest.mark.parametrize(
    ("first", "then", "searched"),
    [
        (["handbook"], None, ("handbook",)),
        (None, ["handbook"], ("handbook",)),
        (["handbook", "default"], ["default"], ("default",)),
        (None, None, None),
    ],
)
def test_a_reply_is_searched_in_what_both_scopes_allow(
    world: World, first: Any, then: Any, searched: Any
) -> None:
    carried = snapshot(world, collections=first)
    world.store.scopes.clear()
    with world.knowledge_base() as kb:
        kb.resume(carried, "Berlin", collections=then, principals=["ann"])
    assert set(world.store.scopes) == {Scope(collections=searched, principals=("ann",))}


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ({"collections": ["handbook"]}, {"collections": ["default"]}),
        ({"sources": ["leave.md"]}, {"sources": ["travel.md"]}),
        ({"collections": ["handbook"]}, {"within": ["default"]}),
    ],
)
def test_a_reply_whose_scope_has_nothing_of_the_questions_says_so_and_searches_nothing(
    world: World, first: Any, then: Any
) -> None:
    carried = snapshot(world, **first)
    world.store.scopes.clear()
    with world.knowledge_base() as kb, pytest.raises(SnapshotError, match="scope") as refused:
        kb.resume(carried, "Berlin", **then)
    assert world.store.scopes == []
    assert not any(name in str(refused.value) for name in ("handbook", "default", ".md"))


@pytest.mark.parametrize(
    ("first", "then", "kinds"),
    [
        ({"collections": ["handbook", "default"]}, {"collections": ["default"]}, ["scope_changed"]),
        ({}, {"collections": ["handbook"]}, ["scope_changed"]),
        ({"within": ["handbook", "default"]}, {"within": ["handbook"]}, ["scope_changed"]),
        ({}, {"sources": ["leave.md"]}, ["scope_changed"]),
        ({"principals": ["ann", "hr"]}, {"principals": ["ann"]}, ["scope_changed"]),
        ({"principals": ["ann"]}, {}, ["scope_changed"]),
        ({"collections": ["handbook"]}, {}, []),
        ({"within": ["handbook"]}, {"within": ["default", "handbook"]}, []),
        ({"collections": ["handbook", "default"]}, {"collections": ["default", "handbook"]}, []),
        ({"principals": ["ann", "hr"]}, {"principals": ["hr", "ann"]}, []),
    ],
)
def test_a_reply_in_another_scope_than_the_questions_says_so(
    world: World, first: Any, then: Any, kinds: list[str]
) -> None:
    carried = snapshot(world, **first)
    with world.knowledge_base() as kb:
        outcome = kb.resume(carried, "Berlin", **then)
    assert [failure.kind for failure in outcome.failures] == kinds
    told = " ".join(failure.detail for failure in outcome.failures)
    assert not any(name in told for name in ("handbook", "default", "ann", ".md"))


def test_what_changed_in_another_scope_is_not_told_of_this_one(world: World) -> None:
    carried = snapshot(world, principals=["ann"])
    world.store.version = "version-2"
    with world.knowledge_base() as kb:
        other = kb.resume(carried, "Berlin", principals=["bob"])
        same = kb.resume(carried, "Berlin", principals=["ann"])
    assert [failure.kind for failure in other.failures] == ["scope_changed"]
    assert [failure.kind for failure in same.failures] == ["index_changed"]


def test_a_scope_selection_is_resumed_in_the_same_way(world: World) -> None:
    world.grader.script = {Q: CANDIDATES}
    with world.knowledge_base() as kb:
        outcome = kb.ask(Q)
        assert outcome.status == "needs_scope_selection"
        assert kb.resume(outcome.resume, "Berlin").status == "answerable"


# ---------------------------------------------------------------------------------- streaming


async def test_a_stream_and_a_plain_call_agree(kb: KnowledgeBase) -> None:
    events = await events_of(kb.stream(Q))
    assert events[-1].outcome is not None
    assert without_times(events[-1].outcome) == without_times(await kb.aask(Q))


async def test_a_stream_starts_steps_answers_and_ends_once(kb: KnowledgeBase) -> None:
    events = await events_of(kb.stream(Q))
    names = [event.name for event in events if event.name != "step"]
    assert names == ["run.started", "answer.delta", "evidence", "run.finished"]
    assert {e.step.type for e in events if e.step} == {
        "classify_complexity", "retrieve_initial", "query", "merge", "grade_documents", "answer",
    }  # fmt: skip
    begun = [e.step.id for e in events if e.step and e.phase == "begin"]
    ended = [e.step.id for e in events if e.step and e.phase == "end"]
    assert sorted(begun) == sorted(ended)


@pytest.mark.parametrize("case", ["finished", "needs_input", "failed", "empty", "complex", "late"])
async def test_every_run_ends_with_exactly_one_terminal_event(
    kb: KnowledgeBase, world: World, case: str
) -> None:
    expected = {"needs_input": "run.needs_input", "failed": "run.failed", "late": "run.failed"}
    if case == "needs_input":
        world.grader.script = {Q: SLOT}
    elif case == "failed":
        world.store.dense = world.store.text = {Q: OSError("disk")}
    elif case == "empty":
        world.grader.script = {Q: NOTHING}
    elif case == "complex":
        world.planner.script = complex_plan("One?", "Two?")
    elif case == "late":
        world.store.words = HANG
    events = await events_of(kb.stream(Q, timeout=0.3 if case == "late" else 20.0))
    assert [e.name for e in events if e.name in ENDINGS] == [expected.get(case, "run.finished")]
    assert events[-1].name in ENDINGS
    assert events[-1].outcome is not None


async def test_a_resumed_run_is_streamed_too(kb: KnowledgeBase, world: World) -> None:
    world.grader.script = {Q: SLOT}
    asked = await kb.aask(Q)
    events = await events_of(kb.stream_resume(asked.resume, "Berlin"))
    assert events[0].text == f"{Q} Berlin"
    assert events[-1].name == "run.finished"


async def test_a_stream_of_a_bad_question_raises_before_any_event(kb: KnowledgeBase) -> None:
    stream = kb.stream(" ")
    with pytest.raises(QuestionError):
        await anext(stream)


async def test_leaving_a_stream_cancels_its_run_down_to_the_store(
    kb: KnowledgeBase, world: World
) -> None:
    world.store.text = {Q: HANG}
    async with aclosing(kb.stream(Q)) as stream:  # type: ignore[type-var]
        async for event in stream:
            if event.step and event.step.type == "query":
                await asyncio.to_thread(world.store.hanging.wait, 10)
                break
    assert await asyncio.to_thread(world.store.cancelled.wait, 10)


async def test_breaking_out_of_a_loop_over_a_stream_is_enough(
    kb: KnowledgeBase, world: World
) -> None:
    world.store.text = {Q: HANG}
    async for event in kb.stream(Q):
        if event.step and event.step.type == "query":
            await asyncio.to_thread(world.store.hanging.wait, 10)
            break
    assert await asyncio.to_thread(world.store.cancelled.wait, 10)


async def test_cancelling_a_call_cancels_its_run(kb: KnowledgeBase, world: World) -> None:
    world.store.text = {Q: HANG}
    call = asyncio.create_task(kb.aask(Q))
    await asyncio.to_thread(world.store.hanging.wait, 10)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await asyncio.to_thread(world.store.cancelled.wait, 10)


# -------------------------------------------------------------------------------- concurrency


def crowd(number: int) -> tuple[World, list[str]]:
    """Questions that share no document, every second one with sub-questions."""
    questions = [f"Question {n:02d}?" for n in range(number)]
    world = World()
    plans: dict[str, Any] = {}
    found: dict[str, Any] = {}
    for n, question in enumerate(questions):
        parts = [f"Part {part} of {n:02d}?" for part in (1, 2)]
        plans[question] = complex_plan(*parts) if n % 2 else world.planner.script
        for name in (question, *parts):
            found[name] = hits(chunk(f"{n:02d} says {name}", f"{n:02d}-{name}.md"))
    world.store.found, world.planner.script = found, plans
    world.store.turns = {name: 7 * index % 11 for index, name in enumerate(found)}
    return world, questions


async def test_twenty_questions_at_once_never_mix() -> None:
    world, questions = crowd(20)
    with world.knowledge_base() as kb:
        outcomes = await asyncio.gather(*(kb.aask(question) for question in questions))
        alone = [await kb.aask(question) for question in questions[:4]]
    for n, outcome in enumerate(outcomes):
        assert outcome.question == questions[n]
        assert {item.text[:2] for item in outcome.evidence} == {f"{n:02d}"}
        assert len(outcome.evidence) == (3 if n % 2 else 1)
        assert len(outcome.queries) == (3 if n % 2 else 1)
    assert [without_times(o) for o in alone] == [without_times(o) for o in outcomes[:4]]


async def test_the_events_of_streams_at_once_belong_to_their_own_run() -> None:
    world, questions = crowd(12)
    with world.knowledge_base() as kb:
        streams = await asyncio.gather(*(events_of(kb.stream(q)) for q in questions))
    for n, events in enumerate(streams):
        own = {questions[n], *(f"Part {part} of {n:02d}?" for part in (1, 2))}
        assert {e.step.label for e in events if e.step and e.step.type == "query"} <= own
        assert events[-1].outcome is not None
        assert events[-1].outcome.question == questions[n]
        in_stream = sorted(e.step.id for e in events if e.step and e.phase == "end")
        assert in_stream == sorted(e.id for e in events[-1].outcome.trace)


async def test_blocking_calls_work_inside_a_running_loop(kb: KnowledgeBase) -> None:
    assert kb.ask(Q).status == "answerable"
    assert [record.source for record in kb.sources()] == []


def test_every_blocking_method_has_an_async_twin_of_the_same_options() -> None:
    blocking = {
        name: method
        for name, method in inspect.getmembers(KnowledgeBase, inspect.isfunction)
        if (method.__doc__ or "").startswith("Blocking twin of")
    }
    assert {"ask", "add", "describe", "close"} <= set(blocking)
    for name, method in blocking.items():
        twin = getattr(KnowledgeBase, f"a{name}")
        assert inspect.iscoroutinefunction(twin)
        assert inspect.signature(twin) == inspect.signature(method)
    # Those that do no work in the loop, or hand on what happens there as it happens.
    others = {"open", "observe", "stream", "stream_resume", "stream_turn"}
    others |= {"as_langchain_retriever", "as_llama_index_retriever"}
    public = {
        name
        for name, method in inspect.getmembers(KnowledgeBase, callable)
        if not name.startswith("_") and not inspect.iscoroutinefunction(method)
    }
    assert public == set(blocking) | others


def test_threads_share_one_knowledge_base() -> None:
    world, questions = crowd(8)
    asked: dict[str, set[str]] = {}
    with world.knowledge_base() as kb:

        def ask(question: str) -> None:
            asked[question] = {item.text[:2] for item in kb.ask(question).evidence}

        threads = [threading.Thread(target=ask, args=(question,)) for question in questions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert asked == {question: {f"{n:02d}"} for n, question in enumerate(questions)}


# ----------------------------------------------------------------------------- open and close


async def test_callers_at_once_open_it_once_also_after_it_was_closed(world: World) -> None:
    opened: list[bool] = []

    async def opener(create: bool) -> Any:
        opened.append(create)
        for _ in range(20):
            await asyncio.sleep(0)
        return FakeBuilt(world.parts)

    kb = KnowledgeBase(opener, settings=Settings(), path=world.knowledge_base().path)
    for times in (1, 2):
        outcomes = await asyncio.gather(*(kb.aask(Q) for _ in range(5)))
        assert [outcome.status for outcome in outcomes] == ["answerable"] * 5
        assert opened == [False] * times
        kb.close()
    assert world.store.closed == 2


async def test_what_is_prepared_has_searched_once_and_told_nobody(world: World) -> None:
    outcomes: list[Any] = []
    with world.knowledge_base() as kb:
        kb.observe(outcomes.append)
        await kb.aprepare()
        assert world.store.dense_calls
        assert world.store.text_calls
        assert outcomes == []


async def test_it_closes_at_the_end_of_an_async_with(world: World) -> None:
    async with world.knowledge_base() as kb:
        assert (await kb.aask(Q)).status == "answerable"
        assert world.store.closed == 0
    assert world.store.closed == 1


def test_closing_ends_the_background_thread_and_may_be_done_twice(world: World) -> None:
    before = threading.enumerate()
    kb = world.knowledge_base()
    kb.ask(Q)
    [thread] = [t for t in threading.enumerate() if t.name == "anabranch" and t not in before]
    kb.close()
    kb.close()
    assert not thread.is_alive()


def test_closing_ends_a_call_that_waits_in_another_thread(world: World) -> None:
    world.store.text = {Q: HANG}
    kb = world.knowledge_base()
    ended: list[BaseException] = []

    def ask() -> None:
        try:
            kb.ask(Q)
        except BaseException as error:
            ended.append(error)

    caller = threading.Thread(target=ask)
    caller.start()
    assert world.store.hanging.wait(10)
    kb.close()
    caller.join(10)
    assert not caller.is_alive()
    assert len(ended) == 1


def test_an_error_of_the_store_before_the_run_reaches_the_caller(world: World) -> None:
    world.store.version = StorageError("The disk is full.")
    with world.knowledge_base() as kb, pytest.raises(AnabranchError, match="disk is full"):
        kb.ask(Q)


# ----------------------------------------------------------------------------------- documents


def record(source: str, collection: str) -> SourceRecord:
    return SourceRecord(
        f"{collection}-{source}", collection, source, source, source, "text/plain", "h", 10, None,
        1, "2026-11-30T10:00:00+00:00",
    )  # fmt: skip


def test_a_source_is_removed_by_name_in_its_collection(kb: KnowledgeBase, world: World) -> None:
    world.store.records = (record("a.md", "default"), record("a.md", "handbook"))
    assert kb.remove("a.md", collection="handbook") == 1
    assert [item.collection for item in kb.sources()] == ["default"]
    with pytest.raises(SourceNotFoundError, match=r"'gone\.md'"):
        kb.remove("gone.md")


def test_the_text_of_a_source_in_two_collections_asks_for_one(
    kb: KnowledgeBase, world: World
) -> None:
    world.store.records = (record("a.md", "default"), record("a.md", "handbook"))
    assert kb.source_text("a.md", collections=["handbook"]) == "text of handbook-a.md"
    with pytest.raises(InputError, match=r"several places: 'default'.*--collection"):
        kb.source_text("a.md")


@pytest.mark.parametrize("blank", ["", "  "])
async def test_a_blank_path_is_not_the_current_folder(kb: KnowledgeBase, blank: str) -> None:
    with pytest.raises(InputError, match="path is blank"):
        kb.add("somewhere", blank)
    with pytest.raises(InputError, match="path is blank"):
        await kb.aadd(blank)


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 201])
def test_a_collection_that_cannot_be_named_so_is_refused(kb: KnowledgeBase, name: str) -> None:
    with pytest.raises(InputError, match="name of a collection"):
        kb.add("somewhere", collection=name)


def test_the_name_that_stands_for_all_collections_is_nobodys(kb: KnowledgeBase) -> None:
    with pytest.raises(InputError, match="'anabranch': OpenAI's clients ask all collections"):
        kb.add("somewhere", collection="anabranch")


@pytest.mark.parametrize(
    "options", [{"collection": "a"}, {"principal": ["bob"]}, {"nosuch": 1}, {"top_k": "many"}]
)
async def test_an_option_that_there_is_not_is_refused_and_never_widens_the_scope(
    options: dict[str, Any],
) -> None:
    base = World().knowledge_base()
    with pytest.raises(InputError, match=next(iter(options))):
        await base.aask("What?", **options)
    base.close()
