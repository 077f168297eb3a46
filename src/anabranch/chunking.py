"""Document -> chunks of three levels with exact offsets, each inside one of the level above; pure.

Leaves are made first, from sentences, then grouped upwards, so that nesting cannot fail. A leaf
never spans a heading, and a page boundary only where one side would be tiny.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

from anabranch.language import has_cjk, sentence_spans
from anabranch.types import PAGE_SPANS, Chunk, Document, Heading, Level, Page

# Target weight of each level in characters. The embedder cuts at 256 word pieces: 600 English
# characters are about 140 of them, and headings and column names come on top.
_TARGETS: Mapping[Level, int] = {1: 2_400, 2: 1_200, 3: 600}
# How far a chunk may exceed its target when that saves a better boundary.
_SLACK: Mapping[Level, float] = {1: 1.2, 2: 1.2, 3: 1.1}
# What a CJK character weighs more than a Latin one. It says about as much as two, and each is a
# word piece of its own, so that a leaf of 240 of them still fits the embedder.
_CJK_EXTRA = 1.5
_TINY = 100
_HEADINGS_IN_CONTEXT = 4
_HEADING_LIMIT = 120

# How much nearer to the ideal size (as a share of it) another boundary must be to be preferred.
_SENTENCE, _LINE, _PARAGRAPH, _PAGE, _HEADING = 0.0, 0.15, 0.4, 0.5, 0.6
_PER_DEPTH = 0.15

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Unit:
    """A span that is not cut any more at this level, and how good the cut before it is."""

    start: int
    end: int
    boundary: float


@dataclass(frozen=True, slots=True)
class _Ruler:
    """Weighs spans of one text: every character 1, a CJK character more."""

    cjk: Sequence[int]

    def __call__(self, start: int, end: int) -> float:
        return (
            end - start + _CJK_EXTRA * (bisect_left(self.cjk, end) - bisect_left(self.cjk, start))
        )


def chunk(
    document: Document, *, source_id: str, collection: str, allowed: tuple[str, ...] = ()
) -> tuple[Chunk, ...]:
    """Chunks of every level: all of level 1 in document order, then level 2, then the leaves.

    Each is ``document.text[start:end]`` without white space at its ends; the leaves hold every
    other character exactly once. A text without visible characters has no chunks.
    """
    ruler = _Ruler(_cjk_positions(document.text))
    leaves = _leaves(document, ruler)
    middle = _pack(leaves, ruler, 2)
    top = _pack(_merged(leaves, middle), ruler, 1)
    levels: tuple[tuple[Level, list[Span]], ...] = (
        (1, [(group[0].start, group[-1].end) for group in top]),
        (2, [(group[0].start, group[-1].end) for group in middle]),
        (3, [(unit.start, unit.end) for unit in leaves]),
    )
    maker = _ChunkMaker(document, source_id, collection, allowed)
    chunks: list[Chunk] = []
    parents: list[Chunk] = []
    for level, spans in levels:
        made = maker.make(level, spans, parents)
        chunks += made
        parents = made
    return tuple(chunks)


# ---------------------------------------------------------------------------------------- leaves


def _leaves(document: Document, ruler: _Ruler) -> list[_Unit]:
    leaves: list[_Unit] = []
    for section in _sections(document, ruler):
        units = _sentence_units(document, section, ruler)
        leaves += _merged(units, _pack(units, ruler, 3))
    return leaves


def _sections(document: Document, ruler: _Ruler) -> list[_Unit]:
    """Spans between headings and page ends, tiny ones joined with the neighbour they belong to."""
    text = document.text
    cuts = {0: _HEADING} | {page.start: _PAGE for page in document.pages}
    for heading in document.headings:
        cuts[heading.start] = _HEADING + _PER_DEPTH * max(0, 6 - heading.depth)
    heading_ends = {heading.start: heading.end for heading in document.headings}
    starts = sorted(cuts)
    sections: list[_Unit] = []
    held: _Unit | None = None  # A heading, or a few words at the start, that wait for their text.
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        span = _trimmed(text, start, end)
        if span is None:
            continue
        section = _Unit(*span, cuts[start]) if held is None else replace(held, end=span[1])
        held = None
        tiny = ruler(section.start, section.end) < _TINY
        if start in heading_ends:
            waits = not re.search(r"\w", text[heading_ends[start] : span[1]])
        else:
            waits = tiny and not sections
        if waits:
            held = section
        elif tiny and sections and section.boundary == _PAGE:
            sections[-1] = replace(sections[-1], end=section.end)
        else:
            sections.append(section)
    if held is not None and sections:
        sections[-1] = replace(sections[-1], end=held.end)
    elif held is not None:
        sections.append(held)
    return sections


def _sentence_units(document: Document, section: _Unit, ruler: _Ruler) -> list[_Unit]:
    """The sentences of a section, table rows whole; one that no leaf could hold is cut."""
    text = document.text
    tables = document.metadata.get("tables", ())
    units: list[_Unit] = []
    before = section.start
    for first, last in sentence_spans(text[section.start : section.end]):
        start, end = section.start + first, section.start + last
        gap = text[before:start]
        boundary = _SENTENCE
        if "\n" in gap:
            boundary = _PARAGRAPH if gap.count("\n") > 1 else _LINE
        elif units and _same_row(units[-1].start, end, tables, ruler):
            units[-1] = replace(units[-1], end=end)
            before = end
            continue
        for piece_start, piece_end in _hard_cut(text, start, end, ruler):
            units.append(_Unit(piece_start, piece_end, boundary))
            boundary = _SENTENCE
        before = end
    if units:
        units[0] = replace(units[0], boundary=section.boundary)
    return units


def _same_row(start: int, end: int, tables: Sequence[tuple[int, int, str]], ruler: _Ruler) -> bool:
    """Whether a span on one line is part of a table row that a leaf can hold."""
    at = bisect_right(tables, start, key=lambda table: table[0]) - 1
    inside = at >= 0 and end <= tables[at][1]
    return inside and ruler(start, end) <= _TARGETS[3] * _SLACK[3]


def _hard_cut(text: str, start: int, end: int, ruler: _Ruler) -> list[Span]:
    """``(start, end)`` in pieces that fit a leaf: at white space, else between whole characters."""
    limit = _TARGETS[3]
    pieces: list[Span] = []
    while ruler(start, end) > limit * _SLACK[3]:
        furthest = _reach(start, end, limit, ruler)
        cut = next(
            (at for at in range(furthest, start + limit // 8, -1) if text[at].isspace()), furthest
        )
        while cut > start + 1 and unicodedata.combining(text[cut]):
            cut -= 1
        if (piece := _trimmed(text, start, cut)) is not None:
            pieces.append(piece)
        rest = _trimmed(text, cut, end)
        if rest is None:
            return pieces
        start, end = rest
    return [*pieces, (start, end)]


def _reach(start: int, end: int, limit: float, ruler: _Ruler) -> int:
    """The furthest offset up to which the text from ``start`` weighs no more than ``limit``."""
    low, high = start + 1, min(end, start + int(limit))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if ruler(start, middle) <= limit else (low, middle - 1)
    return low


def _trimmed(text: str, start: int, end: int) -> Span | None:
    """The span without white space at its ends; None where nothing else is in it."""
    piece = text[start:end]
    stripped = piece.strip()
    if not stripped:
        return None
    start += len(piece) - len(piece.lstrip())
    return start, start + len(stripped)


# --------------------------------------------------------------------------------------- packing


def _pack(units: Sequence[_Unit], ruler: _Ruler, level: Level) -> list[Sequence[_Unit]]:
    """Consecutive units in groups near the target, cut at the best boundaries within reach.

    The ideal size is what is left, divided evenly: so no tiny group is left over at the end.
    """
    target, limit = _TARGETS[level], _TARGETS[level] * _SLACK[level]
    groups: list[Sequence[_Unit]] = []
    first = 0
    while first < len(units):
        start = units[first].start
        left = ruler(start, units[-1].end)
        if left <= limit:
            groups.append(units[first:])
            break
        ideal = left / -(-left // target)
        last = _best_cut(units, first, ideal, limit, ruler)
        groups.append(units[first:last])
        first = last
    return groups


def _best_cut(units: Sequence[_Unit], first: int, ideal: float, limit: float, ruler: _Ruler) -> int:
    """Index after the last unit of the group that begins with ``first``; the earliest of equals."""
    best, best_score = first + 1, float("-inf")
    for cut in range(first + 1, len(units)):
        size = ruler(units[first].start, units[cut - 1].end)
        if size > limit:
            break
        score = units[cut].boundary - abs(size - ideal) / ideal
        if size < ideal / 2:  # Only where nothing larger fits.
            score -= 10
        if score > best_score:
            best, best_score = cut, score
    return best


def _merged(units: Sequence[_Unit], groups: Sequence[Sequence[_Unit]]) -> list[_Unit]:
    """Each group as one unit, with the boundary of its first."""
    return [_Unit(group[0].start, group[-1].end, group[0].boundary) for group in groups]


# ---------------------------------------------------------------------------------------- chunks


@dataclass(slots=True)
class _ChunkMaker:
    """Turns spans into chunks: their ids, page, parent, and what travels with them for search."""

    document: Document
    source_id: str
    collection: str
    allowed: tuple[str, ...]
    metadata: Mapping[str, Any] = field(init=False)
    tables: list[tuple[int, int, str]] = field(init=False)
    page_ends: list[int] = field(init=False)
    paths: _HeadingPaths = field(init=False)

    def __post_init__(self) -> None:
        known = self.document.metadata
        self.metadata = {key: value for key, value in known.items() if key != "tables"}
        self.tables = [(int(a), int(b), str(header)) for a, b, header in known.get("tables", ())]
        self.page_ends = [page.end for page in self.document.pages]
        self.paths = _HeadingPaths(self.document)

    def make(self, level: Level, spans: Sequence[Span], parents: Sequence[Chunk]) -> list[Chunk]:
        """Chunks of one level; ``parents`` are those of the level above, in order."""
        parent_starts = [parent.start for parent in parents]
        document = self.document
        chunks: list[Chunk] = []
        for index, (start, end) in enumerate(spans):
            text = document.text[start:end]
            parent = parents[bisect_right(parent_starts, start) - 1] if parents else None
            chunks.append(
                Chunk(
                    chunk_id=self._id(level, index),
                    source_id=self.source_id,
                    collection=self.collection,
                    source=document.source,
                    title=document.title,
                    text=text,
                    start=start,
                    end=end,
                    chunk_index=index,
                    level=level,
                    content_hash=text_hash(text),
                    page=self._page(start),
                    context=self._context(start, end),
                    parent_id=parent.chunk_id if parent else None,
                    metadata={**self.metadata, **self._page_spans(start, end)},
                    allowed=self.allowed,
                )
            )
        return chunks

    def _id(self, level: Level, index: int) -> str:
        """The same for the same content at the same place: a new version of a source has others."""
        identity = (
            self.collection, self.source_id, self.document.source, self.document.content_hash,
            str(level), str(index),
        )  # fmt: skip
        # Lengths, so that no two lists of names run together into the same bytes.
        packed = "".join(f"{len(part)}:{part}" for part in identity)
        return blake2b(packed.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def _page(self, start: int) -> int | None:
        at = bisect_right(self.page_ends, start)
        pages: Sequence[Page] = self.document.pages
        return pages[at].number if at < len(pages) and pages[at].start <= start else None

    def _page_spans(self, start: int, end: int) -> dict[str, list[list[int]]]:
        """Where each page's part of the span stands, if it goes over more than one."""
        parts = [
            [page.number, max(page.start, start), min(page.end, end)]
            for page in self.document.pages[bisect_right(self.page_ends, start) :]
            if page.start < end
        ]
        return {PAGE_SPANS: parts} if len(parts) > 1 else {}

    def _context(self, start: int, end: int) -> str:
        """Title and headings above the chunk, then the column names of a table begun before it."""
        title = self.document.title
        path = [name for name in self.paths.at(start, end) if name != title]
        lines = [" > ".join([title, *path[-_HEADINGS_IN_CONTEXT:]] if title else path)]
        at = bisect_left(self.tables, start, key=lambda table: table[0]) - 1
        if at >= 0 and start < self.tables[at][1] and self.tables[at][2]:
            lines.append(self.tables[at][2])
        return "\n".join(line for line in lines if line)


