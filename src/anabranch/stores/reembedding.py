"""All documents of one table embedded by another model, into another table.

Texts, chunks and ids stay what they are, so that citations and conversations stay valid; only the
vectors change. What was copied is known by its state, so that a run that was ended goes on where
it was, and documents that change meanwhile are copied again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anabranch.ports import Embedder, PassageText, PassageVectors
from anabranch.stores.documents import chunk_from_json
from anabranch.stores.rows import ITEM, packed, table_schema

if TYPE_CHECKING:
    import pyarrow

    from anabranch.stores.lance import LanceStore

# Sources read, embedded and written together: a few hundred passages, so that little is repeated
# after an interruption and no more than some megabytes are held.
_SOURCES_AT_A_TIME = 16

# Called with the sources that are done and their number.
Progress = Callable[[int, int], None]
# For each source id what is another when anything of the document is.
States = Mapping[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Copied:
    """How many sources were copied, and the states that both tables had when all were."""

    count: int
    states: States


async def copy_reembedded(
    source: LanceStore, target: LanceStore, embedder: Embedder, *, on_progress: Progress
) -> Copied:
    """Make ``target`` hold what ``source`` holds, with vectors of ``embedder``.

    When it returns, nothing in ``source`` differs from ``target`` any more, as of a moment ago.
    Nobody else may write to ``target``: what only it has is removed.
    """
    copied = 0
    while True:
        wanted, there = await source.states(), await target.states()
        gone = [name for name in there if name not in wanted]
        if gone:
            await target.remove(gone)
        missing = [name for name, state in wanted.items() if there.get(name) != state]
        if not missing:
            return Copied(copied, wanted)
        there_already = len(wanted) - len(missing)
        for done, batch in _batches(missing):
            await target.replace_rows(await _reembedded(source, batch, embedder))
            copied += len(batch)
            on_progress(there_already + done, len(wanted))


async def carry_over(
    source: LanceStore, target: LanceStore, embedder: Embedder, *, since: States
) -> int:
    """Bring into ``target`` what was written to ``source`` after ``since``; sources copied.

    For when others write to ``target`` already: what they changed there stays as they left it.
    """
    now = await source.states()
    changed = [name for name, state in now.items() if since.get(name) != state]
    for _, batch in _batches(changed):
        rows = await _reembedded(source, batch, embedder)
        there = await target.states()
        late = {name for name in batch if there.get(name) == since.get(name)}
        await target.replace_rows(_of_sources(rows, late))
    there = await target.states()
    gone = [name for name in since if name not in now and there.get(name) == since[name]]
    if gone:
        await target.remove(gone)
    return len(changed)


def _batches(names: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """Names a few at a time, and how many there are with these."""
    for start in range(0, len(names), _SOURCES_AT_A_TIME):
        batch = names[start : start + _SOURCES_AT_A_TIME]
        yield start + len(batch), batch


async def _reembedded(
    source: LanceStore, names: Sequence[str], embedder: Embedder
) -> pyarrow.Table:
    rows = await source.rows(table_schema(source.dimensions).names, source_ids=names)
    return await _with_vectors(rows, embedder)


def _of_sources(rows: pyarrow.Table, names: Set[str]) -> pyarrow.Table:
    import pyarrow

    kept = [name in names for name in rows.column("source_id").to_pylist()]
    return rows.filter(pyarrow.array(kept, type=pyarrow.bool_()))


async def _with_vectors(rows: pyarrow.Table, embedder: Embedder) -> pyarrow.Table:
    """``rows`` with the vectors and windows that ``embedder`` gives to their leaves."""
    import pyarrow

    levels = rows.column("level").to_pylist()
    leaves = [
        chunk_from_json(item)
        for level, item in zip(levels, rows.column(ITEM).to_pylist(), strict=True)
        if level == 3
    ]
    vectors = iter(
        await embedder.embed_passages([PassageText(leaf.text, leaf.context) for leaf in leaves])
    )
    of_rows: list[PassageVectors | None] = [
        next(vectors) if level == 3 else None for level in levels
    ]
    width = embedder.dimensions
    matrix = np.zeros((len(of_rows), width), dtype=np.float32)
    for row, found in zip(matrix, of_rows, strict=True):
        if found is not None:
            row[:] = found.passage
    schema = table_schema(width)
    made = {
        "vector": pyarrow.FixedSizeListArray.from_arrays(
            pyarrow.array(matrix.ravel()), width,
            mask=pyarrow.array([found is None for found in of_rows]),
        ),
        "windows": pyarrow.array(
            [None if found is None else packed(found.windows) for found in of_rows],
            type=schema.field("windows").type,
        ),
    }  # fmt: skip
    columns = [
        made[field.name]
        if field.name in made
        else rows.column(field.name).combine_chunks().cast(field.type)
        for field in schema
    ]
    return pyarrow.Table.from_arrays(columns, schema=schema)
