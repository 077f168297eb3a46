"""The least that a hybrid search can be: bm25s, one matrix product in NumPy, two ways to fuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks.peers.encoder import Encoder
from benchmarks.peers.exchange import Passage
from benchmarks.peers.peer import CANDIDATES, Mode, by_score, highest, reciprocal_ranks, summed


class Baseline:
    packages = ("bm25s", "PyStemmer", "numpy")
    timed_single = "min-max .5"
    timed_multi = "min-max .5, variants: highest"

    def __init__(self, encoder: Encoder, *, for_quality: bool = False) -> None:
        self._encoder = encoder

    def index(self, passages: Sequence[Passage]) -> None:
        import bm25s
        import Stemmer

        texts = [passage.text for passage in passages]
        self._vectors = self._encoder.many(texts)
        self._stemmer = Stemmer.Stemmer("english")
        self._bm25 = bm25s.BM25()
        if texts:
            tokens = bm25s.tokenize(
                texts, stopwords="en", stemmer=self._stemmer, show_progress=False
            )
            self._bm25.index(tokens, show_progress=False)

    def modes(self) -> list[Mode]:
        singles = [
            Mode(f"min-max {shown}", False, partial(self._one, dense=dense))
            for shown, dense in ((".5", 0.5), (".7", 0.7))
        ]
        return [
            *singles,
            Mode("RRF", False, lambda wordings: reciprocal_ranks(self._rankings(wordings[:1]))),
            Mode(self.timed_multi, True, lambda wordings: by_score(highest(self._all(wordings)))),
            Mode("min-max .5, variants: sum", True,
                 lambda wordings: by_score(summed(self._all(wordings)))),
            Mode("RRF, variants", True, lambda wordings: reciprocal_ranks(self._rankings(wordings))),
        ]  # fmt: skip

    def _one(self, wordings: Sequence[str], dense: float) -> list[int]:
        legs = self._legs(wordings[:1])
        return by_score(_min_max(*legs[0], dense=dense)) if legs else []

    def _all(self, wordings: Sequence[str]) -> list[dict[int, float]]:
        return [_min_max(text, near, dense=0.5) for text, near in self._legs(wordings)]

    def _rankings(self, wordings: Sequence[str]) -> list[list[int]]:
        return [by_score(leg) for legs in self._legs(wordings) for leg in legs]

    def _legs(self, wordings: Sequence[str]) -> list[tuple[dict[int, float], dict[int, float]]]:
        """Text and dense scores of each wording, at most 100 of each, none of zero."""
        if not wordings or not len(self._vectors):
            return []
        cosines = self._encoder.many(wordings) @ self._vectors.T
        return [
            (self._text(wording), _largest(row))
            for wording, row in zip(wordings, cosines, strict=True)
        ]

    def _text(self, wording: str) -> dict[int, float]:
        import bm25s

        # Without the stop words and in the vocabulary's ids: what the library's own retrieve does,
        # without the result arrays around it.
        tokens = bm25s.tokenize(
            [wording], stopwords="en", stemmer=self._stemmer, show_progress=False,
            return_ids=False,
        )[0]  # fmt: skip
        known = [token for token in tokens if token in self._bm25.vocab_dict]
        return _largest(self._bm25.get_scores(known)) if known else {}


def _largest(scores: Any) -> dict[int, float]:
    import numpy as np

    count = min(CANDIDATES, len(scores))
    chosen = np.argpartition(-scores, count - 1)[:count]
    chosen = chosen[np.lexsort((chosen, -scores[chosen]))]
    return {int(at): float(scores[at]) for at in chosen if scores[at] > 0}


def _min_max(
    text: Mapping[int, float], near: Mapping[int, float], *, dense: float
) -> dict[int, float]:
    return summed([_scaled(text, 1 - dense), _scaled(near, dense)])


def _scaled(scores: Mapping[int, float], weight: float) -> dict[int, float]:
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    width = high - low
    return {at: weight * ((score - low) / width if width else 1.0) for at, score in scores.items()}
