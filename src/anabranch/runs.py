"""Questions of a knowledge base, from what was asked to the outcome with its answer."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anabranch.opening import Opening
from anabranch.request import AskOptions, budgets_of, check_options, checked_question, scope_of
from anabranch.trace import EventName, RunEvent, RunSink, ignore_event
from anabranch.types import Answer, Effort, Outcome, Scope, Status

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from anabranch.outcome import RagRun
    from anabranch.ports import Anonymizer, RequestContext

logger = logging.getLogger(__name__)

Observer = Callable[[Outcome], None]

# Asked of whatever there is, so that all parts of a run are loaded before anybody waits for them.
_FIRST_QUESTION = "What is in these documents?"


class Runs:
    """The questions put to what ``opening`` opens, used from one event loop.

    What a method does stands at its namesake of ``KnowledgeBase``; ``sink`` gets the events.
    """

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._observers: tuple[Observer, ...] = ()

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Hand ``observer`` the outcome of every run that ends, until what is returned is called."""
        self._observers = (*self._observers, observer)

        def stop() -> None:
            self._observers = tuple(kept for kept in self._observers if kept is not observer)

        return stop

    async def prepare(self) -> None:
        built = await self._opening.open(create=True)
        # The copy of a large index takes longer to make than a question would wait for it.
        await built.parts.store.search_text(_FIRST_QUESTION, limit=1, scope=Scope())
        # A part that is there but not loaded yet would cost the first question its deadlines. No
        # model is called at this effort, and a part that cannot be reached is a failure of the run.
        await self.ranked(_FIRST_QUESTION, {"effort": "minimal", "interactive": False})

    async def ask(
        self,
        question: str,
        options: AskOptions,
        *,
        answer: bool = True,
        sink: RunSink = ignore_event,
    ) -> Outcome:
        question = self._checked_question(question)
        context = await self._context(question, options, sink)
        run = await self._run(question, context)
        return await self._completed(run.outcome, context, answer=answer)

    async def turn(
        self, text: str, options: AskOptions, tools: Sequence[BaseTool], sink: RunSink
    ) -> Outcome:
        from anabranch import small_talk
        from anabranch.ledger import failure_of
        from anabranch.shown_text import plain_words
        from anabranch.talking import Turning, talked

        question = self._checked_question(text)
        if (reply := small_talk.reply_to(question)) is not None:
            return talked(question, Answer(reply, "extractive"), sink)
        built = await self._opening.open()
        ledger, turning = built.ledger(), Turning(sink)
        effort = options.get("effort") or self._opening.settings.effort
        # What plainly asks is searched, whatever a model would say: facts come from documents.
        decided = effort == "minimal" or (not tools and small_talk.asks(question))
        seconds = self._opening.settings.model_timeout
        agent = None if decided else built.agent(ledger, seconds=seconds, tools=tools)

        async def search() -> str:
            turning.usage = ledger.usage()
            outcome = await self.ask(text, options, sink=turning.pass_on)
            return outcome.status

        if agent is not None:
            try:
                talk = await agent.talk(question, history=options.get("history", ()), search=search)
                # Nothing was searched: no number cites anything, and no address is the documents'.
                if not talk.searched and (reply := plain_words(talk.reply).strip()):
                    answer = Answer(reply, "llm")
                    return talked(question, answer, sink, usage=ledger.usage())
            except Exception as error:  # the edge of the agent: without it the question is searched
                turning.failure = failure_of("agent", error)
        if turning.outcome is None:
            await search()
        return turning.ended()

    def _checked_question(self, question: str) -> str:
        return checked_question(question, longest=self._opening.settings.max_question_characters)

    async def _run(self, question: str, context: RequestContext) -> RagRun:
        from anabranch.workflow import run_rag_graph

        context.sink(RunEvent("run.started", text=question))
        return await run_rag_graph(question, context)

    async def ranked(self, question: str, options: AskOptions) -> RagRun:
        question = self._checked_question(question)
        return await self._run(question, await self._context(question, options, ignore_event))

    async def resume(
        self,
        snapshot: Mapping[str, Any] | None,
        reply: str,
        options: AskOptions,
        *,
        answer: bool = True,
        sink: RunSink = ignore_event,
    ) -> Outcome:
        from anabranch.reading import normalise
        from anabranch.resume import validate
        from anabranch.workflow import resume_rag_from_hitl

        built = await self._opening.open()
        known = validate(snapshot, built.signing_key)
        meaning = known.meaning_of(" ".join(normalise(reply).split()))
        known = known.with_reply(meaning)
        question = known.refined_question()
        context = await self._context(question, options, sink)
        scope = known.reach_of(context.scope)
        context = replace(
            context,
            scope=scope,
            index_fingerprint=await context.parts.store.fingerprint(scope),
            # Whoever knows no answer is not asked again: the best there is.
            interactive=context.interactive and meaning is not None,
        )
        sink(RunEvent("run.started", text=question))
        run = await resume_rag_from_hitl(known, context)
        return await self._completed(run.outcome, context, answer=answer)

    async def _completed(
        self, outcome: Outcome, context: RequestContext, *, answer: bool
    ) -> Outcome:
        """The outcome with its answer, and the event that ends the run."""
        if answer and outcome.evidence:
            outcome = await self._answered(
                outcome, context.sink, effort=context.budgets.effort, anonymizer=context.anonymizer
            )
        if outcome.evidence:
            context.sink(RunEvent("evidence", outcome=outcome))
        for observer in self._observers:
            try:
                observer(outcome)
            except Exception:
                logger.exception("an observer of runs failed")
        context.sink(RunEvent(_ending(outcome.status), outcome=outcome))
        return outcome

    async def answered_alone(self, outcome: Outcome) -> Outcome:
        anonymizer = (await self._opening.open()).anonymizer()
        return await self._answered(
            outcome, ignore_event, effort=self._opening.settings.effort, anonymizer=anonymizer
        )

    async def _answered(
        self, outcome: Outcome, sink: RunSink, *, effort: Effort, anonymizer: Anonymizer | None
    ) -> Outcome:
        from anabranch.answer import Telling, write_answer

        built = await self._opening.open()
        ledger, telling = built.ledger(), Telling(sink, outcome.evidence)
        seconds = self._opening.settings.answer_timeout
        answerer = built.answerer_for(
            effort, ledger=ledger, seconds=seconds, say=telling.say, anonymizer=anonymizer
        )
        finder = built.conflict_finder_for(
            effort, ledger=ledger, seconds=seconds, anonymizer=anonymizer
        )
        outcome = await write_answer(
            outcome, answerer, finder, seconds=seconds, sink=sink, ledger=ledger
        )
        telling.settle(outcome.answer.text if outcome.answer else "")
        return outcome

    async def _context(self, question: str, options: AskOptions, sink: RunSink) -> RequestContext:
        from anabranch.ports import RequestContext, Weights

        check_options(options)
        started = time.perf_counter()
        built = await self._opening.open()
        settings = self._opening.settings
        deadline = started + (options.get("timeout") or settings.timeout)
        scope = await self._opening.checked_scope(built, scope_of(options), options.get("within"))
        budgets, ledger = budgets_of(options, settings), built.ledger()
        anonymizer = built.anonymizer()
        await built.prepare(budgets)
        parts = built.parts_for(budgets, deadline=deadline, ledger=ledger, anonymizer=anonymizer)
        store = await parts.store.as_of_now()
        return RequestContext(
            parts=replace(parts, store=store),
            scope=scope,
            budgets=budgets,
            started=started,
            deadline=deadline,
            index_fingerprint=await store.fingerprint(scope),
            signing_key=built.signing_key,
            weights=Weights(
                dense=settings.dense_weight, text=1 - settings.dense_weight,
                variant=settings.variant_weight, foreign=settings.foreign_weight,
            ),
            interactive=options.get("interactive", True),
            history=tuple(options.get("history", ())),
            sink=sink,
            retrievers=self._opening.retrievers,
            ledger=ledger,
            anonymizer=anonymizer,
            notices=built.notices(question, foreign=bool(self._opening.retrievers)),
        )  # fmt: skip


def _ending(status: Status) -> EventName:
    if status == "failed":
        return "run.failed"
    asks = status in ("needs_clarification", "needs_scope_selection")
    return "run.needs_input" if asks else "run.finished"
