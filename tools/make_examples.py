# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "openpyxl==3.1.5",
#     "python-docx==1.2.0",
#     "python-pptx==1.0.2",
#     "reportlab==5.1.0",
# ]
# ///
"""Write the DOCX, PDF, XLSX and PPTX files of the sample collection.

The other files of ``examples/documents`` are plain text and kept as they are. Run
``uv run tools/make_examples.py [FOLDER]``; the bytes are the same on every run with the same
versions of the libraries above, so that a new run without a change leaves no difference in git.
"""

# mypy: disable-error-code="import-not-found,import-untyped"

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

from make_examples_text import (
    AFTER_SALES,
    ANNUAL_REPORT,
    DIPPER_INSTALLATION,
    PRICE_LIST,
    ROADSHOW,
    VISITORS,
)

AUTHOR = "Larkmoor Instruments"
WRITTEN = datetime(2026, 3, 2, 9, 0, 0)
PAGE_WIDTH = 439.0  # points of an A4 page between the margins and the padding of the text frame
RULE = re.compile(r"[|\s-]+$")
CJK_END = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]$")


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a text: ``lines`` has one entry, except for a list (items) and a table (rows)."""

    kind: Literal["title", "heading", "paragraph", "list", "table", "page_break"]
    lines: tuple[str, ...] = ()

    def rows(self) -> list[list[str]]:
        """The cells of a table, without the line that rules off the column names."""
        lines = (line.strip("|").split("|") for line in self.lines if not RULE.match(line))
        return [[cell.strip() for cell in line] for line in lines]


def blocks(text: str) -> Iterator[Block]:
    """The blocks of ``text``, which are set apart by blank lines.

    ``# `` starts the title, ``## `` a heading, ``- `` an item of a list, ``| `` a row of a table,
    the first of which names the columns; ``---`` stands between pages.
    """
    for raw in text.strip().split("\n\n"):
        lines = tuple(raw.strip().splitlines())
        first = lines[0]
        if first == "---":
            yield Block("page_break")
        elif first.startswith("# "):
            yield Block("title", (first.removeprefix("# "),))
        elif first.startswith("## "):
            yield Block("heading", (first.removeprefix("## "),))
        elif first.startswith("- "):
            items = "\n".join(lines).removeprefix("- ").split("\n- ")
            yield Block("list", tuple(_joined(item.splitlines()) for item in items))
        elif first.startswith("|"):
            yield Block("table", lines)
        else:
            yield Block("paragraph", (_joined(lines),))


def _joined(lines: Sequence[str]) -> str:
    """Wrapped lines as one; Chinese has no blank where a line was wrapped."""
    joined = lines[0].strip()
    for line in lines[1:]:
        joined += ("" if CJK_END.search(joined) else " ") + line.strip()
    return joined


# ------------------------------------------------------------------------------------------- DOCX


def write_docx(path: Path, text: str) -> None:
    from docx import Document

    document = Document()
    normal = document.styles["Normal"].font
    normal.name = "Calibri"
    for block in blocks(text):
        match block.kind:
            case "title":
                document.add_heading(block.lines[0], level=1)
                document.core_properties.title = block.lines[0]
            case "heading":
                document.add_heading(block.lines[0], level=2)
            case "paragraph":
                document.add_paragraph(block.lines[0])
            case "list":
                for item in block.lines:
                    document.add_paragraph(item, style="List Bullet")
            case "table":
                _add_docx_table(document, block.rows())
            case "page_break":
                document.add_page_break()
    properties = document.core_properties
    properties.author = properties.last_modified_by = AUTHOR
    properties.comments = ""  # the template names the library here
    properties.created = properties.modified = WRITTEN
    content = BytesIO()
    document.save(content)
    path.write_bytes(_settled(content.getvalue()))


def _add_docx_table(document: Any, rows: Sequence[Sequence[str]]) -> None:
    table = document.add_table(rows=0, cols=len(rows[0]), style="Light Grid Accent 1")
    for row in rows:
        for cell, value in zip(table.add_row().cells, row, strict=True):
            cell.text = value
    document.add_paragraph()


# -------------------------------------------------------------------------------------------- PDF


def write_pdf(path: Path, text: str, *, column_widths: Sequence[Sequence[float]]) -> None:
    """``text`` as a PDF of A4 pages; ``column_widths`` has the shares of each table's columns."""
    from reportlab.lib.pagesizes import A4
    from reportlab.platypus import SimpleDocTemplate

    parts = list(blocks(text))
    title = parts[0].lines[0]

    def footer(canvas: Any, template: Any) -> None:
        canvas.saveState()
        canvas.setFont("Helvetica", 8)
        canvas.setFillGray(0.4)
        canvas.drawString(72, 40, title)
        canvas.drawRightString(A4[0] - 72, 40, f"Page {template.page}")
        canvas.restoreState()

    template = SimpleDocTemplate(
        str(path),
        pagesize=A4,
        leftMargin=72,
        rightMargin=72,
        topMargin=64,
        bottomMargin=72,
        title=title,
        author=AUTHOR,
        invariant=1,  # no time of day and no random identifier in the file
    )
    template.build(_flowables(parts, column_widths), onFirstPage=footer, onLaterPages=footer)


