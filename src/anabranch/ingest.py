"""Read, chunk, embed, store: idempotent by content, and every file has its line in the report.

Files are read ahead, and indexed in groups (``indexing.py``) of which several are under way, so that
the embedder has work while others are read and earlier ones are stored. A store commit takes a batch
of whole documents: what was committed stays, and the next run goes on from there.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

from anabranch.errors import ReadingError, StorageError
from anabranch.indexing import Placement, chunked, indexed, mined
from anabranch.languages import document_notices
from anabranch.ports import Embedder, IndexedDocument, PassageText, Store
from anabranch.source_files import DocumentReader, Source, source_id_of
from anabranch.types import (
    EMPTY,
    AddReport,
    Document,
    FileReport,
    FileStatus,
    Scope,
    SourceRecord,
)

logger = logging.getLogger(__name__)

# A commit costs tens of milliseconds whatever its size; a batch this large makes that small beside
# the embedding, and loses at most a few seconds of work when the process is killed.
BATCH_LEAVES = 256
BATCH_SECONDS = 5.0
# Documents are indexed in groups of about so many characters (60 leaves, a third of a second on two
# cores): what a group costs beside the embedding, turns of threads and of the cache, is then little.
GROUP_CHARACTERS = 32_000
# One whose vectors are computed, one that waits for that, one that is chunked, and one that covers a
# slow step of another.
GROUPS_AT_ONCE = 4
# Files under way, read or being read: as many as have this size together (a text takes some ten times
# its size until it is stored), but two of whatever size, so that both readers have work.
BYTES_AT_ONCE = 32_000_000
FILES_AT_ONCE = 64
LEAST_READING = 2

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """``done`` of ``total`` files are finished; ``source`` is at ``stage`` now."""

    done: int
    total: int
    source: str
    stage: str


@dataclass(frozen=True, slots=True)
class _Read:
    """A file that was looked at: a document to index, or the report of why there is none."""

    file: Source
    earlier: SourceRecord | None = None
    document: Document | None = None
    report: FileReport | None = None

    @property
    def size(self) -> int:
        return len(self.document.text) if self.document is not None else 0


@dataclass(frozen=True, slots=True)
class _Prepared:
    location: str
    report: FileReport
    document: IndexedDocument | None = None


@dataclass(frozen=True, slots=True)
class _UnderWay(Generic[Result]):
    """Work that was begun, and how much text or file it holds in memory."""

    task: asyncio.Task[Result]
    size: int


class Ingestion:
    """One ``add``: everything that its files share."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        reader: DocumentReader,
        *,
        collection: str,
        allowed: tuple[str, ...] = (),
        metadata: Mapping[str, Any] = EMPTY,
        on_progress: Callable[[IngestProgress], None] | None = None,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._reader = reader
        self._collection = collection
        self._allowed = allowed
        self._metadata = metadata
        self._on_progress = on_progress
        self._done = 0
        self._total = 0
        # Documents that were read, by language: where none can be told they count as English.
        self._languages: Counter[str] = Counter()
        # Threads that run Python take turns in any case: one at a time leaves the embedder's a turn.
        self._interpreter = asyncio.Lock()
        self._committing: asyncio.Task[None] | None = None

    async def run(self, files: Sequence[Source]) -> AddReport:
        """Add ``files`` and report each, in the given order.

        A file that cannot be read is reported and the others go on. Raises StorageError when the
        store refuses; what it had acknowledged stays.
        """
        started = time.perf_counter()
        self._total = len(files)
        scope = Scope(collections=(self._collection,))
        known = {record.source_id: record for record in await self._store.sources(scope)}
        try:
            reports = await self._add_all(files, known)
        finally:
            # Whatever ended the run, a commit that was begun is one that the next run need not make.
            with suppress(StorageError):  # raised already, or less than what ended the run
                await self._committed()
        if any(report.status in ("added", "updated") for report in reports.values()):
            await self._optimize()
        elapsed = (time.perf_counter() - started) * 1000
        notices = document_notices(self._languages, self._embedder.languages)
        return AddReport(tuple(reports[file.location] for file in files), elapsed, notices)

    async def _add_all(
        self, files: Sequence[Source], known: Mapping[str, SourceRecord]
    ) -> dict[str, FileReport]:
        """The report of each file by its location, once all that are to be stored are."""
        reports: dict[str, FileReport] = {}
        batch: list[_Prepared] = []
        leaves, last_commit = 0, time.perf_counter()
        async with aclosing(self._prepare_all(files, known)) as groups:
            async for group in groups:
                if self._committing is not None and self._committing.done():
                    self._committing.result()  # a store that refuses ends the run here
                reports |= {prepared.location: prepared.report for prepared in group}
                for prepared in group:
                    if prepared.document is None:
                        self._finished(prepared.report)
                batch += [prepared for prepared in group if prepared.document is not None]
                leaves += sum(prepared.report.chunks for prepared in group)
                waited = time.perf_counter() - last_commit
                if leaves >= BATCH_LEAVES or waited >= BATCH_SECONDS:
                    await self._commit(batch)
                    batch, leaves, last_commit = [], 0, time.perf_counter()
        await self._commit(batch)
        await self._committed()
        return reports

    async def _optimize(self) -> None:
        """Bring the indexes up to date; what was added is stored and found without that too."""
        try:
            await self._store.optimize()
        except StorageError as error:
            logger.warning("Everything was stored, but searches stay slower: %s", error)

    async def _prepare_all(
        self, files: Sequence[Source], known: Mapping[str, SourceRecord]
    ) -> AsyncGenerator[list[_Prepared], None]:
        """Files in order, in groups, each ready to be stored."""
        waiting = deque(files)
        reading: deque[_UnderWay[_Read]] = deque()
        indexing: deque[_UnderWay[list[_Prepared]]] = deque()
        try:
            while waiting or reading or indexing:
                self._read_ahead(waiting, reading, indexing, known)
                while len(indexing) < GROUPS_AT_ONCE and (group := _next_group(reading)):
                    task = asyncio.create_task(self._index(group))
                    indexing.append(_UnderWay(task, sum(read.size for read in group)))
                    self._read_ahead(waiting, reading, indexing, known)
                if indexing and indexing[0].task.done():
                    yield await indexing.popleft().task
                    continue
                first_ones: list[asyncio.Task[Any]] = [item.task for item in islice(indexing, 1)]
                if reading and len(indexing) < GROUPS_AT_ONCE:
                    first_ones.append(reading[0].task)
                await asyncio.wait(first_ones, return_when=asyncio.FIRST_COMPLETED)
        finally:
            tasks: list[asyncio.Task[Any]] = [item.task for item in reading]
            tasks += [item.task for item in indexing]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _read_ahead(
        self,
        waiting: deque[Source],
        reading: deque[_UnderWay[_Read]],
        indexing: Sequence[_UnderWay[list[_Prepared]]],
        known: Mapping[str, SourceRecord],
    ) -> None:
        """Begin to read the next files, as far as they have room beside those under way."""
        read = sum(item.size for item in indexing)
        size = read + sum(item.size for item in reading)
        while waiting and len(reading) < FILES_AT_ONCE:
            more = waiting[0].size
            few = len(reading) < LEAST_READING and read <= BYTES_AT_ONCE
            if size + more > BYTES_AT_ONCE and not few:
                return
            task = asyncio.create_task(self._read(waiting.popleft(), known))
            reading.append(_UnderWay(task, more))
            size += more

    async def _read(self, file: Source, known: Mapping[str, SourceRecord]) -> _Read:
        earlier = known.get(source_id_of(self._collection, file.location))
        if not _is_text(file.location) or not _is_text(file.source):
            reason = "Its name is not text in UTF-8, so that it could not be cited. Rename it."
            return _Read(file, report=failed(file.source, reason))
        try:
            if earlier is not None and await self._unchanged(file, earlier):
                report = FileReport(earlier.source, "unchanged", pages=earlier.page_count, chunks=0)
                return _Read(file, report=report)
            self._tell(file.source, "reading")
            return _Read(file, earlier, await file.read(self._reader))
        except ReadingError as error:
            return _Read(file, report=_unreadable(file, error, earlier))
        except OSError as error:  # the file went away, or may not be opened
            damaged = ReadingError(f"{file.source!r} cannot be read: {error.strerror or error}")
            return _Read(file, report=_unreadable(file, damaged, earlier))

    async def _unchanged(self, file: Source, earlier: SourceRecord) -> bool:
        if earlier.allowed != self._allowed:
            return False
        if any(earlier.metadata.get(name) != value for name, value in self._metadata.items()):
            return False
        return await file.content_hash() == earlier.content_hash

    async def _index(self, group: Sequence[_Read]) -> list[_Prepared]:
        """A group ready to be stored; the reports in it are passed on."""
        documents = [read.document for read in group if read.document is not None]
        places = [self._placement(read) for read in group if read.document is not None]
        prepared = iter(await self._documents(documents, places) if documents else ())
        return [
            _Prepared(read.file.location, read.report)
            if read.report is not None
            else _stored(read, next(prepared))
            for read in group
        ]

    async def _documents(
        self, documents: Sequence[Document], places: Sequence[Placement]
    ) -> Iterator[IndexedDocument]:
        pieces = await self._in_turn(chunked, documents, places)
        self._languages.update(piece.language or "en" for piece in pieces)
        for place in places:
            self._tell(place.source, "embedding")
        # The context (title, headings, column names) is part of what a passage means.
        passages = [PassageText(leaf.text, leaf.context) for p in pieces for leaf in p.leaves]
        mining = asyncio.create_task(self._in_turn(mined, pieces))
        try:
            vectors = await self._embedder.embed_passages(passages)
            lexicons = await mining
        finally:
            mining.cancel()
            await asyncio.wait([mining])
        return indexed(pieces, places, lexicons, vectors, self._embedder.dimensions)

    def _placement(self, read: _Read) -> Placement:
        file = read.file
        return Placement(
            source_id=source_id_of(self._collection, file.location),
            collection=self._collection,
            source=file.source,
            location=file.location,
            allowed=self._allowed,
            metadata=self._metadata,
        )

    async def _in_turn(
        self, work: Callable[..., Result], *arguments: Sequence[Any]
    ) -> list[Result]:
        """``work`` on each, in a thread."""

        def each() -> list[Result]:
            found: list[Result] = []
            for item in zip(*arguments, strict=True):
                found.append(work(*item))
                # A thread of the embedder needs the interpreter for a moment only, and would wait
                # 5 ms for it: this lets it pass.
                time.sleep(0)
            return found

        async with self._interpreter:
            return await asyncio.to_thread(each)

    async def _commit(self, batch: Sequence[_Prepared]) -> None:
        """Begin to store a batch, once the one before it is stored."""
        await self._committed()
        if batch:
            self._committing = asyncio.create_task(self._store_batch(batch))

    async def _committed(self) -> None:
        """Wait for the commit under way; raises StorageError where the store refused it."""
        if self._committing is not None:
            await asyncio.shield(self._committing)

    async def _store_batch(self, batch: Sequence[_Prepared]) -> None:
        await self._store.replace([item.document for item in batch if item.document is not None])
        for item in batch:
            self._finished(item.report)

    def _finished(self, report: FileReport) -> None:
        self._done += 1
        self._tell(report.source, report.status)

    def _tell(self, source: str, stage: str) -> None:
        if self._on_progress is not None:
            self._on_progress(IngestProgress(self._done, self._total, source, stage))


