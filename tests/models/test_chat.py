"""A chat client over a real OpenAI-compatible server: what it asks, what it bears, what it tells."""

from __future__ import annotations

import asyncio
import email.utils
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from anabranch.errors import ConfigurationError, MissingExtraError, RemoteError
from anabranch.ledger import Ledger
from anabranch.models.chat import ChatClient, RequestModel
from anabranch.models.chat_errors import read_fault
from anabranch.models.chat_exchange import ChatSettings
from anabranch.models.chat_provider import check_name, split_name
from anabranch.models.limits import ProviderLimits
from anabranch.ports import Prompt
from anabranch.reasoning.llm_planning import PlanReply
from anabranch.reasoning.structured_reply import schema_of
from scripted_model import OPTIONS, Line, ScriptedModel

KEY = "sk-secret-0123456789"
PROMPT = Prompt("You plan nothing.", "hello")
SCHEMA = schema_of(PlanReply)


class Asker:
    """One client and the ledger of one request."""

    def __init__(
        self, server: ScriptedModel, *, seconds: float = 20.0, slots: int = 4, **settings: Any
    ) -> None:
        values = {"name": "openai:scripted", "base_url": server.url, "api_key": KEY, **settings}
        self.ledger = Ledger()
        self.client = ChatClient(ChatSettings(**values), ProviderLimits(concurrency=slots))
        self.model = RequestModel(self.client, "plan", self.ledger, lambda: seconds)
        self.said: list[str] = []

    async def complete(self, prompt: Prompt = PROMPT) -> str:
        try:
            return await self.model.complete(prompt, schema=SCHEMA)
        finally:
            await self.client.close()

    async def write(self) -> str:
        try:
            return await self.model.write(PROMPT, self.said.append)
        finally:
            await self.client.close()


def always(line: Any) -> Callable[[Any], Any]:
    return lambda request: line


def in_turn(*lines: Any) -> Callable[[Any], Any]:
    left = list(lines)
    return lambda request: left.pop(0) if len(left) > 1 else left[0]


# ------------------------------------------------------------------------------------ structure


async def test_a_schema_is_asked_for_and_the_reply_counted() -> None:
    with ScriptedModel(always({"complexity": "simple"})) as server:
        asker = Asker(server)
        assert await asker.complete() == '{"complexity": "simple"}'
    sent = server.requests[0]["response_format"]["json_schema"]
    assert sent["name"] == "PlanReply"
    usage = asker.ledger.usage()
    assert (usage.model_calls, usage.input_tokens, usage.output_tokens) == (1, 4, 2)
    assert usage.by_role["plan"].model_calls == 1


@pytest.mark.parametrize(
    ("understands", "calls", "mode"),
    [
        (OPTIONS, 1, "json_schema"),
        (("tools", "temperature", "system role"), 2, "function_calling"),
        (("temperature", "system role"), 3, "prompt"),
        (("json_schema", "system role"), 2, "json_schema"),
        (("json_schema", "temperature"), 2, "json_schema"),
        ((), 5, "prompt"),
    ],
)
async def test_what_a_model_does_not_understand_is_asked_once(
    understands: tuple[str, ...], calls: int, mode: str
) -> None:
    with ScriptedModel(always('{"complexity": "simple"}'), understands=understands) as server:
        asker = Asker(server)
        for _ in range(2):
            assert "simple" in await asker.model.complete(PROMPT, schema=SCHEMA)
        assert asker.client.mode == mode
        assert len(server.requests) == calls + 1
        await asker.client.close()


async def test_what_many_calls_find_out_at_once_is_left_out_once() -> None:
    understands = ("json_schema", "system role")
    with ScriptedModel(always('{"complexity": "simple"}'), understands=understands) as server:
        asker = Asker(server, slots=10)
        asked = [asker.model.complete(Prompt("s", f"n {n}"), schema=SCHEMA) for n in range(10)]
        await asyncio.gather(*asked)
        await asker.client.close()
        assert asker.client.mode == "json_schema"
        assert len(server.requests) <= 20


async def test_a_mode_that_is_set_is_the_only_one_tried() -> None:
    with ScriptedModel(always("{}"), understands=("temperature", "system role")) as server:
        with pytest.raises(RemoteError, match="json_schema is not supported"):
            await Asker(server, structured="json_schema").complete()
        assert len(server.requests) == 1


async def test_a_reply_that_was_cut_off_is_given_as_far_as_it_goes() -> None:
    line = Line('{"complexity": "simple", "reason": "beca', finish="length")
    with ScriptedModel(always(line)) as server:
        assert (await Asker(server).complete()).startswith('{"complexity": "simple"')


async def test_broken_arguments_of_a_tool_call_are_given_as_they_are() -> None:
    with ScriptedModel(
        always('{"complexity": "simp'), understands=("tools", "temperature", "system role")
    ) as server:
        assert await Asker(server).complete() == '{"complexity": "simp'


