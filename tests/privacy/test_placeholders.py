"""Nothing that is hidden is left in the text, and putting back is exact."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.privacy.listed_names import ListedNames
from anabranch.privacy.patterns import PatternFinder
from anabranch.privacy.personal_data import PersonalData
from anabranch.privacy.placeholders import Placeholders, RestoredPieces

NAMES = ["Ann Berg", "张伟", "Bo"]
PERSONAL = PersonalData(
    [PatternFinder(("US", "DE", "CN")), ListedNames([("NAME", name) for name in NAMES])],
    finds_names=False,
)
VALUES = [
    "ann.berg@example.com", "ANN.BERG@example.com", "+49 30 901820", "13812345678", "4111 1111 1111 1111",
    "DE89 3704 0044 0532 0130 00", "11010519491231002X", "192.168.0.17", "2001:db8::1", *NAMES,
]  # fmt: skip
PIECES = st.lists(
    st.one_of(
        st.sampled_from(VALUES),
        st.sampled_from([" ", ", ", "。", "的", "\n", "_", "1", "NAME", "_1", "EMAIL_1", "name_2b", "\\", "A1"]),
        st.text(max_size=3),
    ),
    max_size=10,
).map("".join)  # fmt: skip
FAST = settings(max_examples=60, deadline=None)


@FAST
@given(st.lists(PIECES, min_size=1, max_size=4))
def test_putting_back_gives_the_exact_text_of_every_part_of_a_request(texts: list[str]) -> None:
    placeholders = PERSONAL.begin()
    hidden = [placeholders.hide(text) for text in texts]
    assert [placeholders.restore(text) for text in hidden] == texts


@FAST
@given(
    st.sampled_from([value for value in VALUES if value != "Bo"]),
    st.sampled_from(["", " ", "的", "“", "\n"]),
    PIECES,
)
def test_no_value_is_left(value: str, edge: str, text: str) -> None:
    # Not the shortest name: in "combo" it is none.
    hidden = PERSONAL.begin().hide(f"{text} {edge}{value}{edge}。{text}")
    assert value not in hidden


@FAST
@given(PIECES, st.lists(st.integers(0, 150), max_size=8))
def test_a_reply_is_put_back_however_it_is_cut(text: str, cuts: list[int]) -> None:
    placeholders = PERSONAL.begin()
    reply = placeholders.hide(text)
    said: list[str] = []
    pieces = RestoredPieces(placeholders, said.append)
    edges = [0, *sorted(min(cut, len(reply)) for cut in cuts), len(reply)]
    for a, b in pairwise(edges):
        pieces.feed(reply[a:b])
    pieces.end()
    assert "".join(said) == text


@FAST
@given(PIECES)
def test_values_within_json_stay_json(text: str) -> None:
    placeholders = PERSONAL.begin()
    hidden = placeholders.hide(text)
    reply = json.dumps({"query": hidden}, ensure_ascii=False)
    assert json.loads(placeholders.restore(reply, as_json=True)) == {"query": text}


def test_a_value_has_one_placeholder_in_all_parts_of_a_request() -> None:
    placeholders = PERSONAL.begin()
    assert placeholders.hide("Ask Ann Berg (ann.berg@example.com).") == "Ask NAME_1 (EMAIL_1)."
    assert placeholders.hide("ann.berg@example.com is of Bo and Ann Berg") == (
        "EMAIL_1 is of NAME_2 and NAME_1"
    )


def test_the_same_value_written_otherwise_is_another_form_of_it() -> None:
    placeholders = PERSONAL.begin()
    assert placeholders.hide("+49 30 901820, 030 901820") == "PHONE_1, PHONE_1b"
    assert placeholders.restore("PHONE_1b and PHONE_1") == "030 901820 and +49 30 901820"


@pytest.mark.parametrize(
    "written", ["NAME_1", "name_1", "NAME\\_1", "**NAME_1**", "是NAME_1。", "NAME_1's"]
)
def test_a_placeholder_is_known_however_a_model_writes_it(written: str) -> None:
    placeholders = PERSONAL.begin()
    placeholders.hide("Ann Berg")
    assert "Ann Berg" in placeholders.restore(written)


def test_a_placeholder_that_stands_for_nothing_stays() -> None:
    assert PERSONAL.begin().restore("Ask NAME_7.") == "Ask NAME_7."


def test_what_was_recognised_once_is_hidden_wherever_it_stands() -> None:
    # The word before it gives the number away only in the first text.
    placeholders = PERSONAL.begin()
    placeholders.hide("Passport no. C01X00T47")
    assert placeholders.hide("C01X00T47 expires") == "ID_1 expires"


def test_a_value_that_runs_into_another_word_is_hidden_with_it() -> None:
    hidden = PERSONAL.begin().hide("13812345678, x13812345678 and ann.berg@example.com13812345678")
    assert hidden == "PHONE_1, PHONE_2 and EMAIL_1"


def test_a_text_that_was_cut_off_within_a_value_ends_before_it() -> None:
    placeholders = PERSONAL.begin()
    placeholders.hide("ann.berg@example.com")
    assert placeholders.hide("Ask ann.berg@exa", cut=True) == "Ask "


def test_another_request_starts_anew() -> None:
    PERSONAL.begin().hide("Bo")
    assert PERSONAL.begin().hide("Ann Berg") == "NAME_1"


def test_nothing_hidden_is_shown_in_a_repr() -> None:
    placeholders = Placeholders(lambda text: ())
    placeholders.hide("NAME_1")
    assert "NAME" not in repr(placeholders)
