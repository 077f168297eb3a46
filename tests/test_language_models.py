"""A knowledge base with a language model behind a real server: each fault ends in an outcome that says
what was done here instead, and nothing is asked twice or lost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from anabranch import KnowledgeBase, Outcome, Turn
from anabranch.settings import load_settings
from anabranch.trace import RunEvent
from scripted_model import GOOD, SIMPLE, WEAK, Line, ScriptedModel, question_of, role_of

KEY = "sk-secret-0123456789"
COMPLEX = "How does the annual leave in Berlin differ from the annual leave in Boston?"
PARTS = ["How much annual leave is there in Berlin?", "How much annual leave is there in Boston?"]
PLAN = {**SIMPLE, "complexity": "complex", "reason": "two offices", "sub_questions": PARTS}
ANSWER = "In Berlin it is 30 days [1]."
SCRIPT: Mapping[str, Any] = {"plan": PLAN, "grade": GOOD, "answer": ANSWER}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A knowledge base of three documents, made once."""
    root = tmp_path_factory.mktemp("models")
    documents = root / "documents"
    documents.mkdir()
    (documents / "berlin.md").write_text("# Berlin\n\nAnnual leave in Berlin is 30 days a year.\n")
    (documents / "boston.md").write_text("# Boston\n\nAnnual leave in Boston is 20 days a year.\n")
    (documents / "canteen.md").write_text("# Canteen\n\nThe canteen opens at noon.\n")
    with KnowledgeBase.open(root / "kb", settings=load_settings()) as base:
        base.add(documents)
    return root / "kb"


@pytest.fixture
def opened(folder: Path) -> Iterator[Callable[..., KnowledgeBase]]:
    """Opens the knowledge base with a model server; closed at the end of the test."""
    bases: list[KnowledgeBase] = []

    def open_with(server: ScriptedModel, **settings: Any) -> KnowledgeBase:
        values = {"model": "openai:scripted", "model_base_url": server.url, "model_api_key": KEY,
                  **settings}  # fmt: skip
        bases.append(KnowledgeBase.open(folder, settings=load_settings(**values)))
        return bases[-1]

    yield open_with
    for base in bases:
        base.close()


def failed(outcome: Outcome) -> list[tuple[str, str]]:
    return [(failure.where, failure.kind) for failure in outcome.failures]


def roles(server: ScriptedModel) -> list[str]:
    """Who was asked, but for the comparison of the evidence."""
    asked = (role_of(request) for request in server.requests)
    return sorted(role for role in asked if role != "conflicts")


# ----------------------------------------------------------------------------------- all is well


def test_it_hangs_up_when_the_knowledge_base_is_closed(
    opened: Callable[..., KnowledgeBase],
) -> None:
    with ScriptedModel(SCRIPT) as server:
        base = opened(server)
        assert failed(base.ask(COMPLEX)) == []
        assert server.connected
        base.close()
        assert server.is_left_alone()
        assert failed(base.ask(COMPLEX)) == []


def test_a_model_plans_grades_and_answers(opened: Callable[..., KnowledgeBase]) -> None:
    with ScriptedModel(SCRIPT) as server:
        outcome = opened(server).ask(COMPLEX)
    assert [sub.question for sub in outcome.sub_questions] == PARTS
    assert outcome.complexity_reason.startswith("two offices")
    assert outcome.status == "answerable"
    assert outcome.answer is not None
    assert (outcome.answer.text, outcome.answer.mode) == (ANSWER, "llm")
    assert failed(outcome) == []
    assert roles(server) == ["answer", "grade", "grade", "grade", "plan"]
    assert outcome.usage.model_calls == 5
    assert outcome.usage.by_role["grade"].model_calls == 3
    assert outcome.usage.input_tokens == sum(
        len(str(message["content"]).split()) for r in server.requests for message in r["messages"]
    )


def test_every_call_has_the_key_and_nothing_else_has(opened: Callable[..., KnowledgeBase]) -> None:
    with ScriptedModel(SCRIPT) as server:
        base = opened(server)
        outcome = base.ask(COMPLEX)
    assert {headers["authorization"] for headers in server.headers} == {f"Bearer {KEY}"}
    assert KEY not in f"{outcome.to_dict()}{base.settings!r}{outcome!r}"


