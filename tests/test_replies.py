"""A reply is an option by its number or place, none of them, or what it says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.replies import meant

OPTIONS = ("the Berlin office", "the Boston office", "上海销售处")


@pytest.mark.parametrize(
    "reply",
    ["2", " 2 ", "２", "٢", "2.", "2)", "(2)", "#2", "option 2", "Option two", "number 2", "No. 2",
     "the second one", "The second", "second option", "2nd", "the 2nd one", "第二个", "第2个", "第２项",
     "选项2", "选项二", "我选第二个", "the second one, please"],
)  # fmt: skip
def test_a_number_or_a_place_is_its_option(reply: str) -> None:
    assert meant(reply, OPTIONS) == "the Boston office"


@pytest.mark.parametrize("reply", ["the last one", "last", "最后一个"])
def test_the_last_is_the_last(reply: str) -> None:
    assert meant(reply, OPTIONS) == "上海销售处"


@pytest.mark.parametrize(
    "reply",
    ["0", "4", "第九个", "option 7", "2026", "2 days", "the second floor", "two", "B2", "2.5",
     "in the first quarter", "第二季度"],
)  # fmt: skip
def test_what_counts_no_option_is_what_it_says(reply: str) -> None:
    assert meant(reply, OPTIONS) == reply


def test_a_number_means_nothing_where_no_options_were_given() -> None:
    assert meant("2", ()) == "2"


def test_an_option_is_itself_before_it_is_a_number_or_a_refusal() -> None:
    assert meant("2", ("3", "1", "2")) == "2"
    assert meant("none", ("All", "None")) == "none"


@pytest.mark.parametrize(
    "reply",
    ["neither", "Neither.", "none of them", "None of these!", "no", "not sure", "hmm not sure",
     "Hmm, I'm not sure", "I don't know", "I don’t know", "i dont know, sorry", "no idea", "idk",
     "doesn't matter", "either", "whatever", "something else", "不知道", "我不知道。", "不清楚", "都不是",
     "哪个都不是", "嗯，不太确定", "随便", "无所谓"],
)  # fmt: skip
@pytest.mark.parametrize("options", [OPTIONS, ()])
def test_a_reply_that_chooses_nothing_is_nothing(reply: str, options: tuple[str, ...]) -> None:
    assert meant(reply, options) is None


@pytest.mark.parametrize(
    "reply",
    ["neither the Plover nor the Dipper", "no later than May", "not the Berlin one but Lisbon",
     "How long is the warranty?", "nothing above 40 degrees", "the known one", "不是柏林的", "没有保修的产品"],
)  # fmt: skip
def test_a_reply_that_says_more_is_kept(reply: str) -> None:
    assert meant(reply, OPTIONS) == reply


@given(
    st.lists(
        st.text("abcxyz 柏林", min_size=1).map(str.strip).filter(bool), min_size=1, max_size=12
    )
)
def test_every_option_has_its_number_and_reading_it_again_changes_nothing(
    options: list[str],
) -> None:
    for number, option in enumerate(options, 1):
        chosen = meant(str(number), options)
        assert chosen == option
        assert meant(chosen, options) == chosen