def _flowables(parts: Sequence[Block], column_widths: Sequence[Sequence[float]]) -> list[Any]:
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.platypus import ListFlowable, ListItem, PageBreak, Paragraph, Spacer

    body = ParagraphStyle("body", fontName="Helvetica", fontSize=10.5, leading=15, spaceAfter=8)
    styles = {
        "title": ParagraphStyle(
            "title", fontName="Helvetica-Bold", fontSize=20, leading=26, spaceAfter=14
        ),
        "heading": ParagraphStyle(
            "heading",
            fontName="Helvetica-Bold",
            fontSize=13,
            leading=18,
            spaceBefore=10,
            spaceAfter=6,
            keepWithNext=1,
        ),
        "paragraph": body,
    }
    widths = iter(column_widths)
    flowables: list[Any] = []
    for block in parts:
        if block.kind == "page_break":
            flowables.append(PageBreak())
        elif block.kind == "table":
            flowables += [Spacer(1, 4), _pdf_table(block.rows(), next(widths)), Spacer(1, 12)]
        elif block.kind == "list":
            items = [ListItem(Paragraph(item, body)) for item in block.lines]
            flowables.append(
                ListFlowable(
                    items, bulletType="bullet", start="\u2022", bulletFontSize=9, leftIndent=14
                )
            )
        else:
            flowables.append(Paragraph(block.lines[0], styles[block.kind]))
    return flowables


def _pdf_table(rows: Sequence[Sequence[str]], shares: Sequence[float]) -> Any:
    from reportlab.lib import colors
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.platypus import Paragraph, Table, TableStyle

    cell = ParagraphStyle("cell", fontName="Helvetica", fontSize=9.5, leading=12.5)
    head = ParagraphStyle("head", parent=cell, fontName="Helvetica-Bold")
    content = [
        [Paragraph(value, cell if number else head) for value in row]
        for number, row in enumerate(rows)
    ]
    table = Table(
        content, colWidths=[PAGE_WIDTH * share / sum(shares) for share in shares], repeatRows=1
    )
    table.setStyle(
        TableStyle(
            [
                # Ruled on all sides: readers find borderless tables badly or not at all.
                ("GRID", (0, 0), (-1, -1), 0.6, colors.HexColor("#8a9aa5")),
                ("BACKGROUND", (0, 0), (-1, 0), colors.HexColor("#e3ebf0")),
                ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
                ("TOPPADDING", (0, 0), (-1, -1), 4),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 4),
            ]
        )
    )
    return table


# ----------------------------------------------------------------------------------- XLSX and PPTX


