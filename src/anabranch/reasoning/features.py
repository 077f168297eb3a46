"""How well passages match a question, as the numbers that the grade model reads; pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anabranch.reasoning.asked_for import (
    asks_extreme,
    asks_when,
    asks_yes_or_no,
    is_negated,
    kind_asked,
)
from anabranch.reasoning.matching import Asked, Match, better
from anabranch.reasoning.passages import GRADED_PASSAGES
from anabranch.types import Background

# The first passages taken together: further down a ranking holds common words of any kind.
_TOGETHER = 5
# Whose titles are looked at: what ranks lower is seldom what the question is about.
_NAMED_FIRST = 3
# One or two matches can be chance, four cannot: beyond that a longer question is not a better one,
# and a shorter one has matched when all of it has.
_ENOUGH_TERMS = 4
# Two to the power of: up to seven terms all questions are short, from fifteen on all are long.
_SHORT = 3.0
# Two to the power of: words of the smallest and the largest collection that the fit has seen, and of
# one in the middle, which a collection of unknown size is taken for.
_LEAST_WORDS, _MOST_WORDS, _SOME_WORDS = 10.0, 20.0, 16.0
# Deviations above the background that say all there is to say.
_FAR_ABOVE = 15.0


@dataclass(frozen=True, slots=True)
class Features:
    """What the first passages hold of a question: ``values`` for the model, ``missing`` for people.

    ``similarity`` is None where no dense leg saw any of them. ``spelled_out``: what the question
    shortens stands in the best passages in full, and nowhere as the question has it.
    """

    values: Mapping[str, float]
    missing: tuple[str, ...]
    similarity: float | None
    best_coverage: float
    spelled_out: bool


def features(asked: Asked, matches: Sequence[Match], background: Background) -> Features:
    """The features of matches taken together, the best first."""
    graded = matches[:GRADED_PASSAGES]
    first = graded[:_TOGETHER]
    cosines = [found.similarity for found in first if found.similarity is not None]
    similarity = max(cosines, default=None)
    in_windows = [cosine for found in first for _, cosine in found.windows if cosine is not None]
    closest = max(in_windows, default=similarity)
    together: dict[str, float] = {}
    for found in first:
        together = better(together, found.held)
    coverages = [asked.coverage(found.held) for found in graded]
    best = max(coverages, default=0.0)
    coded = frozenset[str]().union(*asked.unknown_codes)
    values = _lexical(asked, graded, together, best) | _lacking(asked, graded, together)
    values |= _asked_for(asked.cut.text)
    values |= _dense(graded, similarity, closest, background)
    return Features(
        values=values,
        missing=tuple(t for t in asked.cut.terms if t not in together or t in coded),
        similarity=similarity,
        best_coverage=best,
        spelled_out=any(found.spelled_out for found in first),
    )


def _lexical(
    asked: Asked, graded: Sequence[Match], together: Mapping[str, float], best: float
) -> dict[str, float]:
    terms = asked.cut.terms
    pairs = frozenset[tuple[str, str]]().union(*(found.bigrams for found in graded))
    matched = max((found.matched_terms for found in graded), default=0)
    return {
        "window_coverage": max((c for found in graded for c, _ in found.windows), default=0.0),
        "passage_coverage": best,
        "together_coverage": asked.coverage(together),
        "bigram_share": len(pairs) / max(len(asked.cut.bigrams), 1),
        # What is matched, not its share: a question that says much has little matched by chance.
        "held_weight": math.log2(1.0 + best * asked.total),
        "titled": max((found.titled for found in graded[:_NAMED_FIRST]), default=0.0),
        "matched_terms": min(matched, _ENOUGH_TERMS) / max(min(len(terms), _ENOUGH_TERMS), 2),
        "phrase": math.log2(1 + max((found.run for found in graded[:_TOGETHER]), default=0)),
        "long": _long(terms),
        "collection_size": _size(asked.collection_words),
    }


def _lacking(
    asked: Asked, graded: Sequence[Match], together: Mapping[str, float]
) -> dict[str, float]:
    """What is not there. In a long question a single such thing is often a side remark ("as Forbes
    says") and counts less."""
    terms, weights, named = asked.cut.terms, asked.weights, asked.names
    rarest = max(terms, key=lambda term: weights[term], default=None)
    numbers = frozenset[str]().union(*(found.numbers for found in graded))
    single = {
        "rarest_absent": float(rarest is not None and rarest not in together),
        "names_absent": _absent([all(t in together for t in name) for name in named]),
        "numbers_absent": _absent([number in numbers for number in sorted(asked.cut.numbers)]),
        "unknown_names_absent": _absent([name not in asked.unknown_names for name in named]),
    }
    telling = 1.0 - _long(terms)
    unknown = math.fsum(weights[term] for term in asked.unknown) / asked.total
    return {name: telling * value for name, value in single.items()} | {"unknown_absent": unknown}


def _long(terms: Sequence[str]) -> float:
    """0 for a short question, 1 for a long one."""
    return min(max(math.log2(1 + len(terms)) - _SHORT, 0.0), 1.0)


def _size(words: int) -> float:
    """The more there is to search, the closer something comes by chance."""
    return min(max(math.log2(words), _LEAST_WORDS), _MOST_WORDS) if words else _SOME_WORDS


def _asked_for(question: str) -> dict[str, float]:
    """What a passage about the same seldom gives: a figure, a date, the first of its kind, a no."""
    return {
        "asks_number": float(kind_asked(question) == "number"),
        "asks_when": float(asks_when(question)),
        "asks_extreme": float(asks_extreme(question)),
        "asks_yes_or_no": float(asks_yes_or_no(question)),
        "negated": float(is_negated(question)),
    }


def _dense(
    graded: Sequence[Match],
    similarity: float | None,
    closest: float | None,
    background: Background,
) -> dict[str, float]:
    pairs = [(c, cosine) for found in graded for c, cosine in found.windows if cosine is not None]
    agreed = max((c * max(cosine, 0.0) for c, cosine in pairs), default=0.0)
    closest_of_each = _closest_of_each(graded)
    first = sorted(closest_of_each, reverse=True)[:_TOGETHER]
    return {
        "similarity": max(similarity or 0.0, 0.0),
        "similarity_above": _above(similarity, background),
        "window_similarity": max(closest or 0.0, 0.0),
        "window_above": _above(closest, background),
        # Several passages are close to what a collection is about, a stray match stands alone.
        "window_mean": math.fsum(first) / len(first) if first else 0.0,
        "stands_out": max(closest_of_each) - math.fsum(closest_of_each) / len(closest_of_each)
        if closest_of_each
        else 0.0,
        "agreement": agreed,
        "leg_agreement": background.agreement,
    }


def _closest_of_each(graded: Sequence[Match]) -> list[float]:
    """The best cosine of each passage, where it is known: of its windows, else its own."""
    closest = (
        max((c for _, c in found.windows if c is not None), default=found.similarity)
        for found in graded
    )
    return [cosine for cosine in closest if cosine is not None]


def _above(cosine: float | None, background: Background) -> float:
    """``cosine`` in deviations above the tail of the collection; 0 where there is no tail."""
    if cosine is None or background.mean is None:
        return 0.0
    return max(0.0, min(_FAR_ABOVE, (cosine - background.mean) / background.deviation))


def _absent(present: Sequence[bool]) -> float:
    return 1.0 - sum(present) / len(present) if present else 0.0
