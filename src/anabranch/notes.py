"""What a session's older turns come to in a few lines, and what its messages say; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from anabranch.language import has_cjk, sentence_spans
from anabranch.records import Message
from anabranch.replies import meant
from anabranch.types import Outcome, Turn

TITLE_CHARACTERS = 80
# A note is read with every question: about 400 tokens, of which a turn gets a tenth.
NOTE_CHARACTERS = 2_000
_LINE_CHARACTERS = 200
_MARKER = re.compile(r"\s*\[\d+\]")


def title_of(question: str) -> str:
    """What a session is called that began with ``question``."""
    return _cut(" ".join(question.split()), TITLE_CHARACTERS)


def said(outcome: Outcome) -> str:
    """What an outcome says to the one who asked, in the language of the question."""
    if outcome.clarification is not None:
        return "\n".join((outcome.clarification.prompt, *_listed(outcome.clarification.options)))
    if outcome.answer is not None and outcome.answer.text:
        return outcome.answer.text
    chinese = has_cjk(outcome.question)
    match outcome.status:
        case "no_knowledge":
            return "文档中没有关于这个问题的内容。" if chinese else "The documents do not say."
        case "failed":
            return "检索失败，请再试一次。" if chinese else "The search failed. Try it again."
        case _:
            return (
                "没有写出答案，证据见下。"
                if chinese
                else "No answer was written; see the evidence."
            )


def _listed(options: Sequence[str]) -> list[str]:
    return [f"- {option}" for option in options]


def condensed(note: str, messages: Sequence[Message]) -> str:
    """``note`` with a line for each message, within its length: the oldest lines go first."""
    lines = [*note.splitlines(), *(_line(message) for message in messages)]
    while lines and sum(map(len, lines)) + len(lines) > NOTE_CHARACTERS:
        lines.pop(0)
    return "\n".join(lines)


def _line(message: Message) -> str:
    who = "Q" if message.role == "user" else "A"
    return f"{who}: {_cut(_first_sentence(message.text), _LINE_CHARACTERS)}"


def _first_sentence(text: str) -> str:
    bare = " ".join(_MARKER.sub("", text).split())
    spans = sentence_spans(bare)
    return bare[spans[0][0] : spans[0][1]].strip() if spans else bare


def _cut(text: str, length: int) -> str:
    """``text`` in at most ``length`` characters, cut between words where it has any."""
    if len(text) <= length:
        return text
    cut = text[: length - 1]
    return f"{cut.rpartition(' ')[0] or cut}…"


def plain_text(text: str) -> str:
    """An answer without its citation markers, which mean nothing outside of its outcome."""
    return _MARKER.sub("", text)


def turns_of(messages: Sequence[Message]) -> list[Turn]:
    """``messages`` as earlier turns; what the user said as it was understood, where it was.

    "The Berlin office" replied to a question back: what was asked then is the whole question, and
    that is what "and in Boston?" goes on from.
    """
    understood = {
        message.position: str((following.outcome or {}).get("effective_question") or message.text)
        for message, following in pairwise(messages)
        if message.role == "user" and following.role == "assistant"
    }
    return [
        Turn(message.role, understood.get(message.position, plain_text(message.text)))
        for message in messages
    ]


def refined(snapshot: Mapping[str, Any], reply: str) -> str:
    """The question of a snapshot with the replies so far and this one, as resuming reads it."""
    question = snapshot.get("standalone") or snapshot.get("question", "")
    added = meant(reply, [str(option) for option in snapshot.get("options", ())])
    return " ".join((str(question), *map(str, snapshot.get("replies", ())), added or "")).strip()
