"""A file's bytes -> a Document: text with pages, headings and tables, whatever the format.

Plain text, Markdown, tables and JSON are read here; every foreign parser runs in a worker process
(``reader_pool``), so that a file that crashes or hangs one costs that file alone.
"""

from __future__ import annotations

import asyncio
import codecs
import hashlib
import os
import re
import stat
import threading
import zipfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, TypeVar

from anabranch.decoding import decode, normalise
from anabranch.errors import PictureError, ReadingError, SourceNotFoundError
from anabranch.file_kinds import (
    FileKind,
    container_of,
    is_encrypted_office,
    kind_by_content,
    kind_by_name,
    supported_extensions,
    text_kind,
)
from anabranch.layout import Block, Layout, lay_out, text_blocks
from anabranch.markup import converted_blocks, front_matter_title, markdown_blocks
from anabranch.reader_pool import ReaderPool
from anabranch.tabular import json_blocks, table_blocks
from anabranch.types import EMPTY, Document

__all__ = ["Reader", "normalise", "supported", "walk"]

_WHOLE_MB = 1_000_000
_DECLARED_ENCODING = re.compile(
    rb"""(?:charset\s*=\s*["']?|<\?xml[^>]*encoding\s*=\s*["'])\s*([\w.:-]+)""", re.IGNORECASE
)
_XML_ENCODING = re.compile(r"""(<\?xml[^>]*?)\s+encoding\s*=\s*["'][^"']*["']""")
_MAIL_CHARSET = re.compile(r"""(charset\s*=\s*["']?)utf-?(?:16|32)(?:-?[lb]e)?""", re.IGNORECASE)
# What programs write into the title field when nobody gave a title.
_NO_TITLE = re.compile(
    r"\(?(?:anonymous|untitled.*|document\d*|presentation\d*|powerpoint[- ]presentation|"
    r"(?:microsoft )?(?:word|excel) (?:document|worksheet)|slide \d+|title|adobe photoshop pdf|sheet ?\d*|工作表\d*|"
    r"无标题.*|powerpoint 演示文稿|文档\d*|演示文稿\d*|\W*)\)?",
    re.IGNORECASE,
)
_PROGRAM = re.compile(r"^microsoft (?:word|powerpoint|excel)\s+-\s+", re.IGNORECASE)
_TITLE_LIMIT = 200
_FORMATS = ", ".join(supported_extensions())
_NOT_PERMITTED = "It may not be read by this user; change its permissions."
_LINK_OUT = "It is a link out of the folder. Name it, or what it leads to, to add it."


Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Content:
    """What was found in a file, before it becomes a Document."""

    layout: Layout
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