def test_minimal_effort_calls_no_model(opened: Callable[..., KnowledgeBase]) -> None:
    with ScriptedModel(SCRIPT) as server:
        outcome = opened(server).ask(COMPLEX, effort="minimal")
        assert server.requests == []
    assert outcome.answer is not None
    assert outcome.answer.mode == "extractive"
    assert outcome.usage.model_calls == 0


def test_each_role_has_the_model_that_is_set_for_it(opened: Callable[..., KnowledgeBase]) -> None:
    script = {**SCRIPT, "grade": [WEAK, GOOD], "plan": SIMPLE,
              "rewrite": {"method": "step_back", "query": "annual leave", "reason": "wider"}}  # fmt: skip
    with ScriptedModel(script) as server:
        base = opened(server, fast_model="openai:fast", grade_model="openai:judge")
        base.ask(COMPLEX)
    used = {role_of(request): request["model"] for request in server.requests}
    assert used == {"plan": "fast", "rewrite": "fast", "grade": "judge", "answer": "scripted"}


def test_a_fast_model_alone_plans_and_the_rest_is_done_here(
    opened: Callable[..., KnowledgeBase],
) -> None:
    with ScriptedModel(SCRIPT) as server:
        outcome = opened(server, model=None, fast_model="openai:fast").ask(COMPLEX)
    assert roles(server) == ["plan"]
    assert outcome.answer is not None
    assert outcome.answer.mode == "extractive"


def test_a_hypothetical_document_is_searched_with_and_never_shown(
    opened: Callable[..., KnowledgeBase],
) -> None:
    made_up = "The annual leave of trainees in Paris is 47 days."
    script = {**SCRIPT, "plan": SIMPLE, "grade": [WEAK, GOOD],
              "rewrite": {"method": "hyde", "query": made_up, "reason": "other words"}}  # fmt: skip
    with ScriptedModel(script) as server:
        outcome = opened(server).ask(COMPLEX)
    assert outcome.rewrite is not None
    assert (outcome.rewrite.method, outcome.rewrite.query) == ("hyde", made_up)
    assert [query.kind for query in outcome.queries][-1] == "hyde"
    assert all("Paris" not in item.text for item in outcome.evidence)
    assert all("Paris" not in str(r["messages"]) for r in server.calls("answer"))


def test_a_follow_up_is_searched_as_the_model_completes_it(
    opened: Callable[..., KnowledgeBase],
) -> None:
    whole = "How much annual leave is there in Boston?"
    said = (Turn("user", PARTS[0]), Turn("assistant", "30 days [1]."))
    with ScriptedModel({**SCRIPT, "plan": {**SIMPLE, "standalone": whole}}) as server:
        outcome = opened(server).ask("and in Boston?", history=said)
    assert outcome.effective_question == whole
    assert question_of(server.calls("answer")[0]) == whole


def test_a_price_makes_a_cost(opened: Callable[..., KnowledgeBase]) -> None:
    with ScriptedModel(SCRIPT) as server:
        usage = opened(server, model_prices={"openai:scripted": (1.0, 3.0)}).ask(COMPLEX).usage
    assert usage.cost == pytest.approx((usage.input_tokens + 3 * usage.output_tokens) / 1e6)


def test_kept_replies_answer_the_same_question_again(opened: Callable[..., KnowledgeBase]) -> None:
    with ScriptedModel(SCRIPT) as server:
        base = opened(server, model_cache=20)
        first, again = base.ask(COMPLEX), base.ask(COMPLEX)
        assert len(server.requests) == first.usage.model_calls == 5
    assert (again.usage.model_calls, again.usage.cached) == (0, 5)
    assert again.answer == first.answer


# ---------------------------------------------------------------------------------------- faults

