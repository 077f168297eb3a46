"""The documents of a knowledge base: added, removed, listed, read, embedded again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch import originals
from anabranch.errors import InputError, SourceNotFoundError
from anabranch.languages import document_notices
from anabranch.opening import Opening
from anabranch.types import AddReport, Document, FileReport, Scope, SourceRecord

if TYPE_CHECKING:
    from anabranch.ingest import IngestProgress
    from anabranch.source_files import SourceFile


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


class Documents:
    """The documents of what ``opening`` opens, used from one event loop.

    What a method does stands at its namesake of ``KnowledgeBase``. ``wanted`` is the scope that the
    caller names, ``within`` the collections that the caller is confined to, if any.
    """

    def __init__(self, opening: Opening) -> None:
        self._opening = opening

    async def add(
        self,
        paths: Sequence[Path],
        *,
        collection: str,
        allowed: tuple[str, ...],
        metadata: Mapping[str, Any],
        on_progress: Callable[[IngestProgress], None] | None,
    ) -> AddReport:
        from anabranch.source_files import name_source, source_id_of

        found, missing = _walked(paths, self._opening.path.parent)
        files = {
            file.location: file
            for file in (name_source(p, self._opening.path.parent) for p in found)
        }
        if not files and not missing:
            raise InputError(
                f"No file that can be read in {', '.join(repr(str(p)) for p in paths)}. "
                'docs/command-line.md lists the kinds of files, under "anabranch add".'
            )
        report = await self.add_files(
            list(files.values()), collection=collection, allowed=allowed, metadata=metadata,
            on_progress=on_progress,
        )  # fmt: skip
        ids = [source_id_of(collection, location) for location in files]
        await asyncio.to_thread(originals.discard_all, self._opening.path, ids)
        return replace(report, files=(*report.files, *missing))

    async def add_files(
        self,
        files: Sequence[SourceFile],
        *,
        collection: str,
        allowed: tuple[str, ...],
        metadata: Mapping[str, Any],
        on_progress: Callable[[IngestProgress], None] | None,
    ) -> AddReport:
        from anabranch.ingest import Ingestion

        built = await self._opening.open(create=True)
        ingestion = Ingestion(
            built.parts.store, built.parts.embedder, built.reader, collection=collection,
            allowed=allowed, metadata=metadata, on_progress=on_progress,
        )  # fmt: skip
        report = await ingestion.run(files)
        if self._opening.is_replaced(
            built
        ):  # embedded again meanwhile, perhaps without these files
            await self.add_files(
                files, collection=collection, allowed=allowed, metadata=metadata,
                on_progress=on_progress,
            )  # fmt: skip
        return report

    async def add_documents(
        self,
        documents: Sequence[Document],
        *,
        collection: str,
        allowed: tuple[str, ...],
        on_progress: Callable[[IngestProgress], None] | None,
    ) -> AddReport:
        from anabranch.ingest import Ingestion
        from anabranch.source_files import SourceText

        built = await self._opening.open(create=True)
        ingestion = Ingestion(
            built.parts.store, built.parts.embedder, built.reader, collection=collection,
            allowed=allowed, on_progress=on_progress,
        )  # fmt: skip
        report = await ingestion.run([SourceText(document) for document in documents])
        if self._opening.is_replaced(built):
            await self.add_documents(
                documents, collection=collection, allowed=allowed, on_progress=on_progress
            )
        return report

    async def remove(self, source: str, wanted: Scope, within: Sequence[str] | None) -> int:
        record = await self.source(source, wanted, within)
        removed = 0
        while True:
            built = await self._opening.open()
            removed = max(removed, await built.parts.store.remove([record.source_id]))
            await asyncio.to_thread(originals.discard, self._opening.path, record.source_id)
            if not self._opening.is_replaced(
                built
            ):  # else the new index may have been made with it
                return removed

    async def sources(self, wanted: Scope, within: Sequence[str] | None) -> list[SourceRecord]:
        built = await self._opening.open()
        return await built.parts.store.sources(
            await self._opening.checked_scope(built, wanted, within)
        )

    async def source(
        self, source: str, wanted: Scope, within: Sequence[str] | None
    ) -> SourceRecord:
        records = await self.sources(replace(wanted, sources=(source,)), within)
        if not records:
            raise SourceNotFoundError(
                f"There is no source {source!r}. `anabranch sources` lists them."
            )
        _check_one(source, records)
        return records[0]

    async def source_text(self, source: str, wanted: Scope, within: Sequence[str] | None) -> str:
        record = await self.source(source, wanted, within)
        return await self._text_of(record, wanted)

    async def _text_of(self, record: SourceRecord, wanted: Scope) -> str:
        """The text of a source that was found in scope: read as the same caller, of its collection."""
        scope = replace(wanted, collections=(record.collection,))
        built = await self._opening.open()
        return await built.parts.store.source_text(record.source_id, scope) or ""

    async def page_picture(
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

        record = await self.source(source, wanted, within)
        text = await self._text_of(record, wanted)
        return await page_picture(
            (await self._opening.open()).reader, record, original(self._opening.path, record),
            page=page, text=text, start=start, end=end,
        )  # fmt: skip

    async def collections(self, wanted: Scope, within: Sequence[str] | None) -> list[str]:
        return await self._opening.nameable(await self._opening.open(), wanted, within)

    async def reindex(self, model: str, on_progress: Callable[[int, int], None]) -> int:
        from anabranch.reindexing import reindex

        return await reindex(
            self._opening.path, self._opening.settings, name=model, on_progress=on_progress
        )

    async def describe(self) -> KnowledgeBaseInfo:
        built = await self._opening.open()
        records = await built.parts.store.sources(Scope())
        files = await asyncio.to_thread(
            lambda: [f for f in self._opening.path.rglob("*") if f.is_file()]
        )
        return KnowledgeBaseInfo(
            path=self._opening.path,
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


def _check_one(source: str, records: Sequence[SourceRecord]) -> None:
    if len(records) > 1:
        places = ", ".join(f"{r.collection!r} (id {r.source_id})" for r in records)
        raise InputError(
            f"{source!r} is in several places: {places}. Name one by --collection or its id."
        )


def _walked(paths: Sequence[Path], anchor: Path) -> tuple[tuple[Path, ...], list[FileReport]]:
    """Every file of ``paths``, and a line for each path that is not there or cannot be read.

    Raises SourceNotFoundError where none of them is there.
    """
    from anabranch.ingest import failed
    from anabranch.reading import walk
    from anabranch.source_files import name_source

    there = [path for path in paths if path.exists()]
    walked = walk(there or paths)
    lines = [
        FileReport(str(path), "failed", reason="There is no such file or folder.")
        for path in paths
        if path not in there
    ]
    unread = [failed(name_source(path, anchor).source, why) for path, why in walked.unread.items()]
    return walked.files, [*lines, *unread]
