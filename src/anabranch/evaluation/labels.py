"""The labels a query's metadata may carry. Data sets write them in more than one way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from anabranch.evaluation.datasets import EvalQuery
from anabranch.types import Complexity, Turn

# Said of a claim or a comparison, not found in a text: containment means nothing for them.
_VERDICTS = frozenset({"yes", "no", "true", "false", "maybe", "是", "否", "不是"})
_SPEAKERS: Mapping[str, Literal["user", "assistant"]] = {
    "assistant": "assistant", "agent": "assistant", "system": "assistant", "bot": "assistant",
    "ai": "assistant",
}  # fmt: skip


def answerable(query: EvalQuery) -> bool | None:
    """Whether the documents answer the query; None where nobody said."""
    return _flag(query, "answerable")


def complexity(query: EvalQuery) -> Complexity | None:
    """Simple or complex; None where nobody said, or where the query should be asked back about."""
    route = query.metadata.get("route")
    return route if route in ("simple", "complex") else None


def needs_clarification(query: EvalQuery) -> bool | None:
    """Whether the user should be asked; a route label says it too, for want of a plain one."""
    flag = _flag(query, "needs_clarification")
    if flag is None and (route := query.metadata.get("route")) in ("simple", "complex", "clarify"):
        return bool(route == "clarify")
    return flag


def candidates(query: EvalQuery) -> tuple[str, ...] | None:
    """The only documents to search for this query; None: all of them."""
    found = query.metadata.get("candidates")
    return tuple(str(item) for item in found) if isinstance(found, list) else None


def history(query: EvalQuery) -> tuple[Turn, ...]:
    """Earlier turns, oldest first: plain strings (the user's) or objects with who said what."""
    found = query.metadata.get("history")
    return tuple(_turns(found)) if isinstance(found, list) else ()


def gold_answers(query: EvalQuery) -> tuple[tuple[str, ...], ...]:
    """What an answer must contain: of each group one wording. Empty: nothing to look for.

    A string or a list of strings is one group; a list of lists is a group for each part. Yes and
    no are not looked for, nor is anything where the documents hold no answer.
    """
    found = query.metadata.get("answer")
    if answerable(query) is False or found is None:
        return ()
    parts = found if isinstance(found, list) else [found]
    nested = bool(parts) and all(isinstance(part, list) for part in parts)
    groups = [_wordings(part) for part in parts] if nested else [_wordings(parts)]
    return tuple(groups) if all(groups) else ()


def _flag(query: EvalQuery, name: str) -> bool | None:
    found = query.metadata.get(name)
    return found if isinstance(found, bool) else None


def _turns(found: list[Any]) -> list[Turn]:
    turns = []
    for item in found:
        if isinstance(item, str):
            turns.append(Turn("user", item))
        elif isinstance(item, Mapping):
            who = str(item.get("role") or item.get("speaker") or "user").lower()
            text = item.get("text") or item.get("content")
            if isinstance(text, str):
                turns.append(Turn(_SPEAKERS.get(who, "user"), text))
    return [turn for turn in turns if turn.text.strip()]


def _wordings(items: list[Any]) -> tuple[str, ...]:
    """The wordings of one group; none of them if any is a verdict or not a text at all."""
    plain = [str(item) for item in items if isinstance(item, (str, int, float))]
    kept = [text for text in plain if text.strip()]
    return () if any(text.strip().casefold() in _VERDICTS for text in kept) else tuple(kept)
