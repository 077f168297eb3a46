"""What is counted, for Prometheus. No label names a person, a key, a collection or a document."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from anabranch.service.request_log import Handled
from anabranch.types import Outcome

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# A question takes tens of milliseconds without a model and tens of seconds with a slow one.
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """The counters of one app, or of all workers of a service; several apps in one process do not meet.

    Where Prometheus's ``PROMETHEUS_MULTIPROC_DIR`` was set before its library was imported, the
    workers count in files of that folder, and any of them tells the sum. A worker that ended stays
    counted.
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "anabranch_requests", "Requests that have ended.", ["method", "route", "status"],
            registry=self._registry,
        )  # fmt: skip
        self._request_seconds = Histogram(
            "anabranch_request_seconds", "How long requests took; a stream to its end.", ["route"],
            buckets=_SECONDS, registry=self._registry,
        )  # fmt: skip
        self._runs = Counter(
            "anabranch_runs", "Runs by how they came out.", ["status", "answer"],
            registry=self._registry,
        )  # fmt: skip
        self._run_seconds = Histogram(
            "anabranch_run_seconds", "How long runs took, with their answer.", buckets=_SECONDS,
            registry=self._registry,
        )  # fmt: skip
        self._failures = Counter(
            "anabranch_failures", "What failed inside of runs that went on.", ["kind"],
            registry=self._registry,
        )  # fmt: skip
        self._model_calls = Counter(
            "anabranch_model_calls", "Calls of language models.", registry=self._registry
        )
        self._model_tokens = Counter(
            "anabranch_model_tokens", "Tokens of language models.", ["direction"],
            registry=self._registry,
        )  # fmt: skip

    def request(self, handled: Handled) -> None:
        # A client can make up as many methods as it likes; each would be kept for ever.
        method = handled.method if handled.method in _METHODS else "other"
        self._requests.labels(method, handled.route, str(handled.status)).inc()
        self._request_seconds.labels(handled.route).observe(handled.seconds)

    def run(self, outcome: Outcome) -> None:
        mode = outcome.answer.mode if outcome.answer else "none"
        self._runs.labels(outcome.status, mode).inc()
        self._run_seconds.observe(outcome.elapsed_ms / 1000)
        for failure in outcome.failures:
            self._failures.labels(failure.kind).inc()
        self._model_calls.inc(outcome.usage.model_calls)
        self._model_tokens.labels("input").inc(outcome.usage.input_tokens)
        self._model_tokens.labels("output").inc(outcome.usage.output_tokens)

    def text(self) -> bytes:
        together = CollectorRegistry()
        try:
            MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        except ValueError:  # the variable is not set: this process is all there is
            return generate_latest(self._registry)
        return generate_latest(together)
