"""What a foreign retriever gave: read as text and numbers of a stranger, never believed further."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.chunking import chunk as cut_document
from anabranch.chunking import text_hash
from anabranch.decoding import normalise
from anabranch.foreign_passages import (
    MOST_CHARACTERS,
    PARTS_KEPT,
    normal_score,
    read_passages,
)
from anabranch.types import Document, LegResult


@dataclass
class Given:
    """A document as LangChain has it, or anything that pretends to be one."""

    page_content: Any = "Leave is 30 days."
    metadata: Any = field(default_factory=dict)
    id: Any = None


def read(*documents: Any, question: str = "leave", limit: int = 10) -> LegResult:
    return read_passages(list(documents), question, name="web", limit=limit)


def sentences(count: int, about: str = "The weather was fine") -> str:
    return " ".join(f"{about} on day {number} of that year." for number in range(count))


def test_a_document_becomes_a_chunk_with_its_place() -> None:
    leg = read(Given(metadata={"source": "a/b.pdf", "title": "Leave", "page_number": 3}))
    [hit] = leg.hits
    assert (hit.chunk.collection, hit.chunk.source, hit.chunk.title) == (
        "foreign:web", "a/b.pdf", "Leave",
    )  # fmt: skip
    assert hit.chunk.page == 3
    assert hit.chunk.text == "Leave is 30 days."
    assert hit.chunk.chunk_id.startswith("foreign:web:")


@pytest.mark.parametrize("key", ["source", "url", "link", "file_path", "file_name"])
def test_a_source_is_found_under_the_usual_keys(key: str) -> None:
    assert read(Given(metadata={key: "place"})).hits[0].chunk.source == "place"


@pytest.mark.parametrize(
    ("metadata", "page"),
    [
        ({"page": 4}, 4), ({"page": "4"}, 4), ({"page": 0}, None), ({"page": -1}, None),
        ({"page": True}, None), ({"page": 2.5}, None), ({"page": "iv"}, None), ({"page": 10**9}, None),
        ({"page": 0, "page_label": "1"}, 1), ({"page": 6, "page_number": 7}, 7), ({}, None),
    ],
)  # fmt: skip
def test_a_page_counts_from_one_or_is_not_known(metadata: Any, page: int | None) -> None:
    assert read(Given(metadata=metadata)).hits[0].chunk.page == page


def test_offsets_count_in_the_normalised_text_that_was_given() -> None:
    raw = " \u200bLeave\u00a0is 30 days.\r\n\x1b[31mNo more.\x00 "
    [hit] = read(Given(raw)).hits
    assert hit.chunk.text == normalise(raw)[hit.chunk.start : hit.chunk.end]
    assert "\x1b" not in hit.chunk.text
    assert "\x00" not in hit.chunk.text


def test_titles_and_sources_are_one_clean_line_of_bounded_length() -> None:
    [hit] = read(Given(metadata={"source": "a\nb\x1b]0;x\x07" + "c" * 9_999, "title": ["no"]})).hits
    assert "\n" not in hit.chunk.source
    assert "\x1b" not in hit.chunk.source
    assert len(hit.chunk.source) == 500
    assert hit.chunk.title == ""


def test_what_has_no_id_goes_by_its_content_and_an_id_alone_says_nothing() -> None:
    same = read(Given("one", id="7"), Given("two", id="7"), Given("one"), Given("one")).hits
    ids = [hit.chunk.chunk_id for hit in same]
    assert len(ids) == len(set(ids)) == 3
    assert [h.chunk.chunk_id for h in read(Given("one")).hits] == ids[2:]


@pytest.mark.parametrize("found", [None, "a text", b"bytes", 7, {"page_content": "x"}])
def test_what_is_no_list_is_a_failure_and_not_empty(found: Any) -> None:
    with pytest.raises(TypeError, match=type(found).__name__):
        read_passages(found, "leave", name="web", limit=5)


def test_items_without_text_are_left_out_and_counted() -> None:
    leg = read(Given(None), Given(3), Given(" \n\u200b"), object(), "text", Given("real"))
    assert [hit.chunk.text for hit in leg.hits] == ["real"]
    assert [item.reason for item in leg.left_out] == ["5 without readable text"]


def test_of_thousands_of_documents_only_the_first_are_read() -> None:
    leg = read(*(Given(f"text {number}") for number in range(5_000)), limit=3)
    assert [hit.chunk.text for hit in leg.hits] == ["text 0", "text 1", "text 2"]
    assert [item.reason for item in leg.left_out] == ["4997 beyond the first 3"]


# ---------------------------------------------------------------------------------------- length


def test_a_long_passage_is_cut_at_sentences_and_its_telling_parts_are_kept() -> None:
    text = sentences(60) + " Annual leave is 30 days for everyone. " + sentences(60)
    leg = read(Given(text), question="How long is annual leave?")
    assert 1 <= len(leg.hits) <= PARTS_KEPT
    assert "Annual leave is 30 days for everyone." in leg.hits[0].chunk.text
    for hit in leg.hits:
        assert hit.chunk.text == normalise(text)[hit.chunk.start : hit.chunk.end]
        assert hit.chunk.text.endswith(".")
    assert leg.left_out[0].reason.startswith("length: ")


def test_a_document_of_megabytes_is_read_in_part_and_says_so() -> None:
    leg = read(Given(sentences(200_000)))
    assert leg.hits
    assert "characters at the end" in leg.left_out[0].reason
    assert all(hit.chunk.end <= MOST_CHARACTERS for hit in leg.hits)


def test_a_text_without_any_sentence_end_is_cut_too() -> None:
    leg = read(Given("x" * 500_000))
    assert leg.hits
    assert all(len(hit.chunk.text) < 1_000 for hit in leg.hits)


def test_a_long_chinese_passage_is_cut_where_the_encoder_would_stop() -> None:
    text = "今天天气很好。" * 80 + "员工每年有三十天年假。" + "明天也是晴天。" * 80
    leg = read(Given(text), question="年假有多少天？")
    assert "三十天年假" in leg.hits[0].chunk.text
    assert len(leg.hits[0].chunk.text) < len(text) / 2


def test_a_part_equals_the_leaf_that_our_own_store_would_have() -> None:
    text = sentences(80)
    ours = {
        leaf.content_hash
        for leaf in cut_document(
            Document("a.txt", "", text, "h", "text/plain"), source_id="s", collection="default"
        )
        if leaf.level == 3
    }
    assert {hit.chunk.content_hash for hit in read(Given(text)).hits} <= ours
    assert read(Given("Short.")).hits[0].chunk.content_hash == text_hash("Short.")


# ---------------------------------------------------------------------------------------- scores


def heights(*scores: Any, key: str = "score") -> list[float]:
    documents = (Given(f"text {at}", {key: score}) for at, score in enumerate(scores))
    return [hit.score for hit in read(*documents, limit=50).hits]


def by_rank(count: int) -> list[float]:
    return [normal_score(rank) for rank in range(1, count + 1)]


@pytest.mark.parametrize(
    "odd",
    [math.nan, math.inf, -0.1, True, "0.5", None, [1], 10**400, np.bool_(True), 1j],
    ids=repr,
)
def test_what_is_no_score_leaves_the_ranks(odd: Any) -> None:
    assert heights(0.9, odd, 0.1) == by_rank(3)


@pytest.mark.parametrize("key", ["score", "relevance_score", "_score"])
def test_scores_say_how_far_apart_the_hits_of_their_own_list_are(key: str) -> None:
    close = heights(0.9, 0.89, 0.1, key=key)
    assert close[0] == by_rank(3)[0]
    assert close[2] == pytest.approx(by_rank(3)[2])
    assert close[0] - close[1] < close[1] - close[2]


def test_scores_of_numpy_count_and_their_scale_does_not() -> None:
    small = heights(*np.array([0.5, 0.25, 0.0], dtype=np.float32))
    assert small == pytest.approx(heights(5_000, 2_500, 0))


def test_a_list_in_another_order_than_its_scores_is_believed_in_its_order() -> None:
    assert heights(0.1, 0.5, 0.9) == by_rank(3)


def test_equal_scores_are_ranks() -> None:
    assert heights(1.0, 1.0, 1.0) == by_rank(3)


@given(st.lists(st.floats() | st.integers() | st.booleans() | st.none() | st.text(), max_size=12))
def test_whatever_the_scores_every_document_is_kept_in_order_with_a_finite_height(
    scores: list[Any],
) -> None:
    found = heights(*scores)
    assert len(found) == len(scores)
    assert all(math.isfinite(height) for height in found)
    assert found == sorted(found, reverse=True)
    assert all(height <= normal_score(1) + 1e-9 for height in found)


def test_a_list_of_one_stands_as_high_as_the_first_of_many() -> None:
    assert heights(0.2) == heights(*([None] * 20))[:1]
