"""What a question's cosines and ranks look like in this very collection; pure.

A cosine of .4 is much in one collection and little in another. The tail of the dense leg is what
the collection gives to any question of the kind, and what the best passage has to stand out from.
"""

from __future__ import annotations

import math

from anabranch.types import Background, LegName, QueryResult, Retrieval

# Below this many hits there is no tail to speak of.
_LEAST_HITS = 6
# Where the tail begins: past what may answer.
_TAIL = 0.3
# A tiny tail must not blow a small gap up.
_LEAST_DEVIATION = 0.03
# Legs agree if the first ones of each are among the first ones of the other.
_FIRST = 10
_ASKED = ("original", "spelling", "sub_question", "clarified")


def background_of(docs: Retrieval) -> Background:
    """The background of the question itself: of its rewrites and bridges it says nothing."""
    own = [result for result in docs.results if result.query.kind in _ASKED]
    if not own:
        return Background()
    asked = max(own, key=lambda result: result.query.weight)
    cosines = sorted(
        (hit.score for leg in asked.legs if leg.leg == "dense" for hit in leg.hits), reverse=True
    )
    agreement = _agreement(asked)
    if len(cosines) < _LEAST_HITS:
        return Background(agreement=agreement)
    tail = cosines[int(_TAIL * len(cosines)) :]
    mean = math.fsum(tail) / len(tail)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in tail) / len(tail))
    return Background(mean, max(deviation, _LEAST_DEVIATION), agreement)


def _agreement(result: QueryResult) -> float:
    """Share of the text leg's first hits, by reciprocal rank, that the dense leg has first too."""
    dense, text = _first(result, "dense"), _first(result, "text")
    if not dense or not text:
        return 0.0
    credit = {name: 1.0 / (1 + rank) for rank, name in enumerate(text)}
    return sum(credit.get(name, 0.0) for name in dense) / sum(credit.values())


def _first(result: QueryResult, leg: LegName) -> list[str]:
    hits = next((found.hits for found in result.legs if found.leg == leg), ())
    return list(dict.fromkeys(hit.chunk.chunk_id for hit in hits))[:_FIRST]
