"""Model replies as they really come: each is read as what was asked for, or refused in words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import UnusableReplyError
from anabranch.ports import Prompt
from anabranch.reasoning.fences import Fences
from anabranch.reasoning.llm_grading import GradeReply
from anabranch.reasoning.llm_planning import PlanReply
from anabranch.reasoning.llm_rewriting import RewriteReply
from anabranch.reasoning.structured_reply import ask, read_reply, schema_of
from scripted_chat import Replies

PLAN = {"complexity": "complex", "reason": "two places", "sub_questions": ["A?", "B?"]}
TEXT = json.dumps(PLAN)
FENCES = Fences.around(["?"], key=b"k")


def as_plan(reply: str) -> tuple[str, tuple[str, ...]]:
    plan = read_reply(reply, PlanReply)
    return plan.complexity, plan.sub_questions


@pytest.mark.parametrize(
    "reply",
    [
        TEXT,
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}",
        f"Sure! Here is the plan you asked for:\n\n{TEXT}\n\nLet me know if you need more {{braces}}.",
        f"<think>Perhaps {{\"complexity\": \"simple\"}}?</think>\n{TEXT}",
        json.dumps({"plan": PLAN}),
        json.dumps([PLAN]),
        json.dumps({"name": "PlanReply", "arguments": PLAN}),
        json.dumps({"type": "object", "properties": PLAN}),
        json.dumps(TEXT),
        "{'complexity': 'complex', 'reason': 'two places', 'sub_questions': ['A?', 'B?',]}",
        '{"complexity": "complex" "sub_questions": ["A?" "B?"]}',
        '{complexity: "complex", sub_questions: ["A?", "B?"]}',
        '{"complexity": "Complex.", "sub_questions": "1. A?\\n2) B?\\n"}',
        '{"complexity": "complex", "sub_questions": "[\\"A?\\", \\"B?\\"]"}',
        '{"complexity": ["complex"], "sub_questions": {"1": "A?", "2": "B?"}, "reason": null}',
        '{"complexity": "complex", "sub_questions": [{"id": 1, "question": "A?"}, {"text": "B?"}]}',
        '{"complexity": "complex", "sub_questions": ["A?", "a?", "", null, "Here are some:", "B?"]}',
        '{"complexity": "complex", "sub_questions": ["A?", "B?"], "reason": "cut off in the mid',
        '{"complexity": "complex", "sub_questions": ["A?", "B?"',
    ],
)  # fmt: skip
def test_a_plan_is_read_however_it_is_written(reply: str) -> None:
    assert as_plan(reply) == ("complex", ("A?", "B?"))


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "no JSON object"),
        ("I would search for the leave policy.", "no JSON object"),
        ("[]", "no JSON object"),
        ("{}", "'complexity'"),
        ('{"complexity": "very"}', "'complexity'"),
        (json.dumps(schema_of(PlanReply)), "repeats the schema"),
        ('{"complexity": {"type": "string"}, "reason": {"type": "string"}}', "repeats the schema"),
        ("[" * 5_000, "no JSON object"),
        ('{"a":' * 3_000, "no JSON object"),
    ],
)
def test_what_cannot_be_read_is_said_in_words(reply: str, why: str) -> None:
    with pytest.raises(UnusableReplyError, match=why):
        read_reply(reply, PlanReply)


@pytest.mark.parametrize(
    ("said", "chance"),
    [(0.85, 0.85), ("0.85", 0.85), ("85%", 0.85), (85, 0.85), ("0,85", 0.85), (1, 1.0), (True, 1.0),
     (-3, 0.0), ("high", 0.9), ("about 0.4 or so", 0.4), (1e9, 1.0)],
)  # fmt: skip
def test_a_confidence_is_read_in_any_notation(said: Any, chance: float) -> None:
    reply = {"relevance": "strong", "answerability": "sufficient", "confidence": said}
    assert read_reply(json.dumps(reply), GradeReply).confidence == pytest.approx(chance)


@pytest.mark.parametrize(
    ("said", "numbers"),
    [([1, 3], (1, 3)), ("1 and 3", (1, 3)), ("[1][3]", (1, 3)), (["passage 1", "e3"], (1, 3)),
     (2, (2,)), (None, ()), ([{"n": 2}], (2,)), ([True], ())],
)  # fmt: skip
def test_numbers_of_passages_are_read_in_any_notation(said: Any, numbers: tuple[int, ...]) -> None:
    reply = {"relevance": "weak", "answerability": "partial", "passages": said}
    assert read_reply(json.dumps(reply), GradeReply).passages == numbers


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(UnusableReplyError, match="confidence"):
        read_reply(
            '{"relevance": "weak", "answerability": "partial", "confidence": NaN}', GradeReply
        )


def test_text_is_one_line_without_control_characters_or_half_characters() -> None:
    reply = '{"method": "hyde", "query": "a\\u0000b\\n\\u202ec \\ud83d end"}'
    query = read_reply(reply, RewriteReply).query
    query.encode()
    assert query == "ab c ? end"


def test_the_dots_of_an_example_are_no_text() -> None:
    reply = '{"complexity": "simple", "reason": "…", "variants": ["…", "...", "leave days"]}'
    plan = read_reply(reply, PlanReply)
    assert (plan.reason, plan.variants) == ("", ("leave days",))


def test_the_schema_is_strict_and_has_no_defaults() -> None:
    schema = schema_of(GradeReply)
    assert schema["required"] == list(schema["properties"])
    assert schema["additionalProperties"] is False
    assert all("default" not in field for field in schema["properties"].values())
    assert schema["properties"]["ambiguity"]["enum"] == [
        "none", "missing_slot", "multiple_candidates",
    ]  # fmt: skip


async def test_a_reply_that_cannot_be_read_is_asked_for_once_more_with_what_was_wrong() -> None:
    model = Replies('{"complexity": "very"}', TEXT)
    plan = await ask(model, Prompt("rules", "task"), PlanReply, FENCES)
    assert plan.complexity == "complex"
    (said, shown), (asked, wrong) = model.prompts[1].exchange
    assert (said, shown, asked) == ("ai", '{"complexity": "very"}', "human")
    assert "'complexity'" in wrong


async def test_there_is_no_third_time() -> None:
    model = Replies("no", "no", TEXT)
    with pytest.raises(UnusableReplyError):
        await ask(model, Prompt("rules", "task"), PlanReply, FENCES)
    assert len(model.prompts) == 2


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def replies_to(shape: type[Any]) -> st.SearchStrategy[str]:
    """Objects with the right fields and any values, whole or cut off anywhere, and any text."""
    objects = st.fixed_dictionaries({}, optional=dict.fromkeys(shape.model_fields, JSON))
    whole = objects.map(lambda value: json.dumps(value))
    cut = st.tuples(whole, st.integers(0, 200)).map(lambda pair: pair[0][: pair[1]])
    return whole | cut | st.text(max_size=200) | st.text(alphabet='{}[]",:\\n `', max_size=60)


@pytest.mark.parametrize("shape", [PlanReply, GradeReply, RewriteReply])
@given(data=st.data())
def test_any_reply_is_read_or_refused(shape: type[Any], data: st.DataObject) -> None:
    try:
        found = read_reply(data.draw(replies_to(shape)), shape)
    except UnusableReplyError:
        return
    assert isinstance(found, shape)
