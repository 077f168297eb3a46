"""Blocks of text -> one text that knows its pages, headings and tables by offset; pure.

Every format is first cut into blocks (a line, a heading, a table row); laying them out is the one
place where offsets are made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from anabranch.decoding import normalise
from anabranch.types import Heading, Page

# A header that travels with every chunk of its table must leave room for the rest.
_HEADER_LIMIT = 300


@dataclass(frozen=True, slots=True)
class Block:
    """A line of a document.

    ``label`` is what a heading says without its marks, or the column names of the table that
    begins with this row. ``start`` marks the first row of a table.
    """

    kind: Literal["line", "heading", "row", "blank"]
    text: str = ""
    label: str = ""
    depth: int = 0
    start: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """The text of a document and where its parts stand in it. ``tables``: (start, end, header)."""

    text: str
    pages: tuple[Page, ...] = ()
    headings: tuple[Heading, ...] = ()
    tables: tuple[tuple[int, int, str], ...] = ()


@dataclass(slots=True)
class _Sheet:
    """What has been laid out so far; the trailing blank lines are only counted, not yet written."""

    parts: list[str] = field(default_factory=list)
    length: int = 0
    blank_lines: int = 0
    headings: list[Heading] = field(default_factory=list)
    tables: list[tuple[int, int, str]] = field(default_factory=list)

    def write(self, line: str) -> int:
        """The offset at which ``line`` begins."""
        if self.length:
            gap = "\n" * (1 + min(self.blank_lines, 2))
            self.parts.append(gap)
            self.length += len(gap)
        start = self.length
        self.parts.append(line)
        self.length += len(line)
        self.blank_lines = 0
        return start


def row_text(cells: Sequence[str]) -> str:
    """A table row as a line, without its empty tail; "" for a row of empty cells."""
    kept = [" ".join(cell.split()) for cell in cells]
    while kept and not kept[-1]:
        kept.pop()
    return "| " + " | ".join(kept) + " |" if kept else ""


def header_text(cells: Sequence[str]) -> str:
    names = [" ".join(cell.split()) for cell in cells]
    return " | ".join(name for name in names if name)[:_HEADER_LIMIT]


def lay_out(blocks: Iterable[Block], *, pages: Sequence[Iterable[Block]] = ()) -> Layout:
    """The layout of ``blocks``, or of ``pages`` where the format has them, numbered from 1."""
    sheet = _Sheet()
    spans: list[Page] = []
    if not pages:
        _write_blocks(sheet, blocks)
    for number, page in enumerate(pages, start=1):
        sheet.blank_lines = max(sheet.blank_lines, 1)
        before = len(sheet.parts)
        _write_blocks(sheet, page)
        written = sum(map(len, sheet.parts[before:]))
        # The gap before the page's first line belongs to no page.
        gap = len(sheet.parts[before]) if before and written else 0
        spans.append(Page(number, sheet.length - written + gap, sheet.length))
    return Layout("".join(sheet.parts), tuple(spans), tuple(sheet.headings), tuple(sheet.tables))


def _write_blocks(sheet: _Sheet, blocks: Iterable[Block]) -> None:
    in_table = False
    for block in blocks:
        text = block.text
        if block.kind == "blank" or not text.strip():
            sheet.blank_lines += 1
            in_table = in_table and block.kind == "row"
            continue
        start = sheet.write(text)
        if block.kind == "heading":
            label = block.label or text.strip()
            sheet.headings.append(Heading(block.depth, start, sheet.length, label))
        if block.kind == "row" and in_table and not block.start:
            table_start, _, header = sheet.tables.pop()
            sheet.tables.append((table_start, sheet.length, header))
        elif block.kind == "row":
            sheet.tables.append((start, sheet.length, block.label))
        in_table = block.kind == "row"


def text_blocks(text: str) -> list[Block]:
    """Plain text, line by line, as it is."""
    return [Block("line", line) if line else Block("blank") for line in normalise(text).split("\n")]


def row_blocks(
    rows: Iterable[Sequence[str]], *, header: Sequence[str] | None = None
) -> list[Block]:
    """The rows of one table; its column names are ``header``, else the first row that has text."""
    blocks: list[Block] = []
    for row in rows:
        text = row_text(row)
        if not text:
            continue
        label = header_text(row if header is None else header) if not blocks else ""
        blocks.append(Block("row", text, label, start=not blocks))
    return blocks
