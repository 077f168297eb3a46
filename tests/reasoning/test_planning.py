"""How a question is read: simple or complex, in which parts, and how else it can be put."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.language import fold
from anabranch.lexicon import Lexicon, combine, mine
from anabranch.reasoning.complexity import complexity_reason
from anabranch.reasoning.decomposition import parts
from anabranch.reasoning.planning import LocalPlanner
from anabranch.types import Plan, Variant

EMPTY = Lexicon()


async def plan(question: str) -> Plan:
    return await LocalPlanner().plan(question, history=(), lexicon=EMPTY)


async def variants(
    question: str, *, lexicon: Lexicon = EMPTY, limit: int = 8
) -> tuple[Variant, ...]:
    return await LocalPlanner().variants(question, lexicon=lexicon, limit=limit)


# --------------------------------------------------------------------------- simple or complex

SIMPLE = [
    "What is the notice period?",
    "Who wrote the handbook?",
    "How many days of annual leave do I get?",
    "When does the Berlin office open on Mondays?",
    "Is smoking allowed in the Berlin office?",
    "Can I carry over unused leave?",
    "What is the name of the project lead?",
    "Who is the director of The Guest?",
    "What happened between 1940 and 1945 in Warsaw?",
    "Does the warranty cover water damage?",
    "年假有多少天？",
    "谁是《红楼梦》的作者？",
    "公司的报销流程是什么？",
    "丹麦首都是哪里？",
    "請問年假有多少天？",
]
COMPLEX = [
    "How does leave differ between Berlin and Boston?",
    "What is the difference between the basic and the premium plan?",
    "Compare Orion and Lyra on price",
    "Is Orion heavier than Lyra?",
    "Which company was founded first, Acme or Globex?",
    "What are the price, weight and warranty of Orion?",
    "How many days of leave do employees in Berlin and Boston get?",
    "What is the notice period? And who approves it?",
    "Who founded Acme and when was it sold?",
    "Why did the pump fail and how was it repaired?",
    "What are the causes and effects of the outage?",
    "How did the price change before and after the merger?",
    "Where was the performer of Thriller born?",
    "What county shares a border with the county where Black Hawk Township is located?",
    "Who are the five most recent mayors and what are their hometowns?",
    "What occupations do both Ian Hunter and Rob Thomas have?",
    "Would a pescatarian be unable to eat anchovy pizza?",
    "柏林和波士顿的年假分别是多少天？",
    "柏林与波士顿的年假有什么区别？",
    "柏林與波士頓的年假有什麼區別？",
    "猎户座的价格、重量和保修期是多少？",
    "为什么销量下降，应该怎么办？",
    "苹果和华为哪家的员工更多？",
    "《活着》的导演的出生地是哪里？",
    "年假有多少天？怎么申请？",
]


@pytest.mark.parametrize("question", SIMPLE)
async def test_a_single_fact_is_simple(question: str) -> None:
    planned = await plan(question)
    assert (planned.complexity, planned.sub_questions) == ("simple", ())
    assert planned.reason


@pytest.mark.parametrize("question", COMPLEX)
async def test_several_facts_are_complex_and_the_reason_is_given(question: str) -> None:
    planned = await plan(question)
    assert planned.complexity == "complex"
    assert planned.reason != (await plan(SIMPLE[0])).reason


@pytest.mark.parametrize("question", [q for q in SIMPLE + COMPLEX if "employees in" not in q])
async def test_case_spacing_and_the_closing_mark_do_not_matter(question: str) -> None:
    careless = "  " + question.lower().rstrip("?？").replace(" ", "  ")
    assert (await plan(careless)).complexity == (await plan(question)).complexity


async def test_the_reason_names_the_parts() -> None:
    reason = (await plan("How does leave differ between Berlin and Boston?")).reason
    assert reason.startswith("compares")
    assert "Berlin" in reason
    assert "Boston" in reason


# -------------------------------------------------------------------------------- sub-questions


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "How does leave differ between Berlin and Boston?",
            ["What is the leave in Berlin?", "What is the leave in Boston?"],
        ),
        (
            "compare orion and lyra on price",
            ["What is the price of orion?", "What is the price of lyra?"],
        ),
        (
            "How do the sick leave rules in Berlin compare with those in Boston?",
            [
                "What are the sick leave rules in Berlin?",
                "What are the sick leave rules in Boston?",
            ],
        ),
        (
            "Is Orion heavier than Lyra?",
            ["What is the weight of Orion?", "What is the weight of Lyra?"],
        ),
        (
            "Which company was founded first, Acme or Globex?",
            ["When was Acme founded?", "When was Globex founded?"],
        ),
        (
            "Which has more employees, Acme or Globex?",
            ["How many employees does Acme have?", "How many employees does Globex have?"],
        ),
        (
            "What are the price, weight and warranty of Orion?",
            [
                "What is the price of Orion?",
                "What is the weight of Orion?",
                "What is the warranty of Orion?",
            ],
        ),
        (
            "Where are the headquarters of Acme, Globex and Initech?",
            [
                "Where are the headquarters of Acme?",
                "Where are the headquarters of Globex?",
                "Where are the headquarters of Initech?",
            ],
        ),
        (
            "What is the notice period? And who approves it?",
            ["What is the notice period?", "Who approves the notice period?"],
        ),
        (
            "Why did the pump fail and how was it repaired?",
            ["Why did the pump fail?", "How was the pump repaired?"],
        ),
        (
            "How did the price change before and after the merger?",
            [
                "How did the price change before the merger?",
                "How did the price change after the merger?",
            ],
        ),
        ("柏林和波士顿的年假分别是多少天？", ["柏林的年假是多少天？", "波士顿的年假是多少天？"]),
        ("柏林与波士顿的年假有什么区别？", ["柏林的年假是什么？", "波士顿的年假是什么？"]),
        ("X与Y有什么区别", ["X是什么？", "Y是什么？"]),
        (
            "猎户座的价格、重量和保修期是多少？",
            ["猎户座的价格是多少？", "猎户座的重量是多少？", "猎户座的保修期是多少？"],
        ),
        ("为什么销量下降，应该怎么办？", ["为什么销量下降？", "销量下降应该怎么办？"]),
        ("张三和李四谁的工资更高？", ["张三的工资有多高？", "李四的工资有多高？"]),
        ("年假有多少天？怎么申请？", ["年假有多少天？", "年假怎么申请？"]),
        ("比较柏林和波士顿的请假政策", ["柏林的请假政策是什么？", "波士顿的请假政策是什么？"]),
    ],
)
async def test_a_complex_question_is_taken_apart_into_ones_that_stand_alone(
    question: str, expected: list[str]
) -> None:
    planned = await plan(question)
    assert [sub.question for sub in planned.sub_questions] == expected
    assert [sub.id for sub in planned.sub_questions] == [
        f"s{number}" for number in range(1, len(expected) + 1)
    ]


async def test_a_question_that_cannot_be_taken_apart_stays_complex_without_parts() -> None:
    planned = await plan("Would a pescatarian be unable to eat anchovy pizza?")
    assert (planned.complexity, planned.sub_questions) == ("complex", ())


async def test_more_than_four_things_give_four_parts() -> None:
    planned = await plan("What is the height of Aa, Bb, Cc, Dd, Ee and Ff?")
    assert len(planned.sub_questions) == 4


# -------------------------------------------------------------------------------------- variants

DOCUMENTS = combine([mine("The service level agreement (SLA) sets the notice period of support.")])


async def test_the_repaired_question_comes_first_at_full_weight() -> None:
    first = (await variants("What is the notice peroid?", lexicon=DOCUMENTS))[0]
    assert (first.text, first.kind, first.weight) == ("What is the notice period?", "spelling", 1.0)
    assert "period" in first.reason


async def test_a_short_form_is_spelt_out_before_words_are_only_moved() -> None:
    first, second = (await variants("What does the SLA say?", lexicon=DOCUMENTS))[:2]
    assert first.text == "What does the service level agreement say?"
    assert first.weight > second.weight


async def test_initials_that_the_documents_use_otherwise_are_a_guess_that_counts_little() -> None:
    known = combine(
        [mine("NP is a class of problems.\n\nThe Nobel Prize. A Nobel Prize is given.")]
    )
    unknown = combine([mine("The Nobel Prize. A Nobel Prize is given every year.")])
    guess = (await variants("Who won the NP?", lexicon=known))[0]
    needed = (await variants("Who won the NP?", lexicon=unknown))[0]
    assert needed.text == "Who won the nobel prize?"
    assert guess.weight < needed.weight


async def test_a_name_is_shortened_where_the_documents_do() -> None:
    texts = [
        v.text for v in await variants("Where is the Service Level Agreement?", lexicon=DOCUMENTS)
    ]
    assert texts[0] == "Where is the SLA?"


async def test_a_question_in_the_documents_words_gets_no_repair() -> None:
    kinds = {v.kind for v in await variants("What is the notice period?", lexicon=DOCUMENTS)}
    assert kinds == {"variant"}


@pytest.mark.parametrize(
    "question",
    [
        "Who approves travel expenses over 500 euros?",
        "What is the notice period of support contracts in Berlin?",
        "Which band recorded that famous winter song?",
        "how do employees request parental leave extensions",
        "柏林的年假有多少天？",
        "如何申请育儿假？",
        "谁是《活着》的作者",
        "公司總部在哪裡？",
    ],
)
async def test_an_ordinary_question_has_at_least_four_other_phrasings(question: str) -> None:
    given_ones = await variants(question)
    assert len({fold(variant.text) for variant in given_ones} - {fold(question)}) >= 4


async def test_chinese_keywords_leave_out_what_only_asks() -> None:
    assert (await variants("ERP是什么时候上线的？"))[0].text == "ERP 上线"


@pytest.mark.parametrize("limit", [0, 1, 3])
async def test_no_more_variants_than_asked_for(limit: int) -> None:
    found = await variants("Who approves travel expenses over 500 euros?", limit=limit)
    assert len(found) == limit


# ------------------------------------------------------------------------------ whatever is asked

PIECES = st.lists(
    st.sampled_from(
        [
            "what",
            "is",
            "the",
            "of",
            "and",
            ",",
            "or",
            "?",
            "how",
            "does",
            "differ",
            "between",
            "Berlin",
            "Boston",
            "A/S",
            "柏林",
            "和",
            "的",
            "年假",
            "有什么区别",
            "、",
            "分别",
            "？",
            "both",
            "than",
            "which",
            "who",
            "it",
            "before",
            "after",
            "Compare",
            "vs",
            "谁",
            "更",
            "(",
            ")",
            "\\1",
            "'s",
        ]
    ),
    max_size=14,
).map(" ".join)


@given(st.text(max_size=120) | PIECES | PIECES.map(lambda text: text.replace(" ", "")))
def test_any_text_is_planned_the_same_way_twice(question: str) -> None:
    found = parts(question)
    assert complexity_reason(question) == complexity_reason(question)
    assert found == parts(question)
    assert len(found) in (0, 2, 3, 4)
    assert len({fold(part) for part, _ in found}) == len(found)
    assert all(fold(part).strip(" ?？") != fold(question).strip(" ?？") for part, _ in found)


@given(st.text(max_size=120) | PIECES)
async def test_variants_differ_from_the_question_and_from_each_other(question: str) -> None:
    found = await variants(question, lexicon=DOCUMENTS, limit=6)
    texts = [fold(variant.text) for variant in found]
    assert len(texts) <= 6
    assert len(set(texts)) == len(texts)
    assert fold(question) not in texts
    assert found == await variants(question, lexicon=DOCUMENTS, limit=6)


@pytest.mark.parametrize(
    "unit", ["a, ", "and a ", "of the a ", "和年", "、年假", "A and B, ", "(("]
)
@pytest.mark.parametrize("opening", ["", "what is the ", "Which ", "How do ", "柏林"])
def test_a_very_long_question_is_still_planned(unit: str, opening: str) -> None:
    question = opening + unit * 1_300
    assert parts(question) == []
    complexity_reason(question)


# ------------------------------------------------------------------------------------- open data


@pytest.fixture
def open_questions() -> list[tuple[str, str]]:
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("ANABRANCH_DATA", beside)) / "routing_mix_open"
    if not folder.is_dir():
        pytest.skip("the open routing set is not there: set ANABRANCH_DATA to the data folder")
    with gzip.open(folder / "queries.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [(row["text"], row["metadata"]["route"]) for row in rows]


@pytest.mark.parametrize("lowered", [False, True])
def test_nine_in_ten_open_questions_are_routed_as_labelled(
    open_questions: list[tuple[str, str]], lowered: bool
) -> None:
    labelled = [(text, route) for text, route in open_questions if route != "clarify"]
    right = sum(
        (complexity_reason(text.lower() if lowered else text) is not None) == (route == "complex")
        for text, route in labelled
    )
    assert right / len(labelled) >= 0.9


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "What does a Plover cost, how long is its warranty, and how long does its calibration take?",
            [
                "What does a Plover cost?",
                "How long is a Plover's warranty?",
                "How long does a Plover's calibration take?",
            ],
        ),
        (
            "Where is the office, when does it open and how many people work there?",
            [
                "Where is the office?",
                "When does the office open?",
                "How many people work at the office?",
            ],
        ),
        (
            "What is the price of the Dipper, and how heavy is it?",
            ["What is the price of the Dipper?", "How heavy is the Dipper?"],
        ),
    ],
)
async def test_questions_in_a_row_become_one_sub_question_each(
    question: str, expected: list[str]
) -> None:
    plan = await LocalPlanner().plan(question, history=(), lexicon=Lexicon())
    assert [sub.question for sub in plan.sub_questions] == expected


async def test_a_relative_clause_behind_a_comma_is_no_question_of_its_own() -> None:
    question = "Who runs the office, which opened in May, and how many people work in the office?"
    plan = await LocalPlanner().plan(question, history=(), lexicon=Lexicon())
    assert [sub.question for sub in plan.sub_questions] == [
        "Who runs the office, which opened in May?",
        "How many people work in the office?",
    ]


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What does a Plover cost?", "Plover price"),
        ("How heavy is the Dipper?", "Dipper weight"),
        ("How tall is the mast?", "mast height"),
    ],
)
async def test_a_quality_is_asked_with_the_noun_that_the_documents_have(
    question: str, named: str
) -> None:
    words = {named.split()[1]: 1, named.split()[0].lower(): 3}
    lexicon = Lexicon(document_count=5, words=words)
    first = (await LocalPlanner().variants(question, lexicon=lexicon, limit=2))[0]
    assert first.text == named
    without = Lexicon(document_count=5, words={named.split()[0].lower(): 3})
    others = await LocalPlanner().variants(question, lexicon=without, limit=2)
    assert named not in [variant.text for variant in others]
