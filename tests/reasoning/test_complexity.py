"""Simple or complex: 440 questions of our own, and ways of typing that must not matter.

``tests/data/routing.jsonl``: of the first hundred, half (``open``) was looked at while rules were written, half
(``kept``) was only counted; ``after``, ``last``, ``final``, ``fourth``, ``fifth`` and ``sixth`` were written when the rules stood, and counted
before the rules were widened.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.reasoning.complexity import complexity_reason, decisive_reason, load_model
from anabranch.reasoning.detours import REASONS, SIGNS, signs
from anabranch.reasoning.question_shape import shape

OWN = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "routing.jsonl")
    .read_text("utf-8")
    .splitlines()
]


def share(route: str, **wanted: str) -> float:
    """The share of our own questions of a kind that are routed as labelled."""
    chosen = [
        row["text"]
        for row in OWN
        if row["route"] == route and all(row[key] == value for key, value in wanted.items())
    ]
    assert len(chosen) >= 10
    return sum(
        (complexity_reason(text) is not None) == (route == "complex") for text in chosen
    ) / len(chosen)


@pytest.mark.parametrize("half", ["open", "kept"])
@pytest.mark.parametrize("route", ["simple", "complex"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_our_own_questions_are_routed_as_labelled(lang: str, route: str, half: str) -> None:
    assert share(route, lang=lang, half=half) >= 0.9


@pytest.mark.parametrize(
    ("lang", "half"),
    [
        ("en", "after"),
        ("zh", "after"),
        ("zh", "last"),
        ("zh", "final"),
        ("en", "fourth"),
        ("zh", "fourth"),
        ("zh", "fifth"),
        ("zh", "sixth"),
    ],
)
def test_questions_that_came_later_are_complex_too(lang: str, half: str) -> None:
    assert share("complex", lang=lang, half=half) >= 0.9


@pytest.mark.parametrize(
    ("lang", "half"),
    [
        ("en", "after"),
        ("zh", "after"),
        ("zh", "final"),
        ("en", "fourth"),
        ("zh", "fourth"),
        ("zh", "fifth"),
        ("zh", "sixth"),
    ],
)
def test_questions_that_came_later_are_simple_too(lang: str, half: str) -> None:
    assert share("simple", lang=lang, half=half) >= 0.9


@pytest.mark.parametrize(
    "change",
    [
        str.lower,
        str.upper,
        lambda text: text.rstrip("?？。."),
        lambda text: f"{text.rstrip('?？')} ?!",
        lambda text: text.replace("'", "’"),
        lambda text: text.replace(" ", "   "),
        lambda text: f"\n{text}\t",
    ],
    ids=["small", "capitals", "unmarked", "marked twice", "curled", "spread", "padded"],
)
def test_how_a_question_is_typed_does_not_change_its_route(change) -> None:  # type: ignore[no-untyped-def]
    # Two names side by side are told from a pair of words by their capitals alone.
    rows = [row["text"] for row in OWN if "Norway and Denmark" not in row["text"]]
    changed = [
        text
        for text in rows
        if (complexity_reason(change(text)) is None) != (complexity_reason(text) is None)
    ]
    assert changed == []


def test_traditional_characters_are_read_like_simplified_ones() -> None:
    assert complexity_reason("柏林與波士頓的年假有什麼區別？") == complexity_reason(
        "柏林与波士顿的年假有什么区别？"
    )
    assert complexity_reason("臺灣的最高峰是哪座山？") is None


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("Which city is larger, Lyon or Turin?", "chooses"),
        ("Is the HX-2 quieter than the HX-5?", "compares"),
        ("Where was the performer of Thriller born?", "known only through another"),
        ("What attraction opened in 1971 and is located in Florida?", "several conditions"),
        ("What are the opening hours of each office?", "same of several"),
        ("Could a vegan eat a traditional Caesar salad?", "supposes"),
        ("Name the capitals of the three largest countries", "ranked"),
        ("收购了沃尔沃汽车的企业总部位于哪座城市？", "by another fact"),
        ("新税法实施前后到手工资有何变化？", "before and after"),
        ("中国四大古都中，哪几座建都时间超过五百年？", "several things"),
    ],
)
def test_the_reason_says_in_words_what_makes_it_complex(question: str, reason: str) -> None:
    assert reason in (complexity_reason(question) or "")


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote Pride and Prejudice?",
        "What is the name of the process by which plants make sugar?",
        "The court states that the rule applies to whom?",
        "Does the warranty cover batteries?",
        "What should I do if the alarm light on the control panel keeps flashing after a restart?",
        "《战争与和平》的作者是谁？",
        "比特币的总量上限是多少？",
        "根据合同，违约金的比例是多少？",
    ],
)
def test_a_word_that_only_looks_like_a_cue_makes_nothing_complex(question: str) -> None:
    assert complexity_reason(question) is None


def test_the_asked_person_is_no_detour_and_the_described_one_is() -> None:
    assert complexity_reason("Who is the director of The Guest?") is None
    assert complexity_reason("Where did the director of The Guest study?") is not None


def test_signs_are_weighed_where_no_rule_settles_it() -> None:
    question = "What band did the guitarist who wrote the first song of the album come from?"
    assert decisive_reason(question) is None
    assert complexity_reason(question) in REASONS.values()
    assert {"other_relative", "ten_words"} <= set(signs(question))


def test_the_model_weighs_known_signs_and_none_against_a_detour() -> None:
    model = load_model()
    assert set(model.weights) <= set(SIGNS)
    assert all(weight > 0 for weight in model.weights.values())
    assert model.bias < model.threshold


def test_the_shape_keeps_grammar_and_drops_what_it_is_about() -> None:
    assert (
        shape("Which film was directed by the wife of Orson Welles?")
        == "which KIND was Ved by the ROLE of W"
    )
    assert (
        shape("WHICH FILM WAS DIRECTED BY THE WIFE OF X") == "which KIND was Ved by the ROLE of W"
    )


@given(st.text(max_size=300))
def test_any_text_is_read_without_an_error_and_the_same_way_twice(text: str) -> None:
    assert complexity_reason(text) == complexity_reason(text)


ASKING = [
    row["text"].rstrip("?. ")
    for row in OWN
    if row["lang"] == "en"
    and row["text"].split()[0].lower() in ("who", "what", "when", "where", "how", "which")
]


@given(st.lists(st.sampled_from(ASKING), min_size=2, max_size=3))
def test_several_questions_in_one_are_never_simple(questions: list[str]) -> None:
    assert complexity_reason("? ".join(questions)) is not None
