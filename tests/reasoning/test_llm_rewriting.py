"""The rewriter over a model: one of two ways, a text to search with, and nothing of it as evidence."""

from __future__ import annotations

from typing import Any

import pytest

from anabranch.errors import UnusableReplyError
from anabranch.lexicon import Lexicon
from anabranch.reasoning.llm_rewriting import LlmRewriter
from anabranch.types import Rewrite
from fakes import MISSING, passage
from scripted_chat import Replies

QUESTION = "How much leave do trainees in Boston get?"


async def rewritten(**reply: Any) -> Rewrite | None:
    rewriter = LlmRewriter(Replies({"method": "step_back", "reason": "narrow", **reply}), key=b"k")
    return await rewriter.rewrite(QUESTION, [passage()], MISSING, lexicon=Lexicon())


@pytest.mark.parametrize("method", ["step_back", "hyde"])
async def test_the_way_the_text_and_the_reason_are_the_models(method: str) -> None:
    rewrite = await rewritten(method=method, query="How much leave is there?")
    assert rewrite == Rewrite(method, "How much leave is there?", "narrow")  # type: ignore[arg-type]


async def test_the_question_again_is_no_rewrite() -> None:
    assert await rewritten(query=QUESTION.upper()) is None


@pytest.mark.parametrize("query", ["", "   ", "?!"])
async def test_a_text_without_a_word_to_search_for_is_unusable(query: str) -> None:
    with pytest.raises(UnusableReplyError, match="no word to search for"):
        await rewritten(query=query)


async def test_a_text_is_no_longer_than_an_encoder_reads() -> None:
    rewrite = await rewritten(method="hyde", query="leave is granted by law " * 200)
    assert rewrite is not None
    assert len(rewrite.query) <= 1_000


async def test_it_is_told_what_was_found_and_what_was_not() -> None:
    model = Replies({"method": "hyde", "query": "trainees have leave", "reason": ""})
    rewriter = LlmRewriter(model, key=b"k")
    await rewriter.rewrite(QUESTION, [passage()], MISSING, lexicon=Lexicon())
    user = model.prompts[0].user
    assert "Annual leave is 30 days." in user
    assert "nothing found on\nBoston\n" in user


async def test_nothing_found_at_all_is_rewritten_too() -> None:
    model = Replies({"method": "step_back", "query": "leave", "reason": ""})
    rewrite = await LlmRewriter(model, key=b"k").rewrite(QUESTION, [], MISSING, lexicon=Lexicon())
    assert rewrite is not None
