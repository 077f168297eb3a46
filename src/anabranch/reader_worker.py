"""The process in which foreign parsers run: one request at a time from stdin, answers on stdout.

A parser that crashes or eats memory takes this process with it and nothing else. Started by
``reader_pool``; imports neither the store nor the models.
"""

from __future__ import annotations

import json
import os
import re
import struct
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

_BASE_MEMORY = 1 << 30
# A parser keeps the bytes, their unpacked form and the text at the same time.
_MEMORY_PER_BYTE = 5
_SLIDE_MARK = "@@ANABRANCH SLIDE {page_num}@@"
_SLIDE_MARKS = re.compile(r"^@@ANABRANCH SLIDE (\d+)@@$", re.MULTILINE)
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")

Reply = dict[str, Any]


class _RefusedError(Exception):
    """A file that cannot be read, with the kind of ``ReadingError`` that it becomes."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


def write_message(stream: BinaryIO, header: Reply, body: bytes = b"") -> None:
    """Two lengths, a JSON header, then bytes as they are."""
    head = json.dumps(header).encode("ascii")
    stream.write(struct.pack(">IQ", len(head), len(body)) + head)
    stream.write(body)
    stream.flush()


def read_message(stream: BinaryIO) -> tuple[Reply, bytes] | None:
    """None where the other side is gone."""
    lengths = stream.read(12)
    if len(lengths) < 12:
        return None
    head_length, body_length = struct.unpack(">IQ", lengths)
    head, body = stream.read(head_length), stream.read(body_length)
    if len(head) < head_length or len(body) < body_length:
        return None
    return json.loads(head), body


def main() -> None:
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    # Native code that prints must not end up between two replies.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    while (message := read_message(requests)) is not None:
        request, data = message
        _limit(len(data), float(request["timeout"]))
        write_message(replies, _answer(request, data))


def _limit(size: int, timeout: float) -> None:
    """Caps memory and processor time for this request, where the system can."""
    try:
        import resource
    except ImportError:  # Windows: the read timeout is the only guard there.
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime + 2 * timeout) + 2
    wanted = (
        (resource.RLIMIT_AS, _BASE_MEMORY + _MEMORY_PER_BYTE * size),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
    )
    for what, soft in wanted:
        hard = resource.getrlimit(what)[1]
        soft = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
        resource.setrlimit(what, (soft, hard))


def _answer(request: Reply, data: bytes) -> Reply:
    try:
        routes: dict[str, Callable[[bytes, Reply], Reply]] = {
            "pdf": _read_pdf, "office": _read_office, "mail": _read_office,
            "html": _read_html, "xml": _read_xml, "picture": _draw_page,
        }  # fmt: skip
        return {"ok": True, **routes[request["route"]](data, request)}
    except _RefusedError as refused:
        return {"ok": False, "kind": refused.kind, "detail": str(refused)}
    except MemoryError:
        return {"ok": False, "kind": "too_large", "detail": "it needs more memory than allowed"}
    except Exception as error:  # Whatever a parser raises: this is the edge of the process.
        detail = str(error).split("\n")[0][:200] or type(error).__name__
        return {"ok": False, "kind": "damaged", "detail": detail}


def _read_html(data: bytes, request: Reply) -> Reply:
    from anabranch.markup import html_blocks

    title, blocks = html_blocks(data.decode("utf-8"))
    return {"title": title, "blocks": [_packed(block) for block in blocks]}


def _read_xml(data: bytes, request: Reply) -> Reply:
    from anabranch.markup import xml_blocks

    return {"blocks": [_packed(block) for block in xml_blocks(data.decode("utf-8"))]}


def _draw_page(data: bytes, request: Reply) -> Reply:
    from anabranch.page_pictures import draw

    return draw(data, request)


def _packed(block: Any) -> list[Any]:
    return [block.kind, block.text, block.label, block.depth, block.start]


def _extract(data: bytes, media_type: str, *, form: str, **options: Any) -> Any:
    import kreuzberg

    # Its type stub does not know this option; with it no text recognition is ever tried.
    unlisted: dict[str, Any] = {"disable_ocr": True}
    config = kreuzberg.ExtractionConfig(
        use_cache=False, output_format=form, enable_quality_processing=False, **unlisted, **options
    )
    return kreuzberg.extract_bytes_sync(data, media_type, config=config)


def _facts(result: Any) -> Reply:
    metadata = result.metadata
    facts = {
        "authors": metadata.get("authors"),
        "created_at": metadata.get("created_at"),
        "language": metadata.get("language"),
    }
    title = metadata.get("title") or metadata.get("subject") or ""
    return {"title": str(title), "metadata": {key: value for key, value in facts.items() if value}}


def _read_office(data: bytes, request: Reply) -> Reply:
    media_type = request["media_type"]
    if media_type.endswith("presentationml.presentation"):
        return _read_slides(data, media_type)
    is_word = media_type.endswith("wordprocessingml.document")
    try:
        result = _extract(data, media_type, form="markdown")
        reply, text = _facts(result), result.content
    except Exception:
        if not is_word:
            raise
        from anabranch.office_text import rescued_document

        reply, text = {}, rescued_document(data)
    if is_word:
        from anabranch.office_text import document_charts

        text = f"{text}\n\n{document_charts(data)}"
    return {**reply, "markdown": [text]}


def _read_slides(data: bytes, media_type: str) -> Reply:
    import kreuzberg

    from anabranch.office_text import in_shown_order, rescued_slides, slide_charts

    pages = kreuzberg.PageConfig(
        extract_pages=True, insert_page_markers=True, marker_format=f"\n\n{_SLIDE_MARK}\n\n"
    )
    try:
        result = _extract(data, media_type, form="markdown", pages=pages)
        reply, slides = _facts(result), in_shown_order(data, _cut_slides(result.content))
    except Exception:
        reply, slides = {}, rescued_slides(data)
    charts = slide_charts(data)
    slides += [""] * (len(charts) - len(slides))
    charts += [""] * (len(slides) - len(charts))
    together = [f"{slide}\n\n{chart}" for slide, chart in zip(slides, charts, strict=True)]
    return {**reply, "markdown": together, "paged": True}


def _cut_slides(content: str) -> list[str]:
    """Slides by the marks between them: byte boundaries are wrong once Markdown is written."""
    pieces = _SLIDE_MARKS.split(content)
    slides: list[str] = []
    for number, text in zip(pieces[1::2], pieces[2::2], strict=True):
        slides += [""] * (int(number) - 1 - len(slides))
        slides.append(text)
    return slides or [content]


def _read_pdf(data: bytes, request: Reply) -> Reply:
    """Pages by kreuzberg; by PDFium alone where that fails, is empty, or reads right to left."""
    import kreuzberg

    passwords = [str(password) for password in request["passwords"]]
    options = {"pdf_options": kreuzberg.PdfConfig(passwords=passwords)} if passwords else {}
    try:
        result = _extract(
            data, "application/pdf", form="plain",
            pages=kreuzberg.PageConfig(extract_pages=True), **options,
        )  # fmt: skip
    except Exception as error:
        if "password" in str(error).lower() and not passwords:
            raise _RefusedError("encrypted", "it needs a password") from None
        return {"pages": _pdfium_pages(data, passwords)}
    reply, pages = _facts(result), _page_texts(result)
    text = "".join(pages)
    letters = sum(map(str.isalpha, text))
    if not text.strip() or len(_RIGHT_TO_LEFT.findall(text)) > 0.1 * letters:
        pages = _pdfium_pages(data, passwords)
    return {**reply, "pages": pages}


def _page_texts(result: Any) -> list[str]:
    """Page texts in order.

    Not cut out of the whole content by its byte boundaries: those are too large after an empty
    page, and there a broken word has a plain hyphen, which nobody can tell from a real one.
    """
    pages = result.pages or []
    if not pages:
        return [result.content]
    texts = [""] * max(page["page_number"] for page in pages)
    for page in pages:
        texts[page["page_number"] - 1] += page["content"]
    return texts


def _pdfium_pages(data: bytes, passwords: list[str]) -> list[str]:
    import pypdfium2

    document = None
    for password in [None, *passwords]:
        try:
            document = pypdfium2.PdfDocument(data, password=password)
            break
        except pypdfium2.PdfiumError as error:
            if "password" not in str(error).lower():
                raise _RefusedError("damaged", str(error)) from None
    if document is None:
        raise _RefusedError("encrypted", "none of the given passwords opens it")
    pages: list[str] = []
    for number in range(len(document)):
        try:
            pages.append(document[number].get_textpage().get_text_bounded())
        except pypdfium2.PdfiumError:
            pages.append("")  # One broken page must not cost the others.
    return pages


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):
        sys.exit(0)
