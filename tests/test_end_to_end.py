"""The command line over a real knowledge base: what a person types, and what goes wrong."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from anabranch import cli
from anabranch.manifest import MANIFEST

LEAVE = """# Leave

## Annual leave

Every employee of Harbour Ltd has 27 days of annual leave. Leave that is not taken by the end of
March is lost. Ask your manager at least two weeks before.

## Parental leave

Parental leave lasts up to 14 months. Tell the office seven weeks before it begins.
"""
TRAVEL = """# Travel

Trains are booked in second class. A hotel may cost 120 euros a night. Claims are handed in within
30 days, with the receipts.
"""


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], isolated: Path) -> Any:
    """Runs a command in a folder of its own and gives its exit code and what it printed."""

    def call(*arguments: str) -> Ran:
        with pytest.raises(SystemExit) as ended:
            cli.main(list(arguments))
        captured = capsys.readouterr()
        code = ended.value.code
        return Ran(0 if code is None else int(code), captured.out, captured.err)

    return call


@pytest.fixture
def handbook(isolated: Path) -> Path:
    folder = isolated / "handbook"
    folder.mkdir()
    (folder / "leave.md").write_text(LEAVE)
    (folder / "travel.md").write_text(TRAVEL)
    return folder


def test_documents_are_added_asked_and_removed(run: Any, handbook: Path) -> None:
    added = run("add", "handbook", "--json")
    assert added.code == 0
    assert added.json["added"] == 2
    assert [file["source"] for file in added.json["files"]] == [
        "handbook/leave.md",
        "handbook/travel.md",
    ]

    asked = run("ask", "How many days of annual leave does an employee have?", "--json")
    assert asked.code == 0
    assert asked.json["status"] == "answerable"
    assert "27 days" in asked.json["answer"]["text"]
    assert asked.json["evidence"][0]["source"] == "handbook/leave.md"

    printed = run("sources", "handbook/leave.md", "--text")
    piece = asked.json["evidence"][0]
    assert piece["text"] == printed.out[piece["start"] : piece["end"]]

    assert run("remove", "handbook/leave.md").code == 0
    gone = run("ask", "How many days of annual leave does an employee have?", "--json")
    assert all(item["source"] != "handbook/leave.md" for item in gone.json["evidence"])
    assert all(item["source"] != "handbook/leave.md" for item in gone.json["nearest"])


def test_an_unchanged_folder_costs_nothing_and_a_changed_file_is_replaced(
    run: Any, handbook: Path
) -> None:
    run("add", "handbook")
    assert run("add", "handbook", "--json").json["unchanged"] == 2
    (handbook / "leave.md").write_text("# Leave\n\nEvery employee has 31 days of annual leave.\n")
    again = run("add", "handbook", "--json").json
    assert (again["updated"], again["unchanged"]) == (1, 1)
    asked = run("ask", "How many days of annual leave does an employee have?", "--json").json
    assert "31 days" in asked["answer"]["text"]
    assert "27 days" not in asked["context"]


def test_what_a_folder_has_and_is_not_read_has_its_line(run: Any, handbook: Path) -> None:
    (handbook.parent / "prices.md").write_text("# Prices\n\nThe Plover costs 1150 euros.\n")
    (handbook / "prices.md").symlink_to(handbook.parent / "prices.md")
    os.mkfifo(handbook / "pipe.txt")
    added = run("add", "handbook", "--json")
    assert (added.code, added.json["added"], added.json["failed"]) == (4, 2, 2)
    reasons = {item["source"]: item["reason"] for item in added.json["files"]}
    assert "link out of the folder" in reasons["handbook/prices.md"]
    assert "not a regular file" in reasons["handbook/pipe.txt"]


def test_a_folder_of_nothing_but_links_is_reported(run: Any, handbook: Path) -> None:
    links = handbook.parent / "links"
    links.mkdir()
    (links / "leave.md").symlink_to(handbook / "leave.md")
    added = run("add", "links", "--json")
    assert added.code == 4
    assert [item["status"] for item in added.json["files"]] == ["failed"]


@pytest.mark.parametrize("paths", [("",), ("nowhere", ""), ("handbook", " ")])
def test_a_blank_path_is_refused(run: Any, handbook: Path, paths: tuple[str, ...]) -> None:
    refused = run("add", *paths)
    assert refused.code == 3
    assert "The path is blank" in refused.err


def test_an_added_variant_is_shown_with_its_hits(run: Any, handbook: Path) -> None:
    run("add", "handbook")
    question = "How many days of annual leave does every employee of Harbour have?"
    outcome = run("retrieve", question, "--variants", "3", "--json").json
    assert [query["kind"] for query in outcome["queries"][:1]] == ["original"]
    variants = [query for query in outcome["queries"] if query["kind"] == "variant"]
    assert len(variants) == 3
    assert all(query["results"] for query in variants)
    assert outcome["answer"] is None


def test_minimal_effort_is_one_query(run: Any, handbook: Path) -> None:
    run("add", "handbook")
    outcome = run("retrieve", "What may a hotel cost?", "--effort", "minimal", "--json").json
    assert [query["kind"] for query in outcome["queries"]] == ["original"]


def test_the_reply_to_a_question_back_goes_on(run: Any, handbook: Path) -> None:
    run("add", "handbook")
    asked = run("ask", "How long does it last?", "--json")
    assert asked.json["status"] == "needs_clarification"
    Path("pending.json").write_text(asked.out)
    resumed = run("resume", "parental leave", "--snapshot", "pending.json", "--json")
    assert resumed.code == 0
    assert resumed.json["question"] == "How long does it last?"
    assert "14 months" in resumed.json["context"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("ask", "What?"), "anabranch add PATH"),
        (("sources",), "anabranch add PATH"),
        (("add", "nowhere.md"), "nowhere.md"),
    ],
)
def test_without_documents_the_message_says_what_to_do(
    run: Any, arguments: tuple[str, ...], says: str
) -> None:
    ran = run(*arguments)
    assert ran.code == 3
    assert says in ran.err
    assert "Traceback" not in ran.err
    assert ran.out == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("ask", "   "), "blank"),
        (("ask", "x" * 50_000), "50,000 characters"),
        (("ask", "What?", "--collection", "nope"), "'nope'"),
        (("remove", "nope.md"), "'nope.md'"),
        (("sources", "nope.md", "--text"), "'nope.md'"),
        (("resume", "yes", "--snapshot", "nowhere.json"), "nowhere.json"),
        (("resume", "yes", "--snapshot", "handbook/leave.md"), "handbook/leave.md"),
    ],
)
def test_bad_input_is_named_and_loses_nothing(
    run: Any, handbook: Path, arguments: tuple[str, ...], says: str
) -> None:
    run("add", "handbook")
    ran = run(*arguments)
    assert ran.code == 3
    assert says in ran.err
    assert "Traceback" not in ran.err
    assert len(run("sources", "--json").json) == 2


def test_a_snapshot_that_was_changed_is_refused(run: Any, handbook: Path) -> None:
    run("add", "handbook")
    outcome = run("ask", "How long does it last?", "--json").json
    outcome["resume"]["scope"]["collections"] = ["secret"]
    Path("pending.json").write_text(json.dumps(outcome))
    ran = run("resume", "leave", "--snapshot", "pending.json")
    assert ran.code == 3
    assert "signature" in ran.err


def test_a_snapshot_of_another_knowledge_base_is_refused(run: Any, handbook: Path) -> None:
    run("add", "handbook")
    run("add", "handbook", "--kb", "other")
    asked = run("ask", "How long does it last?", "--json", "--kb", "other")
    Path("pending.json").write_text(asked.out)
    assert run("resume", "leave", "--snapshot", "pending.json").code == 3
    assert run("resume", "leave", "--snapshot", "pending.json", "--kb", "other").code == 0


def test_an_outcome_that_did_not_ask_has_nothing_to_reply_to(run: Any, handbook: Path) -> None:
    run("add", "handbook")
    asked = run("ask", "What may a hotel cost a night?", "--json")
    Path("done.json").write_text(asked.out)
    assert run("resume", "leave", "--snapshot", "done.json").code == 3


def test_files_that_cannot_be_read_are_reported_beside_those_that_can(
    run: Any, handbook: Path
) -> None:
    (handbook / "empty.txt").write_text("")
    (handbook / "broken.pdf").write_bytes(b"%PDF-1.7\nthis is no PDF")
    (handbook / "unknown.xyz").write_bytes(bytes(range(256)) * 4)
    report = run("add", "handbook", "handbook/unknown.xyz", "missing.md", "--json")
    assert report.code == 4
    status = {file["source"]: file["status"] for file in report.json["files"]}
    assert status["handbook/leave.md"] == "added"
    assert status["handbook/empty.txt"] == "empty"
    assert status["handbook/broken.pdf"] == "failed"
    assert status["handbook/unknown.xyz"] == "failed"
    assert status["missing.md"] == "failed"
    assert all(file["reason"] for file in report.json["files"] if file["status"] != "added")


def test_a_folder_without_readable_files_is_refused(run: Any, isolated: Path) -> None:
    (isolated / "nothing").mkdir()
    ran = run("add", "nothing")
    assert ran.code == 3
    assert "nothing" in ran.err


def test_a_file_that_became_unreadable_keeps_its_earlier_version(run: Any, handbook: Path) -> None:
    run("add", "handbook")
    (handbook / "leave.md").write_text("")
    report = run("add", "handbook", "--json").json
    assert report["empty"] == 1
    assert "earlier version" in report["files"][0]["reason"]
    asked = run("ask", "How many days of annual leave does an employee have?", "--json").json
    assert "27 days" in asked["answer"]["text"]


def test_a_knowledge_base_of_a_newer_version_is_refused(run: Any, handbook: Path) -> None:
    run("add", "handbook")
    manifest = Path(".anabranch") / MANIFEST
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "format_version": 99}))
    ran = run("ask", "What may a hotel cost?")
    assert ran.code == 3
    assert "99" in ran.err
    assert "pip install -U anabranch" in ran.err


def test_a_knowledge_base_of_another_model_is_refused(run: Any, handbook: Path) -> None:
    run("add", "handbook")
    manifest = Path(".anabranch") / MANIFEST
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "embedder": "other@1"}))
    for command in (("ask", "What may a hotel cost?"), ("add", "handbook")):
        ran = run(*command)
        assert ran.code == 3
        assert "other@1" in ran.err


def test_a_folder_that_cannot_be_made_is_refused(run: Any, handbook: Path) -> None:
    Path("file").write_text("in the way")
    for kb in ("file", "file/below"):
        ran = run("add", "handbook", "--kb", kb)
        assert ran.code == 3
        assert "file" in ran.err


def test_the_same_name_in_two_folders_and_two_collections_stays_apart(
    run: Any, isolated: Path
) -> None:
    for name, days in (("a", 11), ("b", 22)):
        (isolated / name).mkdir()
        (isolated / name / "readme.md").write_text(f"# Notice\n\nThe notice period is {days} days.")
    run("add", "a", "b")
    run("add", "a", "--collection", "private")
    listed = run("sources", "--json").json
    assert sorted((item["collection"], item["source"]) for item in listed) == [
        ("default", "a/readme.md"),
        ("default", "b/readme.md"),
        ("private", "a/readme.md"),
    ]
    only = run("retrieve", "How long is the notice period?", "--collection", "private", "--json")
    assert {item["collection"] for item in only.json["evidence"]} == {"private"}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "anabranch", *arguments]


@pytest.fixture
def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[1])}


def test_an_interrupted_add_is_finished_by_the_next(
    run: Any, isolated: Path, environment: dict[str, str]
) -> None:
    (isolated / "many").mkdir()
    for number in range(120):
        (isolated / "many" / f"{number:03}.md").write_text(
            f"# Note {number}\n\n" + f"The code word of note {number} is walrus{number}. " * 12
        )
    adding = subprocess.Popen(
        command("add", "many"), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    store = isolated / ".anabranch" / "store"
    deadline = time.monotonic() + 60
    while not any(store.rglob("*.lance")) and adding.poll() is None:
        assert time.monotonic() < deadline
        os.sched_yield()
    adding.send_signal(signal.SIGINT)
    _, errors = adding.communicate(timeout=60)
    assert adding.returncode in (0, 130)  # 0: it was done before the signal came
    assert b"Traceback" not in errors

    again = run("add", "many", "--json")
    assert again.code == 0, again.err
    report = again.json
    assert report["added"] + report["unchanged"] == 120
    assert report["failed"] == 0
    listed = run("sources", "--json").json
    assert len(listed) == 120
    assert len({item["source_id"] for item in listed}) == 120


def test_two_processes_add_to_one_knowledge_base_at_once(
    run: Any, isolated: Path, environment: dict[str, str]
) -> None:
    for name in ("left", "right"):
        (isolated / name).mkdir()
        for number in range(12):
            (isolated / name / f"{number}.md").write_text(f"# {name} {number}\n\nIt is {number}.")
    adding = [
        subprocess.Popen(command("add", name, "--json"), env=environment, stdout=subprocess.PIPE)
        for name in ("left", "right", "left")
    ]
    for process in adding:
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        assert json.loads(out)["failed"] == 0
    assert len(run("sources", "--json").json) == 24
    assert run("add", "left", "right", "--json").json["unchanged"] == 24


def test_a_full_disk_is_said_and_loses_nothing(
    run: Any, handbook: Path, environment: dict[str, str]
) -> None:
    run("add", "handbook")
    (handbook / "more.md").write_text("# More\n\n" + "Every word costs room on the disk. " * 30_000)

    def no_room() -> None:  # a limit on the size of a file stands in for a disk that is full
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    adding = subprocess.run(
        command("add", "handbook"),
        env=environment, capture_output=True, text=True, timeout=120, preexec_fn=no_room,
    )  # fmt: skip
    assert adding.returncode == 3
    assert "Traceback" not in adding.stderr
    assert len(run("sources", "--json").json) == 2
    asked = run("ask", "How many days of annual leave does an employee have?", "--json").json
    assert "27 days" in asked["answer"]["text"]


def test_a_file_whose_name_is_no_text_is_reported_and_the_others_are_in(
    run: Any, handbook: Path
) -> None:
    (Path(os.fsdecode(os.fsencode(handbook) + b"/bad\xff.md"))).write_text("# Bad\n\nA name.\n")
    report = run("add", "handbook", "--json")
    assert report.code == 4
    assert [file["status"] for file in report.json["files"]] == ["failed", "added", "added"]
    assert report.json["files"][0]["source"] == "handbook/bad\\udcff.md"


def test_two_files_of_one_name_are_not_removed_together(run: Any, isolated: Path) -> None:
    for name in ("x", "y"):
        (isolated / name).mkdir()
        (isolated / name / "readme.md").write_text(f"# Notice\n\nThis is the notice of {name}.\n")
        os.chdir(isolated / name)
        run("add", "readme.md", "--kb", str(isolated / "kb"))
    refused = run("remove", "readme.md", "--kb", str(isolated / "kb"))
    assert refused.code == 3
    assert "several places" in refused.err
    assert len(run("sources", "--kb", str(isolated / "kb"), "--json").json) == 2
