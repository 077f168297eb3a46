"""What asks is followed up; a long question is cut into clauses that can be searched."""

from __future__ import annotations

import pytest

from anabranch.clauses import MOST_CLAUSES, asks, clauses_alone

LONG = (
    "Which firm from Mountain View released a lite model in spring, "
    "is accused of harming news publishers by its default search deals?"
)


@pytest.mark.parametrize(
    "text",
    [
        "Who founded Rome?",
        "who founded the company that made it",
        "is the harbour older than the bridge",
        "Name the river that crosses the capital",
        "The capital of which country lies there",
        "《活着》的作者毕业于哪所大学",
        "柏林有多少天年假",
        "列出两个城市的人口",
        "He said: “Where is it?”",
    ],
)
def test_a_question_asks_with_or_without_its_mark(text: str) -> None:
    assert asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "Vitamin B6 deficiency lowers homocysteine.",
        "effects of shock waves, including heating",
        "leave policy berlin",
        "Somewhat nowhere wholesome",
        "柏林年假政策",
        "",
    ],
)
def test_a_claim_or_a_topic_asks_nothing(text: str) -> None:
    assert not asks(text)


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (LONG, 2),
        (LONG.rstrip("?"), 0),
        ("Who founded Rome?", 0),
        ("Who founded the oldest bank of Rome and Milan?", 0),
        ("哪家公司在2023年发布了轻量模型，同时被指控损害新闻出版商的利益？", 2),
    ],
)
def test_a_long_question_is_cut_into_clauses_that_can_be_searched(
    question: str, parts: int
) -> None:
    assert len(clauses_alone(question)) == parts


def test_a_clause_too_short_to_be_searched_is_part_of_its_neighbour() -> None:
    found = clauses_alone(LONG.replace(" in spring,", " in spring, at last,"))
    assert len(found) == 2
    assert found[1].startswith("at last is accused")


def test_a_list_is_cut_into_a_few_only() -> None:
    things = [f"red{n} wooden{n} bridge{n} near{n} harbour{n}" for n in range(9)]
    assert len(clauses_alone(f"Who built the {', the '.join(things)}?")) == MOST_CLAUSES
