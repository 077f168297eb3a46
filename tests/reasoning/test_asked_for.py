"""What a question asks for, told by its own words in both languages."""

from __future__ import annotations

import pytest

from anabranch.reasoning.asked_for import (
    asks_extreme,
    asks_when,
    asks_yes_or_no,
    attribute_asked,
    is_negated,
    kind_asked,
    units_asked,
)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When was the office opened?", "time"), ("In which year did it open?", "time"),
        ("How many days of leave are there?", "number"), ("Who leads the office?", "name"),
        ("Why did it close?", ""), ("办公室什么时候开门？", "time"), ("一共有多少台设备？", "number"),
        ("谁负责续签证书？", "name"), ("为什么关闭？", ""),
    ],
)  # fmt: skip
def test_the_kind_of_value_that_is_asked_for(question: str, kind: str) -> None:
    assert kind_asked(question) == kind


@pytest.mark.parametrize("question", ["When did it open?", "它什么时候建成？", "合同何时到期？"])
def test_a_date_is_asked_for_by_when(question: str) -> None:
    assert asks_when(question)


@pytest.mark.parametrize("question", ["What happens when it rains?", "Which year was the driest?"])
def test_a_circumstance_or_a_year_is_not_asked_for_by_when(question: str) -> None:
    assert not asks_when(question)


@pytest.mark.parametrize(
    "question", ["Which was the first office?", "What is the heaviest gauge?", "最大的仓库在哪里？"]
)
def test_one_of_many_is_asked_for(question: str) -> None:
    assert asks_extreme(question)


@pytest.mark.parametrize("question", ["Who manages the forest?", "How do I request a test?"])
def test_a_word_that_ends_like_a_superlative_is_none(question: str) -> None:
    assert not asks_extreme(question)


@pytest.mark.parametrize(
    "question", ["Which offices are not open?", "Why isn't it paid?", "哪些设备没有保修？"]
)
def test_a_question_can_ask_what_is_not_so(question: str) -> None:
    assert is_negated(question)


@pytest.mark.parametrize("question", ["Where is note no. 7?", "保修是不是三年？", "能不能带狗？"])
def test_a_question_that_leaves_both_open_denies_nothing(question: str) -> None:
    assert not is_negated(question)


@pytest.mark.parametrize("question", ["Is the office open?", "可以带狗吗？", "能不能带狗？"])
def test_yes_or_no_is_asked_for(question: str) -> None:
    assert asks_yes_or_no(question)


@pytest.mark.parametrize(
    ("question", "unit"),
    [
        ("What is the travel allowance in Bonn?", "€"), ("成都的出差补贴是什么？", "¥"),
        ("How much does the Heron weigh?", "gram"), ("苍鹭有多重？", "gram"),
        ("How long is the warranty?", "month"), ("保修期限是多久？", "month"),
        ("What are the opening hours?", "time of day"), ("When did the pump stop?", "date"),
    ],
)  # fmt: skip
def test_the_units_that_an_answer_has(question: str, unit: str) -> None:
    assert unit in units_asked(question)


def test_any_value_will_do_where_no_unit_is_told() -> None:
    assert units_asked("How many devices are there?") == frozenset()


@pytest.mark.parametrize(
    ("question", "attribute"),
    [
        ("What is the rent of the office?", "rent"),
        ("What is the maximum daily allowance for travel?", "allowance"),
        ("How much rent does the company pay?", "rent"),
        ("How many desks are there?", "desks"),
        ("How much does it cost?", ""),
        ("What is a gauge?", ""),
        ("办公室的租金是多少？", "租金"),
        ("经销商的余款怎么付？", "余款"),
        ("什么是年假？", ""),
    ],
)
def test_what_is_asked_of_something(question: str, attribute: str) -> None:
    assert attribute_asked(question) == attribute
