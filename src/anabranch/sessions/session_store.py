"""Sessions and their messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import RowMapping, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from anabranch.errors import SessionNotFoundError
from anabranch.records import Message, NewMessage, OpenQuestion, Session
from anabranch.sessions.database import Database, as_time, new_id, now
from anabranch.sessions.questions import SqlQuestions, keep_question
from anabranch.sessions.tables import messages, pending_hitl, sessions


class SqlSessionStore(SqlQuestions):
    """``ports.SessionStore`` over a database."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._database = database

    async def create_session(
        self,
        owner: str,
        *,
        title: str = "",
        collections: Sequence[str] | None = None,
        within: Sequence[str] | None = None,
        principals: Sequence[str] | None = None,
    ) -> Session:
        made = insert(sessions).values(
            id=new_id(), owner=owner, title=title,
            collections=_listed(collections), within=_listed(within),
            principals=_listed(principals), note="", noted=0, messages=0, created_at=now(), updated_at=now(),
        )  # fmt: skip
        async with self._database.changing() as connection:
            row = (await connection.execute(made.returning(*sessions.c))).mappings().one()
        return _session(row)

    async def sessions(self, owner: str, *, limit: int = 100, offset: int = 0) -> list[Session]:
        wanted = (
            select(sessions)
            .where(sessions.c.owner == owner)
            .order_by(sessions.c.updated_at.desc(), sessions.c.id)
            .limit(limit)
            .offset(offset)
        )
        async with self._database.reading() as connection:
            return [_session(row) for row in (await connection.execute(wanted)).mappings()]

    async def session(self, owner: str, session_id: str) -> Session:
        wanted = select(sessions).where(sessions.c.id == session_id, sessions.c.owner == owner)
        async with self._database.reading() as connection:
            row = (await connection.execute(wanted)).mappings().one_or_none()
        if row is None:
            raise _no_session(session_id)
        return _session(row)

    async def delete_session(self, owner: str, session_id: str) -> None:
        gone = delete(sessions).where(sessions.c.id == session_id, sessions.c.owner == owner)
        async with self._database.changing() as connection:
            if (await connection.execute(gone)).rowcount == 0:
                raise _no_session(session_id)

    async def messages(self, session_id: str, *, after: int = 0) -> list[Message]:
        wanted = (
            select(messages)
            .where(messages.c.session_id == session_id, messages.c.position > after)
            .order_by(messages.c.position)
        )
        async with self._database.reading() as connection:
            return [_message(row) for row in (await connection.execute(wanted)).mappings()]

    async def message(self, message_id: str) -> Message | None:
        wanted = select(messages).where(messages.c.id == message_id)
        async with self._database.reading() as connection:
            row = (await connection.execute(wanted)).mappings().one_or_none()
        return _message(row) if row is not None else None

    async def keep(
        self, session_id: str, *new: NewMessage, title: str = "", hours: float = 0
    ) -> list[Message]:
        async with self._database.changing() as connection:
            return await _keep(connection, session_id, new, title=title, hours=hours)

    async def answer(
        self, question: OpenQuestion, claim: str, *new: NewMessage, hours: float
    ) -> list[Message] | None:
        won = (
            update(pending_hitl)
            .where(
                pending_hitl.c.id == question.id,
                pending_hitl.c.state == "open",
                pending_hitl.c.claim == claim,
            )
            .values(state="answered", claim=None, leased_until=None)
        )
        async with self._database.changing() as connection:
            if (await connection.execute(won)).rowcount == 0:
                return None
            kept = await _keep(connection, question.session_id, new, title="", hours=hours)
            answered = update(pending_hitl).where(pending_hitl.c.id == question.id)
            await connection.execute(answered.values(answered_by=kept[-1].id))
        return kept

    async def note(self, session_id: str, text: str, *, upto: int) -> None:
        noted = (
            update(sessions)
            # Two turns at once condense the same messages: the one that got further stands.
            .where(sessions.c.id == session_id, sessions.c.noted < upto)
            .values(note=text, noted=upto)
        )
        async with self._database.changing() as connection:
            await connection.execute(noted)


async def _keep(
    connection: AsyncConnection,
    session_id: str,
    new: Sequence[NewMessage],
    *,
    title: str,
    hours: float,
) -> list[Message]:
    """``new`` at the end of the session, and the question that the last one asks back, if any."""
    values: dict[str, Any] = {
        "messages": sessions.c.messages + len(new), "updated_at": now(),
        # Only a session without a title gets one.
        "title": func.coalesce(func.nullif(sessions.c.title, ""), title),
    }  # fmt: skip
    reserved = (
        update(sessions)
        .where(sessions.c.id == session_id)
        .values(values)
        .returning(sessions.c.messages)
    )
    last = (await connection.execute(reserved)).scalar_one_or_none()
    if last is None:
        raise _no_session(session_id)
    kept = []
    for position, message in enumerate(new, start=last - len(new) + 1):
        made = insert(messages).values(
            id=new_id(), session_id=session_id, position=position, role=message.role,
            text=message.text, outcome=message.outcome, created_at=now(),
        )  # fmt: skip
        row = (await connection.execute(made.returning(*messages.c))).mappings().one()
        kept.append(_message(row))
        await keep_question(connection, kept[-1], hours=hours)
    return kept


def _session(row: RowMapping) -> Session:
    return Session(
        id=row["id"], owner=row["owner"], title=row["title"],
        collections=_names(row["collections"]), within=_names(row["within"]),
        principals=_names(row["principals"]),
        created_at=as_time(row["created_at"]), updated_at=as_time(row["updated_at"]),
        note=row["note"], noted=row["noted"],
    )  # fmt: skip


def _listed(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else [*names]


def _names(listed: list[str] | None) -> tuple[str, ...] | None:
    return None if listed is None else tuple(listed)


def _message(row: RowMapping) -> Message:
    return Message(
        id=row["id"], session_id=row["session_id"], position=row["position"], role=row["role"],
        text=row["text"], created_at=as_time(row["created_at"]), outcome=row["outcome"],
    )  # fmt: skip


def _no_session(session_id: str) -> SessionNotFoundError:
    return SessionNotFoundError(
        f"There is no session {session_id!r}. GET /v1/sessions lists those that there are."
    )
