"""The API as it describes itself: complete, and never an error of the service's own making."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings

from anabranch.knowledge_base import KnowledgeBase
from anabranch.service.app import create_app
from anabranch.settings import Settings
from service.servers import serving

DOCS = Path(__file__).parents[2] / "docs"
METHODS = {"get", "post", "put", "delete", "patch"}


@pytest.fixture(scope="module")
def address(examples: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service over a copy of the sample documents, to be treated badly."""
    kb = tmp_path_factory.mktemp("copy") / "kb"
    shutil.copytree(examples.path, kb)
    with serving(create_app(Settings(kb=kb, timeout=5))) as address:
        yield address


@pytest.fixture(scope="module")
def api(address: str) -> Any:
    return schemathesis.openapi.from_url(f"{address}/openapi.json")


schema = schemathesis.pytest.from_fixture("api")


@schema.parametrize()
@settings(max_examples=12, suppress_health_check=list(HealthCheck))
def test_no_request_whatsoever_is_an_error_of_the_service(case: Any) -> None:
    response = case.call(timeout=60)
    assert response.status_code < 500, response.text
    if response.status_code >= 400:
        assert response.headers["content-type"] == "application/problem+json"
        assert response.json()["status"] == response.status_code


def test_every_route_is_documented(address: str) -> None:
    described = httpx.get(f"{address}/openapi.json").json()["paths"]
    page = "".join(file.read_text(encoding="utf-8") for file in DOCS.glob("*.md"))
    assert [path for path in described if path not in page.replace("{id}", "{source_id}")
            and path.replace("{session_id}", "{id}").replace("{job_id}", "{id}") not in page] == []


def test_every_operation_says_what_it_does_and_gives(address: str) -> None:
    described = httpx.get(f"{address}/openapi.json").json()["paths"]
    operations = {
        f"{method} {path}": operation
        for path, methods in described.items()
        for method, operation in methods.items()
        if method in METHODS
    }
    assert [name for name, operation in operations.items() if not operation.get("description")] == []
    without_example = [
        name
        for name, operation in operations.items()
        for content in operation.get("requestBody", {}).get("content", {}).values()
        if "application/json" in operation["requestBody"]["content"] and not content["schema"]
    ]
    assert without_example == []
