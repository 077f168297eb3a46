"""A knowledge base in somebody else's chain."""

from __future__ import annotations

from anabranch import KnowledgeBase
from fakes import NOTHING, World, hits


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
