"""Files of every kind become documents with places; what cannot be read says why."""

import asyncio
import io
import json
import os
import re
import unicodedata
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from anabranch.decoding import decode, normalise
from anabranch.errors import ReadingError, SourceNotFoundError
from anabranch.reading import Reader, supported, walk
from anabranch.types import Document
from pdf_files import pdf


@pytest.fixture
async def reader() -> AsyncIterator[Reader]:
    reader = Reader(max_file_mb=5, timeout=60)
    yield reader
    await reader.close()


def archive(parts: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, text in parts.items():
            file.writestr(name, text)
    return buffer.getvalue()


def docx(body: str) -> bytes:
    namespace = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    package = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    return archive(
        {
            "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
            '<Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Default Extension="xml" ContentType="application/xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{kind}"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" '
            f'Type="{office}/officeDocument" Target="word/document.xml"/></Relationships>',
            "word/document.xml": f'<w:document xmlns:w="{namespace}"><w:body>{body}</w:body>'
            "</w:document>",
        }
    )


def paragraph(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


def headings(document: Document) -> list[tuple[int, str]]:
    return [(heading.depth, heading.text) for heading in document.headings]


# ------------------------------------------------------------------------------------------ text


def test_text_is_freed_from_everything_that_cannot_be_seen() -> None:
    dirty = "e\u0301a\u200b\u202e\u00ad\ufeffb\u00a0c\x00\x07\ud800\r\nd\U000e0041"
    assert normalise(dirty) == "éab c\nd"


def test_a_word_broken_by_a_pdf_hyphen_mark_is_whole_again() -> None:
    assert normalise("perma\x02\r\nnent staff") == "permanent staff"
    assert normalise("self\x02service, COVID\x0219") == "self-service, COVID-19"


def test_runs_of_blank_lines_shrink_to_two() -> None:
    assert normalise("a\n\n\n\n \n\nb") == "a\n\n\nb"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8-sig", "Grüße"),
        ("utf-16", "Leave policy 年假"),
        ("utf-16-le", "Leave policy without a mark"),
        ("utf-16-be", "Leave policy without a mark"),
        ("utf-32", "Hamburgers"),
        ("utf-32-be", "Hamburgers without a mark"),
        ("cp1252", "“Größe” — it’s 30 € per café"),
        ("cp1252", "äöüß"),
        ("gb18030", "员工每年享有三十天带薪年假。"),
        ("big5", "員工每年享有三十天帶薪年假。請參閱第四節的規定。"),
        ("cp932", "名前,年齢\n佐藤太郎,30"),
        ("cp949", "직원은 매년 삼십 일의 연차를 사용할 수 있습니다."),
        ("cp1251", "Сотрудники имеют право на тридцать дней отпуска."),
    ],
)
def test_the_encoding_of_a_text_is_found(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding)) == text


def test_bytes_that_are_no_text_are_not_decoded() -> None:
    assert decode(bytes(range(256)) * 8) is None


async def test_plain_text_starts_no_worker(reader: Reader) -> None:
    await reader.read_bytes(b"Thirty days of leave.", source="leave.txt")
    await reader.read_bytes(b"# Leave\n\nThirty days.", source="leave.md")
    await reader.read_bytes(b"city,days\nBerlin,30\n", source="leave.csv")
    assert reader.workers_started == 0


async def test_markdown_keeps_its_text_and_knows_its_headings(reader: Reader) -> None:
    text = (
        "# Leave policy\n\nIntro.\n\n## Berlin *office*\nThirty days.\n\n"
        "```\n# no heading\n```\n\nBoston\n------\n\n| City | Days |\n| --- | --- |\n| Boston | 20 |"
    )
    document = await reader.read_bytes(text.encode(), source="handbook/leave.md")
    assert document.text == text
    assert headings(document) == [(1, "Leave policy"), (2, "Berlin office"), (2, "Boston")]
    assert document.title == "Leave policy"
    assert document.text[document.headings[1].start : document.headings[1].end] == (
        "## Berlin *office*"
    )
    [(start, end, header)] = document.metadata["tables"]
    assert document.text[start:end].startswith("| City")
    assert header == "City | Days"
    assert document.text[start:end].endswith("20 |")


