"""What a key may do and see over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

import scoped_base
from anabranch.errors import ConfigurationError
from anabranch.keys import KeyBook
from anabranch.knowledge_base import KnowledgeBase
from anabranch.service.app import create_app
from anabranch.service.server import check_address
from anabranch.settings import Settings
from service.servers import serving

SECRETS = {
    "salaries.md": "Quillfeather", "minutes.md": "Marrowgate", "merger.md": "Oxtwistle",
}  # fmt: skip
DIRECTOR = "What is the salary of the director?"


@pytest.fixture
def base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with scoped_base.make(tmp_path) as made:
        yield made


@pytest.fixture
def book(base: KnowledgeBase) -> KeyBook:
    return KeyBook(base.path)


@contextmanager
def service(base: KnowledgeBase, **settings: Any) -> Iterator[httpx.Client]:
    app = create_app(Settings(kb=base.path, **settings), knowledge_base=base)
    with serving(app) as address, httpx.Client(base_url=address, timeout=60) as client:
        yield client


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def listed(client: httpx.Client, key: str) -> list[str]:
    sources = client.get("/v1/sources", headers=bearer(key)).json()
    return [Path(source["source"]).name for source in sources]


def test_without_a_valid_key_no_route_says_anything(base: KnowledgeBase, book: KeyBook) -> None:
    revoked, made = book.create("ann")
    book.revoke(made.id)
    with service(base) as client:
        paths = client.get("/openapi.json").json()["paths"]
        asked = [
            (method, path.replace("{", "").replace("}", ""))
            for path, methods in paths.items()
            for method in methods
            if path.startswith("/v1/")
        ]
        assert ("post", "/v1/ask") in asked
        for headers in ({}, bearer(revoked), bearer("anabranch_0_0")):
            for method, path in asked:
                given = client.request(method, path, headers=headers)
                assert given.status_code == 401, (method, path)
                assert given.headers["WWW-Authenticate"] == "Bearer"
                assert given.json()["type"] == "urn:anabranch:error:KeyRefusedError"


def test_a_key_lists_and_asks_what_it_may_see(base: KnowledgeBase, book: KeyBook) -> None:
    ann, _ = book.create("ann", collections=["handbook", "gone"])
    hr, _ = book.create("hr", collections=["handbook"], principals=["hr"])
    root, _ = book.create("root", role="admin")
    body = {"question": DIRECTOR}
    with service(base) as client:
        assert listed(client, ann) == ["leave.md"]
        assert listed(client, hr) == ["leave.md", "salaries.md"]
        assert len(listed(client, root)) == len(scoped_base.DOCUMENTS)
        assert "Quillfeather" not in client.post("/v1/ask", json=body, headers=bearer(ann)).text
        for key in (hr, root):
            assert "Quillfeather" in client.post("/v1/ask", json=body, headers=bearer(key)).text


def test_a_collection_out_of_reach_is_one_that_is_not_there(
    base: KnowledgeBase, book: KeyBook
) -> None:
    ann, _ = book.create("ann", collections=["handbook"])
    with service(base) as client:
        for name in ("board", "nowhere"):
            body = {"question": DIRECTOR, "collections": [name]}
            given = client.post("/v1/ask", json=body, headers=bearer(ann))
            assert given.status_code == 404
            assert given.json()["detail"] == (
                f"There is no collection {name!r}. Those that are there: 'handbook'."
            )


def test_only_an_editor_removes_and_only_what_it_sees(base: KnowledgeBase, book: KeyBook) -> None:
    reader, _ = book.create("ann", collections=["handbook"])
    editor, _ = book.create("bob", role="editor", collections=["handbook"])
    ids = {Path(record.source).name: record.source_id for record in base.sources()}
    with service(base) as client:

        def remove(name: str, key: str) -> int:
            given = client.delete(f"/v1/sources/{ids[name]}", headers=bearer(key))
            return given.status_code

        assert remove("leave.md", reader) == 403
        for name in SECRETS:
            assert remove(name, editor) == 404
        assert remove("leave.md", editor) == 200
    assert sorted(Path(record.source).name for record in base.sources()) == sorted(SECRETS)


def test_a_snapshot_of_somebody_else_opens_nothing(base: KnowledgeBase, book: KeyBook) -> None:
    """Who carries a snapshot away searches within their own scope, whatever scope it was made in."""
    ann, _ = book.create("ann", collections=["handbook"])
    root, _ = book.create("root", role="admin")
    replied = {"snapshot": _signed_snapshot(base), "reply": "the shipyard Marrowgate"}
    with service(base) as client:
        own = client.post("/v1/resume", json=replied, headers=bearer(root))
        foreign = client.post("/v1/resume", json=replied, headers=bearer(ann))
        gone = client.post(
            "/v1/resume",
            headers=bearer(ann),
            json={**replied, "snapshot": _signed_snapshot(base, "gone")},
        )
    assert (own.status_code, foreign.status_code) == (200, 422)
    assert "will sell the shipyard" in own.text
    # Not even whether there is such a collection.
    assert foreign.json() == gone.json()
    assert "board" not in foreign.text


def _signed_snapshot(base: KnowledgeBase, collection: str = "board") -> Any:
    from anabranch.manifest import read_signing_key
    from anabranch.resume import Snapshot, SnapshotScope, sign

    snapshot = Snapshot(
        id="0" * 16, question="What will the board sell?", route="clarify",
        status="needs_clarification", prompt="Which?", scope=SnapshotScope(collections=(collection,)),
        index_fingerprint="", settings_fingerprint="",
    )  # fmt: skip
    return sign(snapshot, read_signing_key(base.path))


def test_a_revoked_key_is_refused_by_a_service_that_runs(
    base: KnowledgeBase, book: KeyBook
) -> None:
    with service(base) as client:
        assert client.get("/v1/me").json()["name"] == "owner"
        ann, _ = book.create("ann")
        assert client.get("/v1/me").status_code == 401
        assert client.get("/v1/me", headers=bearer(ann)).json()["name"] == "ann"
        book.revoke("ann")
        assert client.get("/v1/me", headers=bearer(ann)).status_code == 401


def test_a_key_used_too_often_is_told_when_to_come_back(base: KnowledgeBase, book: KeyBook) -> None:
    ann, _ = book.create("ann")
    with service(base, rate_limit=1) as client:
        given = [client.get("/v1/me", headers=bearer(ann)) for _ in range(2)]
    assert [reply.status_code for reply in given] == [200, 429]
    assert 1 <= int(given[1].headers["Retry-After"]) <= 60
    assert given[1].json()["type"] == "urn:anabranch:error:RateLimitError"


def test_life_and_readiness_need_no_key(base: KnowledgeBase, book: KeyBook) -> None:
    book.create("ann")
    with service(base) as client:
        assert client.get("/healthz").status_code == 200
        assert client.get("/readyz").status_code == 200


def test_with_a_key_it_may_listen_elsewhere(tmp_path: Path) -> None:
    settings = Settings(kb=tmp_path, host="0.0.0.0")
    with pytest.raises(ConfigurationError, match="anabranch keys create"):
        check_address(settings)
    KeyBook(tmp_path).create("ann")
    check_address(settings)


def test_the_api_says_that_it_takes_keys(base: KnowledgeBase) -> None:
    with service(base) as client:
        described = client.get("/openapi.json").json()
    assert described["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
    assert described["paths"]["/v1/ask"]["post"]["security"] == [{"HTTPBearer": []}]
    assert "security" not in described["paths"]["/healthz"]["get"]
    assert "anabranch_" not in json.dumps(described)
