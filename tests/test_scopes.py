"""What a caller may not see is not there for it, by any method of a knowledge base."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import scoped_base
from anabranch.access import OWNER, Caller
from anabranch.errors import CollectionNotFoundError, SourceNotFoundError
from anabranch.knowledge_base import KnowledgeBase
from anabranch.types import Scope
from fakes import SLOT, World, hits


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with scoped_base.make(tmp_path_factory.mktemp("scoped")) as made:
        yield made


def names(records: Any) -> list[str]:
    return [Path(record.source).name for record in records]


@pytest.mark.parametrize(
    ("principals", "seen"),
    [
        (None, ["merger.md", "minutes.md", "leave.md", "salaries.md"]),
        ((), ["minutes.md", "leave.md"]),
        (("hr",), ["minutes.md", "leave.md", "salaries.md"]),
        (("nobody", "chair"), ["merger.md", "minutes.md", "leave.md"]),
    ],
)
def test_sources_are_those_that_the_principals_may_see(
    base: KnowledgeBase, principals: tuple[str, ...] | None, seen: list[str]
) -> None:
    assert names(base.sources(principals=principals)) == seen


def test_a_text_is_given_to_whom_the_document_is_kept_for_and_nobody_else(
    base: KnowledgeBase,
) -> None:
    (record,) = base.sources(collections=["handbook"], principals=["hr"])[1:]
    assert "Quillfeather" in base.source_text(record.source_id, principals=["hr"])
    for principals in ((), ("chair",)):
        with pytest.raises(SourceNotFoundError):
            base.source_text(record.source_id, principals=principals)
    with pytest.raises(SourceNotFoundError):
        base.source_text(record.source_id, within=["board"], principals=["hr"])


def test_what_cannot_be_seen_cannot_be_removed(base: KnowledgeBase) -> None:
    (record,) = base.sources(collections=["board"], principals=["chair"])[:1]
    for scope in ({"principals": ()}, {"within": ["handbook"], "principals": ["chair"]}):
        with pytest.raises(SourceNotFoundError):
            base.remove(record.source_id, **scope)
    with pytest.raises(CollectionNotFoundError):
        base.remove(record.source_id, collection="board", within=["handbook"])
    assert record in base.sources()


async def test_collections_are_those_with_something_to_see(base: KnowledgeBase) -> None:
    assert await base.acollections() == ["board", "handbook"]
    assert await base.acollections(within=["handbook", "gone"]) == ["handbook"]
    assert await base.acollections(within=[]) == []


@pytest.mark.parametrize("wanted", ["board", "gone", "no such"])
def test_a_collection_that_may_not_be_seen_is_one_that_is_not_there(
    base: KnowledgeBase, wanted: str
) -> None:
    scope = Caller("ann", collections=("handbook", "gone")).scope
    for call in (base.sources, lambda **options: base.ask("Leave?", **options)):
        with pytest.raises(CollectionNotFoundError) as told:
            call(collections=[wanted], **scope)
        assert str(told.value) == (
            f"There is no collection {wanted!r}. Those that are there: 'handbook'."
        )


@pytest.mark.parametrize("question", ["What will the board sell?", "Who is the director?"])
def test_a_caller_without_a_choice_searches_all_that_it_may_see_and_no_more(
    base: KnowledgeBase, question: str
) -> None:
    caller = Caller("ann", collections=("handbook", "gone"))
    outcome = base.ask(question, **caller.scope)
    assert "Marrowgate" in str(base.ask(question, **OWNER.scope).to_dict())
    for word in ("Marrowgate", "Quillfeather", "Oxtwistle"):
        assert word not in str(outcome.to_dict())


def test_who_may_see_nothing_gets_nothing(base: KnowledgeBase) -> None:
    caller = Caller("ann", collections=("gone",))
    assert base.sources(**caller.scope) == []
    assert base.ask("How much leave is there?", **caller.scope).status == "no_knowledge"


def test_a_question_asked_back_goes_on_within_what_the_one_who_replies_may_see() -> None:
    world = World()
    question = "How much leave is there?"
    world.store.found = {question: hits("Leave.")}
    world.grader.script = {question: SLOT}
    with world.knowledge_base() as base:
        asked = base.ask(question, collections=["handbook", "default"])
        world.store.scopes.clear()
        base.resume(asked.resume, "Berlin", within=["handbook"], principals=["ann"])
    assert set(world.store.scopes) == {Scope(("handbook",), None, ("ann",))}
