"""The planner over a model: what it asks for, what of the reply it keeps, when it asks nothing."""

from __future__ import annotations

from typing import Any

import pytest

from anabranch.lexicon import Lexicon
from anabranch.reasoning.llm_planning import LlmPlanner, is_plainly_simple
from anabranch.reasoning.planning import LocalPlanner
from anabranch.types import Plan, Turn
from scripted_chat import Replies

LONG = "Which of the two offices that opened last year has more rooms than the one in Boston?"
HISTORY = (Turn("user", "How much leave is there in Berlin?"), Turn("assistant", "30 days [1]."))


def planner(*replies: Any, variants: int = 3) -> tuple[LlmPlanner, Replies]:
    model = Replies(*replies)
    return LlmPlanner(model, LocalPlanner(), variants=variants, key=b"k"), model


async def planned(question: str, *replies: Any, variants: int = 3, history: Any = ()) -> Plan:
    made, _ = planner(*replies, variants=variants)
    return await made.plan(question, history=history, lexicon=Lexicon())


def said(**changes: Any) -> dict[str, Any]:
    return {"complexity": "simple", "reason": "one fact", "standalone": "", "sub_questions": [],
            "variants": [], **changes}  # fmt: skip


async def test_a_complex_question_has_the_models_parts() -> None:
    parts = ["Which offices opened last year?", "How many rooms has Boston?"]
    plan = await planned(LONG, said(complexity="complex", sub_questions=parts))
    assert plan.complexity == "complex"
    assert [(sub.id, sub.question) for sub in plan.sub_questions] == [
        ("s1", parts[0]), ("s2", parts[1]),
    ]  # fmt: skip
    assert all(part in plan.reason for part in parts)


async def test_parts_that_repeat_the_question_or_each_other_are_none() -> None:
    parts = [LONG.upper(), "How many rooms?", "how many rooms", "  ", "1. How many rooms?"]
    plan = await planned(LONG, said(complexity="complex", sub_questions=parts))
    assert (plan.complexity, plan.sub_questions) == ("simple", ())
    assert "no two parts" in plan.reason


async def test_there_are_at_most_four_parts() -> None:
    parts = [f"What is part {n}?" for n in range(9)]
    plan = await planned(LONG, said(complexity="complex", sub_questions=parts))
    assert [sub.question for sub in plan.sub_questions] == parts[:4]


async def test_a_simple_question_has_the_models_phrasings_as_many_as_may_be() -> None:
    texts = ["rooms offices", LONG.lower(), "rooms by office", "how large are they?", "more"]
    plan = await planned(LONG, said(variants=texts), variants=3)
    assert [variant.text for variant in plan.variants] == [texts[0], texts[2], texts[3]]


async def test_no_phrasings_where_none_are_allowed() -> None:
    plan = await planned(LONG, said(variants=["a", "b"]), variants=0)
    assert plan.variants == ()


async def test_a_repaired_spelling_comes_before_the_models_phrasings() -> None:
    lexicon = Lexicon(words={"warranty": 5, "offices": 3, "of": 9, "the": 9}, document_count=9)
    made, _ = planner(said(variants=["rooms"]), variants=2)
    question = "What is the waranty that the offices have, and since when?"
    plan = await made.plan(question, history=(), lexicon=lexicon)
    assert [variant.kind for variant in plan.variants] == ["spelling", "variant"]


async def test_a_follow_up_is_put_on_its_own_feet() -> None:
    plan = await planned("and in Boston?", said(standalone="How much leave is there in Boston?"), history=HISTORY)  # fmt: skip
    assert plan.standalone == "How much leave is there in Boston?"
    assert "earlier turns" in plan.filled_in


async def test_without_earlier_turns_nothing_is_filled_in() -> None:
    plan = await planned(LONG, said(standalone="Something else?"))
    assert plan.standalone == ""


async def test_earlier_turns_and_the_question_are_fenced() -> None:
    made, model = planner(said())
    await made.plan("and in Munich?", history=HISTORY, lexicon=Lexicon())
    prompt = model.prompts[0]
    assert "Munich" not in prompt.system
    assert "How much leave is there in Berlin?" in prompt.user
    assert prompt.user.startswith("BEGIN ")


async def test_a_plainly_simple_question_costs_no_call() -> None:
    made, model = planner()
    plan = await made.plan("How long is the warranty?", history=(), lexicon=Lexicon())
    assert plan.complexity == "simple"
    assert model.prompts == []


@pytest.mark.parametrize(
    "question",
    ["How long is the warranty?", "Who wrote Emma?", "年假有多少天？", "谁写了《红楼梦》？"],
)
def test_short_questions_of_one_clause_are_plainly_simple(question: str) -> None:
    assert is_plainly_simple(question)


@pytest.mark.parametrize(
    "question",
    [
        "How does leave differ between Berlin and Boston?",
        "Who directed the film that won in 1994?",
        "What is the capital, and its population?",
        LONG,
        "柏林和波士顿的年假有什么不同？",
        "《红楼梦》的作者的父亲是谁？",
    ],
)
def test_what_may_have_parts_is_not(question: str) -> None:
    assert not is_plainly_simple(question)
