"""Sessions, messages and open questions: whose they are, their order, and who may answer."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from anabranch.errors import SessionNotFoundError
from anabranch.records import NewMessage, OpenQuestion, Session
from anabranch.sessions.database import Database
from anabranch.sessions.session_store import SqlSessionStore

HOURS = 1.0


@pytest.fixture
def store(database: Database) -> SqlSessionStore:
    return SqlSessionStore(database)


@pytest.fixture
async def session(store: SqlSessionStore) -> Session:
    return await store.create_session("me")


def asking(clarification_id: str = "c1") -> NewMessage:
    outcome: dict[str, Any] = {
        "question": "How long is the warranty?", "status": "needs_clarification",
        "clarification": {
            "id": clarification_id, "kind": "clarify", "prompt": "Which one?", "options": ["A", "B"],
        },
        "resume": {"schema": "anabranch.resume/1", "replies": ["two years ago"]},
    }  # fmt: skip
    return NewMessage("assistant", "Which one?", outcome)


async def asked(store: SqlSessionStore, session: Session, hours: float = HOURS) -> OpenQuestion:
    await store.keep(session.id, asking(), hours=hours)
    [question] = await store.open_questions(session.id)
    return question


ANSWER = (NewMessage("user", "A"), NewMessage("assistant", "Two years. [1]", {"status": "x"}))


# ----------------------------------------------------------------------------------- sessions


async def test_what_no_id_can_be_is_nothing_that_is_there(
    store: SqlSessionStore, session: Session
) -> None:
    for none in ("\0", "a\0b", "x" * 5_000, "é"):
        with pytest.raises(SessionNotFoundError):
            await store.session("me", none)
        with pytest.raises(SessionNotFoundError):
            await store.delete_session("me", none)
        assert await store.question(session.id, none) is None


async def test_a_session_belongs_to_the_one_who_made_it(
    store: SqlSessionStore, session: Session
) -> None:
    assert await store.session("me", session.id) == session
    assert await store.sessions("you") == []
    with pytest.raises(SessionNotFoundError):
        await store.session("you", session.id)
    with pytest.raises(SessionNotFoundError):
        await store.delete_session("you", session.id)


async def test_the_session_that_was_used_last_comes_first(store: SqlSessionStore) -> None:
    first, second = [await store.create_session("me", title=title) for title in "ab"]
    await store.keep(first.id, NewMessage("user", "Hello?"))
    assert [found.id for found in await store.sessions("me")] == [first.id, second.id]
    assert [found.id for found in await store.sessions("me", limit=1, offset=1)] == [second.id]


@pytest.mark.parametrize("collections", [None, (), ("handbook", "合同")])
async def test_a_session_keeps_what_it_searches(
    store: SqlSessionStore, collections: tuple[str, ...] | None
) -> None:
    made = await store.create_session("me", collections=collections)
    assert (await store.session("me", made.id)).collections == collections


async def test_a_deleted_session_takes_its_messages_and_questions_along(
    store: SqlSessionStore, session: Session
) -> None:
    question = await asked(store, session)
    await store.delete_session("me", session.id)
    assert await store.messages(session.id) == []
    assert await store.question(session.id, question.clarification_id) is None
    with pytest.raises(SessionNotFoundError):
        await store.keep(session.id, NewMessage("user", "Still there?"))


async def test_only_a_session_without_a_title_gets_one(
    store: SqlSessionStore, session: Session
) -> None:
    await store.keep(session.id, NewMessage("user", "一?"), title="first")
    await store.keep(session.id, NewMessage("user", "二?"), title="second")
    assert (await store.session("me", session.id)).title == "first"


# ----------------------------------------------------------------------------------- messages


async def test_messages_come_back_as_they_were_kept(
    store: SqlSessionStore, session: Session
) -> None:
    kept = await store.keep(session.id, *ANSWER)
    assert await store.messages(session.id) == kept
    assert [message.position for message in kept] == [1, 2]
    assert (kept[1].outcome, kept[0].outcome) == ({"status": "x"}, None)
    assert await store.messages(session.id, after=1) == kept[1:]
    assert await store.message(kept[1].id) == kept[1]


async def test_messages_at_the_same_time_get_places_of_their_own(
    store: SqlSessionStore, session: Session
) -> None:
    pairs = [(NewMessage("user", f"{n}?"), NewMessage("assistant", f"{n}.")) for n in range(10)]
    await asyncio.gather(*(store.keep(session.id, *pair) for pair in pairs))
    texts = [message.text for message in await store.messages(session.id)]
    assert sorted(zip(texts[::2], texts[1::2], strict=True)) == [
        (f"{n}?", f"{n}.") for n in range(10)
    ]


async def test_a_note_never_goes_back_to_fewer_messages(
    store: SqlSessionStore, session: Session
) -> None:
    await store.note(session.id, "of four", upto=4)
    await store.note(session.id, "of two", upto=2)
    found = await store.session("me", session.id)
    assert (found.note, found.noted) == ("of four", 4)


# ------------------------------------------------------------------------------ open questions


async def test_what_a_message_asks_back_is_kept_open(
    store: SqlSessionStore, session: Session
) -> None:
    question = await asked(store, session)
    assert question.question == "How long is the warranty?"
    assert (question.prompt, question.options) == ("Which one?", ("A", "B"))
    assert (question.route, question.status) == ("clarify", "needs_clarification")
    assert question.replies == ("two years ago",)
    assert question.snapshot["schema"] == "anabranch.resume/1"
    assert not question.expired
    assert await store.question(session.id, "c1") == question


async def test_an_answered_question_is_no_longer_open(
    store: SqlSessionStore, session: Session
) -> None:
    question = await asked(store, session)
    claim = await store.claim(question, seconds=60)
    assert claim is not None
    kept = await store.answer(question, claim, *ANSWER, hours=HOURS)
    assert kept is not None
    assert await store.open_questions(session.id) == []
    found = await store.question(session.id, "c1")
    assert found is not None
    assert (found.state, found.answered_by) == ("answered", kept[-1].id)


async def test_of_many_claims_one_is_given(store: SqlSessionStore, session: Session) -> None:
    question = await asked(store, session)
    claims = await asyncio.gather(*(store.claim(question, seconds=60) for _ in range(20)))
    assert Counter(claim is None for claim in claims) == {True: 19, False: 1}


async def test_a_claim_whose_lease_ended_goes_to_the_next_and_cannot_save(
    store: SqlSessionStore, session: Session
) -> None:
    question = await asked(store, session)
    dead = await store.claim(question, seconds=-1)
    alive = await store.claim(question, seconds=60)
    assert dead is not None
    assert alive is not None
    assert await store.answer(question, dead, *ANSWER, hours=HOURS) is None
    assert not await store.extend(question, dead, seconds=60)
    assert len(await store.messages(session.id)) == 1
    assert await store.answer(question, alive, *ANSWER, hours=HOURS) is not None
    assert await store.answer(question, alive, *ANSWER, hours=HOURS) is None
    assert len(await store.messages(session.id)) == 3


async def test_a_lease_that_is_extended_is_not_given_away(
    store: SqlSessionStore, session: Session
) -> None:
    question = await asked(store, session)
    claim = await store.claim(question, seconds=-1)
    assert claim is not None
    assert await store.extend(question, claim, seconds=60)
    assert await store.claim(question, seconds=60) is None


async def test_a_claim_that_is_given_back_can_be_taken(
    store: SqlSessionStore, session: Session
) -> None:
    question = await asked(store, session)
    claim = await store.claim(question, seconds=60)
    assert claim is not None
    await store.release(question, claim)
    assert await store.claim(question, seconds=60) is not None


async def test_an_answer_that_asks_again_opens_the_next_question(
    store: SqlSessionStore, session: Session
) -> None:
    question = await asked(store, session)
    claim = await store.claim(question, seconds=60)
    assert claim is not None
    await store.answer(question, claim, NewMessage("user", "A"), asking("c2"), hours=HOURS)
    assert [found.clarification_id for found in await store.open_questions(session.id)] == ["c2"]


async def test_the_same_question_asked_again_takes_the_place_of_the_first(
    store: SqlSessionStore, session: Session
) -> None:
    first = await asked(store, session)
    again = await asked(store, session)
    assert again.id != first.id
    assert await store.question(session.id, "c1") == again
    assert await store.claim(first, seconds=60) is None


async def test_a_question_expires(store: SqlSessionStore, session: Session) -> None:
    assert (await asked(store, session, hours=-1)).expired


async def test_a_closed_question_cannot_be_claimed(
    store: SqlSessionStore, session: Session
) -> None:
    question = await asked(store, session)
    await store.close_question(question)
    assert await store.open_questions(session.id) == []
    assert await store.claim(question, seconds=60) is None
