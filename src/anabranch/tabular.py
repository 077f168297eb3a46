"""CSV, TSV and JSON -> blocks: one line a row or field, with the column names kept; pure."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from anabranch.decoding import normalise
from anabranch.layout import Block, row_blocks, row_text

_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 50
_NUMBER = re.compile(r"[-+(]?[\d.,  ]*\d[\d.,]*\)?\s*[%€$£¥]?$")


def table_blocks(text: str, *, delimiter: str | None = None) -> list[Block]:
    """The rows of a delimited file; lines before the header stay lines."""
    text = normalise(text)
    delimiter = delimiter or _delimiter(text)
    rows = [row for row in _rows(text, delimiter) if any(cell.strip() for cell in row)]
    if not rows:
        return []
    preamble = _preamble_length(rows)
    lines = [Block("line", row_text(row).strip("| ")) for row in rows[:preamble]]
    table = rows[preamble:]
    return lines + row_blocks(table, header=table[0] if _is_header(table) else ())


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(sys.maxsize)
    # A stray quote inside an unquoted field is text; strict parsing would refuse real exports.
    yield from csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True)


def _delimiter(text: str) -> str:
    """The delimiter that cuts the first rows into the most even number of cells above one."""
    sample = "\n".join(text.split("\n", _SAMPLE_ROWS)[:_SAMPLE_ROWS])

    def evenness(delimiter: str) -> tuple[float, int]:
        widths = Counter(len(row) for row in _rows(sample, delimiter) if row)
        wide = {width: count for width, count in widths.items() if width > 1}
        if not wide:
            return 0.0, 0
        width, count = max(wide.items(), key=lambda item: (item[1], item[0]))
        return count / widths.total(), width

    return max(_DELIMITERS, key=lambda delimiter: evenness(delimiter))


def _preamble_length(rows: list[list[str]]) -> int:
    """Rows before the header: titles that fill one cell of a table of three or more columns."""
    usual = Counter(len(row) for row in rows[:_SAMPLE_ROWS]).most_common(1)[0][0]
    if usual < 3:
        return 0
    for number, row in enumerate(rows[:10]):
        if sum(bool(cell.strip()) for cell in row) >= 2:
            return number
    return 0


def _is_header(rows: list[list[str]]) -> bool:
    """Column names are words: a first row with a number in it is data."""
    names = [cell.strip() for cell in rows[0] if cell.strip()]
    return len(rows) > 1 and not any(_NUMBER.match(name) for name in names)


def json_blocks(text: str, *, lines: bool = False) -> list[Block] | None:
    """Fields as "path: value" lines, a blank line between records; None where it is not JSON.

    ``lines`` reads one value a line, and keeps a line that is not JSON as it is.
    """
    blocks: list[Block] = []
    if not lines:
        record, is_json = _parsed(text)
        return record if is_json else None
    for line in normalise(text).split("\n"):
        record, is_json = _parsed(line)
        blocks.extend(record if is_json else [Block("line", line)])
    return blocks


def _parsed(text: str) -> tuple[list[Block], bool]:
    try:
        # Numbers stay as written: 1.10 is a price, not 1.1.
        value = json.loads(text, parse_float=str, parse_int=str)
        return _record_blocks(value), True
    except (ValueError, RecursionError):
        return [], False


def _record_blocks(value: Any) -> list[Block]:
    blocks: list[Block] = []
    items = value if isinstance(value, list) else [value]
    for item in items:
        for path, leaf in _leaves(item):
            text = normalise(f"{path}: {leaf}" if path else leaf).strip()
            blocks.extend(
                Block("line", line) if line else Block("blank") for line in text.split("\n")
            )
        if isinstance(item, dict):
            blocks.append(Block("blank"))
    return blocks


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        if all(isinstance(inner, str) for inner in value):
            yield path, ", ".join(value)
        else:
            for inner in value:
                yield from _leaves(inner, path)
    elif value is not None and value != "":
        yield path, str(value).lower() if isinstance(value, bool) else str(value)
