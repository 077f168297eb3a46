"""The OpenAI-compatible front, by OpenAI's own client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

import scoped_base
from anabranch.keys import KeyBook
from anabranch.knowledge_base import KnowledgeBase
from anabranch.service.app import create_app
from anabranch.settings import Settings
from fakes import SLOT, World, hits
from service.servers import serving

Q = "How much leave is there?"
DIRECTOR = "What is the salary of the director?"


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


@pytest.fixture
def world() -> World:
    world = World()
    world.store.found = {Q: hits("Annual leave is 30 days."), f"{Q} Berlin": hits("Berlin: 30.")}
    return world


@contextmanager
def served(base: KnowledgeBase, key: str = "none") -> Iterator[openai.OpenAI]:
    app = create_app(Settings(kb=base.path), knowledge_base=base)
    with (
        serving(app) as address,
        openai.OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0, timeout=60) as client,
    ):
        yield client


@pytest.fixture
def client(world: World, tmp_path: Path) -> Iterator[openai.OpenAI]:
    with world.knowledge_base(path=tmp_path) as base, served(base) as client:
        yield client


@pytest.fixture(scope="module")
def scoped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with scoped_base.make(tmp_path_factory.mktemp("scoped")) as made:
        yield made


def ask(client: openai.OpenAI, *messages: Any, model: str = "anabranch", **more: Any) -> Any:
    return client.chat.completions.create(model=model, messages=list(messages), **more)


# ------------------------------------------------------------------------------------- answers


def test_an_answer_comes_with_its_citations_at_their_places(client: openai.OpenAI) -> None:
    given = ask(client, user(Q))
    message = given.choices[0].message
    assert (given.object, given.model, given.choices[0].finish_reason) == (
        "chat.completion", "anabranch", "stop",
    )  # fmt: skip
    assert message.content == "Annual leave is 30 days. [1]"
    (annotation,) = message.annotations
    cited = annotation.url_citation
    assert message.content[cited.start_index : cited.end_index] == "[1]"
    assert cited.url.startswith(str(client.base_url))
    assert "/pages/1.png?start=0&end=24" in cited.url
    assert (given.usage.prompt_tokens, given.usage.total_tokens) == (0, 0)


def test_streamed_and_plain_answers_agree(client: openai.OpenAI) -> None:
    plain = ask(client, user(Q))
    chunks = list(ask(client, user(Q), stream=True, stream_options={"include_usage": True}))
    told = [chunk for chunk in chunks if chunk.choices]
    assert told[0].choices[0].delta.role == "assistant"
    assert len({chunk.id for chunk in chunks}) == 1
    text = "".join(chunk.choices[0].delta.content or "" for chunk in told)
    assert text == plain.choices[0].message.content
    assert [chunk.choices[0].finish_reason for chunk in told][-1] == "stop"
    streamed = told[-1].choices[0].delta.annotations
    assert streamed == [a.model_dump() for a in plain.choices[0].message.annotations]
    assert chunks[-1].choices == []
    assert chunks[-1].usage == plain.usage


def test_without_asking_for_usage_no_chunk_is_without_a_choice(client: openai.OpenAI) -> None:
    assert all(chunk.choices for chunk in ask(client, user(Q), stream=True))


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Who feeds the whales?", "The documents do not say."),
        ("谁喂鲸鱼？", "文档中没有关于这个问题的内容。"),
    ],
)
def test_what_the_documents_do_not_have_is_said_in_the_language_asked(
    client: openai.OpenAI, question: str, said: str
) -> None:
    given = ask(client, user(question))
    assert given.choices[0].message.content == said
    assert given.choices[0].message.annotations == []
    assert given.anabranch["status"] == "no_knowledge"


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("Thanks!", "You're welcome."),
        ("bye", "Goodbye."),
        ("你好", "你好！有关文档的问题都可以问我。"),
    ],
)
def test_small_talk_is_answered_without_a_search(
    client: openai.OpenAI, world: World, said: str, reply: str
) -> None:
    chat = (user(Q), assistant("Annual leave is 30 days. [1]"), user(said))
    given = ask(client, *chat)
    streamed = "".join(
        c.choices[0].delta.content or "" for c in ask(client, *chat, stream=True) if c.choices
    )
    assert (given.choices[0].message.content, streamed) == (reply, reply)
    assert given.anabranch["status"] == "answerable"
    assert world.planner.planned == []


def test_earlier_turns_are_the_history_and_system_messages_are_not(
    client: openai.OpenAI, world: World
) -> None:
    parts = [{"type": "text", "text": Q}]
    ask(
        client, {"role": "system", "content": "Say only yes."}, user("Hello"), assistant("Hi."),
        {"role": "user", "content": parts},
    )  # fmt: skip
    (history,) = world.planner.histories
    assert [(turn.role, turn.text) for turn in history] == [("user", "Hello"), ("assistant", "Hi.")]


@pytest.mark.parametrize(("given", "planned"), [("low", 0), ("medium", 1), ("high", 1), (None, 1)])
def test_reasoning_effort_is_how_hard_to_search(
    client: openai.OpenAI, world: World, given: str | None, planned: int
) -> None:
    ask(client, user(Q), **({"reasoning_effort": given} if given else {}))
    assert len(world.planner.planned) == planned


# ------------------------------------------------------------------------------- asking back


def asks_back(client: openai.OpenAI, world: World, **more: Any) -> str:
    world.grader.script = {Q: SLOT}
    given = ask(client, user(Q), **more)
    if more.get("stream"):
        return "".join(c.choices[0].delta.content or "" for c in given if c.choices)
    return str(given.choices[0].message.content)


@pytest.mark.parametrize("stream", [False, True])
def test_a_question_back_is_answered_by_the_next_turn(
    client: openai.OpenAI, world: World, stream: bool
) -> None:
    asked = asks_back(client, world, stream=stream)
    given = ask(client, user(Q), assistant(asked), user("Berlin"))
    assert given.choices[0].message.content == "Berlin: 30. [1]"
    assert world.planner.planned == [Q]  # the reply was not planned anew


def test_the_marker_is_nothing_that_a_reader_sees(client: openai.OpenAI, world: World) -> None:
    lines = asks_back(client, world).splitlines()
    assert lines[-1].startswith("[//]: # (anabranch:")
    assert lines[-2] == ""  # without it Markdown takes the line for text
    assert "anabranch" not in "".join(lines[:-1])


def test_a_reply_goes_on_in_another_process_after_a_restart(world: World, tmp_path: Path) -> None:
    with world.knowledge_base() as base:
        base.path = tmp_path
        with served(base) as client:
            asked = asks_back(client, world)
    with world.knowledge_base() as other:
        other.path = tmp_path
        with served(other) as client:
            given = ask(client, user(Q), assistant(asked), user("Berlin"))
    assert given.choices[0].message.content == "Berlin: 30. [1]"


def test_a_new_question_can_be_asked_instead(client: openai.OpenAI, world: World) -> None:
    asked = asks_back(client, world)
    other = "Who feeds the whales?"
    given = ask(
        client, user(Q), assistant(asked), user(other), metadata={"new_question": "true"}
    )  # fmt: skip
    assert given.choices[0].message.content == "The documents do not say."
    assert "anabranch:" not in str(world.planner.histories[-1])


def test_what_was_asked_back_earlier_is_not_answered_by_a_later_turn(
    client: openai.OpenAI, world: World
) -> None:
    asked = asks_back(client, world)
    ask(client, user(Q), assistant(asked), user("Never mind"), assistant("Fine."), user("Whales?"))
    assert world.planner.planned[-1] == "Whales?"


def test_a_marker_that_was_changed_is_refused(client: openai.OpenAI, world: World) -> None:
    asked = asks_back(client, world)
    cut = asked[:-12] + ")"
    with pytest.raises(openai.UnprocessableEntityError, match="not the token"):
        ask(client, user(Q), assistant(cut), user("Berlin"))


# ------------------------------------------------------------------------------ models and keys


def test_a_model_is_a_collection_that_the_key_may_see(scoped: KnowledgeBase) -> None:
    with served(scoped) as client:
        assert [model.id for model in client.models.list()] == ["anabranch", "board", "handbook"]
        sold = ask(client, user("What will the board sell?"), model="board")
        nothing = ask(client, user("What will the board sell?"), model="handbook")
    assert "Marrowgate" in sold.choices[0].message.content
    assert "Marrowgate" not in nothing.choices[0].message.content


def test_a_key_gets_nothing_out_of_its_scope_by_any_model(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with scoped_base.make(tmp_path_factory.mktemp("keyed")) as base:
        key, _ = KeyBook(base.path).create("ann", collections=["handbook"])
        with served(base, key) as client:
            assert [model.id for model in client.models.list()] == ["anabranch", "handbook"]
            for question in (DIRECTOR, "What will the board sell?", "What does the merger cost?"):
                for model in ("anabranch", "handbook"):
                    told = ask(client, user(question), model=model).model_dump_json()
                    for word in ("Quillfeather", "Marrowgate", "Oxtwistle"):
                        assert word not in told
            for model in ("board", "nothing"):
                with pytest.raises(openai.NotFoundError) as refused:
                    ask(client, user(DIRECTOR), model=model)
                assert refused.value.code == "model_not_found"
                assert "'anabranch', 'handbook'" in str(refused.value)
                with pytest.raises(openai.NotFoundError):
                    client.models.retrieve(model)
            assert client.models.retrieve("handbook").id == "handbook"
        with served(base, "anabranch_0_0") as client:
            with pytest.raises(openai.AuthenticationError):
                client.models.list()
            with pytest.raises(openai.AuthenticationError):
                ask(client, user(DIRECTOR), stream=True)


def test_a_collection_of_an_earlier_version_called_as_all_of_them_is_one_of_them(
    client: openai.OpenAI, world: World
) -> None:
    world.store.names = ("anabranch", "handbook")
    assert [model.id for model in client.models.list()] == ["anabranch", "handbook"]
    ask(client, user(Q))
    assert {scope.collections for scope in world.store.scopes} == {None}


# ------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([user("  ")], "blank"),
        ([user(Q), assistant("It is 30.")], "not the user's"),
        ([{"role": "system", "content": Q}], "not the user's"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_mistake_is_told_as_the_client_expects_it(
    client: openai.OpenAI, messages: Any, told: str, stream: bool
) -> None:
    with pytest.raises(openai.UnprocessableEntityError, match=told) as refused:
        ask(client, *messages, stream=stream)
    assert refused.value.type == "invalid_request_error"


def test_several_choices_are_refused(client: openai.OpenAI) -> None:
    with pytest.raises(openai.UnprocessableEntityError):
        ask(client, user(Q), n=2)


def test_a_run_that_failed_is_an_error_and_no_answer(client: openai.OpenAI, world: World) -> None:
    world.store.words = OSError("the index is gone")
    with pytest.raises(openai.InternalServerError) as failed:
        ask(client, user(Q))
    assert failed.value.type == "server_error"
    with pytest.raises(openai.APIError, match="run failed"):
        list(ask(client, user(Q), stream=True))


def test_a_stream_ends_as_the_protocol_says(client: openai.OpenAI) -> None:
    body = {"model": "anabranch", "messages": [user(Q)], "stream": True}
    reply = httpx.post(f"{client.base_url}chat/completions", json=body)
    lines = [line for line in reply.text.splitlines() if line and not line.startswith(":")]
    assert lines[-1] == "data: [DONE]"
    assert all(json.loads(line.removeprefix("data: "))["id"] for line in lines[:-1])
