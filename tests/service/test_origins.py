"""A foreign web page cannot reach the service through a browser on this machine."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from anabranch.access import is_loopback
from anabranch.errors import ConfigurationError
from anabranch.service.app import create_app
from anabranch.service.server import check_address
from anabranch.settings import Settings
from fakes import World
from service.servers import serving


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "", "[::1", "10.0.0.5"])
def test_a_foreign_host_is_refused(client: httpx.Client, host: str) -> None:
    given = client.get("/healthz", headers={"Host": host})
    assert (given.status_code, given.headers["content-type"]) == (421, "application/problem+json")


@pytest.mark.parametrize("host", ["localhost", "localhost:9", "127.0.0.1", "[::1]:80", "LOCALHOST"])
def test_a_name_of_this_machine_is_let_through(client: httpx.Client, host: str) -> None:
    assert client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:1", "http://["]
)
def test_a_foreign_origin_is_refused(client: httpx.Client, origin: str) -> None:
    given = client.post("/v1/ask", json={"question": "x"}, headers={"Origin": origin})
    assert given.status_code == 403


def test_a_page_of_the_service_itself_may_call_it(client: httpx.Client) -> None:
    own = str(client.base_url).rstrip("/")
    assert client.get("/v1/me", headers={"Origin": own}).status_code == 200


def test_a_name_that_is_listed_is_let_through(world: World, tmp_path: Path) -> None:
    settings = Settings(kb=tmp_path, allowed_hosts=("docs.example",))
    headers = {"Host": "docs.example:443", "Origin": "https://docs.example"}
    with (
        world.knowledge_base(path=tmp_path) as opened,
        serving(create_app(settings, knowledge_base=opened)) as address,
    ):
        assert httpx.get(f"{address}/v1/me", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True),
        ("0.0.0.0", False), ("::", False), ("192.168.1.2", False), ("example.org", False),
    ],
)  # fmt: skip
def test_what_only_this_machine_reaches(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_without_keys_an_address_that_others_reach_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"0\.0\.0\.0"):
        check_address(Settings(host="0.0.0.0"))
