"""Conflicts that a model proposes count where their quotations stand, and the answer names both."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from anabranch.knowledge_base import KnowledgeBase
from anabranch.ports import Prompt
from anabranch.reasoning.llm_conflicts import (
    ConflictsReply,
    LlmConflictFinder,
    Pair,
    verified,
)
from anabranch.settings import load_settings
from anabranch.types import Effort, Outcome
from fakes import KEY, evidence
from scripted_model import Line, ScriptedModel, role_of

ITEMS = [
    evidence(
        "The Berlin office is led by Mary Stone.\nIt opens at eight.", 1, source_id="a", start=10
    ),
    evidence("The Berlin office is led by\nJohn Reed since May.", 2, source_id="b"),
    evidence("柏林办公室由张伟负责。", 3, source_id="c"),
    evidence("柏林办公室由李娜负责。", 4, source_id="d"),
    evidence("The Berlin office is led by Ann Lee.", 5, source_id="a"),
]


def pair(first: int, one: str, second: int, other: str) -> Pair:
    return Pair(fact="who leads", first=first, first_quote=one, second=second, second_quote=other)


def test_quotations_are_found_in_their_documents_whatever_the_line_breaks() -> None:
    [conflict] = verified(
        [pair(1, "led by Mary Stone.", 2, "is led by John Reed")], ITEMS, known=()
    )
    assert [(v.value, v.evidence, v.start, v.end) for v in conflict.values] == [
        ("led by Mary Stone", "e1", 31, 48),
        ("is led by\nJohn Reed", "e2", 18, 37),
    ]
    assert conflict.fact == "who leads"


def test_chinese_quotations_are_found_too() -> None:
    [conflict] = verified([pair(3, "由张伟负责", 4, "由李娜负责。")], ITEMS, known=())
    assert [value.value for value in conflict.values] == ["由张伟负责", "由李娜负责"]


@pytest.mark.parametrize(
    "proposed",
    [
        pair(1, "led by Mary Smith", 2, "led by John Reed"),  # not what stands there
        pair(1, "led by John Reed", 2, "led by John Reed"),  # stands in the other one
        pair(1, "led by Mary Stone", 9, "led by John Reed"),  # no such passage
        pair(1, "led by Mary Stone", 5, "led by Ann Lee"),  # one document
        pair(1, "It opens at eight", 2, "led by John Reed"),  # nothing in common
        pair(1, "The Berlin office is led by", 2, "The Berlin office is led by"),  # no difference
        pair(1, "", 2, "led by John Reed"),
        pair(1, "Berlin " * 100, 2, "led by John Reed"),
    ],
)
def test_what_cannot_be_verified_is_dropped(proposed: Pair) -> None:
    assert verified([proposed], ITEMS, known=()) == ()


def test_what_is_known_already_is_not_said_twice() -> None:
    proposed = pair(1, "led by Mary Stone", 2, "led by John Reed")
    found = verified([proposed, proposed], ITEMS, known=())
    assert len(found) == 1
    assert verified([proposed], ITEMS, known=found) == ()


@pytest.mark.parametrize(
    "given", [None, "none", {}, [1, "a", {"first": 1}], [{"first": "x"}], [[[]]]]
)
def test_a_reply_of_another_shape_has_no_pairs(given: Any) -> None:
    assert ConflictsReply.model_validate({"conflicts": given}).conflicts == ()


# ------------------------------------------------------------------------------- when it is asked


class Asked:
    """A chat model that finds nothing and counts."""

    def __init__(self) -> None:
        self.calls = 0

    async def complete(self, prompt: Prompt, *, schema: Mapping[str, Any] | None = None) -> str:
        self.calls += 1
        return '{"conflicts": []}'

    async def write(self, prompt: Prompt, say: Callable[[str], None]) -> str:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("effort", "texts", "calls"),
    [
        ("standard", ["Annual leave is 30 days.", "Staff have annual leave of 28 days."], 1),
        ("standard", ["年假为30天。", "年假是28天。"], 1),
        ("standard", ["Annual leave is 30 days.", "Annual leave is 30 days a year."], 0),
        (
            "standard",
            ["The annual leave of Berlin is 30 days.", "The annual leave of Boston is 20 days."],
            0,
        ),
        ("standard", ["Annual leave is 30 days.", "The canteen opens in 28 days."], 0),
        ("thorough", ["Annual leave is generous.", "There is no annual leave."], 1),
        ("thorough", ["Annual leave is generous."], 0),
    ],
)
async def test_it_is_asked_only_where_there_may_be_a_conflict(
    effort: Effort, texts: list[str], calls: int
) -> None:
    items = [
        evidence(text, n, source_id=f"s{n}", title="") for n, text in enumerate(texts, start=1)
    ]
    model = Asked()
    question = "年假有多少天？" if "年假" in texts[0] else "How long is the annual leave?"
    found = await LlmConflictFinder(model, effort=effort, key=KEY).find(question, items, ())
    assert found == ()
    assert model.calls == calls


# -------------------------------------------------------------------------- in the run of a question

BERLIN = "# Berlin office\n\nThe Berlin office is led by Mary Stone. Its staff counts 40 people.\n"
REVIEW = (
    "# Review of the year\n\nThe Berlin office is led by John Reed. Its staff counts 42 people.\n"
)
QUESTION = "Who is the Berlin office led by?"


def model(request: Mapping[str, Any]) -> Any:
    prompt = request["messages"][1]["content"]
    numbers = {
        name: int(number)
        for number, name in re.findall(
            r"^BEGIN \w+ (?:evidence|passage) (\d+)\n(?:.*\n)*?.*led by (Mary Stone|John Reed)",
            prompt,
            re.M,
        )
    }
    match role_of(request):
        case "plan":
            return {
                "complexity": "simple",
                "reason": "",
                "standalone": "",
                "sub_questions": [],
                "variants": [],
            }
        case "grade":
            return {"relevance": "strong", "answerability": "sufficient", "confidence": 0.9,
                    "passages": [1, 2], "missing_slots": [], "ambiguity": "none", "hitl_prompt": "",
                    "hitl_options": [], "route": "answer", "reason": ""}  # fmt: skip
        case "conflicts":
            return {"conflicts": [{
                "fact": "head of the Berlin office", "first": numbers["Mary Stone"],
                "first_quote": "led by Mary Stone", "second": numbers["John Reed"],
                "second_quote": "led by John Reed"}]}  # fmt: skip
    return f"The Berlin office is led by Mary Stone [{numbers['Mary Stone']}]."


def asked(folder: Path, script: Any, **options: Any) -> tuple[Outcome, ScriptedModel]:
    (folder / "docs").mkdir()
    (folder / "docs" / "berlin.md").write_text(BERLIN)
    (folder / "docs" / "review.md").write_text(REVIEW)
    with ScriptedModel(script) as running:
        settings = load_settings(
            kb=folder / "kb", model="openai:scripted", model_base_url=running.url, model_api_key="k"
        )
        with KnowledgeBase.open(settings=settings) as base:
            base.add(folder / "docs")
            return base.ask(QUESTION, **options), running


def test_an_answer_that_rests_on_one_side_names_the_other(tmp_path: Path) -> None:
    outcome, _ = asked(tmp_path, model, effort="thorough")
    head = next(c for c in outcome.conflicts if c.fact == "head of the Berlin office")
    assert {value.value for value in head.values} == {"led by Mary Stone", "led by John Reed"}
    assert outcome.answer is not None
    assert (
        "Another source says otherwise: “The Berlin office is led by John Reed.”"
        in outcome.answer.text
    )
    assert {citation.evidence for citation in outcome.answer.citations} == {"e1", "e2"}
    assert outcome.answer.unsupported == ()


def test_where_the_model_fails_the_conflicts_found_by_rule_stand(tmp_path: Path) -> None:
    def broken(request: Mapping[str, Any]) -> Any:
        return Line(status=500) if role_of(request) == "conflicts" else model(request)

    outcome, _ = asked(tmp_path, broken, effort="thorough")
    assert outcome.conflicts == ()
    assert [failure.where for failure in outcome.failures] == ["conflicts.model"]
    assert outcome.answer is not None
    assert outcome.answer.text.startswith("The Berlin office is led by Mary Stone")


def test_at_minimal_effort_no_model_compares(tmp_path: Path) -> None:
    _, running = asked(tmp_path, model, effort="minimal")
    assert running.requests == []
