"""Evidence cut into what an answer may show: sentences, list items, table rows; pure.

What is shown is free of Markdown marks and has a row's column names beside its cells; the span
that it stands for stays verbatim, so that a quote can be found in the document.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from anabranch import language
from anabranch.reasoning import passages as features
from anabranch.shown_text import MARKER
from anabranch.types import Evidence

# The longest span that is shown as one piece; beyond it a sentence is cut at a word.
_LONGEST = 350
_CLAUSE_ENDS = re.compile(r"[;,](?=\s)|[；，、]")
_LONGEST_HEADING = 80
_FULL_LINE = 40
_MARK = re.compile(r"^(?:#{1,6}\s+|[-*+•▪◦]\s+|\d{1,3}[.)]\s+|[（(]\d{1,2}[)）]\s*|>\s*)+")
_ITEM = re.compile(r"^(?:[-*+•▪◦]\s+|\d{1,3}[.)]\s+|[（(]\d{1,2}[)）])")
_EMPHASIS = re.compile(r"(\*\*|__|`)(?=\S)(.+?)(?<=\S)\1")
_RULE = re.compile(r"^[\s|:=_*-]+$")
_ENDS = re.compile(r"[.!?。！？；;:：…][\"'”’)\]」』）]*$")
_ASKS = re.compile(r"[?？][\"'”’)\]」』）]*$")
# "Opening hours: 9 to 17" says something; a heading only names what will be said.
_NAMED_VALUE = re.compile(r"[:：]\s*\S")
# Figures in columns, as the text of a PDF has them: "Material 3.1 3.6 4.2"; not a date at the end.
_FIGURES = re.compile(
    r"^(?P<name>.*?[^\W\d_].*?)(?P<figures>(?:\s+[-+(]?\d(?:[\d.,:]*\d)?[)%]?){2,})\s*$"
)
_NUMBERED = re.compile(r"\n([0-9]{1,2})\s+(?=[^\W\d_])")
_LEADING_NUMBER = re.compile(r"([0-9]{1,2})\s+(?=[^\W\d_])")
# "This page says what we pay", "What we pay to visitors.": of what will be said, not what it is.
_ANNOUNCES = re.compile(
    r"^(?:in\s+)?(?:this|the\s+following|the\s+present)\s+(?:page|document|section|chapter|guide|article|handbook|manual|leaflet"
    r"|overview)s?,?\s+(?:we\s+|you\s+will\s+)?(?:says?|tells?|describes?|explains?|lists?|covers?|sets?\s+out|summari[sz]es?"
    r"|outlines?|deals?|(?:is|are)\s+(?:for|about|meant)|appl(?:y|ies)|find|learn)\b(?!\s+that\b)"
    r"|^本(?:页|頁|文|文档|文檔|文件|章|节|節|手册|手冊|指南|说明|說明)(?:主要)?"
    r"(?:说明|說明|介绍|介紹|适用|適用|描述|列出|讲|講|汇总|总结|概述|旨在|面向)"
    r"|^(?:以下|下面)(?:介绍|介紹|列出|说明|說明)",
    re.IGNORECASE,
)
_CLAUSE_ALONE = re.compile(
    r"^(?:what|how|why|where|which|who)\s+(?P<rest>[^,;:.?!—–]+)\.$", re.IGNORECASE
)
# "What matters is trust": the clause is the subject of a sentence.
_MAIN_VERB = re.compile(
    r"\s(?:is|are|was|were|has|have|had|will|would|can|could|may|must|should|does|do|did|depends?|means?|matters?)\b",
    re.IGNORECASE,
)
_PAGE_NUMBER = re.compile(r"\bpage\b|\bp\.|[第页/|-]|\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of evidence at ``text[start:end]``, and how it is shown.

    ``setting`` are the terms of the heading or the words that it stands under, ``headed`` the same
    for the piece right below, which a heading is read together with. ``alone`` pieces have no
    running neighbour (rows, items). ``items`` are those of the list that the piece
    introduces; ``names`` is the line that says what a row's figures are. What ``announces`` only says
    what its page is about.
    """

    start: int
    end: int
    shown: str
    terms: frozenset[str]
    setting: frozenset[str] = frozenset()
    headed: frozenset[str] = frozenset()
    alone: bool = False
    is_heading: bool = False
    is_item: bool = False
    is_row: bool = False
    is_column_names: bool = False
    announces: bool = False
    items: tuple[Unit, ...] = ()
    names: Unit | None = None

    @property
    def can_answer(self) -> bool:
        """Headings and column names only say what something else is about."""
        return not self.is_column_names and (not self.is_heading or bool(self.items))


