"""Documents made from a few words, ready to be stored, for tests of stores."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anabranch.language import terms
from anabranch.lexicon import mine
from anabranch.ports import IndexedDocument, Vectors
from anabranch.types import EMPTY, Chunk, Document, Page, SourceRecord

DIMENSIONS = 16


def vector_of(text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    """A unit vector in which every term of the text points one way: equal texts, equal vectors."""
    vector = np.full(DIMENSIONS, 0.01)
    for term in terms(text):
        seed = int.from_bytes(hashlib.sha256(term.encode()).digest()[:4], "big")
        vector += np.random.default_rng(seed).normal(size=DIMENSIONS)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def vectors_of(*texts: str) -> Vectors:
    return np.stack([vector_of(text) for text in texts])


def indexed(
    source: str,
    *passages: str,
    source_id: str | None = None,
    collection: str = "default",
    allowed: tuple[str, ...] = (),
    title: str = "",
    context: str = "",
    metadata: Mapping[str, Any] = EMPTY,
    added_at: str = "2026-01-01T00:00:00+00:00",
) -> IndexedDocument:
    """A document whose leaves are the passages, in order, under one parent each of level 1 and 2."""
    source_id = source_id or f"{collection}:{source}"
    text = "\n".join(passages)
    content_hash = hashlib.sha256(text.encode()).hexdigest()
    chunks = list(_parents(source_id, text, content_hash)) if passages else []
    start = 0
    for index, passage in enumerate(passages):
        chunks.append(
            Chunk(
                chunk_id=f"{source_id}#3-{index}",
                source_id=source_id,
                collection=collection,
                source=source,
                title=title,
                text=passage,
                start=start,
                end=start + len(passage),
                chunk_index=index,
                level=3,
                content_hash=content_hash,
                page=index + 1,
                context=context,
                parent_id=f"{source_id}#2-0",
                metadata=metadata,
                allowed=allowed,
            )
        )
        start += len(passage) + 1
    record = SourceRecord(
        source_id=source_id,
        collection=collection,
        source=source,
        location=f"/files/{source}",
        title=title,
        media_type="text/plain",
        content_hash=content_hash,
        characters=len(text),
        page_count=1,
        chunk_count=len(passages),
        added_at=added_at,
        metadata=metadata,
        allowed=allowed,
    )
    document = Document(
        source=source,
        title=title,
        text=text,
        content_hash=content_hash,
        media_type="text/plain",
        pages=(Page(1, 0, len(text)),),
    )
    return IndexedDocument(
        record=record,
        document=document,
        chunks=tuple(chunks),
        vectors=vectors_of(*passages) if passages else np.zeros((0, DIMENSIONS), np.float32),
        lexicon=mine(text),
    )


def _parents(source_id: str, text: str, content_hash: str) -> Sequence[Chunk]:
    return [
        Chunk(
            chunk_id=f"{source_id}#{level}-0",
            source_id=source_id,
            collection="",
            source="",
            title="",
            text=text,
            start=0,
            end=len(text),
            chunk_index=0,
            level=level,
            content_hash=content_hash,
            parent_id=parent,
        )
        for level, parent in ((1, None), (2, f"{source_id}#1-0"))
    ]
