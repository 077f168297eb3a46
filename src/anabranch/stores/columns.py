"""Chunks in memory as columns, made from rows of the table; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from anabranch.ports import Vectors
from anabranch.stores.postings import Flags, Rows
from anabranch.stores.rows import ITEM

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, slots=True)
class ChunkColumns:
    """Chunks in columns: no object for each, and one filter, not a loop, when some have changed.

    ``documents`` has the place of each one's source in ``Snapshot.names``. ``items`` are they
    themselves as JSON, ``windows`` bytes or null. Either may have no rows at all: parents have no
    windows, and where there are only words there are no items.
    """

    chunk_ids: tuple[str, ...]
    documents: Rows
    items: pyarrow.Array
    windows: pyarrow.Array

    def __len__(self) -> int:
        return len(self.documents)

    def joined(
        self, stay: Flags, rows: pyarrow.Table, numbers: Mapping[str, int], moved: Rows
    ) -> ChunkColumns:
        """The chunks of documents that ``stay``, and those of ``rows`` after them.

        ``numbers`` are the new places of documents by name, ``moved`` those by their old place.
        """
        import pyarrow

        kept = stay[self.documents]
        mask = pyarrow.array(kept)
        added = np.array([numbers[name] for name in rows.column("source_id").to_pylist()], np.int32)

        def column(name: str, old: pyarrow.Array) -> pyarrow.Array:
            if name not in rows.column_names:
                return old.slice(0, 0)
            new = rows.column(name).cast(old.type).combine_chunks()
            return pyarrow.concat_arrays([old.filter(mask), new]) if len(old) else new

        return ChunkColumns(
            chunk_ids=(*compress(self.chunk_ids, kept), *rows.column("chunk_id").to_pylist()),
            documents=np.concatenate((moved[self.documents[kept]], added)),
            items=column(ITEM, self.items),
            windows=column("windows", self.windows),
        )


def no_chunks() -> ChunkColumns:
    import pyarrow

    strings = pyarrow.array([], type=pyarrow.large_string())
    packed = pyarrow.array([], type=pyarrow.large_binary())
    return ChunkColumns((), np.zeros(0, dtype=np.int32), strings, packed)


def places_by_id(leaves: ChunkColumns, parents: ChunkColumns) -> dict[str, int]:
    places = {name: ~row for row, name in enumerate(parents.chunk_ids)}
    places.update((name, row) for row, name in enumerate(leaves.chunk_ids))
    return places


def vector_matrix(leaf_rows: pyarrow.Table, dimensions: int) -> Vectors:
    vectors = leaf_rows.column("vector").combine_chunks()
    flat: Vectors = vectors.flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(-1, dimensions)
