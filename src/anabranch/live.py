"""The fan-out of a run as a tree on the terminal that fills in while it happens."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from anabranch.rendering import clean, console, excerpt
from anabranch.trace import RunEvent
from anabranch.types import TraceEvent

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text
    from rich.tree import Tree

# What a step may tell of itself in its detail that fits behind its label.
_SHOWN_DETAIL = ("complexity", "kind", "status", "hits", "route")

# The end of a long answer: a tree that is higher than the terminal shows nothing of its end.
_ANSWER, _ANSWER_CHARACTERS = "answer.text", 600


class LiveTree:
    """A context manager that draws the steps it takes on stderr; off a terminal it draws nothing."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._live: Live | None = None
        self._root: Tree | None = None
        self._branches: dict[str, Tree] = {}
        self._answer = ""

    def __enter__(self) -> LiveTree:
        if sys.stderr.isatty():
            from rich.live import Live
            from rich.text import Text
            from rich.tree import Tree

            self._root = Tree(Text(clean(self._title), style="bold"))
            self._live = Live(self._root, console=console(stderr=True), refresh_per_second=12)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def take(self, event: RunEvent) -> None:
        """Adds the event's step to the tree, or completes it there; shows an answer as it comes."""
        if event.name == "answer.delta":
            self._show_answer(event)
        if self._root is None or event.step is None:
            return
        label = step_line(event.step, ended=event.phase == "end")
        known = self._branches.get(event.step.id)
        if known is None:
            home = self._home(event.step) or self._root
            branch = self._branches[event.step.id] = home.add(label)
            if event.step.type == "rag_sub_agent" and event.step.group:
                self._branches.setdefault(event.step.group, branch)
        else:
            known.label = label

    def _show_answer(self, event: RunEvent) -> None:
        if self._root is None:
            return
        from rich.text import Text

        self._answer = event.text if event.restart else self._answer + event.text
        shown = Text(clean(self._answer[-_ANSWER_CHARACTERS:]))
        known = self._branches.get(_ANSWER)
        if known is None:
            self._branches[_ANSWER] = self._root.add(shown)
        else:
            known.label = shown

    def _home(self, step: TraceEvent) -> Tree | None:
        """Its parent's branch, else its sub-question's; None where neither is in the tree."""
        for name in (step.parent, step.group):
            if name is not None and name in self._branches:
                return self._branches[name]
        return None


def step_line(step: TraceEvent, *, ended: bool) -> Text:
    """One step as a person reads it: a mark, its kind and label, what it found, how long it took."""
    from rich.text import Text

    failed = step.detail.get("status") in ("failed", "timed_out") or "failure" in step.detail
    mark, style = ("…", "dim") if not ended else ("✗", "red") if failed else ("✓", "green")
    line = Text.assemble(
        (f"{mark} ", style), (step.type, "bold"), f"  {excerpt(step.label, limit=100)}"
    )
    if ended:
        line.append(f"  {_told(step.detail)}{step.elapsed_ms:.0f} ms", style="dim")
    return line


def _told(detail: Mapping[str, Any]) -> str:
    told = (f"{name} {_shown(detail[name])}" for name in _SHOWN_DETAIL if name in detail)
    return "".join(f"{item}, " for item in told)


def _shown(value: Any) -> str:
    """A value in words; counts by name ("dense 100, text 12") without the marks of a mapping."""
    if isinstance(value, Mapping):
        return " + ".join(f"{number} {clean(str(name))}" for name, number in value.items())
    return clean(str(value))
