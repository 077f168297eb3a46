"""That the best rows by BM25 are those of a plain sum over all rows, to the last bit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.stores.postings import BM25_B, BM25_K1, SHORT_LIST, Flags, Postings, no_postings


def postings_of(texts: Sequence[str | None]) -> Postings:
    none_kept = np.zeros(0, dtype=bool)
    return no_postings().merged(none_kept, pyarrow.array(texts, type=pyarrow.string()))


def plain(texts: Sequence[str | None], terms: Sequence[str], rows: Flags | None) -> list[float]:
    """BM25 as it is written in the books, of the rows in scope; the others have no score."""
    words = [(text or "").split() for text in texts]
    seen = [number for number in range(len(texts)) if rows is None or rows[number]]
    total = sum(len(words[number]) for number in seen)
    mean_length = total / len(seen) if total else 1.0
    scores = [0.0] * len(texts)
    for term in terms:
        holders = [number for number in seen if term in words[number]]
        for number in holders:
            count = Counter(words[number])[term]
            idf = float(np.log(1 + (len(seen) - len(holders) + 0.5) / (len(holders) + 0.5)))
            length = len(words[number]) / mean_length
            dampening = BM25_K1 * (1 - BM25_B + BM25_B * length)
            scores[number] += idf * (count * (BM25_K1 + 1) / (count + dampening))
    return scores


def expected(scores: Sequence[float], limit: int) -> dict[int, float]:
    """The best and their ties."""
    found = sorted((score for score in scores if score > 0), reverse=True)[:limit]
    return {n: score for n, score in enumerate(scores) if found and score >= found[-1] and score}


TEXTS = st.lists(
    st.none() | st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8).map(" ".join),
    max_size=12,
)


@given(TEXTS, st.lists(st.sampled_from("abcdefx"), max_size=6), st.integers(1, 5), st.data())
@settings(max_examples=200, deadline=None)
def test_the_best_rows_are_those_of_a_plain_sum(
    texts: list[str | None], terms: list[str], limit: int, data: st.DataObject
) -> None:
    flags = data.draw(st.none() | st.lists(st.booleans(), min_size=len(texts), max_size=len(texts)))
    rows = None if flags is None else np.array(flags, dtype=bool)
    postings = postings_of(texts)
    found, scores = postings.best(terms, limit, postings.admitted(rows))
    wanted = expected(plain(texts, terms, rows), limit)
    assert found.tolist() == sorted(wanted)
    assert scores.tolist() == pytest.approx([wanted[n] for n in sorted(wanted)], rel=1e-12)


@pytest.fixture(scope="module")
def many() -> tuple[list[str], Postings]:
    """Texts in which some words are rare and some are in most of them, as in any language."""
    chance = np.random.default_rng(3)
    ranks = np.arange(1, 401)
    texts = [
        " ".join(f"w{n}" for n in chance.choice(ranks, 25, p=(1 / ranks) / (1 / ranks).sum()))
        for _ in range(5 * SHORT_LIST)
    ]
    return texts, postings_of(texts)


@pytest.mark.parametrize("limit", [1, 7, 100])
@pytest.mark.parametrize("share", [1.0, 0.6])
def test_skipping_common_words_changes_no_bit(
    many: tuple[list[str], Postings], limit: int, share: float
) -> None:
    texts, postings = many
    chance = np.random.default_rng(4)
    rows = chance.random(len(texts)) < share
    admitted = postings.admitted(None if share == 1.0 else rows)
    everything = len(texts)
    for _ in range(25):
        terms = [f"w{n}" for n in (*chance.integers(1, 401, 3), *chance.integers(1, 6, 3))]
        all_rows, all_scores = postings.best(terms, everything, admitted)
        wanted = expected(np.bincount(all_rows, all_scores, len(texts)).tolist(), limit)
        found, scores = postings.best(terms, limit, admitted)
        assert dict(zip(found.tolist(), scores.tolist(), strict=True)) == wanted


def test_rows_out_of_scope_count_nowhere() -> None:
    texts = ["apple pie", "apple apple apple", "pear pear pear pear pear pear", "apple pear"]
    rows = np.array([True, False, False, True])
    postings, alone = postings_of(texts), postings_of([texts[0], texts[3]])
    found, scores = postings.best(["apple", "pear"], 5, postings.admitted(rows))
    _, wanted = alone.best(["apple", "pear"], 5, alone.admitted(None))
    assert found.tolist() == [0, 3]
    assert scores.tolist() == wanted.tolist()
    assert math.isclose(scores[0], plain([texts[0], texts[3]], ["apple"], None)[0])