# Each fault, and the kind that the outcome gives it.
FAULTS: Mapping[str, tuple[Callable[[], Line], str]] = {
    "slow": (lambda: Line("late", hold=threading.Event()), "timeout"),
    "401": (lambda: Line(status=401, say=f"bad key {KEY}"), "unauthorized"),
    "429": (lambda: Line(status=429, headers={"Retry-After": "600"}), "rate_limited"),
    "500": (lambda: Line(status=500, headers={"Retry-After": "0"}), "server_error"),
    "html": (lambda: Line(body=b"<html>502 from a gateway</html>"), "unusable_reply"),
    "empty": (lambda: Line(body=b"{}"), "unusable_reply"),
    "schema": (lambda: Line({"type": "object", "properties": {"x": {"type": "string"}}}), "unusable_reply"),
    "types": (lambda: Line([1, 2, 3]), "unusable_reply"),
    "chat": (lambda: Line("I am only a language model."), "unusable_reply"),
    "dropped": (lambda: Line("{}", drop_after=0), "unreachable"),
    "halfway": (lambda: Line("one two three four", drop_after=2), "unreachable"),
    "stalling": (lambda: Line("one two three [1].", stall_after=2), "timeout"),
}  # fmt: skip
WHERE = {
    "plan": "classify_complexity.model",
    "grade": "grade_documents.model",
    "rewrite": "rewrite_question.model",
    "answer": "answer.model",
}
ROLE_FAULTS = [
    (role, fault)
    for role in WHERE
    for fault in FAULTS
    # Only an answer is streamed.
    if role == "answer" or fault not in ("stalling",)
]


@pytest.mark.parametrize(("role", "fault"), ROLE_FAULTS)
def test_a_fault_in_one_role_is_done_here_and_told(
    role: str, fault: str, opened: Callable[..., KnowledgeBase]
) -> None:
    make, kind = FAULTS[fault]
    script = {**SCRIPT, "plan": SIMPLE, "grade": [WEAK, GOOD] if role == "rewrite" else GOOD}
    seconds = 2.0 if kind == "timeout" else 10.0
    with ScriptedModel({**script, role: make()}) as server:
        outcome = opened(server, model_timeout=seconds).ask(COMPLEX)
    # Also where a fault is only seen once per request, it is told once.
    assert failed(outcome) == [(WHERE[role], kind)]
    assert KEY not in str(outcome.to_dict())
    assert outcome.status in ("answerable", "partial")
    assert outcome.answer is not None
    assert outcome.answer.citations
    assert outcome.answer.mode == ("extractive" if role == "answer" else "llm")


def test_with_a_dead_server_the_outcome_is_the_local_one(
    opened: Callable[..., KnowledgeBase], folder: Path
) -> None:
    with ScriptedModel(lambda request: Line(status=401)) as server:
        outcome = opened(server).ask(COMPLEX)
    with KnowledgeBase.open(folder, settings=load_settings()) as base:
        local = base.ask(COMPLEX)
    assert {where for where, _ in failed(outcome)} >= {
        "classify_complexity.model", "grade_documents.model", "answer.model",
    }  # fmt: skip
    assert outcome.answer == local.answer
    assert outcome.sub_questions == local.sub_questions
    assert outcome.grade == local.grade


def test_a_stalled_model_costs_no_more_than_the_request_has(
    opened: Callable[..., KnowledgeBase],
) -> None:
    with ScriptedModel(lambda request: Line("late", hold=threading.Event())) as server:
        outcome = opened(server, model_timeout=60.0, answer_timeout=2.0).ask(COMPLEX, timeout=6.0)
    assert outcome.status in ("answerable", "partial")
    assert {kind for _, kind in failed(outcome)} == {"timeout"}
    assert outcome.answer is not None


def test_a_model_may_take_longer_than_a_query(opened: Callable[..., KnowledgeBase]) -> None:
    late = Line("late", hold=threading.Event())
    with ScriptedModel({**SCRIPT, "plan": SIMPLE, "grade": late}) as server:
        base = opened(server, query_timeout=4.0, branch_timeout=4.0, model_timeout=5.0)
        outcome = base.ask(COMPLEX)
    # Told by the part, which did it here, and not by the step, which would have had to do without.
    assert failed(outcome) == [("grade_documents.model", "timeout")]


def test_a_second_reply_repairs_the_first(opened: Callable[..., KnowledgeBase]) -> None:
    with ScriptedModel({**SCRIPT, "plan": ["Let me think about it.", PLAN]}) as server:
        outcome = opened(server).ask(COMPLEX)
    assert failed(outcome) == []
    assert [sub.question for sub in outcome.sub_questions] == PARTS
    assert "no JSON object" in server.calls("plan")[1]["messages"][-1]["content"]


