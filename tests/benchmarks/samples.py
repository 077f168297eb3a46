"""A small comparison: two data sets, two queries, one library beside ours."""

from __future__ import annotations

from benchmarks.peers.results import Figures

SETS = ["x", "y"]


def figures(first: float, second: float) -> dict[str, dict[str, float]]:
    return {
        query: {"nDCG@10": value, "R@10": value, "AllEvidence@10": value}
        for query, value in (("q1", first), ("q2", second))
    }


MEASURED: Figures = {
    "anabranch": {
        "minimal": {"x": figures(0.6, 0.6), "y": figures(0.5, 0.5)},
        "standard": {"x": figures(0.8, 0.6), "y": figures(0.5, 0.7)},
    },
    "txtai": {
        "steady": {"x": figures(0.5, 0.5), "y": figures(0.5, 0.5)},
        "moody": {"x": figures(0.9, 0.7), "y": figures(0.0, 0.1)},
        "unfinished": {"x": figures(1.0, 1.0)},
    },
}
