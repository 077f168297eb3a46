"""Leaves become their parent where they are most of it; what is contained goes."""

from __future__ import annotations

from typing import Any

from anabranch.merging import (
    ancestors_to_fetch,
    drop_contained,
    drop_repeats,
    join_neighbours,
    merge_to_parents,
    parents_to_fetch,
)
from anabranch.types import Chunk, Passage
from fakes import chunk, passage

PARENT = chunk("a" * 100, start=0, level=2, chunk_id="parent", parent_id="grand")


def leaf(start: int, end: int, **changes: Any) -> Passage:
    item = chunk(
        "a" * (end - start), start=start, chunk_index=start, parent_id="parent",
        chunk_id=f"leaf{start}",
    )  # fmt: skip
    return passage(chunk=item, **changes)


def ids(passages: list[Passage]) -> list[str]:
    return [item.chunk.chunk_id for item in passages]


def stranger() -> Passage:
    return passage(chunk=chunk("Something else.", "other.md", chunk_id="stranger"))


def test_siblings_that_make_up_most_of_their_parent_become_it() -> None:
    merged = merge_to_parents([leaf(0, 40), stranger(), leaf(40, 80)], {"parent": PARENT})
    assert ids(merged) == ["parent", "stranger"]
    assert merged[0].merged_from == ("leaf0", "leaf40")


def test_two_short_leaves_of_a_long_parent_stay_leaves() -> None:
    passages = [leaf(0, 10), leaf(50, 60)]
    assert merge_to_parents(passages, {"parent": PARENT}) == passages


def test_one_long_leaf_alone_stays_a_leaf() -> None:
    passages = [leaf(0, 90)]
    assert parents_to_fetch(passages) == []
    assert merge_to_parents(passages, {"parent": PARENT}) == passages


def test_a_parent_that_is_missing_keeps_its_leaves() -> None:
    passages = [leaf(0, 50), leaf(50, 100)]
    assert merge_to_parents(passages, {}) == passages


def test_a_parent_has_the_finders_and_places_of_all_its_leaves() -> None:
    merged = merge_to_parents(
        [leaf(0, 50, found_by=("q1",)), leaf(50, 100, found_by=("s2",))], {"parent": PARENT}
    )
    assert merged[0].found_by == ("q1", "s2")
    # its own place first, then those of its leaves
    assert [(place.start, place.end) for place in merged[0].provenance] == [
        (0, 100),
        (0, 50),
        (50, 100),
    ]


def test_a_leaf_that_stood_for_a_copy_keeps_its_own_id_when_it_is_merged() -> None:
    copied = leaf(0, 50, merged_from=("copy-in-b",))
    [merged] = merge_to_parents([copied, leaf(50, 100)], {"parent": PARENT})
    assert merged.merged_from == ("leaf0", "copy-in-b", "leaf50")


def test_parents_are_fetched_for_siblings_only_in_order() -> None:
    other = [
        passage(chunk=chunk("b" * 9, "b.md", chunk_id=f"b{i}", start=i * 10, parent_id="p2"))
        for i in range(2)
    ]
    assert parents_to_fetch([other[0], leaf(0, 50), stranger(), leaf(50, 100), other[1]]) == [
        "p2",
        "parent",
    ]


def wide() -> Passage:
    return passage(chunk=PARENT, found_by=("q1",))


def test_a_leaf_inside_a_parent_that_another_branch_found_goes() -> None:
    [kept] = drop_contained([wide(), leaf(10, 20, found_by=("s1",))])
    assert kept.chunk is PARENT
    assert kept.found_by == ("q1", "s1")
    assert kept.merged_from == ("leaf10",)


def test_the_wider_passage_takes_the_better_place() -> None:
    first, last = stranger(), passage(chunk=chunk("Last.", "z.md"))
    kept = drop_contained([leaf(10, 20), first, leaf(30, 40), wide(), last])
    assert [p.chunk for p in kept] == [PARENT, first.chunk, last.chunk]
    assert set(kept[0].merged_from) == {"leaf10", "leaf30"}


def test_the_same_offsets_in_another_source_are_not_contained() -> None:
    elsewhere = passage(chunk=chunk("a" * 10, "other.md", start=10))
    assert len(drop_contained([wide(), elsewhere])) == 2


def test_spans_that_only_overlap_both_stay() -> None:
    assert len(drop_contained([leaf(0, 50), leaf(40, 90)])) == 2