def units(evidence: Evidence) -> tuple[Unit, ...]:
    """The pieces of a passage in reading order."""
    return _units(evidence.text, evidence.context, evidence.title)


@lru_cache(maxsize=1_024)
def _units(text: str, context: str, title: str) -> tuple[Unit, ...]:
    found: list[Unit] = []
    last = context.rsplit("\n", 1)[-1]
    columns = _cells(last) if "|" in last else []
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
            found.append(replace(_row(start, end, cells, []), is_column_names=True))
        else:
            found.append(_row(start, end, cells, columns))
        in_table = True
    return _with_items(_with_settings(_with_figures(_with_headings(found, text, title), text)))


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
        if found and _is_broken_line(text, found[-1], start):
            start = found.pop()[0]
        for cut in _numbered_rows(text, start, end):
            found.append((start, cut))
            start = cut + 1
        for cut in _cuts(text, start, end):
            found.append((start, cut))
            start = cut + (text[cut] == " ")
        found.append((start, end))
    return found


def _cuts(text: str, start: int, end: int) -> list[int]:
    """Where a sentence too long for an answer is cut: behind a clause, else at a word."""
    cuts: list[int] = []
    while end - start > _LONGEST:
        low, high = start + _LONGEST // 3, start + _LONGEST
        clauses = [match.end() for match in _CLAUSE_ENDS.finditer(text, low, high)]
        word = text.rfind(" ", low, high)
        cut = clauses[-1] if clauses else (word if word > 0 else high)
        cuts.append(cut)
        start = cut + (text[cut] == " ")
    return cuts


def _numbered_rows(text: str, start: int, end: int) -> list[int]:
    """Line breaks between rows that are counted: "5 Brown RS-485" above "6 Green Alarm".

    Elsewhere a figure at the start of a line goes on with the sentence.
    """
    cuts = []
    for line in _NUMBERED.finditer(text, start, end):
        line_start = text.rfind("\n", 0, line.start()) + 1
        above = _LEADING_NUMBER.match(text, line_start)
        if above and int(above[1]) + 1 == int(line[1]):
            cuts.append(line.start())
    return cuts


def _is_broken_line(text: str, before: tuple[int, int], start: int) -> bool:
    """Whether a full line that ends without a mark goes on at ``start``, as in text of a PDF."""
    line_start = text.rfind("\n", 0, before[1]) + 1
    return (
        text[before[1] : start] == "\n"
        and text[start].islower()
        and before[1] - line_start >= _FULL_LINE
        and text[line_start] not in "#|"
        and not _ENDS.search(text[before[0] : before[1]])
    )


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _row(start: int, end: int, cells: list[str], columns: list[str]) -> Unit:
    named = columns if len(columns) == len(cells) else []
    parts = [
        f"{named[number]}: {cell}" if named and named[number] else cell
        for number, cell in enumerate(cells)
        if cell
    ]
    text = _clean("; ".join(parts))
    return Unit(start, end, text, features.term_set(text), alone=True, is_row=True)


def _sentence(text: str, start: int, end: int) -> Unit:
    raw = text[start:end]
    line_start = text.rfind("\n", 0, start) + 1
    item = bool(_ITEM.match(text[line_start:end])) and line_start == start
    shown = _clean(_MARK.sub("", raw)) or raw
    return Unit(
        start,
        end,
        shown,
        features.term_set(raw),
        alone=item,
        is_heading=raw.startswith("#"),
        is_item=item,
        announces=_announces(shown),
    )


def _announces(shown: str) -> bool:
    """Whether a sentence only says what will be said; one with a figure in it says something."""
    if re.search(r"\d", shown):
        return False
    if _ANNOUNCES.search(shown):
        return True
    clause = _CLAUSE_ALONE.match(shown)
    return clause is not None and not _MAIN_VERB.search(clause["rest"])


def _clean(text: str) -> str:
    """``text`` on one line, without emphasis, its own bracketed references made round."""
    plain = _EMPHASIS.sub(r"\2", text)
    joined = re.sub(r"\s*\n\s*", "" if language.has_cjk(plain) else " ", plain).strip()
    # A reference of the document's own: in an answer "[12]" would point at our evidence.
    return MARKER.sub(r"(\g<numbers>)", joined)


