"""Knowledge bases made by earlier versions: one is kept from the end of each larger change."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from anabranch import KnowledgeBase

FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("knowledge-base-*.zip"))


@pytest.fixture(params=FIXTURES, ids=lambda file: file.stem)
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with zipfile.ZipFile(request.param) as packed:
        packed.extractall(tmp_path)
    return tmp_path / "kb"


def test_there_are_knowledge_bases_of_earlier_versions() -> None:
    assert FIXTURES


def test_an_older_knowledge_base_answers(older: Path) -> None:
    with KnowledgeBase.open(older) as base:
        english = base.ask("How many days of annual leave does an employee have?")
        chinese = base.ask("员工每年有几天年假？")
    assert english.status == "answerable"
    assert english.answer is not None
    assert "27 days" in english.answer.text
    assert any("二十七天" in piece.text for piece in chinese.evidence)


def test_an_older_knowledge_base_takes_new_documents(older: Path, tmp_path: Path) -> None:
    (tmp_path / "travel.md").write_text("# Travel\n\nA hotel may cost 120 euros a night.\n")
    with KnowledgeBase.open(older) as base:
        assert base.add(tmp_path / "travel.md").count("added") == 1
        assert len(base.sources()) == 3
        outcome = base.ask("What may a hotel cost a night?")
    assert outcome.evidence[0].source.endswith("travel.md")
