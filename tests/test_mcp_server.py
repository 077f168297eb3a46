"""The MCP front, by the SDK's own client: over standard input and output, and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

import scoped_base
from anabranch.access import Gate
from anabranch.build import shared_rates
from anabranch.errors import InputError, MissingExtraError, SnapshotError, StorageError
from anabranch.keys import KeyBook
from anabranch.knowledge_base import KnowledgeBase
from anabranch.mcp_server import create_server, http_app
from anabranch.resume import from_token, to_token
from anabranch.service.limits import MOST_JSON_BYTES
from anabranch.sessions.database import Database
from anabranch.sessions.rates import SqlRates
from anabranch.settings import Settings
from fakes import SLOT, World, hits, without_times
from service.processes import mcp_process
from service.servers import serving

TOOLS = ["ask", "fetch", "list_sources", "resume", "search"]
INIT = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {},
               "clientInfo": {"name": "test", "version": "1"}},
}  # fmt: skip
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with scoped_base.make(tmp_path_factory.mktemp("scoped")) as made:
        yield made


@pytest.fixture
def book(tmp_path: Path) -> KeyBook:
    return KeyBook(tmp_path)


@pytest.fixture
def address(base: KnowledgeBase, book: KeyBook) -> Iterator[str]:
    with serving(http_app(create_server(base), Gate(book), host="127.0.0.1")) as root:
        yield f"{root}/mcp"


@asynccontextmanager
async def client(address: str, key: str | None = None) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(address, http_client=http)) as connected,
    ):
        yield connected


async def called(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text)  # type: ignore[union-attr]


# ---------------------------------------------------------------------------------- the tools


async def test_every_tool_reads_and_says_what_it_gives(base: KnowledgeBase) -> None:
    async with Client(create_server(base)) as connected:
        tools = (await connected.list_tools()).tools
    assert sorted(tool.name for tool in tools) == TOOLS
    for tool in tools:
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        assert tool.annotations.open_world_hint is False
        assert tool.output_schema is not None
        assert tool.description
        assert "context" not in tool.input_schema["properties"]


async def test_what_is_searched_can_be_fetched(base: KnowledgeBase) -> None:
    async with Client(create_server(base)) as connected:
        found = await called(connected, "search", query="How many days of annual leave?")
        first = found["results"][0]
        fetched = await called(connected, "fetch", id=first["id"])
    assert first["title"] == "Leave"
    assert first["url"].startswith("anabranch://handbook/")
    assert fetched["text"][first["start"] : first["end"]] == first["text"]
    assert (fetched["id"], fetched["url"], fetched["title"]) == tuple(
        first[name] for name in ("id", "url", "title")
    )
    assert fetched["metadata"]["whole"] is True


async def test_a_long_document_is_read_in_parts(base: KnowledgeBase) -> None:
    (record,) = base.sources(collections=["handbook"], principals=())
    whole = base.source_text(record.source_id)
    async with Client(create_server(base)) as connected:
        parts, start = "", 0
        while start < len(whole):
            part = await called(connected, "fetch", id=record.source_id, start=start, length=10)
            parts, start = parts + part["text"], part["metadata"]["end"]
    assert parts == whole


async def test_what_the_documents_do_not_have_is_not_found(base: KnowledgeBase) -> None:
    async with Client(create_server(base)) as connected:
        found = await called(connected, "search", query="Who feeds the whales of Iceland?")
    assert found == {"status": "no_knowledge", "results": []}


async def test_asking_gives_the_outcome_of_the_library_and_words_for_the_model(
    base: KnowledgeBase,
) -> None:
    question = "How many days of annual leave does an employee have?"
    async with Client(create_server(base)) as connected:
        result = await connected.call_tool("ask", {"question": question})
    expected = base.ask(question)
    times = ("elapsed_ms", "started_ms")

    def timeless(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: timeless(item) for name, item in value.items() if name not in times}
        return [timeless(item) for item in value] if isinstance(value, list) else value

    assert timeless(result.structured_content) == without_times(expected)
    words = result.content[0].text  # type: ignore[union-attr]
    assert "27 days" in words
    assert "[1]" in words
    assert expected.evidence[0].source_id in words


async def test_a_question_back_goes_on_with_the_token_in_the_words() -> None:
    world = World()
    question = "How much leave is there?"
    world.store.found = {f"{question} Berlin": hits("Berlin: 30 days."), question: hits("Leave.")}
    world.grader.script = {question: SLOT}
    with world.knowledge_base() as base:
        async with Client(create_server(base)) as connected:
            asked = await connected.call_tool("ask", {"question": question})
            words = asked.content[0].text  # type: ignore[union-attr]
            token = words.rpartition(" ")[2]
            done = await called(connected, "resume", token=token, reply="Berlin")
            mistaken = await refusal(connected, "resume", token=token[:-9], reply="Berlin")
    assert asked.structured_content is not None
    assert asked.structured_content["clarification"]["prompt"] in words
    assert done["status"] == "answerable"
    assert "not the token" in mistaken


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("ask", {"question": "  "}, "blank"),
        ("fetch", {"id": "nothing"}, "no source 'nothing'"),
        ("search", {"query": "leave", "collections": ["gone"]}, "no collection 'gone'"),
        ("resume", {"token": "e30", "reply": "x"}, "token"),
    ],
)
async def test_a_mistake_is_told_in_words(
    base: KnowledgeBase, tool: str, arguments: dict[str, Any], told: str
) -> None:
    async with Client(create_server(base)) as connected:
        assert told in await refusal(connected, tool, **arguments)


# ------------------------------------------------------------------------------------ standard io


async def test_the_command_serves_standard_input_and_output(base: KnowledgeBase) -> None:
    environment = {
        **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "anabranch", "mcp", "--kb", str(base.path)],
        env=environment,
    )  # fmt: skip
    async with Client(command) as connected:
        assert sorted(tool.name for tool in (await connected.list_tools()).tools) == TOOLS
        listed = await called(connected, "list_sources")
        done = await called(connected, "ask", question="What is the salary of the director?")
    assert len(listed["sources"]) == len(scoped_base.DOCUMENTS)
    assert "Quillfeather" in json.dumps(done)  # the folder is the owner's


# ------------------------------------------------------------------------------------------- http


async def test_over_http_without_keys_this_machine_is_the_owner(address: str) -> None:
    async with client(address) as connected:
        listed = await called(connected, "list_sources")
    assert len(listed["sources"]) == len(scoped_base.DOCUMENTS)
    assert str(scoped_base.DOCUMENTS).count("minutes.md") == 1


async def test_a_key_sees_its_collections_and_principals_by_every_tool(
    address: str, base: KnowledgeBase, book: KeyBook
) -> None:
    key, _ = book.create("ann", collections=["handbook"])
    secrets = [record.source_id for record in base.sources(principals=None)]
    (leave,) = base.sources(collections=["handbook"], principals=())
    secrets.remove(leave.source_id)
    async with client(address, key) as connected:
        listed = await called(connected, "list_sources")
        for question in ("What is the salary of the director?", "What will the board sell?"):
            replies = [
                await called(connected, "search", query=question),
                await called(connected, "ask", question=question),
            ]
            for word in ("Quillfeather", "Marrowgate", "190000", *secrets):
                assert word not in json.dumps(replies)
        for secret in secrets:
            assert "no source" in await refusal(connected, "fetch", id=secret)
        told = await refusal(connected, "ask", question="Leave?", collections=["board"])
    assert [source["id"] for source in listed["sources"]] == [leave.source_id]
    assert told.endswith("There is no collection 'board'. Those that are there: 'handbook'.")


def test_without_a_valid_key_nothing_is_said(address: str, book: KeyBook) -> None:
    key, made = book.create("ann")
    book.revoke(made.id)
    for headers in ({}, {"Authorization": f"Bearer {key}"}, {"Authorization": "Bearer x"}):
        reply = httpx.post(address, json=INIT, headers={**ACCEPT, **headers})
        assert reply.status_code == 401
        assert reply.headers["WWW-Authenticate"] == "Bearer"


def test_a_key_that_is_used_too_often_is_told_to_wait(base: KnowledgeBase, book: KeyBook) -> None:
    key, _ = book.create("ann")
    headers = {**ACCEPT, "Authorization": f"Bearer {key}"}
    for per_minute, seconds in ((1, "60"), (11, "6")):  # never sooner than it may
        gate = Gate(book, per_minute=per_minute, clock=lambda: 0.0)
        with serving(http_app(create_server(base), gate, host="127.0.0.1")) as root:
            for _ in range(per_minute):
                assert httpx.post(f"{root}/mcp", json=INIT, headers=headers).status_code == 200
            refused = httpx.post(f"{root}/mcp", json=INIT, headers=headers)
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, seconds)


def test_what_a_service_let_in_is_not_let_in_again(isolated: Path) -> None:
    """They count in one database: the allowance of a key is spent by either of them."""
    kb, per_minute = isolated / "kb", 2
    key, made = KeyBook(kb).create("ann")
    headers = {**ACCEPT, "Authorization": f"Bearer {key}"}

    async def spend() -> float:
        database = await Database.open("", folder=kb)
        try:
            return await SqlRates(database).take(made.id, uses=per_minute, per_minute=per_minute)
        finally:
            await database.close()

    with mcp_process(kb, ANABRANCH_RATE_LIMIT=str(per_minute)) as server:
        assert asyncio.run(spend()) == 0.0
        assert httpx.post(server.address, json=INIT, headers=headers).status_code == 429
        assert server.interrupt() == 130


async def test_where_the_database_cannot_be_opened_it_counts_alone_unless_one_was_named(
    tmp_path: Path,
) -> None:
    gone = tmp_path / "gone"
    async with shared_rates(Settings(), folder=gone) as rates:
        assert rates is None
    with pytest.raises(StorageError):
        async with shared_rates(Settings(database_url=f"sqlite:///{gone}/a.sqlite"), folder=gone):  # type: ignore[arg-type]
            raise AssertionError
    async with shared_rates(Settings(rate_limit=0), folder=tmp_path) as rates:
        assert rates is None
    assert not os.listdir(tmp_path)


async def test_without_the_packages_of_the_service_it_counts_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    monkeypatch.delitem(sys.modules, "anabranch.sessions.database", raising=False)
    async with shared_rates(Settings(), folder=tmp_path) as rates:
        assert rates is None
    with pytest.raises(MissingExtraError, match=r"anabranch\[service\]"):
        async with shared_rates(Settings(database_url="sqlite:///a"), folder=tmp_path):  # type: ignore[arg-type]
            raise AssertionError


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example:80"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:3000"}, 200),
    ],
)
def test_a_page_of_another_site_is_refused(address: str, header: dict[str, str], code: int) -> None:
    assert httpx.post(address, json=INIT, headers={**ACCEPT, **header}).status_code == code


@pytest.mark.parametrize("said", [True, False], ids=["length said", "length not said"])
def test_a_message_that_is_too_large_is_refused(address: str, said: bool) -> None:
    body = b"x" * (MOST_JSON_BYTES + 1)
    headers = {"Content-Type": "application/json", **ACCEPT}
    content = body if said else iter([body[:1_000_000], body[1_000_000:]])
    refused = httpx.post(f"{address}/mcp", content=content, headers=headers)
    assert (refused.status_code, refused.headers["content-type"]) == (
        413, "application/problem+json",
    )  # fmt: skip


def test_a_name_that_was_allowed_is_answered(base: KnowledgeBase, book: KeyBook) -> None:
    app = http_app(
        create_server(base), Gate(book), host="127.0.0.1", allowed_hosts=["docs.example"]
    )
    with serving(app) as root:
        headers = {**ACCEPT, "Host": "docs.example", "Origin": "https://docs.example"}
        assert httpx.post(f"{root}/mcp", json=INIT, headers=headers).status_code == 200


def test_without_keys_it_listens_on_this_machine_only(base: KnowledgeBase, book: KeyBook) -> None:
    with pytest.raises(InputError, match="anabranch keys create"):
        http_app(create_server(base), Gate(book), host="0.0.0.0")
    book.create("ann")
    http_app(create_server(base), Gate(book), host="0.0.0.0")


# ------------------------------------------------------------------------------------------ tokens


def test_a_snapshot_comes_back_from_its_token() -> None:
    snapshot = {"question": "谁? \u2028 'x'", "plan": ["a", "b"], "asked": 1}
    token = to_token(snapshot)
    assert token.replace("-", "").replace("_", "").isalnum()
    assert from_token(f" {token}\n") == snapshot


@pytest.mark.parametrize("token", ["", "e30", "!!", "é", to_token({"a": 1})[:-2], to_token({})[2:]])
def test_what_is_no_token_is_told_apart(token: str) -> None:
    with pytest.raises(SnapshotError, match="not the token"):
        from_token(token)


def test_a_token_that_unpacks_to_gigabytes_is_not_unpacked() -> None:
    with pytest.raises(SnapshotError, match="not the token"):
        from_token(to_token({"a": "x" * 2_000_000}))
