"""Numbers in words and digits, and both Chinese scripts."""

from __future__ import annotations

import pytest

from anabranch.written_forms import (
    bare_code,
    chinese_number_forms,
    code_joinings,
    code_pattern,
    codes,
    number_forms,
    number_pattern,
    other_script,
    says_another_code,
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


@pytest.mark.parametrize(
    ("number", "text", "stands"),
    [
        ("2", "World War II", True),
        ("2", "Two halves", True),
        ("13", "its thirteenth season", True),
        ("13", "the 13th season", True),
        ("10000", "10,000 runs", True),
        ("1,000", "$1000", True),
        ("3", "Three-point line", True),
        ("4", "4.5 metres", False),
        ("4", "an iv drip", False),
        ("42", "in 1942", False),
        # It stands in nearly every text.
        ("1", "one of them", False),
    ],
)
def test_a_number_is_found_however_it_is_written(number: str, text: str, stands: bool) -> None:
    assert (number_pattern(number).search(text) is not None) is stands


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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Is the HK-60 like hk40, hk-20 and HK 80?", ["HK-60", "hk40", "hk-20", "HK 80"]),
        (
            "Tern P9, drive belt DB-99, R2-D2, BRCA1 and p53",
            ["P9", "DB-99", "R2-D2", "BRCA1", "p53"],
        ),
        ("HK-60的保修期", ["HK-60"]),
        ("COVID-19 in World War 2, top 10, 5 kg, Windows 10", []),
        ("Q3 2025, MAR 2024, 2025-11-30, type-2, top-10, post-1945, B2B, v2 and PM2.5", []),
    ],
)
def test_letters_and_digits_that_are_one_name(text: str, found: list[str]) -> None:
    assert codes(text) == found


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("the HK 40.", True), ("hk40", True), ("HK‑40的保修期", True), ("HK-20/40", True),
        ("HK-20 and -40", True), ("HK20 and HK-40", True), ("HK-400", False), ("XHK-40", False),
        ("HK-20 heats to 40 degrees", False), ("HK-20 and 40 cups", False),
    ],
)  # fmt: skip
def test_a_code_is_found_in_any_joining_and_not_in_another(text: str, has: bool) -> None:
    assert (code_pattern("HK-40").search(text) is not None) == has


def test_a_code_can_be_joined_in_three_ways() -> None:
    assert code_joinings("HK20") == ("HK-20", "HK 20")
    assert bare_code("HK-20") == bare_code("hk 20") == "hk20"


def test_another_code_of_the_same_letters_is_another_thing() -> None:
    assert says_another_code(["DB12"], ["Drive belt DB-11, Aldenrath", "DB-12 and DB-11"])
    assert not says_another_code(["DB12"], ["Drive belt DB-12, Corvo", "DB-11"])
    assert not says_another_code(["DB12"], ["fits the HK-20", "parts"])
    assert not says_another_code([], ["Drive belt DB-11"])
