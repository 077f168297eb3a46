"""Sessions and uploads under keys: nobody sees or writes what their key does not reach."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import scoped_base
from anabranch.access import Caller
from anabranch.keys import KeyBook
from anabranch.knowledge_base import KnowledgeBase
from anabranch.request import CallerScope
from anabranch.service.app import create_app
from anabranch.settings import Settings
from service.servers import serving

DIRECTOR = "What is the salary of the director?"


@pytest.fixture
def base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with scoped_base.make(tmp_path) as made:
        yield made


@pytest.fixture
def client(base: KnowledgeBase) -> Iterator[httpx.Client]:
    app = create_app(Settings(kb=base.path), knowledge_base=base)
    with serving(app) as address, httpx.Client(base_url=address, timeout=60) as client:
        yield client


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def held(client: httpx.Client, key: str) -> str:
    """A session in which the director's salary was asked for."""
    session = client.post("/v1/sessions", json={}, headers=bearer(key)).json()["id"]
    client.post(f"/v1/sessions/{session}/messages", json={"text": DIRECTOR}, headers=bearer(key))
    return str(session)


def test_a_session_is_its_keys_alone(client: httpx.Client, base: KnowledgeBase) -> None:
    book = KeyBook(base.path)
    hr, _ = book.create("hr", collections=["handbook"], principals=["hr"])
    root, _ = book.create("root", role="admin")
    session = held(client, hr)
    path = f"/v1/sessions/{session}"
    assert "Quillfeather" in client.get(path, headers=bearer(hr)).text
    assert client.get(path, headers=bearer(root)).status_code == 404
    assert client.get("/v1/sessions", headers=bearer(root)).json() == []


def test_a_session_with_collections_that_the_key_may_not_see_is_not_begun(
    client: httpx.Client, base: KnowledgeBase
) -> None:
    key, _ = KeyBook(base.path).create("ann", collections=["handbook"])
    given = {
        name: client.post("/v1/sessions", json={"collections": [name]}, headers=bearer(key))
        for name in ("handbook", "board", "nowhere")
    }
    assert [response.status_code for response in given.values()] == [201, 404, 404]
    assert given["board"].json()["detail"] == (
        "There is no collection 'board'. Those that are there: 'handbook'."
    )
    assert len(client.get("/v1/sessions", headers=bearer(key)).json()) == 1


def test_a_key_that_reaches_less_than_before_loses_its_sessions(
    client: httpx.Client, base: KnowledgeBase
) -> None:
    book = KeyBook(base.path)
    wide, made = book.create("hr", collections=["handbook"], principals=["hr"])
    session = held(client, wide)
    book.revoke(made.id)
    narrow, _ = book.create("hr", collections=["handbook"])
    headers, path = bearer(narrow), f"/v1/sessions/{session}"
    given = [
        client.get(path, headers=headers),
        client.post(f"{path}/messages", json={"text": "And now?"}, headers=headers),
        client.get("/v1/sessions", headers=headers),
    ]
    assert [response.status_code for response in given] == [403, 403, 200]
    assert not any("Quillfeather" in response.text for response in given)
    assert client.delete(path, headers=headers).status_code == 204


def test_a_key_that_reaches_more_than_before_keeps_its_sessions_as_they_were(
    client: httpx.Client, base: KnowledgeBase
) -> None:
    book = KeyBook(base.path)
    narrow, made = book.create("hr", collections=["handbook"])
    session = held(client, narrow)
    book.revoke(made.id)
    wide, _ = book.create("hr", collections=["handbook"], principals=["hr"])
    path = f"/v1/sessions/{session}"
    client.post(f"{path}/messages", json={"text": DIRECTOR}, headers=bearer(wide))
    assert "Quillfeather" not in client.get(path, headers=bearer(wide)).text


def test_a_reader_uploads_nothing(client: httpx.Client, base: KnowledgeBase) -> None:
    reader, _ = KeyBook(base.path).create("ann", collections=["handbook"])
    refused = client.post(
        "/v1/sources", files={"files": ("a.md", b"A.")}, data={"collection": "handbook"},
        headers=bearer(reader),
    )  # fmt: skip
    assert refused.status_code == 403


@pytest.mark.parametrize(
    ("within", "principals", "expected"),
    [
        (("a",), ("p",), True), (("a", "b"), (), True), ((), (), True),
        (("a", "c"), (), False), (("a",), ("q",), False), (None, (), False), (("a",), None, False),
    ],
)  # fmt: skip
def test_what_a_caller_covers(
    within: tuple[str, ...] | None, principals: tuple[str, ...] | None, expected: bool
) -> None:
    scope: CallerScope = {"within": within, "principals": principals}
    assert Caller("me", "reader", ("a", "b"), ("p",)).covers(scope) is expected
    assert Caller("owner", "admin", None, None).covers(scope)
