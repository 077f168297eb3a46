"""The outer agent by a language model: it has the documents searched, or talks.

It decides whether a message needs a search; what is found is answered by the workflow and the
answerer, with citations, never by the agent. So it cannot turn a question into another one. What is
found does not reach it, but for the earlier answers in its history, which are fenced as data.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from anabranch.errors import RemoteError
from anabranch.evidence import estimate_tokens
from anabranch.ledger import Ledger
from anabranch.ports import AgentModel, Talk
from anabranch.reasoning.prompts import agent_prompt
from anabranch.types import Turn

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

# Model calls of one turn: tools that were registered may be used one after the other.
_MOST_CALLS = 6


class LlmAgent:
    """The port ``Agent`` over LangChain's ``create_agent``; ``tools`` are those of the host."""

    def __init__(
        self, model: AgentModel, ledger: Ledger, *, seconds: float, key: bytes,
        tools: Sequence[BaseTool] = (),
    ) -> None:  # fmt: skip
        """``key`` is the secret that the words of the fences follow from."""
        self._model = model
        self._ledger = ledger
        self._seconds = seconds
        self._key = key
        self._tools = tuple(tools)

    async def talk(
        self, text: str, *, history: Sequence[Turn], search: Callable[[], Awaitable[str]]
    ) -> Talk:
        from langchain_core.messages import HumanMessage

        chat = await self._model.chat_model()
        searched = asyncio.Event()

        async def searching() -> str:
            searched.set()
            deadline.reschedule(None)  # the search has a deadline of its own
            return await search()

        prompt, fences = agent_prompt(text, history, key=self._key)
        agent: Any = self._agent(chat, searching, rules=prompt.system)
        try:
            async with asyncio.timeout(self._seconds) as deadline:
                final = await agent.ainvoke({"messages": [HumanMessage(prompt.user)]})
        except TimeoutError:
            raise RemoteError(
                f"The model {self._model.name!r} gave no reply within {self._seconds:.3g} s.",
                kind="timeout",
            ) from None
        reply = "" if searched.is_set() else fences.restore(str(final["messages"][-1].text))
        return Talk(reply.strip(), searched.is_set())

    def _agent(self, chat: Any, searching: Callable[[], Awaitable[str]], *, rules: str) -> Any:
        from langchain.agents import create_agent
        from langchain.agents.middleware import ModelCallLimitMiddleware, ToolCallLimitMiddleware
        from langchain_core.tools import StructuredTool

        search = StructuredTool.from_function(
            coroutine=searching,
            name="search_documents",
            description="Searches the documents for what the user just said, and answers it.",
            # What it gives is the answer: the model has no part in it.
            return_direct=True,
        )
        return create_agent(
            chat,
            [search, *self._tools],
            system_prompt=rules,
            middleware=[
                _counting(self._model, self._ledger),
                ModelCallLimitMiddleware(run_limit=_MOST_CALLS),
                ToolCallLimitMiddleware(tool_name="search_documents", run_limit=1),
            ],
        )


def _counting(model: AgentModel, ledger: Ledger) -> Any:
    """Sends each call of the agent within the limits of the provider, and counts it."""
    from langchain.agents.middleware import AgentMiddleware

    class Counting(AgentMiddleware):
        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            tokens = sum(estimate_tokens(str(message.text)) for message in request.messages)
            async with model.counted(tokens, role="agent", ledger=ledger) as call:
                response = await handler(request)
                used = response.result[-1].usage_metadata or {}
                call.input_tokens = used.get("input_tokens", tokens)
                call.output_tokens = used.get("output_tokens", 0)
            return response

    return Counting()
