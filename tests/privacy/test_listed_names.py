"""Names from the user's own list."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.errors import ConfigurationError
from anabranch.privacy.listed_names import ListedNames, read_list

LISTED = ListedNames(
    [("NAME", "Ann Berg"), ("NAME", "Ann"), ("NAME", "张伟"), ("NAME", "马丁·路德"), ("NAME", "J. O'Neil"),
     ("ADDRESS", "12 Elm Street"), ("ORG", "Acme GmbH")]
)  # fmt: skip


def found(text: str) -> list[tuple[str, str]]:
    return [(one.kind, text[one.start : one.end]) for one in LISTED.find(text)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Ask Ann Berg about it", "Ann Berg"),
        ("ask ann berg about it", "ann berg"),
        ("ANN-BERG", "ANN-BERG"),
        ("Ann\nBerg's leave", "Ann\nBerg"),
        ("Ann's leave", "Ann"),
        ("请问张伟的年假", "张伟"),
        ("马丁路德", "马丁路德"),
        ("by J O’Neil.", "J O’Neil"),
        ("at 12, Elm Street", "12, Elm Street"),
        ("ＡＣＭＥ GmbH", "ＡＣＭＥ GmbH"),
    ],
)
def test_a_name_is_found_however_it_is_written(text: str, value: str) -> None:
    assert [item for _, item in found(text)] == [value]


def test_the_longest_name_is_found_and_its_kind_is_that_of_the_list() -> None:
    assert found("Ann Berg, 12 Elm Street") == [("NAME", "Ann Berg"), ("ADDRESS", "12 Elm Street")]


@pytest.mark.parametrize("text", ["Annual leave", "Bergen", "12 Elmwood Street", "路德", "Joneil"])
def test_a_part_of_a_word_is_no_name(text: str) -> None:
    assert found(text) == []


def test_a_list_is_read_with_its_kinds_and_comments(tmp_path: Path) -> None:
    file = tmp_path / "names.txt"
    file.write_text("# people\nAnn Berg\n\naddress: 12 Elm Street\n", encoding="utf-8")
    listed = read_list(file)
    assert [one.kind for one in listed.find("Ann Berg of 12 Elm Street")] == ["NAME", "ADDRESS"]
    assert listed.count == 2


@pytest.mark.parametrize(("content", "said"), [("Ann\nx\n", "Line 2"), ("# none\n", "no entry")])
def test_a_list_that_names_nothing_is_refused(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "names.txt"
    file.write_text(content)
    with pytest.raises(ConfigurationError, match=said):
        read_list(file)


def test_a_list_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_list(tmp_path / "missing.txt")
