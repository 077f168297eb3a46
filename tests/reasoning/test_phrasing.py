"""Which other phrasings are offered, in which order, and what each may weigh."""

from __future__ import annotations

import pytest

from anabranch.lexicon import Lexicon, combine, mine
from anabranch.reasoning.phrasing import (
    DOUBTFUL_WEIGHT,
    GUESS_WEIGHT,
    SPELLING_WEIGHT,
    phrasings,
)
from anabranch.types import Variant


def lexicon_of(*texts: str) -> Lexicon:
    return combine(mine(text) for text in texts)


def first(question: str, *texts: str) -> Variant:
    return phrasings(question, lexicon=lexicon_of(*texts), limit=1)[0]


def test_a_sure_repair_stands_for_the_question() -> None:
    variant = first("What is the warrenty?", "the warranty")
    assert (variant.text, variant.kind) == ("What is the warranty?", "spelling")
    assert variant.weight == SPELLING_WEIGHT
    assert "'warrenty?' read as 'warranty?'" in variant.reason


def test_a_doubtful_repair_stands_beside_the_question() -> None:
    variant = first("a planex", "a planet and a planer")
    assert (variant.text, variant.kind) == ("a planer", "variant")
    assert variant.weight == DOUBTFUL_WEIGHT


@pytest.mark.parametrize(
    ("question", "documents", "text"),
    [
        ("Harvard's 12 houses", "in twelve houses", "Harvard's twelve houses"),
        ("after World War 2", "World War II", "after World War II"),
        ("dry river beds", "dry riverbeds", "dry riverbeds"),
        ("who is the analyst", "an analysis", "who is the analysis"),
    ],
)
def test_what_the_documents_write_in_another_way_comes_before_wordings(
    question: str, documents: str, text: str
) -> None:
    variant = first(question, documents)
    assert (variant.text, variant.weight) == (text, DOUBTFUL_WEIGHT)


def test_another_way_to_write_what_the_documents_have_as_asked_counts_little() -> None:
    variant = first("the 12 houses", "twelve houses", "twelve more", "12 houses")
    assert (variant.text, variant.weight) == ("the twelve houses", GUESS_WEIGHT)


def test_an_asking_word_is_taken_off_whole() -> None:
    assert first("Whose library is the annex?", "the annex").text == "library annex"


def test_a_question_in_the_other_script_is_written_as_the_documents_are() -> None:
    assert first("會議在哪裡？", "会议在这里。").text == "会议在哪里？"
