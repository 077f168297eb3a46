"""A knowledge base among LlamaIndex's retrievers."""

from __future__ import annotations

import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms.mock import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import MetadataMode

from anabranch import KnowledgeBase, RunError
from fakes import NOTHING, World, hits


def base_that_knows_leave() -> tuple[World, KnowledgeBase]:
    world = World()
    world.store.found = {"leave": hits("Leave is 27 days.", "Ask your manager.")}
    return world, world.knowledge_base()


def test_evidence_comes_as_nodes_with_scores_and_places() -> None:
    _, base = base_that_knows_leave()
    with base:
        retriever = base.as_llama_index_retriever()
        found = retriever.retrieve("leave")
        evidence = base.retrieve("leave").evidence
    assert isinstance(retriever, BaseRetriever)
    assert [item.node.get_content() for item in found] == [item.text for item in evidence]
    assert [item.score for item in found] == [item.score for item in evidence]
    node = found[0].node
    assert (node.node_id, node.start_char_idx, node.end_char_idx) == (  # type: ignore[attr-defined]
        evidence[0].chunk_id, evidence[0].start, evidence[0].end,
    )  # fmt: skip
    assert node.metadata["relevance"] == evidence[0].relevance
    assert node.metadata["status"] == "answerable"
    assert node.metadata["trace"] == ["retrieve_initial.q1"]


def test_a_model_reads_the_source_and_not_the_offsets() -> None:
    _, base = base_that_knows_leave()
    with base:
        [first, *_] = base.as_llama_index_retriever(top_k=1).retrieve("leave")
    shown = first.node.get_content(MetadataMode.LLM)
    assert "source: " in shown
    assert "chunk_id" not in shown


async def test_it_works_async_with_its_options() -> None:
    _, base = base_that_knows_leave()
    with base:
        retriever = base.as_llama_index_retriever(top_k=1)
        found = await retriever.aretrieve("leave")
        assert [item.node.node_id for item in found] == [
            item.node.node_id for item in retriever.retrieve("leave")
        ]
    assert len(found) == 1


def test_what_the_documents_do_not_know_gives_no_nodes_and_a_failed_run_raises() -> None:
    world, base = base_that_knows_leave()
    world.grader.script = {"leave": NOTHING}
    with base:
        assert base.as_llama_index_retriever().retrieve("leave") == []
        world.store.dense = world.store.text = {"leave": OSError("disk")}
        with pytest.raises(RunError, match="disk"):
            base.as_llama_index_retriever().retrieve("leave")


async def test_it_joins_a_fusion_of_theirs() -> None:
    _, base = base_that_knows_leave()
    with base:
        fused = QueryFusionRetriever(
            [base.as_llama_index_retriever(), base.as_llama_index_retriever(top_k=1)],
            llm=MockLLM(), num_queries=1, use_async=False,
        )  # fmt: skip
        found, later = fused.retrieve("leave"), await fused.aretrieve("leave")
    texts = ["Leave is 27 days.", "Ask your manager."]
    assert [item.node.get_content() for item in found] == texts
    assert [item.node.get_content() for item in later] == texts
