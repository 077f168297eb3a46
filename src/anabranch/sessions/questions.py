"""Questions that runs asked back: who replies, who is resuming, and what came of it.

A reply is resumed by whoever holds the row's claim; a claim ends with its lease, and only its
holder can save. So a question is answered once, however many replicas get the reply, and also when
one of them dies between the claim and the answer.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, RowMapping, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from anabranch.records import Message, OpenQuestion, QuestionState
from anabranch.sessions.database import Database, as_time, new_id, now
from anabranch.sessions.tables import pending_hitl

_COLUMNS = (*pending_hitl.c, (pending_hitl.c.expires_at < now()).label("expired"))
SECONDS_IN_AN_HOUR = 3_600


class SqlQuestions:
    """The part of ``ports.SessionStore`` that is about open questions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open_questions(self, session_id: str) -> list[OpenQuestion]:
        wanted = (
            select(*_COLUMNS)
            .where(pending_hitl.c.session_id == session_id, pending_hitl.c.state == "open")
            .order_by(pending_hitl.c.created_at)
        )
        async with self._database.reading() as connection:
            return [_question(row) for row in (await connection.execute(wanted)).mappings()]

    async def question(self, session_id: str, clarification_id: str) -> OpenQuestion | None:
        wanted = (
            select(*_COLUMNS)
            .where(
                pending_hitl.c.session_id == session_id,
                pending_hitl.c.clarification_id == clarification_id,
            )
            # Asked again in the same words it has the same id: the one that is open comes first.
            .order_by((pending_hitl.c.state == "open").desc(), pending_hitl.c.created_at.desc())
            .limit(1)
        )
        async with self._database.reading() as connection:
            row = (await connection.execute(wanted)).mappings().one_or_none()
        return _question(row) if row is not None else None

    async def claim(self, question: OpenQuestion, *, seconds: float) -> str | None:
        claim = new_id()
        taken = (
            update(pending_hitl)
            .where(
                pending_hitl.c.id == question.id,
                pending_hitl.c.state == "open",
                or_(pending_hitl.c.claim.is_(None), pending_hitl.c.leased_until < now()),
            )
            .values(claim=claim, leased_until=now() + seconds)
            .returning(pending_hitl.c.id)
        )
        return claim if await self._changed(taken) else None

    async def extend(self, question: OpenQuestion, claim: str, *, seconds: float) -> bool:
        return await self._changed(_held(question, claim, leased_until=now() + seconds))

    async def release(self, question: OpenQuestion, claim: str) -> None:
        await self._changed(_held(question, claim, claim=None, leased_until=None))

    async def close_question(self, question: OpenQuestion, state: QuestionState = "closed") -> None:
        closed = (
            update(pending_hitl)
            .where(pending_hitl.c.id == question.id, pending_hitl.c.state == "open")
            .values(state=state)
            .returning(pending_hitl.c.id)
        )
        await self._changed(closed)

    async def _changed(self, statement: Any) -> bool:
        async with self._database.changing() as connection:
            row: Row[Any] | None = (await connection.execute(statement)).one_or_none()
        return row is not None


def _held(question: OpenQuestion, held: str, **values: Any) -> Any:
    """An update of the row for as long as ``held`` is its claim."""
    return (
        update(pending_hitl)
        .where(pending_hitl.c.id == question.id, pending_hitl.c.claim == held)
        .values(values)
        .returning(pending_hitl.c.id)
    )


async def keep_question(connection: AsyncConnection, message: Message, *, hours: float) -> None:
    """Keeps what ``message``'s outcome asks back, if it does."""
    outcome = message.outcome or {}
    asked, snapshot = outcome.get("clarification"), outcome.get("resume")
    if not asked or not snapshot:
        return
    asked_before = (
        update(pending_hitl)
        .where(
            pending_hitl.c.session_id == message.session_id,
            pending_hitl.c.clarification_id == asked["id"],
            pending_hitl.c.state == "open",
            pending_hitl.c.claim.is_(None),
        )
        .values(state="closed")
    )
    await connection.execute(asked_before)
    await connection.execute(
        insert(pending_hitl).values(
            id=new_id(), session_id=message.session_id, clarification_id=asked["id"],
            message_id=message.id, question=outcome["question"], prompt=asked["prompt"],
            options=asked["options"], route=asked["kind"], status=outcome["status"],
            replies=snapshot.get("replies", []), snapshot=snapshot, state="open",
            created_at=now(), expires_at=now() + hours * SECONDS_IN_AN_HOUR,
        )
    )  # fmt: skip


def _question(row: RowMapping) -> OpenQuestion:
    return OpenQuestion(
        id=row["id"], session_id=row["session_id"], clarification_id=row["clarification_id"],
        message_id=row["message_id"], question=row["question"], prompt=row["prompt"],
        options=tuple(row["options"]), route=row["route"], status=row["status"],
        replies=tuple(row["replies"]), snapshot=row["snapshot"], state=row["state"],
        expired=bool(row["expired"]), created_at=as_time(row["created_at"]),
        expires_at=as_time(row["expires_at"]), answered_by=row["answered_by"],
    )  # fmt: skip
