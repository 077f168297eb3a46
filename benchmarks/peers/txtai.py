"""txtai: one hybrid index, its three ways to put sparse and dense together, and several queries.

It runs without torch: vectors come through its external vectors function, and Faiss searches them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from benchmarks.peers.encoder import Encoder
from benchmarks.peers.exchange import Passage
from benchmarks.peers.peer import (
    CANDIDATES,
    Mode,
    by_score,
    highest,
    reciprocal_ranks,
    summed,
)

# Normalised scores (the default), its Bayesian scores, and none, for which it fuses by rank.
NORMALISATIONS = {"": True, "bb25 ": "bb25", "ranks ": False}
WEIGHTS = (("", 0.5), (".7 dense ", 0.7), (".3 dense ", 0.3))


class Txtai:
    packages = ("txtai", "faiss-cpu", "numpy")
    timed_single = "hybrid .5"
    timed_multi = "hybrid .5, variants: highest"

    def __init__(self, encoder: Encoder, *, for_quality: bool = False) -> None:
        self._encoder = encoder
        self._for_quality = for_quality
        self._remembered: dict[tuple[str, ...], list[dict[int, float]]] = {}
        self._indexes: dict[str, Any] = {}

    def index(self, passages: Sequence[Passage]) -> None:
        from txtai import Embeddings

        def vectors(texts: Sequence[str]) -> Any:
            return self._encoder.many(list(texts))

        for name in NORMALISATIONS if self._for_quality else [""]:
            config: dict[str, Any] = {
                "method": "external", "transform": vectors, "content": False, "dense": True,
                "scoring": {"method": "bm25", "terms": True, "normalize": NORMALISATIONS[name]},
            }  # fmt: skip
            if self._for_quality:
                # What it does by itself beyond 5,000 rows is an inverted file, which may miss
                # neighbours. It is timed that way, but no missed one is held against it here.
                config["faiss"] = {"components": "IDMap,Flat"}
            index = Embeddings(config)
            index.index((at, passage.text, None) for at, passage in enumerate(passages))
            self._indexes[name] = index

    def modes(self) -> list[Mode]:
        found = []
        for name in self._indexes:
            for shown, dense in WEIGHTS:
                label = f"{name}hybrid {shown.split()[0] if shown else '.5'}"
                found.append(Mode(label, False, partial(self._one, name=name, dense=dense)))
        multi = partial(self._all, name="")
        return [
            *found,
            Mode(self.timed_multi, True, lambda wordings: by_score(highest(multi(wordings)))),
            Mode("hybrid .5, variants: sum", True,
                 lambda wordings: by_score(summed(multi(wordings)))),
            Mode("hybrid .5, variants: RRF", True,
                 lambda wordings: reciprocal_ranks([list(found) for found in multi(wordings)])),
        ]  # fmt: skip

    def _one(self, wordings: Sequence[str], name: str, dense: float) -> list[int]:
        found = self._indexes[name].search(wordings[0], CANDIDATES, weights=dense)
        return [int(position) for position, _ in found]

    def _all(self, wordings: Sequence[str], name: str) -> list[dict[int, float]]:
        key = tuple(wordings)
        if key in self._remembered:
            return self._remembered[key]
        results = self._indexes[name].batchsearch(list(wordings), CANDIDATES, weights=0.5)
        scored = [{int(position): score for position, score in found} for found in results]
        if self._for_quality:
            self._remembered[key] = scored
        return scored
