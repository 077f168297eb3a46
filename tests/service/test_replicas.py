"""Two servers over one knowledge base and one database: a question is answered once.

The database is SQLite, and PostgreSQL where it is installed. REPLY_RACES says how many races are run.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from anabranch.knowledge_base import KnowledgeBase
from model_server import ModelServer, Reply
from postgres import new_schema, postgres_server
from service.processes import Process, serve_process

RACES = int(os.environ.get("REPLY_RACES", "5"))
QUESTION, REPLY = "How long is the warranty?", "the Plover"
LEASE = "2"
# Each test starts several servers.
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with postgres_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def shared(
    request: pytest.FixtureRequest, examples: KnowledgeBase, isolated: Path
) -> dict[str, Any]:
    """What the servers of a test have in common."""
    kb = isolated / "kb"
    shutil.copytree(examples.path, kb)
    settings = {"kb": kb, "ANABRANCH_LEASE_SECONDS": LEASE}
    if request.param == "postgresql":
        settings["ANABRANCH_DATABASE_URL"] = new_schema(request.getfixturevalue("postgres"))
    return settings


def asked(address: str) -> tuple[str, str]:
    """A session in which the question was asked back: its id, and that of the clarification."""
    session = httpx.post(f"{address}/v1/sessions", json={}, timeout=60).json()["id"]
    outcome = said(address, session, QUESTION).json()
    assert outcome["status"] in ("needs_clarification", "needs_scope_selection")
    return session, outcome["clarification"]["id"]


def said(address: str, session: str, text: str, **body: Any) -> httpx.Response:
    return httpx.post(
        f"{address}/v1/sessions/{session}/messages", json={"text": text, **body}, timeout=90
    )


def messages(address: str, session: str) -> list[Any]:
    found: list[Any] = httpx.get(f"{address}/v1/sessions/{session}", timeout=60).json()["messages"]
    return found


def test_of_two_replies_at_the_same_time_to_two_servers_one_answers(
    shared: dict[str, Any],
) -> None:
    together = threading.Barrier(2)

    def reply(server: Process, session: str, clarification: str) -> httpx.Response:
        together.wait()
        return said(server.address, session, REPLY, clarification_id=clarification)

    with (
        serve_process(**shared) as first,
        serve_process(**shared) as second,
        ThreadPoolExecutor(2) as replying,
    ):
        for _ in range(RACES):
            named = asked(first.address)
            given = [
                future.result()
                for future in [replying.submit(reply, server, *named) for server in (first, second)]
            ]
            assert Counter(response.status_code for response in given) == {200: 1, 409: 1}
            won = next(response.json() for response in given if response.is_success)
            lost = next(response.json() for response in given if response.is_error)
            assert lost["answer"]["id"] == won["message_id"]
            assert [message["role"] for message in messages(second.address, named[0])] == [
                "user", "assistant", "user", "assistant",
            ]  # fmt: skip


def test_a_reply_whose_server_is_killed_before_it_saved_is_answered_by_the_other_once(
    shared: dict[str, Any],
) -> None:
    reached, never = threading.Event(), threading.Event()

    def stall(request: Any) -> Reply:
        reached.set()
        return Reply({"results": []}, hold=never)

    with ExitStack() as stack:
        reranking = stack.enter_context(ModelServer(stall))
        # Its reranker holds the run of the reply up, behind the claim and before the answer.
        dying = stack.enter_context(
            serve_process(
                **shared,
                ANABRANCH_RERANKER="http:any",
                ANABRANCH_RERANKER_URL=reranking.url,
                ANABRANCH_RERANKER_TIMEOUT="60",
            )
        )
        other = stack.enter_context(serve_process(**shared))
        session, clarification = asked(dying.address)
        named = {"clarification_id": clarification}
        replying = stack.enter_context(ThreadPoolExecutor(1))
        lost = replying.submit(said, dying.address, session, REPLY, effort="thorough", **named)
        assert reached.wait(60)
        assert len(messages(other.address, session)) == 2
        dying.kill()
        never.set()
        with pytest.raises(httpx.TransportError):
            lost.result()
        answered = said(other.address, session, REPLY, **named)
        assert answered.status_code == 200
        again = said(other.address, session, REPLY, **named)
        assert (again.status_code, again.json()["answer"]["id"]) == (
            409, answered.json()["message_id"],
        )  # fmt: skip
        assert len(messages(other.address, session)) == 4


def test_a_restart_between_question_and_reply_changes_nothing(shared: dict[str, Any]) -> None:
    with serve_process(**shared) as before:
        session, clarification = asked(before.address)
        before.kill()
    with serve_process(**shared) as after:
        answered = said(after.address, session, REPLY, clarification_id=clarification)
        assert answered.status_code == 200
        assert len(messages(after.address, session)) == 4
