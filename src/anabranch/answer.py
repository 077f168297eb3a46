"""From a run's evidence to a cited answer: the outer service's part, after the workflow."""

from __future__ import annotations

import time
from dataclasses import replace

from anabranch.evidence import guard
from anabranch.fanout import attempt
from anabranch.ports import Answerer
from anabranch.trace import RunSink, Trace
from anabranch.types import Failure, Outcome, SubQuestion


async def write_answer(
    outcome: Outcome, answerer: Answerer, *, seconds: float, sink: RunSink
) -> Outcome:
    """``outcome`` with its answer, every citation checked, and the step in its trace.

    An answerer that fails or takes longer than ``seconds`` leaves the evidence without an answer,
    and a Failure that says so.
    """
    trace = Trace(sink, time.perf_counter() - outcome.elapsed_ms / 1000)
    # A part that the documents do not cover is listed in the outcome; it gets no line.
    sub_questions = [
        SubQuestion(report.id, report.question, report.reason)
        for report in outcome.sub_questions
        if report.status in ("answerable", "partial")
    ]
    with trace.step("answer", "write the answer") as step:
        written = await attempt(
            "answer",
            answerer.answer(
                outcome.effective_question, outcome.evidence, sub_questions=sub_questions
            ),
            seconds,
        )
        if isinstance(written, Failure):  # the evidence stands without its answer
            step.detail["failure"] = written.kind
            outcome = replace(outcome, failures=(*outcome.failures, written))
        else:
            answer = guard(written, outcome.evidence)
            step.detail.update(
                mode=answer.mode,
                citations=len(answer.citations),
                unsupported=len(answer.unsupported),
            )
            outcome = replace(outcome, answer=answer)
    return replace(
        outcome,
        trace=(*outcome.trace, *trace.events),
        elapsed_ms=trace.now_ms(),
    )
