"""Uploads over HTTP: jobs that end, are cancelled, tried again, and taken over."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from anabranch import originals
from anabranch.errors import InputError
from anabranch.knowledge_base import KnowledgeBase
from anabranch.service.app import create_app
from anabranch.settings import Settings
from anabranch.source_files import source_id_of
from anabranch.uploading import checked_path
from service.conftest import EXAMPLES
from service.events import events_in
from service.processes import serve_process
from service.servers import serving

LEAVE = b"# Leave\n\nAnnual leave is 30 days.\n"
NEWER = b"# Leave\n\nAnnual leave is 31 days.\n"


@contextmanager
def service(kb: Path, **settings: Any) -> Iterator[httpx.Client]:
    with (
        serving(create_app(Settings(kb=kb, **settings))) as address,
        httpx.Client(base_url=address, timeout=60) as client,
    ):
        yield client


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[httpx.Client]:
    """A service over a knowledge base without documents."""
    with service(tmp_path / "kb") as client:
        yield client


def long_text(number: int) -> bytes:
    """A text that takes a few seconds to embed: no two passages of it are the same."""
    return "".join(f"Pear {number} of day {day} is green. " for day in range(1_500)).encode()


def upload(client: httpx.Client, *files: tuple[str, bytes], **fields: str) -> httpx.Response:
    return client.post("/v1/sources", files=[("files", file) for file in files], data=fields)


def ended(client: httpx.Client, job: str) -> Any:
    """The job once it has ended: its stream lasts until then."""
    headers = {"Accept": "text/event-stream"}
    with client.stream("GET", f"/v1/jobs/{job}", headers=headers) as response:
        *_, (name, last) = events_in(response)
    assert name == f"job.{last['status']}"
    return last


def added(client: httpx.Client, *files: tuple[str, bytes], **fields: str) -> Any:
    return ended(client, upload(client, *files, **fields).json()["id"])


def sources(client: httpx.Client) -> list[tuple[str, str]]:
    return [(found["collection"], found["source"]) for found in client.get("/v1/sources").json()]


def test_an_upload_is_a_job_that_ends_with_each_file_added(empty: httpx.Client) -> None:
    accepted = upload(empty, ("handbook/leave.md", LEAVE), ("b.txt", b"Pears are green."))
    assert accepted.status_code == 202
    assert accepted.headers["location"] == f"/v1/jobs/{accepted.json()['id']}"
    job = ended(empty, accepted.json()["id"])
    assert (job["status"], job["progress"]) == ("finished", {"done": 2, "total": 2})
    assert [(file["path"], file["status"], file["chunks"]) for file in job["files"]] == [
        ("handbook/leave.md", "added", 1), ("b.txt", "added", 1),
    ]  # fmt: skip
    assert sources(empty) == [("default", "b.txt"), ("default", "handbook/leave.md")]
    asked = empty.post("/v1/ask", json={"question": "How much annual leave is there?"}).json()
    assert asked["evidence"][0]["source"] == "handbook/leave.md"


def test_a_stream_tells_how_far_each_file_is(empty: httpx.Client) -> None:
    accepted = upload(empty, ("a.md", LEAVE)).json()
    with empty.stream(
        "GET", f"/v1/jobs/{accepted['id']}", headers={"Accept": "text/event-stream"}
    ) as response:
        events = list(events_in(response))
    assert (events[0][0], events[-1][0]) == ("job", "job.finished")
    assert [data["status"] for name, data in events if name == "file"][-1:] in ([], ["added"])


def test_a_path_that_exists_gets_a_new_version(empty: httpx.Client) -> None:
    added(empty, ("leave.md", LEAVE))
    job = added(empty, ("leave.md", NEWER))
    assert [file["status"] for file in job["files"]] == ["updated"]
    assert sources(empty) == [("default", "leave.md")]
    asked = empty.post("/v1/ask", json={"question": "How much annual leave is there?"}).json()
    assert "31 days" in asked["answer"]["text"]


def test_the_same_content_again_costs_nothing(empty: httpx.Client) -> None:
    added(empty, ("leave.md", LEAVE))
    assert added(empty, ("leave.md", LEAVE))["files"][0]["status"] == "unchanged"


def test_a_file_goes_into_its_collection_under_its_path(empty: httpx.Client) -> None:
    added(empty, ("leave.md", LEAVE), collection="人事", path="2026/leave.md")
    assert sources(empty) == [("人事", "2026/leave.md")]


def test_a_file_that_cannot_be_read_has_its_reason_and_the_others_are_added(
    empty: httpx.Client,
) -> None:
    job = added(empty, ("torn.pdf", b"%PDF-1.7 torn"), ("leave.md", LEAVE), ("none.txt", b""))
    assert job["status"] == "finished"
    assert [file["status"] for file in job["files"]] == ["failed", "added", "empty"]
    assert "torn.pdf" in job["files"][0]["reason"]


def test_the_original_is_kept_as_long_as_the_source(empty: httpx.Client, tmp_path: Path) -> None:
    added(empty, ("leave.md", LEAVE))
    added(empty, ("leave.md", NEWER))
    source_id = source_id_of("default", "leave.md")
    kept = originals.find(tmp_path / "kb", source_id)
    assert kept is not None
    assert kept.read_bytes() == NEWER
    # It is kept twice, before and after its text is in; no other name holds the earlier text.
    assert list(kept.parent.iterdir()) == [kept]
    assert empty.delete(f"/v1/sources/{source_id}").json() == {"source": source_id, "removed": 1}
    assert originals.find(tmp_path / "kb", source_id) is None
    assert sources(empty) == []


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_only_the_owner_reads_the_originals(empty: httpx.Client, tmp_path: Path) -> None:
    added(empty, ("leave.md", LEAVE))
    kept = originals.find(tmp_path / "kb", source_id_of("default", "leave.md"))
    assert kept is not None
    modes = [stat.S_IMODE(place.stat().st_mode) for place in (kept, *kept.parents[:2])]
    assert modes == [0o600, 0o700, 0o700]


def test_an_uploaded_document_has_pictures_of_its_pages(
    empty: httpx.Client, tmp_path: Path
) -> None:
    pdf = next(EXAMPLES.rglob("*.pdf")).read_bytes()
    added(empty, ("handbook/it.pdf", pdf))
    source_id = source_id_of("default", "handbook/it.pdf")
    picture = empty.get(f"/v1/sources/{source_id}/pages/1.png")
    assert (picture.status_code, picture.headers["content-type"]) == (200, "image/png")


async def test_a_source_that_is_added_from_a_folder_has_its_original_there(tmp_path: Path) -> None:
    with service(tmp_path / "kb") as client:
        added(client, ("leave.md", LEAVE))
    (tmp_path / "leave.md").write_bytes(NEWER)
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        report = await kb.aadd(tmp_path / "leave.md")
    assert [file.status for file in report.files] == ["updated"]
    assert originals.find(tmp_path / "kb", source_id_of("default", "leave.md")) is None


def test_what_is_done_leaves_nothing_behind(empty: httpx.Client, tmp_path: Path) -> None:
    added(empty, ("leave.md", LEAVE))
    later = added(empty, ("leave.md", NEWER))  # it began after the first one was cleared
    assert later["status"] == "finished"
    assert len(list((tmp_path / "kb" / "uploads").iterdir())) <= 1


@pytest.mark.parametrize(
    "path", ["../leave.md", "/etc/leave.md", "a/../../b.md", "C:\\leave.md", "folder/", "a\nb.md"]
)
def test_a_path_that_leads_elsewhere_is_refused(empty: httpx.Client, path: str) -> None:
    refused = upload(empty, ("leave.md", LEAVE), path=path)
    assert (refused.status_code, refused.json()["type"]) == (422, "urn:anabranch:error:InputError")
    assert empty.get("/v1/jobs").json() == []


def test_an_upload_without_a_file_or_with_one_twice_is_refused(empty: httpx.Client) -> None:
    assert empty.post("/v1/sources", data={"collection": "default"}).status_code == 422
    assert upload(empty, ("a.md", LEAVE), ("a.md", NEWER)).status_code == 422


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with service(tmp_path / "kb", max_file_mb=0.001) as client:
        refused = upload(client, ("a.txt", b"x" * 2_000))
    assert (refused.status_code, "MAX_FILE_MB" in refused.json()["detail"]) == (422, True)


def test_a_job_that_is_not_there_is_not_found(empty: httpx.Client) -> None:
    for answer in (
        empty.get("/v1/jobs/x"),
        empty.delete("/v1/jobs/x"),
        empty.post("/v1/jobs/x/retry"),
    ):
        assert answer.json()["type"] == "urn:anabranch:error:SessionNotFoundError"


def test_a_retry_adds_what_failed(empty: httpx.Client, tmp_path: Path) -> None:
    job = added(empty, ("torn.pdf", b"%PDF-1.7 torn"), ("leave.md", LEAVE))
    [torn] = (tmp_path / "kb" / "uploads").rglob("torn.pdf")
    torn.write_bytes(b"It is text after all, under a wrong name.")
    assert empty.post(f"/v1/jobs/{job['id']}/retry").status_code == 202
    again = ended(empty, job["id"])
    assert again["attempts"] == 1
    assert [file["status"] for file in again["files"]][1] == "added"


def test_a_retry_of_what_did_not_fail_says_so(empty: httpx.Client) -> None:
    done = added(empty, ("leave.md", LEAVE))
    again = empty.post(f"/v1/jobs/{done['id']}/retry")
    assert (again.status_code, again.json()["type"]) == (
        409, "urn:anabranch:error:NothingToRetryError",
    )  # fmt: skip
    assert "nothing" in again.json()["detail"]
    waiting = [upload(empty, (f"{n}.txt", long_text(n))).json()["id"] for n in range(2)]
    early = empty.post(f"/v1/jobs/{waiting[1]}/retry")
    assert (early.status_code, "ended" in early.json()["detail"]) == (409, True)


def test_a_cancelled_job_leaves_out_what_waits(empty: httpx.Client) -> None:
    first = upload(empty, *((f"{n}.txt", long_text(n)) for n in range(12))).json()
    second = upload(empty, ("leave.md", LEAVE)).json()
    assert empty.delete(f"/v1/jobs/{second['id']}").json()["status"] == "cancelled"
    empty.delete(f"/v1/jobs/{first['id']}")
    job = ended(empty, first["id"])
    assert job["status"] == "cancelled"
    left_out = {file["path"] for file in job["files"] if file["status"] == "cancelled"}
    assert left_out
    assert left_out.isdisjoint(source for _, source in sources(empty))
    assert ("default", "leave.md") not in sources(empty)


def test_a_job_whose_server_was_killed_is_taken_over(isolated: Path) -> None:
    files = [(f"{n}.txt", long_text(n)) for n in range(4)]
    with (
        serve_process(isolated / "kb", ANABRANCH_LEASE_SECONDS="1") as dying,
        httpx.Client(base_url=dying.address, timeout=60) as client,
    ):
        job = upload(client, *files).json()["id"]
        stream = client.stream("GET", f"/v1/jobs/{job}", headers={"Accept": "text/event-stream"})
        with stream as response:
            assert "file" in (name for name, _ in events_in(response))
        dying.kill()
    with (
        serve_process(isolated / "kb", ANABRANCH_LEASE_SECONDS="1") as taking_over,
        httpx.Client(base_url=taking_over.address, timeout=100) as client,
    ):
        done = ended(client, job)
        assert (done["status"], done["attempts"]) == ("finished", 2)
        assert {file["status"] for file in done["files"]} <= {"added", "unchanged"}
        assert [source for _, source in sources(client)] == [name for name, _ in files]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("leave.md", "leave.md"), ("a\\b.md", "a/b.md"), ("./a//b.md", "a/b.md"),
        ("休假/e\u0301.md", "休假/é.md"), ("a/..b.md", "a/..b.md"),
    ],
)  # fmt: skip
def test_a_path_is_written_one_way(given: str, expected: str) -> None:
    assert checked_path(given) == expected


@pytest.mark.parametrize(
    "given",
    [
        "",
        ".",
        "..",
        "/",
        "a/..",
        "a/.",
        "x" * 1_025,
        "\ud800.md",
        "C:/a.md",
        "./C:/a.md",
        ".//C:/a.md",
    ],
)
def test_what_is_no_path_is_refused(given: str) -> None:
    with pytest.raises(InputError):
        checked_path(given)


@pytest.mark.parametrize("field", ["allowed", "collection", "path"])
def test_a_text_that_comes_as_a_file_is_refused(empty: httpx.Client, field: str) -> None:
    files = [("files", ("leave.md", LEAVE)), (field, ("hr.md", b"hr"))]
    refused = empty.post("/v1/sources", files=files)
    assert refused.status_code == 422
    assert repr(field) in refused.json()["detail"]
    assert empty.get("/v1/jobs").json() == []


def test_an_upload_goes_into_one_collection(empty: httpx.Client) -> None:
    files = {"files": ("leave.md", LEAVE)}
    several = empty.post("/v1/sources", files=files, data={"collection": ["a", "b"]})
    assert (several.status_code, "collections" in several.json()["detail"]) == (422, True)
    assert empty.post("/v1/sources", files=files, data={"collection": ""}).status_code == 202


@pytest.mark.parametrize("name", ["a\0b", "x" * 201])
def test_what_no_principal_can_be_called_is_refused(empty: httpx.Client, name: str) -> None:
    files = [("files", ("leave.md", LEAVE))]
    refused = empty.post("/v1/sources", files=files, data={"allowed": ["hr", name]})
    assert (refused.status_code, "principal" in refused.json()["detail"]) == (422, True)


@pytest.mark.parametrize("name", [".policy.pdf", "..pdf", f"x.{'y' * 55}.pdf"])
def test_an_original_whose_name_begins_with_a_dot_is_found(
    empty: httpx.Client, tmp_path: Path, name: str
) -> None:
    pdf = next(EXAMPLES.rglob("*.pdf")).read_bytes()
    added(empty, (name, pdf))
    added(empty, (name, pdf + b"\n"))
    kept = originals.find(tmp_path / "kb", source_id_of("default", name))
    assert kept is not None
    assert kept.read_bytes() == pdf + b"\n"
    assert list(kept.parent.iterdir()) == [kept]


def test_a_blank_principal_neither_opens_nor_hides_a_file(empty: httpx.Client) -> None:
    files = [("files", ("leave.md", LEAVE))]
    refused = empty.post("/v1/sources", files=files, data={"allowed": ["hr", " "]})
    assert refused.status_code == 422
    assert "allowed" in refused.json()["detail"]
    assert sources(empty) == []
