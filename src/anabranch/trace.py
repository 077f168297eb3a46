"""Typed events of a run: the same ones feed the live tree, SSE, the UI and the outcome's trace.

Ids come from the structure of the run, not from a counter or the clock, so that the same run has
the same trace whatever order its branches finished in.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from anabranch.types import EMPTY, Outcome, TraceEvent

# The closed list of ``TraceEvent.type``: one for each node of the graph, then what a node does.
StepType = Literal[
    "classify_complexity",
    "retrieve_initial",
    "grade_documents",
    "rewrite_question",
    "retrieve_rewritten",
    "prepare_sub_questions",
    "rag_sub_agent",
    "synthesis",
    "resume",
    "query",
    "merge",
    "rerank",
    "answer",
]
STEP_TYPES: tuple[str, ...] = get_args(StepType)

EventName = Literal[
    "run.started",
    "step",
    "answer.delta",
    "evidence",
    "run.finished",
    "run.needs_input",
    "run.failed",
]


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One event of a streamed run.

    ``step`` events come twice, when the step begins and when it has ended (then with its detail
    and time). The last event of a run is one of ``run.finished``, ``run.needs_input`` and
    ``run.failed``, and carries the outcome, and in a session the id of the message it was kept as.
    ``restart``: this ``answer.delta`` begins the answer anew, and those before it are void.
    """

    name: EventName
    step: TraceEvent | None = None
    phase: Literal["begin", "end"] | None = None
    text: str = ""
    outcome: Outcome | None = None
    restart: bool = False
    message_id: str | None = None

    @property
    def ends(self) -> bool:
        return self.name in ("run.finished", "run.needs_input", "run.failed")


RunSink = Callable[[RunEvent], None]


def ignore_event(event: RunEvent) -> None:
    """The sink of a run that nobody watches."""


@dataclass(slots=True)
class OpenStep:
    """A step that is running: what it finds out is added to its event when it ends."""

    event: TraceEvent
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trace:
    """Collects the steps of one node of one run and passes each to the sink at once."""

    sink: RunSink
    started: float
    events: list[TraceEvent] = field(default_factory=list)

    def now_ms(self) -> float:
        return (time.perf_counter() - self.started) * 1000

    @contextmanager
    def step(
        self,
        type: StepType,
        label: str,
        *,
        id: str | None = None,
        parent: str | None = None,
        group: str | None = None,
        detail: Mapping[str, Any] = EMPTY,
    ) -> Iterator[OpenStep]:
        """A step that ends with the block, also when the block raises."""
        event = TraceEvent(
            id=id or type, type=type, label=label, parent=parent, group=group,
            detail=detail, started_ms=self.now_ms(),
        )  # fmt: skip
        self.sink(RunEvent("step", step=event, phase="begin"))
        step = OpenStep(event)
        try:
            yield step
        finally:
            ended = replace(
                step.event,
                detail={**step.event.detail, **step.detail},
                elapsed_ms=self.now_ms() - event.started_ms,
            )
            self.events.append(ended)
            self.sink(RunEvent("step", step=ended, phase="end"))
