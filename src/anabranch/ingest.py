"""Read, chunk, embed, store: idempotent by content, and every file has its line in the report.

Files are read and embedded a few at a time while earlier ones are stored. A store commit takes a
batch of whole documents: what was committed stays, and the next run goes on from there.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from anabranch.chunking import chunk
from anabranch.errors import ReadingError, StorageError
from anabranch.languages import document_notices, language_of
from anabranch.lexicon import mine
from anabranch.ports import Embedder, IndexedDocument, PassageText, Store
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
# Enough files under way that reading hides behind embedding.
FILES_AT_ONCE = 4


class DocumentReader(Protocol):
    """Turns a file into a document; raises ReadingError for one that it cannot."""

    async def read(self, path: Path, *, source: str) -> Document: ...


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """``done`` of ``total`` files are finished; ``source`` is at ``stage`` now."""

    done: int
    total: int
    source: str
    stage: str


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to add: where it is, what it will be called, and what identifies it.

    ``location`` is stable: the same file has the same one from whichever folder it is added.
    """

    path: Path
    source: str
    location: str

    async def content_hash(self) -> str:
        return await asyncio.to_thread(hash_file, self.path)

    async def read(self, reader: DocumentReader) -> Document:
        return await reader.read(self.path, source=self.source)


@dataclass(frozen=True, slots=True)
class SourceText:
    """A document that is at hand already; its ``source`` names and identifies it."""

    document: Document

    @property
    def source(self) -> str:
        return self.document.source

    @property
    def location(self) -> str:
        # No path looks like this, so that a text never takes the place of a file.
        return f"text:{self.document.source}"

    async def content_hash(self) -> str:
        return self.document.content_hash

    async def read(self, reader: DocumentReader) -> Document:
        return self.document


Source = SourceFile | SourceText


@dataclass(frozen=True, slots=True)
class _Prepared:
    report: FileReport
    document: IndexedDocument | None = None


def source_id_of(collection: str, location: str) -> str:
    """The id of a source: its collection and where it is, never its name alone."""
    name = f"{collection}\0{location}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(name, digest_size=12).hexdigest()


def name_source(path: Path, anchor: Path) -> SourceFile:
    """How a file is called and identified.

    It is called as a person standing in the current folder would, else from ``anchor`` (the
    folder that holds the knowledge base), else by its whole path. It is identified by its path
    from ``anchor`` where it lies below it, so that both can move together.
    """
    absolute = Path(os.path.abspath(path))
    location = _below(absolute, anchor) or absolute.as_posix()
    source = _below(absolute, Path.cwd()) or location
    return SourceFile(path, source, location)


