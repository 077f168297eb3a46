"""No reply whatsoever raises out of a part: it is used, or the local part is."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.ledger import Ledger
from anabranch.lexicon import Lexicon
from anabranch.reasoning.degrading import (
    DegradingAnswerer,
    DegradingGrader,
    DegradingPlanner,
    DegradingRewriter,
)
from anabranch.reasoning.llm_answering import LlmAnswerer
from anabranch.reasoning.llm_grading import GradeReply, LlmGrader
from anabranch.reasoning.llm_planning import LlmPlanner, PlanReply
from anabranch.reasoning.llm_rewriting import LlmRewriter, RewriteReply
from anabranch.types import Answer, EvidenceGrade, Plan, Rewrite
from fakes import MISSING, FakeAnswerer, FakeGrader, FakePlanner, FakeRewriter, evidence, passage
from scripted_chat import Replies

QUESTION = "Which of the offices that opened last year has more rooms than Boston?"
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20)
    | st.sampled_from(["simple", "complex", "strong", "sufficient", "none", "hyde", "missing_slot"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


def replies(*shapes: type[Any]) -> st.SearchStrategy[list[str]]:
    """Two replies: objects with the right fields and any values, cut off or not, or any text."""
    names = {name for shape in shapes for name in shape.model_fields}
    objects = st.fixed_dictionaries({}, optional=dict.fromkeys(sorted(names), JSON)).map(json.dumps)
    cut = st.tuples(objects, st.integers(0, 120)).map(lambda pair: pair[0][: pair[1]])
    return st.lists(objects | cut | st.text(max_size=80), min_size=2, max_size=2)


@given(said=replies(PlanReply))
def test_any_reply_gives_a_plan(said: list[str]) -> None:
    ledger = Ledger()
    preferred = LlmPlanner(Replies(*said), FakePlanner(), variants=2, key=b"k")
    planner = DegradingPlanner(preferred, FakePlanner(), ledger)
    plan = asyncio.run(planner.plan(QUESTION, history=(), lexicon=Lexicon()))
    assert isinstance(plan, Plan)
    assert len(plan.sub_questions) != 1
    assert len(plan.sub_questions) <= 4
    assert len(plan.variants) <= 2
    assert {failure.kind for failure in ledger.failures} <= {"unusable_reply"}


@given(said=replies(GradeReply))
def test_any_reply_gives_a_grade(said: list[str]) -> None:
    ledger, passages = Ledger(), [passage(), passage("Noon.", "b.md")]
    preferred = LlmGrader(Replies(*said), FakeGrader(), context_tokens=500, key=b"k")
    grader = DegradingGrader(preferred, FakeGrader(), ledger)
    grade = asyncio.run(grader.grade(QUESTION, passages, history=(), lexicon=Lexicon()))
    assert isinstance(grade, EvidenceGrade)
    assert 0 <= grade.confidence <= 1
    assert len(grade.passage_relevance) == 2
    assert all(0 <= relevance <= 1 for relevance in grade.passage_relevance)
    assert {failure.kind for failure in ledger.failures} <= {"unusable_reply"}


@given(said=replies(RewriteReply))
def test_any_reply_gives_a_rewrite_or_none(said: list[str]) -> None:
    ledger = Ledger()
    rewriter = DegradingRewriter(LlmRewriter(Replies(*said), key=b"k"), FakeRewriter(), ledger)
    rewrite = asyncio.run(rewriter.rewrite(QUESTION, [passage()], MISSING, lexicon=Lexicon()))
    assert rewrite is None or isinstance(rewrite, Rewrite)
    assert {failure.kind for failure in ledger.failures} <= {"unusable_reply"}


@given(text=st.text(max_size=100) | st.text(alphabet="ab. 12[]【】\n", max_size=60))
def test_any_text_gives_an_answer(text: str) -> None:
    ledger, found = Ledger(), [evidence()]
    preferred = LlmAnswerer(Replies(text), lambda _: None, key=b"k")
    answerer = DegradingAnswerer(preferred, FakeAnswerer(), ledger)
    answer = asyncio.run(answerer.answer(QUESTION, found, sub_questions=()))
    assert isinstance(answer, Answer)
    assert answer.citations
    assert all(citation.quote in found[0].text for citation in answer.citations)
    assert {failure.kind for failure in ledger.failures} <= {"unusable_reply"}


async def test_an_error_of_our_own_is_a_failure_too() -> None:
    ledger = Ledger()
    planner = DegradingPlanner(FakePlanner(script=KeyError("oops")), FakePlanner(), ledger)
    assert (await planner.plan(QUESTION, history=(), lexicon=Lexicon())).reason == "one fact"
    (failure,) = ledger.failures
    assert (failure.where, failure.kind) == ("classify_complexity.model", "KeyError")


async def test_a_cancelled_part_does_not_become_the_local_one() -> None:
    ledger = Ledger()
    planner = DegradingPlanner(FakePlanner(script=asyncio.CancelledError()), FakePlanner(), ledger)
    with pytest.raises(asyncio.CancelledError):
        await planner.plan(QUESTION, history=(), lexicon=Lexicon())
    assert ledger.failures == []
