"""What every store agrees on: which documents fit, who sees them, what is searched; pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from anabranch.errors import ModelMismatchError, StorageError
from anabranch.lexicon import DocumentLexicon
from anabranch.ports import IndexedDocument
from anabranch.types import EMPTY, Chunk, Scope, SourceRecord


def checked_documents(
    documents: Sequence[IndexedDocument], dimensions: int
) -> dict[str, IndexedDocument]:
    """The documents by source id, the last of each id, once it is sure that they can be stored.

    Raises before anything is written: a batch is stored whole or not at all.
    """
    by_source: dict[str, IndexedDocument] = {}
    for document in documents:
        leaf_count = sum(chunk.level == 3 for chunk in document.chunks)
        name = document.record.source
        if document.vectors.shape[0] != leaf_count:
            raise StorageError(
                f"{name!r} has {leaf_count} leaf chunks but {document.vectors.shape[0]} vectors; "
                "nothing was stored. Add the file again."
            )
        if document.windows and len(document.windows) != leaf_count:
            raise StorageError(
                f"{name!r} has {leaf_count} leaf chunks but windows for {len(document.windows)}; "
                "nothing was stored. Add the file again."
            )
        if leaf_count and document.vectors.shape[1:] != (dimensions,):
            raise ModelMismatchError(
                f"The vectors of {name!r} have shape {document.vectors.shape!r}, the index holds "
                f"{dimensions} dimensions. Use the embedder that the index was made with, or add "
                "the files to a new knowledge base."
            )
        if not np.isfinite(document.vectors).all():
            raise StorageError(
                f"A vector of {name!r} is not finite; nothing was stored. Check the embedder."
            )
        by_source[document.record.source_id] = document
    return by_source


def check_query_vectors(vectors: np.ndarray[Any, Any], dimensions: int) -> None:
    """Raise unless ``vectors`` is a matrix with the dimensions of the index."""
    if vectors.ndim != 2 or vectors.shape[1] != dimensions:
        raise ModelMismatchError(
            f"Query vectors have shape {vectors.shape!r}, the index holds {dimensions} dimensions. "
            "Search with the embedder that the index was made with."
        )


def owned_chunks(document: IndexedDocument) -> list[Chunk]:
    """The chunks of a document, each with the owner and permissions of its record.

    The document is the unit of permission: a chunk that said otherwise would be a leak.
    """
    record = document.record
    owner = record.source_id, record.collection, record.source, record.allowed
    return [
        chunk
        if (chunk.source_id, chunk.collection, chunk.source, chunk.allowed) == owner
        else replace(
            chunk,
            source_id=record.source_id,
            collection=record.collection,
            source=record.source,
            allowed=record.allowed,
        )
        for chunk in document.chunks
    ]


def searched_text(chunk: Chunk) -> str:
    """What text search looks at: the chunk with its title and headings before it."""
    title = "" if chunk.title in chunk.context else chunk.title
    return "\n".join(part for part in (title, chunk.context, chunk.text) if part)


def admits_nothing(scope: Scope) -> bool:
    """Whether a scope names no collection or no source at all, so that nothing need be read."""
    return scope.collections == () or scope.sources == ()


def admission(scope: Scope) -> Callable[[SourceRecord], bool]:
    """Whether a source is in scope, as a function: for many sources, the scope is prepared once."""
    collections, named, callers = (
        None if names is None else frozenset(names)
        for names in (scope.collections, scope.sources, scope.principals)
    )

    def admits(record: SourceRecord) -> bool:
        if collections is not None and record.collection not in collections:
            return False
        if named is not None and record.source not in named and record.source_id not in named:
            return False
        return callers is None or not record.allowed or not callers.isdisjoint(record.allowed)

    return admits


def source_order(record: SourceRecord) -> tuple[str, str, str]:
    return record.collection, record.source, record.source_id


def document_digest(document: IndexedDocument, *, lexicon: str, chunks: Sequence[str]) -> str:
    """Hash of all that a search can return of a document; when it was added does not count.

    ``lexicon`` and ``chunks`` are its lexicon and its owned chunks as they are stored, in JSON.
    """
    record = replace(document.record, added_at="")
    digest = hashlib.sha256()
    for part in (to_json(record), document.document.text, lexicon, *chunks):
        digest.update(hashlib.sha256(part.encode("utf-8", "surrogatepass")).digest())
    digest.update(np.ascontiguousarray(document.vectors, dtype=np.float32).tobytes())
    for windows in document.windows:
        digest.update(windows.tobytes())
    return digest.hexdigest()


def combined_digest(digests: Sequence[str]) -> str:
    """One hash of many, whatever their order."""
    return hashlib.sha256("".join(sorted(digests)).encode()).hexdigest()[:32]


def to_json(value: SourceRecord | Chunk | DocumentLexicon) -> str:
    """``value`` as a JSON object of its fields."""
    names = _FIELDS[type(value)]
    return _ENCODER.encode({name: getattr(value, name) for name in names})


def _json_default(value: object) -> object:
    # A lexicon has hundreds of these, and asking for an abstract class takes longer than the rest.
    if type(value) is MappingProxyType or isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    return str(value)  # dates and paths in metadata are there to be read


_FIELDS: Mapping[Any, tuple[str, ...]] = {
    kind: tuple(f.name for f in fields(kind)) for kind in (SourceRecord, Chunk, DocumentLexicon)
}
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=_json_default)


def record_from_json(text: str) -> SourceRecord:
    return SourceRecord(**_values(text, _RECORD_FIELDS))


# The queries of a request find much the same chunks, and parsing costs more than fetching. Only
# rows that a scoped query gave are looked up here, so nothing is seen that may not be.
@lru_cache(maxsize=8_192)
def chunk_from_json(text: str) -> Chunk:
    return parsed_chunk(text)


def parsed_chunk(text: str) -> Chunk:
    return Chunk(**_values(text, _CHUNK_FIELDS))


_RECORD_FIELDS = frozenset(_FIELDS[SourceRecord])
_CHUNK_FIELDS = frozenset(_FIELDS[Chunk])


def _values(text: str, known: frozenset[str]) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(text)
    if not values.keys() <= known:  # A field that a newer version added does not stop this one.
        values = {name: value for name, value in values.items() if name in known}
    values["allowed"] = tuple(values.get("allowed", ()))
    values["metadata"] = values.get("metadata") or EMPTY
    return values


def lexicon_from_json(text: str) -> DocumentLexicon:
    values = json.loads(text)
    short_forms = {short: tuple(longs) for short, longs in values.get("short_forms", {}).items()}
    return DocumentLexicon(
        words=MappingProxyType(values.get("words", {})),
        short_forms=MappingProxyType(short_forms),
        phrases=MappingProxyType(values.get("phrases", {})),
    )
