"""What a session's messages are as earlier turns."""

from __future__ import annotations

from anabranch.notes import turns_of
from anabranch.records import Message
from anabranch.types import Turn


def message(position: int, role: str, text: str, effective: str | None = None) -> Message:
    outcome = {"effective_question": effective} if effective else None
    return Message(
        id=f"m{position}", session_id="s", position=position, role=role, text=text,
        outcome=outcome, created_at="2026-01-01T00:00:00+00:00",
    )  # type: ignore[arg-type]  # fmt: skip


def test_a_reply_is_the_whole_question_that_it_completed() -> None:
    said = [
        message(1, "user", "How much leave is there?"),
        message(2, "assistant", "Which office?", "How much leave is there?"),
        message(3, "user", "Berlin"),
        message(4, "assistant", "30 days [1].", "How much leave is there? Berlin"),
    ]
    assert [turn.text for turn in turns_of(said)] == [
        "How much leave is there?", "Which office?", "How much leave is there? Berlin", "30 days.",
    ]  # fmt: skip


def test_what_has_no_answer_yet_is_as_it_was_said() -> None:
    assert turns_of([message(1, "user", "Hello")]) == [Turn("user", "Hello")]
