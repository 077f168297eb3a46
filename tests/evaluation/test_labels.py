from __future__ import annotations

from typing import Any

import pytest

from anabranch.evaluation import labels
from anabranch.evaluation.datasets import EvalQuery
from anabranch.types import Turn


def query(**metadata: Any) -> EvalQuery:
    return EvalQuery("q", "What?", metadata)


def test_history_is_read_in_every_form_that_data_sets_use() -> None:
    found = labels.history(
        query(
            history=[
                "Who was Ada?",
                {"role": "assistant", "content": "A mathematician."},
                {"speaker": "user", "text": "When?"},
                {"speaker": "agent", "text": "1815."},
                {"speaker": "agent", "text": None},
            ]
        )
    )
    assert found == (
        Turn("user", "Who was Ada?"),
        Turn("assistant", "A mathematician."),
        Turn("user", "When?"),
        Turn("assistant", "1815."),
    )


def test_a_route_label_says_whether_to_ask_unless_a_plain_label_does() -> None:
    assert labels.needs_clarification(query(route="clarify")) is True
    assert labels.needs_clarification(query(route="simple")) is False
    assert labels.needs_clarification(query(route="clarify", needs_clarification=False)) is False
    assert labels.needs_clarification(query()) is None


def test_a_question_to_ask_back_about_has_no_complexity() -> None:
    assert labels.complexity(query(route="clarify")) is None
    assert labels.complexity(query(route="complex")) == "complex"


@pytest.mark.parametrize(
    ("answer", "groups"),
    [
        ("Paris", (("Paris",),)),
        (["Paris", "Paname"], (("Paris", "Paname"),)),
        ([["1 May", "May 1"], ["Oslo"]], (("1 May", "May 1"), ("Oslo",))),
        (["Yes"], ()),
        (False, ()),
        ("", ()),
        (None, ()),
        ({"a": 1}, ()),
        ([], ()),
    ],
)
def test_gold_answers_are_groups_of_wordings(answer: Any, groups: Any) -> None:
    assert labels.gold_answers(query(answer=answer)) == groups


def test_an_unanswerable_question_has_no_gold_answer() -> None:
    assert labels.gold_answers(query(answer="Insufficient.", answerable=False)) == ()


def test_candidates_are_none_without_the_label_and_empty_when_it_is_empty() -> None:
    assert labels.candidates(query()) is None
    assert labels.candidates(query(candidates=[])) == ()
    assert labels.candidates(query(candidates=["d1"])) == ("d1",)