async def test_front_matter_gives_the_title(reader: Reader) -> None:
    document = await reader.read_bytes(
        b'---\ntitle: "Travel rules"\n---\n\n# Other\n\nx', source="a.md"
    )
    assert document.title == "Travel rules"


async def test_a_file_without_a_title_is_called_by_its_name(reader: Reader) -> None:
    document = await reader.read_bytes(b"x", source="hr/leave_policy-2025.txt")
    assert document.title == "leave policy 2025"


async def test_csv_rows_are_readable_and_the_column_names_are_kept(reader: Reader) -> None:
    data = b'City;Days;Note\nBerlin;30;"old; still valid"\nBoston;20\n'
    document = await reader.read_bytes(data, source="leave.csv")
    assert document.text.split("\n") == [
        "| City | Days | Note |", "| Berlin | 30 | old; still valid |", "| Boston | 20 |",
    ]  # fmt: skip
    assert document.metadata["tables"] == [[0, len(document.text), "City | Days | Note"]]


async def test_a_title_above_the_columns_of_a_csv_is_no_header(reader: Reader) -> None:
    data = b"Leave report 2025,,\n\ncity,days,note\nBerlin,30,a\nBoston,20,b\n"
    document = await reader.read_bytes(data, source="leave.csv")
    assert document.text.startswith("Leave report 2025\n")
    assert document.metadata["tables"][0][2] == "city | days | note"


async def test_json_lines_are_fields_with_numbers_as_written(reader: Reader) -> None:
    data = b'{"city": "Berlin", "leave": {"days": 30, "price": 1.10}}\n{"city": "Boston"}\n'
    document = await reader.read_bytes(data, source="a.jsonl")
    assert document.text == "city: Berlin\nleave.days: 30\nleave.price: 1.10\n\ncity: Boston"


# --------------------------------------------------------------------------------- other formats


async def test_html_is_read_without_navigation_and_scripts(reader: Reader) -> None:
    page = (
        '<html><head><meta charset="gb2312"><title>员工手册 &amp; 更多</title></head><body>'
        "<nav>Menu</nav><script>bad()</script><h1>年假</h1><p>员工有<b>三十</b>天年假。</p>"
        "<h2>Berlin <i>office</i></h2><table><tr><th>City</th><th>Days</th></tr>"
        "<tr><td>Berlin</td><td>30</td></tr></table></body></html>"
    )
    document = await reader.read_bytes(page.encode("gb2312"), source="a.html")
    assert document.title == "员工手册 & 更多"
    assert headings(document) == [(1, "年假"), (2, "Berlin office")]
    assert "员工有三十天年假。" in document.text
    assert "| City | Days |\n| Berlin | 30 |" in document.text
    assert "Menu" not in document.text
    assert "bad" not in document.text
    assert document.metadata["tables"][0][2] == "City | Days"


async def test_nested_layout_tables_keep_every_word_once(reader: Reader) -> None:
    page = (
        "<table><tr><td>Left<table><tr><td>Days</td><td>Place</td></tr>"
        "<tr><td>30</td><td>Berlin</td></tr></table></td><td>Right</td></tr></table>"
    )
    document = await reader.read_bytes(page.encode(), source="a.html")
    assert sorted(re.findall(r"\w+", document.text)) == sorted(
        ["Left", "Days", "Place", "30", "Berlin", "Right"]
    )


async def test_xml_fields_carry_their_names(reader: Reader) -> None:
    data = '<?xml version="1.0" encoding="utf-16"?><a><c><name>Berlin</name><days>30</days></c></a>'
    document = await reader.read_bytes(data.encode("utf-16"), source="a.xml")
    assert document.text == "name: Berlin\ndays: 30"


async def test_pdf_pages_are_known_by_offset(reader: Reader) -> None:
    data = pdf("Leave is thirty days.", "", "Travel is booked early.")
    document = await reader.read_bytes(data, source="a.pdf")
    texts = [document.text[page.start : page.end] for page in document.pages]
    assert texts == ["Leave is thirty days.", "", "Travel is booked early."]
    assert [page.number for page in document.pages] == [1, 2, 3]
    assert document.metadata["pages_without_text"] == [2]


