"""Repairing a misspelt word from a vocabulary; pure.

The nearest word by the restricted Damerau-Levenshtein distance: insertions, deletions,
substitutions and swaps of neighbours. Which letters a word has is kept as a bit mask, and one edit
changes at most two bits, so that a whole vocabulary is narrowed down in one vectorised step
before any distance is counted (200,000 words: a few milliseconds).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from anabranch.language import stem

_TWO_EDITS_FROM = 8  # Letters from which two typos are likelier than another word.
# A word that is this much likelier than the next one at the same distance is the one meant.
_CLEARLY_LIKELIER = 5
# A word of n letters can lose a letter or swap two in some n ways, and gain or exchange one in
# some 26 n, so that a word that is found by one of the latter is found by chance as much oftener
# (Kernighan, Church and Gale 1990, "A spelling correction program based on a noisy channel model").
_CHANCE_OF_A_LETTER = 1 / 10

# What makes other words of one: of people, things, qualities and peoples. Snowball takes off many
# of them, but not to the same stem ("analyst", "analysis"; "Honduran", "Honduras").
_FAMILY_ENDINGS = (
    "", "s", "a", "as", "an", "ans", "ean", "ian", "ians", "ist", "ists", "istic", "ism", "er", "ers",
    "or", "ors", "y", "ies", "us", "ic", "ics", "ical", "al", "ion", "ions", "ive", "ing", "ed",
    "ish", "ese", "sis", "st", "sts", "tic", "tical", "ze", "zed", "se", "sed", "ence", "ency", "ent",
    "ance", "ancy", "ant", "ity", "ness", "ment", "able", "ability", "e", "graph", "graphed", "gram",
)  # fmt: skip
_SHORTEST_FAMILY = 5


@dataclass(frozen=True, slots=True)
class Repair:
    """A word of the vocabulary in place of one that it lacks.

    ``sure``: it is the only likely reading. Otherwise the word as written may well be right, or
    another one meant, so that it must not be replaced.
    """

    word: str
    sure: bool
    accents_only: bool = False


def _mask(word: str) -> int:
    bits = 0
    for letter in word:
        code = ord(letter)
        bits |= 1 << (code - 97 if 97 <= code <= 122 else 26 + code % 6)
    return bits


class Speller:
    """A vocabulary that finds its nearest word; indexed as far as it is asked, never changed."""

    def __init__(self, frequencies: Mapping[str, int]) -> None:
        """``frequencies``: folded word -> in how many documents it stands."""
        self._frequencies = frequencies
        self._masks: dict[int, npt.NDArray[np.uint32]] = {}

    @cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset(map(stem, self._frequencies))

    @cached_property
    def _by_length(self) -> Mapping[int, list[str]]:
        by_length: dict[int, list[str]] = {}
        for word in sorted(self._frequencies):
            if word.isalpha():
                by_length.setdefault(len(word), []).append(word)
        return by_length

    def _masks_of(self, length: int) -> npt.NDArray[np.uint32]:
        """What letters each word of this length has; made when a word of about it is repaired."""
        masks = self._masks.get(length)
        if masks is None:
            group = self._by_length.get(length, [])
            masks = self._masks[length] = np.array(list(map(_mask, group)), dtype=np.uint32)
        return masks

    def knows(self, word: str) -> bool:
        """Whether the vocabulary has the word, or another form of it."""
        return word in self._frequencies or stem(word) in self._stems

    def repair(self, word: str) -> Repair | None:
        """The best replacement of a folded word that the vocabulary lacks, and how sure it is.

        Two edits are a slip only if the word still sounds the same ("accomodation"): otherwise
        "qualitative" is made "quantitative" and "restated" made "related" (nine of nine such
        repairs in real questions were wrong).
        """
        ranked = self._ranked(word, farthest=None)
        if not ranked:
            return None
        distance, other_start, unlikely, best = ranked[0]
        if bare(best) == bare(word):
            return Repair(best, sure=True, accents_only=True)
        if distance > 1:
            alike = [item[-1] for item in ranked if _consonants(item[-1]) == _consonants(word)]
            return Repair(alike[0], sure=True) if alike else None
        rivals = [
            rival
            for rival in ranked[1:]
            if rival[:2] == (distance, other_start)
            and stem(rival[-1]) != stem(best)
            and _CLEARLY_LIKELIER * rival[2] < unlikely
        ]
        return Repair(best, sure=not rivals)

    def kin(self, word: str) -> str | None:
        """A word of the same family that the vocabulary has: "analyst" -> analysis.

        Words that share a beginning and differ in the endings that make nouns, adjectives and
        people of it; of several the one in most documents.
        """
        beginnings = [
            word[: len(word) - len(ending)]
            for ending in _FAMILY_ENDINGS
            if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_FAMILY
        ]
        forms = {beginning + ending for beginning in beginnings for ending in _FAMILY_ENDINGS}
        known = [form for form in forms if form in self._frequencies]
        return min(known, key=lambda form: (-self._frequencies[form], form)) if known else None

    def nearest(self, word: str, *, farthest: int | None = None) -> str | None:
        """The best replacement of a folded word that the vocabulary lacks; None without one.

        One edit, two from eight letters on. Of equally near words one with the same first letter
        goes first, then the one in more documents, then the alphabet.
        """
        ranked = self._ranked(word, farthest=farthest)
        return ranked[0][-1] if ranked else None

    def _ranked(self, word: str, *, farthest: int | None) -> list[tuple[int, bool, float, str]]:
        """Replacements, best first: distance, another first letter, minus likelihood, word."""
        limit = farthest or (2 if len(word) >= _TWO_EDITS_FROM else 1)
        ranked = []
        for candidate in self._near(word, limit):
            distance = edit_distance(word, candidate, limit)
            same_start = candidate[0] == word[0]
            # People seldom miss the first letter: "dorms" is a word of its own, not "forms".
            if distance <= limit and (same_start or (distance == 1 and len(word) >= 6)):
                likelihood = self._frequencies[candidate] * _chance(word, candidate)
                key = (distance, not same_start, -likelihood, candidate)
                ranked.append(key)
        return sorted(ranked)

    def _near(self, word: str, limit: int) -> Iterable[str]:
        """Words of a fitting length whose letters differ by no more than ``limit`` edits allow."""
        mask = np.uint32(_mask(word))
        for length in range(max(1, len(word) - limit), len(word) + limit + 1):
            differing = np.bitwise_count(self._masks_of(length) ^ mask)
            group = self._by_length.get(length, [])
            for index in np.flatnonzero(differing <= 2 * limit):
                candidate = group[index]
                # Two edits with another first letter is a guess, not a repair.
                if limit == 1 or candidate[0] == word[0] or differing[index] <= 2:
                    yield candidate


def _chance(written: str, meant: str) -> float:
    """How likely a slip is to make ``written`` of ``meant``, against losing or swapping letters."""
    lost_or_swapped = len(written) < len(meant) or sorted(written) == sorted(meant)
    return 1.0 if lost_or_swapped else _CHANCE_OF_A_LETTER


def bare(word: str) -> str:
    """``word`` without accents: "gorriarán" -> gorriaran."""
    decomposed = unicodedata.normalize("NFD", word)
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


_SAME_SOUND = (("ph", "f"), ("ck", "k"), ("c", "k"), ("q", "k"), ("z", "s"))


def _consonants(word: str) -> str:
    """The first letter and the consonants after it, each once in a row, but for a plural's s."""
    for written, heard in _SAME_SOUND:
        word = word.replace(written, heard)
    # Doubled letters before vowels go: "restated" has two t, which no slip makes of "resisted".
    once = re.sub(r"(.)\1+", r"\1", word.removesuffix("s"))
    return once[0] + re.sub("[aeiouyhw]", "", once[1:])


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
