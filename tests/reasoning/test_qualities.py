"""What is asked for, by the noun that documents have for it, in English and Chinese."""

from __future__ import annotations

import pytest

from anabranch.language import asks_in_cjk, question_terms
from anabranch.lexicon import Lexicon
from anabranch.reasoning.qualities import in_nouns, other_forms, quality, with_noun

KNOWN = Lexicon(document_count=2, words={"price": 1, "weight": 1, "battery": 1})


@pytest.mark.parametrize(
    ("question", "noun"),
    [
        ("What does a Heron cost?", "price"),
        ("How heavy is the Heron?", "weight"),
        ("Heron多少钱？", "price"),
        ("Heron有多重？", "weight"),
        ("Heron的重量是多少？", "weight"),
    ],
)
def test_a_quality_is_asked_for_by_the_noun_of_the_documents(question: str, noun: str) -> None:
    found = quality(question)
    assert found is not None
    assert noun in found.english
    assert noun in in_nouns(question, KNOWN)


def test_a_noun_that_no_document_has_is_not_searched_for() -> None:
    assert in_nouns("How deep is the well?", KNOWN) == []


def test_what_only_asks_in_chinese_gets_its_noun() -> None:
    assert with_noun("Heron多少钱？") == "Heron多少钱？ 价格"
    assert with_noun("Heron的价格？") == "Heron的价格？"
    forms = other_forms("Heron多重？")
    assert forms["重量"] == (frozenset({"weight"}),)


def test_what_someone_earns_does_not_stand_for_their_name() -> None:
    assert set(other_forms("How much does Ada earn?")) <= {"earn"}


@pytest.mark.parametrize(
    ("question", "chinese"),
    [
        ("Dipper和Plover哪个更重？", True),
        ("保修期多长", True),
        ("What does 保修期 mean?", False),
        ("How heavy is the Heron?", False),
    ],
)
def test_names_in_latin_script_do_not_make_a_question_english(question: str, chinese: bool) -> None:
    assert asks_in_cjk(question) is chinese


def test_how_long_and_how_heavy_name_nothing() -> None:
    assert question_terms("保修期多长") == question_terms("保修期")
    assert "许多" in question_terms("许多大学")
