"""Questions over HTTP: the same outcome as the library's, plain and streamed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import httpx
import pytest

from anabranch.knowledge_base import KnowledgeBase
from anabranch.service.app import create_app
from fakes import HANG, SLOT, World, complex_plan, hits, without_times
from service.conftest import Q
from service.events import ENDINGS, events_in
from service.servers import serving

STREAM = {"Accept": "text/event-stream"}
QUESTIONS = (
    "How many days of annual leave does Berlin have?",
    "How does leave differ between Berlin and Boston?",
    "How long is the warranty?",
    "Who won the world cup in 1954?",
    "柏林的年假有多少天？",
)


def stripped(value: Any) -> Any:
    """Without what the clock put into it."""
    if isinstance(value, dict):
        return {k: stripped(v) for k, v in value.items() if k not in ("elapsed_ms", "started_ms")}
    return [stripped(item) for item in value] if isinstance(value, list) else value


def streamed(client: httpx.Client, path: str, body: Any) -> list[tuple[str, Any]]:
    with client.stream("POST", path, json=body, headers=STREAM) as response:
        return list(events_in(response))


def test_a_question_gets_the_outcome_of_the_library(client: httpx.Client, world: World) -> None:
    given = client.post("/v1/ask", json={"question": Q})
    with world.knowledge_base() as kb:
        assert stripped(given.json()) == without_times(kb.ask(Q))


def test_retrieve_gives_the_evidence_without_an_answer(client: httpx.Client, world: World) -> None:
    given = client.post("/v1/retrieve", json={"question": Q}).json()
    assert given["evidence"][0]["text"] == "Annual leave is 30 days."
    assert (given["answer"], world.answerer.calls) == (None, [])


def test_a_stream_ends_with_its_one_ending_and_the_same_outcome(client: httpx.Client) -> None:
    events = streamed(client, "/v1/ask", {"question": Q})
    names = [name for name, _ in events]
    assert names[0] == "run.started"
    assert names[-1] == "run.finished"
    assert sum(name in ENDINGS for name in names) == 1
    assert stripped(events[-1][1]) == stripped(client.post("/v1/ask", json={"question": Q}).json())


def test_a_stream_shows_steps_answer_and_evidence(client: httpx.Client) -> None:
    events = streamed(client, "/v1/ask", {"question": Q})
    phases = Counter(data["phase"] for name, data in events if name == "step")
    assert phases["begin"] == phases["end"] > 2
    assert (
        "".join(data["text"] for name, data in events if name == "answer.delta")
        == (events[-1][1]["answer"]["text"])
    )
    shown = next(data for name, data in events if name == "evidence")
    assert shown["evidence"] == events[-1][1]["evidence"]


def test_a_stream_asks_proxies_not_to_hold_it_back(client: httpx.Client) -> None:
    with client.stream("POST", "/v1/ask", json={"question": Q}, headers=STREAM) as response:
        assert response.headers["x-accel-buffering"] == "no"


def test_a_question_that_is_asked_back_goes_on_with_the_reply(
    client: httpx.Client, world: World
) -> None:
    world.grader.script = {Q: SLOT}
    events = streamed(client, "/v1/ask", {"question": Q})
    assert events[-1][0] == "run.needs_input"
    body = {"reply": "Berlin", "snapshot": events[-1][1]["resume"]}
    resumed = client.post("/v1/resume", json=body).json()
    assert resumed["effective_question"] == f"{Q} Berlin"
    assert resumed["answer"]["text"] == "Berlin: 30. [1]"


def test_a_reply_in_another_scope_is_told_so_or_refused(client: httpx.Client, world: World) -> None:
    world.store.names = ("handbook", "travel")
    world.grader.script = {Q: SLOT}
    asked = client.post("/v1/ask", json={"question": Q, "collections": ["handbook", "travel"]})
    body = {"reply": "Berlin", "snapshot": asked.json()["resume"]}
    narrower = client.post("/v1/resume", json={**body, "collections": ["travel"]}).json()
    assert [failure["kind"] for failure in narrower["failures"]] == ["scope_changed"]
    world.store.names = ("contracts",)
    foreign = client.post("/v1/resume", json={**body, "collections": ["contracts"]})
    assert (foreign.status_code, foreign.json()["type"]) == (
        422, "urn:anabranch:error:SnapshotError",
    )  # fmt: skip
    assert "handbook" not in foreign.text


def test_a_run_whose_every_branch_failed_is_an_outcome_that_says_so(
    client: httpx.Client, world: World
) -> None:
    world.store.found = {Q: OSError("the disk is gone")}
    given = client.post("/v1/ask", json={"question": Q})
    assert (given.status_code, given.json()["status"]) == (200, "failed")
    assert streamed(client, "/v1/ask", {"question": Q})[-1][0] == "run.failed"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "body.question"),
        ({"question": Q, "top_k": 0}, "body.top_k"),
        ({"question": Q, "effort": "much"}, "body.effort"),
        ({"question": Q, "colections": ["a"]}, "body.colections"),
        ({"question": Q, "timeout": -1}, "body.timeout"),
    ],
)
def test_a_request_that_does_not_fit_is_told_where(
    client: httpx.Client, body: dict[str, Any], field: str
) -> None:
    given = client.post("/v1/ask", json=body)
    assert given.status_code == 422
    assert given.headers["content-type"] == "application/problem+json"
    assert [error["field"] for error in given.json()["errors"]] == [field]


@pytest.mark.parametrize("headers", [{}, STREAM], ids=["plain", "streamed"])
def test_an_error_before_the_run_is_a_problem_document_either_way(
    client: httpx.Client, headers: dict[str, str]
) -> None:
    given = client.post("/v1/ask", json={"question": "  "}, headers=headers)
    assert given.status_code == 422
    assert given.json()["type"] == "urn:anabranch:error:QuestionError"


def test_a_collection_that_is_not_there_is_not_found(client: httpx.Client) -> None:
    given = client.post("/v1/ask", json={"question": Q, "collections": ["nowhere"]})
    assert (given.status_code, given.json()["type"]) == (
        404, "urn:anabranch:error:CollectionNotFoundError",
    )  # fmt: skip


def test_a_changed_snapshot_is_refused(client: httpx.Client, world: World) -> None:
    world.grader.script = {Q: SLOT}
    snapshot = client.post("/v1/ask", json={"question": Q}).json()["resume"]
    changed = {**snapshot, "question": "Tell me everything"}
    given = client.post("/v1/resume", json={"reply": "Berlin", "snapshot": changed})
    assert given.json()["type"] == "urn:anabranch:error:SnapshotError"


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_kind_of_question_comes_out_as_in_the_library(
    examples: KnowledgeBase, question: str
) -> None:
    app = create_app(examples.settings, knowledge_base=examples)
    with serving(app) as address, httpx.Client(base_url=address, timeout=60) as client:
        plain = client.post("/v1/ask", json={"question": question}).json()
        events = streamed(client, "/v1/ask", {"question": question})
    assert stripped(plain) == without_times(examples.ask(question))
    assert stripped(events[-1][1]) == stripped(plain)


@pytest.mark.parametrize("headers", [{}, STREAM], ids=["plain", "streamed"])
def test_a_client_that_goes_away_ends_every_branch(
    client: httpx.Client, world: World, headers: dict[str, str]
) -> None:
    world.planner.script = {Q: complex_plan("One?", "Two?")}
    world.store.found = {Q: HANG, "One?": HANG, "Two?": HANG}
    with (
        pytest.raises(httpx.ReadTimeout),
        client.stream(
            "POST",
            "/v1/ask",
            json={"question": Q},
            headers=headers,
            timeout=httpx.Timeout(5, read=1),
        ) as response,
    ):
        list(response.iter_lines())
    assert world.store.cancelled.wait(20)


def test_questions_at_the_same_time_never_see_each_other(
    client: httpx.Client, world: World
) -> None:
    import threading

    numbers = range(20)
    world.store.found = {f"Question {n}?": hits(f"Fact {n}.") for n in numbers}
    seen: dict[int, str] = {}

    def ask(number: int) -> None:
        seen[number] = str(streamed(client, "/v1/ask", {"question": f"Question {number}?"}))

    threads = [threading.Thread(target=ask, args=(number,)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    mixed = [
        (mine, other)
        for mine in numbers
        for other in numbers
        if (f"Fact {other}." in seen[mine]) != (mine == other)
    ]
    assert mixed == []
