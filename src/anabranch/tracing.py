"""Runs as OpenTelemetry traces: a span for the run and one for each event of its trace.

A run is told when it is over, from the trace in its outcome, so that running costs nothing more.
Where the spans go is set by the variables of OpenTelemetry itself (``OTEL_EXPORTER_OTLP_ENDPOINT``
and the like), which its exporter reads. Names of attributes are those of the GenAI conventions
where there is one (https://opentelemetry.io/docs/specs/semconv/gen-ai/), else our own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from anabranch.errors import MissingExtraError
from anabranch.types import Outcome, TraceEvent

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider

    from anabranch.ports import Anonymizer

# Spans are worth a wait at the end of a program, a collector that is away is not.
FLUSH_MILLISECONDS = 3_000
_OPERATIONS = {"query": "retrieval", "answer": "chat"}
# Texts in details that are names of ours, never words of a question or document.
_NAMES = frozenset({"status", "kind", "query", "route", "method", "mode", "failure", "complexity"})
_PLAIN = (str, bool, int, float)


class Tracing:
    """Makes spans of outcomes; ``with_text`` adds questions and what was searched for.

    ``begin`` gives what hides the personal data in the texts of one run, where anonymising is on.
    """

    def __init__(
        self,
        provider: TracerProvider,
        *,
        with_text: bool = False,
        begin: Callable[[], Anonymizer] | None = None,
    ) -> None:
        self._begin = begin
        self._provider = provider
        self._tracer = provider.get_tracer("anabranch")
        self._with_text = with_text

    @classmethod
    def open(cls, *, with_text: bool, begin: Callable[[], Anonymizer] | None = None) -> Tracing:
        """Spans sent by OTLP over HTTP. Raises MissingExtraError without the extra ``otel``."""
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError as error:
            raise MissingExtraError(
                "ANABRANCH_OTEL needs an extra: pip install 'anabranch[otel]'"
            ) from error
        from anabranch import __version__

        about = {"service.name": "anabranch", "service.version": __version__}
        provider = TracerProvider(resource=Resource.create(about))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        return cls(provider, with_text=with_text, begin=begin)

    def __call__(self, outcome: Outcome) -> None:
        """The spans of a run that ends now, below the span that is current, if there is one."""
        from opentelemetry import trace
        from opentelemetry.trace import Status, StatusCode

        hide = self._begin().hide if self._begin is not None else str
        began = time.time_ns() - _nanoseconds(outcome.elapsed_ms)
        run = self._tracer.start_span(
            "invoke_workflow anabranch",
            start_time=began,
            attributes=_hidden(self._of_run(outcome), hide),
        )
        if outcome.status == "failed":
            run.set_status(Status(StatusCode.ERROR))
        within: dict[str, Context] = {}
        top = trace.set_span_in_context(run)
        for event in sorted(outcome.trace, key=lambda event: (event.started_ms, event.id)):
            span = self._tracer.start_span(
                event.type,
                context=within.get(event.parent or "", top),
                start_time=began + _nanoseconds(event.started_ms),
                attributes=_hidden(self._of_step(event), hide),
            )
            if "failure" in event.detail:
                span.set_status(Status(StatusCode.ERROR, str(event.detail["failure"])))
            span.end(began + _nanoseconds(event.started_ms + event.elapsed_ms))
            within[event.id] = trace.set_span_in_context(span)
        run.end(began + _nanoseconds(outcome.elapsed_ms))

    def _of_run(self, outcome: Outcome) -> Iterator[tuple[str, Any]]:
        yield "gen_ai.operation.name", "invoke_workflow"
        yield "gen_ai.workflow.name", "anabranch"
        yield "gen_ai.usage.input_tokens", outcome.usage.input_tokens
        yield "gen_ai.usage.output_tokens", outcome.usage.output_tokens
        yield "anabranch.model_calls", outcome.usage.model_calls
        yield "anabranch.status", outcome.status
        yield "anabranch.complexity", outcome.complexity
        yield "anabranch.confidence", outcome.confidence
        yield "anabranch.evidence", len(outcome.evidence)
        yield "anabranch.failures", [f"{item.where}: {item.kind}" for item in outcome.failures]
        if self._with_text:
            yield "gen_ai.retrieval.query.text", outcome.question

    def _of_step(self, event: TraceEvent) -> Iterator[tuple[str, Any]]:
        yield "anabranch.step.id", event.id
        if event.type in _OPERATIONS:
            yield "gen_ai.operation.name", _OPERATIONS[event.type]
        if event.group:
            yield "anabranch.step.group", event.group
        if self._with_text:
            yield "anabranch.step.label", event.label
        for name, value in _flat(event.detail):
            # A text may be a question, or what a document says.
            if self._with_text or not isinstance(value, str) or name in _NAMES:
                yield f"anabranch.{name}", value

    def flush(self) -> None:
        """Sends what is waiting, if whoever receives it is there."""
        self._provider.force_flush(FLUSH_MILLISECONDS)


def _hidden(attributes: Iterator[tuple[str, Any]], hide: Callable[[str], str]) -> dict[str, Any]:
    return {name: hide(value) if isinstance(value, str) else value for name, value in attributes}


def _flat(detail: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in detail.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", item) for inner, item in _flat(value))
        elif isinstance(value, _PLAIN):
            yield name, value


def _nanoseconds(milliseconds: float) -> int:
    return int(milliseconds * 1_000_000)
