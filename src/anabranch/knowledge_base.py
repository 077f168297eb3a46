"""KnowledgeBase: add, remove, retrieve, ask, resume, stream. What every front calls.

All work of one knowledge base happens on one background event loop, whoever calls: the blocking
methods, their async twins in any loop, and streams share its limits, caches and batches.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from anabranch import originals
from anabranch.errors import CollectionNotFoundError, InputError, SourceNotFoundError
from anabranch.event_loop import BackgroundLoop
from anabranch.languages import document_notices
from anabranch.request import (
    AskOptions,
    budgets_of,
    check_options,
    checked_collection_name,
    checked_question,
    names_of,
    scope_of,
)
from anabranch.settings import Settings, load_settings
from anabranch.trace import EventName, RunEvent, RunSink, ignore_event
from anabranch.types import (
    DEFAULT_COLLECTION,
    EMPTY,
    FOREIGN,
    AddReport,
    Answer,
    Document,
    Effort,
    FileReport,
    Outcome,
    Scope,
    SourceRecord,
    Status,
)

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool

    from anabranch.build import Built
    from anabranch.foreign import ForeignRetriever
    from anabranch.ingest import IngestProgress, SourceFile
    from anabranch.llama_index_retriever import AnabranchLlamaIndexRetriever
    from anabranch.outcome import RagRun
    from anabranch.ports import Anonymizer, RequestContext, Retriever
    from anabranch.tracing import Tracing

logger = logging.getLogger(__name__)

Opener = Callable[[bool], Awaitable["Built | None"]]
Observer = Callable[[Outcome], None]


@dataclass(frozen=True, slots=True)
class KnowledgeBaseInfo:
    """A knowledge base at a glance."""

    path: Path
    format_version: int
    model: str
    collections: tuple[str, ...]
    source_count: int
    chunk_count: int
    size_bytes: int
    notices: tuple[str, ...] = ()


class KnowledgeBase:
    """Documents that can be asked. Opened with ``KnowledgeBase.open``; closed when done with it."""

    def __init__(
        self,
        opener: Opener,
        *,
        settings: Settings,
        path: Path,
        retrievers: Sequence[Retriever] = (),
        tracing: Tracing | None = None,
    ) -> None:
        self.path = path
        self.settings = settings
        self._opener = opener
        self._retrievers = tuple(retrievers)
        self._tracing = tracing
        self._observers: tuple[Observer, ...] = () if tracing is None else (tracing,)
        self._built: Built | None = None
        self._replaced: list[Built] = []
        self._opening = asyncio.Lock()
        self._background = BackgroundLoop()

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        settings: Settings | None = None,
        retrievers: Sequence[ForeignRetriever | Any] = (),
    ) -> Self:
        """The knowledge base in folder ``path`` (default: from the settings).

        A folder that is not there yet is made by the first ``add``. ``retrievers`` are foreign
        retrieval systems (LangChain retrievers, bare or as ``ForeignRetriever``) that every
        question in their scope is put to as well: docs/foreign.md. Raises ConfigurationError for
        a folder that is something else, of a newer format, or made with another model, and for
        retrievers that do not fit.
        """
        from anabranch.build import build
        from anabranch.foreign import open_retrievers
        from anabranch.manifest import read_manifest

        settings = settings or load_settings()
        folder = Path(path if path is not None else settings.kb).absolute()
        read_manifest(folder)
        return cls(
            lambda create: build(folder, settings, create=create),
            settings=settings,
            path=folder,
            retrievers=open_retrievers(retrievers),
            tracing=_tracing(settings),
        )

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Hand the outcome of every run that ends to ``observer``, until what is returned is called.

        It is called in the thread of the knowledge base, in the context of whoever asked. What it
        raises is logged, and changes nothing for the run.
        """
        self._observers = (*self._observers, observer)

        def stop() -> None:
            self._observers = tuple(kept for kept in self._observers if kept is not observer)

        return stop

    # ------------------------------------------------------------------------------- documents

    async def aadd(
        self,
        *paths: str | Path,
        collection: str = DEFAULT_COLLECTION,
        allowed: Sequence[str] = (),
        metadata: Mapping[str, Any] = EMPTY,
        on_progress: Callable[[IngestProgress], None] | None = None,
    ) -> AddReport:
        """Add files and folders, and report what happened to every file.

        Unchanged files cost no work; a changed one replaces its earlier version in one step.
        ``allowed`` lists the principals that may see the documents; empty: all who may see the
        collection. ``on_progress`` is called from another thread. Raises SourceNotFoundError for
        a path that is not there, StorageError when the disk refuses.
        """
        add = self._add(
            _named(paths), collection=checked_collection_name(collection),
            allowed=tuple(allowed), metadata=metadata, on_progress=on_progress,
        )  # fmt: skip
        return await self._background.submit(add)

    def add(
        self,
        *paths: str | Path,
        collection: str = DEFAULT_COLLECTION,
        allowed: Sequence[str] = (),
        metadata: Mapping[str, Any] = EMPTY,
        on_progress: Callable[[IngestProgress], None] | None = None,
    ) -> AddReport:
        """Blocking twin of ``aadd``."""
        return self._background.wait(
            self._add(
                _named(paths),
                collection=checked_collection_name(collection),
                allowed=tuple(allowed),
                metadata=metadata,
                on_progress=on_progress,
            )
        )

    async def aadd_files(
        self,
        files: Mapping[str, Path],
        *,
        collection: str = DEFAULT_COLLECTION,
        allowed: Sequence[str] = (),
        on_progress: Callable[[IngestProgress], None] | None = None,
    ) -> AddReport:
        """Add files under other names than their own; a name that exists gets a new version.

        ``files`` has the path to read by the name, which also identifies the source: like that of
        a file that ``aadd`` found there, seen from the folder that holds the knowledge base.
        """
        from anabranch.ingest import SourceFile

        add = self._add_files(
            [SourceFile(path, name, name) for name, path in files.items()],
            collection=checked_collection_name(collection), allowed=tuple(allowed), metadata=EMPTY,
            on_progress=on_progress,
        )  # fmt: skip
        return await self._background.submit(add)

    async def aadd_documents(
        self,
        documents: Sequence[Document],
        *,
        collection: str = DEFAULT_COLLECTION,
        allowed: Sequence[str] = (),
        on_progress: Callable[[IngestProgress], None] | None = None,
    ) -> AddReport:
        """Add texts that are at hand already; ``document.source`` names and identifies each.

        As ``aadd`` otherwise: a document with the same ``content_hash`` costs no work.
        """
        add = self._add_documents(
            documents, collection=checked_collection_name(collection), allowed=tuple(allowed),
            on_progress=on_progress,
        )  # fmt: skip
        return await self._background.submit(add)

    def add_documents(
        self,
        documents: Sequence[Document],
        *,
        collection: str = DEFAULT_COLLECTION,
        allowed: Sequence[str] = (),
        on_progress: Callable[[IngestProgress], None] | None = None,
    ) -> AddReport:
        """Blocking twin of ``aadd_documents``."""
        add = self._add_documents(
            documents, collection=checked_collection_name(collection), allowed=tuple(allowed),
            on_progress=on_progress,
        )  # fmt: skip
        return self._background.wait(add)

    async def aremove(
        self,
        source: str,
        *,
        collection: str | None = None,
        within: Sequence[str] | None = None,
        principals: Sequence[str] | None = None,
    ) -> int:
        """Remove a source, by name or id, from every index; how many were removed.

        ``collection`` says which of several of the same name. Raises SourceNotFoundError when
        there is none in scope.
        """
        scope = _wanted(collection, principals)
        return await self._background.submit(self._remove(source, scope, within))

    def remove(
        self,
        source: str,
        *,
        collection: str | None = None,
        within: Sequence[str] | None = None,
        principals: Sequence[str] | None = None,
    ) -> int:
        """Blocking twin of ``aremove``."""
        scope = _wanted(collection, principals)
        return self._background.wait(self._remove(source, scope, within))

    async def asources(
        self,
        *,
        collections: Sequence[str] | None = None,
        sources: Sequence[str] | None = None,
        within: Sequence[str] | None = None,
        principals: Sequence[str] | None = None,
    ) -> list[SourceRecord]:
        """Every source in scope, or those in it of ``sources`` (by name or id), in order.

        The order is that of collections, then of names.
        """
        scope = replace(_wanted(collections, principals), sources=names_of(sources))
        return await self._background.submit(self._sources(scope, within))

    def sources(
        self,
        *,
        collections: Sequence[str] | None = None,
        sources: Sequence[str] | None = None,
        within: Sequence[str] | None = None,
        principals: Sequence[str] | None = None,
    ) -> list[SourceRecord]:
        """Blocking twin of ``asources``."""
        scope = replace(_wanted(collections, principals), sources=names_of(sources))
        return self._background.wait(self._sources(scope, within))

    async def asource(
        self,
        source: str,
        *,
        collections: Sequence[str] | None = None,
        within: Sequence[str] | None = None,
        principals: Sequence[str] | None = None,
    ) -> SourceRecord:
        """The one source in scope with this name or id.

        Raises SourceNotFoundError when there is none, InputError when there are several.
        """
        scope = _wanted(collections, principals)
        return await self._background.submit(self._source(source, scope, within))

    async def asource_text(
        self,
        source: str,
        *,
        collections: Sequence[str] | None = None,
        within: Sequence[str] | None = None,
        principals: Sequence[str] | None = None,
    ) -> str:
        """The extracted text of a source in scope, which all offsets count in."""
        scope = _wanted(collections, principals)
        return await self._background.submit(self._source_text(source, scope, within))

    def source_text(
        self,
        source: str,
        *,
        collections: Sequence[str] | None = None,
        within: Sequence[str] | None = None,
        principals: Sequence[str] | None = None,
    ) -> str:
        """Blocking twin of ``asource_text``."""
        scope = _wanted(collections, principals)
        return self._background.wait(self._source_text(source, scope, within))

    async def apage_picture(
        self,
        source: str,
        page: int,
        *,
        start: int | None = None,
        end: int | None = None,
        within: Sequence[str] | None = None,
        principals: Sequence[str] | None = None,
    ) -> bytes:
        """Page ``page`` (from 1) of a PDF as a PNG, ``text[start:end]`` of the source marked on it.

        Raises PictureError where there is none, saying why.
        """
        picture = self._page_picture(
            source, page, _wanted(None, principals), within, start=start, end=end
        )
        return await self._background.submit(picture)

    async def acollections(
        self, *, within: Sequence[str] | None = None, principals: Sequence[str] | None = None
    ) -> list[str]:
        """The collections that may be named by the caller: where there is something to see."""
        return await self._background.submit(self._collections(_wanted(None, principals), within))

    async def areindex(
        self, model: str, *, on_progress: Callable[[int, int], None] = lambda done, total: None
    ) -> int:
        """Embed all documents again, with the embedder called ``model``; how many were.

        The index as it is answers until the new one is whole. ``model`` is as the setting
        ``embedder``. ``on_progress`` gets the sources done and their number, from another thread.
        """
        return await self._background.submit(self._reindex(model, on_progress))

    def reindex(
        self, model: str, *, on_progress: Callable[[int, int], None] = lambda done, total: None
    ) -> int:
        """Blocking twin of ``areindex``."""
        return self._background.wait(self._reindex(model, on_progress))

    async def aprepare(self) -> None:
        """Open everything that a request needs, and make the knowledge base where there is none.

        For a service: its first question then waits for nothing.
        """
        await self._background.submit(self._open(create=True))

    def describe(self) -> KnowledgeBaseInfo:
        """The knowledge base at a glance."""
        return self._background.wait(self._describe())

    # --------------------------------------------------------------------------------- questions

    async def aask(self, question: str, **options: Unpack[AskOptions]) -> Outcome:
        """The outcome of a question, with its answer.

        Raises QuestionError for one that is blank or too long, CollectionNotFoundError for a
        collection that is not there. All else that goes wrong is in the outcome.
        """
        return await self._background.submit(self._ask(question, options))

    def ask(self, question: str, **options: Unpack[AskOptions]) -> Outcome:
        """Blocking twin of ``aask``."""
        return self._background.wait(self._ask(question, options))

    async def aretrieve(self, question: str, **options: Unpack[AskOptions]) -> Outcome:
        """The outcome of a question: graded evidence, without an answer."""
        return await self._background.submit(self._ask(question, options, answer=False))

    def retrieve(self, question: str, **options: Unpack[AskOptions]) -> Outcome:
        """Blocking twin of ``aretrieve``."""
        return self._background.wait(self._ask(question, options, answer=False))

    async def aresume(
        self, snapshot: Mapping[str, Any] | None, reply: str, *, answer: bool = True,
        **options: Unpack[AskOptions],
    ) -> Outcome:  # fmt: skip
        """The outcome of a question that was asked back about, with the user's reply.

        ``snapshot`` is the ``resume`` value of the outcome that asked. Raises SnapshotError when
        it is damaged, changed, or of another knowledge base.
        """
        return await self._background.submit(self._resume(snapshot, reply, options, answer=answer))

    def resume(
        self, snapshot: Mapping[str, Any] | None, reply: str, *, answer: bool = True,
        **options: Unpack[AskOptions],
    ) -> Outcome:  # fmt: skip
        """Blocking twin of ``aresume``."""
        return self._background.wait(self._resume(snapshot, reply, options, answer=answer))

    def stream(
        self, question: str, *, answer: bool = True, **options: Unpack[AskOptions]
    ) -> AsyncIterator[RunEvent]:
        """The same run as ``aask``, as typed events; the last one carries the outcome."""
        return self._background.stream(
            lambda sink: self._ask(question, options, answer=answer, sink=sink)
        )

    def stream_resume(
        self, snapshot: Mapping[str, Any] | None, reply: str, *, answer: bool = True,
        **options: Unpack[AskOptions],
    ) -> AsyncIterator[RunEvent]:  # fmt: skip
        """The same run as ``aresume``, as typed events; the last one carries the outcome."""
        return self._background.stream(
            lambda sink: self._resume(snapshot, reply, options, answer=answer, sink=sink)
        )

    def stream_turn(
        self, text: str, *, tools: Sequence[BaseTool] = (), **options: Unpack[AskOptions]
    ) -> AsyncIterator[RunEvent]:
        """A turn of a conversation, as typed events; the last one carries the outcome.

        Small talk is answered without a search; so is, with a language model, what its agent takes
        for small talk or does with one of ``tools``. All else is ``stream``.
        """
        return self._background.stream(lambda sink: self._turn(text, options, tools, sink))

    async def ranked(self, question: str, **options: Unpack[AskOptions]) -> RagRun:
        """The run of a question with the whole fused ranking behind its outcome (for evaluation)."""
        return await self._background.submit(self._ranked(question, options))

    async def answered(self, outcome: Outcome) -> Outcome:
        """The outcome of a run with its answer: the second half of ``aask`` (for evaluation)."""
        return await self._background.submit(self._answered_alone(outcome))

    def as_langchain_retriever(self, **options: Unpack[AskOptions]) -> BaseRetriever:
        """This knowledge base as a LangChain ``BaseRetriever``; ``options`` as for ``retrieve``."""
        from anabranch.langchain_retriever import AnabranchRetriever

        return AnabranchRetriever(knowledge_base=self, options=dict(options))

    def as_llama_index_retriever(
        self, **options: Unpack[AskOptions]
    ) -> AnabranchLlamaIndexRetriever:
        """This knowledge base as a LlamaIndex ``BaseRetriever``; ``options`` as for ``retrieve``.

        Raises MissingExtraError without the extra ``llama-index``.
        """
        from anabranch.llama_index_retriever import AnabranchLlamaIndexRetriever

        return AnabranchLlamaIndexRetriever(self, options=dict(options))

    @property
    def retriever_names(self) -> tuple[str, ...]:
        """What the foreign retrievers are called that questions are put to as well."""
        return tuple(retriever.name for retriever in self._retrievers)

    # ------------------------------------------------------------------------------ what they do

    async def _add(
        self,
        paths: Sequence[Path],
        *,
        collection: str,
        allowed: tuple[str, ...],
        metadata: Mapping[str, Any],
        on_progress: Callable[[IngestProgress], None] | None,
    ) -> AddReport:
        from anabranch.ingest import name_source, source_id_of

        found, missing = _walked(paths, self.path.parent)
        files = {file.location: file for file in (name_source(p, self.path.parent) for p in found)}
        if not files and not missing:
            raise InputError(
                f"No file that can be read in {', '.join(repr(str(p)) for p in paths)}. "
                'docs/command-line.md lists the kinds of files, under "anabranch add".'
            )
        report = await self._add_files(
            list(files.values()), collection=collection, allowed=allowed, metadata=metadata,
            on_progress=on_progress,
        )  # fmt: skip
        ids = [source_id_of(collection, location) for location in files]
        await asyncio.to_thread(originals.discard_all, self.path, ids)
        return replace(report, files=(*report.files, *missing))

    async def _add_files(
        self,
        files: Sequence[SourceFile],
        *,
        collection: str,
        allowed: tuple[str, ...],
        metadata: Mapping[str, Any],
        on_progress: Callable[[IngestProgress], None] | None,
    ) -> AddReport:
        from anabranch.ingest import Ingestion

        built = await self._open(create=True)
        ingestion = Ingestion(
            built.parts.store, built.parts.embedder, built.reader, collection=collection,
            allowed=allowed, metadata=metadata, on_progress=on_progress,
        )  # fmt: skip
        report = await ingestion.run(files)
        if self._is_replaced(built):  # embedded again meanwhile, perhaps without these files
            await self._add_files(
                files, collection=collection, allowed=allowed, metadata=metadata,
                on_progress=on_progress,
            )  # fmt: skip
        return report

    async def _add_documents(
        self,
        documents: Sequence[Document],
        *,
        collection: str,
        allowed: tuple[str, ...],
        on_progress: Callable[[IngestProgress], None] | None,
    ) -> AddReport:
        from anabranch.ingest import Ingestion, SourceText

        built = await self._open(create=True)
        ingestion = Ingestion(
            built.parts.store, built.parts.embedder, built.reader, collection=collection,
            allowed=allowed, on_progress=on_progress,
        )  # fmt: skip
        report = await ingestion.run([SourceText(document) for document in documents])
        if self._is_replaced(built):
            await self._add_documents(
                documents, collection=collection, allowed=allowed, on_progress=on_progress
            )
        return report

    async def _remove(self, source: str, wanted: Scope, within: Sequence[str] | None) -> int:
        record = await self._source(source, wanted, within)
        removed = 0
        while True:
            built = await self._open()
            removed = max(removed, await built.parts.store.remove([record.source_id]))
            await asyncio.to_thread(originals.discard, self.path, record.source_id)
            if not self._is_replaced(built):  # else the new index may have been made with it
                return removed

    async def _sources(self, wanted: Scope, within: Sequence[str] | None) -> list[SourceRecord]:
        built = await self._open()
        return await built.parts.store.sources(await self._checked_scope(built, wanted, within))

    async def _source(
        self, source: str, wanted: Scope, within: Sequence[str] | None
    ) -> SourceRecord:
        records = await self._sources(replace(wanted, sources=(source,)), within)
        if not records:
            raise SourceNotFoundError(
                f"There is no source {source!r}. `anabranch sources` lists them."
            )
        _check_one(source, records)
        return records[0]

    async def _source_text(self, source: str, wanted: Scope, within: Sequence[str] | None) -> str:
        record = await self._source(source, wanted, within)
        return await self._text_of(record, wanted)

    async def _text_of(self, record: SourceRecord, wanted: Scope) -> str:
        """The text of a source that was found in scope: read as the same caller, of its collection."""
        scope = replace(wanted, collections=(record.collection,))
        built = await self._open()
        return await built.parts.store.source_text(record.source_id, scope) or ""

    async def _page_picture(
        self,
        source: str,
        page: int,
        wanted: Scope,
        within: Sequence[str] | None,
        *,
        start: int | None,
        end: int | None,
    ) -> bytes:
        from anabranch.page_pictures import original, page_picture

        record = await self._source(source, wanted, within)
        text = await self._text_of(record, wanted)
        return await page_picture(
            (await self._open()).reader, record, original(self.path, record),
            page=page, text=text, start=start, end=end,
        )  # fmt: skip

    async def _collections(self, wanted: Scope, within: Sequence[str] | None) -> list[str]:
        return await self._nameable(await self._open(), wanted, within)

    async def _reindex(self, model: str, on_progress: Callable[[int, int], None]) -> int:
        from anabranch.build import reindex

        return await reindex(self.path, self.settings, name=model, on_progress=on_progress)

    async def _describe(self) -> KnowledgeBaseInfo:
        built = await self._open()
        records = await built.parts.store.sources(Scope())
        files = await asyncio.to_thread(lambda: [f for f in self.path.rglob("*") if f.is_file()])
        return KnowledgeBaseInfo(
            path=self.path,
            format_version=built.format_version,
            model=built.parts.embedder.fingerprint,
            collections=tuple(sorted({record.collection for record in records})),
            source_count=len(records),
            chunk_count=sum(record.chunk_count for record in records),
            size_bytes=sum(file.stat().st_size for file in files),
            notices=document_notices(
                Counter(str(record.metadata.get("language") or "en") for record in records),
                built.parts.embedder.languages,
            ),
        )

    async def _ask(
        self,
        question: str,
        options: AskOptions,
        *,
        answer: bool = True,
        sink: RunSink = ignore_event,
    ) -> Outcome:
        question = self._checked_question(question)
        context = await self._context(question, options, sink)
        run = await self._run(question, context)
        return await self._completed(run.outcome, context, answer=answer)

    async def _turn(
        self, text: str, options: AskOptions, tools: Sequence[BaseTool], sink: RunSink
    ) -> Outcome:
        from anabranch import small_talk
        from anabranch.ledger import failure_of
        from anabranch.shown_text import plain_words
        from anabranch.talking import Turning, talked

        question = self._checked_question(text)
        if (reply := small_talk.reply_to(question)) is not None:
            return talked(question, Answer(reply, "extractive"), sink)
        built = await self._open()
        ledger, turning = built.ledger(), Turning(sink)
        effort = options.get("effort") or self.settings.effort
        # What plainly asks is searched, whatever a model would say: facts come from documents.
        decided = effort == "minimal" or (not tools and small_talk.asks(question))
        seconds = self.settings.model_timeout
        agent = None if decided else built.agent(ledger, seconds=seconds, tools=tools)

        async def search() -> str:
            turning.usage = ledger.usage()
            outcome = await self._ask(text, options, sink=turning.pass_on)
            return outcome.status

        if agent is not None:
            try:
                talk = await agent.talk(question, history=options.get("history", ()), search=search)
                # Nothing was searched: no number cites anything, and no address is the documents'.
                if not talk.searched and (reply := plain_words(talk.reply).strip()):
                    answer = Answer(reply, "llm")
                    return talked(question, answer, sink, usage=ledger.usage())
            except Exception as error:  # the edge of the agent: without it the question is searched
                turning.failure = failure_of("agent", error)
        if turning.outcome is None:
            await search()
        return turning.ended()

    def _checked_question(self, question: str) -> str:
        return checked_question(question, longest=self.settings.max_question_characters)

    async def _run(self, question: str, context: RequestContext) -> RagRun:
        from anabranch.workflow import run_rag_graph

        context.sink(RunEvent("run.started", text=question))
        return await run_rag_graph(question, context)

    async def _ranked(self, question: str, options: AskOptions) -> RagRun:
        question = self._checked_question(question)
        return await self._run(question, await self._context(question, options, ignore_event))

    async def _resume(
        self,
        snapshot: Mapping[str, Any] | None,
        reply: str,
        options: AskOptions,
        *,
        answer: bool = True,
        sink: RunSink = ignore_event,
    ) -> Outcome:
        from anabranch.reading import normalise
        from anabranch.replies import meant
        from anabranch.resume import validate
        from anabranch.workflow import resume_rag_from_hitl

        built = await self._open()
        reply = " ".join(normalise(reply).split())
        known = validate(snapshot, reply, built.signing_key)
        question = known.refined_question()
        context = await self._context(question, options, sink)
        scope = context.scope.intersect(known.scope.to_scope())
        fingerprint = await built.parts.store.fingerprint(scope)
        # Whoever knows no answer is not asked again: the best there is.
        interactive = context.interactive and bool(meant(reply, known.options))
        context = replace(
            context, scope=scope, index_fingerprint=fingerprint, interactive=interactive
        )
        sink(RunEvent("run.started", text=question))
        run = await resume_rag_from_hitl(known, context)
        return await self._completed(run.outcome, context, answer=answer)

    async def _completed(
        self, outcome: Outcome, context: RequestContext, *, answer: bool
    ) -> Outcome:
        """The outcome with its answer, and the event that ends the run."""
        if answer and outcome.evidence:
            outcome = await self._answered(
                outcome, context.sink, effort=context.budgets.effort, anonymizer=context.anonymizer
            )
        if outcome.evidence:
            context.sink(RunEvent("evidence", outcome=outcome))
        for observer in self._observers:
            try:
                observer(outcome)
            except Exception:
                logger.exception("an observer of runs failed")
        context.sink(RunEvent(_ending(outcome.status), outcome=outcome))
        return outcome

    async def _answered_alone(self, outcome: Outcome) -> Outcome:
        anonymizer = (await self._open()).anonymizer()
        return await self._answered(
            outcome, ignore_event, effort=self.settings.effort, anonymizer=anonymizer
        )

    async def _answered(
        self, outcome: Outcome, sink: RunSink, *, effort: Effort, anonymizer: Anonymizer | None
    ) -> Outcome:
        from anabranch.answer import Telling, write_answer

        built = await self._open()
        ledger, telling = built.ledger(), Telling(sink, outcome.evidence)
        seconds = self.settings.answer_timeout
        answerer = built.answerer_for(
            effort, ledger=ledger, seconds=seconds, say=telling.say, anonymizer=anonymizer
        )
        finder = built.conflict_finder_for(
            effort, ledger=ledger, seconds=seconds, anonymizer=anonymizer
        )
        outcome = await write_answer(
            outcome, answerer, finder, seconds=seconds, sink=sink, ledger=ledger
        )
        telling.settle(outcome.answer.text if outcome.answer else "")
        return outcome

    # -------------------------------------------------------------------------------- the request

    async def _context(self, question: str, options: AskOptions, sink: RunSink) -> RequestContext:
        from anabranch.ports import RequestContext, Weights

        check_options(options)
        started = time.perf_counter()
        built = await self._open()
        settings = self.settings
        deadline = started + (options.get("timeout") or settings.timeout)
        scope = await self._checked_scope(built, scope_of(options), options.get("within"))
        budgets, ledger = budgets_of(options, settings), built.ledger()
        anonymizer = built.anonymizer()
        await built.prepare(budgets)
        return RequestContext(
            parts=built.parts_for(
                budgets, deadline=deadline, ledger=ledger, anonymizer=anonymizer
            ),
            scope=scope,
            budgets=budgets,
            started=started,
            deadline=deadline,
            index_fingerprint=await built.parts.store.fingerprint(scope),
            signing_key=built.signing_key,
            weights=Weights(
                dense=settings.dense_weight, text=1 - settings.dense_weight,
                variant=settings.variant_weight, foreign=settings.foreign_weight,
            ),
            interactive=options.get("interactive", True),
            history=tuple(options.get("history", ())),
            sink=sink,
            retrievers=self._retrievers,
            ledger=ledger,
            anonymizer=anonymizer,
            notices=built.notices(question, foreign=bool(self._retrievers)),
        )  # fmt: skip

    async def _checked_scope(
        self, built: Built, wanted: Scope, within: Sequence[str] | None
    ) -> Scope:
        """What is wanted, of what may be seen. Raises CollectionNotFoundError for a collection that
        is not there. One that may not be seen is not there either: same error, same words."""
        if wanted.collections is None and within is None:
            return wanted
        known = await self._nameable(built, wanted, within)
        for name in wanted.collections or ():
            if name not in known:
                there = ", ".join(repr(other) for other in known) or "none yet"
                raise CollectionNotFoundError(
                    f"There is no collection {name!r}. Those that are there: {there}."
                )
        return replace(wanted, collections=tuple(known)) if wanted.collections is None else wanted

    async def _nameable(
        self, built: Built, wanted: Scope, within: Sequence[str] | None
    ) -> list[str]:
        """The collections that the caller may name, those of foreign retrievers last."""
        from anabranch.foreign_legs import is_open_to

        principals, seen = wanted.principals, names_of(within)
        known = await built.parts.store.collections(Scope(principals=principals))
        foreign = [r.name for r in self._retrievers if is_open_to(r, principals)]
        known += [FOREIGN + name for name in foreign]
        return known if seen is None else [name for name in known if name in seen]

    async def _open(self, *, create: bool = False) -> Built:
        if self._built is None or self._is_replaced(self._built):
            async with self._opening:
                if self._built is not None and self._is_replaced(self._built):
                    # Requests under way go on with it; it is closed with the knowledge base.
                    self._replaced.append(self._built)
                    self._built = None
                if self._built is None:
                    self._built = await self._opener(create)
        if self._built is None:
            raise InputError(
                f"There is no knowledge base in {str(self.path)!r} yet. Add documents first: "
                "anabranch add PATH"
            )
        return self._built

    def _is_replaced(self, built: Built) -> bool:
        """Whether the documents were embedded again since, by this process or another one."""
        from anabranch.manifest import signature

        return built.signature is not None and signature(self.path) != built.signature

    def close(self) -> None:
        """Close what is open. A closed knowledge base opens again when it is used."""
        for retriever in self._retrievers:
            retriever.close()
        if self._tracing is not None:
            self._tracing.flush()
        if not self._background.running:
            return
        for built in (*self._replaced, *filter(None, [self._built])):
            self._background.wait(built.close())
        self._replaced, self._built = [], None
        # A lock belongs to the loop that it was first waited for in. Before the loop ends: whoever
        # comes next starts another one.
        self._opening = asyncio.Lock()
        self._background.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _tracing(settings: Settings) -> Tracing | None:
    """Where spans go, if anywhere; without personal data where anonymising is on."""
    if not settings.otel:
        return None
    from anabranch.build import personal_data
    from anabranch.tracing import Tracing

    personal = personal_data(settings)
    return Tracing.open(
        with_text=settings.log_text, begin=None if personal is None else personal.begin
    )


