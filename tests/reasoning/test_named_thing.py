"""Where the question names one of several things of a kind, the answer is about that one alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from anabranch import KnowledgeBase

OFFICES = {
    "offices/oslo/travel.md": "# Travel, Oslo office\n\nA hotel may cost up to 210 dollars a night.",
    "offices/lisbon/travel.md": "# Travel, Lisbon office\n\nA hotel may cost up to 140 dollars a night.",
}
SENTENCES = {
    "travel-1.md": "# Hotels in the north\n\nEmployees of the Oslo office may spend up to 210 dollars a night on hotels.",
    "travel-2.md": "# Hotels in the south\n\nEmployees of the Lisbon office may spend up to 140 dollars a night on hotels.",
}
HEADINGS = {
    "travel.md": "# Travel\n\n## Oslo office\n\nA hotel may cost up to 210 dollars a night.\n\n"
    "## Lisbon office\n\nA hotel may cost up to 140 dollars a night.",
}
FILES = {
    "oslo.md": "# Oslo\n\nA hotel may cost up to 210 dollars a night. Oslo books by itself.",
    "lisbon.md": "# Lisbon\n\nFor a hotel the limit is 140 dollars. Whoever is in Lisbon books by itself.",
}
CITIES = {
    "上海.md": "# 上海\n\n年假为十天，按入职年份增加。",
    "成都.md": "# 成都\n\n年假为十二天，按入职年份增加。",
}
CITY_TITLES = {
    "a.md": "# 上海分公司休假规定\n\n员工每年有年假十天。",
    "b.md": "# 成都分公司休假规定\n\n员工每年有年假十二天。",
}
CITY_SENTENCES = {
    "a.md": "# 休假\n\n上海员工每年有年假十天。",
    "b.md": "# 假期\n\n成都员工每年有年假十二天。",
}
HOTELS = "How much may employees in Oslo spend on hotels?"
LEAVE = "上海的年假有几天？"


def answer_of(folder: Path, documents: Mapping[str, str], question: str, *, reply: str = "") -> str:
    for name, text in documents.items():
        file = folder / "documents" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", encoding="utf-8")
    with KnowledgeBase.open(folder / "kb") as base:
        base.add(folder / "documents")
        outcome = base.ask(question)
        if reply:
            assert outcome.clarification is not None
            outcome = base.resume(outcome.resume, reply)
        assert outcome.answer is not None, outcome
        return outcome.answer.text


@pytest.mark.parametrize(
    ("documents", "question", "said", "other"),
    [
        (OFFICES, HOTELS, "210", "140"),
        (OFFICES, "how much may a hotel in lisbon cost?", "140", "210"),
        (SENTENCES, HOTELS, "210", "140"),
        (HEADINGS, HOTELS, "210", "140"),
        (FILES, "How much may a hotel cost in Oslo?", "210", "140"),
        (CITIES, LEAVE, "十天", "十二天"),
        (CITY_TITLES, LEAVE, "十天", "十二天"),
        (CITY_SENTENCES, LEAVE, "十天", "十二天"),
    ],
)
def test_what_is_said_of_the_other_one_is_left_out(
    tmp_path: Path, documents: Mapping[str, str], question: str, said: str, other: str
) -> None:
    text = answer_of(tmp_path, documents, question)
    assert said in text
    assert other not in text


@pytest.mark.parametrize(
    ("documents", "question", "reply", "said", "other"),
    [
        (OFFICES, "How much may a hotel cost?", "Oslo", "210", "140"),
        (SENTENCES, "How much may employees spend on hotels?", "2", "140", "210"),
        (CITY_TITLES, "员工的年假有几天？", "成都", "十二天", "十天"),
    ],
)
def test_the_option_that_was_chosen_is_answered_alone(
    tmp_path: Path, documents: Mapping[str, str], question: str, reply: str, said: str, other: str
) -> None:
    chosen_second = reply == "2"
    text = answer_of(tmp_path, documents, question, reply=reply)
    if chosen_second:  # whichever was second
        assert ("210" in text) != ("140" in text)
        return
    assert said in text
    assert other not in text


@pytest.mark.parametrize(
    ("documents", "question", "figures"),
    [
        (OFFICES, "How much may a hotel cost in Oslo and in Lisbon?", ("210", "140")),
        (OFFICES, "Compare the hotel limits of Oslo and Lisbon.", ("210", "140")),
        (OFFICES, "How much may a hotel cost at every office?", ("210", "140")),
        (CITY_TITLES, "上海和成都的年假各有几天？", ("十天", "十二天")),
    ],
)
def test_several_that_are_named_are_all_answered(
    tmp_path: Path, documents: Mapping[str, str], question: str, figures: tuple[str, str]
) -> None:
    text = answer_of(tmp_path, documents, question)
    assert all(figure in text for figure in figures), text


def test_a_page_of_no_one_thing_and_a_line_about_the_named_one_stay(tmp_path: Path) -> None:
    documents = {
        **FILES,
        "lisbon.md": "# Lisbon\n\nFor a hotel in Oslo staff of Lisbon get 25 dollars more.",
        "parking.md": "# Parking\n\nA hotel garage may cost 30 dollars on top of the hotel.",
    }
    text = answer_of(tmp_path, documents, "How much may a hotel cost in Oslo?")
    assert "210" in text
    assert "25 dollars" in text
    assert "30 dollars" in text
