"""Fit the weights of the extractive answerer, and measure answers by weights that saw none of them.

Run from the checkout with ``PYTHONPATH=src python tools/fit_answerer.py CACHE``: the open sets are
indexed below CACHE as ``anabranch eval --cache CACHE`` does it, and samples of their questions are
asked through the whole pipeline. A piece of the evidence counts as right if it holds a gold answer.
The questions of one document are always in the same fold; every figure is of a model that was
fitted on the other folds, or, second column, on the other sets. Deterministic: a fixed seed, Newton
steps. The sets are found in the folder that ``ANABRANCH_DATA`` names, else in ``../shared/data``.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from anabranch.evaluation import labels
from anabranch.evaluation.datasets import load_dataset
from anabranch.evaluation.index import open_index
from anabranch.evaluation.metrics import contains_gold
from anabranch.reasoning import weighing
from anabranch.reasoning.answering import LocalAnswerer
from anabranch.settings import load_settings
from anabranch.types import Evidence

DATA = Path(os.environ.get("ANABRANCH_DATA", Path(__file__).parents[2] / "shared" / "data"))
SETS = {"squad2_dev": 400, "nq_open_oracle": 400, "cmrc2018": 300}
# Chinese is measured by weights that saw none of it: fitted on itself it gains nothing (.90 in both),
# and together it pulls the weight of the cosines down, which it does not have.
FITTED_ON = ("squad2_dev", "nq_open_oracle")
SEED = 11
FOLDS = 5
RIDGE = 1.0
# What an answer may take: the bar is set for a reader's eye, not for the evidence.
LONGEST = 600
FIRST_PASSAGES = 5

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Case:
    """A question with the evidence that was found for it and the wordings of its answer."""

    name: str
    question: str
    evidence: tuple[Evidence, ...]
    gold: tuple[tuple[str, ...], ...]
    fold: int

    def held_by(self, text: str) -> bool:
        return contains_gold(text, self.gold)

    @property
    def is_found(self) -> bool:
        return any(self.held_by(one.text) for one in self.evidence[:FIRST_PASSAGES])


def collect(name: str, questions: int, cache: Path) -> list[Case]:
    """Answered questions of a set, drawn with the seed, asked of all its documents."""
    dataset = load_dataset(DATA / name)
    asked = [query for query in dataset.queries if labels.gold_answers(query)]
    random.Random(SEED).shuffle(asked)
    relevant = dataset.qrels
    base, _ = open_index(dataset, cache, settings=load_settings())
    cases = []
    with base:
        for query in asked[:questions]:
            outcome = base.retrieve(query.text, interactive=False)
            document = min(relevant.get(query.id, {query.id: 1}))
            fold = random.Random(f"{SEED} {document}").randrange(FOLDS)
            cases.append(
                Case(
                    name, outcome.effective_question, outcome.evidence,
                    labels.gold_answers(query), fold,
                )
            )  # fmt: skip
    return cases


@cache
def pieces(case: Case) -> tuple[list[dict[str, float]], list[bool]]:
    """What is read of each piece, and whether it is right."""
    measured = weighing.measure(case.question, case.evidence)
    found = [case.held_by(unit.shown) for _, _, unit, _ in measured]
    return [values for *_, values in measured], found


def fit(cases: Iterable[Case]) -> weighing.PieceModel:
    """Ridge logistic regression by Newton's method; every set counts the same."""
    rows: list[list[float]] = []
    right: list[bool] = []
    of_set: list[str] = []
    names: list[str] = []
    for case in cases:
        measured, found = pieces(case)
        if any(found):  # else retrieval missed it, which teaches nothing here
            names = list(measured[0])
            rows += [list(values.values()) for values in measured]
            right += found
            of_set += [case.name] * len(found)
    count = {name: of_set.count(name) for name in set(of_set)}
    weights = np.array([len(of_set) / len(count) / count[name] for name in of_set])
    bias, *fitted = newton(np.array(rows), np.array(right, float), weights)
    return weighing.PieceModel(
        round(bias, 2), {name: round(w, 2) for name, w in zip(names, fitted, strict=True)}
    )


def newton(inputs: Array, right: Array, weights: Array) -> list[float]:
    """Coefficients, the unpenalised bias first."""
    design = np.hstack([np.ones((len(inputs), 1)), inputs])
    penalty = RIDGE * np.diag([0.0] + [1.0] * inputs.shape[1])
    coefficients = np.zeros(design.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-design @ coefficients))
        gradient = design.T @ (weights * (right - chance)) - penalty @ coefficients
        curvature = (design.T * (weights * chance * (1 - chance))) @ design + penalty
        coefficients += np.linalg.solve(curvature, gradient)
    return [float(value) for value in coefficients]


def is_answered(case: Case, model: weighing.PieceModel) -> bool:
    """Whether the answer holds the gold and is as short as a reader wants it."""
    answerer = LocalAnswerer(model)
    answer = asyncio.run(answerer.answer(case.question, case.evidence, sub_questions=()))
    return len(answer.text) <= LONGEST + 4 * len(answer.citations) and case.held_by(answer.text)


def measure(
    cases: Sequence[Case], model_for: Callable[[Case], weighing.PieceModel]
) -> dict[str, dict[str, float]]:
    report = {}
    for name in SETS:
        found = [case for case in cases if case.name == name and case.is_found]
        held = [is_answered(case, model_for(case)) for case in found]
        report[name] = {"found": len(found), "answered": round(sum(held) / len(found), 4)}
    return report


def cross_validated(cases: Sequence[Case]) -> dict[str, dict[str, dict[str, float]]]:
    own = [case for case in cases if case.name in FITTED_ON]
    by_fold = [fit(case for case in own if case.fold != fold) for fold in range(FOLDS)]
    by_set = {name: fit(case for case in own if case.name != name) for name in SETS}
    return {
        "other folds": measure(cases, lambda case: by_fold[case.fold]),
        "other sets": measure(cases, lambda case: by_set[case.name]),
        "shipped": measure(cases, lambda case: weighing.FITTED),
    }


def main(cache: Path) -> None:
    cases = [case for name, questions in SETS.items() for case in collect(name, questions, cache)]
    print(json.dumps(cross_validated(cases), indent=1))
    model = fit(case for case in cases if case.name in FITTED_ON)
    print(json.dumps({"bias": model.bias, **model.coefficients}, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
