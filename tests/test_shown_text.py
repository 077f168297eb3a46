"""What of an answer is shown, whole and piece by piece."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.shown_text import ShownText, marker_numbers
from fakes import evidence

ITEMS = [
    evidence("See https://intranet.example/leave?year=2026. [form](files/form.pdf)"),
    evidence("Notice.", 2),
    evidence("年假。", 3),
]


def shown(text: str) -> str:
    return ShownText(ITEMS).whole(text)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("30 days [1, 2].", "30 days [1][2]."),
        ("30 days [1 and 3].", "30 days [1][3]."),
        ("30 days [1-3].", "30 days [1][2][3]."),
        ("30 days [1–2], [3].", "30 days [1][2], [3]."),
        ("三十天【1】。", "三十天[1]。"),
        ("三十天［１，２］。", "三十天[1][2]。"),
        ("三十天【1†source】。", "三十天[1]。"),
        ("三十天[来源1、3]。", "三十天[1][3]。"),
        ("30 days [^1] [evidence 2].", "30 days [1] [2]."),
        ("30 days [1](#evidence-1).", "30 days [1]."),
    ],
)
def test_a_marker_is_shown_in_one_form(written: str, expected: str) -> None:
    assert shown(written) == expected


@pytest.mark.parametrize(
    "marker", ["[9]", "[0]", "[01]", "【９】", "[4-6]", "[9](https://a.example)"]
)
def test_a_marker_that_resolves_to_nothing_is_removed(marker: str) -> None:
    text = ShownText(ITEMS)
    assert text.whole(f"30 days {marker}.").replace(" .", ".") == "30 days."
    assert text.removed


def test_of_several_numbers_those_that_resolve_stay() -> None:
    text = ShownText(ITEMS)
    assert text.whole("30 days [2, 7].") == "30 days [2]."
    assert text.removed == ["7"]


@pytest.mark.parametrize("written", ["[5-10 days]", "a[i]", "[x]", "(1)", "{1}", "list[int]", "[1"])
def test_other_brackets_stay(written: str) -> None:
    assert shown(written) == written


def test_a_range_without_an_end_is_not_counted_out() -> None:
    assert marker_numbers("[1-999999]", most=2) == ["1", "2", "3", "999999"]
    assert marker_numbers(f"[1-{'9' * 5_000}]", most=2) == ["1", "9" * 5_000]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Ask ![chart](https://a.example/p.png?q=secret) now", "Ask chart now"),
        ("Ask ![](https://intranet.example/leave?year=2026) now", "Ask  now"),
        ("Ask [here](https://a.example/?q=secret) now", "Ask here now"),
        ("Ask [here](javascript:alert(1)) now", "Ask here now"),
        ("Ask [here](//a.example/x 'title') now", "Ask here now"),
        ("Ask [![x](https://a.example/i)](https://a.example/l) now", "Ask […x…]… now"),
        ("Ask https://a.example/?q=secret, now", "Ask …, now"),
        ("Ask <https://a.example/secret> now", "Ask … now"),
        ("Ask www.a.example/secret now", "Ask … now"),
        ("请看https://a.example/机密。好", "请看…。好"),
        ("Ask <img src=x onerror=go()> now", "Ask … now"),
        ("Ask <a href='x'>here</a> now", "Ask …here… now"),
        ("Ask ww[9]w.a.example/secret", "Ask ww…w.a.example/secret"),
        ("Ask ww [9]w.a.example/secret", "Ask ww…w.a.example/secret"),
        (
            "See https://intranet.example/leave?year=2026 [9].secret",
            "See https://intranet.example/leave?year=2026….secret",
        ),
        ("Ask [https:/](x)/a.example", "Ask https:/…/a.example"),
        ("Ask ww[w.a.example/secret](x)", "Ask ww…w.a.example/secret"),
        ("Ask <im<img =>g src=x>", "Ask <im…g src=x>"),
        ("[x]: https://a.example/secret", "[x]: …"),
        ("Ask [here](https://intranet.example/leave?year=2026&q=secret)", "Ask here"),
    ],
)
def test_an_address_that_is_not_in_the_evidence_is_not_shown(written: str, expected: str) -> None:
    assert shown(written) == expected


@pytest.mark.parametrize(
    "written",
    [
        "See https://intranet.example/leave?year=2026.",
        "See [leave](https://intranet.example/leave?year=2026).",
        "a < b and c > d",
        "Use <b> or <br/>.",
        "and/or, 1//2, 10:30, e.g. this",
    ],
)
def test_an_address_of_the_evidence_and_plain_text_stay(written: str) -> None:
    assert shown(written) == written


PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "30 days", " ", "  ", "[1]", "[9]", " [1, 9]", "[1-3]", "【2】", "［", "]", "[", "(", ")",
                "!", "![", "](", "http", "://", "https://a.example/x", "//", "www.", "中文", "。", "\n",
                "<", ">", "<img src=", "data:", "javascript:", "a", ".", "1", "é",
                "https://intranet.example/leave?year=2026", "†source", "source ", "=",
            ]
        ),
        st.text(max_size=3),
    ),
    max_size=14,
).map("".join)  # fmt: skip


@given(PIECES, st.lists(st.integers(0, 200), max_size=12))
def test_pieces_joined_are_the_whole_however_they_were_cut(text: str, cuts: list[int]) -> None:
    whole, streamed = ShownText(ITEMS), ShownText(ITEMS)
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [streamed.feed(text[a:b]) for a, b in pairwise(edges)]
    assert "".join([*pieces, streamed.end()]) == whole.whole(text)
    assert streamed.removed == whole.removed


@given(PIECES)
def test_nothing_that_is_shown_would_be_removed_again(text: str) -> None:
    once = shown(text)
    assert shown(once) == once


def test_text_is_shown_word_by_word_while_it_is_written() -> None:
    text = ShownText(ITEMS)
    assert [text.feed(piece) for piece in ["Leave is", " 30 ", "days [", "1", "2]. And"]] == [
        "Leave",
        " is 30",
        " days",
        "",
        "",
    ]
    assert text.end() == ". And"
    assert text.removed == ["12"]
