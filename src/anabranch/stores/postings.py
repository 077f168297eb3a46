"""An inverted index in flat arrays: which leaves have which terms, and BM25 over them; pure.

Terms come as ``language.terms`` cut them. Counts are stored, and scores made of them when asked,
from what the asker's scope admits and nothing else: an index with some leaves taken out, put in or
out of scope gives the same scores, to the last bit, as one that was built from the rest alone.
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


# Lists shorter than this are scored whole without asking whether the best are known already.
SHORT_LIST = 512
# Sums of the same numbers in another order differ by less than this share.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Admitted:
    """The rows that one scope admits, as BM25 counts them: nothing of any other row enters a score.

    ``rows`` flags them (None: all), ``count`` is how many there are and ``mean_length`` is theirs.
    """

    rows: Flags | None
    count: int
    mean_length: float


@dataclass(frozen=True, slots=True)
class _List:
    """One term's rows in scope, ascending, and what the term is worth in a row at most."""

    rows: Rows
    counts: Rows
    idf: float

    @property
    def most(self) -> float:
        return self.idf * (BM25_K1 + 1)


@dataclass(frozen=True, slots=True)
class Postings:
    """The postings of term number t are ``rows[starts[t]:starts[t + 1]]``, ascending.

    ``counts`` says how often the term stands in each row. ``lengths`` has a value for each row,
    also for those without terms.
    """

    vocabulary: Mapping[str, int]
    starts: npt.NDArray[np.int64]
    rows: Rows
    counts: Rows
    lengths: Scores

    def admitted(self, rows: Flags | None) -> Admitted:
        """What ``best`` needs to know of a scope; worth keeping, as it looks at every row."""
        lengths = self.lengths if rows is None else self.lengths[rows]
        # Whole numbers: their sum is exact, whatever the order of the rows.
        total = float(lengths.sum())
        return Admitted(rows, len(lengths), total / len(lengths) if total else 1.0)

    def best(self, terms: Sequence[str], limit: int, admitted: Admitted) -> tuple[Rows, Scores]:
        """The ``limit`` rows in scope with the highest BM25, and all that tie with the last of them.

        Rows ascend; a row without any of the terms is never among them. Robertson and Zaragoza
        (2009), "The Probabilistic Relevance Framework", with the idf that cannot go below zero, so
        that a word of most documents still counts a little.

        Terms are added from the rarest on, until those left cannot lift a row that has none of the
        ones before into the best (Turtle and Flood 1995, "max score"). What is left is scored in
        the order of the question, so that the bits are those of a plain sum over all rows.
        """
        lists = [found for term in terms if (found := self._list(term, admitted)) is not None]
        if not lists:
            return np.zeros(0, dtype=np.int32), np.zeros(0)
        rows = self._candidates(sorted(lists, key=_rarest_first), limit, admitted)
        scores = np.zeros(len(rows))
        for found in lists:
            self._add(scores, rows, found, admitted)
        lowest = _lowest_kept(scores, limit)
        return rows[scores >= lowest], scores[scores >= lowest]

    def _list(self, term: str, admitted: Admitted) -> _List | None:
        number = self.vocabulary.get(term)
        if number is None:
            return None
        start, end = self.starts[number], self.starts[number + 1]
        rows, counts = self.rows[start:end], self.counts[start:end]
        if admitted.rows is not None:
            seen = admitted.rows[rows]
            rows, counts = rows[seen], counts[seen]
        if not len(rows):
            return None
        idf = float(np.log(1 + (admitted.count - len(rows) + 0.5) / (len(rows) + 0.5)))
        return _List(rows, counts, idf)

    def _candidates(self, lists: Sequence[_List], limit: int, admitted: Admitted) -> Rows:
        """Rows that hold all of the best: few more than ``limit``."""
        scores = np.zeros(len(self.lengths))
        left = sum(found.most for found in lists)
        kth, waiting = 0.0, list(lists)
        while waiting:
            if len(waiting[0].rows) > max(SHORT_LIST, 2 * limit):
                kth = _lowest_kept(scores[scores > 0], limit, fewer=0.0)
                if kth > left * (1 + ROUNDING):
                    break
            found = waiting.pop(0)
            scores[found.rows] += self._worth(found.rows, found.counts, found.idf, admitted)
            left -= found.most
        rows = np.flatnonzero(scores > 0).astype(np.int32)
        kept = scores[rows]
        for found in waiting:
            rows, kept = _at_least(rows, kept, kth - left)
            self._add(kept, rows, found, admitted)
            left -= found.most
            kth = _lowest_kept(kept, limit, fewer=0.0)
        return _at_least(rows, kept, _lowest_kept(kept, limit, fewer=0.0))[0]

    def _add(self, scores: Scores, rows: Rows, found: _List, admitted: Admitted) -> None:
        """Add what a term is worth in each of ``rows``, which ascend, to ``scores``."""
        places = np.searchsorted(found.rows, rows)
        places[places == len(found.rows)] = 0
        there = np.flatnonzero(found.rows[places] == rows)
        counts = found.counts[places[there]]
        scores[there] += self._worth(rows[there], counts, found.idf, admitted)

    def _worth(self, rows: Rows, counts: Rows, idf: float, admitted: Admitted) -> Scores:
        """BM25 of one term in each row: its length dampens the count, less than the mean less."""
        dampening = BM25_K1 * (1 - BM25_B + BM25_B * self.lengths[rows] / admitted.mean_length)
        worth: Scores = idf * (counts * (BM25_K1 + 1) / (counts + dampening))
        return worth

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
        )


def no_postings() -> Postings:
    """The index of no rows at all."""
    empty = np.zeros(0, dtype=np.int32)
    return Postings({}, np.zeros(1, dtype=np.int64), empty, empty, np.zeros(0))


def _rarest_first(found: _List) -> float:
    return -found.idf


def _lowest_kept(scores: Scores, limit: int, *, fewer: float = -np.inf) -> float:
    """The ``limit``-th highest score; ``fewer`` where there are not more than that."""
    if len(scores) <= limit:
        return fewer
    return float(np.partition(scores, len(scores) - limit)[len(scores) - limit])


def _at_least(rows: Rows, scores: Scores, lowest: float) -> tuple[Rows, Scores]:
    kept = scores >= lowest - ROUNDING * abs(lowest) - ROUNDING
    return rows[kept], scores[kept]


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