def _below(path: Path, folder: Path) -> str | None:
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else None


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

    async def run(self, files: Sequence[Source]) -> AddReport:
        """Add ``files`` and report each, in the given order.

        A file that cannot be read is reported and the others go on. Raises StorageError when the
        store refuses; what it had acknowledged stays.
        """
        started = time.perf_counter()
        self._total = len(files)
        scope = Scope(collections=(self._collection,))
        known = {record.source_id: record for record in await self._store.sources(scope)}
        reports: dict[str, FileReport] = {}
        batch: list[_Prepared] = []
        last_commit = time.perf_counter()
        async for location, prepared in self._prepare_all(files, known):
            reports[location] = prepared.report
            if prepared.document is None:
                self._finished(prepared.report.source, prepared.report.status)
                continue
            batch.append(prepared)
            waited = time.perf_counter() - last_commit
            if _leaves(batch) >= BATCH_LEAVES or waited >= BATCH_SECONDS:
                await self._commit(batch)
                batch, last_commit = [], time.perf_counter()
        await self._commit(batch)
        if any(report.status in ("added", "updated") for report in reports.values()):
            await self._optimize()
        elapsed = (time.perf_counter() - started) * 1000
        notices = document_notices(self._languages, self._embedder.languages)
        return AddReport(tuple(reports[file.location] for file in files), elapsed, notices)

    async def _optimize(self) -> None:
        """Bring the indexes up to date; what was added is stored and found without that too."""
        try:
            await self._store.optimize()
        except StorageError as error:
            logger.warning("Everything was stored, but searches stay slower: %s", error)

    async def _prepare_all(
        self, files: Sequence[Source], known: Mapping[str, SourceRecord]
    ) -> AsyncIterator[tuple[str, _Prepared]]:
        """Files in order, each ready to be stored, a few of them under way at once."""
        waiting = list(files)
        running: list[tuple[Source, asyncio.Task[_Prepared]]] = []
        try:
            while waiting or running:
                while waiting and len(running) < FILES_AT_ONCE:
                    file = waiting.pop(0)
                    running.append((file, asyncio.create_task(self._prepare(file, known))))
                file, task = running.pop(0)
                yield file.location, await task
        finally:
            for _, task in running:
                task.cancel()

    async def _prepare(self, file: Source, known: Mapping[str, SourceRecord]) -> _Prepared:
        source_id = source_id_of(self._collection, file.location)
        earlier = known.get(source_id)
        if not _is_text(file.location) or not _is_text(file.source):
            reason = "Its name is not text in UTF-8, so that it could not be cited. Rename it."
            return _Prepared(failed(file.source, reason))
        try:
            if earlier is not None and await self._unchanged(file, earlier):
                report = FileReport(earlier.source, "unchanged", pages=earlier.page_count, chunks=0)
                return _Prepared(report)
            self._tell(file.source, "reading")
            document = await file.read(self._reader)
        except ReadingError as error:
            return _Prepared(_unreadable(file, error, earlier))
        except OSError as error:  # the file went away, or may not be opened
            damaged = ReadingError(f"{file.source!r} cannot be read: {error.strerror or error}")
            return _Prepared(_unreadable(file, damaged, earlier))
        return await self._index(file, source_id, document, earlier)

    async def _unchanged(self, file: Source, earlier: SourceRecord) -> bool:
        if earlier.allowed != self._allowed:
            return False
        if any(earlier.metadata.get(name) != value for name, value in self._metadata.items()):
            return False
        return await file.content_hash() == earlier.content_hash

    async def _index(
        self, file: Source, source_id: str, document: Document, earlier: SourceRecord | None
    ) -> _Prepared:
        document = replace(document, metadata={**document.metadata, **self._metadata})
        language = language_of(document.text)
        self._languages[language or "en"] += 1
        if language is not None:
            document = replace(document, metadata={"language": language, **document.metadata})
        chunks = await asyncio.to_thread(
            chunk, document, source_id=source_id, collection=self._collection,
            allowed=self._allowed,
        )  # fmt: skip
        leaves = [item for item in chunks if item.level == 3]
        self._tell(file.source, "embedding")
        # The context (title, headings, column names) is part of what a passage means.
        embedded = await self._embedder.embed_passages(
            [PassageText(leaf.text, leaf.context) for leaf in leaves]
        )
        searchable = "\n".join(dict.fromkeys(leaf.context for leaf in leaves))
        record = SourceRecord(
            source_id=source_id,
            collection=self._collection,
            source=file.source,
            location=file.location,
            title=document.title,
            media_type=document.media_type,
            content_hash=document.content_hash,
            characters=len(document.text),
            page_count=len(document.pages) or None,
            chunk_count=len(leaves),
            added_at=datetime.now(UTC).isoformat(timespec="seconds"),
            metadata={k: v for k, v in document.metadata.items() if k != "tables"},
            allowed=self._allowed,
        )
        lexicon = await asyncio.to_thread(mine, f"{searchable}\n{document.text}")
        status: FileStatus = "updated" if earlier is not None else "added"
        report = FileReport(file.source, status, pages=record.page_count, chunks=len(leaves))
        vectors = np.array([item.passage for item in embedded], dtype=np.float32)
        indexed = IndexedDocument(
            record=record,
            document=document,
            chunks=chunks,
            vectors=vectors.reshape(len(leaves), self._embedder.dimensions),
            lexicon=lexicon,
            windows=tuple(item.windows for item in embedded),
        )
        return _Prepared(report, indexed)

    async def _commit(self, batch: Sequence[_Prepared]) -> None:
        documents = [item.document for item in batch if item.document is not None]
        if not documents:
            return
        await self._store.replace(documents)
        for item in batch:
            self._finished(item.report.source, item.report.status)

    def _finished(self, source: str, stage: str) -> None:
        self._done += 1
        self._tell(source, stage)

    def _tell(self, source: str, stage: str) -> None:
        if self._on_progress is not None:
            self._on_progress(IngestProgress(self._done, self._total, source, stage))


def hash_file(path: Path) -> str:
    """SHA-256 of the bytes of a file, as hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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


def _leaves(batch: Sequence[_Prepared]) -> int:
    return sum(item.report.chunks for item in batch)


def _unreadable(file: Source, error: ReadingError, earlier: SourceRecord | None) -> FileReport:
    status: FileStatus = "empty" if error.kind == "empty" else "failed"
    reason = str(error)
    if earlier is not None:
        reason += " Its earlier version stays searchable."
    if error.page is not None:
        reason = f"page {error.page}: {reason}"
    return FileReport(file.source, status, reason=reason)
