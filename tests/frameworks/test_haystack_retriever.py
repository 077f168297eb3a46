"""A knowledge base as a component of a Haystack pipeline."""

from __future__ import annotations

from pathlib import Path

import pytest
from haystack import Pipeline
from haystack.components.builders import PromptBuilder

from anabranch import ConfigurationError, InputError, KnowledgeBase, RunError
from anabranch.haystack_retriever import AnabranchHaystackRetriever
from fakes import NOTHING, FakeRetriever, World, hits


def base_that_knows_leave() -> tuple[World, KnowledgeBase]:
    world = World()
    world.store.found = {"leave": hits("Leave is 27 days.", "Ask your manager.")}
    return world, world.knowledge_base()


def stored(folder: Path) -> Path:
    """A knowledge base of one page in ``folder``."""
    page = folder / "leave.md"
    page.write_text("# Leave\n\nAnnual leave is 27 days for everyone.\n", encoding="utf-8")
    with KnowledgeBase.open(folder / "kb") as base:
        base.add(page)
    return folder / "kb"


def test_evidence_comes_as_documents_with_their_places() -> None:
    _, base = base_that_knows_leave()
    with base:
        found = AnabranchHaystackRetriever(base).run("leave")
        evidence = base.retrieve("leave").evidence
    documents = found["documents"]
    assert [document.content for document in documents] == [item.text for item in evidence]
    assert [document.score for document in documents] == [item.score for item in evidence]
    assert documents[0].id == evidence[0].chunk_id
    assert documents[0].meta["start"] == evidence[0].start
    assert documents[0].meta["provenance"][0]["source"] == evidence[0].source
    assert (found["status"], documents[0].meta["trace"]) == ("answerable", ["retrieve_initial.q1"])


def test_it_runs_in_a_pipeline() -> None:
    _, base = base_that_knows_leave()
    pipeline = Pipeline()
    pipeline.add_component("retriever", AnabranchHaystackRetriever(base, {"top_k": 1}))
    pipeline.add_component(
        "prompt",
        PromptBuilder(
            "{% for d in documents %}{{ d.content }}{% endfor %}", required_variables=["documents"]
        ),
    )
    pipeline.connect("retriever.documents", "prompt.documents")
    with base:
        assert pipeline.run({"retriever": {"query": "leave"}})["prompt"]["prompt"] == (
            "Leave is 27 days."
        )


async def test_it_runs_in_an_async_pipeline() -> None:
    _, base = base_that_knows_leave()
    pipeline = Pipeline()
    pipeline.add_component("retriever", AnabranchHaystackRetriever(base))
    with base:
        found = await pipeline.run_async({"retriever": {"query": "leave", "top_k": 1}})
    assert len(found["retriever"]["documents"]) == 1


def test_a_saved_pipeline_opens_its_folder_again(tmp_path: Path) -> None:
    pipeline = Pipeline()
    component = AnabranchHaystackRetriever(stored(tmp_path), {"top_k": 2})
    pipeline.add_component("retriever", component)
    loaded = Pipeline.loads(pipeline.dumps(), allowed_modules=["anabranch.haystack_retriever"])
    again = loaded.get_component("retriever")
    assert again.to_dict() == component.to_dict()
    again.warm_up()
    [document] = loaded.run({"retriever": {"query": "How long is annual leave?"}})["retriever"][
        "documents"
    ]
    again.close()
    assert "27 days" in document.content


def test_nothing_secret_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANABRANCH_PDF_PASSWORDS", '["open sesame"]')
    pipeline = Pipeline()
    pipeline.add_component("retriever", AnabranchHaystackRetriever(tmp_path / "kb"))
    assert "sesame" not in pipeline.dumps()


def test_what_cannot_be_saved_is_refused() -> None:
    with pytest.raises(InputError, match="JSON"):
        AnabranchHaystackRetriever("kb", {"history": [object()]})
    with World().knowledge_base(retrievers=[FakeRetriever()]) as base:
        component = AnabranchHaystackRetriever(base)
        with pytest.raises(ConfigurationError, match="web"):
            component.to_dict()


def test_what_the_documents_do_not_know_gives_none_and_a_failed_run_raises() -> None:
    world, base = base_that_knows_leave()
    world.grader.script = {"leave": NOTHING}
    with base:
        assert AnabranchHaystackRetriever(base).run("leave")["status"] == "no_knowledge"
        world.store.dense = world.store.text = {"leave": OSError("disk")}
        with pytest.raises(RunError, match="disk"):
            AnabranchHaystackRetriever(base).run("leave")
