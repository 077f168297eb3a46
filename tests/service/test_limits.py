"""How much, and what, a request may send; and what is nothing for the caller."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from anabranch.errors import InputError
from anabranch.keys import KeyBook
from anabranch.service.app import create_app
from anabranch.service.limits import MOST_JSON_BYTES
from anabranch.settings import Settings
from fakes import World
from scripted_base import record
from service.servers import serving


@contextmanager
def served(world: World, folder: Path, **settings: Any) -> Iterator[httpx.Client]:
    with world.knowledge_base(path=folder) as base:
        app = create_app(Settings(kb=folder, **settings), knowledge_base=base)
        with serving(app) as address, httpx.Client(base_url=address, timeout=30) as client:
            yield client


def upload(client: httpx.Client, name: str, content: bytes, **more: Any) -> httpx.Response:
    return client.post("/v1/sources", files={"files": (name, content)}, **more)


def test_an_upload_that_is_too_large_is_refused(world: World, tmp_path: Path) -> None:
    with served(world, tmp_path, max_upload_mb=0.01) as client:
        refused = upload(client, "large.md", b"x" * 20_000)
        assert (refused.status_code, refused.headers["content-type"]) == (
            413, "application/problem+json",
        )  # fmt: skip
        assert "ANABRANCH_MAX_UPLOAD_MB" in refused.json()["detail"]
        assert upload(client, "small.md", b"x" * 2_000).status_code == 202


def test_what_does_not_say_how_long_it_is_is_counted(world: World, tmp_path: Path) -> None:
    pieces = iter([b'{"question": "', *[b"x" * 1_000_000] * 3, b'"}'])
    with served(world, tmp_path) as client:
        given = client.post("/v1/ask", content=pieces, headers={"Content-Type": "application/json"})
    assert "Content-Length" not in given.request.headers
    assert given.status_code == 413


def test_a_body_that_only_calls_itself_files_is_no_upload(world: World, tmp_path: Path) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    body = b"x" * (MOST_JSON_BYTES + 1)
    with served(world, tmp_path) as client:
        assert client.post("/v1/ask", content=body, headers=headers).status_code == 413


def test_a_body_in_many_pieces_below_the_limit_is_read_whole(world: World, tmp_path: Path) -> None:
    pieces = iter([b'{"question": "', *[b" "] * 200, b'How long?", "history": []}'])
    headers = {"Content-Type": "application/json"}
    with served(world, tmp_path) as client:
        given = client.post("/v1/ask", content=pieces, headers=headers)
    assert given.json()["question"] == "How long?"


def test_a_length_that_is_too_large_is_refused_before_anything_is_sent(
    world: World, tmp_path: Path
) -> None:
    with served(world, tmp_path) as client:
        place = urlsplit(str(client.base_url))
        with socket.create_connection((place.hostname or "", place.port or 0), timeout=30) as raw:
            head = (
                f"POST /v1/ask HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {MOST_JSON_BYTES + 1}\r\n\r\n"
            )
            raw.sendall(head.encode())
            assert raw.recv(100).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    ("types", "name", "status"),
    [
        ((), "a.md", 202), ((), "a.exe", 422), ((), "a", 422), (("pdf", ".TXT"), "a.txt", 202),
        (("pdf",), "a.md", 422),
    ],
)  # fmt: skip
def test_only_kinds_that_are_read_or_were_chosen_are_taken(
    world: World, tmp_path: Path, types: tuple[str, ...], name: str, status: int
) -> None:
    with served(world, tmp_path, upload_types=types) as client:
        assert upload(client, name, b"Some words.").status_code == status


def test_jobs_of_other_collections_are_nothing_for_an_administrator_of_some(
    world: World, tmp_path: Path
) -> None:
    book = KeyBook(tmp_path)
    (every, _), (some, _) = (
        book.create("every", role="admin"),
        book.create("some", role="admin", collections=["handbook"]),
    )
    with served(world, tmp_path) as client:
        bearer = [{"Authorization": f"Bearer {key}"} for key in (every, some)]
        job = upload(client, "secret-plan.md", b"Words.", headers=bearer[0]).json()["id"]
        for headers, status, count in zip(bearer, (200, 404), (1, 0), strict=True):
            assert client.get(f"/v1/jobs/{job}", headers=headers).status_code == status
            assert len(client.get("/v1/jobs", headers=headers).json()) == count
        assert client.delete(f"/v1/jobs/{job}", headers=bearer[1]).status_code == 404
        assert client.post(f"/v1/jobs/{job}/retry", headers=bearer[1]).status_code == 404


def test_where_files_lie_is_told_to_administrators_alone(world: World, tmp_path: Path) -> None:
    world.store.records = (record("a.md"),)
    book = KeyBook(tmp_path)
    (reader, _), (admin, _) = book.create("ann"), book.create("root", role="admin")
    with served(world, tmp_path) as client:
        told = [
            "location"
            in client.get("/v1/sources", headers={"Authorization": f"Bearer {key}"}).json()[0]
            for key in (reader, admin)
        ]
    assert told == [False, True]


def test_the_name_of_the_keyless_owner_is_not_given_to_a_key(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sessions of its own"):
        KeyBook(tmp_path).create("owner")
