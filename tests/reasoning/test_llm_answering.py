"""The answerer over a model: written from numbered evidence, streamed, each citation with its quote."""

from __future__ import annotations

from typing import Any

import pytest

from anabranch.errors import UnusableReplyError
from anabranch.reasoning.llm_answering import LlmAnswerer
from anabranch.types import Answer, SubQuestion
from fakes import evidence
from scripted_chat import Replies

EVIDENCE = [
    evidence("The office opened in 2011. Annual leave is 30 days. Dogs are welcome.", 1),
    evidence("每年有二十天年假。食堂中午开门。", 2),
]


async def written(reply: Any, heard: list[str] | None = None) -> Answer:
    say = (heard if heard is not None else []).append
    answerer = LlmAnswerer(Replies(reply), say, key=b"k")
    return await answerer.answer("How much leave?", EVIDENCE, sub_questions=())


async def test_the_answer_is_the_models_and_comes_as_it_is_written() -> None:
    heard: list[str] = []
    answer = await written("Leave is 30 days a year [1].", heard)
    assert (answer.text, answer.mode) == ("Leave is 30 days a year [1].", "llm")
    assert "".join(heard) == answer.text
    assert len(heard) == 2


async def test_a_citation_quotes_what_comes_closest_in_its_evidence() -> None:
    answer = await written("Leave is 30 days a year [1]. 年假有二十天 [2]。")
    assert [(c.marker, c.evidence, c.quote) for c in answer.citations] == [
        (1, "e1", "Annual leave is 30 days."),
        (2, "e2", "每年有二十天年假。"),
    ]
    assert all(c.quote in EVIDENCE[c.marker - 1].text for c in answer.citations)


@pytest.mark.parametrize(
    "text", ["", "Leave is 30 days.", "Leave is 30 days [7].", "I cannot say."]
)
async def test_an_answer_that_cites_nothing_that_there_is_cannot_be_used(text: str) -> None:
    with pytest.raises(UnusableReplyError, match="cites none"):
        await written(text)


async def test_evidence_and_parts_are_fenced() -> None:
    model = Replies("Leave is 30 days [1].")
    parts = [SubQuestion("s1", "How much in Berlin?"), SubQuestion("s2", "How much in Boston?")]
    await LlmAnswerer(model, lambda _: None, key=b"k").answer(
        "Both?", EVIDENCE, sub_questions=parts
    )
    prompt = model.prompts[0]
    assert "Berlin" not in prompt.system
    assert "evidence 2" in prompt.user
    assert "How much in Berlin?\nHow much in Boston?" in prompt.user


async def test_no_evidence_costs_no_call() -> None:
    model = Replies()
    answer = await LlmAnswerer(model, lambda _: None, key=b"k").answer("?", [], sub_questions=())
    assert (answer.text, model.prompts) == ("", [])