async def test_a_pdf_of_pictures_says_that_it_has_no_text_layer(reader: Reader) -> None:
    with pytest.raises(ReadingError, match=r"'scan\.pdf' has no text.*OCR") as caught:
        await reader.read_bytes(pdf("", ""), source="scan.pdf")
    assert caught.value.kind == "empty"


async def test_word_headings_and_tables_are_found(reader: Reader) -> None:
    cell = "<w:tc>{}</w:tc>"
    rows = "".join(
        "<w:tr>" + "".join(cell.format(paragraph(text)) for text in row) + "</w:tr>"
        for row in (("City", "Days"), ("Berlin", "30"))
    )
    body = paragraph("Leave", "Heading1") + paragraph("Thirty * days!") + f"<w:tbl>{rows}</w:tbl>"
    document = await reader.read_bytes(docx(body), source="a.docx")
    assert [heading.text for heading in document.headings] == ["Leave"]
    assert "Thirty * days!" in document.text
    assert "| City | Days |\n| Berlin | 30 |" in document.text
    assert document.metadata["tables"][0][2] == "City | Days"


def presentation(slides: list[str], chart: str) -> bytes:
    """Slides of one line each, no master or theme; the last one has the chart."""
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    main = "http://schemas.openxmlformats.org/presentationml/2006/main"
    drawing = "http://schemas.openxmlformats.org/drawingml/2006/main"
    numbers = range(1, len(slides) + 1)
    parts = {
        "[Content_Types].xml": "<Types/>",
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{main}" xmlns:r="{office}"><p:sldIdLst>'
        + "".join(f'<p:sldId r:id="rId{number}"/>' for number in numbers)
        + "</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": f'<Relationships xmlns="{relations}">'
        + "".join(
            f'<Relationship Id="rId{number}" Type="{office}/slide" '
            f'Target="slides/slide{len(slides) + 1 - number}.xml"/>'
            for number in numbers
        )
        + "</Relationships>",
        "ppt/slides/_rels/slide1.xml.rels": f'<Relationships xmlns="{relations}"><Relationship '
        f'Id="rId1" Type="{office}/chart" Target="../charts/chart1.xml"/></Relationships>',
        "ppt/charts/chart1.xml": chart,
    }
    for number, text in zip(numbers, reversed(slides), strict=True):
        parts[f"ppt/slides/slide{number}.xml"] = (
            f'<p:sld xmlns:p="{main}" xmlns:a="{drawing}"><p:cSld><p:spTree><p:sp><p:txBody>'
            f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>"
        )
    return archive(parts)


async def test_slides_are_pages_in_the_order_shown_and_charts_are_tables(reader: Reader) -> None:
    space = "http://schemas.openxmlformats.org/drawingml/2006/chart"
    chart = (
        f'<c:chartSpace xmlns:c="{space}"><c:ser><c:tx><c:pt idx="0"><c:v>Days</c:v></c:pt></c:tx>'
        '<c:cat><c:pt idx="0"><c:v>Berlin</c:v></c:pt></c:cat>'
        '<c:val><c:pt idx="0"><c:v>30</c:v></c:pt></c:val></c:ser></c:chartSpace>'
    )
    data = presentation(["Leave is earned monthly", "Travel is booked early"], chart)
    document = await reader.read_bytes(data, source="a.pptx")
    first, last = (document.text[page.start : page.end] for page in document.pages)
    assert "Leave is earned monthly" in first
    assert "Travel is booked early" in last
    assert last.endswith("|  | Days |\n| Berlin | 30 |")
    assert document.metadata["tables"][0][2] == "Days"


async def test_content_decides_when_the_name_is_wrong(reader: Reader) -> None:
    document = await reader.read_bytes(pdf("Thirty days."), source="leave.txt")
    assert document.media_type == "application/pdf"


async def test_a_text_of_unknown_extension_that_is_named_is_read(reader: Reader) -> None:
    assert (await reader.read_bytes(b"Thirty days.", source="NOTES")).text == "Thirty days."


