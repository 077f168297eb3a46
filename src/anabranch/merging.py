"""Auto-merge of leaves into their parents, and dropping of contained spans; pure.

When the leaves that were hit make up most of their parent, the parent reads better and costs one
place instead of several. The share is of characters, not a count, so that one long leaf of two is
enough and two of ten short ones are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from anabranch.fusion import absorb, places_of
from anabranch.types import Chunk, Passage

MERGE_SHARE = 0.6


def parents_to_fetch(passages: Sequence[Passage]) -> list[str]:
    """Ids of parents of which at least two children are among the passages, in order."""
    children: dict[str, int] = {}
    for passage in passages:
        if passage.chunk.parent_id:
            children[passage.chunk.parent_id] = children.get(passage.chunk.parent_id, 0) + 1
    return [parent for parent, count in children.items() if count > 1]


def merge_to_parents(
    passages: Sequence[Passage], parents: Mapping[str, Chunk], *, share: float = MERGE_SHARE
) -> list[Passage]:
    """Passages with groups of siblings replaced by their parent where they make up ``share``.

    The parent takes the place of its best child. A parent that is not in ``parents`` (the store
    no longer has it) leaves its children as they are.
    """
    siblings: dict[str, list[int]] = {}
    for index, passage in enumerate(passages):
        parent_id = passage.chunk.parent_id
        if parent_id and parent_id in parents:
            siblings.setdefault(parent_id, []).append(index)
    merged: dict[int, Passage] = {}
    gone: set[int] = set()
    for parent_id, indexes in siblings.items():
        parent = parents[parent_id]
        covered = sum(len(passages[index].chunk.text) for index in indexes)
        if len(indexes) < 2 or covered < share * len(parent.text):
            continue
        merged[indexes[0]] = _as_parent(parent, [passages[index] for index in indexes])
        gone.update(indexes[1:])
    return [merged.get(i, passage) for i, passage in enumerate(passages) if i not in gone]


def _as_parent(parent: Chunk, children: Sequence[Passage]) -> Passage:
    joined = children[0]
    for child in children[1:]:
        joined = absorb(joined, child)
    parts = dict.fromkeys(
        name for child in children for name in (child.chunk.chunk_id, *child.merged_from)
    )
    windows = sorted(
        {window for child in children for window in child.windows},
        key=lambda window: (window.start, window.end),
    )
    places = dict.fromkeys((*places_of(parent), *joined.provenance))
    return replace(
        joined, chunk=parent, merged_from=tuple(parts), windows=tuple(windows),
        provenance=tuple(places),
    )  # fmt: skip


def drop_contained(passages: Sequence[Passage]) -> list[Passage]:
    """Passages without those whose span lies inside another's of the same source.

    The wider passage takes the better place of the two, with the finders of both.
    """
    kept: list[Passage] = []
    for passage in passages:
        around = [i for i, other in enumerate(kept) if _contains(other.chunk, passage.chunk)]
        if around:
            kept[around[0]] = absorb(kept[around[0]], passage)
            continue
        inside = [i for i, other in enumerate(kept) if _contains(passage.chunk, other.chunk)]
        if not inside:
            kept.append(passage)
            continue
        first = kept[inside[0]]
        wide = first
        for index in inside[1:]:
            wide = absorb(wide, kept[index])
        wide = absorb(wide, passage)
        parts = (first.chunk.chunk_id, *wide.merged_from)
        wide = replace(
            wide,
            chunk=passage.chunk,
            merged_from=tuple(name for name in parts if name != passage.chunk.chunk_id),
            windows=passage.windows or wide.windows,
        )
        kept = [
            wide if i == inside[0] else other
            for i, other in enumerate(kept)
            if i == inside[0] or i not in inside
        ]
    return kept


def _contains(outer: Chunk, inner: Chunk) -> bool:
    return (
        outer.source_id == inner.source_id and outer.start <= inner.start and inner.end <= outer.end
    )
