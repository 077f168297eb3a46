"""Figures from rankings, scores and statuses; pure.

Ranking metrics are computed by ir_measures (MacAvaney et al., ECIR 2022), whose names they have.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anabranch.errors import MissingExtraError
from anabranch.evaluation.datasets import Qrels
from anabranch.language import has_cjk

RANKING_METRICS = ("nDCG@10", "R@10", "R@100", "RR@10")
ALL_EVIDENCE = "AllEvidence@10"
_TOP = 10
RESAMPLES = 2_000
_SEED = 20_261_130

_MARKER = re.compile(r"\[\d+\]")
_NOT_A_WORD = re.compile(r"[\W_]+")
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_BESIDE_CJK = re.compile(f"(?<=[{_CJK}])(?=[^\\W{_CJK}])|(?<=[^\\W{_CJK}])(?=[{_CJK}])")


def require_ir_measures() -> None:
    """Raises MissingExtraError where ranking metrics cannot be computed."""
    try:
        import ir_measures  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "Ranking metrics need ir-measures, which is not installed. Run: "
            "pip install 'anabranch[eval]'"
        ) from None


def ranking_metrics(
    rankings: Mapping[str, Sequence[str]], qrels: Qrels
) -> dict[str, dict[str, float]]:
    """Metrics by query, for every query of ``qrels``; one without a ranking has 0 in all.

    AllEvidence@10 is 1 where every relevant document is in the first ten; a query without any
    relevant document does not have it.
    """
    import ir_measures

    measures = [ir_measures.parse_measure(name) for name in RANKING_METRICS]
    run = {
        query: {document: 1 / rank for rank, document in enumerate(rankings.get(query, ()), 1)}
        for query in qrels
    }
    by_query: dict[str, dict[str, float]] = {
        query: dict.fromkeys(RANKING_METRICS, 0.0) for query in qrels
    }
    judged = {query: dict(grades) for query, grades in qrels.items()}
    for item in ir_measures.iter_calc(measures, judged, run):
        by_query[item.query_id][str(item.measure)] = float(item.value)
    for query, grades in qrels.items():
        relevant = {document for document, grade in grades.items() if grade > 0}
        if relevant:
            top = set(rankings.get(query, ())[:_TOP])
            by_query[query][ALL_EVIDENCE] = float(relevant <= top)
    return by_query


def mean_by_metric(by_query: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The mean of each metric over the queries that have it."""
    values: dict[str, list[float]] = {}
    for figures in by_query.values():
        for name, value in figures.items():
            values.setdefault(name, []).append(value)
    return {name: sum(found) / len(found) for name, found in values.items()}


def auroc(scores: Sequence[float], positives: Sequence[bool]) -> float | None:
    """The chance that a positive scores above a negative, ties counting half (Mann-Whitney U).

    None where one of the two kinds is missing.
    """
    positive_count = sum(positives)
    negative_count = len(positives) - positive_count
    if not positive_count or not negative_count:
        return None
    order = sorted(range(len(scores)), key=lambda index: scores[index])
    rank_sum, start = 0.0, 0
    while start < len(order):
        end = start
        while end < len(order) and scores[order[end]] == scores[order[start]]:
            end += 1
        shared_rank = (start + 1 + end) / 2
        rank_sum += shared_rank * sum(positives[index] for index in order[start:end])
        start = end
    least = positive_count * (positive_count + 1) / 2
    return (rank_sum - least) / (positive_count * negative_count)


def auroc_interval(
    scores: Sequence[float], positives: Sequence[bool]
) -> tuple[float, float] | None:
    """Bounds of the 95 % bootstrap interval of ``auroc``; the same values give the same bounds.

    Each kind is drawn from itself, as often as there are of it (Efron and Tibshirani 1993, ch. 13,
    percentiles). None where one of the two kinds is missing.
    """
    import numpy as np

    values, kinds = np.asarray(scores, dtype=np.float64), np.asarray(positives, dtype=bool)
    above, below = values[kinds], values[~kinds]
    if not len(above) or not len(below):
        return None
    generator = np.random.default_rng(_SEED)
    areas = np.empty(RESAMPLES)
    for number in range(RESAMPLES):
        drawn = generator.choice(above, len(above))
        others = np.sort(generator.choice(below, len(below)))
        under = np.searchsorted(others, drawn, "left") + np.searchsorted(others, drawn, "right")
        areas[number] = under.mean() / (2 * len(below))
    low, high = np.quantile(areas, (0.025, 0.975))
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class PrecisionRecall:
    """None where nothing was predicted, or nothing is there to be found."""

    precision: float | None
    recall: float | None


def precision_recall(predicted: Sequence[bool], actual: Sequence[bool]) -> PrecisionRecall:
    right = sum(p and a for p, a in zip(predicted, actual, strict=True))
    return PrecisionRecall(
        right / sum(predicted) if any(predicted) else None,
        right / sum(actual) if any(actual) else None,
    )


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of the values lie, interpolated between neighbours."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def contains_gold(text: str, groups: Sequence[Sequence[str]]) -> bool:
    """Whether ``text`` has a wording of every group.

    Case, width, punctuation and spacing do not matter; outside Chinese, Japanese and Korean only
    whole words count, so that "art" is not found in "party".
    """
    unmarked = _MARKER.sub(" ", text)
    return all(any(_contains(unmarked, wording) for wording in group) for group in groups)


def _contains(text: str, wording: str) -> bool:
    wanted = _words(wording)
    if not wanted:
        return False
    if has_cjk(wording):
        return wanted.replace(" ", "") in _words(text).replace(" ", "")
    return f" {wanted} " in f" {_words(_apart(text))} "


def _words(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _NOT_A_WORD.sub(" ", folded).strip()


def _apart(text: str) -> str:
    """Spaces where Chinese touches other letters or digits: "于2008年" has the word 2008."""
    return _BESIDE_CJK.sub(" ", unicodedata.normalize("NFKC", text))