# ---------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("data", "source", "kind"),
    [
        (b"", "a.txt", "empty"),
        (b" \n\t\n", "a.txt", "empty"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)), "a.png", "unknown_kind"),
        (archive({"data.bin": "x"}), "a.zip", "unknown_kind"),
        (b"not a pdf", "a.pdf", "damaged"),
        (b"PK\x03\x04 cut short", "a.docx", "damaged"),
        (b"%PDF-1.7\ngarbage", "a.pdf", "damaged"),
        (b"x" * 5_000_001, "a.txt", "too_large"),
    ],
)
async def test_a_file_that_cannot_be_read_says_why(
    reader: Reader, data: bytes, source: str, kind: str
) -> None:
    with pytest.raises(ReadingError, match=re.escape(repr(source))) as caught:
        await reader.read_bytes(data, source=source)
    assert caught.value.kind == kind


async def test_a_protected_office_file_is_reported_as_encrypted(reader: Reader) -> None:
    data = bytes.fromhex("d0cf11e0a1b11ae1") + "EncryptedPackage".encode("utf-16-le")
    with pytest.raises(ReadingError, match="password") as caught:
        await reader.read_bytes(data, source="a.docx")
    assert caught.value.kind == "encrypted"


async def test_a_missing_file_and_a_folder_are_told_apart(reader: Reader, tmp_path: Path) -> None:
    with pytest.raises(ReadingError, match="does not exist") as missing:
        await reader.read(tmp_path / "no.txt", source="no.txt")
    with pytest.raises(ReadingError, match="a folder") as folder:
        await reader.read(tmp_path, source="x")
    assert (missing.value.kind, folder.value.kind) == ("missing", "unknown_kind")


