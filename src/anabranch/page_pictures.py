"""A page of a PDF as a picture, with a passage marked on it.

``page_picture`` is asked; ``draw`` runs in a reader worker, as a file may crash what renders it.

The text of a document is not quite the one that PDFium gives for a page: line ends, hyphens and the
order of columns differ. So only letters and digits are compared, and what is not found in one piece
is looked for in halves.
"""

from __future__ import annotations

import base64
import io
import itertools
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch import originals
from anabranch.errors import PictureError
from anabranch.types import SourceRecord

if TYPE_CHECKING:
    from anabranch.reading import Reader

PDF = "application/pdf"
# Twice the size on paper is sharp on a screen; a poster must not become a picture of gigabytes.
SCALE = 2.0
MOST_PIXELS_A_SIDE = 2_400
# What stands around a passage tells it from the same words elsewhere on the page.
AROUND = 160
# Letters that are looked for by themselves; fewer may stand on a page by chance.
LEAST_LETTERS = 12
MARKED = (255, 236, 92)


async def page_picture(
    reader: Reader,
    record: SourceRecord,
    file: Path | None,
    *,
    page: int,
    text: str,
    start: int | None,
    end: int | None,
) -> bytes:
    """Page ``page`` of a source as a PNG, ``text[start:end]`` of its extracted text marked.

    ``file`` is the source's original. Raises PictureError where there is no picture: of other kinds
    of files than PDF, of an original that is gone or is another one by now, of a page too many.
    """
    name = record.source
    if record.media_type != PDF:
        raise PictureError(
            f"{name!r} is no PDF file ({record.media_type}): only of those are there pictures. Its "
            "text can be read instead."
        )
    if file is None:
        raise PictureError(f"The file of {name!r} was not kept: there is no picture of its pages.")
    first = min(start or 0, len(text))
    last = min(max(end or 0, first), len(text))
    around = max(0, first - AROUND)
    shown = text[around : last + AROUND] if last > first else ""
    reply = await reader.picture(
        file, name, content_hash=record.content_hash,
        request={"page": page, "text": shown, "start": first - around, "end": last - around},
    )  # fmt: skip
    if "png" not in reply:
        raise PictureError(f"{name!r} has {reply['pages']} pages; there is no page {page}.")
    return base64.b64decode(reply["png"])


def original(folder: Path, record: SourceRecord) -> Path | None:
    """The file of a source: the one that was uploaded, or else where it was read from, by the folder
    of the knowledge base; None for a bare text."""
    if kept := originals.find(folder, record.source_id):
        return kept
    if record.location.startswith("text:"):
        return None
    return folder.parent / record.location  # an absolute location stays what it is


def draw(data: bytes, request: dict[str, Any]) -> dict[str, Any]:
    """The picture of page ``page`` as ``png`` (base64), or the number of ``pages`` if it has fewer.

    ``text`` is the passage between what stands around it: ``text[start:end]`` gets marked.
    """
    import pypdfium2

    document = _opened(pypdfium2, data, request["passwords"])
    if not 1 <= request["page"] <= len(document):
        return {"pages": len(document)}
    page = document[request["page"] - 1]
    scale = min(SCALE, MOST_PIXELS_A_SIDE / max(page.get_size()))
    bitmap = page.render(scale=scale)
    found = _boxes(page, request["text"], request["start"], request["end"])
    position = bitmap.get_posconv(page)
    corners = [
        (position.to_bitmap(box[0], box[3]), position.to_bitmap(box[2], box[1])) for box in found
    ]
    return {
        "png": base64.b64encode(_marked(bitmap.to_pil(), corners)).decode(),
        "marks": len(found),
    }


def _opened(pypdfium2: Any, data: bytes, passwords: Sequence[str]) -> Any:
    for password in [None, *passwords]:
        try:
            return pypdfium2.PdfDocument(data, password=password)
        except pypdfium2.PdfiumError as error:
            refused = error
    raise refused


def _boxes(page: Any, text: str, start: int, end: int) -> list[tuple[float, float, float, float]]:
    """A box (left, bottom, right, top, in points) for each line of the passage."""
    from pypdfium2 import raw

    text_page = page.get_textpage()
    letters = [chr(raw.FPDFText_GetUnicode(text_page, i)) for i in range(text_page.count_chars())]
    boxes: list[tuple[float, float, float, float]] = []
    for first, last in places("".join(letters), text, start, end):
        count = text_page.count_rects(first, last - first)
        boxes += [text_page.get_rect(number) for number in range(count)]
    return boxes


def _marked(picture: Any, corners: Sequence[Any]) -> bytes:
    from PIL import Image, ImageChops, ImageDraw

    page = picture.convert("RGB")
    if corners:
        ink = Image.new("RGB", page.size, (255, 255, 255))
        pen = ImageDraw.Draw(ink)
        for (left, top), (right, bottom) in corners:
            x, y = sorted((left, right)), sorted((top, bottom))
            pen.rectangle((x[0] - 2, y[0] - 2, x[1] + 2, y[1] + 2), fill=MARKED)
        page = ImageChops.multiply(page, ink)  # the letters stay as dark as they are
    written = io.BytesIO()
    page.save(written, "PNG", compress_level=6)
    return written.getvalue()


def places(page: str, text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Where ``text[start:end]`` stands in ``page``: spans in order, as far as it is found."""
    there, wanted = _squeezed(page), _squeezed(text)
    haystack, needle = ("".join(letter for letter, _ in side) for side in (there, wanted))
    found = {
        there[at + offset][1]
        for first, last, at in _pieces(haystack, needle)
        for offset in range(last - first)
        if start <= wanted[first + offset][1] < end
    }
    return _runs(sorted(found), there)


def _pieces(haystack: str, needle: str) -> Iterator[tuple[int, int, int]]:
    """Parts of ``needle`` that are in ``haystack``, as long as they go, each with its place there."""
    waiting, after = [(0, len(needle))], 0
    while waiting:
        first, last = waiting.pop()
        piece = needle[first:last]
        at = haystack.find(piece, after)
        if at < 0:
            at = haystack.find(piece)
        if piece and at >= 0:
            first, last, at = _stretched(haystack, needle, first, last, at)
            after = at + last - first
            yield first, last, at
        elif len(piece) >= 2 * LEAST_LETTERS:
            middle = (first + last) // 2
            waiting += [(middle, last), (first, middle)]


def _stretched(haystack: str, needle: str, first: int, last: int, at: int) -> tuple[int, int, int]:
    """A part that was found, with all letters before and behind it that are the same as well."""
    while first and at and needle[first - 1] == haystack[at - 1]:
        first, at = first - 1, at - 1
    while (
        last < len(needle)
        and at + last - first < len(haystack)
        and needle[last] == haystack[at + last - first]
    ):
        last += 1
    return first, last, at


def _squeezed(text: str) -> list[tuple[str, int]]:
    """Letters and digits alone, folded, each with its place in ``text``."""
    return [
        (letter, place)
        for place, written in enumerate(text)
        for letter in unicodedata.normalize("NFKC", written).casefold()
        if letter.isalnum()
    ]


def _runs(found: Sequence[int], there: Sequence[tuple[str, int]]) -> list[tuple[int, int]]:
    """Spans of the places in ``found``; only what is no letter may lie between two of a span."""
    following = {place: after for (_, place), (_, after) in itertools.pairwise(there)}
    spans: list[tuple[int, int]] = []
    for place in found:
        if spans and following.get(spans[-1][1] - 1) == place:
            spans[-1] = spans[-1][0], place + 1
        else:
            spans.append((place, place + 1))
    return spans
