"""The small words that a question opens with, and words that only look like them."""

from __future__ import annotations

import pytest

from anabranch.openings import without_opening


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Actually, what does E3 mean?", "What does E3 mean?"),
        (
            "Well, how many names are on the waiting list?",
            "How many names are on the waiting list?",
        ),
        ("ok and what is the fee?", "what is the fee?"),
        ("never mind, what is the fee?", "what is the fee?"),
        ("So, the fee of the Dipper?", "The fee of the Dipper?"),
        ("also what is the fee?", "what is the fee?"),
        ("Oh, and by the way: what is the fee?", "What is the fee?"),
        ("Actually, iPhone prices?", "iPhone prices?"),
        ("那E3是什么意思？", "E3是什么意思？"),
        ("好的，保修期多长？", "保修期多长？"),
        ("不过，保修期多长？", "保修期多长？"),
        ("其实为什么没有保修？", "为什么没有保修？"),
    ],
)
def test_an_opening_is_left_out(question: str, asked: str) -> None:
    assert without_opening(question) == asked
    assert without_opening(asked) == asked


@pytest.mark.parametrize(
    "question",
    [
        "Well water quality rules", "Right of way rules", "OK Computer, who made it?", "So Long London lyrics",
        "Well, pump and tank depths", "Actually", "其实验室在哪里？", "不过敏的花有哪些？", "那不勒斯在哪里？",
        "好的大学有哪些？", "行政部在哪里？",
    ],
)  # fmt: skip
def test_what_is_asked_about_stays(question: str) -> None:
    assert without_opening(question) == question
