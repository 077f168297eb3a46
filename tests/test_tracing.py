"""Runs as OpenTelemetry traces: one span for each event, to a collector that is really there."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("opentelemetry.sdk", reason="needs the extra otel")

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from anabranch.knowledge_base import KnowledgeBase
from anabranch.ports import Anonymizer
from anabranch.privacy.patterns import PatternFinder
from anabranch.privacy.personal_data import PersonalData
from anabranch.service.app import create_app
from anabranch.settings import Settings
from anabranch.tracing import Tracing
from anabranch.types import Outcome
from fakes import World, complex_plan, hits
from service.servers import serving

Q = "How much leave is there?"


@pytest.fixture
def world() -> World:
    world = World()
    world.store.found = {Q: hits("Annual leave is 30 days.")}
    return world


def spans_of(
    outcome: Outcome,
    *,
    with_text: bool = False,
    begin: Callable[[], Anonymizer] | None = None,
) -> dict[str, ReadableSpan]:
    """By the id of their event; that of the run by ''."""
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    Tracing(provider, with_text=with_text, begin=begin)(outcome)
    return {
        str((span.attributes or {}).get("anabranch.step.id", "")): span
        for span in kept.get_finished_spans()
    }


def test_each_event_is_a_span_below_its_parent(world: World) -> None:
    world.planner.script = complex_plan("Part 1?", "Part 2?")
    world.store.found = {Q: hits("Leave."), "Part 1?": hits("One."), "Part 2?": hits("Two.")}
    with world.knowledge_base() as base:
        outcome = base.ask(Q)
    spans = spans_of(outcome)
    run = spans.pop("")
    assert spans.keys() == {event.id for event in outcome.trace}
    for event in outcome.trace:
        span, above = spans[event.id], spans.get(event.parent or "", run)
        assert span.name == event.type
        assert span.parent is not None
        assert span.parent.span_id == above.context.span_id
        assert span.start_time is not None
        assert span.end_time is not None
        taken = (span.end_time - span.start_time) / 1_000_000
        assert taken == pytest.approx(event.elapsed_ms, abs=0.001)
        assert (span.attributes or {}).get("anabranch.step.group") == event.group


def test_attributes_are_named_as_others_name_them(world: World) -> None:
    with world.knowledge_base() as base:
        spans = spans_of(base.ask(Q))
    run = dict(spans[""].attributes or {})
    assert run["gen_ai.operation.name"] == "invoke_workflow"
    assert run["gen_ai.workflow.name"] == "anabranch"
    assert (run["gen_ai.usage.input_tokens"], run["anabranch.status"]) == (0, "answerable")
    operations = {
        span.name: (span.attributes or {}).get("gen_ai.operation.name") for span in spans.values()
    }
    assert operations["query"] == "retrieval"
    assert operations["answer"] == "chat"
    assert operations["grade_documents"] is None


@pytest.mark.parametrize("with_text", [False, True])
def test_the_words_of_a_question_are_told_only_where_that_is_wanted(
    world: World, with_text: bool
) -> None:
    with world.knowledge_base() as base:
        spans = spans_of(base.ask(Q), with_text=with_text)
    told = str([(span.name, dict(span.attributes or {})) for span in spans.values()])
    assert (Q in told, "much leave" in told) == (with_text, with_text)


def test_a_run_that_failed_is_an_error(world: World) -> None:
    world.store.words = OSError("the index is gone")
    with world.knowledge_base() as base:
        spans = spans_of(base.ask(Q))
    assert spans[""].status.status_code is StatusCode.ERROR


def test_an_observer_that_fails_changes_nothing(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []

    def fails(outcome: Outcome) -> None:
        raise ValueError("no collector")

    with world.knowledge_base() as base:
        base.observe(fails)
        stop = base.observe(lambda outcome: seen.append(outcome.status))
        assert base.ask(Q).status == "answerable"
        stop()
        assert base.ask(Q).status == "answerable"
    assert seen == ["answerable"]
    assert "an observer of runs failed" in caplog.text


@contextmanager
def collector() -> Iterator[tuple[str, list[ExportTraceServiceRequest]]]:
    """A real receiver of OTLP over HTTP, and what it got."""
    received: list[ExportTraceServiceRequest] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                import gzip

                body = gzip.decompress(body)
            received.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", received
        finally:
            server.shutdown()
            thread.join()


def test_a_service_sends_its_runs_within_the_trace_of_whoever_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "leave.md").write_text("# Leave\n\nEvery employee has 27 days of annual leave.")
    trace_id, span_id = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    with collector() as (address, received):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        settings = Settings(kb=tmp_path / "kb", otel=True, threads=1)
        with KnowledgeBase.open(settings=settings) as base:
            base.add(tmp_path / "leave.md")
            with serving(create_app(settings, knowledge_base=base)) as served:
                asked = httpx.post(
                    f"{served}/v1/ask", json={"question": "How many days of annual leave?"},
                    headers={"traceparent": f"00-{trace_id}-{span_id}-01"}, timeout=60,
                )  # fmt: skip
    spans = [
        span
        for request in received
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert len(spans) == 1 + len(asked.json()["trace"])
    assert {span.trace_id.hex() for span in spans} == {trace_id}
    (run,) = [span for span in spans if span.name == "invoke_workflow anabranch"]
    assert run.parent_span_id.hex() == span_id
    named = {attribute.key: attribute.value.string_value for attribute in
             received[0].resource_spans[0].resource.attributes}  # fmt: skip
    assert named["service.name"] == "anabranch"


def test_texts_are_sent_without_personal_data_where_anonymising_is_on(world: World) -> None:
    question = "How is ann.berg@example.com reached?"
    world.store.found = {question: hits("At home.")}
    personal = PersonalData([PatternFinder(("US",))], finds_names=False)
    with world.knowledge_base() as base:
        spans = spans_of(base.ask(question), with_text=True, begin=personal.begin)
    sent = str([dict(span.attributes or {}) for span in spans.values()])
    assert "ann.berg" not in sent
    assert "How is EMAIL_1 reached?" in sent
