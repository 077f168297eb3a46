"""Chat completions as OpenAI's clients send and read them, and what they mean here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from anabranch.errors import InputError
from anabranch.resume import from_token, to_token
from anabranch.types import ALL_COLLECTIONS, FOREIGN, Effort, Evidence, Outcome, Turn

_EFFORTS: Mapping[str, Effort] = {
    "none": "minimal", "minimal": "minimal", "low": "minimal", "medium": "standard",
    "high": "thorough", "xhigh": "thorough",
}  # fmt: skip
# A definition that nothing refers to: no reader of Markdown shows it, every client sends it back.
_MARKER = re.compile(r"\n*\[//\]: # \(anabranch:([\w-]+)\)\s*$")
_CITED = re.compile(r"\[(\d+)\]")


class Part(BaseModel):
    """A part of a message; only text is read."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    type: str
    text: Annotated[str, Field(max_length=200_000)] = ""


class ChatMessage(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Annotated[str, Field(max_length=200_000)] | list[Part] | None = None

    def text(self) -> str:
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.text)
        return self.content or ""


class StreamOptions(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    include_usage: bool = False


class ChatBody(BaseModel):
    """A chat so far; the last message is the question, or the reply to one that was asked back.

    What is not listed here (temperature, tools, …) is accepted and does nothing: answers come from
    documents. System messages are not obeyed.
    """

    model_config = ConfigDict(
        extra="ignore",
        frozen=True,
        json_schema_extra={
            "examples": [
                {
                    "model": ALL_COLLECTIONS,
                    "messages": [{"role": "user", "content": "How much annual leave is there?"}],
                }
            ]
        },
    )

    model: Annotated[str, Field(min_length=1, max_length=200)]
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=1_000)]
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: Literal[1, None] = None
    reasoning_effort: str | None = Field(
        None, description="low or less: minimal; medium: standard; high or more: thorough."
    )
    metadata: dict[str, str] | None = Field(
        None, description='{"new_question": "true"}: not a reply to what was asked back.'
    )

    def effort(self) -> Effort | None:
        if self.reasoning_effort is None:
            return None
        if self.reasoning_effort not in _EFFORTS:
            raise InputError(
                f"reasoning_effort={self.reasoning_effort!r}: it is one of {', '.join(_EFFORTS)}."
            )
        return _EFFORTS[self.reasoning_effort]

    def question(self) -> str:
        """The last message. Raises InputError where that is not the user's."""
        if self.messages[-1].role != "user":
            raise InputError("The last message is not the user's: there is nothing to answer.")
        return self.messages[-1].text()

    def history(self) -> tuple[Turn, ...]:
        return tuple(
            Turn(message.role, without_marker(message.text()))
            for message in self.messages[:-1]
            if message.role in ("user", "assistant")
        )

    def pending(self) -> dict[str, Any] | None:
        """The snapshot of the question that the last message replies to, if it does.

        Only the message right before counts: what was asked back earlier has been passed over.
        """
        if (self.metadata or {}).get("new_question", "").lower() == "true":
            return None
        said = [message for message in self.messages[:-1] if message.role in ("user", "assistant")]
        if not said or said[-1].role != "assistant":
            return None
        found = _MARKER.search(said[-1].text())
        return from_token(found[1]) if found else None


def without_marker(text: str) -> str:
    return _MARKER.sub("", text)


def marked(text: str, snapshot: Mapping[str, Any] | None) -> str:
    """``text`` that brings ``snapshot`` back when a client sends it along with the reply."""
    return text if snapshot is None else f"{text}\n\n[//]: # (anabranch:{to_token(snapshot)})"


def url_citations(outcome: Outcome, *, root: str, before: str = "") -> list[dict[str, Any]]:
    """A citation for each marker in what is said, at its place; ``root`` is the service's address.

    ``before`` is what was sent of an answer that broke off; the outcome's stands behind it.
    """
    numbered = dict(enumerate(outcome.evidence, start=1))
    places = [(match, 0, numbered) for match in _CITED.finditer(before)]
    if (answer := outcome.answer) is not None:
        # A document's own "[1]", in a quotation, is no citation.
        by_id = {item.id: item for item in outcome.evidence}
        cited = {citation.marker: by_id[citation.evidence] for citation in answer.citations}
        places += [(match, len(before), cited) for match in _CITED.finditer(answer.text)]
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": match.start() + offset, "end_index": match.end() + offset,
                "title": _title(item), "url": _address(item, root),
            },
        }
        for match, offset, by_marker in places
        if (item := by_marker.get(int(match[1]))) is not None
    ]  # fmt: skip


def _title(item: Evidence) -> str:
    name = item.title or item.source
    return name if item.page is None else f"{name}, p. {item.page}"


def _address(item: Evidence, root: str) -> str:
    if item.collection.startswith(FOREIGN):  # not ours: it says itself where it is
        return item.source
    place = f"{root.rstrip('/')}/v1/sources/{item.source_id}"
    span = f"start={item.start}&end={item.end}"
    return f"{place}/text?{span}" if item.page is None else f"{place}/pages/{item.page}.png?{span}"


def completion(
    outcome: Outcome, text: str, *, id: str, model: str, created: int, root: str
) -> dict[str, Any]:
    """The outcome as a whole chat completion."""
    message = {
        "role": "assistant", "content": text, "refusal": None,
        "annotations": url_citations(outcome, root=root),
    }  # fmt: skip
    return {
        "id": id, "object": "chat.completion", "created": created, "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": usage(outcome), "anabranch": about(outcome),
    }  # fmt: skip


def chunk(
    delta: Mapping[str, Any], *, id: str, model: str, created: int, finish: str | None = None
) -> dict[str, Any]:
    """A piece of a streamed chat completion."""
    return {
        "id": id, "object": "chat.completion.chunk", "created": created, "model": model,
        "choices": [{"index": 0, "delta": dict(delta), "finish_reason": finish, "logprobs": None}],
    }  # fmt: skip


def usage(outcome: Outcome) -> dict[str, int]:
    """Tokens of language models; without one there are none."""
    used = outcome.usage
    return {
        "prompt_tokens": used.input_tokens, "completion_tokens": used.output_tokens,
        "total_tokens": used.input_tokens + used.output_tokens,
    }  # fmt: skip


def about(outcome: Outcome) -> dict[str, Any]:
    """What of an outcome has no place in a chat completion."""
    asked = outcome.clarification
    return {
        "status": outcome.status,
        "confidence": round(outcome.confidence, 6),
        "options": list(asked.options) if asked else [],
    }


def pieces(text: str) -> Sequence[str]:
    """``text`` in parts, between words, for a stream."""
    return re.findall(r"\S+\s*|\s+", text)
