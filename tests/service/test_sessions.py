"""Sessions over HTTP: what is kept, what is waited for, and what a reply does."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from anabranch.service.app import create_app
from anabranch.settings import Settings
from fakes import HANG, SLOT, World, hits
from service.conftest import Q
from service.events import events_in
from service.servers import serving

WARRANTY = "How long is the warranty?"


@pytest.fixture
def asking_back(world: World) -> World:
    """A world in which two questions are asked back."""
    which = replace(SLOT, hitl_prompt="Which product?", hitl_options=("Plover", "Heron"))
    world.store.found[WARRANTY] = hits("It is long.")
    world.store.found[f"{WARRANTY} Plover"] = hits("Plover: two years.")
    world.grader.script = {Q: SLOT, WARRANTY: which}
    return world


def begun(client: httpx.Client, **body: Any) -> str:
    made = client.post("/v1/sessions", json=body)
    assert made.status_code == 201
    return str(made.json()["id"])


def say(client: httpx.Client, session: str, text: str, **body: Any) -> httpx.Response:
    return client.post(f"/v1/sessions/{session}/messages", json={"text": text, **body})


def shown(client: httpx.Client, session: str) -> Any:
    return client.get(f"/v1/sessions/{session}").json()


def texts(client: httpx.Client, session: str) -> list[str]:
    return [message["text"] for message in shown(client, session)["messages"]]


# ------------------------------------------------------------------------------- what is kept


def test_a_reload_shows_what_was_shown(client: httpx.Client) -> None:
    session = begun(client)
    outcome = say(client, session, Q).json()
    found = shown(client, session)
    assert [message["role"] for message in found["messages"]] == ["user", "assistant"]
    assert found["messages"][0]["text"] == Q
    kept = found["messages"][1]
    assert kept["id"] == outcome["message_id"]
    assert kept["outcome"] == {
        name: value for name, value in outcome.items() if name not in ("session_id", "message_id")
    }
    assert kept["outcome"]["answer"]["citations"]
    assert kept["outcome"]["trace"]
    assert found["title"] == Q


def test_a_streamed_turn_is_kept_before_it_ends(client: httpx.Client) -> None:
    session = begun(client)
    path, accept = f"/v1/sessions/{session}/messages", {"Accept": "text/event-stream"}
    with client.stream("POST", path, json={"text": Q}, headers=accept) as response:
        for name, data in events_in(response):
            if name == "run.finished":
                assert [m["id"] for m in shown(client, session)["messages"]][-1] == data[
                    "message_id"
                ]
                break
        else:
            raise AssertionError("the run did not finish")


def test_a_question_is_read_with_the_turns_before_it(client: httpx.Client, world: World) -> None:
    session = begun(client)
    say(client, session, Q)
    say(client, session, "And in Boston?")
    assert [(turn.role, turn.text) for turn in world.planner.histories[-1]] == [
        ("user", Q), ("assistant", "Annual leave is 30 days."),
    ]  # fmt: skip


def test_turns_beyond_the_window_are_condensed_into_a_note(world: World, tmp_path: Path) -> None:
    with service(world, tmp_path, history_turns=1) as client:
        session = begun(client)
        for number in range(3):
            say(client, session, f"Question {number}?")
        say(client, session, "Last one?")
        note = shown(client, session)["note"]
        history = [turn.text for turn in world.planner.histories[-1]]
    assert note.splitlines()[::2] == ["Q: Question 0?", "Q: Question 1?"]
    assert history == [note, "Question 2?", "The documents do not say."]


def test_a_session_searches_its_collections_alone(client: httpx.Client, world: World) -> None:
    world.store.names = ("default", "contracts")
    session = begun(client, collections=["contracts"], title="Contracts")
    say(client, session, Q)
    assert {scope.collections for scope in world.store.scopes} == {("contracts",)}
    assert shown(client, session)["collections"] == ["contracts"]


def test_sessions_are_listed_and_deleted(client: httpx.Client) -> None:
    first, second = begun(client, title="one"), begun(client, title="two")
    assert [found["id"] for found in client.get("/v1/sessions").json()] == [second, first]
    assert client.delete(f"/v1/sessions/{first}").status_code == 204
    assert client.get(f"/v1/sessions/{first}").status_code == 404
    assert [found["title"] for found in client.get("/v1/sessions").json()] == ["two"]


def test_a_session_that_is_not_there_is_not_found(client: httpx.Client) -> None:
    given = say(client, "nothing", Q)
    assert given.json()["type"] == "urn:anabranch:error:SessionNotFoundError"


def test_a_run_that_failed_is_kept_as_failed(client: httpx.Client, world: World) -> None:
    world.store.found = {Q: OSError("the disk is gone")}
    session = begun(client)
    say(client, session, Q)
    assert texts(client, session) == [Q, "The search failed. Try it again."]


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("Hello!", "Hello! Ask me anything about the documents."),
        ("thank you :)", "You're welcome."),
        ("你好！", "你好！有关文档的问题都可以问我。"),
        ("谢谢。", "不客气。"),
    ],
)
def test_small_talk_is_answered_without_a_search(
    client: httpx.Client, world: World, text: str, reply: str
) -> None:
    session = begun(client)
    outcome = say(client, session, text).json()
    assert (outcome["answer"]["text"], outcome["evidence"]) == (reply, [])
    assert world.store.text_calls == []
    assert texts(client, session) == [text, reply]


def test_a_question_behind_a_greeting_is_searched(client: httpx.Client, world: World) -> None:
    say(client, begun(client), f"Hello! {Q}")
    assert world.store.text_calls


# ------------------------------------------------------------------------------ asking back


def test_the_next_message_is_the_reply_where_one_question_is_open(
    client: httpx.Client, asking_back: World
) -> None:
    session = begun(client)
    asked = say(client, session, Q).json()
    [pending] = shown(client, session)["pending"]
    assert pending["clarification_id"] == asked["clarification"]["id"]
    assert (pending["question"], pending["options"]) == (Q, ["Berlin", "Boston"])
    answered = say(client, session, "Berlin").json()
    assert answered["effective_question"] == f"{Q} Berlin"
    assert answered["answer"]["text"] == "Berlin: 30. [1]"
    assert shown(client, session)["pending"] == []
    assert texts(client, session) == [
        Q,
        "Which office?\n- Berlin\n- Boston",
        "Berlin",
        "Berlin: 30. [1]",
    ]


def test_the_number_of_an_option_is_its_words(client: httpx.Client, asking_back: World) -> None:
    session = begun(client)
    say(client, session, Q)
    answered = say(client, session, "1").json()
    assert answered["effective_question"] == f"{Q} Berlin"
    assert texts(client, session)[2] == "1"


def test_a_resumed_question_is_not_planned_again(client: httpx.Client, asking_back: World) -> None:
    session = begun(client)
    say(client, session, Q)
    planned = len(asking_back.planner.histories)
    say(client, session, "Berlin")
    assert len(asking_back.planner.histories) == planned


def test_a_new_question_leaves_the_open_one_open(client: httpx.Client, asking_back: World) -> None:
    session = begun(client)
    say(client, session, Q)
    say(client, session, "Something else?", new_question=True)
    assert len(shown(client, session)["pending"]) == 1
    assert say(client, session, "Berlin").json()["answer"]["text"] == "Berlin: 30. [1]"


def test_of_several_open_questions_the_one_that_is_named_is_answered(
    client: httpx.Client, asking_back: World
) -> None:
    session = begun(client)
    say(client, session, Q)
    other = say(client, session, WARRANTY, new_question=True).json()["clarification"]["id"]
    # Without a name nobody knows which one is meant: it is a question of its own.
    assert say(client, session, "Plover").json()["effective_question"] == "Plover"
    answered = say(client, session, "Plover", clarification_id=other).json()
    assert answered["effective_question"] == f"{WARRANTY} Plover"
    assert [open_["question"] for open_ in shown(client, session)["pending"]] == [Q]


def test_a_reply_to_what_was_answered_is_a_conflict_with_the_answer(
    client: httpx.Client, asking_back: World
) -> None:
    session = begun(client)
    asked = say(client, session, Q).json()["clarification"]["id"]
    answered = say(client, session, "Berlin", clarification_id=asked).json()
    again = say(client, session, "Boston", clarification_id=asked)
    assert again.status_code == 409
    assert again.headers["content-type"] == "application/problem+json"
    assert again.json()["answer"]["id"] == answered["message_id"]
    assert again.json()["answer"]["text"] == "Berlin: 30. [1]"
    assert len(texts(client, session)) == 4


def test_a_question_that_was_never_asked_is_not_found(client: httpx.Client) -> None:
    given = say(client, begun(client), "Berlin", clarification_id="0123456789abcdef")
    assert given.status_code == 404


def test_of_replies_at_the_same_time_one_answers(client: httpx.Client, asking_back: World) -> None:
    session = begun(client)
    asked = say(client, session, Q).json()["clarification"]["id"]
    given: list[httpx.Response] = []

    def reply() -> None:
        given.append(say(client, session, "Berlin", clarification_id=asked))

    threads = [threading.Thread(target=reply) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(response.status_code for response in given) == {200: 1, 409: 7}
    won = next(response.json()["message_id"] for response in given if response.is_success)
    assert {r.json()["answer"]["id"] for r in given if r.status_code == 409} == {won}
    assert len(texts(client, session)) == 4


def test_a_reply_whose_run_failed_can_be_sent_again(
    client: httpx.Client, asking_back: World
) -> None:
    session = begun(client)
    say(client, session, Q)
    found = asking_back.store.found.pop(f"{Q} Berlin")
    asking_back.store.found[f"{Q} Berlin"] = OSError("the disk is gone")
    assert say(client, session, "Berlin").json()["status"] == "failed"
    asking_back.store.found[f"{Q} Berlin"] = found
    assert say(client, session, "Berlin").json()["answer"]["text"] == "Berlin: 30. [1]"


def test_a_client_that_goes_away_leaves_the_question_open(
    client: httpx.Client, asking_back: World
) -> None:
    session = begun(client)
    say(client, session, Q)
    found = asking_back.store.found[f"{Q} Berlin"]
    asking_back.store.found[f"{Q} Berlin"] = HANG
    impatient = httpx.Timeout(20, read=0.5)
    with pytest.raises(httpx.ReadTimeout):
        client.post(f"/v1/sessions/{session}/messages", json={"text": "Berlin"}, timeout=impatient)
    assert asking_back.store.cancelled.wait(20)
    asking_back.store.found[f"{Q} Berlin"] = found
    assert say(client, session, "Berlin").json()["answer"]["text"] == "Berlin: 30. [1]"


def test_a_reply_that_comes_too_late_is_told_what_to_ask_afresh(
    asking_back: World, tmp_path: Path
) -> None:
    with service(asking_back, tmp_path, clarification_hours=1e-9) as client:
        session = begun(client)
        say(client, session, Q)
        late = say(client, session, "Berlin")
        assert (late.status_code, late.json()["ask_afresh"]) == (410, f"{Q} Berlin")
        assert late.json()["type"] == "urn:anabranch:error:ExpiredError"
        # It was said; what comes next is a question again.
        assert say(client, session, f"{Q} Berlin").json()["answer"]["text"] == "Berlin: 30. [1]"


def test_a_reply_about_a_collection_that_is_gone_says_so(
    client: httpx.Client, asking_back: World
) -> None:
    asking_back.store.names = ("default", "contracts")
    session = begun(client, collections=["contracts"])
    asked = say(client, session, Q).json()["clarification"]["id"]
    asking_back.store.names = ("default",)
    gone = say(client, session, "Berlin", clarification_id=asked)
    assert (gone.status_code, gone.json()["ask_afresh"]) == (410, f"{Q} Berlin")


def test_a_reply_searched_in_other_documents_says_so(
    client: httpx.Client, asking_back: World
) -> None:
    session = begun(client)
    say(client, session, Q)
    asking_back.store.version = "version-2"
    answered = say(client, session, "Berlin").json()
    assert [failure["kind"] for failure in answered["failures"]] == ["index_changed"]
    assert answered["ask_afresh"] == f"{Q} Berlin"


def test_a_restart_between_question_and_reply_changes_nothing(
    asking_back: World, tmp_path: Path
) -> None:
    with service(asking_back, tmp_path) as client:
        session = begun(client)
        asked = say(client, session, Q).json()["clarification"]["id"]
    with service(asking_back, tmp_path) as client:
        answered = say(client, session, "Berlin", clarification_id=asked).json()
    assert answered["answer"]["text"] == "Berlin: 30. [1]"


@contextmanager
def service(world: World, folder: Path, **settings: Any) -> Iterator[httpx.Client]:
    chosen = Settings(kb=folder, **settings)
    with (
        world.knowledge_base(path=folder) as opened,
        serving(create_app(chosen, knowledge_base=opened)) as address,
        httpx.Client(base_url=address, timeout=60) as client,
    ):
        yield client
