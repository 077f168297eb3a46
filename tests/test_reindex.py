"""A knowledge base that changes its model while it is open elsewhere."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from anabranch import KnowledgeBase
from anabranch.errors import ModelMismatchError
from anabranch.manifest import SECONDS_OF_GRACE, read_manifest, remove_retired
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


KILLED = """
import os, signal, sys
from anabranch import KnowledgeBase
from anabranch.stores.lance import LanceStore

write = LanceStore.replace_rows
async def write_and_die(self, rows):
    await write(self, rows)
    os.kill(os.getpid(), signal.SIGKILL)
LanceStore.replace_rows = write_and_die
KnowledgeBase.open(sys.argv[1]).reindex(sys.argv[2])
"""


def test_a_run_that_is_killed_leaves_the_old_index_and_the_next_one_ends_it(
    folder: Path, model: str
) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder), model], check=False)
    assert done.returncode == -9
    assert json.loads((folder / "manifest.json").read_text())["store"] == "store"
    with KnowledgeBase.open(folder) as base:
        assert base.ask("When does the ferry leave?").evidence
        assert base.reindex(model) == 0 or base.describe().model.startswith("tiny@")
        assert base.describe().model.startswith("tiny@")
