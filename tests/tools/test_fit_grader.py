"""The figures that the grader's fit reports, and the bounds that it keeps."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"


@pytest.fixture(scope="module")
def fitting() -> Iterator[ModuleType]:
    sys.path.insert(0, str(TOOLS))
    try:
        import fit_grader

        yield fit_grader
    finally:
        sys.path.remove(str(TOOLS))


def test_a_chance_that_comes_true_as_stated_has_no_calibration_error(fitting: ModuleType) -> None:
    chances = np.repeat([0.0, 0.5, 1.0], 300)
    labels = np.concatenate([np.zeros(300), np.tile([0.0, 1.0], 150), np.ones(300)])
    assert fitting.calibration_error(chances, labels, np.ones(900)) == pytest.approx(0.0)


def test_what_is_stated_too_high_is_the_error(fitting: ModuleType) -> None:
    labels = np.tile([0.0, 1.0], 450)
    assert fitting.calibration_error(np.full(900, 0.8), labels, np.ones(900)) == pytest.approx(0.3)


def test_the_surest_questions_are_answered_first(fitting: ModuleType) -> None:
    coverage, risk = fitting.risks(
        np.array([0.1, 0.9, 0.5, 0.7]), np.array([0.0, 1.0, 0.0, 1.0]), np.ones(4)
    )
    assert coverage.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert risk.tolist() == pytest.approx([0.0, 0.0, 1 / 3, 0.5])


def test_a_set_of_few_questions_counts_as_much_as_one_of_many(fitting: ModuleType) -> None:
    chances = np.full(110, 0.5)
    labels = np.concatenate([np.ones(100), np.zeros(10)])
    weights = np.concatenate([np.full(100, 1 / 100), np.full(10, 1 / 10)])
    assert fitting.risks(chances, labels, weights)[1][-1] == pytest.approx(0.5)


def test_more_coverage_never_lowers_and_more_absence_never_raises_a_fitted_chance(
    fitting: ModuleType,
) -> None:
    random = np.random.default_rng(1)
    labels = random.integers(0, 2, 200).astype(float)
    # The data say the opposite of what makes sense: the bound holds against them.
    inputs = np.stack([-labels, labels, labels], axis=1) + random.normal(0, 0.1, (200, 3))
    names = ("window_coverage", "names_absent", "similarity")
    found = fitting.fit(inputs, labels, np.ones(200), names)
    assert found[1] == 0.0
    assert found[2] == 0.0
    assert found[3] > 0.0
