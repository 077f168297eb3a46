"""Where the question names one of several things of a kind, the answer is about that one alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from anabranch import KnowledgeBase, Outcome, Turn

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


def filled(folder: Path, documents: Mapping[str, str]) -> KnowledgeBase:
    for name, text in documents.items():
        file = folder / "documents" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", encoding="utf-8")
    base = KnowledgeBase.open(folder / "kb")
    base.add(folder / "documents")
    return base


def text_of(outcome: Outcome) -> str:
    assert outcome.clarification is None, outcome.clarification
    assert outcome.answer is not None, outcome.status
    return outcome.answer.text


def answer_of(folder: Path, documents: Mapping[str, str], question: str, *, reply: str = "") -> str:
    with filled(folder, documents) as base:
        outcome = base.ask(question)
        if reply:
            assert outcome.clarification is not None
            outcome = base.resume(outcome.resume, reply)
        return text_of(outcome)


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
        (SENTENCES, "How much may employees spend on hotels?", "Lisbon", "140", "210"),
        (CITY_TITLES, "员工的年假有几天？", "成都", "十二天", "十天"),
    ],
)
def test_the_option_that_was_chosen_is_answered_alone(
    tmp_path: Path, documents: Mapping[str, str], question: str, reply: str, said: str, other: str
) -> None:
    text = answer_of(tmp_path, documents, question, reply=reply)
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


MEALS = {
    "offices/oslo/travel.md": "# Travel, Oslo office\n\nA hotel may cost up to 210 dollars a night.\n\n"
    "A meal may cost up to 45 dollars.",
    "offices/lisbon/travel.md": "# Travel, Lisbon office\n\nA hotel may cost up to 140 dollars a night.\n\n"
    "A meal may cost up to 30 dollars.",
    "canteen.md": "# Canteen\n\nThe canteen is closed in August.",
}
RULES = {
    "a.md": "# 上海分公司规定\n\n员工每年有年假十天。员工每年有病假六天。",
    "b.md": "# 成都分公司规定\n\n员工每年有年假十二天。员工每年有病假八天。",
}


def said(*texts: str) -> list[Turn]:
    return [Turn("assistant" if n % 2 else "user", text) for n, text in enumerate(texts)]


SETTLED = said(
    "How much may a hotel cost?", "Which do you mean: Oslo or Lisbon?",
    "How much may a hotel cost? Lisbon", "A hotel may cost up to 140 dollars a night.",
)  # fmt: skip
SINCE = said(
    "When is the canteen closed?", "In August.", "Who runs it?", "The documents do not say."
)
CHINESE = said(
    "员工的年假有几天？",
    "您指的是哪一个：上海还是成都？",
    "员工的年假有几天？ 成都",
    "员工每年有年假十二天。",
)


@pytest.mark.parametrize(
    ("documents", "question", "history", "label", "told", "other"),
    [
        (MEALS, "How much may a meal cost?", SETTLED, "Lisbon", "30", "45"),
        (MEALS, "How much may a meal cost?", [*SETTLED, *SINCE], "Lisbon", "30", "45"),
        (MEALS, "How much may a meal cost?", [*SETTLED, *said("And in Oslo?", "210.")], "Oslo", "45", "30"),
        (RULES, "员工的病假有几天？", CHINESE, "成都", "八天", "六天"),
    ],
)  # fmt: skip
def test_what_the_conversation_settled_is_not_asked_again_and_is_answered(
    tmp_path: Path,
    documents: Mapping[str, str],
    question: str,
    history: list[Turn],
    label: str,
    told: str,
    other: str,
) -> None:
    with filled(tmp_path, documents) as base:
        assert base.retrieve(question).clarification is not None
        outcome = base.ask(question, history=history)
    assert outcome.effective_question == f"{question} {label}"
    assert told in text_of(outcome)
    assert other not in text_of(outcome)


def test_a_question_that_nothing_is_open_in_is_left_as_it_is(tmp_path: Path) -> None:
    with filled(tmp_path, MEALS) as base:
        outcome = base.ask("When is the canteen closed?", history=SETTLED)
        assert outcome.effective_question == "When is the canteen closed?"
        both = base.ask("How much may a meal cost at every office?", history=SETTLED)
        assert "30" in text_of(both)
        assert "45" in text_of(both)
        another = base.ask("How much may a meal cost at the other office?", history=SETTLED)
        assert not another.effective_question.endswith("Lisbon")


def test_what_is_settled_holds_for_every_part_of_a_question(tmp_path: Path) -> None:
    with filled(tmp_path, MEALS) as base:
        outcome = base.ask(
            "How much may a hotel cost and how much may a meal cost?", history=SETTLED
        )
        text = text_of(outcome)
    assert outcome.sub_questions
    assert all(figure in text for figure in ("140", "30"))
    assert not any(figure in text for figure in ("210", "45"))
