"""The page that is written from results."""

from __future__ import annotations

from typing import Any

from benchmarks.peers.page import page, systems_of, table, with_quality
from benchmarks.peers.results import quality_section
from tests.benchmarks.samples import MEASURED, SETS


def results() -> dict[str, Any]:
    way = {"n": 20, "p50_ms": 10.4, "p95_ms": 20.6, "cpu_ms": 1234.5}
    timed = {
        "ways": {"1": way, "4": way}, "resident_mb": {"before": 1, "after": 2048.4},
        "index_seconds": 1.25, "askers": {"20": {**way, "fan_outs_per_second": 7.77}},
    }  # fmt: skip
    refused = {**timed, "askers": {"20": {
        **way, "fan_outs_per_second": 2.0, "raised_in_threads": "ProgrammingError: other thread",
    }}}  # fmt: skip
    return {
        "date": "2026-11-30T10:00:00+00:00", "commit": "abc1234", "changed_since": False,
        "machine": {"cores": 2}, "quality": quality_section(MEASURED, SETS),
        "latency": {"20000": {"anabranch": timed}, "5000": {"txtai": refused, "anabranch": timed}},
        "ingestion": {"txtai": {"seconds": 20.0, "per_second": 50.0}},
        "robustness": {"txtai": {"a variant raises": "raises OSError: `gone`."},
                       "anabranch": {"a variant raises": "5 passages"}},
        "versions": {"anabranch": "0.1", "txtai": {"txtai": "9.14.0"}},
    }  # fmt: skip


def test_every_figure_of_the_results_is_on_the_page() -> None:
    text = page(results())
    for expected in (
        "Measured 2026-11-30 at commit `abc1234`, 2 cores",
        "| x (2) | 0.600 | 0.700 | 0.500 |",
        "| **mean** | 0.550 | 0.650 | 0.500 |",
        "| 5,000 Anabranch | 10 / 21 / 1,234 | 10 / 21 / 1,234 | – | 2,048 | 1.2 |",
        "| 5,000 txtai | 2.0 (21, raises in threads) | – |",
        "txtai in several threads: `ProgrammingError: other thread`",
        "| txtai | 20.0 | 50.0 |",
        "| a variant raises | 5 passages | raises OSError |",
        "txtai: txtai 9.14.0",
    ):
        assert expected in text


def test_the_encoder_alone_is_beside_what_was_ingested() -> None:
    found = results()
    found["ingestion"] = {
        "txtai": {
            "seconds": 20.0, "per_second": 50.0, "cpu_seconds": 30.5, "of_encoder": 0.8,
            "encoder": {"seconds": 16.0, "per_second": 62.5, "cpu_seconds": 29.0},
        }
    }  # fmt: skip
    assert "| txtai | 20.0 | 50.0 | 62.5 | 0.80 | 1.5 |" in page(found)


def test_of_a_few_times_no_percentile_is_shown() -> None:
    found = results()
    found["latency"]["5000"]["anabranch"]["ways"]["1"]["n"] = 19
    assert "| 5,000 Anabranch | 10 / – / 1,234 |" in page(found)


def test_sizes_are_in_the_order_of_numbers() -> None:
    text = page(results())
    assert text.index("| 5,000 Anabranch") < text.index("| 20,000 Anabranch")


def test_rankings_of_another_run_are_shown_and_named() -> None:
    times = {**results(), "quality": {}}
    earlier = {**results(), "commit": "def5678", "date": "2026-10-01T10:00:00+00:00"}
    text = page(with_quality(times, earlier))
    assert "| x (2) | 0.600 | 0.700 | 0.500 |" in text
    assert "Measured 2026-11-30 at commit `abc1234`" in text
    assert "Quality is of another run, 2026-10-01 at commit `def5678`" in text


def test_what_was_not_measured_has_no_section() -> None:
    partial = {**results(), "latency": {}, "ingestion": {}}
    text = page(partial)
    assert "## Quality" in text
    assert "## Speed" not in text
    assert "## Ingestion" not in text


def test_a_set_that_one_library_has_not_run_is_a_dash() -> None:
    partial = results()
    quality = partial["quality"]
    quality["best_per_set"]["txtai"]["y"] = None
    assert "| y | 0.600 (standard) | – |" in page(partial)


def test_a_bar_in_a_cell_does_not_split_it() -> None:
    assert table(["", "a"], [["x|y", "1"]]).splitlines()[-1] == "| x/y | 1 |"


def test_systems_have_one_order_whatever_was_measured_first() -> None:
    assert systems_of(["haystack", "anabranch", "txtai"]) == ["anabranch", "txtai", "haystack"]
