"""Repairing a misspelt word from a vocabulary; pure.

The nearest word by the restricted Damerau-Levenshtein distance: insertions, deletions,
substitutions and swaps of neighbours. Which letters a word has is kept as a bit mask, and one edit
changes at most two bits, so that a whole vocabulary is narrowed down in one vectorised step
before any distance is counted (200,000 words: a few milliseconds).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from anabranch.language import stem

_TWO_EDITS_FROM = 8  # Letters from which two typos are likelier than another word.


def _mask(word: str) -> int:
    bits = 0
    for letter in word:
        code = ord(letter)
        bits |= 1 << (code - 97 if 97 <= code <= 122 else 26 + code % 6)
    return bits


class Speller:
    """A vocabulary that finds its nearest word; built once, never changed."""

    def __init__(self, frequencies: Mapping[str, int]) -> None:
        """``frequencies``: folded word -> in how many documents it stands."""
        self._frequencies = frequencies
        self._stems = frozenset(stem(word) for word in frequencies)
        by_length: dict[int, list[str]] = {}
        for word in sorted(frequencies):
            if word.isalpha():
                by_length.setdefault(len(word), []).append(word)
        self._by_length = by_length
        self._masks: dict[int, npt.NDArray[np.uint32]] = {
            length: np.array([_mask(word) for word in group], dtype=np.uint32)
            for length, group in by_length.items()
        }

    def knows(self, word: str) -> bool:
        """Whether the vocabulary has the word, or another form of it."""
        return word in self._frequencies or stem(word) in self._stems

    def nearest(self, word: str, *, farthest: int | None = None) -> str | None:
        """The best replacement of a folded word that the vocabulary lacks; None without one.

        One edit, two from eight letters on. Of equally near words one with the same first letter
        goes first, then the one in more documents, then the alphabet.
        """
        limit = farthest or (2 if len(word) >= _TWO_EDITS_FROM else 1)
        ranked = []
        for candidate in self._near(word, limit):
            distance = edit_distance(word, candidate, limit)
            same_start = candidate[0] == word[0]
            # People seldom miss the first letter: "dorms" is a word of its own, not "forms".
            if distance <= limit and (same_start or (distance == 1 and len(word) >= 6)):
                key = (distance, not same_start, -self._frequencies[candidate], candidate)
                ranked.append(key)
        return min(ranked)[-1] if ranked else None

    def _near(self, word: str, limit: int) -> Iterable[str]:
        """Words of a fitting length whose letters differ by no more than ``limit`` edits allow."""
        mask = np.uint32(_mask(word))
        for length in range(max(1, len(word) - limit), len(word) + limit + 1):
            masks = self._masks.get(length)
            if masks is None:
                continue
            differing = np.bitwise_count(masks ^ mask)
            group = self._by_length[length]
            for index in np.flatnonzero(differing <= 2 * limit):
                candidate = group[index]
                # Two edits with another first letter is a guess, not a repair.
                if limit == 1 or candidate[0] == word[0] or differing[index] <= 2:
                    yield candidate


def edit_distance(first: str, second: str, limit: int) -> int:
    """Restricted Damerau-Levenshtein distance, or ``limit + 1`` as soon as it must be more."""
    if abs(len(first) - len(second)) > limit:
        return limit + 1
    before_previous: list[int] = []
    previous = list(range(len(second) + 1))
    for row, letter in enumerate(first, 1):
        current = [row]
        for column, other in enumerate(second, 1):
            cost = min(
                previous[column] + 1,
                current[column - 1] + 1,
                previous[column - 1] + (letter != other),
            )
            if row > 1 and column > 1 and letter == second[column - 2] and other == first[row - 2]:
                cost = min(cost, before_previous[column - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return limit + 1
        before_previous, previous = previous, current
    return min(previous[-1], limit + 1)
