"""A knowledge base that changes its model while it is open elsewhere."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from anabranch import KnowledgeBase
from anabranch.errors import ModelMismatchError, StorageError
from anabranch.manifest import (
    SECONDS_OF_GRACE,
    only_one_reindexing,
    read_manifest,
    remove_retired,
)
from anabranch.settings import load_settings
from tiny_models import make_encoder

WORDS = ("ferry", "leaves", "at", "noon", "the", "from", "pier", "office", "opens", "when", "does")
FERRY = "The ferry leaves at noon from the pier."


@pytest.fixture
def model(tmp_path: Path) -> str:
    return str(make_encoder(tmp_path / "tiny", WORDS))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "ferry.md").write_text(FERRY, encoding="utf-8")
    with KnowledgeBase.open(tmp_path / "kb") as base:
        base.add(tmp_path / "docs")
    return tmp_path / "kb"


def test_the_other_model_answers_without_being_set_again(folder: Path, model: str) -> None:
    seen: list[tuple[int, int]] = []
    with KnowledgeBase.open(folder) as base:
        assert base.reindex(model, on_progress=lambda *counts: seen.append(counts)) == 1
        assert base.describe().model.startswith("tiny@")
    assert seen[-1] == (1, 1)
    with KnowledgeBase.open(folder) as later:
        outcome = later.ask("When does the ferry leave?")
        assert outcome.evidence[0].text == FERRY
        assert any(len(query.results) for query in outcome.queries)


def test_with_the_model_in_use_nothing_happens(folder: Path) -> None:
    before = (folder / "manifest.json").read_bytes()
    with KnowledgeBase.open(folder) as base:
        assert base.reindex("bundled") == 0
    assert (folder / "manifest.json").read_bytes() == before


def test_one_who_has_it_open_sees_the_new_index_with_the_next_question(
    folder: Path, model: str
) -> None:
    with KnowledgeBase.open(folder) as reader:
        assert reader.ask("When does the ferry leave?").evidence
        with KnowledgeBase.open(folder) as writer:
            writer.reindex(model)
            (folder.parent / "docs" / "office.md").write_text("The office opens at noon.")
            writer.add(folder.parent / "docs")
        assert reader.describe().model.startswith("tiny@")
        assert {r.source.rpartition("/")[2] for r in reader.sources()} == {"ferry.md", "office.md"}


async def test_questions_are_answered_while_it_goes_on(folder: Path, model: str) -> None:
    with KnowledgeBase.open(folder) as base:
        asked = [base.aask("When does the ferry leave?") for _ in range(4)]
        outcomes = await asyncio.gather(base.areindex(model), *asked)
        assert outcomes[0] == 1
        assert all(outcome.evidence and not outcome.failures for outcome in outcomes[1:])


def test_another_model_is_refused_with_the_command_that_changes_it(
    folder: Path, model: str
) -> None:
    with (
        KnowledgeBase.open(folder, settings=load_settings(embedder=model)) as base,
        pytest.raises(ModelMismatchError, match=r"anabranch reindex --model .*tiny"),
    ):
        base.describe()


def test_what_is_added_changed_and_removed_meanwhile_is_so_in_the_new_index(
    folder: Path, model: str
) -> None:
    docs = folder.parent / "docs"
    (docs / "gone.md").write_text("The pier is at the office.", encoding="utf-8")
    with KnowledgeBase.open(folder) as base, KnowledgeBase.open(folder) as writer:
        base.add(docs)
        written: list[int] = []

        def write(done: int, total: int) -> None:
            if not written:
                (docs / "ferry.md").write_text("The ferry leaves from the office.")
                (docs / "office.md").write_text("The office opens at noon.")
                written.append(writer.add(docs).count("updated"))
                written.append(writer.remove("docs/gone.md"))

        base.reindex(model, on_progress=write)
        assert written == [1, 1]
        assert base.describe().model.startswith("tiny@")
        found = {r.source.rpartition("/")[2]: base.source_text(r.source) for r in base.sources()}
    assert found == {
        "ferry.md": "The ferry leaves from the office.",
        "office.md": "The office opens at noon.",
    }


def test_and_back_again(folder: Path, model: str) -> None:
    with KnowledgeBase.open(folder) as base:
        base.reindex(model)
        assert base.reindex("bundled") == 1
        assert base.ask("When does the ferry leave?").status == "answerable"
    found = read_manifest(folder)
    assert found is not None
    assert len(found.retired) == 2
    assert found.store not in found.retired


def test_an_earlier_index_is_removed_when_nobody_can_be_reading_it(
    folder: Path, model: str
) -> None:
    import os

    with KnowledgeBase.open(folder) as base:
        base.reindex(model)
    found = read_manifest(folder)
    assert found is not None
    remove_retired(folder, found)
    assert (folder / "store").is_dir()
    long_ago = time.time() - SECONDS_OF_GRACE - 1
    os.utime(folder / "manifest.json", (long_ago, long_ago))
    remove_retired(folder, found)
    assert not (folder / "store").exists()
    with KnowledgeBase.open(folder) as base:
        assert base.ask("When does the ferry leave?").evidence


# Dies by kill -9 just before or just after a step of the change, in a process of its own.
KILLED = """
import os, signal, sys
from anabranch import KnowledgeBase, manifest
from anabranch.stores.lance import LanceStore

def die():
    os.kill(os.getpid(), signal.SIGKILL)

folder, model, owner, step, when = sys.argv[1:]
owner = {"store": LanceStore, "manifest": manifest}[owner]
done = getattr(owner, step)

async def asynchronously(*arguments, **options):
    if when == "before":
        die()
    await done(*arguments, **options)
    die()

def at_once(*arguments, **options):
    if when == "before":
        die()
    done(*arguments, **options)
    die()

setattr(owner, step, at_once if owner is manifest else asynchronously)
KnowledgeBase.open(folder).reindex(model)
"""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    "step", ["store replace_rows", "store optimize", "manifest replace_manifest"]
)
def test_a_run_that_is_killed_leaves_a_whole_index_and_the_next_run_ends_the_work(
    folder: Path, model: str, step: str, when: str
) -> None:
    command = [sys.executable, "-c", KILLED, str(folder), model, *step.split(), when]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    changed = (step, when) == ("manifest replace_manifest", "after")
    with KnowledgeBase.open(folder) as base:
        assert base.ask("When does the ferry leave?").evidence[0].text == FERRY
        assert base.describe().model.startswith("tiny@" if changed else "minilm@")
        base.reindex(model)
        assert base.describe().model.startswith("tiny@")
        assert [record.source.rpartition("/")[2] for record in base.sources()] == ["ferry.md"]
        assert base.ask("When does the ferry leave?").evidence[0].text == FERRY


def test_a_second_program_is_told_that_one_is_at_it(folder: Path, model: str) -> None:
    with (
        KnowledgeBase.open(folder) as base,
        only_one_reindexing(folder),
        pytest.raises(StorageError, match="another program"),
    ):
        base.reindex(model)


def test_an_index_that_was_begun_for_another_model_and_left_is_removed(
    folder: Path, model: str
) -> None:
    command = [sys.executable, "-c", KILLED, str(folder), model, "store", "replace_rows", "after"]
    subprocess.run(command, check=False)
    assert len(list(folder.glob("store-*"))) == 1
    with KnowledgeBase.open(folder) as base:
        assert base.reindex("bundled") == 0
    assert list(folder.glob("store-*")) == []
