"""Documents over HTTP."""

from __future__ import annotations

import httpx

from anabranch.knowledge_base import KnowledgeBase
from anabranch.service.app import create_app
from service.servers import serving


def test_sources_and_collections_are_listed(examples: KnowledgeBase) -> None:
    app = create_app(examples.settings, knowledge_base=examples)
    with serving(app) as address, httpx.Client(base_url=address, timeout=60) as client:
        listed = client.get("/v1/sources").json()
        assert [item["source_id"] for item in listed] == [
            record.source_id for record in examples.sources()
        ]
        assert client.get("/v1/collections").json() == [{"name": "default", "sources": len(listed)}]
        assert client.get("/v1/sources?collection=nowhere").status_code == 404


def test_a_source_that_is_not_there_cannot_be_removed(client: httpx.Client) -> None:
    given = client.delete("/v1/sources/nothing")
    assert given.json()["type"] == "urn:anabranch:error:SourceNotFoundError"


def test_without_keys_the_caller_is_the_owner(client: httpx.Client) -> None:
    me = client.get("/v1/me").json()
    assert me == {
        "name": "owner", "role": "admin", "collections": None, "principals": None, "key_id": None,
    }  # fmt: skip


def test_it_lives_and_is_ready(client: httpx.Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}


def test_a_path_that_is_not_there_is_a_problem_document(client: httpx.Client) -> None:
    given = client.get("/v1/nothing")
    assert (given.status_code, given.json()["status"]) == (404, 404)
    assert given.headers["content-type"] == "application/problem+json"
