"""A turn in a session: a reply to an open question resumes it, anything else is asked.

Everything is kept before the turn ends, so that a reload shows what was shown. A question that was
asked back is answered once: by whoever holds the claim on it (docs/service.md has the rules).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from anyio import CancelScope

from anabranch import small_talk
from anabranch.decoding import normalise
from anabranch.errors import (
    AnsweredError,
    CollectionNotFoundError,
    ExpiredError,
    SessionNotFoundError,
    StorageError,
)
from anabranch.knowledge_base import KnowledgeBase
from anabranch.notes import condensed, refined, said, title_of, turns_of
from anabranch.ports import SessionStore
from anabranch.records import Message, NewMessage, OpenQuestion, Session
from anabranch.request import AskOptions
from anabranch.settings import Settings
from anabranch.trace import RunEvent
from anabranch.types import Outcome, Turn, to_plain

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

# How often somebody who waits for another one's answer looks again.
_SECONDS_BETWEEN_LOOKS = 0.2


class Conversation:
    """The sessions over one knowledge base."""

    def __init__(
        self,
        knowledge_base: KnowledgeBase,
        store: SessionStore,
        settings: Settings,
        *,
        tools: Sequence[BaseTool] = (),
    ) -> None:
        """``tools`` are LangChain tools that the agent has beside the search of the documents."""
        self._tools = tuple(tools)
        self._knowledge_base = knowledge_base
        self._store = store
        self._settings = settings

    async def turn(
        self,
        session: Session,
        text: str,
        *,
        options: AskOptions,
        clarification_id: str | None = None,
        new_question: bool = False,
    ) -> AsyncIterator[RunEvent]:
        """The events of the run that ``text`` begins or goes on with; the last one is kept first.

        ``options`` are within what the caller may see now. Raises, before the first event:
        QuestionError; SessionNotFoundError for an open question that is not there; AnsweredError
        for one that was answered, by whomever; ExpiredError for one that waits no longer.
        """
        text = normalise(text).strip()
        question = None if new_question else await self._replied_to(session, text, clarification_id)
        if question is not None:
            events = self._reply(question, text, options)
        else:
            events = self._ask(session, text, options)
        async with aclosing(cast(Any, events)):
            async for event in events:
                yield event

    # --------------------------------------------------------------------------- a new question

    async def _ask(
        self, session: Session, text: str, options: AskOptions
    ) -> AsyncIterator[RunEvent]:
        asked: AskOptions = {**options, "history": await self._history(session)}
        events = self._knowledge_base.stream_turn(text, tools=self._tools, **asked)
        async with aclosing(cast(Any, events)):
            async for event in events:
                if event.name == "run.started":
                    title = "" if small_talk.reply_to(text) else title_of(text)
                    await self._store.keep(session.id, NewMessage("user", text), title=title)
                if event.ends and event.outcome is not None:
                    [kept] = await self._store.keep(
                        session.id, _answer(event.outcome), hours=self._settings.clarification_hours
                    )
                    event = replace(event, message_id=kept.id)
                yield event

    async def _history(self, session: Session) -> list[Turn]:
        """The last turns as they were, with what the older ones come to before them."""
        window = 2 * self._settings.history_turns
        messages = await self._store.messages(session.id, after=session.noted)
        older, recent = messages[: max(0, len(messages) - window)], messages[-window or None :]
        note = session.note
        if older:
            note = condensed(note, older)
            await self._store.note(session.id, note, upto=older[-1].position)
        if window == 0:
            return []
        before = [Turn("assistant", note)] if note else []
        return [*before, *turns_of(recent)]

    # ---------------------------------------------------------------------------------- a reply

    async def _replied_to(
        self, session: Session, text: str, clarification_id: str | None
    ) -> OpenQuestion | None:
        """The open question that ``text`` replies to: the named one, or else the only one."""
        if clarification_id is not None:
            question = await self._store.question(session.id, clarification_id)
            if question is None:
                raise SessionNotFoundError(
                    f"The session has asked nothing with the id {clarification_id!r}."
                )
            return question
        waiting = await self._store.open_questions(session.id)
        expired = [question for question in waiting if question.expired]
        live = [question for question in waiting if not question.expired]
        if not live and len(expired) == 1:  # said once: it is closed when the reply is refused
            return expired[0]
        for question in expired:
            await self._store.close_question(question)
        return live[0] if len(live) == 1 else None

    async def _reply(
        self, question: OpenQuestion, text: str, options: AskOptions
    ) -> AsyncIterator[RunEvent]:
        async with self._claimed(question, text) as claim:
            await self._check_scope(question, text, options)
            events = self._knowledge_base.stream_resume(question.snapshot, text, **options)
            async with aclosing(cast(Any, events)):
                async for event in events:
                    if event.ends and event.outcome is not None:
                        kept = await self._keep_reply(question, claim, text, event.outcome)
                        event = replace(event, message_id=kept[-1].id)
                    yield event

    async def _keep_reply(
        self, question: OpenQuestion, claim: str, text: str, outcome: Outcome
    ) -> list[Message]:
        new = (NewMessage("user", text), _answer(outcome))
        hours = self._settings.clarification_hours
        if outcome.status == "failed":  # the question stays open: the reply can be sent again
            return await self._store.keep(question.session_id, *new)
        kept = await self._store.answer(question, claim, *new, hours=hours)
        if kept is None:  # this process was held up for longer than its lease
            raise await self._taken(question, text)
        return kept

    @asynccontextmanager
    async def _claimed(self, question: OpenQuestion, text: str) -> AsyncIterator[str]:
        """Within it nobody else answers ``question``. What was not answered then is open again."""
        claim = await self._claim(question, text)
        lease = asyncio.create_task(self._hold(question, claim))
        try:
            yield claim
        finally:
            lease.cancel()
            with CancelScope(shield=True):  # a client that went away must not keep it locked
                await self._store.release(question, claim)

    async def _claim(self, question: OpenQuestion, text: str) -> str:
        """The claim, after the one who has it answered or died.

        Waits for somebody else's for as long as their run may take and a lease: if they died it is
        free long before.
        """
        seconds = self._settings.lease_seconds
        until = time.monotonic() + self._settings.timeout + self._settings.answer_timeout + seconds
        while True:
            found = await self._store.question(question.session_id, question.clarification_id)
            if found is None or found.state != "open" or found.id != question.id:
                raise await self._taken(question, text)
            if found.expired:
                await self._store.close_question(question)
                raise _expired(f"waited for a reply until {found.expires_at}", question, text)
            if claim := await self._store.claim(question, seconds=seconds):
                return claim
            if time.monotonic() > until:
                raise AnsweredError(
                    "The question is being answered right now, by another reply. Look at the "
                    "session in a moment.",
                    details={"clarification_id": question.clarification_id},
                )
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)

    async def _hold(self, question: OpenQuestion, claim: str) -> None:
        """Keeps the lease until it is cancelled, or lost."""
        seconds = self._settings.lease_seconds
        held = True
        while held:
            await asyncio.sleep(seconds / 3)
            try:
                held = await self._store.extend(question, claim, seconds=seconds)
            except StorageError:  # the next try may do; saving shows whether it did
                continue

    async def _taken(self, question: OpenQuestion, text: str) -> AnsweredError | ExpiredError:
        """Why ``question`` cannot be answered any more."""
        found = await self._store.question(question.session_id, question.clarification_id)
        if found is None or found.state != "answered" or found.answered_by is None:
            return _expired("waits no longer for a reply", question, text)
        answer = await self._store.message(found.answered_by)
        return AnsweredError(
            "The question was answered already. Ask a new one, with new_question.",
            details={"clarification_id": found.clarification_id, "answer": to_plain(answer)},
        )

    async def _check_scope(self, question: OpenQuestion, text: str, options: AskOptions) -> None:
        """Raises ExpiredError where the caller may not search any more what was asked about."""
        searched = question.snapshot["scope"]["collections"]
        within, principals = options.get("within"), options.get("principals")
        if within is not None and (searched is None or not set(searched) <= set(within)):
            raise _expired("was about more collections than may be seen now", question, text)
        try:
            await self._knowledge_base.asources(
                collections=searched, within=within, principals=principals
            )
        except CollectionNotFoundError as error:
            raise _expired(f"was about what is gone ({error})", question, text) from None


def _answer(outcome: Outcome) -> NewMessage:
    return NewMessage("assistant", said(outcome), outcome.to_dict())


def _expired(why: str, question: OpenQuestion, text: str) -> ExpiredError:
    afresh = refined(question.snapshot, text)
    return ExpiredError(
        f"The question back {question.prompt!r} {why}. Ask afresh, with new_question: {afresh!r}",
        details={"clarification_id": question.clarification_id, "ask_afresh": afresh},
    )
