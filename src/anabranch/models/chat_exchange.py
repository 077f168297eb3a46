"""One exchange with a model in LangChain's form: what is sent, and what of the reply is text."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from anabranch.evidence import estimate_tokens
from anabranch.ledger import ModelCall
from anabranch.ports import Prompt

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage

Mode = Literal["json_schema", "function_calling", "prompt"]
# From what binds a model's reply most to what every model can do.
MODES: tuple[Mode, ...] = ("json_schema", "function_calling", "prompt")


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """How a model is asked. ``name`` is as it was set, such as ``openai:gpt-…``."""

    name: str
    base_url: str | None = None
    api_key: str = ""
    timeout: float = 10.0
    output_tokens: int = 2_000
    temperature: float | None = 0.0
    structured: Literal["auto", "json_schema", "function_calling", "prompt"] = "auto"
    cached_replies: int = 0
    counts_streams: bool = True
    system_role: bool = True
    # One that is only to say how it is does so at once; a request would rather wait.
    tries_again: bool = True

    def __repr__(self) -> str:  # the key stands in none
        return f"ChatSettings({self.name!r}, base_url={self.base_url!r})"


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply and its tokens, estimated where the server does not count them."""

    text: str
    input_tokens: int
    output_tokens: int


async def ask(
    model: BaseChatModel, settings: ChatSettings, prompt: Prompt,
    schema: Mapping[str, Any] | None, mode: Mode,
) -> Reply:  # fmt: skip
    """The whole reply; in a mode but ``prompt`` the model is bound to ``schema``."""
    messages = messages_of(prompt, system_role=settings.system_role)
    if schema is None or mode == "prompt":
        return _reply(prompt, await model.ainvoke(messages))
    runnable = model.with_structured_output(dict(schema), method=mode, include_raw=True)
    try:
        found = await runnable.ainvoke(messages)
    except Exception as error:  # one of them carries what there is of the reply
        cut_off = _cut_off(error)
        if cut_off is None:
            raise
        return Reply(cut_off, size_of(prompt), estimate_tokens(cut_off))
    return _reply(prompt, found["raw"])  # type: ignore[index]  # so with include_raw


async def stream(
    model: BaseChatModel, settings: ChatSettings, prompt: Prompt, hear: Callable[[str], None],
    call: ModelCall,
) -> Reply:  # fmt: skip
    """The whole reply, of which ``hear`` gets each piece; ``call`` counts while it comes."""
    text: list[str] = []
    spent_in = spent_out = 0
    messages = messages_of(prompt, system_role=settings.system_role)
    chunks = aiter(model.astream(messages))
    while True:
        async with asyncio.timeout(settings.timeout):  # for the next word, not for all
            try:
                chunk = await anext(chunks)
            except StopAsyncIteration:
                break
        if piece := str(chunk.text):
            text.append(piece)
            hear(piece)
            call.input_tokens, call.output_tokens = size_of(prompt), len(text)
        if used := getattr(chunk, "usage_metadata", None):
            spent_in += used["input_tokens"]
            spent_out += used["output_tokens"]
    said = "".join(text)
    return Reply(said, spent_in or size_of(prompt), spent_out or estimate_tokens(said))


def messages_of(prompt: Prompt, *, system_role: bool = True) -> list[tuple[str, str]]:
    if not system_role:  # the templates of some models know no system
        return [("human", f"{prompt.system}\n\n{prompt.user}"), *prompt.exchange]
    return [("system", prompt.system), ("human", prompt.user), *prompt.exchange]


def size_of(prompt: Prompt) -> int:
    """About how many tokens a prompt has."""
    return sum(estimate_tokens(text) for _, text in messages_of(prompt))


def without(settings: ChatSettings, said: str) -> ChatSettings | None:
    """``settings`` without what a refusal names; None where it names nothing that can be left out."""
    if settings.temperature is not None and "temperature" in said:
        return replace(settings, temperature=None)
    if settings.counts_streams and "stream_options" in said:
        return replace(settings, counts_streams=False)
    if settings.system_role and "system" in said and ("role" in said or "message" in said):
        return replace(settings, system_role=False)
    return None


def _reply(prompt: Prompt, message: AIMessage) -> Reply:
    text, used = _text_of(message), message.usage_metadata
    if used is None:  # not every server counts
        return Reply(text, size_of(prompt), estimate_tokens(text))
    return Reply(text, used["input_tokens"], used["output_tokens"])


def _text_of(message: AIMessage) -> str:
    """The reply as text; of a tool call its arguments, however they were written."""
    for call in message.tool_calls:
        return json.dumps(call["args"], ensure_ascii=False)
    for broken in message.invalid_tool_calls:
        return broken["args"] or ""
    return str(message.text)


def _cut_off(error: Exception) -> str | None:
    """What was written of a reply that OpenAI's client throws away for being cut off."""
    try:
        content = error.completion.choices[0].message.content  # type: ignore[attr-defined]
    except (AttributeError, IndexError, TypeError):
        return None
    return content if isinstance(content, str) else None
