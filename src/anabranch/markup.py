"""Markdown, HTML and XML -> blocks: headings, table rows and lines without the markup; pure."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from html.parser import HTMLParser
from typing import Any

from anabranch.decoding import normalise
from anabranch.layout import Block, row_blocks

# ------------------------------------------------------------------------------------- Markdown

_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_ATX_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_SETEXT_LINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_TABLE_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:[ \t]*(.+)$", re.MULTILINE | re.IGNORECASE)


def front_matter_title(text: str) -> str:
    """The title that a Markdown file's front matter gives, or ""."""
    front = _FRONT_MATTER.match(text)
    found = _FRONT_TITLE.search(front[1]) if front else None
    return found[1].strip().strip("\"'") if found else ""


def markdown_blocks(text: str) -> list[Block]:
    """A Markdown file, its text kept as written, with headings and tables found in it."""
    text = normalise(text)
    lines = text.split("\n")
    front = _FRONT_MATTER.match(text)
    skip = front[0].rstrip("\n").count("\n") + 1 if front else 0
    blocks = [Block("line", line) if line else Block("blank") for line in lines[:skip]]
    return blocks + _markdown_lines(lines[skip:], converted=False)


def converted_blocks(text: str) -> list[Block]:
    """Markdown that a parser made from a document that is none: its marks are taken out again."""
    return _markdown_lines(normalise(text).split("\n"), converted=True)


def _markdown_lines(lines: list[str], *, converted: bool) -> list[Block]:
    blocks: list[Block] = []
    fence = ""
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if opening := _FENCE.match(line):
            if not fence:
                fence = opening[1]
            elif opening[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            if not converted:
                blocks.append(Block("line", line))
        elif fence:
            blocks.append(Block("line", line) if line else Block("blank"))
        elif _starts_table(line, lines[at] if at < len(lines) else ""):
            end = at + 1
            while end < len(lines) and "|" in lines[end] and lines[end].strip():
                end += 1
            blocks.extend(_table_blocks([line, *lines[at:end]], converted=converted))
            at = end
        elif heading := _heading_block(line, blocks, converted=converted):
            blocks.append(heading)
        else:
            kept = plain_line(line) if converted else line
            blocks.append(Block("line", kept) if kept.strip() else Block("blank"))
    return blocks


def _starts_table(line: str, following: str) -> bool:
    return "|" in line and "|" in following and _TABLE_RULE.match(following) is not None


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [plain_line(cell).strip() for cell in _CELL_BORDER.split(inner)]


def _table_blocks(lines: list[str], *, converted: bool) -> list[Block]:
    rows = [_cells(line) for line in (lines[0], *lines[2:])]
    if converted:
        return row_blocks(rows)
    label = row_blocks(rows[:1])
    header = label[0].label if label else ""
    return [
        Block("row", line, header if number == 0 else "", start=number == 0)
        for number, line in enumerate(lines)
    ]


def _heading_block(line: str, blocks: list[Block], *, converted: bool) -> Block | None:
    """An ATX heading, or a setext one: then its text, the block before, is taken back."""
    atx = _ATX_HEADING.match(line)
    if atx:
        label = plain_line(atx[2] or "").strip()
        return Block("heading", label if converted else line, label, len(atx[1])) if label else None
    before = blocks[-1] if blocks else None
    setext = _SETEXT_LINE.match(line)
    if converted or not setext or before is None or before.kind != "line":
        return None
    # Two short lines make a heading; an underlined paragraph or list item is a rule.
    is_title = len(before.text) < 100 and (len(blocks) < 2 or blocks[-2].kind != "line")
    if not is_title or re.match(r"\s*([-*+>|]|\d+[.)])\s", before.text):
        return None
    label = plain_line(before.text).strip()
    if not label or len(setext[1]) < 2:
        return None
    blocks[-1] = Block("heading", before.text, label, 1 if setext[1][0] == "=" else 2)
    return Block("line", line)


_IMAGE = re.compile(
    r"!\[((?:[^\[\]\\]|\\.)*)\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)"
)
_LINK = re.compile(r"\[((?:[^\[\]\\]|\\.)*)\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)")
_STRONG = re.compile(r"(\*\*|__)(?=\S)([^*_\n]+?)(?<=\S)\1")
_EMPHASIS = re.compile(r"(?<![\w*\\])([*_])(?=\S)([^*_\n]+?)(?<=[^\s\\])\1(?![\w*])")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def plain_line(line: str) -> str:
    """A line of Markdown as a reader sees it: link and picture labels, no marks, no escapes."""
    if not line.isascii() or any(mark in line for mark in "\\*_[`&!"):
        line = _LINK.sub(r"\1", _IMAGE.sub(r"\1", line))
        line = _EMPHASIS.sub(r"\2", _STRONG.sub(r"\2", line))
        line = _ESCAPE.sub(r"\1", _CODE.sub(r"\1", line))
        line = normalise(html.unescape(line)).replace("\n", " ")
    return line


# ----------------------------------------------------------------------------------------- HTML

_SKIPPED = frozenset(["script", "style", "template", "noscript", "nav", "svg", "iframe", "select"])
_BREAKING = frozenset(
    [
        "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog",
        "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hr",
        "li", "main", "ol", "p", "pre", "section", "summary", "table", "td", "th", "tr", "ul",
    ]
)  # fmt: skip
_PARAGRAPHS = frozenset(["p", "ul", "ol", "dl", "table", "blockquote", "pre", "section", "article"])
_HEADINGS = {f"h{depth}": depth for depth in range(1, 7)}


# Elements without an end tag: one that is hidden hides nothing after it.
_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"]
)
_IMPLICITLY_ENDED = frozenset(["dd", "dt", "li", "option", "p", "td", "th", "tr"])
_HIDING_STYLE = re.compile(
    r"(?:\A|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE
)


