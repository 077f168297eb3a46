"""Chunks are cut where a reader would cut, know where they stand, and nest."""

from itertools import pairwise

import pytest

from anabranch.chunking import chunk, text_hash
from anabranch.layout import Layout, lay_out, text_blocks
from anabranch.markup import markdown_blocks
from anabranch.tabular import table_blocks
from anabranch.types import PAGE_SPANS, Chunk, Document, Page


def document(layout: Layout, *, title: str = "", source: str = "a.md", sha: str = "h") -> Document:
    return Document(
        source=source, title=title, text=layout.text, content_hash=sha, media_type="text/plain",
        pages=layout.pages, headings=layout.headings,
        metadata={"tables": [list(table) for table in layout.tables], "authors": ["A"]},
    )  # fmt: skip


def markdown(text: str, *, title: str = "") -> Document:
    return document(lay_out(markdown_blocks(text)), title=title)


def paged(*pages: str) -> Document:
    return document(lay_out((), pages=[text_blocks(page) for page in pages]))


def chunks(source: Document, level: int | None = None) -> list[Chunk]:
    made = chunk(source, source_id="s1", collection="c")
    return [one for one in made if level is None or one.level == level]


ENGLISH = "The {} office gives its staff thirty days of leave in every year of service. "
CHINESE = "{}办公室的员工每年享有三十天带薪年假，未休完的可以顺延到次年三月。"


def test_a_blank_document_has_no_chunks() -> None:
    assert chunks(paged("", " ")) == []


def test_a_short_document_is_one_chunk_on_each_level() -> None:
    made = chunks(markdown("Thirty days."))
    assert [(one.level, one.text) for one in made] == [
        (1, "Thirty days."), (2, "Thirty days."), (3, "Thirty days."),
    ]  # fmt: skip


def test_levels_have_their_sizes() -> None:
    source = markdown("\n\n".join(ENGLISH.format(n) * 3 for n in range(60)))
    for level, target in ((1, 2400), (2, 1200), (3, 600)):
        sizes = [len(one.text) for one in chunks(source, level)]
        assert target * 0.45 < min(sizes)
        assert max(sizes) <= target * 1.2


def test_chinese_leaves_fit_the_embedder() -> None:
    source = markdown("".join(CHINESE.format(n) for n in range(200)))
    sizes = [len(one.text) for one in chunks(source, 3)]
    assert max(sizes) <= 275
    assert min(sizes) > 120


def test_chinese_text_without_spaces_is_cut_after_sentences() -> None:
    source = markdown("".join(CHINESE.format(n) for n in range(100)))
    assert all(one.text.endswith("。") for one in chunks(source, 3))


def test_a_leaf_never_spans_two_sections() -> None:
    source = markdown("# Leave\n\n## Berlin\n\nThirty days.\n\n## Boston\n\nTwenty days.\n")
    assert [one.text for one in chunks(source, 3)] == [
        "# Leave\n\n## Berlin\n\nThirty days.", "## Boston\n\nTwenty days.",
    ]  # fmt: skip


def test_a_heading_stays_with_the_text_that_follows_on_the_next_page() -> None:
    layout = lay_out((), pages=[markdown_blocks(ENGLISH * 3 + "\n\n# Travel"),
                                markdown_blocks("Book early. " * 12)])  # fmt: skip
    last = chunks(document(layout), 3)[-1]
    assert last.text.startswith("# Travel\n\nBook early.")
    assert last.page == 1


def test_the_context_names_title_and_headings() -> None:
    source = markdown(
        f"# Leave policy\n\n{ENGLISH * 12}\n\n## Berlin office\n\n{ENGLISH * 12}\n\n"
        "## Boston office\n\nTwenty days.",
        title="Handbook",
    )
    leaves = chunks(source, 3)
    assert leaves[1].context == "Handbook > Leave policy"
    assert leaves[-2].context == "Handbook > Leave policy > Berlin office"
    assert leaves[-1].context == "Handbook > Leave policy > Boston office"


def test_a_title_that_is_the_first_heading_is_named_once() -> None:
    source = markdown("# Leave policy\n\n## Berlin\n\nThirty days.", title="Leave policy")
    assert chunks(source, 3)[0].context == "Leave policy > Berlin"


def test_column_names_travel_with_later_rows_only() -> None:
    rows = "".join(f"City {n},{n} days,valid in the whole of the year\n" for n in range(60))
    source = document(lay_out(table_blocks("City,Leave,Note\n" + rows)), title="Leave")
    first, *later = chunks(source, 3)
    assert first.text.startswith("| City | Leave | Note |")
    assert first.context == "Leave"
    assert later
    assert {one.context for one in later} == {"Leave\nCity | Leave | Note"}
    assert all(one.text.startswith("| City ") and one.text.endswith("|") for one in later)


def test_a_table_row_of_several_sentences_stays_whole() -> None:
    row = "Berlin,Ask first. Then book. Then go. " + "It is a long way. " * 8
    source = document(lay_out(table_blocks("City,Note\n" + f"{row}\n" * 12)))
    assert all(one.text.count("Ask first.") == one.text.count("\n") + 1
               for one in chunks(source, 3)[1:])  # fmt: skip


