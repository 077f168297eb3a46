"""What an index needs to know of a document: its chunks, its words, its record; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from anabranch.chunking import chunk
from anabranch.languages import language_of
from anabranch.lexicon import DocumentLexicon, mine
from anabranch.ports import IndexedDocument, PassageVectors
from anabranch.types import Chunk, Document, SourceRecord


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a document goes: the identity of its source, who may see it, what was said of it."""

    source_id: str
    collection: str
    source: str
    location: str
    allowed: tuple[str, ...]
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pieces:
    """A document in chunks. ``language`` is None where there is too little text to tell."""

    document: Document
    language: str | None
    chunks: tuple[Chunk, ...]

    @property
    def leaves(self) -> list[Chunk]:
        """The chunks that are embedded, in order."""
        return [item for item in self.chunks if item.level == 3]


def chunked(document: Document, place: Placement) -> Pieces:
    """``document`` with what was said of it and its language among its metadata, and its chunks."""
    metadata = {**document.metadata, **place.metadata}
    language = language_of(document.text)
    if language is not None:
        metadata = {"language": language, **metadata}
    document = replace(document, metadata=metadata)
    chunks = chunk(
        document, source_id=place.source_id, collection=place.collection, allowed=place.allowed
    )
    return Pieces(document, language, chunks)


def mined(pieces: Pieces) -> DocumentLexicon:
    """The words of a document, those of its titles and headings among them."""
    searchable = "\n".join(dict.fromkeys(leaf.context for leaf in pieces.leaves))
    return mine(f"{searchable}\n{pieces.document.text}")


def indexed(
    pieces: Sequence[Pieces],
    places: Sequence[Placement],
    lexicons: Sequence[DocumentLexicon],
    embedded: Sequence[PassageVectors],
    dimensions: int,
) -> Iterator[IndexedDocument]:
    """The documents ready to be stored; ``embedded`` are the vectors of all their leaves in order."""
    added_at = datetime.now(UTC).isoformat(timespec="seconds")
    start = 0
    for piece, place, lexicon in zip(pieces, places, lexicons, strict=True):
        count = len(piece.leaves)
        vectors = embedded[start : start + count]
        start += count
        document = piece.document
        record = SourceRecord(
            source_id=place.source_id,
            collection=place.collection,
            source=place.source,
            location=place.location,
            title=document.title,
            media_type=document.media_type,
            content_hash=document.content_hash,
            characters=len(document.text),
            page_count=len(document.pages) or None,
            chunk_count=count,
            added_at=added_at,
            metadata={k: v for k, v in document.metadata.items() if k != "tables"},
            allowed=place.allowed,
        )
        rows = np.array([item.passage for item in vectors], dtype=np.float32)
        yield IndexedDocument(
            record=record,
            document=document,
            chunks=piece.chunks,
            vectors=rows.reshape(count, dimensions),
            lexicon=lexicon,
            windows=tuple(item.windows for item in vectors),
        )
