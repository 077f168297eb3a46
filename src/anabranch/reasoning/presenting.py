"""Evidence cut into what an answer may show: sentences, list items, table rows; pure.

What is shown is free of Markdown marks and has a row's column names beside its cells; the span
that it stands for stays verbatim, so that a quote can be found in the document.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from anabranch import language
from anabranch.reasoning import passages as features
from anabranch.types import Evidence

# The longest span that is shown as one piece; beyond it a sentence is cut at a word.
_LONGEST = 500
_MARK = re.compile(r"^(?:#{1,6}\s+|[-*+•▪◦]\s+|\d{1,3}[.)]\s+|[（(]\d{1,2}[)）]\s*|>\s*)+")
_ITEM = re.compile(r"^(?:[-*+•▪◦]\s+|\d{1,3}[.)]\s+|[（(]\d{1,2}[)）])")
_EMPHASIS = re.compile(r"(\*\*|__|`)(?=\S)(.+?)(?<=\S)\1")
_RULE = re.compile(r"^[\s|:=_*-]+$")
_ENDS = re.compile(r"[.!?。！？；;:：…][\"'”’)\]」』）]*$")


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of evidence at ``text[start:end]``, and how it is shown.

    ``alone`` pieces have no running neighbour (rows, items). ``items`` are those of the list that
    the piece introduces.
    """

    start: int
    end: int
    shown: str
    terms: frozenset[str]
    alone: bool = False
    is_heading: bool = False
    is_item: bool = False
    is_column_names: bool = False
    items: tuple[Unit, ...] = ()


def units(evidence: Evidence) -> tuple[Unit, ...]:
    """The pieces of a passage in reading order."""
    return _units(evidence.text, evidence.context)


@lru_cache(maxsize=1_024)
def _units(text: str, context: str) -> tuple[Unit, ...]:
    found: list[Unit] = []
    columns = _cells(context.rsplit("\n", 1)[-1]) if "|" in context.rsplit("\n", 1)[-1] else []
    in_table = False
    for start, end in _spans(text):
        line = text[start:end]
        if _RULE.match(line):
            continue
        if not line.startswith("|"):
            in_table = False
            found.append(_sentence(text, start, end))
            continue
        cells = _cells(line)
        # The first row of a table that begins here holds its column names.
        if not in_table and not columns:
            columns = cells
            found.append(_row(start, end, cells, [], is_column_names=True))
        else:
            found.append(_row(start, end, cells, columns))
        in_table = True
    return _with_items(_with_headings(found, text))


def _spans(text: str) -> list[tuple[int, int]]:
    """Sentences, but every table row whole, and none longer than what is shown as one piece."""
    found: list[tuple[int, int]] = []
    for start, end in language.sentence_spans(text):
        line_start = text.rfind("\n", 0, start) + 1
        if text[line_start : line_start + 1] == "|":
            line_end = text.find("\n", start)
            line_end = len(text) if line_end < 0 else line_end
            if not found or found[-1][0] != line_start:
                found.append((line_start, len(text[:line_end].rstrip())))
            continue
        # "1." before an item looks like the end of a sentence.
        if found and _ITEM.fullmatch(text[found[-1][0] : start]) and found[-1][1] <= start:
            found[-1] = (found[-1][0], end)
            continue
        while end - start > _LONGEST:
            cut = text.rfind(" ", start + _LONGEST // 2, start + _LONGEST)
            cut = cut if cut > 0 else start + _LONGEST
            found.append((start, cut))
            start = cut + (text[cut] == " ")
        found.append((start, end))
    return found


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _row(
    start: int, end: int, cells: list[str], columns: list[str], *, is_column_names: bool = False
) -> Unit:
    named = columns if len(columns) == len(cells) else []
    parts = [
        f"{named[number]}: {cell}" if named and named[number] else cell
        for number, cell in enumerate(cells)
        if cell
    ]
    text = "; ".join(parts)
    return Unit(
        start, end, text, features.term_set(text), alone=True, is_column_names=is_column_names
    )


def _sentence(text: str, start: int, end: int) -> Unit:
    raw = text[start:end]
    clean = _EMPHASIS.sub(r"\2", _MARK.sub("", raw))
    clean = re.sub(r"\s*\n\s*", "" if language.has_cjk(raw) else " ", clean).strip() or raw
    line_start = text.rfind("\n", 0, start) + 1
    item = bool(_ITEM.match(text[line_start:end])) and line_start == start
    return Unit(
        start,
        end,
        clean,
        features.term_set(raw),
        alone=item,
        is_heading=raw.startswith("#"),
        is_item=item,
    )


def _with_headings(found: list[Unit], text: str) -> list[Unit]:
    """A short first or separate line without a mark at its end announces what follows it."""
    made = []
    for number, unit in enumerate(found):
        raw = text[unit.start : unit.end]
        follows = number + 1 < len(found) and "\n" in text[unit.end : found[number + 1].start]
        short = len(raw) <= 80 and not _ENDS.search(raw) and not unit.alone
        own_line = unit.start == 0 or text[: unit.start].rstrip(" ").endswith("\n")
        heading = unit.is_heading or (short and follows and own_line)
        made.append(replace(unit, is_heading=heading))
    return made


def _with_items(found: list[Unit]) -> tuple[Unit, ...]:
    """Gives a piece that ends in a colon, or a heading, the list that follows it."""
    made = []
    for number, unit in enumerate(found):
        items: list[Unit] = []
        if not unit.is_item and (unit.shown.endswith((":", "：")) or unit.is_heading):
            for following in found[number + 1 :]:
                if not following.is_item:
                    break
                items.append(following)
        made.append(replace(unit, items=tuple(items)) if items else unit)
    return tuple(made)