# ----------------------------------------------------------------------------------- bearing up


@pytest.mark.parametrize(
    "first",
    [
        Line(status=429, say="slow down", headers={"Retry-After": "0"}),
        Line(status=429, say="slow down", headers={"retry-after-ms": "1"}),
        Line(status=429, headers={"Retry-After": email.utils.formatdate(0, usegmt=True)}),
        Line(status=500, say="oops", headers={"Retry-After": "0"}),
        Line(status=503, say="oops", headers={"Retry-After": "0"}),
        Line(drop_after=0),
        Line('{"complexity": "simple"}', drop_after=1),
    ],
    ids=["429", "429-ms", "429-date", "500", "503", "dropped", "dropped-halfway"],
)
async def test_a_provider_that_is_busy_or_gone_for_a_moment_is_asked_again(first: Line) -> None:
    with ScriptedModel(in_turn(first, '{"complexity": "simple"}')) as server:
        asker = Asker(server)
        assert await asker.complete() == '{"complexity": "simple"}'
    assert len(server.requests) == 2 == asker.ledger.usage().model_calls


@pytest.mark.parametrize(
    ("line", "kind", "calls"),
    [
        (Line(status=401, say=f"Incorrect API key provided: {KEY}"), "unauthorized", 1),
        (Line(status=403, say="no"), "unauthorized", 1),
        (Line(status=429, headers={"Retry-After": "0"}), "rate_limited", 3),
        (Line(status=429, headers={"Retry-After": "3600"}), "rate_limited", 1),
        (Line(status=500, headers={"Retry-After": "0"}), "server_error", 3),
        (Line(body=b"<html>gateway</html>"), "unusable_reply", 1),
        (Line(body=b'{"choices": []}'), "unusable_reply", 1),
        (Line(body=b'{"choices": null, "id": 3}'), "unusable_reply", 1),
        (Line(body=b"\xff\xfe"), "unusable_reply", 1),
    ],
    ids=["401", "403", "429", "429-too-late", "500", "html", "empty", "null", "bytes"],
)
async def test_a_fault_is_told_in_one_form_without_the_key(
    line: Line, kind: str, calls: int
) -> None:
    with ScriptedModel(always(line)) as server:
        asker = Asker(server, structured="prompt")
        with pytest.raises(RemoteError) as raised:
            await asker.complete()
        assert len(server.requests) == calls
    assert raised.value.kind == kind
    assert "openai:scripted" in str(raised.value)
    assert KEY not in f"{raised.value} {raised.value!r} {asker.client!r} {asker.model!r}"
    assert raised.value.__cause__ is None


async def test_an_address_where_nobody_is_cannot_be_reached() -> None:
    with ScriptedModel(always("")) as server:
        url = server.url
    asker = Asker(server, base_url=url)
    with pytest.raises(RemoteError) as raised:
        await asker.complete()
    assert raised.value.kind == "unreachable"


async def test_a_slow_model_costs_its_time_once() -> None:
    with ScriptedModel(always(Line("late", hold=threading.Event()))) as server:
        asker = Asker(server, seconds=0.2)
        with pytest.raises(RemoteError, match=r"no reply within 0\.2 s") as raised:
            await asker.complete()
        assert raised.value.kind == "timeout"
        assert len(server.requests) == 1


async def test_a_cancelled_call_hangs_up() -> None:
    with ScriptedModel(always(Line("late", hold=threading.Event()))) as server:
        asker = Asker(server)
        call = asyncio.create_task(asker.complete())
        await asyncio.to_thread(server.asked.wait, 20)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await asyncio.to_thread(server.hung_up.wait, 20)


async def test_calls_of_all_requests_share_the_slots() -> None:
    with ScriptedModel(always('{"complexity": "simple"}')) as server:
        asker = Asker(server, slots=3)
        asked = [asker.model.complete(Prompt("s", f"n {n}"), schema=SCHEMA) for n in range(20)]
        replies = await asyncio.gather(*asked)
        await asker.client.close()
    assert len(replies) == len(server.requests) == asker.ledger.usage().model_calls == 20
    assert server.most_at_once <= 3


# ------------------------------------------------------------------------------------- streaming


async def test_an_answer_comes_in_pieces_and_is_counted() -> None:
    with ScriptedModel(always("It is 30 days [1].")) as server:
        asker = Asker(server)
        assert await asker.write() == "It is 30 days [1]."
    assert asker.said == ["It ", "is ", "30 ", "days ", "[1]."]
    usage = asker.ledger.usage()
    assert (usage.input_tokens, usage.output_tokens) == (4, 5)


