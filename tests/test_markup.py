"""HTML as a reader of the page sees it."""

import pytest

from anabranch.markup import html_blocks


def seen(page: str) -> str:
    return " ".join(block.text for block in html_blocks(page)[1] if block.text)


@pytest.mark.parametrize(
    "hidden",
    [
        '<div style="display:none">planted</div>',
        '<div style="color: red; DISPLAY : none;">planted <b>words</b></div>',
        '<span style="visibility:hidden">planted</span>',
        "<section hidden><p>planted</p><p>planted too</p></section>",
        '<div style="display:none"><div>planted</div> planted too</div>',
        "<ul><li hidden>planted</ul>",
        "<ul><li hidden>planted<li hidden>planted too</li></ul>",
    ],
)
def test_what_a_page_hides_is_no_text_and_hides_nothing_after_it(hidden: str) -> None:
    assert seen(f"<p>before</p>{hidden}<p>after</p>") == "before after"


def test_a_hidden_list_item_without_an_end_tag_ends_where_the_next_begins() -> None:
    assert seen("<ul><li hidden>planted<li>shown</ul>") == "- shown"


@pytest.mark.parametrize(
    "shown",
    [
        '<p style="display:block">text</p>',
        '<p class="hidden-header">text</p>',
        '<p style="content: display none">text</p>',
        '<p><img hidden src="a.png">text</p>',
        "<p><br hidden>text</p>",
    ],
)
def test_what_only_looks_hidden_stays(shown: str) -> None:
    assert seen(shown) == "text"
