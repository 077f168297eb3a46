"""A knowledge base in somebody else's chain."""

from __future__ import annotations

import importlib
import sys

import pytest

from anabranch import ForeignRetriever, KnowledgeBase, MissingExtraError, RunError
from anabranch.foreign import open_retrievers
from fakes import NOTHING, SLOT, World, hits


def base_that_knows_leave() -> tuple[World, KnowledgeBase]:
    world = World()
    world.store.found = {"leave": hits("Leave is 27 days.", "Ask your manager.")}
    return world, world.knowledge_base()


def test_evidence_comes_as_documents_with_their_places() -> None:
    _, base = base_that_knows_leave()
    with base:
        found = base.as_langchain_retriever().invoke("leave")
        evidence = base.retrieve("leave").evidence
    assert [document.page_content for document in found] == [item.text for item in evidence]
    assert found[0].metadata["source"] == evidence[0].source
    assert found[0].metadata["start"] == evidence[0].start
    assert found[0].metadata["evidence"] == "e1"
    assert found[0].metadata["status"] == "answerable"
    assert found[0].metadata["provenance"][0]["source"] == evidence[0].source


def test_what_the_documents_do_not_know_gives_no_documents() -> None:
    world, base = base_that_knows_leave()
    world.grader.script = {"leave": NOTHING}
    with base:
        assert base.as_langchain_retriever().invoke("leave") == []


async def test_it_works_async_and_in_batches_with_its_options() -> None:
    _, base = base_that_knows_leave()
    with base:
        retriever = base.as_langchain_retriever(top_k=1)
        single, batch = await retriever.ainvoke("leave"), await retriever.abatch(["leave"] * 3)
    assert len(single) == 1
    assert [[d.page_content for d in found] for found in batch] == [[single[0].page_content]] * 3


def test_metadata_says_how_a_document_was_found_and_what_the_run_came_to() -> None:
    _, base = base_that_knows_leave()
    with base:
        [found] = base.as_langchain_retriever(top_k=1).invoke("leave")
        outcome = base.retrieve("leave")
    metadata = found.metadata
    assert metadata["page"] == 1
    assert metadata["score"] == pytest.approx(outcome.evidence[0].score, abs=1e-6)
    assert metadata["relevance"] == pytest.approx(outcome.evidence[0].relevance)
    assert metadata["confidence"] == outcome.confidence
    assert metadata["found_by"] == ["q1"]
    assert metadata["trace"] == ["retrieve_initial.q1"]
    assert metadata["trace"][0] in [event.id for event in outcome.trace]


def test_an_ambiguous_question_gets_the_best_effort() -> None:
    world, base = base_that_knows_leave()
    world.grader.script = {"leave": SLOT}
    with base:
        found = base.as_langchain_retriever(interactive=True).invoke("leave")
    assert [document.metadata["status"] for document in found] == ["partial", "partial"]


async def test_a_run_that_failed_raises_and_is_not_just_empty() -> None:
    world, base = base_that_knows_leave()
    world.store.dense = world.store.text = {"leave": OSError("disk")}
    with base:
        retriever = base.as_langchain_retriever()
        with pytest.raises(RunError, match="disk"):
            retriever.invoke("leave")
        both = await retriever.abatch(["leave", "holiday"], return_exceptions=True)
    assert isinstance(both[0], RunError)
    assert both[1] == []


def test_a_knowledge_base_is_a_foreign_retriever_of_another() -> None:
    ours, theirs = World(), World()
    ours.store.found = {"leave": hits("Ours.")}
    theirs.store.found = {"leave": hits("Theirs.")}
    other = theirs.knowledge_base()
    wrapped = open_retrievers([ForeignRetriever(other.as_langchain_retriever(), name="other")])
    with other, ours.knowledge_base(retrievers=wrapped) as base:
        evidence = base.retrieve("leave").evidence
    assert {item.text: item.collection for item in evidence} == {
        "Ours.": "default", "Theirs.": "foreign:other",
    }  # fmt: skip


def test_a_framework_that_is_not_installed_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # None in place of a module is how Python notes that there is no such one.
    monkeypatch.setitem(sys.modules, "llama_index.core.retrievers", None)
    monkeypatch.setitem(sys.modules, "haystack", None)
    for name in ("llama_index_retriever", "haystack_retriever"):
        monkeypatch.delitem(sys.modules, f"anabranch.{name}", raising=False)
    with World().knowledge_base() as base, pytest.raises(MissingExtraError, match="llama-index"):
        base.as_llama_index_retriever()
    with pytest.raises(MissingExtraError, match="haystack"):
        importlib.import_module("anabranch.haystack_retriever")
