from __future__ import annotations

import math
import sys

import pytest

from anabranch.errors import MissingExtraError
from anabranch.evaluation.metrics import (
    auroc,
    auroc_interval,
    contains_gold,
    mean_by_metric,
    precision_recall,
    quantile,
    ranking_metrics,
    require_ir_measures,
)


def test_ranking_metrics_of_a_ranking_worked_out_by_hand() -> None:
    found = ranking_metrics({"a": ["x", "d1", "y", "d2"]}, {"a": {"d1": 1, "d2": 1, "x": 0}})
    ideal = 1 + 1 / math.log2(3)
    gained = 1 / math.log2(3) + 1 / math.log2(5)
    assert found["a"]["nDCG@10"] == pytest.approx(gained / ideal)
    assert found["a"]["RR@10"] == pytest.approx(0.5)
    assert found["a"]["R@10"] == 1.0
    assert found["a"]["AllEvidence@10"] == 1.0


def test_a_judged_query_that_found_nothing_counts_as_zero() -> None:
    found = ranking_metrics({"a": ["d1"]}, {"a": {"d1": 1}, "b": {"d1": 1}})
    assert set(found["b"].values()) == {0.0}
    assert mean_by_metric(found)["nDCG@10"] == pytest.approx(0.5)


def test_all_evidence_needs_every_relevant_document_in_the_first_ten() -> None:
    qrels = {"a": {"d1": 1, "d2": 1}}
    ranking = ["d1", *(f"x{number}" for number in range(9)), "d2"]
    found = ranking_metrics({"a": ranking}, qrels)["a"]
    assert (found["AllEvidence@10"], found["R@10"], found["R@100"]) == (0.0, 0.5, 1.0)


def test_a_query_without_a_relevant_document_says_nothing_of_all_evidence() -> None:
    found = ranking_metrics({"a": ["d1"], "b": ["d2"]}, {"a": {"d1": 0}, "b": {"d2": 1}})
    assert "AllEvidence@10" not in found["a"]
    assert mean_by_metric(found)["AllEvidence@10"] == 1.0


def test_ties_count_half_in_auroc() -> None:
    assert auroc([0.9, 0.8, 0.3], [True, True, False]) == 1.0
    assert auroc([0.1, 0.9], [True, False]) == 0.0
    assert auroc([0.5, 0.5], [True, False]) == 0.5
    assert auroc([0.7, 0.5, 0.5, 0.2], [True, True, False, False]) == pytest.approx(3.5 / 4)


def test_auroc_is_unknown_with_one_kind_only() -> None:
    assert auroc([0.5, 0.7], [True, True]) is None


def test_precision_and_recall_are_unknown_without_predictions_or_positives() -> None:
    found = precision_recall([True, True, False], [True, False, True])
    assert (found.precision, found.recall) == (0.5, 0.5)
    nothing = precision_recall([False], [False])
    assert (nothing.precision, nothing.recall) == (None, None)


def test_quantiles_are_interpolated() -> None:
    assert quantile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.5
    assert quantile([7.0], 0.95) == 7.0


@pytest.mark.parametrize(
    ("text", "gold"),
    [
        ("It opened in Paris [1].", "paris"),
        ("It cost $1,200 [2] in all.", "1,200"),
        ("on the ＢＯＡＴ", "boat"),
        ("The well [1] known", "well-known"),
        ("成立于2008年。", "2008"),
        ("会议于 二〇〇八年 八月召开", "二〇〇八年八月"),
    ],
)
def test_gold_is_found_whatever_the_case_width_and_punctuation(text: str, gold: str) -> None:
    assert contains_gold(text, [[gold]])


@pytest.mark.parametrize(
    ("text", "gold"), [("a party", "art"), ("in 12008", "2008"), ("see [3]", "3"), ("x", "!")]
)
def test_gold_inside_another_word_or_a_citation_marker_is_not_found(text: str, gold: str) -> None:
    assert not contains_gold(text, [[gold]])


def test_every_group_needs_one_of_its_wordings() -> None:
    groups = [["May 1", "1 May"], ["Oslo"]]
    assert contains_gold("In Oslo, on 1 May.", groups)
    assert not contains_gold("On 1 May.", groups)


def test_without_ir_measures_the_command_that_installs_it_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'anabranch\[eval\]'"):
        require_ir_measures()


def test_the_interval_of_auroc_holds_it_and_narrows_with_more_questions() -> None:
    scores, positives = (
        [0.9, 0.4, 0.7, 0.6, 0.3, 0.5, 0.2, 0.8],
        [True, True, True, True] + [False] * 4,
    )
    few, many = auroc_interval(scores, positives), auroc_interval(scores * 20, positives * 20)
    area = auroc(scores, positives)
    assert few is not None
    assert many is not None
    assert area is not None
    assert few[0] < many[0] < area < many[1] < few[1]
    assert auroc_interval(scores, positives) == few


def test_ties_count_half_in_the_interval_of_auroc() -> None:
    assert auroc_interval([0.5, 0.5, 0.5], [True, True, False]) == (0.5, 0.5)


def test_the_interval_of_auroc_is_unknown_with_one_kind_only() -> None:
    assert auroc_interval([0.5, 0.7], [True, True]) is None
