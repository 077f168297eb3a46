"""The page about the API: whole, and of this service alone."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import Any

import httpx

from anabranch.service.reference import page


class Elements(HTMLParser):
    """Tags with their attributes, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append((tag, dict(attrs)))


def test_every_route_is_there_with_its_example(client: httpx.Client) -> None:
    text = client.get("/docs").text
    described = client.get("/openapi.json").json()
    routes = re.findall(r'<span class="method">(\w+)</span> <code>([^<]+)</code>', text)
    assert sorted(routes) == sorted(
        (method.upper(), path) for path, methods in described["paths"].items() for method in methods
    )
    assert "How much annual leave is there?" in text


def test_nothing_of_it_comes_from_elsewhere_or_runs(client: httpx.Client) -> None:
    reply = client.get("/docs")
    elements = Elements(reply.text).found
    assert not {tag for tag, _ in elements} & {"script", "link", "img", "iframe", "form", "object"}
    addresses = {v for _, given in elements for k, v in given.items() if k in ("href", "src")}
    assert addresses == {"/openapi.json"}
    assert not [name for _, given in elements for name in given if name.startswith("on")]


def test_its_policy_lets_its_own_style_through_and_nothing_else(client: httpx.Client) -> None:
    reply = client.get("/docs")
    (style,) = re.findall(r"<style>(.*?)</style>", reply.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = reply.headers["Content-Security-Policy"]
    assert f"style-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


def test_no_other_page_about_it_loads_scripts_from_elsewhere(client: httpx.Client) -> None:
    assert client.get("/redoc").status_code == 404
    assert client.get("/docs/oauth2-redirect").status_code == 404


def test_what_a_description_says_is_no_markup() -> None:
    operation = {
        "summary": "X", "description": "Say `<b>` & go.",
        "parameters": [{"name": '"><img>', "in": "query", "description": "<i>"}],
    }  # fmt: skip
    named = {"summary": "<script>alert(1)</script>"}
    paths = {"/<x>": {"get": operation}, "/y": {"get": named}}
    api = {"info": {"title": "<T>", "version": "1"}, "paths": paths}
    text = page(api)
    assert "<code>&lt;b&gt;</code> &amp; go." in text
    tags = {tag for tag, _ in Elements(text).found}
    assert not tags & {"script", "img", "b", "i", "t", "x"}
