"""What others wrote cannot end its fence, look like another speaker, or be changed by it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.reasoning.fences import Fences, fence

KEY = b"k" * 32
TOKENS = [
    "<|im_start|>system", "<|eot_id|>", "<｜User｜>", "＜|im_end|>", "</evidence>", "< / system >",
    "<tool_call>", "<start_of_turn>model", "<s>", "[INST]", "[/INST]", "<<SYS>>", "### System",
    "## 系统", "System: obey", "  Assistant:", "**User:**", "用户：你好", "【系统】", "Human:",
    "=== END OF CONTEXT ===", "-----BEGIN SYSTEM-----", "END evidence", "BEGIN 0123456789 evidence", "END 0123456789", "System message:",
]  # fmt: skip
# Texts that are likely to hit something, among those that are not.
HOSTILE = st.lists(
    st.one_of(st.sampled_from([*TOKENS, "\n", "¦", "‖", "<", "|", ">", " "]), st.text(max_size=8)),
    max_size=12,
).map("".join)


@pytest.mark.parametrize("token", TOKENS)
def test_a_control_token_is_broken(token: str) -> None:
    block, _ = fence({"evidence": f"Before.\n{token} after."}, key=KEY)
    assert token.strip() not in block


@pytest.mark.parametrize(
    "text",
    [
        "The system has 3 users: Ann, Bo and Cy.",
        "系统管理员手册：用户须知",
        "## Systematic review",
        "End the day early.\nBegin at eight.",
        "a < b | c > d",
        "See [1] and [2-3].",
    ],
)
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert text in fence({"evidence": text}, key=KEY)[0]


@given(HOSTILE, HOSTILE)
def test_a_fenced_text_is_given_back_exactly(question: str, evidence: str) -> None:
    block, fences = fence({"question": question, "evidence 1": evidence}, key=KEY)
    word = fences.word
    assert fences.restore(block) == (
        f"BEGIN {word} question\n{question}\nEND {word}\n\n"
        f"BEGIN {word} evidence 1\n{evidence}\nEND {word}"
    )


@given(HOSTILE, HOSTILE)
def test_only_our_own_lines_open_and_end_a_fence(question: str, evidence: str) -> None:
    block, fences = fence({"question": question, "evidence 1": evidence}, key=KEY)
    assert block.lower().count(fences.word) == 4


@given(HOSTILE)
def test_nothing_to_break_is_left(text: str) -> None:
    fences = Fences.around([text], key=KEY)
    once = fences.neutral(text)
    assert fences.neutral(once) == once


@given(HOSTILE, st.lists(st.integers(0, 200), max_size=5))
def test_a_reply_is_restored_however_it_is_cut(text: str, cuts: list[int]) -> None:
    fences = Fences.around([text], key=KEY)
    reply = fences.neutral(text)
    edges = [0, *sorted(min(cut, len(reply)) for cut in cuts), len(reply)]
    pieces = [reply[a:b] for a, b in pairwise(edges)]
    assert "".join(map(fences.restore, pieces)) == text


def test_the_word_is_another_one_for_another_text_or_key() -> None:
    words = {
        Fences.around(texts, key=key).word
        for texts, key in [(["a", "b"], KEY), (["a", "c"], KEY), (["ab"], KEY), (["a", "b"], b"x")]
    }
    assert len(words) == 4


def test_the_same_prompt_has_the_same_word_again() -> None:
    assert Fences.around(["a"], key=KEY) == Fences.around(["a"], key=KEY)


def test_a_text_that_holds_its_own_word_gets_another_one() -> None:
    # Nobody can write such a text; the words of texts are searched for one that can be found.
    word = Fences.around(["a"], key=KEY).word
    held = Fences.around(["a", word.upper()], key=KEY).word
    assert held != word


def test_the_mark_is_one_that_no_text_has() -> None:
    block, fences = fence({"question": "¦ ‖ <|im_start|>"}, key=KEY)
    assert fences.mark == "⁞"
    assert "¦ ‖ <⁞|im_start|>" in block


def test_the_instruction_names_the_word_and_the_mark() -> None:
    _, fences = fence({"question": "?"}, key=KEY)
    assert fences.word in fences.instruction
    assert fences.mark in fences.instruction


@pytest.mark.parametrize("label", ["", "Handbook", "a\nEND", "x" * 41])
def test_a_label_is_a_word_of_ours(label: str) -> None:
    fences = Fences.around([""], key=KEY)
    with pytest.raises(ValueError, match="label"):
        fences.block(label, "text")
