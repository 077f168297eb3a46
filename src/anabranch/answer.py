"""From a run's evidence to a cited answer: the outer service's part, after the workflow."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

from anabranch.both_sides import name_all_sides
from anabranch.citations import guard
from anabranch.fanout import attempt
from anabranch.ledger import Ledger
from anabranch.ports import Answerer, ConflictFinder
from anabranch.shown_text import ShownText
from anabranch.trace import RunEvent, RunSink, Trace
from anabranch.types import Evidence, Failure, Outcome, SubQuestion


class Telling:
    """An answer as it is written, for whoever watches the run.

    Markers that cite nothing and addresses that are not in the evidence are never told. What was
    told is taken back where the answer came out otherwise (a stream that broke): the deltas since
    the last ``restart`` are always the answer.
    """

    def __init__(self, sink: RunSink, evidence: Sequence[Evidence]) -> None:
        self._sink = sink
        self._shown = ShownText(evidence)
        self._told = ""
        self._space = ""

    def say(self, piece: str) -> None:
        """Another piece of the text; white space is held back until something follows it."""
        self._tell(self._shown.feed(piece))

    def _tell(self, piece: str) -> None:
        text = self._space + piece
        body = text.rstrip()
        self._space = text[len(body) :]
        if body := body if self._told else body.lstrip():
            self._told += body
            self._sink(RunEvent("answer.delta", text=body))

    def settle(self, text: str) -> None:
        """The whole text, as it is in the outcome; empty where there is none."""
        self._tell(self._shown.end())
        if text != self._told:
            goes_on = text.startswith(self._told)
            more = text[len(self._told) :] if goes_on else text
            self._sink(RunEvent("answer.delta", text=more, restart=not goes_on))
            self._told = text


async def write_answer(
    outcome: Outcome,
    answerer: Answerer,
    conflict_finder: ConflictFinder,
    *,
    seconds: float,
    sink: RunSink,
    ledger: Ledger,
) -> Outcome:
    """``outcome`` with its answer, every citation checked, and the step in its trace.

    Contradictions in the evidence are looked for meanwhile; an answer that rests on one side names
    the others. ``ledger`` is that of the answer alone.

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
        question, evidence = outcome.effective_question, outcome.evidence
        written, conflicts = await asyncio.gather(
            attempt(
                "answer",
                answerer.answer(question, evidence, sub_questions=sub_questions),
                seconds,
            ),
            attempt(
                "conflicts", conflict_finder.find(question, evidence, outcome.conflicts), seconds
            ),
        )
        if isinstance(conflicts, Failure):  # those that were found by rule stand
            outcome = replace(outcome, failures=(*outcome.failures, conflicts))
        else:
            outcome = replace(outcome, conflicts=conflicts)
        if isinstance(written, Failure):  # the evidence stands without its answer
            step.detail["failure"] = written.kind
            outcome = replace(outcome, failures=(*outcome.failures, written))
        else:
            answer = guard(written, evidence)
            answer = name_all_sides(answer, outcome.conflicts, evidence)
            step.detail.update(
                mode=answer.mode,
                citations=len(answer.citations),
                unsupported=len(answer.unsupported),
            )
            outcome = replace(outcome, answer=answer)
    return replace(
        outcome,
        failures=tuple(dict.fromkeys((*outcome.failures, *ledger.failures))),
        usage=outcome.usage + ledger.usage(),
        trace=(*outcome.trace, *trace.events),
        elapsed_ms=trace.now_ms(),
    )
