"""Which kind of file it is: by its content first, by its name where content cannot tell; pure."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

Route = Literal["pdf", "office", "html", "xml", "mail", "markdown", "table", "json", "text"]


@dataclass(frozen=True, slots=True)
class FileKind:
    """How files of one kind are read. ``container`` is what their first bytes must be."""

    name: str
    extensions: tuple[str, ...]
    media_type: str
    route: Route
    container: Literal["pdf", "zip", "ole", "rtf", "text"] = "text"


_OPEN_XML = "application/vnd.openxmlformats-officedocument."
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument."

# Kinds of one container stand in the order in which their content is told apart.
KINDS: tuple[FileKind, ...] = (
    FileKind("PDF", ("pdf",), "application/pdf", "pdf", "pdf"),
    FileKind("Word", ("docx", "docm", "dotx"), _OPEN_XML + "wordprocessingml.document", "office", "zip"),
    FileKind("PowerPoint", ("pptx", "pptm", "ppsx"),
             _OPEN_XML + "presentationml.presentation", "office", "zip"),
    FileKind("Excel", ("xlsx", "xlsm"), _OPEN_XML + "spreadsheetml.sheet", "office", "zip"),
    FileKind("OpenDocument text", ("odt",), _OPEN_DOCUMENT + "text", "office", "zip"),
    FileKind("OpenDocument sheet", ("ods",), _OPEN_DOCUMENT + "spreadsheet", "office", "zip"),
    FileKind("EPUB", ("epub",), "application/epub+zip", "office", "zip"),
    FileKind("Word 97", ("doc",), "application/msword", "office", "ole"),
    FileKind("PowerPoint 97", ("ppt",), "application/vnd.ms-powerpoint", "office", "ole"),
    FileKind("Excel 97", ("xls",), "application/vnd.ms-excel", "office", "ole"),
    FileKind("Outlook message", ("msg",), "application/vnd.ms-outlook", "office", "ole"),
    FileKind("RTF", ("rtf",), "application/rtf", "office", "rtf"),
    FileKind("HTML", ("html", "htm", "xhtml"), "text/html", "html"),
    FileKind("Markdown", ("md", "markdown"), "text/markdown", "markdown"),
    FileKind("CSV", ("csv",), "text/csv", "table"),
    FileKind("TSV", ("tsv", "tab"), "text/tab-separated-values", "table"),
    FileKind("JSON lines", ("jsonl", "ndjson"), "application/x-ndjson", "json"),
    FileKind("JSON", ("json",), "application/json", "json"),
    FileKind("XML", ("xml",), "application/xml", "xml"),
    FileKind("mail", ("eml",), "message/rfc822", "mail"),
    FileKind("notebook", ("ipynb",), "application/x-ipynb+json", "office"),
    FileKind("Org", ("org",), "text/x-org", "text"),
    FileKind("reStructuredText", ("rst",), "text/x-rst", "text"),
    FileKind("text", ("txt", "text", "log", "adoc", "yaml", "yml"), "text/plain", "text"),
)  # fmt: skip

_BY_EXTENSION = {extension: kind for kind in KINDS for extension in kind.extensions}
_BY_MEDIA_TYPE = {kind.media_type: kind for kind in KINDS}
PLAIN_TEXT = _BY_EXTENSION["txt"]

# Streams that tell the old Office formats apart ([MS-CFB] names are UTF-16).
_OLE_STREAMS = (
    ("WordDocument", "doc"),
    ("PowerPoint Document", "ppt"),
    ("Workbook", "xls"),
    ("__substg1.0_", "msg"),
    ("Book", "xls"),
)
_ZIP_FOLDERS = (("word/", "docx"), ("ppt/", "pptx"), ("xl/", "xlsx"))
_OLE_MAGIC = bytes.fromhex("d0cf11e0a1b11ae1")


def kind_by_name(name: str) -> FileKind | None:
    """The kind that the extension of ``name`` promises."""
    return _BY_EXTENSION.get(PurePath(name).suffix.lower().removeprefix("."))


def supported_extensions() -> tuple[str, ...]:
    return tuple(sorted(_BY_EXTENSION))


def container_of(data: bytes) -> Literal["pdf", "zip", "ole", "rtf", "text"]:
    """The family that the first bytes name; "text" is also what no magic number speaks for."""
    if b"%PDF-" in data[:1024]:  # ISO 32000 readers accept the header within the first KB.
        return "pdf"
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    if data.startswith(_OLE_MAGIC):
        return "ole"
    return "rtf" if data.startswith(b"{\\rtf") else "text"


def is_encrypted_office(data: bytes) -> bool:
    """A password-protected Office file is an OLE container around one encrypted stream."""
    return data.startswith(_OLE_MAGIC) and "EncryptedPackage".encode("utf-16-le") in data


def kind_by_content(data: bytes, name: str) -> FileKind | None:
    """The kind of a binary container; None where it is one that cannot be read."""
    container = container_of(data)
    named = kind_by_name(name)
    if container in ("pdf", "rtf"):
        return _BY_EXTENSION[container]
    if container == "ole":
        if named is not None and named.container == "ole":
            return named
        for stream, extension in _OLE_STREAMS:
            if stream.encode("utf-16-le") in data:
                return _BY_EXTENSION[extension]
        return None
    return _zip_kind(data)


def _zip_kind(data: bytes) -> FileKind | None:
    """Raises zipfile.BadZipFile for a damaged archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        if "mimetype" in names and archive.getinfo("mimetype").file_size < 200:
            return _BY_MEDIA_TYPE.get(archive.read("mimetype").decode("ascii", "replace").strip())
    for folder, extension in _ZIP_FOLDERS:
        if any(name.startswith(folder) for name in names):
            return _BY_EXTENSION[extension]
    return None


def text_kind(text: str, name: str) -> FileKind:
    """The kind of a file that is text: by its name, else by how it begins."""
    named = kind_by_name(name)
    if named is not None and named.container == "text":
        return named
    opening = text[:1024].lstrip("\ufeff \t\r\n").lower()
    if opening.startswith(("<!doctype html", "<html")):
        return _BY_EXTENSION["html"]
    if opening.startswith("<?xml"):
        return _BY_EXTENSION["html" if "<html" in opening else "xml"]
    return PLAIN_TEXT
