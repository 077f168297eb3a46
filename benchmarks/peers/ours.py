"""Anabranch measured beside the peers: quality through ``anabranch eval``, speed through ``scale.py``."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.peers.encoder import Encoder
from benchmarks.peers.exchange import Passage
from benchmarks.peers.export import QualitySet
from benchmarks.peers.ingesting import first_words, measure_ingestion
from benchmarks.peers.robustness import BROKEN, PASSAGES, QUESTION, TWICE, UNKNOWN_WORDS

from anabranch import KnowledgeBase, __version__
from anabranch.build import build
from anabranch.chunking import text_hash
from anabranch.ports import Embedder, RequestContext, Vectors
from anabranch.request import budgets_of
from anabranch.settings import load_settings
from anabranch.types import Document

ROOT = Path(__file__).parents[2]
EFFORTS = ("minimal", "standard", "thorough")


def quality(chosen: QualitySet, data: Path, *, effort: str, indexes: Path) -> dict[str, Any]:
    """The figures of every query of the set, by the command that anyone can run."""
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "run.json"
        command = [
            sys.executable, "-m", "anabranch", "eval", str(data / chosen.name),
            "--split", chosen.split, "--effort", effort, "--cache", str(indexes),
            "--save", str(saved), "--json",
        ]  # fmt: skip
        command += ["--limit", str(chosen.limit)] if chosen.limit else []
        command += [part for where in chosen.where for part in ("--where", where)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
        run = json.loads(saved.read_text("utf-8"))
    return {"version": __version__, "report": run["report"], "queries": run["queries"]}


def latency(scale: Path, size: int) -> dict[str, Any]:
    """What ``scale.py`` measures of one size, in a process of its own."""
    command = [sys.executable, str(ROOT / "benchmarks" / "scale.py"), "--cache", str(scale)]
    subprocess.run([*command, "--sizes", str(size), "--only-fill"], check=True)
    done = subprocess.run(
        [*command, "--measure", str(size)], check=True, stdout=subprocess.PIPE, text=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def ingestion(scale: Path) -> dict[str, Any]:
    """Texts until they can be searched, all levels, windows and vocabulary included."""
    leaves = 0
    encoder = Encoder()
    encoder.load()
    with (
        tempfile.TemporaryDirectory() as folder,
        KnowledgeBase.open(Path(folder) / "kb") as base,
    ):

        def index(passages: Sequence[Passage]) -> None:
            nonlocal leaves
            collection = f"of-{len(passages)}"
            report = base.add_documents(list(map(_document, passages)), collection=collection)
            question = first_words(passages)
            base.retrieve(question, collections=[collection], effort="minimal", interactive=False)
            leaves = sum(file.chunks for file in report.files)

        found = measure_ingestion(encoder, scale, index)
    return {**found, "leaves": leaves}


def robustness() -> dict[str, str]:
    """The cases of ``robustness.py``, with the same passages."""
    with (
        tempfile.TemporaryDirectory() as folder,
        KnowledgeBase.open(Path(folder) / "kb") as base,
    ):
        # A knowledge base that never had a document refuses the question; this one had.
        base.add_documents([_document(PASSAGES[-1])])
        base.remove(PASSAGES[-1].document)
        empty = base.retrieve(QUESTION, interactive=False)
        base.add_documents([_document(passage) for passage in PASSAGES])
        broken = asyncio.run(_broken_variant(Path(folder) / "kb"))
        twice = base.retrieve(QUESTION, interactive=False)
        unknown = base.retrieve(UNKNOWN_WORDS, interactive=False)
    hours = {passage.document for passage in PASSAGES if passage.text == TWICE}
    places = {place.source for item in twice.evidence for place in item.provenance}
    return {
        "a variant raises": broken,
        "the same text in two files": f"{len(hours & places)} of 2 files",
        "no word is known": unknown.status,
        "nothing is indexed": empty.status,
    }


async def _broken_variant(folder: Path) -> str:
    """Three wordings of one question, as the planner would give them, one of which raises."""
    from anabranch import fanout
    from anabranch.trace import Trace, ignore_event
    from anabranch.types import Query, Scope, Variant

    settings = load_settings()
    built = await build(folder, settings, create=False)
    assert built is not None  # it was filled before
    try:
        parts = replace(built.parts, embedder=BrokenEmbedder(built.parts.embedder))
        now = time.perf_counter()
        context = RequestContext(
            parts=parts, scope=Scope(), budgets=budgets_of({"effort": "standard"}, settings),
            started=now, deadline=now + 60, index_fingerprint="", signing_key=built.signing_key,
        )  # fmt: skip
        retrieval = await fanout.retrieve(
            Query(id="q1", text=QUESTION, kind="original"), context,
            trace=Trace(ignore_event, now), parent="bench",
            variants=[Variant(BROKEN), Variant("harbour office hours")],
        )  # fmt: skip
    finally:
        await built.close()
    failures = [failure for result in retrieval.results for failure in result.failures]
    said = ", ".join(f"{failure.where}: {failure.kind}" for failure in failures) or "nothing"
    return f"{len(retrieval.passages)} passages from the other wordings; recorded: {said}"


class BrokenEmbedder:
    """The embedder of a knowledge base, but it raises when asked for one wording."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        if BROKEN in texts:
            raise ConnectionError("The embedding service refused this text.")
        return await self._embedder.embed_queries(texts)


def _document(passage: Passage) -> Document:
    return Document(
        source=passage.document,
        title="",
        text=passage.text,
        content_hash=text_hash(passage.text),
        media_type="text/plain",
    )