class Reader:
    """Reads files into Documents, several at once; close it to end its worker processes."""

    def __init__(
        self,
        *,
        max_file_mb: float,
        timeout: float,
        passwords: Sequence[str] = (),
        workers: int = 2,
    ) -> None:
        self._max_bytes = int(max_file_mb * _WHOLE_MB)
        self._max_file_mb = max_file_mb
        self._timeout = timeout
        self._passwords = tuple(passwords)
        self._pool = ReaderPool()
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="anabranch-reader")

    @property
    def workers_started(self) -> int:
        """How many worker processes are alive; none before a file needs one."""
        return self._pool.started

    async def read(self, path: Path, *, source: str) -> Document:
        """The document in the file at ``path``. Raises ReadingError, whose kind says why not."""
        cancelled = threading.Event()
        return await self._run(
            lambda: self._read(load(path, self._limit), source, path.name, cancelled), cancelled
        )

    async def read_bytes(self, data: bytes, *, source: str) -> Document:
        """The document in ``data``; the name at the end of ``source`` hints at its kind."""
        cancelled = threading.Event()

        def work() -> Document:
            self._limit(source, len(data))
            return self._read(data, source, source, cancelled)

        return await self._run(work, cancelled)

    async def picture(
        self, path: Path, source: str, *, content_hash: str, request: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The reply of ``page_pictures.draw`` for the PDF at ``path``, if it has ``content_hash``.

        Raises PictureError where it is another file by now, or cannot be drawn.
        """
        cancelled = threading.Event()

        def work() -> dict[str, Any]:
            data = load(path, self._limit)
            if hashlib.sha256(data).hexdigest() != content_hash:
                raise PictureError(f"The file of {source!r} has changed. Add it again.")
            asked = {"route": "picture", "passwords": self._passwords, **request}
            reply = self._pool.ask(asked, data, timeout=self._timeout, cancelled=cancelled)
            if not reply["ok"]:
                raise PictureError(f"{source!r} cannot be drawn: {reply['detail']}.")
            return reply

        try:
            return await self._run(work, cancelled)
        except ReadingError as error:
            why = "is gone" if error.kind == "missing" else f"cannot be drawn ({error.kind})"
            raise PictureError(f"The file of {source!r} {why}. Add it again.") from None

    async def close(self) -> None:
        """Ends the workers; reads that are still running fail."""
        self._pool.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self, work: Callable[[], Result], cancelled: threading.Event) -> Result:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    def _limit(self, source: str, size: int) -> None:
        if size > self._max_bytes:
            raise ReadingError(
                f"{source!r} has {size / _WHOLE_MB:.1f} MB, more than the {self._max_file_mb:g} MB "
                "that are read; split it or raise max_file_mb.",
                kind="too_large",
            )

    def _read(self, data: bytes, source: str, name: str, cancelled: threading.Event) -> Document:
        if not data:
            raise ReadingError(f"{source!r} is empty: it has no bytes.", kind="empty")
        kind, text = identify(data, source, name=name)
        if text is None:
            content = self._ask(data, kind, source, cancelled)
        elif kind.route in ("html", "xml", "mail") or kind.name == "notebook":
            content = self._ask(_as_utf8(text, kind, data), kind, source, cancelled)
        else:
            content = read_text(text, kind)
        if not content.layout.text:
            raise ReadingError(f"{source!r} has no text: {_why_empty(kind)}", kind="empty")
        return _document(content, data=data, kind=kind, source=source)

    def _ask(
        self, data: bytes, kind: FileKind, source: str, cancelled: threading.Event
    ) -> _Content:
        request = {
            "route": kind.route, "media_type": kind.media_type, "passwords": self._passwords
        }  # fmt: skip
        try:
            reply = self._pool.ask(request, data, timeout=self._timeout, cancelled=cancelled)
        except ReadingError as error:
            raise ReadingError(
                f"{source!r} ({kind.name}): {error}. {_advice(error.kind)}", kind=error.kind
            ) from None
        if not reply["ok"]:
            raise ReadingError(
                f"{source!r} ({kind.name}) cannot be read: {reply['detail']}. "
                f"{_advice(reply['kind'])}",
                kind=reply["kind"],
            )
        return _unpacked(reply)


def load(path: Path, limit: Any) -> bytes:
    """The bytes of a regular file; ``limit`` is asked with its size before they are read."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            what = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise ReadingError(f"{str(path)!r} is {what}; name a file.", kind="unknown_kind")
        limit(str(path), status.st_size)
        return path.read_bytes()
    except FileNotFoundError:
        raise ReadingError(
            f"{str(path)!r} does not exist; check the path.", kind="missing"
        ) from None
    except PermissionError:
        raise ReadingError(
            f"{str(path)!r} may not be read by this user; change its permissions.",
            kind="permission",
        ) from None
    except OSError as error:
        raise ReadingError(
            f"{str(path)!r} cannot be read: {error.strerror or error}. Check the disk and the path.",
            kind="damaged",
        ) from None


def identify(data: bytes, source: str, *, name: str) -> tuple[FileKind, str | None]:
    """The kind of a file, and its decoded text where it is text.

    Content decides; ``name`` only where content cannot tell. Raises ReadingError naming ``source``.
    """
    named = kind_by_name(name)
    if is_encrypted_office(data):
        raise ReadingError(
            f"{source!r} is protected with a password; save a copy without one.", kind="encrypted"
        )
    if container_of(data) != "text":
        try:
            kind = kind_by_content(data, name)
        except (zipfile.BadZipFile, OSError, ValueError) as error:
            raise ReadingError(
                f"{source!r} is damaged: {error}. Get a fresh copy.", kind="damaged"
            ) from None
        if kind is None:
            raise _unknown_kind(source)
        return kind, None
    declared = _DECLARED_ENCODING.search(data[:4096]) if b"<" in data[:64] else None
    text = decode(data, declared=declared[1].decode("ascii", "ignore") if declared else None)
    if named is not None and named.container != "text":
        opening = (text or "")[:1024].lstrip().lower()
        if not opening.startswith(("<!doctype html", "<html")):
            raise ReadingError(
                f"{source!r} is not the {named.name} file that its name promises: it is damaged "
                "or of another kind. Get a fresh copy or correct the extension.",
                kind="damaged",
            )
    if text is None:
        raise _unknown_kind(source)
    return text_kind(text, name), text


def _unknown_kind(source: str) -> ReadingError:
    return ReadingError(
        f"{source!r} is of no kind that can be read; known extensions are {_FORMATS}.",
        kind="unknown_kind",
    )


def read_text(text: str, kind: FileKind) -> _Content:
    """What is in a text file of a kind that needs no foreign parser."""
    if kind.route == "markdown":
        return _Content(lay_out(markdown_blocks(text)), front_matter_title(normalise(text)))
    if kind.route == "table":
        delimiter = "\t" if kind.name == "TSV" else None
        return _Content(lay_out(table_blocks(text, delimiter=delimiter)))
    if kind.route == "json":
        blocks = json_blocks(text, lines=kind.name == "JSON lines")
        return _Content(lay_out(text_blocks(text) if blocks is None else blocks))
    return _Content(lay_out(text_blocks(text)))


def _as_utf8(text: str, kind: FileKind, data: bytes) -> bytes:
    """``text`` for a parser, with any statement about the old encoding taken out.

    A mail is left as it is, since each of its parts names an encoding, unless all of it is wide.
    """
    if kind.route == "mail" and b"\0" not in data[:1024]:
        return data.removeprefix(codecs.BOM_UTF8)
    text = text.replace("\0", "").lstrip("\ufeff")
    if kind.route == "mail":
        text = _MAIL_CHARSET.sub(r"\1utf-8", text)
    elif kind.route == "xml":
        text = _XML_ENCODING.sub(r"\1", text, count=1)
    return text.encode("utf-8", errors="ignore")


def _unpacked(reply: dict[str, Any]) -> _Content:
    pages: list[list[Block]] = []
    blocks: list[Block] = []
    if "pages" in reply:
        pages = [text_blocks(text.strip()) for text in reply["pages"]]
    elif "blocks" in reply:
        blocks = [Block(*packed) for packed in reply["blocks"]]
    elif reply.get("paged"):
        pages = [converted_blocks(text) for text in reply["markdown"]]
    else:
        blocks = converted_blocks(reply["markdown"][0])
    layout = lay_out(blocks, pages=pages)
    metadata = dict(reply.get("metadata", {}))
    silent = [page.number for page in layout.pages if page.start == page.end]
    if silent:
        metadata["pages_without_text"] = silent
    return _Content(layout, reply.get("title", ""), metadata)


def _document(content: _Content, *, data: bytes, kind: FileKind, source: str) -> Document:
    layout = content.layout
    metadata = dict(content.metadata)
    if layout.tables:
        metadata["tables"] = [list(table) for table in layout.tables]
    return Document(
        source=source,
        title=_title(content, source),
        text=layout.text,
        content_hash=hashlib.sha256(data).hexdigest(),
        media_type=kind.media_type,
        pages=layout.pages,
        headings=layout.headings,
        metadata=metadata or EMPTY,
    )


def _title(content: _Content, source: str) -> str:
    """What the file says it is called, else its first heading, else its name made readable."""
    given = _PROGRAM.sub("", " ".join(normalise(content.title).split()))
    if given and kind_by_name(given):
        given = PurePath(given).stem
    if given and not _NO_TITLE.fullmatch(given):
        return given[:_TITLE_LIMIT]
    first = content.layout.headings[0].text if content.layout.headings else ""
    if first and not _NO_TITLE.fullmatch(first):
        return first[:_TITLE_LIMIT]
    stem = normalise(PurePath(source).stem)
    return " ".join(re.sub(r"[_\-]+", " ", stem).split())[:_TITLE_LIMIT] or source


def _why_empty(kind: FileKind) -> str:
    if kind.route == "pdf":
        return (
            "its pages are pictures or blank, without a text layer. Run it through a program for "
            "text recognition (OCR) first; none is built in."
        )
    return f"this {kind.name} file holds nothing that can be read as words."


def _advice(kind: str) -> str:
    return {
        "encrypted": "Add its password to pdf_passwords (ANABRANCH_PDF_PASSWORDS).",
        "timeout": "Split the file or raise read_timeout.",
        "too_large": "Split the file.",
        "closed": "",
    }.get(kind, "Open it in the program that made it and save it again.")


# --------------------------------------------------------------------------------------- folders


def supported(path: Path) -> bool:
    """Whether the extension of ``path`` is one of the kinds that are read."""
    return kind_by_name(path.name) is not None


@dataclass(frozen=True, slots=True)
class Walk:
    """The files to read, and why what would have been one or have held some is not read."""

    files: tuple[Path, ...]
    unread: Mapping[Path, str]


def walk(paths: Sequence[Path]) -> Walk:
    """The files to read: those named as they are, and those of a known kind in folders, sorted.

    Hidden files and folders and other kinds of files are passed over. Not read, with a reason, are
    links out of the given folders, broken links, pipes and the like under the name of a known kind,
    and folders that may not be listed. Raises SourceNotFoundError for a path that does not exist.
    """
    for path in paths:
        if not os.path.lexists(path):
            raise SourceNotFoundError(f"{str(path)!r} does not exist; check the path.")
    roots = [path.resolve() for path in paths if path.is_dir()]
    found: dict[Path, None] = {}
    unread: dict[Path, str] = {}
    for path in paths:
        for file in _folder_files(path, roots, unread) if path.is_dir() else [path]:
            found.setdefault(file)
    # What was named itself is read, whatever was said of it in a folder.
    return Walk(tuple(found), {path: why for path, why in unread.items() if path not in found})


def _why_unread(entry: Path, roots: Sequence[Path]) -> str | None:
    """Why what lies in a folder is not read, file or folder; None where it may be.

    Empty where nothing need be said: its name is not that of a kind that is read.
    """
    try:
        real = entry.resolve(strict=True)
    except PermissionError:
        return _NOT_PERMITTED
    except (OSError, RuntimeError):  # its end is gone, or links point at each other
        return "It is a link to nothing." if supported(entry) else ""
    if not any(real.is_relative_to(root) for root in roots):
        return _LINK_OUT if real.is_dir() or supported(entry) else ""
    if entry.is_dir() or entry.is_file():
        return None
    return "It is not a regular file." if supported(entry) else ""


def _folder_files(folder: Path, roots: Sequence[Path], unread: dict[Path, str]) -> list[Path]:
    """The files of ``folder``; what is not read of it goes into ``unread`` with the reason."""
    root = folder.resolve()
    seen: set[Path] = set()
    files: list[Path] = []
    pending = [folder]
    while pending:
        current = pending.pop()
        if (real := current.resolve()) in seen:  # a link back up, or a second way in
            continue
        seen.add(real)
        try:
            entries = sorted(current.iterdir())
        except PermissionError:
            unread[current] = _NOT_PERMITTED
            continue
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if (why := _why_unread(entry, roots)) is not None:
                unread.update({entry: why} if why else {})
                continue
            if not entry.resolve().is_relative_to(root):  # found in the other folder it lies in
                continue
            if entry.is_dir():
                pending.append(entry)
            elif entry.is_file() and supported(entry):
                files.append(entry)
    return sorted(files)
