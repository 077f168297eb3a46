"""A follow-up is completed from what was said; what stands on its own is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.conversation_context import Standalone, complete, standalone
from anabranch.types import Plan, Turn


def said(*texts: str) -> list[Turn]:
    """Turns in which the user begins and the two take turns."""
    roles = ("user", "assistant")
    return [Turn(roles[number % 2], text) for number, text in enumerate(texts)]  # type: ignore[arg-type]


def on_its_own(question: str, *texts: str) -> str | None:
    found = standalone(question, said(*texts))
    return found.text if found else None


COST = ("How much does the Plover cost?", "1150 euros [1].")
LEAVE = ("How many vacation days do people in Berlin get?", "30 days [1].")
PREIS = ("Plover多少钱？", "1150欧元。")


# ----------------------------------------------------------------------------- fragments


@pytest.mark.parametrize(
    "question",
    ["And in Boston?", "so in Boston?", "What about Boston?", "in Boston?",
     "OK, and in Boston?", "How about in Boston?"],
)  # fmt: skip
def test_a_fragment_takes_the_place_of_what_is_of_its_kind(question: str) -> None:
    assert on_its_own(question, *LEAVE) == "How many vacation days do people in Boston get?"


@pytest.mark.parametrize(
    ("question", "whole"),
    [
        ("And the Dipper?", "How much does the Dipper cost?"),
        ("What about the warranty?", "What about the warranty of the Plover?"),
        ("And for students?", "How much does the Plover cost for students?"),
    ],
)
def test_a_name_replaces_a_name_and_an_attribute_keeps_it(question: str, whole: str) -> None:
    assert on_its_own(question, *COST) == whole


def test_a_fragment_replaces_who_acts() -> None:
    assert (
        on_its_own("What about managers?", "How many days of leave do interns get?", "10.")
        == "How many days of leave do managers get?"
    )


def test_where_two_names_fit_none_is_replaced() -> None:
    whole = on_its_own("What about Lisbon?", "Does Berlin or Boston have more leave?", "Berlin.")
    assert whole == "Does Berlin or Boston have more leave Lisbon?"


def test_a_chain_of_fragments_is_followed_to_its_beginning() -> None:
    turns = (*LEAVE, "And in Boston?", "20 days [1].")
    assert on_its_own("And in Lisbon?", *turns) == "How many vacation days do people in Lisbon get?"


def test_a_bare_question_word_asks_of_what_was_said() -> None:
    assert on_its_own("When?", "Did the Plover ship?", "Yes.") == "When did the Plover ship?"


def test_a_correction_joins_the_question_it_corrects() -> None:
    whole = on_its_own("I meant for the purchase loan", "What benefits are there?", "Many.")
    assert whole == "What benefits are there for the purchase loan?"


def test_a_reply_to_what_was_asked_back_joins_the_question() -> None:
    turns = ("How long is the warranty?", "Which do you mean: Plover or Dipper?")
    assert on_its_own("the Plover", *turns) == "How long is the warranty the Plover?"


@pytest.mark.parametrize("reply", ["not sure", "I don't know", "Neither."])
def test_a_reply_that_chooses_nothing_is_the_question_again(reply: str) -> None:
    turns = ("How long is the warranty?", "Which do you mean: Plover or Dipper?")
    assert on_its_own(reply, *turns) == "How long is the warranty?"
    assert on_its_own("不知道", "保修期多久？", "您指的是哪一款？") == "保修期多久？"


def test_a_new_topic_after_a_question_back_stands_on_its_own() -> None:
    turns = ("How long is the warranty?", "Which do you mean: Plover or Dipper?")
    assert on_its_own("Where is the canteen of the Berlin office?", *turns) is None


# ------------------------------------------------------------------------------ pronouns


@pytest.mark.parametrize(
    ("question", "whole"),
    [
        ("How heavy is it?", "How heavy is the Plover?"),
        ("What is its weight?", "What is the Plover's weight?"),
        ("Thanks! And how heavy is it?", "Thanks! And how heavy is the Plover?"),
        ("How long is the warranty?", "How long is the warranty of the Plover?"),
    ],
)
def test_what_was_spoken_of_is_filled_in(question: str, whole: str) -> None:
    assert on_its_own(question, *COST) == whole


@pytest.mark.parametrize(
    "asked",
    [
        "How many vacation days do I get in Boston?",
        "Which trains stop near Boston?",
        "When does the Boston office open?",
        "Who leads Boston's warehouse?",
    ],
)
@pytest.mark.parametrize("question", ["How long is the warranty?", "What is the price?"])
def test_a_place_has_no_warranty(asked: str, question: str) -> None:
    assert on_its_own(question, asked, "20 days [1].") is None


def test_an_attribute_keeps_the_place_as_a_place() -> None:
    turns = ("How many vacation days do I get in Boston?", "20 days [1].")
    assert on_its_own("And sick days?", *turns) == "How many sick days do I get in Boston?"
    turns = ("When does the Boston office open?", "At nine [1].")
    assert on_its_own("And parking?", *turns) == "What about parking of the Boston office?"


@pytest.mark.parametrize(
    ("asked", "question", "whole"),
    [
        ("What is the daily allowance for travel?", "And meals?", "What is the daily allowance for meals?"),
        ("How many vacation days do I get?", "And sick days?", "How many sick days do I get?"),
        ("What is the price of the probe?", "And the gauge?", "What is the price of the gauge?"),
        ("What is the price of the probe?", "And the warranty?", "What is the warranty of the probe?"),
        ("What does a hotel cost in Lisbon?", "And a meal?", "What does a meal cost in Lisbon?"),
        ("Who approves travel expenses?", "What about training?", "Who approves training?"),
        ("What is said about smoking?", "And alcohol?", "What is said about alcohol?"),
    ],
)  # fmt: skip
def test_a_noun_stands_for_the_noun_of_its_kind(asked: str, question: str, whole: str) -> None:
    assert on_its_own(question, asked, "40 [1].") == whole


def test_a_place_named_turns_ago_has_no_warranty_either() -> None:
    turns = ("How many vacation days do I get in Boston?", "20.", "And sick days?", "10.")
    assert on_its_own("How long is the warranty?", *turns) is None


def test_a_place_has_what_places_have() -> None:
    turns = ("How many people work in Boston?", "20.")
    assert on_its_own("What is the population?", *turns) == "What is the population of Boston?"


@pytest.mark.parametrize(
    "question", ["And the other one?", "What about the others?", "the other one?", "And another?"]
)
@pytest.mark.parametrize("turns", [COST, LEAVE, ("Does Berlin or Boston have more?", "Berlin.")])
def test_which_other_one_is_meant_is_not_made_up(question: str, turns: tuple[str, ...]) -> None:
    assert on_its_own(question, *turns) is None


def test_a_chinese_place_has_no_warranty() -> None:
    turns = ("波士顿有几天年假？", "20天。")
    assert on_its_own("保修期多久？", *turns) is None
    assert on_its_own("多少钱？", *turns) is None
    assert on_its_own("人口有多少？", *turns) == "波士顿的人口有多少？"


@pytest.mark.parametrize("question", ["另一个呢？", "那另外一个呢？", "其他的呢？"])
def test_which_other_one_is_not_made_up_in_chinese(question: str) -> None:
    assert on_its_own(question, *PREIS) is None


def test_a_person_and_a_thing_are_kept_apart() -> None:
    turns = ("Who leads the Plover?", "Sunniva Harkell")
    assert on_its_own("What is her extension?", *turns) == "What is Sunniva Harkell's extension?"
    assert on_its_own("What does it cost?", *turns) == "What does the Plover cost?"


def test_what_a_question_defines_is_spoken_of_after_it() -> None:
    turns = ("What is throat cancer?", "A disease.", "Tell me about lung cancer.", "Another.")
    assert on_its_own("Is it treatable?", *turns) == "Is lung cancer treatable?"


def test_a_part_does_not_displace_what_it_is_a_part_of() -> None:
    turns = ("What is throat cancer?", "A disease.", "What are the symptoms?", "A sore throat.")
    assert on_its_own("Is it treatable?", *turns) == "Is throat cancer treatable?"


def test_there_is_the_place_that_was_named() -> None:
    turns = ("Tell me about the travel allowance in Boston.", "60 dollars.")
    assert on_its_own("How many people work there?", *turns) == "How many people work in Boston?"


@pytest.mark.parametrize(
    "question",
    [
        "Is it possible to work from home?",
        "What is frost and why does it form?",
        "How long does it take to boil an egg?",
        "Which breeds are there that are independent?",
    ],
)
def test_a_pronoun_that_does_not_point_back_stays(question: str) -> None:
    assert on_its_own(question, *COST) is None


# ------------------------------------------------------------------------------ new topics


@pytest.mark.parametrize(
    "question",
    [
        "At what time does the office open?",
        "What is the boiling point of tungsten?",
        "How long is the warranty of the Dipper?",
        "How many vacation days do I get?",
        "Who wrote the annual report?",
    ],
)
def test_a_new_topic_does_not_drag_the_old_one_along(question: str) -> None:
    assert on_its_own(question, *COST) is None


@pytest.mark.parametrize(
    "question",
    ["食堂几点开门？", "上海销售处有几天年假？", "Dipper的保修期多久？", "谁写了年度报告？"],
)
def test_a_new_chinese_topic_does_not_drag_the_old_one_along(question: str) -> None:
    assert on_its_own(question, *PREIS) is None


def test_nothing_is_filled_in_without_history_or_from_a_greeting() -> None:
    assert standalone("How much does it cost?", []) is None
    assert on_its_own("How much does it cost?", "hi", "Hello! How can I help?") is None


# -------------------------------------------------------------------------------- Chinese


@pytest.mark.parametrize(
    ("question", "whole"),
    [
        ("那Dipper呢？", "Dipper多少钱？"),
        ("重量呢？", "Plover的重量是什么？"),
        ("它有多重？", "Plover有多重？"),
        ("这款产品怎么校准？", "Plover怎么校准？"),
        ("保修期多久？", "Plover的保修期多久？"),
        ("多重？", "Plover多重？"),
        ("为什么？", "Plover多少钱，为什么？"),
        ("好的，谢谢。那它的保修期呢？", "Plover的保修期是什么？"),
    ],
)
def test_a_chinese_question_gets_the_subject_that_it_leaves_out(question: str, whole: str) -> None:
    assert on_its_own(question, *PREIS) == whole


@pytest.mark.parametrize(
    ("question", "before", "whole"),
    [
        ("那北京呢？", "上海销售处早上几点开门？", "北京销售处早上几点开门？"),
        (
            "波士顿的呢？",
            "在柏林办公室工作的员工有几天年假？",
            "在波士顿办公室工作的员工有几天年假？",
        ),
        ("病假呢？", "公司的年假有几天？", "公司的病假有几天？"),
        ("他出生在哪里？", "李白是谁？", "李白出生在哪里？"),
        ("这本书写于什么时候？", "《红楼梦》的作者是谁？", "《红楼梦》写于什么时候？"),
    ],
)
def test_a_chinese_fragment_takes_the_place_of_its_kind(
    question: str, before: str, whole: str
) -> None:
    assert on_its_own(question, before, "……") == whole


def test_a_chinese_reply_joins_the_question() -> None:
    assert on_its_own("柏林", "年假有多少天？", "您指的是哪一个办公室？") == "年假有多少天 柏林？"


def test_languages_may_change_between_turns() -> None:
    assert on_its_own("它多少钱？", "What is the Plover?", "A probe.") == "Plover多少钱？"


# -------------------------------------------------------------------------------- the rest


def test_it_is_told_what_came_from_which_turn() -> None:
    found = standalone("How heavy is it?", said("Hello", "Hi.", *COST))
    assert found == Standalone("How heavy is the Plover?", "'it' is 'the Plover' (turn 3)")


def test_the_plan_is_that_of_the_question_on_its_own() -> None:
    planned: list[str] = []

    def plan(text: str) -> Plan:
        planned.append(text)
        return Plan("simple", "one fact")

    found = complete("How heavy is it?", said(*COST), plan)
    assert planned == [found.standalone] == ["How heavy is the Plover?"]
    assert complete("How heavy is the Dipper?", said(*COST), plan).standalone == ""


TEXTS = st.lists(st.text(max_size=60), max_size=6)


@given(st.text(min_size=1, max_size=60), TEXTS)
def test_any_text_is_read_without_fail_and_always_the_same(question: str, texts: list[str]) -> None:
    turns = said(*texts)
    assert standalone(question, turns) == standalone(question, turns)


def test_an_attribute_is_asked_for_as_the_last_one_was() -> None:
    turns = ("柏林的面积是多少？", "891平方公里。")
    assert on_its_own("人口是多少", *turns) == "柏林的人口是多少？"
    assert on_its_own("人口呢？", *turns) == "柏林的人口是多少？"


@pytest.mark.parametrize(
    ("asked", "question", "whole"),
    [
        ("差旅的每日补贴是多少？", "那餐费呢？", "餐费的每日补贴是多少？"),
        ("出差每天的住宿补贴是多少？", "餐费呢？", "出差每天的餐费补贴是多少？"),
        ("出差的住宿费每晚最多多少？", "那餐费呢？", "出差的餐费每晚最多多少？"),
        ("住宿补贴的标准是什么？", "交通呢？", "交通补贴的标准是什么？"),
        ("申请年假要提前多久？", "那病假呢？", "申请病假要提前多久？"),
        ("公司对吸烟有什么规定？", "喝酒呢？", "公司对喝酒有什么规定？"),
        ("探头的价格是多少？", "保修期呢？", "探头的保修期是多少？"),
        # No place stands for it.
        ("上海的餐补是多少？", "住宿呢？", "上海的住宿是多少？"),
    ],
)
def test_a_chinese_noun_stands_for_the_noun_of_its_kind(
    asked: str, question: str, whole: str
) -> None:
    assert on_its_own(question, asked, "40。") == whole
