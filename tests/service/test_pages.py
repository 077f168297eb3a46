"""Pictures of pages and texts of sources over HTTP."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from PIL import Image

from anabranch.keys import KeyBook
from anabranch.knowledge_base import KnowledgeBase
from anabranch.page_pictures import MARKED
from anabranch.service.app import create_app
from anabranch.settings import Settings
from pdf_files import pdf
from service.servers import serving

FIRST, SECOND = "Annual leave is 30 days a year.", "The notice period is three months."


@pytest.fixture
def base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "rules.pdf").write_bytes(pdf(FIRST, SECOND))
    (docs / "notes.md").write_text("# Notes\n\nThe canteen opens at noon.")
    with KnowledgeBase.open(tmp_path / "kb", settings=Settings(threads=1)) as opened:
        opened.add(docs)
        yield opened


@pytest.fixture
def client(base: KnowledgeBase) -> Iterator[httpx.Client]:
    app = create_app(Settings(kb=base.path), knowledge_base=base)
    with serving(app) as address, httpx.Client(base_url=address, timeout=60) as client:
        yield client


def source_id(base: KnowledgeBase, name: str) -> str:
    return next(r.source_id for r in base.sources() if r.source.endswith(name))


def picture(reply: httpx.Response) -> Image.Image:
    assert (reply.status_code, reply.headers["content-type"]) == (200, "image/png")
    return Image.open(io.BytesIO(reply.content)).convert("RGB")


def mark(drawn: Image.Image) -> tuple[int, int, int, int] | None:
    """The box of what has the colour of the marker."""
    width = drawn.width
    places = [i for i, pixel in enumerate(drawn.get_flattened_data()) if pixel == MARKED]
    if not places:
        return None
    columns = [place % width for place in places]
    return min(columns), places[0] // width, max(columns), places[-1] // width


def test_a_passage_is_marked_where_it_stands(base: KnowledgeBase, client: httpx.Client) -> None:
    rules = source_id(base, "rules.pdf")
    text = base.source_text(rules)
    start = text.index("three months")
    address = f"/v1/sources/{rules}/pages/2.png"
    drawn = picture(client.get(address, params={"start": start, "end": start + 12}))
    box = mark(drawn)
    whole = mark(picture(client.get(address, params={"start": text.index("The"), "end": 9**9})))
    assert drawn.size == (1224, 1584)
    assert box is not None
    assert whole is not None
    # The line begins at 72 points of 612 and stands at 700 of 792; the picture has twice as many.
    assert whole[0] == pytest.approx(144, abs=4)
    assert box[0] > whole[0] + 200
    assert (box[1], box[3]) == pytest.approx((164, 190), abs=12)


def test_nothing_is_marked_without_a_passage_or_on_another_page(
    base: KnowledgeBase, client: httpx.Client
) -> None:
    rules = source_id(base, "rules.pdf")
    start = base.source_text(rules).index(SECOND)
    assert mark(picture(client.get(f"/v1/sources/{rules}/pages/1.png"))) is None
    passage = {"start": start, "end": start + len(SECOND)}
    assert mark(picture(client.get(f"/v1/sources/{rules}/pages/1.png", params=passage))) is None


@pytest.mark.parametrize(
    ("name", "page", "why"),
    [("rules.pdf", 3, "has 2 pages"), ("notes.md", 1, "no PDF file"), ("rules.pdf", 2**31 - 1, "2 pages")],
)  # fmt: skip
def test_a_page_without_a_picture_says_why(
    base: KnowledgeBase, client: httpx.Client, name: str, page: int, why: str
) -> None:
    reply = client.get(f"/v1/sources/{source_id(base, name)}/pages/{page}.png")
    assert reply.status_code == 404
    assert reply.json()["type"] == "urn:anabranch:error:PictureError"
    assert why in reply.json()["detail"]


@pytest.mark.parametrize("page", ["0", "-1", "one", str(2**31)])
def test_a_page_that_no_document_has_is_refused(
    base: KnowledgeBase, client: httpx.Client, page: str
) -> None:
    reply = client.get(f"/v1/sources/{source_id(base, 'rules.pdf')}/pages/{page}.png")
    assert reply.status_code == 422


def test_a_file_that_has_changed_or_gone_is_not_shown(
    base: KnowledgeBase, client: httpx.Client, tmp_path: Path
) -> None:
    """What stands at a path by now need not be what was added, or for everybody."""
    address = f"/v1/sources/{source_id(base, 'rules.pdf')}/pages/1.png"
    file = tmp_path / "docs" / "rules.pdf"
    file.write_bytes(pdf("The salary of the director is 190000 euros."))
    changed = client.get(address)
    file.unlink()
    gone = client.get(address)
    for reply, why in ((changed, "has changed"), (gone, "is gone")):
        assert (reply.status_code, why in reply.json()["detail"]) == (404, True)
        assert str(tmp_path) not in reply.text


def test_the_text_of_a_source_comes_whole_or_in_part(
    base: KnowledgeBase, client: httpx.Client
) -> None:
    notes = source_id(base, "notes.md")
    text = base.source_text(notes)
    address = f"/v1/sources/{notes}/text"
    assert client.get(address).json()["text"] == text
    part = client.get(address, params={"start": 3, "end": 8}).json()
    assert (part["text"], part["start"], part["end"]) == (text[3:8], 3, 8)
    beyond = client.get(address, params={"start": 10**6}).json()
    assert (beyond["text"], beyond["start"], beyond["end"]) == ("", len(text), len(text))


def test_out_of_scope_there_is_no_such_source(base: KnowledgeBase, client: httpx.Client) -> None:
    rules = source_id(base, "rules.pdf")
    key, _ = KeyBook(base.path).create("ann", collections=["elsewhere"])
    for path in ("pages/1.png", "pages/9.png", "text"):
        reply = client.get(
            f"/v1/sources/{rules}/{path}", headers={"Authorization": f"Bearer {key}"}
        )
        assert reply.status_code == 404
        assert reply.json()["type"] == "urn:anabranch:error:SourceNotFoundError"
