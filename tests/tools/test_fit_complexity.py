"""The fit of the routing model: bounded weights, and a threshold that keeps plain questions plain."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

TOOL = Path(__file__).parents[2] / "tools" / "fit_complexity.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("fit_complexity", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_a_sign_that_speaks_for_plain_questions_gets_no_weight(tool):
    random = np.random.default_rng(1)
    rows = (random.random((600, len(tool.SIGNS) + 1)) < 0.05).astype(float)
    rows[:, 0] = 1
    told, misled = tool.SIGNS.index("two_kinds"), tool.SIGNS.index("two_numbers")
    labels = (random.random(600) < 0.5).astype(float)
    rows[:, 1 + told] = random.random(600) < 0.1 + 0.7 * labels
    rows[:, 1 + misled] = random.random(600) < 0.8 - 0.7 * labels
    fitted = tool.fit(rows, labels, np.ones(600))
    assert fitted[1 + told] > 1
    assert fitted[1 + misled] == 0
    assert (fitted[1:] >= 0).all()


def test_both_labels_and_no_family_by_its_size_alone_weigh_the_same(tool):
    rows = [tool.Labelled("large", "a", False)] * 90 + [tool.Labelled("small", "b", False)] * 10
    rows += [tool.Labelled("other", "c", True)] * 5
    weights = tool.weigh(rows)
    assert weights[:100].sum() == pytest.approx(weights[100:].sum())
    assert weights[:90].sum() == pytest.approx(3 * weights[90:100].sum())  # the root of 9


def test_the_threshold_lets_few_plain_questions_of_any_family_pass(tool):
    rows = [tool.Labelled("a", "", False)] * 1000 + [tool.Labelled("b", "", False)] * 100
    rows += [tool.Labelled("c", "", True)] * 100
    scores = np.concatenate([np.linspace(0, 1, 1000), np.linspace(0, 1, 100), np.full(100, 9.0)])
    threshold = tool.alarm_threshold(rows, scores)
    assert np.mean(scores[:1100] > threshold) <= tool.FALSE_ALARMS
    assert threshold < 1
