"""People's plans in place of one made here: read as they are meant, measured on what can be found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from benchmarks.conversations import likeness, token_f1, write_searchable
from benchmarks.gold_plan import planners, sub_questions
from tests.scripted_model import SIMPLE

from anabranch.evaluation.datasets import EvalQuery, load_dataset


def turn(name: str, text: str, *said: str, rewrite: str = "") -> EvalQuery:
    """A question after what was ``said``, the user first and by turns."""
    history = [
        {"speaker": "agent" if place % 2 else "user", "text": words}
        for place, words in enumerate(said)
    ]
    title = ["Frank Zappa", "Disbandment"]
    metadata = {"history": history, "rewrite": rewrite or text, "context_title": title}
    return EvalQuery(name, text, metadata)


FIRST = turn("c_1", "What group disbanded?")
SECOND = turn(
    "c_2", "When did they disband?", "What group disbanded?", "The Mothers of Invention",
    rewrite="When did The Mothers of Invention disband?",
)  # fmt: skip
THIRD = turn(
    "c_3", "Why?", "What group disbanded?", "The Mothers of Invention", "When did they disband?",
    "I don't know.", rewrite="Why did The Mothers of Invention disband?",
)  # fmt: skip


def asking(question: str, *said: str) -> dict[str, Any]:
    fenced = f"BEGIN x1 question\n{question}\nEND x1"
    return {"messages": [{"role": "user", "content": "\n".join((*said, fenced))}]}


def test_what_was_answered_is_what_a_question_must_find(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    assert write_searchable([FIRST, SECOND, THIRD], folder) == 1  # no answer, and none known yet
    dataset = load_dataset(folder)
    assert [document.text for document in dataset.documents()] == ["The Mothers of Invention"]
    assert [document.title for document in dataset.documents()] == ["Frank Zappa, Disbandment"]
    assert dataset.qrels == {"c_1": {"c_1": 1}}


def test_an_answer_of_another_conversation_is_nobodys(tmp_path: Path) -> None:
    other = turn("c_2", "When was that?", "Who founded it?", "Somebody")
    assert write_searchable([FIRST, other], tmp_path / "set") == 0


def test_likeness_is_told_apart_by_what_people_changed() -> None:
    found = likeness([FIRST, SECOND])
    assert found["changed_by_people"]["n"] == 1
    assert found["changed_by_people"]["before"] == pytest.approx(
        token_f1(SECOND.text, str(SECOND.metadata["rewrite"])), abs=1e-6
    )
    assert found["left_alone_by_people"] == {"n": 1, "left_alone_here": 1.0}


def test_the_f1_counts_a_word_as_often_as_it_is_there() -> None:
    assert token_f1("the group, the band", "the band") == pytest.approx(2 * 2 / 6)
    assert token_f1("nothing of it", "a band") == 0.0


def test_the_same_question_is_rewritten_by_its_conversation() -> None:
    elsewhere = turn("d_2", "Why?", "Who left?", "Somebody else", rewrite="Why did somebody leave?")
    begun = turn("e_2", "Why?", "What group disbanded?", "The Mothers of Invention", rewrite="?")
    plan = planners([THIRD, elsewhere, begun])["rewrites"]
    said = [item["text"] for item in THIRD.metadata["history"]]
    assert plan(asking("Why?", *said))["standalone"] == THIRD.metadata["rewrite"]
    assert plan(asking("Why?", *said[:2]))["standalone"] == "?"
    assert plan(asking("Why?", "Who left?", "Somebody else"))["standalone"] == (
        "Why did somebody leave?"
    )
    assert plan(asking("Why?", "Something that nobody said")) == SIMPLE


def test_conversations_that_cannot_be_told_apart_are_planned_by_nobody() -> None:
    twin = turn("d_2", SECOND.text, "What group disbanded?", "The Mothers of Invention")
    plan = planners([SECOND, twin])["rewrites"]
    with pytest.raises(LookupError, match="2 rewrites"):
        plan(asking(SECOND.text, "What group disbanded?", "The Mothers of Invention"))


def test_the_answers_are_filled_in_only_where_a_set_has_them() -> None:
    steps = ["Who made it?", "When was #1 born?"]
    with_answers = [{"question": steps[0], "answer": "Ann"}, {"question": steps[1], "answer": "1"}]
    bare = EvalQuery("1", "When was its maker born?", {"sub_questions": steps})
    full = EvalQuery("1", "When was its maker born?", {"sub_questions": with_answers})
    assert list(planners([bare])) == ["questions"]
    assert list(planners([full])) == ["questions", "answers"]
    assert sub_questions(steps, fill="questions")[1] == "When was Who made it born?"
    assert sub_questions(with_answers, fill="answers")[1] == "When was Ann born?"


def test_a_question_of_one_part_is_planned_as_simple() -> None:
    query = EvalQuery("1", "Who made it?", {"sub_questions": ["Who made it?"]})
    (plan,) = planners([query]).values()
    reply = plan(asking("Who made it?"))
    assert reply["complexity"] == "simple"
    assert reply.keys() == SIMPLE.keys()