class _HeadingPaths:
    """The headings that stand above each place of a document."""

    def __init__(self, document: Document) -> None:
        self._text = document.text
        self._headings = document.headings
        self._starts = [heading.start for heading in document.headings]
        self._paths: list[tuple[Heading, ...]] = []
        open_headings: list[Heading] = []
        for heading in document.headings:
            while open_headings and open_headings[-1].depth >= heading.depth:
                open_headings.pop()
            open_headings.append(heading)
            self._paths.append(tuple(open_headings))

    def at(self, start: int, end: int) -> list[str]:
        """Headings over a chunk, outermost first, with those that it opens with."""
        at = bisect_right(self._starts, start) - 1
        # A heading without a text of its own stands at the start of its subsection's first chunk.
        while (
            at >= 0
            and at + 1 < len(self._starts)
            and self._headings[at].start >= start
            and self._starts[at + 1] < end
            and not self._text[self._headings[at].end : self._starts[at + 1]].strip()
        ):
            at += 1
        return [heading.text[:_HEADING_LIMIT] for heading in self._paths[at]] if at >= 0 else []


def text_hash(text: str) -> str:
    """Hash of what a text says: NFC, with runs of white space as one space."""
    folded = " ".join(unicodedata.normalize("NFC", text).split())
    return blake2b(folded.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _cjk_positions(text: str) -> list[int]:
    """Offsets of the CJK characters; asked once for each distinct character."""
    if text.isascii():
        return []
    found = {character for character in set(text) if has_cjk(character)}
    return [at for at, character in enumerate(text) if character in found] if found else []
