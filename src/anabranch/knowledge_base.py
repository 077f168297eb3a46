"""KnowledgeBase: add, remove, retrieve, ask, resume, stream. What every front calls.

All work of one knowledge base happens on one background event loop, whoever calls: the blocking
methods, their async twins in any loop, and streams share its limits, caches and batches.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from anabranch.documents import Documents, KnowledgeBaseInfo
from anabranch.errors import InputError
from anabranch.event_loop import BackgroundLoop
from anabranch.opening import Opener, Opening
from anabranch.request import (
    AskOptions,
    checked_collection_name,
    checked_principals,
    names_of,
)
from anabranch.runs import Observer, Runs
from anabranch.settings import Settings, load_settings
from anabranch.trace import RunEvent
from anabranch.types import (
    DEFAULT_COLLECTION,
    EMPTY,
    AddReport,
    Document,
    Outcome,
    Scope,
    SourceRecord,
)

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool

    from anabranch.foreign import ForeignRetriever
    from anabranch.ingest import IngestProgress
    from anabranch.llama_index_retriever import AnabranchLlamaIndexRetriever
    from anabranch.outcome import RagRun
    from anabranch.ports import Retriever
    from anabranch.source_files import SourceFile
    from anabranch.tracing import Tracing


def _nobody_told(done: int, total: int) -> None:
    """Progress that nobody follows."""


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
        self._opening = Opening(opener, settings=settings, path=path, retrievers=retrievers)
        self._documents = Documents(self._opening)
        self._runs = Runs(self._opening)
        self._tracing = tracing
        if tracing is not None:
            self.observe(tracing)
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
        return self._runs.observe(observer)

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
        add = self._documents.add(
            _named(paths), collection=checked_collection_name(collection),
            allowed=checked_principals(allowed), metadata=metadata, on_progress=on_progress,
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
            self._documents.add(
                _named(paths),
                collection=checked_collection_name(collection),
                allowed=checked_principals(allowed),
                metadata=metadata,
                on_progress=on_progress,
            )
        )

    async def aadd_files(
        self,
        files: Sequence[SourceFile],
        *,
        collection: str = DEFAULT_COLLECTION,
        allowed: Sequence[str] = (),
        on_progress: Callable[[IngestProgress], None] | None = None,
    ) -> AddReport:
        """Add files under other names than their own; a location that exists gets a new version.

        A location without a scheme is that of a file that ``aadd`` found there, seen from the folder
        that holds the knowledge base.
        """
        add = self._documents.add_files(
            files,
            collection=checked_collection_name(collection), allowed=checked_principals(allowed), metadata=EMPTY,
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
        add = self._documents.add_documents(
            documents, collection=checked_collection_name(collection), allowed=checked_principals(allowed),
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
        add = self._documents.add_documents(
            documents, collection=checked_collection_name(collection), allowed=checked_principals(allowed),
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
        return await self._background.submit(self._documents.remove(source, scope, within))

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
        return self._background.wait(self._documents.remove(source, scope, within))

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
        return await self._background.submit(self._documents.sources(scope, within))

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
        return self._background.wait(self._documents.sources(scope, within))

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
        return await self._background.submit(self._documents.source(source, scope, within))

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
        return await self._background.submit(self._documents.source_text(source, scope, within))

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
        return self._background.wait(self._documents.source_text(source, scope, within))

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
        picture = self._documents.page_picture(
            source, page, _wanted(None, principals), within, start=start, end=end
        )
        return await self._background.submit(picture)

    async def acollections(
        self, *, within: Sequence[str] | None = None, principals: Sequence[str] | None = None
    ) -> list[str]:
        """The collections that may be named by the caller: where there is something to see."""
        return await self._background.submit(
            self._documents.collections(_wanted(None, principals), within)
        )

    def collections(
        self, *, within: Sequence[str] | None = None, principals: Sequence[str] | None = None
    ) -> list[str]:
        """Blocking twin of ``acollections``."""
        return self._background.wait(self._documents.collections(_wanted(None, principals), within))

    async def areindex(
        self, model: str, *, on_progress: Callable[[int, int], None] = _nobody_told
    ) -> int:
        """Embed all documents again, with the embedder called ``model``; how many were.

        The index as it is answers until the new one is whole. ``model`` is as the setting
        ``embedder``. ``on_progress`` gets the sources done and their number, from another thread.
        """
        return await self._background.submit(self._documents.reindex(model, on_progress))

    def reindex(self, model: str, *, on_progress: Callable[[int, int], None] = _nobody_told) -> int:
        """Blocking twin of ``areindex``."""
        return self._background.wait(self._documents.reindex(model, on_progress))

    async def aprepare(self) -> None:
        """Open everything that a question needs, and make the knowledge base where there is none.

        For a service: its first question then waits for nothing, neither the encoder nor the copy
        of the index in memory.
        """
        await self._background.submit(self._runs.prepare())

    async def adescribe(self) -> KnowledgeBaseInfo:
        """The knowledge base at a glance."""
        return await self._background.submit(self._documents.describe())

    def describe(self) -> KnowledgeBaseInfo:
        """Blocking twin of ``adescribe``."""
        return self._background.wait(self._documents.describe())

    # --------------------------------------------------------------------------------- questions

    async def aask(self, question: str, **options: Unpack[AskOptions]) -> Outcome:
        """The outcome of a question, with its answer.

        Raises QuestionError for one that is blank or too long, CollectionNotFoundError for a
        collection that is not there. All else that goes wrong is in the outcome.
        """
        return await self._background.submit(self._runs.ask(question, options))

    def ask(self, question: str, **options: Unpack[AskOptions]) -> Outcome:
        """Blocking twin of ``aask``."""
        return self._background.wait(self._runs.ask(question, options))

    async def aretrieve(self, question: str, **options: Unpack[AskOptions]) -> Outcome:
        """The outcome of a question: graded evidence, without an answer."""
        return await self._background.submit(self._runs.ask(question, options, answer=False))

    def retrieve(self, question: str, **options: Unpack[AskOptions]) -> Outcome:
        """Blocking twin of ``aretrieve``."""
        return self._background.wait(self._runs.ask(question, options, answer=False))

    async def aresume(
        self, snapshot: Mapping[str, Any] | None, reply: str, *, answer: bool = True,
        **options: Unpack[AskOptions],
    ) -> Outcome:  # fmt: skip
        """The outcome of a question that was asked back about, with the user's reply.

        ``snapshot`` is the ``resume`` value of the outcome that asked. Raises SnapshotError when
        it is damaged, changed, or of another knowledge base.
        """
        return await self._background.submit(
            self._runs.resume(snapshot, reply, options, answer=answer)
        )

    def resume(
        self, snapshot: Mapping[str, Any] | None, reply: str, *, answer: bool = True,
        **options: Unpack[AskOptions],
    ) -> Outcome:  # fmt: skip
        """Blocking twin of ``aresume``."""
        return self._background.wait(self._runs.resume(snapshot, reply, options, answer=answer))

    def stream(
        self, question: str, *, answer: bool = True, **options: Unpack[AskOptions]
    ) -> AsyncIterator[RunEvent]:
        """The same run as ``aask``, as typed events; the last one carries the outcome."""
        return self._background.stream(
            lambda sink: self._runs.ask(question, options, answer=answer, sink=sink)
        )

    def stream_resume(
        self, snapshot: Mapping[str, Any] | None, reply: str, *, answer: bool = True,
        **options: Unpack[AskOptions],
    ) -> AsyncIterator[RunEvent]:  # fmt: skip
        """The same run as ``aresume``, as typed events; the last one carries the outcome."""
        return self._background.stream(
            lambda sink: self._runs.resume(snapshot, reply, options, answer=answer, sink=sink)
        )

    def stream_turn(
        self, text: str, *, tools: Sequence[BaseTool] = (), **options: Unpack[AskOptions]
    ) -> AsyncIterator[RunEvent]:
        """A turn of a conversation, as typed events; the last one carries the outcome.

        Small talk is answered without a search; so is, with a language model, what its agent takes
        for small talk or does with one of ``tools``. All else is ``stream``.
        """
        return self._background.stream(lambda sink: self._runs.turn(text, options, tools, sink))

    async def ranked(self, question: str, **options: Unpack[AskOptions]) -> RagRun:
        """The run of a question with the whole fused ranking behind its outcome (for evaluation)."""
        return await self._background.submit(self._runs.ranked(question, options))

    async def answered(self, outcome: Outcome) -> Outcome:
        """The outcome of a run with its answer: the second half of ``aask`` (for evaluation)."""
        return await self._background.submit(self._runs.answered_alone(outcome))

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
        return tuple(retriever.name for retriever in self._opening.retrievers)

    async def aclose(self) -> None:
        """Close what is open. A closed knowledge base opens again when it is used."""
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Blocking twin of ``aclose``."""
        for retriever in self._opening.retrievers:
            retriever.close()
        if self._tracing is not None:
            self._tracing.flush()
        if not self._background.running:
            return
        self._background.wait(self._opening.close())
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

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()


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


def _wanted(collections: Sequence[str] | None, principals: Sequence[str] | None) -> Scope:
    return Scope(collections=names_of(collections), principals=names_of(principals))


def _named(paths: Sequence[str | Path]) -> list[Path]:
    """``paths`` as such. Raises InputError for a blank one, which would be the current folder."""
    if any(not str(path).strip() for path in paths):
        raise InputError("The path is blank. Name a file or a folder; '.' is the current folder.")
    return [Path(path) for path in paths]
