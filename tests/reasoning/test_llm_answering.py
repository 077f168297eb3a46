"""The answerer over a model: written from numbered evidence, streamed, each citation with its quote."""

from __future__ import annotations

from typing import Any

import pytest

from anabranch.errors import UnusableReplyError
from anabranch.reasoning.llm_answering import LlmAnswerer, Spoken
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


@pytest.mark.parametrize(
    "thinking",
    ["<think>It may be 47 [1]. Or not.</think>\n\n", "\n<THINKING>\nhm\n</THINKING> ",
     "<reasoning></reasoning>"],
)  # fmt: skip
async def test_what_a_model_thinks_aloud_is_never_said(thinking: str) -> None:
    spoken, whole = Spoken(), f"{thinking}Leave is 30 days a year [1]."
    said = "".join(spoken.feed(character) for character in whole)
    assert said.strip() == "Leave is 30 days a year [1]."
    assert (await written(whole)).text == said.strip()


async def test_thinking_without_its_first_tag_is_not_in_the_answer() -> None:
    assert (await written("Hm, 47?</think>Leave is 30 days [1].")).text == "Leave is 30 days [1]."


async def test_thinking_without_an_end_is_no_answer() -> None:
    heard: list[str] = []
    with pytest.raises(UnusableReplyError):
        await written("<think>It is 30 days [1]. Or 20 [2].", heard)
    assert heard == []


@pytest.mark.parametrize("text", ["It < 30 days [1].", "<b>30</b> days [1].", "< 30 days [1]."])
async def test_other_brackets_are_text(text: str) -> None:
    spoken = Spoken()
    assert "".join(spoken.feed(character) for character in text) == text


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
