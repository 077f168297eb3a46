"""Figures, best modes and tests of the comparison with other libraries."""

from __future__ import annotations

import copy

import pytest
from benchmarks.peers.results import (
    Figures,
    best_mode,
    best_on,
    chosen_figures,
    compact_queries,
    figures_of_rankings,
    quality_section,
)
from tests.benchmarks.samples import MEASURED, figures

QRELS = {"q1": {"a": 1, "b": 1}, "q2": {"c": 1}}


@pytest.fixture
def measured() -> Figures:
    return copy.deepcopy(MEASURED)


def test_a_query_that_a_library_found_nothing_for_counts_as_nought() -> None:
    found = figures_of_rankings({"hybrid": {"q1": ["a", "x", "b"]}}, QRELS)["hybrid"]
    assert found["q1"]["AllEvidence@10"] == found["q1"]["R@10"] == 1.0
    assert 0.9 < found["q1"]["nDCG@10"] < 1.0
    assert found["q2"] == {"nDCG@10": 0.0, "R@10": 0.0, "AllEvidence@10": 0.0}


def test_ours_is_counted_over_the_same_queries() -> None:
    saved = {query: {**own, "latency_ms": 3.0} for query, own in figures(0.1, 0.2).items()}
    assert chosen_figures(saved, ["q2"]) == {"q2": figures(0.1, 0.2)["q2"]}
    with pytest.raises(KeyError, match="q3"):
        chosen_figures(saved, ["q3"])


def test_the_best_mode_has_the_highest_mean_of_those_run_on_every_set(measured: Figures) -> None:
    section = quality_section(measured, ["x", "y"])
    assert section["best_mode"]["txtai"] == "steady"
    assert "mean" not in section["means"]["txtai"]["unfinished"]
    assert section["best_per_set"]["txtai"]["x"]["mode"] == "unfinished"
    assert section["best_per_set"]["txtai"]["y"]["mode"] == "steady"
    assert section["sets"] == {"x": {"queries": 2}, "y": {"queries": 2}}


def test_ours_is_tested_against_the_best_mode_and_its_own_single_query(measured: Figures) -> None:
    section = quality_section(measured, ["x", "y"])
    against = section["against_ours"]["txtai"]["x"]
    assert (against["before"], against["after"], against["n"]) == (0.5, pytest.approx(0.7), 2)
    assert section["own_single"]["y"]["difference"] == pytest.approx(0.1)


def test_without_ours_there_is_nothing_to_test_against(measured: Figures) -> None:
    del measured["anabranch"]
    assert "against_ours" not in quality_section(measured, ["x", "y"])


def test_a_set_that_ours_was_not_run_on_is_left_out_of_the_tests(measured: Figures) -> None:
    del measured["anabranch"]["standard"]["y"]
    section = quality_section(measured, ["x", "y"])
    assert set(section["against_ours"]["txtai"]) == set(section["own_single"]) == {"x"}


def test_a_library_with_no_whole_mode_has_no_best_one() -> None:
    assert best_mode({"half": {"x": {"nDCG@10": 1.0}}}, ["x", "y"]) is None
    assert best_on({"half": {"x": {"nDCG@10": 1.0}}}, "y") is None


def test_the_figures_of_queries_are_kept_for_ours_and_the_best_modes(measured: Figures) -> None:
    kept = compact_queries(measured, {"txtai": "steady"})
    assert kept["x"]["queries"] == ["q1", "q2"]
    assert set(kept["x"]["systems"]) == {
        "anabranch: minimal", "anabranch: standard", "txtai: steady",
    }  # fmt: skip
    assert kept["x"]["systems"]["anabranch: standard"]["nDCG@10"] == [0.8, 0.6]