def test_nothing_that_is_given_changes() -> None:
    given = [leaf(0, 50), leaf(50, 100)]
    before = tuple(given)
    parents: dict[str, Chunk] = {"parent": PARENT}
    merge_to_parents(given, parents)
    drop_contained(given)
    assert (tuple(given), parents) == (before, {"parent": PARENT})


# --------------------------------------------------------------------------------------- neighbours

TEXT = "One is here.\n\nTwo is here. Three is here."
GRAND = chunk(TEXT, level=1, chunk_id="grand")
LEFT = chunk(TEXT[:12], level=2, chunk_id="left", parent_id="grand")
RIGHT = chunk(TEXT[14:], start=14, level=2, chunk_id="right", parent_id="grand")
ABOVE = {"left": LEFT, "right": RIGHT, "grand": GRAND}


def part(start: int, end: int, parent: str, **changes: Any) -> Passage:
    item = chunk(
        TEXT[start:end], start=start, chunk_id=f"part{start}", parent_id=parent, page=start + 1
    )
    return passage(chunk=item, **changes)


ONE, TWO, THREE = part(0, 12, "left"), part(14, 26, "right"), part(27, 41, "right")


def test_neighbours_are_one_passage_of_the_text_between_them() -> None:
    [joined] = join_neighbours([TWO, ONE], ABOVE)
    assert (joined.chunk.text, joined.chunk.start, joined.chunk.end) == (TEXT[:26], 0, 26)
    assert joined.chunk.page == 1


def test_joined_neighbours_are_no_stored_chunk_and_name_those_that_they_were() -> None:
    [joined] = join_neighbours([TWO, ONE], ABOVE)
    [again] = join_neighbours([ONE, TWO], ABOVE)
    assert joined.merged_from == ("part14", "part0")
    assert joined.chunk.chunk_id not in {*joined.merged_from, *ABOVE}
    assert joined.chunk.chunk_id == again.chunk.chunk_id
    assert [(place.start, place.end) for place in joined.provenance] == [(0, 26), (14, 26), (0, 12)]


def test_a_run_of_neighbours_is_one_passage_at_the_best_place() -> None:
    joined = join_neighbours([stranger(), THREE, ONE, TWO], ABOVE)
    assert joined[0].chunk.chunk_id == "stranger"
    assert joined[1].chunk.text == TEXT
    assert {"part0", "part14", "part27"} <= set(joined[1].merged_from)


def test_what_is_above_neighbours_is_asked_for_level_by_level() -> None:
    assert ancestors_to_fetch([ONE, TWO], {}) == ["left", "right"]
    assert ancestors_to_fetch([ONE, TWO], {"left": LEFT, "right": RIGHT}) == ["grand"]
    assert ancestors_to_fetch([ONE, TWO], ABOVE) == []


def test_passages_with_text_between_them_stay_two() -> None:
    assert join_neighbours([ONE, THREE], ABOVE) == [ONE, THREE]


def test_neighbours_without_a_stored_parent_stay_two() -> None:
    assert join_neighbours([ONE, TWO], {}) == [ONE, TWO]


# ------------------------------------------------------------------------------------------ repeats


def headed(heading: str, text: str, source: str) -> Passage:
    return passage(chunk=chunk(f"## {heading}\n\n{text}", source, context=f"Book > {heading}"))


def test_the_same_sentence_under_two_headings_is_one_with_both_places() -> None:
    first = headed("Leave", "Annual leave is 30 days.", "a.md")
    second = headed("Holidays", "Annual leave is 30 days.", "b.md")
    [kept] = drop_repeats([first, second])
    assert kept.chunk == first.chunk
    assert [place.source for place in kept.provenance] == ["a.md", "b.md"]


def test_a_part_of_what_ranks_higher_goes_and_more_of_it_stays() -> None:
    less = headed("Leave", "Annual leave is 30 days.", "a.md")
    more = headed("Leave", "Annual leave is 30 days. It ends in March.", "b.md")
    assert len(drop_repeats([more, less])) == 1
    assert len(drop_repeats([less, more])) == 2


def test_sentences_that_differ_in_a_number_are_two() -> None:
    rows = [headed("Leave", f"Annual leave is {days} days.", f"{days}.md") for days in (28, 30)]
    assert drop_repeats(rows) == rows


def test_rows_that_share_a_sentence_stay_apart() -> None:
    rows = [
        headed("Prices", f"All prices include tax.\n- {name}\n- {name}s", f"{name}.md")
        for name in ("Heron", "Plover")
    ]
    assert drop_repeats(rows) == rows
