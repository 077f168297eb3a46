"""Text straight from the XML of Office files: charts, and the rescue when the parser gives up."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# A part of more than this is not text that a person wrote; it guards against archive bombs.
_PART_LIMIT = 64_000_000


def _part(archive: zipfile.ZipFile, name: str) -> Any:
    """The root element of a part; None where it is missing, too large or no XML."""
    try:
        if archive.getinfo(name).file_size > _PART_LIMIT:
            return None
        # Runs in the worker with capped memory; expat itself stops entity bombs and loads nothing.
        return ElementTree.fromstring(archive.read(name))  # noqa: S314
    except (KeyError, ElementTree.ParseError, zipfile.BadZipFile, OSError, EOFError):
        return None


def _related(archive: zipfile.ZipFile, name: str, kind: str) -> list[str]:
    """Parts that ``name`` points at with a relationship of this ``kind``, in order of their id."""
    folder, file = posixpath.split(name)
    root = _part(archive, f"{folder}/_rels/{file}.rels")
    found = [] if root is None else [
        (relation.get("Id", ""), relation.get("Target", ""))
        for relation in root
        if relation.get("Type", "").endswith(f"/{kind}") and relation.get("TargetMode") != "External"
    ]  # fmt: skip
    found.sort(key=lambda item: (len(item[0]), item[0]))  # rId10 after rId9
    return [posixpath.normpath(posixpath.join(folder, target)).lstrip("/") for _, target in found]


def slide_names(archive: zipfile.ZipFile) -> list[str]:
    """Slides in the order in which they are shown; by number where the order is not readable."""
    root = _part(archive, "ppt/presentation.xml")
    relations = _part(archive, "ppt/_rels/presentation.xml.rels")
    if root is not None and relations is not None:
        targets = {relation.get("Id"): relation.get("Target", "") for relation in relations}
        ids = [
            next((value for key, value in item.attrib.items() if key.endswith("}id")), "")
            for item in root.iter()
            if item.tag.endswith("}sldId")
        ]
        names = [posixpath.normpath(posixpath.join("ppt", targets.get(id, ""))) for id in ids]
        known = set(archive.namelist())
        if names and all(name in known for name in names):
            return names
    return _numbered_slides(archive)


def _numbered_slides(archive: zipfile.ZipFile) -> list[str]:
    slides = (re.fullmatch(r"ppt/slides/slide(\d+)\.xml", name) for name in archive.namelist())
    return [match[0] for match in sorted(filter(None, slides), key=lambda match: int(match[1]))]


def in_shown_order(data: bytes, slides: list[str]) -> list[str]:
    """Slides that a parser gave by the number of their file, in the order in which they are shown.

    The number only says when a slide was made: moving it leaves the file where it was.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        numbered, shown = _numbered_slides(archive), slide_names(archive)
    if len(numbered) != len(slides):
        return slides
    by_name = dict(zip(numbered, slides, strict=True))
    return [by_name.get(name, "") for name in shown]


def slide_charts(data: bytes) -> list[str]:
    """For each slide the text of its charts, "" where it has none."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [_charts_of(archive, name) for name in slide_names(archive)]


def document_charts(data: bytes) -> str:
    """The text of the charts of a Word document."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return _charts_of(archive, "word/document.xml")


def _charts_of(archive: zipfile.ZipFile, name: str) -> str:
    charts = (_part(archive, part) for part in _related(archive, name, "chart"))
    return "\n\n".join(_chart_text(chart) for chart in charts if chart is not None)


def _chart_text(chart: Any) -> str:
    """Title, then a Markdown table: a column for each series, a row for each category."""
    title = " ".join(
        run.text or "" for node in chart.iter(f"{_CHART}title") for run in node.iter(f"{_DRAWING}t")
    )
    names: list[str] = []
    columns: list[dict[int, str]] = []
    categories: dict[int, str] = {}
    for series in chart.iter(f"{_CHART}ser"):
        name = _points(series, "tx")
        names.append(" ".join(name.values()) or f"Series {len(names) + 1}")
        categories.update(_points(series, "cat") or _points(series, "xVal"))
        columns.append(_points(series, "val") or _points(series, "yVal"))
    if not columns:
        return title
    rows = sorted(set(categories).union(*columns))
    table = [["", *names], ["---"] * (len(names) + 1)]
    table += [
        [categories.get(row, ""), *(column.get(row, "") for column in columns)] for row in rows
    ]
    lines = ["| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in table]
    return "\n".join([title, "", *lines]).strip()


def _points(series: Any, part: str) -> dict[int, str]:
    """The cached values of one part of a series by their index."""
    node = series.find(f"{_CHART}{part}")
    points = [] if node is None else list(node.iter(f"{_CHART}pt"))
    return {
        int(point.get("idx", "0")): (point.findtext(f"{_CHART}v") or "").strip() for point in points
    }


def rescued_slides(data: bytes) -> list[str]:
    """The paragraphs of each slide, for a presentation that the parser refuses."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [
            "\n\n".join(_paragraphs(_part(archive, name), _DRAWING))
            for name in slide_names(archive)
        ]


def rescued_document(data: bytes) -> str:
    """The paragraphs of a Word document that the parser refuses."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return "\n\n".join(_paragraphs(_part(archive, "word/document.xml"), _WORD))


def _paragraphs(root: Any, space: str) -> Iterator[str]:
    for paragraph in () if root is None else root.iter(f"{space}p"):
        text = "".join(
            run.text or "" if run.tag == f"{space}t" else " "
            for run in paragraph.iter()
            if run.tag in (f"{space}t", f"{space}br", f"{space}tab")
        )
        if text.strip():
            yield text.strip()
