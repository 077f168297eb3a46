"""Uploads under keys: a path that a document has which one may not see is as free as any other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import scoped_base
from anabranch import originals
from anabranch.keys import KeyBook
from anabranch.knowledge_base import KnowledgeBase
from anabranch.service.app import create_app
from anabranch.settings import Settings
from anabranch.source_files import source_id_of
from pdf_files import pdf
from service.events import events_in
from service.servers import serving

SALARIES = "handbook/salaries.md"
FREE = "handbook/wages.md"
# Every caller sees these; the base has no other document that `ed` sees.
LEAVE = "handbook/leave.md"


@pytest.fixture
def base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with scoped_base.make(tmp_path) as made:
        yield made


@pytest.fixture
def client(base: KnowledgeBase) -> Iterator[httpx.Client]:
    app = create_app(Settings(kb=base.path), knowledge_base=base)
    with serving(app) as address, httpx.Client(base_url=address, timeout=60) as client:
        yield client


Sender = Callable[..., Any]


@pytest.fixture
def editor(client: httpx.Client, base: KnowledgeBase) -> Callable[..., Sender]:
    """A function that uploads a file with a key of these principals, and gives the ended job."""

    def made(name: str, *principals: str, role: Any = "editor") -> Sender:
        key, _ = KeyBook(base.path).create(
            name, role=role, collections=["handbook"], principals=principals
        )
        headers = {"Authorization": f"Bearer {key}"}

        def send(path: str, text: str, *allowed: str) -> Any:
            taken = client.post(
                "/v1/sources", files={"files": (path, text.encode("latin-1"))},
                data={"collection": "handbook", "allowed": list(allowed)}, headers=headers,
            )  # fmt: skip
            assert taken.status_code == 202, taken.text
            address = f"/v1/jobs/{taken.json()['id']}"
            streamed = {**headers, "Accept": "text/event-stream"}
            with client.stream("GET", address, headers=streamed) as events:
                *_, (_, job) = events_in(events)
            listed = client.get("/v1/sources", headers=headers).json()
            return job, {item["source_id"]: item["source"] for item in listed}

        return send

    return made


def text_of(base: KnowledgeBase, path: str, *principals: str) -> list[str]:
    records = base.sources(collections=["handbook"], sources=[path], principals=principals)
    return sorted(base.source_text(record.source_id) for record in records)


def shape(job: Any) -> Any:
    """What a job tells, without its ids, times and the path that was sent."""
    own = {"id", "created_at", "updated_at", "files"}
    files = [{k: v for k, v in file.items() if k not in ("id", "path")} for file in job["files"]]
    return {**{k: v for k, v in job.items() if k not in own}, "files": files}


def test_a_hidden_path_is_as_free_as_any_other(base: KnowledgeBase, editor: Any) -> None:
    before = text_of(base, SALARIES, "hr")
    send = editor("ed")
    taken, _ = send(SALARIES, "# New\n\nNothing of note.")
    free, listed = send(FREE, "# New\n\nNothing of note.")
    assert shape(taken) == shape(free)
    assert [file["status"] for file in taken["files"]] == ["added"]
    assert sorted(listed.values()) == sorted([LEAVE, SALARIES, FREE])
    # Nor does an id tell: none is that of its path alone.
    assert not {source_id_of("handbook", path) for path in (SALARIES, FREE)} & set(listed)
    assert text_of(base, SALARIES) == ["# New\n\nNothing of note."]
    assert text_of(base, SALARIES, "hr") == sorted([*before, "# New\n\nNothing of note."])


def test_a_path_that_one_may_see_gets_a_new_version_whoever_sent_it(
    base: KnowledgeBase, editor: Any
) -> None:
    editor("ann")("handbook/bikes.md", "Bikes are red.")
    job, listed = editor("ben")("handbook/bikes.md", "Bikes are blue.")
    assert [file["status"] for file in job["files"]] == ["updated"]
    assert list(listed.values()).count("handbook/bikes.md") == 1
    again, _ = editor("cat")(LEAVE, "Leave is 28 days.")
    assert [file["status"] for file in again["files"]] == ["updated"]
    assert text_of(base, "handbook/bikes.md") == ["Bikes are blue."]
    assert text_of(base, LEAVE) == ["Leave is 28 days."]


def test_of_several_of_a_path_the_one_for_the_same_people_gets_the_new_version(
    base: KnowledgeBase, editor: Any
) -> None:
    editor("ed")(SALARIES, "Salaries are paid in March.")
    hr = editor("hr", "hr")
    hr(SALARIES, "The director earns 200000 euros.", "hr")
    assert text_of(base, SALARIES) == ["Salaries are paid in March."]
    hr(SALARIES, "Salaries are paid in April.")
    assert text_of(base, SALARIES) == ["Salaries are paid in April."]
    assert text_of(base, SALARIES, "hr") == [
        "Salaries are paid in April.", "The director earns 200000 euros.",
    ]  # fmt: skip


def test_what_one_sent_for_others_is_not_there_for_the_sender(
    base: KnowledgeBase, editor: Any
) -> None:
    send = editor("ed")
    jobs = [send("handbook/note.md", f"Note {number}.", "hr")[0] for number in (1, 1, 2)]
    assert [job["files"][0]["status"] for job in jobs] == ["added"] * 3
    assert text_of(base, "handbook/note.md") == []
    assert text_of(base, "handbook/note.md", "hr") == ["Note 1.", "Note 1.", "Note 2."]


def test_each_source_of_a_path_keeps_its_own_original(base: KnowledgeBase, editor: Any) -> None:
    for name, text, allowed in (("hr", "For hr.", ("hr",)), ("ed", "For all.", ())):
        editor(name, *allowed)("handbook/same.md", text, *allowed)
    records = base.sources(sources=["handbook/same.md"])
    kept = {record.allowed: originals.find(base.path, record.source_id) for record in records}
    assert {who: file and file.read_text() for who, file in kept.items()} == {
        ("hr",): "For hr.", (): "For all.",
    }  # fmt: skip


def test_an_administrator_sees_all_of_a_path_and_replaces_it(
    base: KnowledgeBase, editor: Any
) -> None:
    job, listed = editor("root", role="admin")(SALARIES, "Now for all.")
    assert [file["status"] for file in job["files"]] == ["updated"]
    assert list(listed.values()).count(SALARIES) == 1
    assert text_of(base, SALARIES) == ["Now for all."]


def test_a_retry_reaches_no_further_than_the_key_that_asks_for_it(
    client: httpx.Client, base: KnowledgeBase, editor: Any
) -> None:
    """Who was sent away from a document does not come back to it by a job of before."""
    book, path = KeyBook(base.path), "handbook/plan.pdf"
    job, _ = editor("hr", "hr")(path, "%PDF-1.7 torn", "hr")
    assert [file["status"] for file in job["files"]] == ["failed"]
    editor("boss", "hr")(path, pdf("The plan is to move.").decode("latin-1"), "hr")
    [torn] = (base.path / "uploads" / job["id"]).rglob("plan.pdf")
    torn.write_bytes(pdf("The plan is to stay."))
    book.revoke("hr")
    key, _ = book.create("hr", role="editor", collections=["handbook"])
    headers = {"Authorization": f"Bearer {key}"}
    assert client.post(f"/v1/jobs/{job['id']}/retry", headers=headers).status_code == 202
    streamed = {**headers, "Accept": "text/event-stream"}
    with client.stream("GET", f"/v1/jobs/{job['id']}", headers=streamed) as events:
        *_, (_, again) = events_in(events)
    assert [file["status"] for file in again["files"]] == ["added"]
    assert text_of(base, path, "hr") == ["The plan is to move.", "The plan is to stay."]


def test_a_collection_out_of_reach_takes_nothing(client: httpx.Client, base: KnowledgeBase) -> None:
    key, _ = KeyBook(base.path).create("ed", role="editor", collections=["handbook"])
    given = [
        client.post(
            "/v1/sources", files={"files": ("a.md", b"A.")}, data={"collection": name},
            headers={"Authorization": f"Bearer {key}"},
        )
        for name in ("board", "gone!")
    ]  # fmt: skip
    assert [answer.status_code for answer in given] == [403, 403]
    assert given[0].json()["detail"] == given[1].json()["detail"].replace("gone!", "board")
