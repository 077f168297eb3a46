"""What is measured of a question and its passages, beyond what the grader's own tests see."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.lexicon import Lexicon, combine, mine
from anabranch.reasoning.features import features
from anabranch.reasoning.grading import load_models
from anabranch.reasoning.matching import ask, match
from anabranch.types import Background, Chunk, Passage

TEXT = "The pump of the northern station was replaced in 2019 after two failures."
DETAILED = (
    "Which northern station had its pump replaced after failures that engineers, inspectors, "
    "auditors, mechanics, plumbers and contractors had described in detailed reports of Acme?"
)


def passage(text: str, similarity: float = 0.5) -> Passage:
    chunk = Chunk(
        chunk_id=text[:8], source_id="a", collection="default", source="a.md", title="",
        text=text, start=0, end=len(text), chunk_index=0, level=3, content_hash="",
    )  # fmt: skip
    return Passage(chunk=chunk, score=1.0, similarity=similarity)


def values(question: str, lexicon: Lexicon, text: str = TEXT) -> dict[str, float]:
    found = [passage(text)]
    asked = ask(question, found, lexicon)
    return dict(features(asked, [match(asked, one) for one in found], Background()).values)


def test_a_lexicon_knows_how_long_its_documents_are_together() -> None:
    lexicon = combine([mine(TEXT), mine("The pump runs, the pump stops.")])
    assert lexicon.word_count == len(TEXT.split()) + 6


def test_the_larger_the_collection_the_more_its_size_says_up_to_what_was_fitted() -> None:
    sizes = [
        values("Which pump?", Lexicon(word_count=words))["collection_size"]
        for words in (5, 1_000, 8_000, 64_000, 2**20, 10**9)
    ]
    assert sizes == sorted(sizes)
    assert sizes[3] - sizes[2] == pytest.approx(3)
    assert sizes[-1] == sizes[-2] < 21


def test_a_collection_of_unknown_size_counts_as_one_of_middling_size() -> None:
    unknown, small, large = (
        values("Which pump?", Lexicon(word_count=words))["collection_size"]
        for words in (0, 1_000, 1_000_000)
    )
    assert small < unknown < large


@pytest.mark.parametrize("name", sorted(load_models().models))
def test_the_same_match_says_less_in_a_larger_collection(name: str) -> None:
    model = load_models().models[name]
    small = values("When was the pump replaced?", Lexicon(word_count=3_000))
    large = values("When was the pump replaced?", Lexicon(word_count=300_000))
    assert model.chances(large)[0] < model.chances(small)[0]


def test_what_a_long_question_names_in_passing_may_be_missing() -> None:
    brief = values("Which pump did Acme replace?", Lexicon())
    detailed = values(DETAILED, Lexicon())
    assert brief["names_absent"] == 1.0
    assert detailed["long"] == 1.0
    assert detailed["names_absent"] == detailed["rarest_absent"] == 0.0


def test_a_long_question_is_judged_by_several_passages_together() -> None:
    model = load_models().models["dense"].answer
    known = values(DETAILED, Lexicon())
    assert model.chance({**known, "window_mean": 0.7}) > model.chance({**known, "window_mean": 0.3})
    # What the best two sentences hold of it counts in short ones only.
    held = {**known, "held_weight": known["held_weight"] + 2.0}
    assert model.chance(held) == pytest.approx(model.chance(known))
    assert model.chance({**held, "long": 0.0}) > model.chance({**known, "long": 0.0})


def test_foreign_words_add_to_the_size() -> None:
    from anabranch.foreign_legs import lexicon_beside

    other = passage("Sandpiper valves are tested twice.")
    other = replace(other, chunk=replace(other.chunk, collection="foreign:wiki"))
    beside = lexicon_beside(combine([mine(TEXT)]), [other], "Is the sandpiper tested?")
    assert beside.word_count == len(TEXT.split()) + 5
