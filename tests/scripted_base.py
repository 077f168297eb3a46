"""A knowledge base that follows a script: what the fronts are tested against."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from anabranch.errors import SourceNotFoundError
from anabranch.settings import Settings
from anabranch.trace import RunEvent
from anabranch.types import (
    RESUME_SCHEMA,
    AddReport,
    Answer,
    Citation,
    Clarification,
    Evidence,
    Failure,
    FileReport,
    Nearest,
    Outcome,
    SourceRecord,
    TraceEvent,
)


def evidence(text: str = "Annual leave is 30 days.", **changes: Any) -> Evidence:
    values: dict[str, Any] = {
        "id": "e1", "chunk_id": "c1", "chunk_index": 0, "collection": "default",
        "source_id": "leave-id", "text": text, "source": "handbook/leave.md", "title": "Leave",
        "page": 3, "start": 0, "end": len(text), "level": 3, "score": 1.0, "relevance": 0.9,
        "found_by": ("q1", "s2"),
    }  # fmt: skip
    return Evidence(**{**values, **changes})


def outcome(**changes: Any) -> Outcome:
    values: dict[str, Any] = {
        "question": "How much leave is there?",
        "effective_question": "How much leave is there?",
        "status": "answerable",
        "route": "answer",
        "complexity": "simple",
        "complexity_reason": "one fact",
        "confidence": 0.93,
        "answer": Answer("30 days [1].", "extractive", (Citation(1, "e1", "30 days"),)),
        "evidence": (evidence(),),
    }
    return Outcome(**{**values, **changes})


def asks_back(prompt: str = "Which office?", *options: str) -> Outcome:
    return outcome(
        status="needs_clarification",
        route="clarify",
        answer=None,
        evidence=(),
        clarification=Clarification("k1", "clarify", prompt, options or ("Berlin", "Boston")),
        resume={"schema": RESUME_SCHEMA, "question": "How much leave is there?"},
    )


def no_knowledge() -> Outcome:
    return outcome(
        status="no_knowledge", route="no_knowledge", answer=None, evidence=(), confidence=0.02,
        nearest=(Nearest("The canteen opens at noon.", "handbook/canteen.md", None, 0.1),),
    )  # fmt: skip


def failed() -> Outcome:
    return outcome(
        status="failed", route=None, answer=None, evidence=(), confidence=0.0,
        failures=(Failure("q1.text", "StorageError", "the index is gone"),),
    )  # fmt: skip


def record(source: str = "handbook/leave.md", **changes: Any) -> SourceRecord:
    values: dict[str, Any] = {
        "source_id": f"id-of-{source}", "collection": "default", "source": source,
        "location": f"/documents/{source}", "title": "Leave", "media_type": "text/markdown",
        "content_hash": "h", "characters": 24, "page_count": 3, "chunk_count": 5,
        "added_at": "2026-11-30T10:00:00+00:00",
    }  # fmt: skip
    return SourceRecord(**{**values, **changes})


Reply = Outcome | BaseException


@dataclass
class ScriptedBase:
    """Gives the scripted replies in order and remembers what it was asked."""

    replies: list[Reply] = field(default_factory=list)
    report: AddReport = field(
        default_factory=lambda: AddReport((FileReport("a.md", "added", chunks=2),))
    )
    records: list[SourceRecord] = field(default_factory=lambda: [record()])
    text: str = "Annual leave is 30 days."
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    closed: bool = False
    settings: Settings = field(default_factory=Settings)

    def __enter__(self) -> ScriptedBase:
        return self

    def __exit__(self, *error: object) -> None:
        self.closed = True

    async def _run(self) -> AsyncIterator[RunEvent]:
        reply = self.replies.pop(0)
        yield RunEvent("run.started")
        step = TraceEvent("q1", "query", "leave", detail={"hits": 4, "status": "ok"})
        yield RunEvent("step", step=step, phase="begin")
        yield RunEvent("step", step=step, phase="end")
        if isinstance(reply, BaseException):
            raise reply
        yield RunEvent("run.finished", outcome=reply)

    def stream(self, question: str, **options: Any) -> AsyncIterator[RunEvent]:
        self.calls.append(("stream", {"question": question, **options}))
        return self._run()

    def stream_resume(
        self, snapshot: Mapping[str, Any], reply: str, **options: Any
    ) -> AsyncIterator[RunEvent]:
        self.calls.append(
            ("stream_resume", {"snapshot": dict(snapshot), "reply": reply, **options})
        )
        return self._run()

    def add(
        self,
        *paths: str | Path,
        collection: str = "default",
        on_progress: Callable[[Any], None] | None = None,
    ) -> AddReport:
        self.calls.append(("add", {"paths": paths, "collection": collection}))
        if on_progress:
            on_progress(SimpleNamespace(done=1, total=1, source="a.md", stage="reading"))
        return self.report

    def sources(self, *, collections: Sequence[str] | None = None) -> list[SourceRecord]:
        self.calls.append(("sources", {"collections": collections}))
        return self.records

    def source_text(self, source: str, *, collections: Sequence[str] | None = None) -> str:
        if all(source != item.source for item in self.records):
            raise SourceNotFoundError(f"There is no source {source!r}.")
        return self.text

    def remove(self, source: str, *, collection: str | None = None) -> int:
        self.calls.append(("remove", {"source": source, "collection": collection}))
        return 1

    def describe(self) -> Any:
        return SimpleNamespace(
            notices=(), path=Path("kb"), format_version=1, model="minilm", collections=("default",),
            source_count=1, chunk_count=5, size_bytes=1_000_000,
        )  # fmt: skip
