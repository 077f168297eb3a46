"""Terms of questions and passages."""

from __future__ import annotations

import pytest

from anabranch.language import cjk_bigrams, cjk_share, question_terms


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("埃及的首都在哪里？", ["埃及", "首都"]),
        ("关于请假的规定是什么", ["请假", "规定"]),
        ("以色列和约旦", ["以色", "色列", "约旦"]),
        ("请介绍一下公司", ["公司"]),
    ],
)
def test_words_that_ask_are_left_out_but_not_from_within_a_name(
    question: str, terms: list[str]
) -> None:
    assert question_terms(question) == terms
    assert cjk_bigrams(question, question=True) == terms


def test_a_request_is_no_please() -> None:
    assert "申请" in question_terms("如何申请年假？")


def test_the_share_of_cjk_is_of_letters_and_digits() -> None:
    assert cjk_share("年假 30 天") == 3 / 5
    assert cjk_share("thirty days") == 0.0
    assert cjk_share("\u2e80") == 0.0  # a part of a character, and no letter
