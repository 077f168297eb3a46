from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.errors import InputError
from anabranch.evaluation.comparison import compare, paired_difference, read_run, save_run


def test_a_difference_on_every_query_is_beyond_chance() -> None:
    found = paired_difference([(0.2, 0.5)] * 30)
    assert found.difference == pytest.approx(0.3)
    assert found.p < 0.001
    assert found.interval == pytest.approx((0.3, 0.3))


def test_no_difference_at_all_is_chance() -> None:
    found = paired_difference([(0.4, 0.4), (0.9, 0.9)])
    assert (found.difference, found.p) == (0.0, 1.0)


def test_the_p_value_is_that_of_the_exact_test() -> None:
    # All four signs agree: 2 of 16 assignments are at least as extreme.
    found = paired_difference([(0.0, 0.1), (0.0, 0.2), (0.0, 0.3), (0.0, 0.4)])
    assert found.p == pytest.approx(2 / 16, abs=0.02)


def test_gains_and_losses_that_cancel_are_chance() -> None:
    assert paired_difference([(0.0, 0.5), (0.5, 0.0)] * 10).p > 0.9


def test_the_same_runs_compare_the_same_way_every_time() -> None:
    pairs = [(0.1 * index, 0.15 * index) for index in range(8)]
    assert paired_difference(pairs) == paired_difference(pairs)


def test_only_queries_and_figures_of_both_runs_are_compared() -> None:
    before = {"a": {"nDCG@10": 0.5}, "b": {"nDCG@10": 0.0}, "c": {"R@10": 1.0}}
    after = {"a": {"nDCG@10": 0.7, "R@10": 1.0}, "c": {"R@10": 0.0}, "d": {"nDCG@10": 1.0}}
    found = compare(before, after)
    assert (found["nDCG@10"].n, found["nDCG@10"].before, found["nDCG@10"].after) == (1, 0.5, 0.7)
    assert (found["R@10"].n, found["R@10"].difference) == (1, -1.0)


def test_runs_without_a_common_query_are_refused() -> None:
    with pytest.raises(InputError, match="no query in common"):
        compare({"a": {"R@10": 1.0}}, {"b": {"R@10": 1.0}})


def test_a_saved_run_is_read_back(tmp_path: Path) -> None:
    save_run(tmp_path / "run.json", {"dataset": "月"}, {"a": {"R@10": 1.0}})
    assert read_run(tmp_path / "run.json") == ({"dataset": "月"}, {"a": {"R@10": 1.0}})


_RUN = '{"schema": "anabranch.eval-run/1", "report": {}, "queries": %s}'


@pytest.mark.parametrize(
    "content",
    [
        "{", "[]", '{"metrics": {}}', '{"schema": "anabranch.eval-run/1"}', _RUN % '["q1"]',
        _RUN % '{"q1": {"R@10": "high"}}', _RUN % '{"q1": {"R@10": NaN}}',
    ],
)  # fmt: skip
def test_a_file_that_is_no_saved_run_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"not a saved run.*--save"):
        read_run(tmp_path / "run.json")


def test_a_run_that_is_not_there_and_a_folder_that_is_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_run(tmp_path / "absent.json")
    with pytest.raises(InputError, match="cannot be written"):
        save_run(tmp_path / "absent" / "run.json", {}, {})
