"""What is counted for Prometheus, as Prometheus reads it."""

from __future__ import annotations

from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

from anabranch.keys import KeyBook
from anabranch.service.app import create_app
from anabranch.settings import Settings
from fakes import World
from service.servers import serving

Q = "How much leave is there?"


def counted(client: httpx.Client, name: str, **headers: str) -> dict[tuple[str, ...], float]:
    """The values of a metric by the values of its labels, these in the order of their names."""
    text = client.get("/metrics", headers=headers).text
    return {
        tuple(value for _, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }


def test_requests_are_counted_by_route_and_status(client: httpx.Client) -> None:
    client.post("/v1/ask", json={"question": Q})
    client.post("/v1/ask", json={"question": " "})
    for number in range(3):
        client.delete(f"/v1/sources/number-{number}")
        client.get(f"/nothing/{number}")
    assert counted(client, "anabranch_requests_total") == {
        ("POST", "/v1/ask", "200"): 1, ("POST", "/v1/ask", "422"): 1,
        ("DELETE", "/v1/sources/{source_id}", "404"): 3, ("GET", "unknown", "404"): 3,
    }  # fmt: skip
    assert counted(client, "anabranch_request_seconds_count")[("/v1/ask",)] == 2


def test_methods_that_a_client_makes_up_are_one(client: httpx.Client) -> None:
    for method in ("PROPFIND", "MKCOL", "REPORT"):  # others never get past the faster parser
        client.request(method, "/v1/me")
    methods = {labels[0] for labels in counted(client, "anabranch_requests_total")}
    assert methods == {"other"}


def test_runs_are_counted_by_how_they_came_out(client: httpx.Client, world: World) -> None:
    client.post("/v1/ask", json={"question": Q})
    client.post("/v1/ask", json={"question": Q}, headers={"Accept": "text/event-stream"})
    client.post("/v1/retrieve", json={"question": Q})
    client.post("/v1/ask", json={"question": "Who feeds the whales?"})
    world.store.text = {Q: OSError("the index is gone")}
    client.post("/v1/ask", json={"question": Q})
    assert counted(client, "anabranch_runs_total") == {
        ("extractive", "answerable"): 3, ("none", "answerable"): 1, ("none", "no_knowledge"): 1,
    }  # fmt: skip
    assert counted(client, "anabranch_failures_total") == {("OSError",): 1}
    assert counted(client, "anabranch_run_seconds_count") == {(): 5}
    assert counted(client, "anabranch_model_calls_total") == {(): 0}


def test_no_label_names_a_caller_or_what_was_asked(world: World, tmp_path: Path) -> None:
    key, made = KeyBook(tmp_path).create("ann-of-accounting", collections=["handbook"])
    bearer = {"Authorization": f"Bearer {key}"}
    with world.knowledge_base() as base:
        base.path = tmp_path
        app = create_app(Settings(kb=tmp_path), knowledge_base=base)
        with serving(app) as address, httpx.Client(base_url=address) as client:
            client.post("/v1/ask", json={"question": Q}, headers=bearer)
            assert client.get("/metrics").status_code == 401
            text = client.get("/metrics", headers=bearer).text
    assert "anabranch_runs_total{" in text
    for word in (key, made.id, "ann-of", "handbook", "leave"):
        assert word not in text
