"""Numbers in words and digits, and both Chinese scripts."""

from __future__ import annotations

import pytest

from anabranch.written_forms import (
    chinese_number_forms,
    number_forms,
    other_script,
    simplified,
    unit_form,
)


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("12", "twelve"), ("twelve", "12"), ("14", "XIV"), ("xiv", "14"), ("21", "twenty-one"),
        ("21st", "twenty-first"), ("twentieth", "20th"), ("third", "3rd"), ("112", None),
    ],
)  # fmt: skip
def test_a_number_is_written_in_other_ways(word: str, form: str | None) -> None:
    assert (form in number_forms(word)) if form else number_forms(word) == ()


def test_every_number_leads_to_its_words_and_back() -> None:
    for number in range(1, 100):
        words = number_forms(str(number))[0]
        assert str(number) in number_forms(words)


def test_a_letter_alone_is_no_number() -> None:
    assert number_forms("i") == number_forms("v") == number_forms("x") == ()


def test_a_unit_is_written_out() -> None:
    assert unit_form("km") == "kilometres"
    assert unit_form("house") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("第12届", [("12届", "十二届")]),
        ("十届", [("十届", "10届")]),
        ("二十五年", [("二十五年", "25年")]),
        ("40年", [("40年", "四十年")]),
        ("2004年", []),
        ("十分好", []),
    ],
)
def test_a_chinese_number_before_what_it_counts_has_another_form(
    text: str, expected: list[tuple[str, str]]
) -> None:
    assert list(chinese_number_forms(text)) == expected


def test_scripts_lead_to_each_other_where_that_is_certain() -> None:
    assert other_script()["屆"] == "届"
    assert other_script()["届"] == "屆"
    assert "发" not in other_script()  # 發 or 髮


def test_traditional_characters_become_simplified_ones_and_nothing_else_changes() -> None:
    assert simplified("臺灣的電腦與 PC, 2026年") == "台湾的电脑与 PC, 2026年"
    assert simplified(simplified("圖書館")) == "图书馆"