def _is_hidden(attributes: list[tuple[str, str | None]]) -> bool:
    """Whether a page hides an element from its readers: what nobody sees is no evidence, and a
    place to plant some."""
    given = dict(attributes)
    return "hidden" in given or _HIDING_STYLE.search(given.get("style") or "") is not None


class _Table:
    """One open table; ``layout`` says that it only arranges other tables or a single column."""

    def __init__(self) -> None:
        self.rows: list[list[str]] = []
        self.layout = False


class _HtmlBlocks(HTMLParser):
    """Collects the visible text of a page as blocks, and its title."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self.title = ""
        self._text: list[str] = []
        self._skipped: list[str] = []
        self._heading = 0
        self._pre = 0
        self._in_title = False
        self._tables: list[_Table] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _IMPLICITLY_ENDED and self._skipped[-1:] == [tag]:
            self._skipped.pop()  # "<li hidden>one<li>two": the second ends the first
        skipped = tag in _SKIPPED or (tag not in _VOID and _is_hidden(attrs))
        # Inside what is skipped its own tag may stand again: only the last end tag ends it.
        if skipped or tag in self._skipped:
            self._skipped.append(tag)
        if self._skipped:
            return
        if tag == "title" and not self.title:
            self._in_title = True
        elif tag == "br":
            self._text.append("\n")
        elif tag in _HEADINGS:
            self._flush()
            self._heading = _HEADINGS[tag]
        elif tag in _BREAKING:
            self._open_block(tag)

    def _open_block(self, tag: str) -> None:
        if tag == "table":
            if self._tables:
                self._tables[-1].layout = True
            self._flush_row()
            self._flush()
            self._tables.append(_Table())
        elif tag == "tr" and self._tables:
            self._close_cell()
            self._tables[-1].rows.append([])
        elif tag in ("td", "th") and self._tables:
            self._close_cell()
        elif self._in_cell():
            self._text.append(" ")
        else:
            self._flush()
        self._pre += tag == "pre"
        if tag in _PARAGRAPHS and not self._in_cell():
            self._blank()
        if tag == "li" and not self._in_cell():
            self._text.append("- ")

    def handle_endtag(self, tag: str) -> None:
        if self._skipped:
            if tag in self._skipped:  # A skipped element that is never closed ends with its parent.
                while self._skipped and self._skipped.pop() != tag:
                    pass
                return
            if self._skipped[0] not in _IMPLICITLY_ENDED:
                return
            self._skipped.clear()  # "<ul><li hidden>one</ul>": the parent's end tag ends it
        if tag == "title":
            self._in_title = False
        elif tag in _HEADINGS:
            self._flush()
            self._heading = 0
        elif tag == "table":
            self._close_table()
        elif tag in ("td", "th", "tr"):
            self._close_cell()
        elif tag in _BREAKING and not self._in_cell():
            self._flush()
            if tag in _PARAGRAPHS:
                self._blank()
        if tag == "pre" and self._pre:
            self._pre -= 1

    def handle_data(self, data: str) -> None:
        if self._skipped:
            return
        if self._in_title:
            self.title += data
        else:
            self._text.append(data if self._pre else re.sub(r"\s+", " ", data))

    def close(self) -> None:
        super().close()
        while self._tables:
            self._close_table()
        self._flush()

    def _blank(self) -> None:
        if self.blocks and self.blocks[-1].kind != "blank":
            self.blocks.append(Block("blank"))

    def _in_cell(self) -> bool:
        return bool(self._tables) and bool(self._tables[-1].rows) and not self._heading

    def _take_text(self) -> str:
        text, self._text = normalise("".join(self._text)), []
        return text

    def _flush(self) -> None:
        text = self._take_text()
        if self._heading:
            label = " ".join(text.split())
            if label:
                self._blank()
                self.blocks.append(Block("heading", label, label, self._heading))
                self._blank()
            return
        for line in text.split("\n"):
            kept = line.rstrip() if self._pre else " ".join(line.split())
            if kept and kept != "-":
                self.blocks.append(Block("line", kept))

    def _close_cell(self) -> None:
        """A cell ends with its closing tag or where the next one begins: both come here."""
        if not self._in_cell():
            self._flush()
            return
        text = " ".join(self._take_text().split())
        if text:
            self._tables[-1].rows[-1].append(text)

    def _flush_row(self) -> None:
        """What an arranging table holds so far, as lines: an inner table is about to begin."""
        if self._in_cell():
            self._close_cell()
            table = self._tables[-1]
            for row in table.rows:
                self.blocks.extend(Block("line", cell) for cell in row)
            table.rows = []

    def _close_table(self) -> None:
        if not self._tables:
            return
        self._close_cell()
        table = self._tables.pop()
        if table.layout or max(map(len, table.rows), default=0) < 2:
            self.blocks.extend(Block("line", cell) for row in table.rows for cell in row)
        else:
            self.blocks.extend(row_blocks(table.rows))
        self._blank()


def html_blocks(text: str) -> tuple[str, list[Block]]:
    """The title and the visible text of an HTML page; navigation and scripts are left out."""
    parser = _HtmlBlocks()
    parser.feed(text)
    parser.close()
    return " ".join(normalise(parser.title).split()), parser.blocks


# ------------------------------------------------------------------------------------------ XML


def xml_blocks(text: str) -> list[Block]:
    """The text of an XML file: "tag: text" for fields of a record, lines for running text."""
    from xml.etree import ElementTree

    # The declaration names the encoding of the bytes; a str with one is refused by some versions.
    body = re.sub(r"\A\s*<\?xml[^>]*\?>", "", text)
    try:
        # Runs in the worker with capped memory; expat itself stops entity bombs and loads nothing.
        root = ElementTree.fromstring(body)  # noqa: S314
    except (ElementTree.ParseError, ValueError):
        bare = re.sub(r"<!\[CDATA\[|\]\]>|<!--.*?-->|<[^>]*>", "\n", body, flags=re.DOTALL)
        return _lines(html.unescape(bare))
    return _lines("\n".join(_xml_lines(root)))


def _xml_lines(root: Any) -> Iterable[str]:
    """Iterative, since nesting is the file's choice and not ours."""
    stack = [root]
    while stack:
        element = stack.pop()
        if not isinstance(element.tag, str):  # a comment or a processing instruction
            continue
        children = list(element)
        own = (element.text or "").strip() or any((child.tail or "").strip() for child in children)
        tag = element.tag.rpartition("}")[2]
        if not children and own:
            content = " ".join((element.text or "").split())
            yield f"{tag}: {content}" if len(content) <= 120 else content
        elif own:
            yield " ".join(" ".join(element.itertext()).split())
        else:
            if children:
                yield ""
            stack.extend(reversed(children))


def _lines(text: str) -> list[Block]:
    lines = (line.strip() for line in normalise(text).split("\n"))
    return [Block("line", line) if line else Block("blank") for line in lines]
