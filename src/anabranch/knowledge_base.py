"""KnowledgeBase: add, remove, retrieve, ask, resume, stream. What every front calls.

All work of one knowledge base happens on one background event loop, whoever calls: the blocking
methods, their async twins in any loop, and streams share its limits, caches and batches.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypedDict, TypeVar, Unpack

from anabranch.errors import (
    CollectionNotFoundError,
    InputError,
    QuestionError,
    SourceNotFoundError,
)
from anabranch.settings import Settings, load_settings
from anabranch.trace import EventName, RunEvent, RunSink, ignore_event
from anabranch.types import (
    DEFAULT_COLLECTION,
    EMPTY,
    AddReport,
    Document,
    Effort,
    Outcome,
    Scope,
    SourceRecord,
    Status,
    Turn,
)

if TYPE_CHECKING:
    from anabranch.build import Built
    from anabranch.ingest import IngestProgress
    from anabranch.outcome import RagRun
    from anabranch.ports import Budgets, RequestContext

Result = TypeVar("Result")
Opener = Callable[[bool], Awaitable["Built | None"]]

VARIANTS_BY_EFFORT: Mapping[Effort, int] = {"minimal": 0, "standard": 2, "thorough": 4}
# Closing waits this long for files that are being read to come to an end.
SECONDS_TO_STOP = 5.0
CANDIDATES_BY_EFFORT: Mapping[Effort, int] = {"minimal": 100, "standard": 100, "thorough": 200}


class AskOptions(TypedDict, total=False):
    """What a question may set; what is left out comes from the settings.

    ``collections`` and ``sources`` narrow what is searched; without them it is all that
    ``principals`` may see (None: the owner). ``timeout`` is in seconds. ``interactive=False``
    forbids questions back: the outcome is then the best effort.
    """

    collections: Sequence[str] | None
    sources: Sequence[str] | None
    principals: Sequence[str] | None
    effort: Effort | None
    top_k: int | None
    variants: int | None
    timeout: float | None
    interactive: bool
    history: Sequence[Turn]


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


class KnowledgeBase:
    """Documents that can be asked. Opened with ``KnowledgeBase.open``; closed when done with it."""

    def __init__(self, opener: Opener, *, settings: Settings, path: Path) -> None:
        self.path = path
        self.settings = settings
        self._opener = opener
        self._built: Built | None = None
        self._opening = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    @classmethod
    def open(cls, path: str | Path | None = None, *, settings: Settings | None = None) -> Self:
        """The knowledge base in folder ``path`` (default: from the settings).

        A folder that is not there yet is made by the first ``add``. Raises ConfigurationError for
        a folder that is something else, of a newer format, or made with another model.
        """
        from anabranch.build import build
        from anabranch.manifest import read_manifest

        settings = settings or load_settings()
        folder = Path(path if path is not None else settings.kb).absolute()
        read_manifest(folder)
        return cls(
            lambda create: build(folder, settings, create=create), settings=settings, path=folder
        )

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
            [Path(path) for path in paths], collection=_collection_name(collection),
            allowed=tuple(allowed), metadata=metadata, on_progress=on_progress,
        )  # fmt: skip
        return await self._submit(add)

    def add(
        self,
        *paths: str | Path,
        collection: str = DEFAULT_COLLECTION,
        allowed: Sequence[str] = (),
        metadata: Mapping[str, Any] = EMPTY,
        on_progress: Callable[[IngestProgress], None] | None = None,
    ) -> AddReport:
        """Blocking twin of ``aadd``."""
        return self._wait(
            self._add(
                [Path(path) for path in paths],
                collection=_collection_name(collection),
                allowed=tuple(allowed),
                metadata=metadata,
                on_progress=on_progress,
            )
        )

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
            documents, collection=_collection_name(collection), allowed=tuple(allowed),
            on_progress=on_progress,
        )  # fmt: skip
        return await self._submit(add)

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
            documents, collection=_collection_name(collection), allowed=tuple(allowed),
            on_progress=on_progress,
        )  # fmt: skip
        return self._wait(add)

    async def aremove(self, source: str, *, collection: str | None = None) -> int:
        """Remove a source, by name or id, from every index; how many were removed.

        Raises SourceNotFoundError when there is none.
        """
        return await self._submit(self._remove(source, collection))

    def remove(self, source: str, *, collection: str | None = None) -> int:
        """Blocking twin of ``aremove``."""
        return self._wait(self._remove(source, collection))

    async def asources(self, *, collections: Sequence[str] | None = None) -> list[SourceRecord]:
        """Every source, ordered by collection and name."""
        return await self._submit(self._sources(collections))

    def sources(self, *, collections: Sequence[str] | None = None) -> list[SourceRecord]:
        """Blocking twin of ``asources``."""
        return self._wait(self._sources(collections))

    async def asource_text(self, source: str, *, collections: Sequence[str] | None = None) -> str:
        """The extracted text of a source, which all offsets count in."""
        return await self._submit(self._source_text(source, collections))

    def source_text(self, source: str, *, collections: Sequence[str] | None = None) -> str:
        """Blocking twin of ``asource_text``."""
        return self._wait(self._source_text(source, collections))

    def describe(self) -> KnowledgeBaseInfo:
        """The knowledge base at a glance."""
        return self._wait(self._describe())

    # --------------------------------------------------------------------------------- questions

    async def aask(self, question: str, **options: Unpack[AskOptions]) -> Outcome:
        """The outcome of a question, with its answer.

        Raises QuestionError for one that is blank or too long, CollectionNotFoundError for a
        collection that is not there. All else that goes wrong is in the outcome.
        """
        return await self._submit(self._ask(question, options))

    def ask(self, question: str, **options: Unpack[AskOptions]) -> Outcome:
        """Blocking twin of ``aask``."""
        return self._wait(self._ask(question, options))

    async def aretrieve(self, question: str, **options: Unpack[AskOptions]) -> Outcome:
        """The outcome of a question: graded evidence, without an answer."""
        return await self._submit(self._ask(question, options, answer=False))

    def retrieve(self, question: str, **options: Unpack[AskOptions]) -> Outcome:
        """Blocking twin of ``aretrieve``."""
        return self._wait(self._ask(question, options, answer=False))

    async def aresume(
        self, snapshot: Mapping[str, Any] | None, reply: str, *, answer: bool = True,
        **options: Unpack[AskOptions],
    ) -> Outcome:  # fmt: skip
        """The outcome of a question that was asked back about, with the user's reply.

        ``snapshot`` is the ``resume`` value of the outcome that asked. Raises SnapshotError when
        it is damaged, changed, or of another knowledge base.
        """
        return await self._submit(self._resume(snapshot, reply, options, answer=answer))

    def resume(
        self, snapshot: Mapping[str, Any] | None, reply: str, *, answer: bool = True,
        **options: Unpack[AskOptions],
    ) -> Outcome:  # fmt: skip
        """Blocking twin of ``aresume``."""
        return self._wait(self._resume(snapshot, reply, options, answer=answer))

    def stream(
        self, question: str, *, answer: bool = True, **options: Unpack[AskOptions]
    ) -> AsyncIterator[RunEvent]:
        """The same run as ``aask``, as typed events; the last one carries the outcome."""
        return self._stream(lambda sink: self._ask(question, options, answer=answer, sink=sink))

    def stream_resume(
        self, snapshot: Mapping[str, Any] | None, reply: str, *, answer: bool = True,
        **options: Unpack[AskOptions],
    ) -> AsyncIterator[RunEvent]:  # fmt: skip
        """The same run as ``aresume``, as typed events; the last one carries the outcome."""
        return self._stream(
            lambda sink: self._resume(snapshot, reply, options, answer=answer, sink=sink)
        )

    async def ranked(self, question: str, **options: Unpack[AskOptions]) -> RagRun:
        """The run of a question with the whole fused ranking behind its outcome (for evaluation)."""
        return await self._submit(self._run(question, options, ignore_event))

    async def answered(self, outcome: Outcome) -> Outcome:
        """The outcome of a run with its answer: the second half of ``aask`` (for evaluation)."""
        return await self._submit(self._answered(outcome, ignore_event))

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
        from anabranch.ingest import Ingestion, name_source
        from anabranch.reading import walk

        files = {file.location: file for file in (
            name_source(path, self.path.parent) for path in walk(paths)
        )}  # fmt: skip
        if not files:
            raise InputError(
                f"No file that can be read in {', '.join(repr(str(p)) for p in paths)}. "
                "`anabranch add --help` lists the kinds of files."
            )
        built = await self._open(create=True)
        ingestion = Ingestion(
            built.parts.store, built.parts.embedder, built.reader, collection=collection,
            allowed=allowed, metadata=metadata, on_progress=on_progress,
        )  # fmt: skip
        return await ingestion.run(list(files.values()))

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
        return await ingestion.run([SourceText(document) for document in documents])

    async def _remove(self, source: str, collection: str | None) -> int:
        records = await self._find(source, None if collection is None else [collection])
        built = await self._open()
        return await built.parts.store.remove([record.source_id for record in records])

    async def _sources(self, collections: Sequence[str] | None) -> list[SourceRecord]:
        built = await self._open()
        scope = await self._checked_scope(built, Scope(collections=_names(collections)))
        return await built.parts.store.sources(scope)

    async def _source_text(self, source: str, collections: Sequence[str] | None) -> str:
        records = await self._find(source, collections)
        if len(records) > 1:
            places = ", ".join(f"{r.collection!r} (id {r.source_id})" for r in records)
            raise InputError(
                f"{source!r} is in several places: {places}. Name one by --collection or its id."
            )
        store = (await self._open()).parts.store
        return await store.source_text(records[0].source_id, Scope()) or ""

    async def _find(self, source: str, collections: Sequence[str] | None) -> list[SourceRecord]:
        built = await self._open()
        scope = Scope(collections=_names(collections), sources=(source,))
        await self._checked_scope(built, scope)
        records = await built.parts.store.sources(scope)
        if not records:
            raise SourceNotFoundError(
                f"There is no source {source!r}. `anabranch sources` lists them."
            )
        return records

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
        )

    async def _ask(
        self,
        question: str,
        options: AskOptions,
        *,
        answer: bool = True,
        sink: RunSink = ignore_event,
    ) -> Outcome:
        run = await self._run(question, options, sink)
        return await self._completed(run.outcome, answer=answer, sink=sink)

    async def _run(self, question: str, options: AskOptions, sink: RunSink) -> RagRun:
        from anabranch.workflow import run_rag_graph

        question = self._checked_question(question)
        context = await self._context(options, sink)
        sink(RunEvent("run.started", text=question))
        return await run_rag_graph(question, context)

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
        from anabranch.resume import validate
        from anabranch.workflow import resume_rag_from_hitl

        built = await self._open()
        known = validate(snapshot, " ".join(normalise(reply).split()), built.signing_key)
        context = await self._context(options, sink)
        context = replace(context, scope=context.scope.intersect(known.scope.to_scope()))
        sink(RunEvent("run.started", text=known.refined_question()))
        run = await resume_rag_from_hitl(known, context)
        return await self._completed(run.outcome, answer=answer, sink=sink)

    async def _completed(self, outcome: Outcome, *, answer: bool, sink: RunSink) -> Outcome:
        """The outcome with its answer, and the event that ends the run."""
        if answer and outcome.evidence:
            outcome = await self._answered(outcome, sink)
        if outcome.evidence:
            sink(RunEvent("evidence", outcome=outcome))
        sink(RunEvent(_ending(outcome.status), outcome=outcome))
        return outcome

    async def _answered(self, outcome: Outcome, sink: RunSink) -> Outcome:
        from anabranch.answer import write_answer

        built = await self._open()
        outcome = await write_answer(
            outcome, built.parts.answerer, seconds=self.settings.answer_timeout, sink=sink
        )
        if outcome.answer:
            sink(RunEvent("answer.delta", text=outcome.answer.text))
        return outcome

    # -------------------------------------------------------------------------------- the request

    def _checked_question(self, question: str) -> str:
        from anabranch.decoding import normalise

        cleaned = " ".join(normalise(question).split())
        if not cleaned:
            raise QuestionError("The question is blank. Ask something of the documents.")
        longest = self.settings.max_question_characters
        if len(cleaned) > longest:
            raise QuestionError(
                f"The question has {len(cleaned):,} characters; at most {longest:,} are read "
                "(ANABRANCH_MAX_QUESTION_CHARACTERS). Put long text into a file and add it."
            )
        return cleaned

    async def _context(self, options: AskOptions, sink: RunSink) -> RequestContext:
        from anabranch.ports import RequestContext, Weights

        started = time.perf_counter()
        built = await self._open()
        scope = Scope(
            collections=_names(options.get("collections")),
            sources=_names(options.get("sources")),
            principals=_names(options.get("principals")),
        )
        settings = self.settings
        timeout = options.get("timeout") or settings.timeout
        return RequestContext(
            parts=built.parts,
            scope=await self._checked_scope(built, scope),
            budgets=self._budgets(options),
            started=started,
            deadline=started + timeout,
            index_fingerprint=await built.parts.store.fingerprint(),
            signing_key=built.signing_key,
            weights=Weights(
                dense=settings.dense_weight, text=1 - settings.dense_weight,
                variant=settings.variant_weight,
            ),
            interactive=options.get("interactive", True),
            history=tuple(options.get("history", ())),
            sink=sink,
        )  # fmt: skip

    def _budgets(self, options: AskOptions) -> Budgets:
        from anabranch.ports import Budgets

        settings = self.settings
        _check_options(options)
        effort = options.get("effort") or settings.effort
        given = options.get("variants")
        variants = settings.variants if given is None else given
        if effort == "minimal":
            variants = 0
        return Budgets(
            effort=effort,
            top_k=options.get("top_k") or settings.top_k,
            variants=VARIANTS_BY_EFFORT[effort] if variants is None else variants,
            candidates=CANDIDATES_BY_EFFORT[effort],
            context_tokens=settings.context_tokens,
            rewrites=0 if effort == "minimal" else 1,
            asks=settings.max_asks,
            query_timeout=settings.query_timeout,
            branch_timeout=settings.branch_timeout,
        )

    async def _checked_scope(self, built: Built, scope: Scope) -> Scope:
        if scope.collections is None:
            return scope
        known = await built.parts.store.collections(Scope(principals=scope.principals))
        for name in scope.collections:
            if name not in known:
                there = ", ".join(repr(other) for other in known) or "none yet"
                raise CollectionNotFoundError(
                    f"There is no collection {name!r}. Those that are there: {there}."
                )
        return scope

    async def _open(self, *, create: bool = False) -> Built:
        if self._built is None:
            async with self._opening:
                if self._built is None:
                    self._built = await self._opener(create)
        if self._built is None:
            raise InputError(
                f"There is no knowledge base in {str(self.path)!r} yet. Add documents first: "
                "anabranch add PATH"
            )
        return self._built

    # ------------------------------------------------------------------------ the background loop

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                # A daemon: a program that forgets to close still ends.
                self._thread = threading.Thread(
                    target=_run_loop, args=(self._loop,), name="anabranch", daemon=True
                )
                self._thread.start()
            return self._loop

    def _wait(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        future = asyncio.run_coroutine_threadsafe(coroutine, self._running_loop())
        try:
            return future.result()
        except BaseException:  # Ctrl-C in the caller's thread: the work must not go on alone
            future.cancel()
            raise

    async def _submit(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        return await asyncio.wrap_future(
            asyncio.run_coroutine_threadsafe(coroutine, self._running_loop())
        )

    async def _stream(
        self, start: Callable[[RunSink], Coroutine[Any, Any, Outcome]]
    ) -> AsyncIterator[RunEvent]:
        events: asyncio.Queue[RunEvent | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        run = asyncio.ensure_future(
            self._submit(start(lambda event: _hand_over(loop, events, event)))
        )
        run.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            await run
        finally:
            run.cancel()

    def close(self) -> None:
        """Close what is open. A closed knowledge base opens again when it is used."""
        if self._loop is None:
            return
        if self._built is not None:
            self._wait(self._built.close())
            self._built = None
        with self._starting:
            loop, self._loop = self._loop, None
            # A lock belongs to the loop that it was first waited for in.
            self._opening = asyncio.Lock()
        loop.call_soon_threadsafe(loop.stop)
        if self._thread is not None:
            self._thread.join(SECONDS_TO_STOP)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Runs ``loop`` until it is stopped; then whoever still waits for a run gets a cancellation."""
    try:
        loop.run_forever()
    finally:
        unfinished = asyncio.all_tasks(loop)
        for task in unfinished:
            task.cancel()
        if unfinished:
            loop.run_until_complete(asyncio.gather(*unfinished, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


def _hand_over(
    loop: asyncio.AbstractEventLoop, events: asyncio.Queue[RunEvent | None], event: RunEvent
) -> None:
    if not loop.is_closed():  # the one who listened has gone; the run is being cancelled
        loop.call_soon_threadsafe(events.put_nowait, event)


def _ending(status: Status) -> EventName:
    if status == "failed":
        return "run.failed"
    asks = status in ("needs_clarification", "needs_scope_selection")
    return "run.needs_input" if asks else "run.finished"


def _names(names: Sequence[str] | None) -> tuple[str, ...] | None:
    if isinstance(names, str):  # a string is a sequence of its letters, which nobody means
        return (names,)
    return None if names is None else tuple(names)


def _check_options(options: AskOptions) -> None:
    """Raises InputError for a value that no request can have; None is as if not given."""
    effort, timeout = options.get("effort"), options.get("timeout")
    top_k, variants = options.get("top_k"), options.get("variants")
    if effort is not None and effort not in VARIANTS_BY_EFFORT:
        raise InputError(f"effort={effort!r}: it is one of {', '.join(VARIANTS_BY_EFFORT)}.")
    if top_k is not None and top_k < 1:
        raise InputError(f"top_k={top_k!r}: at least 1 evidence item has to be allowed.")
    if variants is not None and variants < 0:
        raise InputError(f"variants={variants!r}: give 0 for none, or more.")
    if timeout is not None and not timeout > 0:
        raise InputError(f"timeout={timeout!r}: give the seconds that the request may take.")


def _collection_name(name: str) -> str:
    if not name.strip() or len(name) > 200 or any(ord(character) < 32 for character in name):
        raise InputError(
            f"{name[:50]!r} cannot be the name of a collection: 1 to 200 characters, no control "
            "characters."
        )
    return name