def failed(source: str, reason: str) -> FileReport:
    """The line of a file that was not read; its name may be any bytes."""
    return FileReport(source.encode("utf-8", "backslashreplace").decode(), "failed", reason=reason)


def _is_text(name: str) -> bool:
    """Whether a name can be stored: a file name may be any bytes, which are no text then."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _next_group(reading: deque[_UnderWay[_Read]]) -> list[_Read]:
    """What was read, in order, up to the size of a group; nothing is waited for."""
    group: list[_Read] = []
    size = 0
    while reading and reading[0].task.done():
        read = reading[0].task.result()
        size += read.size
        if group and size > GROUP_CHARACTERS:
            break
        group.append(read)
        reading.popleft()
    return group


def _stored(read: _Read, document: IndexedDocument) -> _Prepared:
    record = document.record
    status: FileStatus = "added" if read.earlier is None else "updated"
    report = FileReport(record.source, status, pages=record.page_count, chunks=record.chunk_count)
    return _Prepared(read.file.location, report, document)


def _unreadable(file: Source, error: ReadingError, earlier: SourceRecord | None) -> FileReport:
    status: FileStatus = "empty" if error.kind == "empty" else "failed"
    reason = str(error)
    if earlier is not None:
        reason += " Its earlier version stays searchable."
    if error.page is not None:
        reason = f"page {error.page}: {reason}"
    return FileReport(file.source, status, reason=reason)