def write_xlsx(path: Path, sheets: dict[str, list[tuple[str | int, ...]]]) -> None:
    from openpyxl import Workbook
    from openpyxl.styles import Font, PatternFill
    from openpyxl.utils import get_column_letter

    workbook = Workbook()
    workbook.remove(workbook.active)
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(row)
        for cell in sheet[1]:
            cell.font = Font(bold=True)
            cell.fill = PatternFill("solid", fgColor="E3EBF0")
        sheet.freeze_panes = "A2"
        for number, column in enumerate(zip(*rows, strict=True), start=1):
            longest = max(len(str(value)) for value in column)
            sheet.column_dimensions[get_column_letter(number)].width = min(longest + 2, 70)
    workbook.properties.creator = AUTHOR
    workbook.properties.title = "Larkmoor price list 2026"
    workbook.properties.created = WRITTEN
    content = BytesIO()
    workbook.save(content)
    path.write_bytes(_settled(content.getvalue()))


def write_pptx(path: Path, slides: Sequence[tuple[str, tuple[str, ...]]]) -> None:
    """The first slide has a title and a subtitle, the others a title and points."""
    from pptx import Presentation

    presentation = Presentation()
    for number, (title, points) in enumerate(slides):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1 if number else 0])
        slide.shapes.title.text = title
        frame = slide.placeholders[1].text_frame
        frame.text = points[0]
        for point in points[1:]:
            frame.add_paragraph().text = point
    properties = presentation.core_properties
    properties.title = slides[0][0]
    properties.author = properties.last_modified_by = AUTHOR
    properties.created = properties.modified = WRITTEN
    content = BytesIO()
    presentation.save(content)
    path.write_bytes(_settled(content.getvalue()))


def _settled(archive: bytes) -> bytes:
    """The zip archive ``archive`` with the times of its entries and of saving set to WRITTEN."""
    settled = BytesIO()
    stamp = WRITTEN.strftime("%Y-%m-%dT%H:%M:%SZ").encode()
    with zipfile.ZipFile(BytesIO(archive)) as old, zipfile.ZipFile(settled, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "docProps/core.xml":  # openpyxl writes the time of saving, whatever is set
                content = re.sub(
                    rb"(<dcterms:modified[^>]*>)[^<]*", lambda found: found[1] + stamp, content
                )
            entry = zipfile.ZipInfo(name, date_time=WRITTEN.timetuple()[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            new.writestr(entry, content)
    return settled.getvalue()


def make_examples(folder: Path) -> list[Path]:
    """Write every generated file below ``folder``; returns their paths in order."""
    paths = {
        name: folder / name
        for name in (
            "finance/annual-report-2025.pdf",
            "finance/price-list.xlsx",
            "handbook/visitors.docx",
            "products/dipper/installation.pdf",
            "sales/roadshow-2026.pptx",
            "zh/after-sales.docx",
        )
    }
    for path in paths.values():
        path.parent.mkdir(parents=True, exist_ok=True)
    write_pdf(
        paths["finance/annual-report-2025.pdf"],
        ANNUAL_REPORT,
        column_widths=[(4, 2, 2, 2), (5, 2, 2, 2), (5, 2, 2)],
    )
    write_pdf(
        paths["products/dipper/installation.pdf"],
        DIPPER_INSTALLATION,
        column_widths=[(3, 1, 5), (2, 2, 3, 5), (4, 3, 6), (3, 6)],
    )
    write_xlsx(paths["finance/price-list.xlsx"], PRICE_LIST)
    write_docx(paths["handbook/visitors.docx"], VISITORS)
    write_docx(paths["zh/after-sales.docx"], AFTER_SALES)
    write_pptx(paths["sales/roadshow-2026.pptx"], ROADSHOW)
    return list(paths.values())


if __name__ == "__main__":
    target = Path(__file__).parent.parent / "examples" / "documents"
    for written in make_examples(Path(sys.argv[1]) if len(sys.argv) > 1 else target):
        print(f"{written} ({written.stat().st_size:,} bytes)")
