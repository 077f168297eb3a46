"""From rankings and timings to one document of results: metrics, best modes, paired tests; pure.

The metrics and the test are those of ``anabranch eval`` (ir-measures, Fisher's randomisation).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from anabranch.evaluation.comparison import paired_difference
from anabranch.evaluation.metrics import mean_by_metric, ranking_metrics

METRICS = ("nDCG@10", "R@10", "AllEvidence@10")
OURS = "anabranch"
# The mode that the peers are compared with: what a user has without setting anything.
COMPARED = "standard"

# System, mode, data set, query, metric.
Figures = dict[str, dict[str, dict[str, dict[str, dict[str, float]]]]]


def figures_of_rankings(
    rankings: Mapping[str, Mapping[str, Sequence[str]]], qrels: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, dict[str, float]]]:
    """Figures by mode and query, for every query of ``qrels``."""
    return {
        mode: {
            query: {name: values[name] for name in METRICS}
            for query, values in ranking_metrics(by_query, qrels).items()
        }
        for mode, by_query in rankings.items()
    }


def chosen_figures(
    by_query: Mapping[str, Mapping[str, float]], queries: Sequence[str]
) -> dict[str, dict[str, float]]:
    """The compared metrics of a saved run for exactly ``queries``; KeyError names a missing one."""
    return {query: {name: by_query[query][name] for name in METRICS} for query in queries}


def quality_section(figures: Figures, sets: Sequence[str]) -> dict[str, Any]:
    """Means by system, mode and set; each system's best mode; the paired tests against ours.

    The best single mode is the one with the highest mean nDCG@10 over all ``sets``; ``best_per_set``
    lets a system change its mode from set to set, which no user can know beforehand.
    """
    means = {
        system: {mode: _means(by_set, sets) for mode, by_set in modes.items()}
        for system, modes in figures.items()
    }
    best = {system: best_mode(modes, sets) for system, modes in means.items()}
    section: dict[str, Any] = {
        "sets": {
            name: {"queries": len(next(iter(_of(figures, name))))} for name in sets
        },
        "means": means,
        "best_mode": best,
        "best_per_set": {
            system: {name: best_on(modes, name) for name in sets} for system, modes in means.items()
        },
    }  # fmt: skip
    own = figures.get(OURS, {})
    if COMPARED in own:
        section["against_ours"] = {
            system: _differences(figures[system][mode], own[COMPARED])
            for system, mode in best.items()
            if system != OURS and mode is not None
        }
        section["own_single"] = _differences(own.get("minimal", {}), own[COMPARED])
    return section


def best_mode(modes: Mapping[str, Mapping[str, Any]], sets: Sequence[str]) -> str | None:
    """The mode with the highest overall mean; None where no mode was run on every set."""
    whole = [mode for mode, by_set in modes.items() if all(name in by_set for name in sets)]
    return max(whole, key=lambda mode: modes[mode]["mean"]["nDCG@10"], default=None)


def best_on(modes: Mapping[str, Mapping[str, Any]], name: str) -> dict[str, Any] | None:
    """The mode with the highest nDCG@10 on one set, with its figures."""
    run = [mode for mode, by_set in modes.items() if name in by_set]
    mode = max(run, key=lambda mode: modes[mode][name]["nDCG@10"], default=None)
    return None if mode is None else {"mode": mode, **modes[mode][name]}


def compact_queries(figures: Figures, best: Mapping[str, str | None]) -> dict[str, Any]:
    """Figures of every query, for ours and each peer's best mode, as lists in one order of queries."""
    found: dict[str, Any] = {}
    for system, modes in figures.items():
        for mode, by_set in modes.items():
            if system != OURS and mode != best[system]:
                continue
            for name, by_query in by_set.items():
                at = found.setdefault(name, {"queries": list(by_query), "systems": {}})
                at["systems"][f"{system}: {mode}"] = {
                    metric: [round(by_query[query][metric], 4) for query in at["queries"]]
                    for metric in METRICS
                }
    return found


def _means(
    by_set: Mapping[str, Mapping[str, Mapping[str, float]]], sets: Sequence[str]
) -> dict[str, dict[str, float]]:
    found = {name: mean_by_metric(by_set[name]) for name in sets if name in by_set}
    if len(found) == len(sets):
        found["mean"] = {
            metric: sum(found[name][metric] for name in sets) / len(sets) for metric in METRICS
        }
    return found


def _of(figures: Figures, name: str) -> list[dict[str, dict[str, float]]]:
    return [
        by_set[name] for modes in figures.values() for by_set in modes.values() if name in by_set
    ]


def _differences(
    before: Mapping[str, Mapping[str, Mapping[str, float]]],
    after: Mapping[str, Mapping[str, Mapping[str, float]]],
) -> dict[str, Any]:
    """nDCG@10 of the second against the first, on each set that both were run on."""
    return {
        name: asdict(
            paired_difference(
                [(by_query[query]["nDCG@10"], after[name][query]["nDCG@10"]) for query in by_query]
            )
        )
        for name, by_query in before.items()
        if name in after
    }
