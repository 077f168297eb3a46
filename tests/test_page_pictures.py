"""Where a passage stands on a page, whatever its line ends and hyphens."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anabranch.page_pictures import places

TEXT = "Annual leave is 30 days. It is taken in whole weeks, and asked for in writing."


def marked(page: str, text: str, start: int, end: int) -> list[str]:
    return [page[first:last] for first, last in places(page, text, start, end)]


def test_a_passage_is_found_where_it_stands() -> None:
    assert marked(f"Leave\n{TEXT}\nPage 3", TEXT, 7, 23) == ["leave is 30 days"]


def test_line_ends_hyphens_and_spaces_are_not_compared() -> None:
    page = "Annual\r\nleave is 30 days. It is ta\x02\r\nken in  whole weeks , and asked for in wri-\nting."
    assert marked(page, TEXT, 0, len(TEXT)) == [page[:-1]]


def test_of_the_same_words_twice_the_right_ones_are_marked() -> None:
    page = f"In Boston 14 days. Until March. In Berlin {TEXT[16:23]}. Until March."
    text = page
    second = text.rindex("Until")
    found = places(page, text, second, second + 11)
    assert found == [(second, second + 11)]


def test_a_passage_over_two_pages_is_marked_as_far_as_it_is_on_this_one() -> None:
    first, second = TEXT[:45], TEXT[45:]
    assert marked(first, TEXT, 0, len(TEXT)) == [first.rstrip()]
    assert marked(second, TEXT, 0, len(TEXT)) == [second.strip(" .")]


def test_columns_in_another_order_are_found_in_pieces() -> None:
    left, right = TEXT[:40], TEXT[40:]
    page = f"{right} Page 1 {left}"
    assert marked(page, TEXT, 0, len(TEXT)) == [right.strip(" ."), left.rstrip()]


def test_chinese_and_ligatures_are_compared_by_what_they_mean() -> None:
    assert marked("年假为三十\n天。", "年假为三十天。", 0, 7) == ["年假为三十\n天"]
    assert marked("The o\ufb03ce is closed", "The office is closed", 4, 10) == ["o\ufb03ce"]


def test_what_is_not_on_the_page_is_not_marked() -> None:
    assert marked("Nothing of the kind stands here.", TEXT, 0, len(TEXT)) == []
    assert marked(TEXT, TEXT, 5, 5) == []
    assert marked("", TEXT, 0, 9) == []


@given(st.text(max_size=200), st.text(max_size=200), st.integers(0, 200), st.integers(0, 200))
def test_spans_are_in_order_apart_and_on_the_page(
    page: str, text: str, start: int, end: int
) -> None:
    found = places(page, text, start, end)
    edges = [edge for span in found for edge in span]
    assert edges == sorted(edges)
    assert all(0 <= first < last <= len(page) for first, last in found)


@given(st.text(alphabet="abcdefg \n", min_size=1, max_size=200), st.data())
def test_every_letter_of_a_passage_of_the_page_is_marked(page: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(page)))
    end = data.draw(st.integers(start, len(page)))
    covered = {place for span in places(page, page, start, end) for place in range(*span)}
    assert {i for i in range(start, end) if page[i].isalnum()} <= covered
