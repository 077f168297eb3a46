"""Auto-merge of leaves into their parents, joining of neighbours, and what goes; pure.

When the leaves that were hit make up most of their parent, the parent reads better and costs one
place instead of several. The share is of characters, not a count, so that one long leaf of two is
enough and two of ten short ones are not. Neighbours of which no parent has that much are joined
alone. What lies inside another passage, or says only what another says already, goes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import pairwise

from anabranch.chunking import text_hash
from anabranch.fusion import absorb, is_foreign, places_of
from anabranch.language import fold, sentence_spans
from anabranch.types import Chunk, Passage

MERGE_SHARE = 0.6
# Characters between two passages that may be nothing but the white space left out between them.
_LARGEST_GAP = 8
_HEADINGS = re.compile(r" > |\n")


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
    joined = absorb(*children)
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
    kept: dict[int, Passage] = {}
    places: dict[str, list[int]] = {}  # of what is kept, by source
    for at, passage in enumerate(passages):
        own = places.setdefault(passage.chunk.source_id, [])
        around = next((i for i in own if _contains(kept[i].chunk, passage.chunk)), None)
        if around is not None:
            kept[around] = absorb(kept[around], passage)
            continue
        inside = [i for i in own if _contains(passage.chunk, kept[i].chunk)]
        if not inside:
            kept[at] = passage
            own.append(at)
            continue
        kept[inside[0]] = _widened([kept.pop(i) for i in inside], passage)
        places[passage.chunk.source_id] = [i for i in own if i not in inside[1:]]
    return [kept[at] for at in sorted(kept)]


def _widened(inside: Sequence[Passage], passage: Passage) -> Passage:
    """``passage`` at the place of the first of those that lie in it."""
    wide = absorb(*inside, passage)
    parts = (inside[0].chunk.chunk_id, *wide.merged_from)
    return replace(
        wide,
        chunk=passage.chunk,
        merged_from=tuple(name for name in parts if name != passage.chunk.chunk_id),
        windows=passage.windows or wide.windows,
    )


def _contains(outer: Chunk, inner: Chunk) -> bool:
    """Of two chunks of one source."""
    return outer.start <= inner.start and inner.end <= outer.end


# --------------------------------------------------------------------------------------- neighbours


def ancestors_to_fetch(passages: Sequence[Passage], known: Mapping[str, Chunk]) -> list[str]:
    """Ids of the next chunks above neighbours that ``known`` lacks, in order.

    Asked again with what was found, it gives the level above, until one holds both neighbours or
    there is none left to ask for.
    """
    wanted: dict[str, None] = {}
    for first, second in _neighbours(passages):
        if _around(first.chunk, second.chunk, known) is None:
            for chunk in (first.chunk, second.chunk):
                top = _line(chunk, known)[-1]
                if top.parent_id and top.parent_id not in known:
                    wanted[top.parent_id] = None
    return list(wanted)


def join_neighbours(passages: Sequence[Passage], ancestors: Mapping[str, Chunk]) -> list[Passage]:
    """Passages with those that follow one another in a document as one, at the better place.

    Only within a chunk of ``ancestors`` that holds both, since its text is needed for what stands
    between them: text of the document stays text of the document.
    """
    joined = list(passages)
    while pair := next(
        (
            (first, second, around)
            for first, second in _neighbours(joined)
            if (around := _around(first.chunk, second.chunk, ancestors)) is not None
        ),
        None,
    ):
        first, second, around = pair
        better, other = sorted((first, second), key=joined.index)
        both, place = _as_one(better, other, around), joined.index(better)
        joined = [
            both if index == place else other
            for index, other in enumerate(joined)
            if index == place or (other is not first and other is not second)
        ]
    return joined


def _neighbours(passages: Sequence[Passage]) -> list[tuple[Passage, Passage]]:
    ordered = sorted(passages, key=lambda p: (p.chunk.source_id, p.chunk.start, p.chunk.end))
    return [
        (first, second)
        for first, second in pairwise(ordered)
        if first.chunk.source_id == second.chunk.source_id
        and 0 <= second.chunk.start - first.chunk.end <= _LARGEST_GAP
        and not is_foreign(first)
    ]


def _line(chunk: Chunk, known: Mapping[str, Chunk]) -> list[Chunk]:
    """The chunk and those above it, as far as they are known."""
    line = [chunk]
    while (parent := known.get(line[-1].parent_id or "")) is not None and len(line) < 3:
        line.append(parent)
    return line


def _around(first: Chunk, second: Chunk, known: Mapping[str, Chunk]) -> Chunk | None:
    """The smallest known chunk that holds both, with nothing but white space between them."""
    for chunk in _line(first, known)[1:]:
        if chunk.start <= first.start and second.end <= chunk.end:
            between = chunk.text[first.end - chunk.start : second.start - chunk.start]
            return None if between.strip() else chunk
    return None


def _as_one(better: Passage, other: Passage, around: Chunk) -> Passage:
    start = min(better.chunk.start, other.chunk.start)
    end = max(better.chunk.end, other.chunk.end)
    text = around.text[start - around.start : end - around.start]
    earlier = min(better.chunk, other.chunk, key=lambda chunk: chunk.start)
    chunk = replace(
        better.chunk, chunk_id=_joined_id(better.chunk, start, end, text), text=text, start=start,
        end=end, page=earlier.page, chunk_index=earlier.chunk_index, context=earlier.context,
        content_hash=text_hash(text), metadata=around.metadata,
    )  # fmt: skip
    both = absorb(better, other)
    parts = (better.chunk.chunk_id, *both.merged_from)
    windows = sorted({*better.windows, *other.windows}, key=lambda window: window.start)
    places = dict.fromkeys((*places_of(replace(chunk, metadata={})), *both.provenance))
    return replace(
        both, chunk=chunk, windows=tuple(windows), provenance=tuple(places), merged_from=parts
    )


def _joined_id(chunk: Chunk, start: int, end: int, text: str) -> str:
    """An id of its own: what was joined is no chunk that is stored, under either id."""
    identity = f"{chunk.collection}\0{chunk.source_id}\0{start}\0{end}\0{text}"
    return blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


# ------------------------------------------------------------------------------------------ repeats


def drop_repeats(passages: Sequence[Passage]) -> list[Passage]:
    """Passages without those of which every sentence stands in one that ranks higher.

    The same paragraph under another heading, or in another version of a file, is one piece of
    evidence with both places. Sentences are compared word for word, so that two that differ in a
    number are two.
    """
    kept: list[Passage] = []
    said: list[frozenset[str]] = []
    for passage in passages:
        own = _sentences(passage.chunk)
        at = next((i for i, other in enumerate(said) if own and own <= other), None)
        if at is None or (is_foreign(kept[at]) and not is_foreign(passage)):
            kept.append(passage)
            said.append(own)
        else:
            kept[at] = absorb(kept[at], passage)
    return kept


def _sentences(chunk: Chunk) -> frozenset[str]:
    """Folded sentences and lines, without marks and white space; headings of the chunk are none."""
    headings = {_plain(line) for line in (chunk.title, *_HEADINGS.split(chunk.context))}
    spans = sentence_spans(chunk.text)
    return frozenset(_plain(chunk.text[start:end]) for start, end in spans) - headings - {""}


def _plain(line: str) -> str:
    return " ".join(fold(line).split()).strip("#*->•· ")
