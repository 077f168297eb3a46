"""Whatever the document: leaves tile it, levels nest, offsets hold."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.chunking import chunk
from anabranch.decoding import normalise
from anabranch.layout import lay_out, text_blocks
from anabranch.markup import markdown_blocks
from anabranch.types import Chunk, Document

_PIECES = st.sampled_from(
    [
        "The office gives thirty days of leave. ", "年假为三十天，可顺延。", "\n", "\n\n", "\n# Leave\n",
        "\n## Berlin\n\n", "word", " ", "\t", "e\u0301", "| a | b |\n| --- | --- |\n| c | d. e |\n",
        "x" * 700, "字" * 400, "\u3000", "😀", "- item\n", "3.5 e.g. Dr. Wang\n",
    ]
)  # fmt: skip
_TEXTS = st.one_of(st.text(max_size=300), st.lists(_PIECES, max_size=60).map("".join))


def _chunks(document: Document) -> list[Chunk]:
    return list(chunk(document, source_id="s", collection="c"))


def _documents() -> st.SearchStrategy[Document]:
    def made(pages: list[str], paged: bool) -> Document:
        if paged:
            layout = lay_out((), pages=[text_blocks(page) for page in pages])
        else:
            layout = lay_out(markdown_blocks("\n".join(pages)))
        return Document(
            source="a", title="T", text=layout.text, content_hash="h", media_type="text/plain",
            pages=layout.pages, headings=layout.headings,
            metadata={"tables": [list(table) for table in layout.tables]},
        )  # fmt: skip

    return st.builds(made, st.lists(_TEXTS, max_size=5), st.booleans())


@given(st.text())
@settings(deadline=None)
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@given(_documents())
@settings(deadline=None, max_examples=60)
def test_pages_and_headings_stand_where_they_say(document: Document) -> None:
    assert normalise(document.text) == document.text
    for before, after in pairwise(document.pages):
        assert before.start <= before.end <= after.start
    for page in document.pages:
        assert page.end <= len(document.text)
    for heading in document.headings:
        assert document.text[heading.start : heading.end].strip()
    for start, end, _ in document.metadata["tables"]:
        assert document.text[start:end].strip()


@given(_documents())
@settings(deadline=None, max_examples=60)
def test_leaves_hold_every_visible_character_once(document: Document) -> None:
    leaves = [one for one in _chunks(document) if one.level == 3]
    for before, after in pairwise(leaves):
        assert before.end <= after.start
    covered = {at for leaf in leaves for at in range(leaf.start, leaf.end)}
    visible = {at for at, character in enumerate(document.text) if not character.isspace()}
    assert visible <= covered


@given(_documents())
@settings(deadline=None, max_examples=60)
def test_every_chunk_is_its_span_and_lies_in_one_parent(document: Document) -> None:
    made = _chunks(document)
    by_id = {one.chunk_id: one for one in made}
    assert len(by_id) == len(made)
    for one in made:
        assert one.text == document.text[one.start : one.end] == one.text.strip() != ""
        if one.level > 1:
            parent = by_id[one.parent_id or ""]
            assert parent.level == one.level - 1
            assert parent.start <= one.start
            assert one.end <= parent.end


@given(_documents())
@settings(deadline=None, max_examples=60)
def test_no_leaf_is_larger_than_the_embedder_reads(document: Document) -> None:
    for leaf in _chunks(document):
        if leaf.level == 3:
            chinese = sum("\u4e00" <= character <= "\u9fff" for character in leaf.text)
            assert chinese + (len(leaf.text) - chinese) / 4 < 300