@pytest.mark.parametrize("understands", [OPTIONS, ("temperature", "system role"), ()])
async def test_a_stream_without_counts_is_estimated(understands: tuple[str, ...]) -> None:
    line = Line("It is 30 days [1].", usage=False)
    with ScriptedModel(always(line), understands=understands) as server:
        asker = Asker(server)
        await asker.write()
    assert asker.ledger.usage().output_tokens > 0


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (Line("one two three", drop_after=2), "unreachable"),
        (Line("one two three", stall_after=2), "timeout"),
    ],
    ids=["dropped", "stalled"],
)
async def test_a_stream_that_breaks_is_not_begun_again(line: Line, kind: str) -> None:
    with ScriptedModel(always(line)) as server:
        asker = Asker(server, timeout=1.0)
        with pytest.raises(RemoteError) as raised:
            await asker.write()
        assert raised.value.kind == kind
        assert len(server.requests) == 1
    assert asker.said == ["one ", "two "]


async def test_a_stream_that_never_begins_is_tried_again() -> None:
    with ScriptedModel(in_turn(Line(drop_after=0), "It is.")) as server:
        asker = Asker(server)
        assert await asker.write() == "It is."
    assert asker.said == ["It ", "is."]


# ----------------------------------------------------------------------------- names and the cache


async def test_kept_replies_cost_no_call_and_come_by_prompt() -> None:
    with ScriptedModel(lambda request: str(len(request["messages"][1]["content"]))) as server:
        asker = Asker(server, cached_replies=2)
        prompts = [Prompt("s", "a"), Prompt("s", "a"), Prompt("s", "bb"), Prompt("s", "ccc"),
                   Prompt("s", "a")]  # fmt: skip
        replies = [await asker.model.complete(prompt) for prompt in prompts]
        heard = await asker.model.write(Prompt("s", "a"), asker.said.append)
        await asker.client.close()
    assert replies == ["1", "1", "2", "3", "1"]
    assert (heard, asker.said) == ("1", ["1"])
    assert len(server.requests) == 4
    assert asker.ledger.usage().cached == 2


async def test_nothing_is_kept_unless_it_is_set() -> None:
    with ScriptedModel(always("{}")) as server:
        asker = Asker(server)
        await asker.model.complete(PROMPT)
        await asker.model.complete(PROMPT)
        await asker.client.close()
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("name", "base_url", "parts"),
    [
        ("openai:gpt-5", None, ("openai", "gpt-5")),
        ("anthropic:claude", None, ("anthropic", "claude")),
        ("qwen3:8b", "http://localhost:11434/v1", ("openai", "qwen3:8b")),
        ("ollama:qwen3:8b", "http://localhost:11434", ("ollama", "qwen3:8b")),
        ("local-model", "http://localhost/v1", ("openai", "local-model")),
        ("gpt-5", None, (None, "gpt-5")),
    ],
)
def test_a_name_has_a_provider_or_an_address_that_makes_it_one(
    name: str, base_url: str | None, parts: tuple[str | None, str]
) -> None:
    assert split_name(name, base_url) == parts


@pytest.mark.parametrize(
    ("name", "base_url", "message"),
    [
        ("openai:", None, "no name behind"),
        ("openai:x", "ftp://x", "not an address"),
        ("openai:x", "https://user:pass@x", "password in it"),
    ],
)
def test_a_model_that_cannot_be_is_refused_at_once(
    name: str, base_url: str | None, message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        check_name(name, base_url)


def test_a_provider_whose_package_is_missing_is_told_with_its_command() -> None:
    with pytest.raises(MissingExtraError, match="pip install langchain-groq"):
        check_name("groq:x", None)


async def test_a_provider_that_does_not_exist_is_a_configuration_error() -> None:
    client = ChatClient(ChatSettings("nobody:x"), ProviderLimits(concurrency=1))
    model = RequestModel(client, "plan", Ledger(), lambda: 5.0)
    with pytest.raises(ConfigurationError, match="nobody:x"):
        await model.complete(PROMPT)


async def test_a_server_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with ScriptedModel(always("hi")) as server:
        asker = Asker(server, api_key="")
        assert await asker.write() == "hi"


async def test_without_any_key_the_message_says_which_to_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    client = ChatClient(ChatSettings("openai:x"), ProviderLimits(concurrency=1))
    with pytest.raises(ConfigurationError, match="ANABRANCH_MODEL_API_KEY"):
        await client.load()


def test_a_status_behind_another_error_is_found_with_what_it_asks_for() -> None:
    class InnerError(Exception):
        code = 429
        response = httpx.Response(429, headers={"Retry-After": "7"})

    error = RuntimeError("Error calling the model")
    error.__cause__ = InnerError("slow down")
    fault = read_fault(error, model="google_genai:x", secrets=())
    assert isinstance(fault.error, RemoteError)
    assert (fault.error.kind, fault.status, fault.again) == ("rate_limited", 429, True)
    assert fault.retry_after == 7
