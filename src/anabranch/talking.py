"""Turns of a conversation that the documents have no part in, and what their agent adds to a run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from anabranch.language import sentence_spans
from anabranch.trace import RunEvent, RunSink
from anabranch.types import Answer, Failure, Outcome, Usage

SMALL_TALK = "small talk: nothing was searched"


def talked(question: str, answer: Answer, sink: RunSink, *, usage: Usage = Usage()) -> Outcome:  # noqa: B008 - frozen
    """The outcome of a message that was answered without a search, with the events of its run.

    What a model says of its own stands in no document: all of it is ``unsupported``.
    """
    if answer.mode == "llm":
        sentences = [answer.text[start:end] for start, end in sentence_spans(answer.text)]
        answer = replace(answer, unsupported=tuple(sentences))
    outcome = Outcome(
        question, question, "answerable", "answer", "simple", SMALL_TALK,
        # No evidence says so: what a model made up is not sure at all, a greeting needs none.
        confidence=0.0 if answer.mode == "llm" else 1.0,
        answer=answer, usage=usage,
    )  # fmt: skip
    sink(RunEvent("run.started", text=question))
    sink(RunEvent("answer.delta", text=answer.text))
    sink(RunEvent("run.finished", outcome=outcome))
    return outcome


@dataclass(slots=True)
class Turning:
    """Passes a run's events on; its outcome also says what deciding to search cost, and what failed."""

    sink: RunSink
    usage: Usage = field(default_factory=Usage)
    failure: Failure | None = None
    outcome: Outcome | None = None

    def pass_on(self, event: RunEvent) -> None:
        if event.outcome is not None:
            failures = (*event.outcome.failures, *filter(None, [self.failure]))
            usage = event.outcome.usage + self.usage
            outcome = replace(event.outcome, failures=failures, usage=usage)
            event = replace(event, outcome=outcome)
            if event.ends:
                self.outcome = outcome
        self.sink(event)

    def ended(self) -> Outcome:
        if self.outcome is None:
            raise AssertionError("unreachable: a run ends with an outcome, or raises")
        return self.outcome