async def test_a_named_pipe_is_refused_instead_of_waited_for(
    reader: Reader, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(ReadingError, match="not a regular file"):
        await reader.read(tmp_path / "pipe.txt", source="pipe.txt")


async def test_a_file_that_takes_too_long_is_given_up_and_the_next_one_is_read() -> None:
    hurried = Reader(max_file_mb=5, timeout=0.001)
    with pytest.raises(ReadingError, match=r"'a\.pdf'.*0\.001 s") as caught:
        await hurried.read_bytes(pdf("x"), source="a.pdf")
    assert caught.value.kind == "timeout"
    assert hurried.workers_started == 0
    await hurried.close()


async def test_a_worker_that_dies_costs_its_file_only(reader: Reader) -> None:
    await reader.read_bytes(pdf("first"), source="a.pdf")
    [worker] = reader._pool._idle
    worker._process.kill()
    worker._process.wait()
    with pytest.raises(ReadingError, match=r"'b\.pdf'.*crashed") as caught:
        await reader.read_bytes(pdf("second"), source="b.pdf")
    assert caught.value.kind == "damaged"
    assert (await reader.read_bytes(pdf("third"), source="c.pdf")).text == "third"


async def test_a_read_that_is_cancelled_ends_its_worker(reader: Reader) -> None:
    await reader.read_bytes(pdf("warm"), source="a.pdf")
    [worker] = reader._pool._idle
    slow = "<p>" + "<table><tr><td>x" * 30_000
    task = asyncio.ensure_future(reader.read_bytes(slow.encode(), source="slow.html"))
    async with asyncio.timeout(30):
        while not reader._pool._busy:  # noqa: ASYNC110 - a thread fills it, not this loop
            await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.to_thread(worker._process.wait, 30)
    assert worker._process.returncode is not None


async def test_one_worker_serves_many_files(reader: Reader) -> None:
    for number in range(3):
        await reader.read_bytes(pdf(f"file {number}"), source="a.pdf")
    assert reader.workers_started == 1


# --------------------------------------------------------------------------------------- folders


def test_a_folder_gives_its_known_files_sorted_and_nothing_hidden(tmp_path: Path) -> None:
    for name in ("b/leave.md", "a.txt", ".hidden.txt", ".git/config.txt", "b/photo.jpg", "Z.PDF"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    walked = walk([tmp_path])
    assert walked.files == (tmp_path / "Z.PDF", tmp_path / "a.txt", tmp_path / "b/leave.md")
    assert walked.unread == {}


def test_a_file_that_is_named_is_kept_whatever_its_kind(tmp_path: Path) -> None:
    (tmp_path / "NOTES").write_text("x")
    assert walk([tmp_path / "NOTES", tmp_path]).files == (tmp_path / "NOTES",)


def test_links_neither_loop_nor_lead_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("x")
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.txt").write_text("x")
    (folder / "up").symlink_to(folder)
    (folder / "out.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "self").symlink_to(folder / "self")
    walked = walk([folder])
    assert walked.files == (folder / "a.txt",)
    # What leads round in a circle hides nothing; "self" has not the name of a kind that is read.
    assert set(walked.unread) == {folder / "out.txt"}
    assert "a link out of the folder" in walked.unread[folder / "out.txt"]


def test_what_a_folder_has_and_is_not_read_has_its_reason(tmp_path: Path) -> None:
    folder, outside = tmp_path / "docs", tmp_path / "elsewhere"
    folder.mkdir()
    outside.mkdir()
    (outside / "leave.md").write_text("x")
    (folder / "more").symlink_to(outside)
    (folder / "gone.md").symlink_to(tmp_path / "gone.md")
    (folder / "photo.jpg").symlink_to(tmp_path / "photo.jpg")
    os.mkfifo(folder / "pipe.txt")
    os.mkfifo(folder / "pipe")
    assert walk([folder]).unread == {
        folder / "more": "It is a link out of the folder. Name it, or what it leads to, to add it.",
        folder / "gone.md": "It is a link to nothing.",
        folder / "pipe.txt": "It is not a regular file.",
    }


def test_a_link_into_another_folder_that_is_given_hides_nothing(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    (other / "leave.md").write_text("x")
    (one / "leave.md").symlink_to(other / "leave.md")
    walked = walk([one, other])
    assert (walked.files, dict(walked.unread)) == ((other / "leave.md",), {})


def test_a_link_that_is_named_itself_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (tmp_path / "leave.md").write_text("x")
    (folder / "leave.md").symlink_to(tmp_path / "leave.md")
    walked = walk([folder, folder / "leave.md"])
    assert (walked.files, dict(walked.unread)) == ((folder / "leave.md",), {})


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may list every folder"
)
def test_a_folder_that_may_not_be_listed_has_its_reason(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    assert "permissions" in walk([tmp_path]).unread[tmp_path / "closed"]


def test_a_path_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFoundError, match=r"no\.txt"):
        walk([tmp_path / "no.txt"])


def test_kinds_are_known_by_extension() -> None:
    assert supported(Path("a.PDF"))
    assert supported(Path("b.docx"))
    assert not supported(Path("c.jpg"))


# ------------------------------------------------------------------------------------ real files


def _real_documents() -> Path:
    default = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    return Path(os.environ.get("ANABRANCH_DATA", default)) / "real_documents"


def _comparable(text: str) -> str:
    return re.sub(r"[\s\u00ad]", "", unicodedata.normalize("NFKC", text).casefold())


@pytest.mark.skipif(
    not _real_documents().is_dir(), reason="real documents are not there; set ANABRANCH_DATA"
)
async def test_real_files_give_their_phrase_or_the_right_refusal() -> None:
    folder = _real_documents()
    reader = Reader(max_file_mb=50, timeout=120)
    unmet = []
    lines = (folder / "manifest.jsonl").read_text("utf-8").splitlines()
    for entry in map(json.loads, lines):
        kind, text = "", ""
        try:
            text = (await reader.read(folder / "files" / entry["file"], source=entry["file"])).text
        except ReadingError as error:
            kind = error.kind
        found = bool(entry["phrase"]) and _comparable(entry["phrase"]) in _comparable(text)
        expected = entry["expect"].partition(":")[0]
        met = {
            "text": found,
            "ocr": found or kind == "empty",
            "ocr_or_refuse": found or kind == "empty",
            "empty": kind == "empty",
            "password": kind == "encrypted",
            "error": bool(kind),
        }.get(expected, True)
        if not met:
            unmet.append(entry["file"])
    await reader.close()
    assert unmet == []


def test_sequences_for_a_terminal_leave_no_tail_that_reads_as_words() -> None:
    shown = "It is \x1b[31m12\x1b[0m euros \x1b]8;;http://evil\x07a link\x1b]8;;\x07 a day."
    assert normalise(shown) == "It is 12 euros a link a day."
    assert normalise("e\x1bfective") == "efective"