def test_pages_are_not_crossed_and_chunks_know_theirs() -> None:
    pages = [ENGLISH.format(n) * 10 for n in range(3)]
    source = paged(*pages)
    for leaf in chunks(source, 3):
        page = source.pages[(leaf.page or 0) - 1]
        assert page.start <= leaf.start
        assert leaf.end <= page.end
    assert {leaf.page for leaf in chunks(source, 3)} == {1, 2, 3}


def test_a_slide_of_its_own_is_a_leaf_but_a_page_number_is_not() -> None:
    slide = "Perfect hashing needs a fixed set of keys. " * 4
    source = paged(slide, "7", slide)
    assert [leaf.page for leaf in chunks(source, 3)] == [1, 3]
    assert chunks(source, 3)[0].text.endswith("\n\n7")


def test_empty_pages_do_not_shift_the_numbers() -> None:
    source = paged("", ENGLISH * 3, "", ENGLISH * 3)
    assert [leaf.page for leaf in chunks(source, 3)] == [2, 4]


def test_a_format_without_pages_has_none() -> None:
    assert chunks(markdown("x"), 3)[0].page is None


def test_a_monstrous_word_is_cut_between_whole_characters() -> None:
    source = markdown("x\u0327" * 2_000)  # a base letter with a combining cedilla that has no NFC
    leaves = chunks(source, 3)
    assert len(leaves) > 3
    assert all(not leaf.text.startswith("\u0327") for leaf in leaves)


def test_a_monstrous_sentence_is_cut_at_white_space() -> None:
    leaves = chunks(markdown("word " * 1_000), 3)
    assert all(set(leaf.text.split()) == {"word"} for leaf in leaves)


def test_no_leaf_is_a_tiny_tail() -> None:
    leaves = chunks(markdown(ENGLISH * 8 + "Short end."), 3)
    assert min(len(leaf.text) for leaf in leaves) > 200


def test_every_chunk_lies_in_its_parent() -> None:
    made = chunks(markdown("\n\n".join(ENGLISH.format(n) * 4 for n in range(30))))
    by_id = {one.chunk_id: one for one in made}
    assert len(by_id) == len(made)
    for one in made:
        if one.level == 1:
            assert one.parent_id is None
            continue
        parent = by_id[one.parent_id or ""]
        assert parent.level == one.level - 1
        assert parent.start <= one.start
        assert one.end <= parent.end


def test_chunks_come_level_by_level_in_document_order() -> None:
    made = chunks(markdown("\n\n".join(ENGLISH.format(n) * 4 for n in range(30))))
    assert [one.level for one in made] == sorted(one.level for one in made)
    for before, after in pairwise(made):
        if before.level == after.level:
            assert before.chunk_index + 1 == after.chunk_index
            assert before.end <= after.start


@pytest.mark.parametrize("change", ["collection", "source_id", "source", "sha"])
def test_ids_are_stable_and_differ_by_place_and_version(change: str) -> None:
    layout = lay_out(text_blocks("Thirty days."))
    names = {"collection": "c", "source_id": "s", "source": "a/readme.md", "sha": "1"}

    def identity(**values: str) -> str:
        source = document(layout, source=values["source"], sha=values["sha"])
        return chunk(
            source, source_id=values["source_id"], collection=values["collection"]
        )[-1].chunk_id  # fmt: skip

    assert identity(**names) == identity(**names)
    assert identity(**names) != identity(**{**names, change: "other"})


def test_the_content_hash_ignores_white_space_only() -> None:
    assert text_hash("thirty  days\n") == text_hash("thirty days")
    assert text_hash("thirty days") != text_hash("Thirty days")


def test_chunks_carry_metadata_and_permissions_but_no_table_spans() -> None:
    source = document(lay_out(table_blocks("a,b\nc,d\n")))
    [*_, leaf] = chunk(source, source_id="s", collection="c", allowed=("hr",))
    assert dict(leaf.metadata) == {"authors": ["A"]}
    assert leaf.allowed == ("hr",)


def test_a_page_that_starts_inside_white_space_is_found() -> None:
    source = Document(
        source="a", title="", text="one\n\ntwo", content_hash="h", media_type="t",
        pages=(Page(1, 0, 3), Page(2, 3, 8)),
    )  # fmt: skip
    assert chunks(source, 3)[0].page == 1


def test_a_chunk_over_two_pages_says_what_stands_on_each() -> None:
    text = "Contract of 2026.\nThe notice period is six weeks."
    pages = (Page(1, 0, 18), Page(2, 18, len(text)))
    document = Document("c.pdf", "", text, "hash", "application/pdf", pages=pages)
    [leaf] = [c for c in chunk(document, source_id="s", collection="default") if c.level == 3]
    assert leaf.page == 1
    assert leaf.metadata[PAGE_SPANS] == [[1, 0, 18], [2, 18, len(text)]]
