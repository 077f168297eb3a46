"""Documents as rows of one table, and rows as chunks again.

One table holds everything, so that one commit replaces a document whole:

- level 3, the leaves: vector and search terms, found by both searches;
- levels 1 and 2, their parents: no vector and no terms, so that no search finds them;
- level 0, one row a document: its record, extracted text, lexicon and digest.

Columns are what is filtered or searched; a chunk or record itself is one JSON column, because
fetching sixteen columns of a hundred rows takes twice as long as fetching and parsing one.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from anabranch.language import terms
from anabranch.ports import IndexedDocument, Windows
from anabranch.stores.documents import (
    chunk_from_json,
    document_digest,
    owned_chunks,
    searched_text,
    to_json,
)
from anabranch.types import Chunk, Scope, SourceRecord

if TYPE_CHECKING:
    import pyarrow

FORMAT_VERSION = 1
FORMAT_KEY = b"anabranch.format"

# The columns that only the row of a document has a value for.
_OF_DOCUMENTS = ("text", "lexicon", "digest")

# The column that has all of a chunk, or of a source record on level 0.
ITEM = "item"


def table_schema(dimensions: int) -> pyarrow.Schema:
    import pyarrow

    string = pyarrow.string()
    return pyarrow.schema(
        [
            pyarrow.field("id", string, nullable=False),
            pyarrow.field("source_id", string),
            pyarrow.field("collection", string),
            pyarrow.field("source", string),
            pyarrow.field("allowed", pyarrow.list_(string)),
            pyarrow.field("level", pyarrow.int8()),
            pyarrow.field("chunk_id", string),
            pyarrow.field(ITEM, string),
            pyarrow.field("terms", string),
            pyarrow.field("vector", pyarrow.list_(pyarrow.float32(), dimensions)),
            pyarrow.field("windows", pyarrow.binary()),
            pyarrow.field("text", string),
            pyarrow.field("lexicon", string),
            pyarrow.field("digest", string),
        ],
        metadata={FORMAT_KEY: str(FORMAT_VERSION).encode()},
    )


def rows_of(documents: Iterable[IndexedDocument], dimensions: int) -> pyarrow.Table:
    """All rows of the documents. ``id`` stays the same from version to version of a source.

    That is what lets two writers of one source meet in a conflict instead of both staying.
    """
    import pyarrow

    rows: list[dict[str, Any]] = []
    vectors: list[np.ndarray[Any, Any]] = []
    for document in documents:
        chunks = owned_chunks(document)
        items = [to_json(chunk) for chunk in chunks]
        rows.append(_document_row(document, items))
        windows = iter(document.windows)
        for chunk, item in zip(chunks, items, strict=True):
            row = _chunk_row(chunk, item)
            if chunk.level == 3:
                row["windows"] = packed(next(windows, None))
            rows.append(row)
        vectors.append(document.vectors)
        time.sleep(0)  # lets a thread of the embedder pass, which would wait 5 ms for its turn
    schema = table_schema(dimensions)
    columns = [
        _vector_column(rows, vectors, dimensions)
        if field.name == "vector"
        else pyarrow.array([row.get(field.name) for row in rows], type=field.type)
        for field in schema
    ]
    return pyarrow.Table.from_arrays(columns, schema=schema)


def split_rows(rows: pyarrow.Table) -> tuple[pyarrow.Table, pyarrow.Table]:
    """The leaves, and all other rows, of rows with ``level``."""
    is_leaf = rows.column("level").to_numpy() == 3
    return rows.filter(is_leaf), rows.filter(~is_leaf)


def _document_row(document: IndexedDocument, chunks: Sequence[str]) -> dict[str, Any]:
    record, lexicon = document.record, to_json(document.lexicon)
    return {
        **_owner_columns(record),
        "id": f"{record.source_id}/0/0",
        "level": 0,
        ITEM: to_json(record),
        "text": document.document.text,
        "lexicon": lexicon,
        "digest": document_digest(document, lexicon=lexicon, chunks=chunks),
    }


def _chunk_row(chunk: Chunk, item: str) -> dict[str, Any]:
    return {
        **_owner_columns(chunk),
        "id": f"{chunk.source_id}/{chunk.level}/{chunk.chunk_index}",
        "level": chunk.level,
        "chunk_id": chunk.chunk_id,
        ITEM: item,
        # Cut here, by the same rules as a question, so that the index needs no tokenizer.
        "terms": (" ".join(terms(searched_text(chunk))) or None) if chunk.level == 3 else None,
        # Not NULL: a page of one value and NULLs is stored as a constant, which Lance 13 repeats
        # for every row when it reads the page. A book of 1 MB then overflowed at 2 GB.
        **dict.fromkeys(_OF_DOCUMENTS, ""),
    }


def packed(windows: Windows | None) -> bytes | None:
    """Windows as one value of their column."""
    return None if windows is None or not len(windows) else windows.tobytes()


def windows_from_rows(table: pyarrow.Table, dimensions: int) -> dict[str, Windows]:
    """The window vectors of rows with ``chunk_id`` and ``windows``, where they have any."""
    names, packed = table.column("chunk_id").to_pylist(), table.column("windows").to_pylist()
    return {
        name: np.frombuffer(value, dtype=np.int8).reshape(-1, dimensions)
        for name, value in zip(names, packed, strict=True)
        if value is not None and len(value) % dimensions == 0
    }


def _owner_columns(owned: SourceRecord | Chunk) -> dict[str, Any]:
    return {
        "source_id": owned.source_id,
        "collection": owned.collection,
        "source": owned.source,
        # NULL is everyone: cheaper to test than an empty list, and never matched by a principal.
        "allowed": list(owned.allowed) or None,
    }


def _vector_column(
    rows: Sequence[dict[str, Any]], vectors: Sequence[np.ndarray[Any, Any]], dimensions: int
) -> pyarrow.Array:
    import pyarrow

    is_leaf = np.array([row["level"] == 3 for row in rows], dtype=bool)
    matrix = np.zeros((len(rows), dimensions), dtype=np.float32)
    if is_leaf.any():
        matrix[is_leaf] = np.concatenate([part for part in vectors if len(part)])
    return pyarrow.FixedSizeListArray.from_arrays(
        pyarrow.array(matrix.ravel()), dimensions, mask=pyarrow.array(~is_leaf)
    )


def chunks_from_rows(table: pyarrow.Table) -> list[Chunk]:
    """One chunk for each row of a table that has ``ITEM``."""
    return [chunk_from_json(text) for text in table.column(ITEM).to_pylist()]


def quoted(value: str) -> str:
    """``value`` as an SQL string: the only character that can end one is the quote itself."""
    return "'" + value.replace("'", "''") + "'"


def one_of(column: str, values: Iterable[str]) -> str:
    """Whether ``column`` is one of the values; false when there are none."""
    names = ", ".join(map(quoted, _storable(values)))
    return f"{column} IN ({names})" if names else "FALSE"


def _storable(values: Iterable[str]) -> list[str]:
    """Values without those that no row can hold: lone surrogates have no encoding."""
    return [value for value in values if value.isascii() or _encodes(value)]


def _encodes(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def scope_predicate(scope: Scope) -> str | None:
    """A scope that admits something as an SQL condition; None where it admits everything."""
    conditions: list[str] = []
    if scope.collections is not None:
        conditions.append(one_of("collection", scope.collections))
    if scope.sources is not None:
        conditions.append(
            f"({one_of('source_id', scope.sources)} OR {one_of('source', scope.sources)})"
        )
    if scope.principals is not None:
        callers = ", ".join(map(quoted, _storable(scope.principals)))
        named = f" OR array_has_any(allowed, [{callers}])" if callers else ""
        conditions.append(f"(allowed IS NULL{named})")
    return " AND ".join(conditions) or None


def conjunction(*conditions: str | None) -> str | None:
    """All conditions that are there, joined."""
    return " AND ".join(condition for condition in conditions if condition) or None
