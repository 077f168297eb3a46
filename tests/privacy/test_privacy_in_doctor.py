"""``doctor`` says what of personal data leaves the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.doctor import Check, examine
from anabranch.knowledge_base import KnowledgeBase


def privacy(folder: Path) -> list[Check]:
    found = examine(lambda kb: KnowledgeBase.open(kb), kb=folder / "none")
    return [check for check in found.checks if check.name == "privacy"]


def test_nothing_is_said_where_nothing_leaves(isolated: Path) -> None:
    assert privacy(isolated) == []


def test_what_is_sent_as_it_is_is_said(isolated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANABRANCH_MODEL", "openai:some")
    monkeypatch.setenv("ANABRANCH_RERANKER", "http:")
    [check] = privacy(isolated)
    assert check.status == "note"
    assert "the language model and the reranker" in check.detail


def test_what_is_covered_and_what_is_not_is_said(
    isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (isolated / "names.txt").write_text("Ann Berg\n")
    monkeypatch.setenv("ANABRANCH_ANONYMIZE", "on")
    monkeypatch.setenv("ANABRANCH_ANONYMIZE_LIST", "names.txt")
    [check] = privacy(isolated)
    assert check.status == "ok"
    assert "IBANs" in check.detail
    assert "what your list has (1)" in check.detail
    assert "Not covered: names and addresses" in check.detail


def test_a_list_that_is_not_there_is_a_problem(
    isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANABRANCH_ANONYMIZE", "on")
    monkeypatch.setenv("ANABRANCH_ANONYMIZE_LIST", "missing.txt")
    [check] = privacy(isolated)
    assert check.status == "problem"
    assert "missing.txt" in check.detail
