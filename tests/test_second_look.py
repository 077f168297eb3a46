"""The first candidates looked at again: order and place of words, and what resembles the best."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anabranch.second_look import LOOKED_AT, Seen, look_again
from fakes import chunk

QUESTION = "When was the harbour bridge of Sydney opened?"
NOTHING = Seen()
FILLER = "Something else is said here about the weather of that year and about the tides."


def looked(texts: dict[str, str], seen: Seen = NOTHING, **scores: float) -> list[str]:
    chunks = {name: chunk(text, chunk_id=name, title="") for name, text in texts.items()}
    heights = scores or dict.fromkeys(texts, 1.0)
    ordered = dict(sorted(heights.items(), key=lambda item: (-item[1], item[0])))
    return list(look_again(QUESTION, ordered, chunks, seen))


def test_words_that_stand_together_as_in_the_question_rise() -> None:
    texts = {
        "a": "A bridge across the river, and a harbour near Sydney, on the coast there.",
        "b": "Opened was the harbour bridge, to the west of the old town, in that year.",
        "c": FILLER,
        "d": FILLER + " ",
    }
    assert looked(texts, a=1.0, b=0.99, c=0.0, d=-0.1)[:2] == ["b", "a"]


def test_a_line_that_was_cut_off_falls_behind_its_equals() -> None:
    texts = {"a": "Bridge", "b": FILLER, "c": FILLER + " ", "d": FILLER + "  "}
    assert looked(texts, a=1.0, b=0.999, c=0.0, d=-0.1)[:2] == ["b", "a"]


def test_a_clear_winner_stays_first() -> None:
    texts = {
        "a": FILLER, "b": "The harbour bridge of Sydney was opened then.", "c": FILLER, "d": FILLER,
    }  # fmt: skip
    assert looked(texts, a=9.0, b=1.0, c=0.9, d=0.8)[0] == "a"


def test_two_or_three_candidates_are_left_as_they_are() -> None:
    texts = {"a": "x", "b": "The harbour bridge of Sydney was opened then."}
    assert looked(texts, a=1.0, b=0.99) == ["a", "b"]


def test_the_signs_of_texts_move_less_where_the_encoder_has_no_say() -> None:
    """Three signs mislead more than five: without windows a gap holds that does not hold with them."""
    texts = {
        "a": "A bridge across the river, and a harbour near Sydney, on the coast there.",
        "b": "Opened was the harbour bridge, to the west of the old town, in that year.",
        "c": FILLER,
        "d": FILLER + " ",
    }
    same = np.array([[3, 4]], dtype=np.int8)
    alike = Seen(np.array([0.6, 0.8], dtype=np.float32), dict.fromkeys(texts, same))
    heights = {"a": 1.0, "b": 0.8, "c": 0.0, "d": -0.1}
    assert looked(texts, **heights)[:2] == ["a", "b"]
    assert looked(texts, alike, **heights)[:2] == ["b", "a"]


@given(
    scores=st.dictionaries(
        st.text("abcdefgh", min_size=1, max_size=3), st.floats(-5, 5), max_size=2 * LOOKED_AT
    ),
    words=st.lists(st.sampled_from(["harbour", "bridge", "opened", "tide"]), max_size=8),
    question=st.sampled_from([QUESTION, "", "?", "大桥何时通车？"]),
)
def test_the_same_candidates_come_back_best_first_whatever_they_are(
    scores: dict[str, float], words: list[str], question: str
) -> None:
    ordered = dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))
    chunks = {name: chunk(" ".join(words), chunk_id=name) for name in ordered}
    again = look_again(question, ordered, chunks, Seen())
    assert again.keys() == ordered.keys()
    assert all(np.isfinite(value) for value in again.values())
    assert list(again.values()) == sorted(again.values(), reverse=True)
    assert again == look_again(question, ordered, chunks, Seen())
