"""A chat model of one test, without a server: gives its replies in order and keeps the prompts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from anabranch.ports import Prompt


class Replies:
    """Each reply is a text, an object that is said as JSON, or an error that is raised."""

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)
        self.prompts: list[Prompt] = []

    async def complete(self, prompt: Prompt, *, schema: Mapping[str, Any] | None = None) -> str:
        return self._next(prompt)

    async def write(self, prompt: Prompt, say: Callable[[str], None]) -> str:
        text = self._next(prompt)
        half = len(text) // 2
        for piece in (text[:half], text[half:]):
            say(piece)
        return text

    def _next(self, prompt: Prompt) -> str:
        self.prompts.append(prompt)
        reply = self.replies.pop(0)
        if isinstance(reply, BaseException):
            raise reply
        return reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