def _ending(status: Status) -> EventName:
    if status == "failed":
        return "run.failed"
    asks = status in ("needs_clarification", "needs_scope_selection")
    return "run.needs_input" if asks else "run.finished"


def _wanted(collections: Sequence[str] | None, principals: Sequence[str] | None) -> Scope:
    return Scope(collections=names_of(collections), principals=names_of(principals))


def _check_one(source: str, records: Sequence[SourceRecord]) -> None:
    if len(records) > 1:
        places = ", ".join(f"{r.collection!r} (id {r.source_id})" for r in records)
        raise InputError(
            f"{source!r} is in several places: {places}. Name one by --collection or its id."
        )


def _named(paths: Sequence[str | Path]) -> list[Path]:
    """``paths`` as such. Raises InputError for a blank one, which would be the current folder."""
    if any(not str(path).strip() for path in paths):
        raise InputError("The path is blank. Name a file or a folder; '.' is the current folder.")
    return [Path(path) for path in paths]


def _walked(paths: Sequence[Path], anchor: Path) -> tuple[tuple[Path, ...], list[FileReport]]:
    """Every file of ``paths``, and a line for each path that is not there or cannot be read.

    Raises SourceNotFoundError where none of them is there.
    """
    from anabranch.ingest import failed, name_source
    from anabranch.reading import walk

    there = [path for path in paths if path.exists()]
    walked = walk(there or paths)
    lines = [
        FileReport(str(path), "failed", reason="There is no such file or folder.")
        for path in paths
        if path not in there
    ]
    unread = [failed(name_source(path, anchor).source, why) for path, why in walked.unread.items()]
    return walked.files, [*lines, *unread]