def _with_headings(found: list[Unit], text: str, title: str) -> list[Unit]:
    """Marks the lines that name what follows them: headings, titles, running heads, questions."""
    bare = [_is_bare_line(unit, text) for unit in found]
    made = []
    for number, unit in enumerate(found):
        follows = number + 1 < len(found)
        # Bare lines in a row are a slide or an address, and each of them says something.
        names_next = bare[number] and follows and not bare[number + 1]
        names_next = names_next and not (number and _counts_on(found[number - 1], unit))
        asks = follows and _own_line(unit, text) and bool(_ASKS.search(unit.shown))
        heading = unit.is_heading or names_next or asks or _is_running_head(unit, title)
        alone = unit.alone or _is_line(unit, text)
        made.append(replace(unit, is_heading=heading and not unit.is_row, alone=alone))
    return made


def _counts_on(above: Unit, unit: Unit) -> bool:
    """Whether two pieces are rows 5 and 6 of one thing."""
    numbers = [_LEADING_NUMBER.match(one.shown) for one in (above, unit)]
    return bool(numbers[0] and numbers[1] and int(numbers[0][1]) + 1 == int(numbers[1][1]))


def _is_bare_line(unit: Unit, text: str) -> bool:
    """Whether a piece is a short line that only names something, without a value in it."""
    raw = text[unit.start : unit.end]
    return (
        len(raw) <= _LONGEST_HEADING
        and not unit.alone
        and _is_line(unit, text)
        and not _NAMED_VALUE.search(raw)
        and not _FIGURES.match(raw)
        and "\n" in text[unit.end : unit.end + 2]
    )


def _is_line(unit: Unit, text: str) -> bool:
    """Whether a piece is a line of its own without a mark at its end: a slide, an address."""
    following = text[unit.end :].lstrip(" ")
    return (
        _own_line(unit, text)
        and not _ENDS.search(text[unit.start : unit.end])
        and (not following or following.startswith("\n"))
    )


def _own_line(unit: Unit, text: str) -> bool:
    return not text[text.rfind("\n", 0, unit.start) + 1 : unit.start].strip()


def _is_running_head(unit: Unit, title: str) -> bool:
    """Whether a line has nothing but the words of the title and perhaps the number of a page."""
    shown = language.fold(unit.shown)
    named = language.fold(title)
    if not named or named not in shown or unit.shown.endswith((".", "。")):
        return False
    return not re.search(r"[^\W\d_]", _PAGE_NUMBER.sub(" ", shown.replace(named, " ")))


def _with_figures(found: list[Unit], text: str) -> list[Unit]:
    """Gives rows of figures the line above them that says what the columns are."""
    made: list[Unit] = []
    names: Unit | None = None
    width = 0
    for unit in found:
        match = None if unit.is_row or unit.is_item else _FIGURES.match(text[unit.start : unit.end])
        if match is None:
            names, width = None, 0
        elif names is None or len(match["figures"].split()) != width:
            names, width = unit, len(match["figures"].split())
            unit = replace(unit, alone=True)
        else:
            unit = replace(unit, alone=True, is_row=True, names=names)
        made.append(unit)
    heads = {unit.names.start for unit in made if unit.names}
    return [replace(unit, is_column_names=True) if unit.start in heads else unit for unit in made]


def _with_settings(found: Sequence[Unit]) -> list[Unit]:
    """Gives each piece the terms of the heading above it, and a list item those of its lead-in."""
    made: list[Unit] = []
    heading: frozenset[str] = frozenset()
    introduction: frozenset[str] = frozenset()
    for unit in found:
        if unit.is_heading:
            # A title and the heading right below it are both what follows is about.
            after_heading = bool(made) and made[-1].is_heading
            heading = heading | unit.terms if after_heading else unit.terms
        if not unit.is_item:
            introduction = unit.terms if unit.shown.endswith((":", "：")) else frozenset()
        setting = heading | introduction if unit.is_item else heading
        headed = heading if made and made[-1].is_heading else frozenset[str]()
        made.append(unit if unit.is_heading else replace(unit, setting=setting, headed=headed))
    return made


def _with_items(found: Sequence[Unit]) -> tuple[Unit, ...]:
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
