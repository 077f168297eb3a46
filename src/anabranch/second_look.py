"""The first candidates looked at again, for what two lists of scores cannot show; pure.

Cosine and BM25 see neither order nor place: whether the words of the question stand together as
they do in it (Metzler and Croft 2005, "A Markov random field model for term dependencies"), whether
the document is named after them, whether one sentence says it all or the whole passage a little, and
whether a passage resembles what both lists put first (Rocchio 1971, "Relevance feedback in
information retrieval"). Each of these alone is weak, and misleads in some collection; together, at
one small weight, they were better on all seven sets that were measured
(docs/decisions/0008-second-look.md).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from anabranch.fusion import best_first
from anabranch.language import question_terms, terms
from anabranch.ports import Vectors, Windows
from anabranch.types import EMPTY, Chunk

# What ranks lower seldom comes into the first ten, and cutting its text into terms costs as much.
LOOKED_AT = 40
# Of each sign, in deviations of the scores that it is added to. One weight for all: fitted ones
# differed from set to set (docs/decisions/0008-second-look.md).
SIGN_WEIGHT = 0.25
# The same without window vectors: the three signs that texts show alone mislead more.
TEXT_SIGN_WEIGHT = 0.1
# Candidates below which a standard score says nothing.
LEAST_CANDIDATES = 4
# The passages that others are to resemble.
EXAMPLES = 10

Signs = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Seen:
    """What the question and its candidates look like to the encoder.

    ``question``: its unit vector, None where it was not searched by meaning. ``windows``: window
    vectors by chunk id, of some candidates or of none.
    """

    question: Vectors | None = None
    windows: Mapping[str, Windows] = field(default_factory=lambda: EMPTY)


def look_again(
    question: str, scores: Mapping[str, float], chunks: Mapping[str, Chunk], seen: Seen
) -> dict[str, float]:
    """``scores`` with those of the first ``LOOKED_AT`` moved by what their texts show, best first.

    ``scores`` are standard scores by chunk id, best first, and ``chunks`` has the chunk of each of
    the first ones. The same candidates come back, none more or less.
    """
    first = list(scores)[:LOOKED_AT]
    if len(first) < LEAST_CANDIDATES:
        return dict(scores)
    heights = np.array([scores[key] for key in first])
    looked = [chunks[key] for key in first]
    by_text = _signs_of_texts(question, looked)
    by_meaning = _signs_of_windows(looked, heights, seen)
    weight = SIGN_WEIGHT if by_meaning else TEXT_SIGN_WEIGHT
    moved = sum([*by_text, *by_meaning], np.zeros(len(first)))
    moved = heights + weight * float(heights.std()) * moved
    again = {**scores, **dict(zip(first, moved.tolist(), strict=True))}
    return best_first(again)


def _signs_of_texts(question: str, chunks: Sequence[Chunk]) -> list[Signs]:
    found = [terms(f"{chunk.title} {chunk.text}") for chunk in chunks]
    return [
        _standard(_standing_together(question, found)),
        _named_after(question, chunks),
        # A heading, or a line that was cut off, has the words of the question and says nothing.
        _standard([math.log1p(len(one)) for one in found]),
    ]


def _signs_of_windows(chunks: Sequence[Chunk], heights: Signs, seen: Seen) -> list[Signs]:
    """Empty where there is nothing to tell the candidates apart by."""
    known = np.array([len(seen.windows.get(chunk.chunk_id, ())) > 0 for chunk in chunks])
    if seen.question is None or np.count_nonzero(known) < LEAST_CANDIDATES:
        return []
    having = [chunk.chunk_id for chunk, has in zip(chunks, known.tolist(), strict=True) if has]
    windows = _directions([seen.windows[name] for name in having])
    return [_closest(windows, seen.question, known), _resemblance(windows, heights, known)]


def _standard(values: Sequence[float] | Signs, known: Flags | None = None) -> Signs:
    """z-scores over the values that are ``known``; the others, and equals, have 0: no sign."""
    array = np.asarray(values, dtype=np.float64)
    known = np.ones(len(array), dtype=bool) if known is None else known
    standard = np.zeros(len(array))
    if np.count_nonzero(known) < LEAST_CANDIDATES:
        return standard
    deviation = array[known].std()
    if deviation > 1e-9:
        standard[known] = (array[known] - array[known].mean()) / deviation
    return standard


def _standing_together(question: str, found: Sequence[Sequence[str]]) -> list[float]:
    """Neighbouring terms of the question that are neighbours in a text, rare pairs counting more.

    Stop words between them do not part them. In Chinese text, where a term is a pair of
    characters, that is a run of three.
    """
    asked = set(question_terms(question))
    pairs = {pair for pair in pairwise(terms(question)) if asked.issuperset(pair)}
    held = [sorted(pairs.intersection(pairwise(one))) for one in found]
    counts = Counter(pair for one in held for pair in one)
    return [math.fsum(math.log((len(found) + 1) / (counts[p] + 0.5)) for p in one) for one in held]


def _named_after(question: str, chunks: Sequence[Chunk]) -> Signs:
    """How much of a title the question has. No title is no sign: other kinds of file have none."""
    asked = set(question_terms(question))
    titles = [set(terms(chunk.title)) for chunk in chunks]
    shares = [len(asked & title) / len(title) if title else 0.0 for title in titles]
    return _standard(shares, np.array([bool(title) for title in titles]))


@dataclass(frozen=True, slots=True)
class _Directions:
    """Unit window vectors of several passages, one below the other; ``starts``: the first of each."""

    rows: Vectors
    starts: npt.NDArray[np.intp]


def _directions(windows: Sequence[Windows]) -> _Directions:
    counts = [len(one) for one in windows]
    starts = np.concatenate(([0], np.cumsum(counts[:-1]))).astype(np.intp)
    return _Directions(_unit(np.concatenate(windows).astype(np.float32)), starts)


def _unit(rows: Vectors) -> Vectors:
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, np.newaxis]
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)


def _closest(windows: _Directions, question: Vectors, known: Flags) -> Signs:
    """The cosine of the question with the best two sentences of each passage."""
    cosines = np.zeros(len(known))
    cosines[known] = np.maximum.reduceat(windows.rows @ question, windows.starts)
    return _standard(cosines, known)


def _resemblance(windows: _Directions, heights: Signs, known: Flags) -> Signs:
    """How near a passage is to the first ones, those that rank higher counting more.

    The sum of a passage's windows points where its own vector does, which no search gives back.
    """
    passages = _unit(np.add.reduceat(windows.rows, windows.starts, axis=0))
    weights = np.exp(heights[known][:EXAMPLES])
    example = (weights / weights.sum()).astype(np.float32) @ passages[:EXAMPLES]
    nearness = np.zeros(len(known))
    nearness[known] = passages @ example
    return _standard(nearness, known)