# ------------------------------------------------------------------------------------- streaming


async def heard(base: KnowledgeBase, question: str) -> tuple[list[RunEvent], Outcome]:
    events = [event async for event in base.stream(question)]
    outcome = events[-1].outcome
    assert outcome is not None
    return [event for event in events if event.name == "answer.delta"], outcome


def last_version(deltas: list[RunEvent]) -> str:
    text = ""
    for delta in deltas:
        text = delta.text if delta.restart else text + delta.text
    return text


async def test_an_answer_is_streamed_while_it_is_written(
    opened: Callable[..., KnowledgeBase],
) -> None:
    with ScriptedModel(SCRIPT) as server:
        deltas, outcome = await heard(opened(server), COMPLEX)
    assert len(deltas) == 7
    assert not any(delta.restart for delta in deltas)
    assert outcome.answer is not None
    assert last_version(deltas) == outcome.answer.text == ANSWER


@pytest.mark.parametrize("fault", ["halfway", "stalling"])
async def test_a_stream_that_breaks_is_taken_back(
    fault: str, opened: Callable[..., KnowledgeBase]
) -> None:
    with ScriptedModel({**SCRIPT, "answer": FAULTS[fault][0]()}) as server:
        deltas, outcome = await heard(opened(server, model_timeout=2.0), COMPLEX)
    assert "".join(delta.text for delta in deltas).startswith("one two")
    assert [delta.restart for delta in deltas][-1]
    assert outcome.answer is not None
    assert last_version(deltas) == outcome.answer.text


async def test_who_stops_listening_hangs_up_on_the_model(
    opened: Callable[..., KnowledgeBase],
) -> None:
    with ScriptedModel({**SCRIPT, "answer": Line(ANSWER, stall_after=3)}) as server:
        stream = opened(server).stream(COMPLEX)
        async for event in stream:
            if event.name == "answer.delta":
                break
        await stream.aclose()  # type: ignore[attr-defined]
        assert await asyncio.to_thread(server.hung_up.wait, 20)


# ----------------------------------------------------------------------------------- many at once


async def test_fifty_asks_share_four_slots_and_lose_nothing(
    opened: Callable[..., KnowledgeBase],
) -> None:
    def reply(request: Mapping[str, Any]) -> Any:
        asked = question_of(request)
        number = "".join(c for c in asked if c.isdigit())
        return {**SCRIPT, "plan": SIMPLE, "answer": f"Number {number} is 30 days [1]."}[
            role_of(request)
        ]

    questions = [f"{COMPLEX[:-1]}, says office number {number}?" for number in range(50)]
    with ScriptedModel(reply) as server:
        base = opened(server, model_concurrency=4, timeout=100.0, model_timeout=60.0)
        outcomes = await asyncio.gather(*(base.aask(question) for question in questions))
    assert [failed(outcome) for outcome in outcomes] == [[]] * 50
    assert [outcome.answer.text for outcome in outcomes if outcome.answer] == [
        f"Number {number} is 30 days [1]." for number in range(50)
    ]
    assert server.most_at_once <= 4
    assert len(server.requests) == sum(outcome.usage.model_calls for outcome in outcomes)
    asked = [(role_of(request), question_of(request)) for request in server.requests]
    assert len(set(asked)) == len(asked) >= 150


async def test_a_busy_provider_is_waited_for_by_all(opened: Callable[..., KnowledgeBase]) -> None:
    # Two, so that no call can be refused three times, which would be once too often.
    refused = 2
    lock, left = threading.Lock(), [refused]

    def reply(request: Mapping[str, Any]) -> Any:
        with lock:
            left[0] -= 1
            if left[0] >= 0:
                return Line(status=429, headers={"Retry-After": "0"})
        return {**SCRIPT, "plan": SIMPLE}[role_of(request)]

    with ScriptedModel(reply) as server:
        base = opened(server, model_concurrency=2, timeout=100.0, model_timeout=60.0)
        outcomes = await asyncio.gather(*(base.aask(COMPLEX) for _ in range(10)))
    assert len(server.requests) == sum(o.usage.model_calls for o in outcomes) == 30 + refused
    assert [failed(outcome) for outcome in outcomes] == [[]] * 10
