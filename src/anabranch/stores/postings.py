"""An inverted index in flat arrays: which leaves have which terms, and BM25 over them; pure.

Terms come as ``language.terms`` cut them. Counts are stored, and
scores made of them when asked, so that an index with some leaves taken out and others put in gives
the same scores, to the last bit, as one that was built from those leaves alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow

# The usual BM25 constants; the embedded store's engine has the same ones built in.
BM25_K1, BM25_B = 1.2, 0.75

Rows = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Postings:
    """The postings of term number t are ``rows[starts[t]:starts[t + 1]]``, ascending.

    ``counts`` says how often the term stands in each row. ``lengths`` and what BM25 makes of them,
    ``length_factors``, have a value for each row, also for those without terms.
    """

    vocabulary: Mapping[str, int]
    starts: npt.NDArray[np.int64]
    rows: Rows
    counts: Rows
    lengths: Scores
    length_factors: Scores

    def scores(self, terms: Sequence[str]) -> Scores:
        """BM25 of every row; zero where it has none of the terms.

        Robertson and Zaragoza (2009), "The Probabilistic Relevance Framework", with the idf that
        cannot go below zero, so that a word of most documents still counts a little.
        """
        row_count = len(self.lengths)
        scores = np.zeros(row_count)
        for number in (self.vocabulary[term] for term in terms if term in self.vocabulary):
            start, end = self.starts[number], self.starts[number + 1]
            rows, counts = self.rows[start:end], self.counts[start:end]
            idf = np.log(1 + (row_count - len(rows) + 0.5) / (len(rows) + 0.5))
            scores[rows] += idf * (counts * (BM25_K1 + 1) / (counts + self.length_factors[rows]))
        return scores

    def merged(self, kept: Flags, added: pyarrow.Array) -> Postings:
        """The postings of the rows that are ``kept``, in order, and of ``added`` after them.

        ``added`` has the terms of each new row as one string, cut at blanks, or null.
        """
        stay = kept[self.rows]
        before = np.concatenate(([0], np.cumsum(stay)))
        starts = before[self.starts]
        new_numbers = (np.cumsum(kept) - 1).astype(np.int32)
        rows, counts = new_numbers[self.rows[stay]], self.counts[stay]
        first_row = int(kept.sum())
        vocabulary = dict(self.vocabulary)
        new = _counted(added, vocabulary, first_row)
        padding = np.full(len(vocabulary) - len(self.vocabulary), starts[-1])
        starts = np.concatenate((starts, padding))
        # Rows that are new come after those kept, so that each term's list is continued at its end.
        places = starts[new.numbers + 1]
        lengths = np.concatenate((self.lengths[kept], new.lengths))
        more = np.bincount(new.numbers, minlength=len(vocabulary))
        return Postings(
            vocabulary=vocabulary,
            starts=starts + np.concatenate(([0], np.cumsum(more))),
            rows=np.insert(rows, places, new.rows),
            counts=np.insert(counts, places, new.counts),
            lengths=lengths,
            length_factors=_length_factors(lengths),
        )


def no_postings() -> Postings:
    """The index of no rows at all."""
    empty = np.zeros(0, dtype=np.int32)
    return Postings({}, np.zeros(1, dtype=np.int64), empty, empty, np.zeros(0), np.zeros(0))


def _length_factors(lengths: Scores) -> Scores:
    """How much a row's length dampens its counts: less than the mean length, less than K1."""
    mean_length = lengths.mean() if lengths.any() else 1.0
    return BM25_K1 * (1 - BM25_B + BM25_B * lengths / mean_length)


@dataclass(frozen=True, slots=True)
class _Counted:
    """Postings by term, then row: a term's number, a row, and how often they meet."""

    numbers: npt.NDArray[np.int64]
    rows: Rows
    counts: Rows
    lengths: Scores


def _counted(texts: pyarrow.Array, vocabulary: dict[str, int], first_row: int) -> _Counted:
    """Count the terms of ``texts``; those that the vocabulary does not know are added to it."""
    # Arrow's functions are made when it is imported, which its type stubs do not know.
    import pyarrow.compute as compute

    functions: Any = compute
    words = functions.split_pattern(texts, " ")
    lengths = np.asarray(functions.fill_null(functions.list_value_length(words), 0), dtype=np.int64)
    encoded = words.flatten().dictionary_encode()
    numbers = np.array(
        [vocabulary.setdefault(term, len(vocabulary)) for term in encoded.dictionary.to_pylist()],
        dtype=np.int64,
    )[np.asarray(encoded.indices, dtype=np.int64)]
    row_count = max(1, len(texts))
    keys = numbers * row_count + np.repeat(np.arange(len(texts)), lengths)
    unique, counts = np.unique(keys, return_counts=True)
    return _Counted(
        numbers=unique // row_count,
        rows=(unique % row_count + first_row).astype(np.int32),
        counts=counts.astype(np.int32),
        lengths=lengths.astype(np.float64),
    )
