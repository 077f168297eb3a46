"""The API as it describes itself: complete, and never an error of the service's own making."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings

from anabranch.knowledge_base import KnowledgeBase
from anabranch.service.app import create_app
from anabranch.settings import Settings
from service.servers import serving

DOCS = Path(__file__).parents[2] / "docs"
API = create_app(Settings()).openapi()
OPERATIONS = {
    found.ok().label: found.ok()
    for found in schemathesis.openapi.from_dict(API).get_all_operations()
}


@pytest.fixture(scope="module")
def address(examples: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service over a copy of the sample documents, to be treated badly."""
    kb = tmp_path_factory.mktemp("copy") / "kb"
    shutil.copytree(examples.path, kb)
    with serving(create_app(Settings(kb=kb, timeout=5))) as address:
        yield address


@pytest.mark.parametrize("label", OPERATIONS)
def test_no_request_whatsoever_is_an_error_of_the_service(address: str, label: str) -> None:
    @settings(max_examples=25, suppress_health_check=list(HealthCheck))
    @given(case=OPERATIONS[label].as_strategy())
    def ask(case: Any) -> None:
        response = case.call(base_url=address, timeout=60)
        assert response.status_code < 500, response.text
        if response.status_code >= 400 and not label.startswith(OPENAI):
            assert response.headers["content-type"] == ["application/problem+json"]
            assert response.json()["status"] == response.status_code

    ask()


# Its clients expect errors in OpenAI's form.
OPENAI = ("POST /v1/chat/completions", "GET /v1/models")


def test_every_route_is_documented() -> None:
    def unnamed(text: str) -> str:
        return re.sub(r"\{\w+\}", "{}", text)

    pages = "".join(unnamed(file.read_text(encoding="utf-8")) for file in DOCS.glob("*.md"))
    assert [path for path in API["paths"] if unnamed(path) not in pages] == []


@pytest.mark.parametrize("label", OPERATIONS)
def test_every_operation_says_what_it_does_and_what_comes_of_it(label: str) -> None:
    raw = OPERATIONS[label].definition.raw
    assert raw.get("description")
    assert any(status.startswith("2") for status in raw["responses"])


def test_every_body_in_json_has_an_example() -> None:
    bodies = {
        label: operation.definition.raw["requestBody"]["content"]["application/json"]["schema"]
        for label, operation in OPERATIONS.items()
        if "application/json" in operation.definition.raw.get("requestBody", {}).get("content", {})
    }
    named = {label: schema["$ref"].rpartition("/")[2] for label, schema in bodies.items()}
    schemas = API["components"]["schemas"]
    assert [label for label, name in named.items() if not schemas[name].get("examples")] == []
