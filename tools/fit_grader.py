"""Fit the local grader: writes ``src/anabranch/reasoning/grade_model.json`` and prints how good it is.

    PYTHONPATH=src:tools python tools/grader_pairs.py CACHE   # indexes, once
    PYTHONPATH=src:tools python tools/fit_grader.py CACHE

Deterministic: fixed seeds and numbers of steps. Three models: English with and without cosines, and one
for CJK questions.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grader_pairs
import numpy as np
import numpy.typing as npt
from grader_pairs import CHINESE, ENGLISH, Pair

from anabranch.reasoning.features import ask, features, match

Array = npt.NDArray[np.float64]
OUT = grader_pairs.ROOT / "src" / "anabranch" / "reasoning" / "grade_model.json"
# Questions of each other set that are asked of a set's documents.
ENGLISH_CROSSED, CHINESE_CROSSED = 12, 25
LEXICAL = (
    "window_coverage", "passage_coverage", "together_coverage", "bigram_share", "matched_terms",
    "rarest_absent", "names_absent", "numbers_absent", "unknown_absent", "unknown_names_absent",
)  # fmt: skip
DENSE = (
    "similarity", "similarity_above", "window_similarity", "window_above", "stands_out",
    "agreement", "leg_agreement", *LEXICAL,
)  # fmt: skip
# On topic, words match whether or not the answer is there: few features carry anything over to a
# set that was left out, and more of them only teach what a set is like.
ANSWER_DENSE = ("similarity", "window_similarity", "stands_out", "leg_agreement",
                "length", "unknown_names_absent")  # fmt: skip
ANSWER_LEXICAL = ("window_coverage", "together_coverage", "unknown_names_absent")
# What a question asked of someone's documents is taken to be: the priors that confidence assumes.
TOPIC_SHARES = {"answerable": 0.8, "off_topic": 0.2}
ANSWER_SHARES = {"answerable": 0.6, "unanswerable": 0.4}
# Keywords say less than the sentence they come from; they should teach, not dominate.
SHORTENED_WEIGHT = 0.3
# The features overlap; sharing weight among them carries over to unseen sets better.
RIDGE = 10.0
# This share of answerable questions falls below each threshold, by models that never saw their
# set; every set counts the same. Reports are at 5 % false rejections, as the literature's are.
REPORTED_LOSS, WEAK_LOSS, SUFFICIENT_LOSS = 0.05, 0.04, 0.08
BINS = 15


@dataclass(frozen=True, slots=True)
class Table:
    """The pairs as columns: a row of ``inputs`` has every feature, in the order of ``names``."""

    names: tuple[str, ...]
    inputs: Array
    kinds: npt.NDArray[np.str_]
    questions: npt.NDArray[np.str_]
    corpora: npt.NDArray[np.str_]
    shortened: npt.NDArray[np.bool_]

    def where(self, rows: npt.NDArray[np.bool_]) -> Table:
        return Table(
            self.names, self.inputs[rows], self.kinds[rows], self.questions[rows],
            self.corpora[rows], self.shortened[rows],
        )  # fmt: skip

    def columns(self, names: Sequence[str]) -> Array:
        return self.inputs[:, [self.names.index(name) for name in names]]


def table(pairs: Sequence[Pair]) -> Table:
    rows = [measured(pair) for pair in pairs]
    names = (*DENSE, "length")
    return Table(
        names=names,
        inputs=np.array([[row[name] for name in names] for row in rows], dtype=np.float64),
        kinds=np.array([pair.kind for pair in pairs]),
        questions=np.array([pair.question_set for pair in pairs]),
        corpora=np.array([pair.corpus_set for pair in pairs]),
        shortened=np.array([pair.shortened for pair in pairs]),
    )


def measured(pair: Pair) -> Mapping[str, float]:
    passages = pair.passages[: grader_pairs.GRADED]
    asked = ask(pair.question, passages, pair.lexicon)
    return features(asked, [match(asked, passage) for passage in passages], pair.background).values


def fit(inputs: Array, labels: Array, weights: Array, names: Sequence[str]) -> Array:
    """Ridge logistic regression whose signs make sense; the intercept comes first, unpenalised.

    More coverage never lowers and more absence never raises the chance: coverages overlap, and
    left alone they trade weight against each other in ways that only the sets at hand bear out.
    Projected gradient steps with momentum (Beck and Teboulle 2009, FISTA) on the bounded problem.
    """
    wanted = np.array([-1.0 if name.endswith("_absent") else 1.0 for name in names])
    design = np.hstack([np.ones((len(inputs), 1)), inputs * wanted])
    penalty = np.array([0.0] + [RIDGE] * len(names))
    step = 1.0 / (np.linalg.norm((design.T * weights) @ design, 2) / 4 + RIDGE)
    found = ahead = np.zeros(design.shape[1])
    momentum = 1.0
    for _ in range(4_000):
        chance = 1 / (1 + np.exp(-design @ ahead))
        moved = ahead - step * (design.T @ (weights * (chance - labels)) + penalty * ahead)
        moved[1:] = np.maximum(moved[1:], 0.0)
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = moved + (momentum - 1) / following * (moved - found)
        found, momentum = moved, following
    return np.concatenate([found[:1], found[1:] * wanted])


def row_weights(rows: Table, shares: Mapping[str, float]) -> Array:
    """Every kind carries its share, and within it every set the same."""
    weights = np.zeros(len(rows.kinds))
    for kind, share in shares.items():
        of_kind = rows.kinds == kind
        sets = sorted(set(rows.corpora[of_kind]))
        for name in sets:
            cell = of_kind & (rows.corpora == name)
            each = np.where(rows.shortened[cell], SHORTENED_WEIGHT, 1.0)
            weights[cell] = share / len(sets) * each / each.sum()
    return np.asarray(weights * len(weights), dtype=np.float64)


def train(rows: Table, names: Sequence[str], shares: Mapping[str, float]) -> dict[str, Any]:
    """A logistic regression of answerable against the other kind in ``shares``."""
    rows = rows.where(np.isin(rows.kinds, list(shares)))
    inputs, labels = rows.columns(names), (rows.kinds == "answerable").astype(np.float64)
    means, scales = inputs.mean(axis=0), inputs.std(axis=0)
    scales[scales == 0] = 1.0
    coefficients = fit((inputs - means) / scales, labels, row_weights(rows, shares), names)
    return {
        "features": list(names),
        "means": means.round(5).tolist(),
        "scales": scales.round(5).tolist(),
        "intercept": round(float(coefficients[0]), 5),
        "coefficients": [round(float(value), 5) + 0.0 for value in coefficients[1:]],
    }


def train_both(rows: Table, topic: Sequence[str], answer: Sequence[str]) -> dict[str, Any]:
    """On topic or not, from every set; answered or not, from the sets that have both.

    The second is learnt within sets alone: what sets apart the sets must not pass for evidence.
    """
    both = [name for name in set(rows.corpora) if _has_both(rows, name)]
    within = rows.where(np.isin(rows.corpora, both) & ~rows.shortened)
    return {
        "topic": train(rows, topic, TOPIC_SHARES),
        "answer": train(within, answer, ANSWER_SHARES),
    }


def _has_both(rows: Table, name: str) -> bool:
    kinds = set(rows.kinds[rows.corpora == name])
    return {"answerable", "unanswerable"} <= kinds


def predict(model: dict[str, Any], rows: Table) -> Array:
    inputs = (rows.columns(model["features"]) - model["means"]) / model["scales"]
    z = inputs @ np.array(model["coefficients"]) + model["intercept"]
    return np.asarray(1 / (1 + np.exp(-z)), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Chances:
    """For each pair, the chance that it is on topic, and that it is answered as well."""

    topic: Array
    confidence: Array

    def where(self, rows: npt.NDArray[np.bool_]) -> Chances:
        return Chances(self.topic[rows], self.confidence[rows])


def chances_of(model: dict[str, Any], rows: Table) -> Chances:
    topic = predict(model["topic"], rows)
    return Chances(topic, topic * predict(model["answer"], rows))


def left_out(rows: Table, topic: Sequence[str], answer: Sequence[str]) -> Chances:
    """Each pair's chances by a model that saw neither its question's set nor its corpus.

    A language with a single set of both kinds has no other to learn the second model from: it
    is then left in.
    """
    on_topic, confidence = np.zeros(len(rows.kinds)), np.zeros(len(rows.kinds))
    for held in sorted(set(rows.questions)):
        inside = rows.questions == held
        rest = rows.where(~inside & (rows.corpora != held))
        several = any(_has_both(rest, name) for name in set(rest.corpora))
        model = train_both(rest if several else rows, topic, answer)
        model["topic"] = train(rest, topic, TOPIC_SHARES)
        found = chances_of(model, rows.where(inside))
        on_topic[inside], confidence[inside] = found.topic, found.confidence
    return Chances(on_topic, confidence)


# --------------------------------------------------------------------------------------- figures


def auroc(positive: Array, negative: Array) -> float:
    """The chance that a positive scores above a negative; ties count half."""
    above = (positive[:, None] > negative[None, :]).mean()
    return float(above + (positive[:, None] == negative[None, :]).mean() / 2)


def calibration_error(chances: Array, labels: Array) -> float:
    """Mean distance of stated and observed chance over bins of equal mass (Naeini et al. 2015)."""
    order = np.argsort(chances, kind="stable")
    gaps = [
        abs(float(chances[part].mean() - labels[part].mean())) * len(part)
        for part in np.array_split(order, BINS)
        if len(part)
    ]
    return sum(gaps) / len(order)


def quantile_by_set(rows: Table, chances: Array, share: float) -> float:
    """The chance below which ``share`` of the answerable questions lie, every set counted the same."""
    values, weights = [], []
    for name in sorted(set(rows.questions)):
        own = chances[(rows.questions == name) & (rows.kinds == "answerable")]
        values.append(own)
        weights.append(np.full(len(own), 1 / max(len(own), 1)))
    order = np.argsort(np.concatenate(values), kind="stable")
    mass = np.cumsum(np.concatenate(weights)[order])
    place = int(np.searchsorted(mass, share * mass[-1]))
    return float(np.concatenate(values)[order][place])


def report(rows: Table, chances: Chances, weak: float, sufficient: float) -> dict[str, Any]:
    answerable = chances.topic[rows.kinds == "answerable"]
    off_topic = chances.topic[rows.kinds == "off_topic"]
    threshold = quantile_by_set(rows, chances.topic, REPORTED_LOSS)
    cells = [
        (f"{one}->{other}", chances.topic[(rows.questions == one) & (rows.corpora == other)])
        for one, other in sorted(set(zip(rows.questions, rows.corpora, strict=True)))
        if one != other
    ]
    worst = sorted((float((cell < weak).mean()), name) for name, cell in cells)
    names = sorted(set(rows.questions))
    return {
        "pairs": {str(kind): int((rows.kinds == kind).sum()) for kind in sorted(set(rows.kinds))},
        "off_topic_auroc": round(auroc(answerable, off_topic), 4),
        "off_topic_rejected_at_5_percent_false": round(float((off_topic < threshold).mean()), 4),
        "off_topic_rejected_by_the_gate": round(float((off_topic < weak).mean()), 4),
        "worst_pairs": [f"{name} {share:.2f}" for share, name in worst[:5]],
        "sets": {n: dict(_of_set(rows, chances, n, weak, sufficient)) for n in names},
    }


def _of_set(
    rows: Table, chances: Chances, name: str, weak: float, sufficient: float
) -> Iterator[tuple[str, float]]:
    own = (rows.questions == name) & (rows.corpora == name)
    labels = rows.kinds[own] == "answerable"
    passed, confidence = chances.topic[own] >= weak, chances.confidence[own]
    enough = chances.topic[own] >= sufficient
    yield "falsely_rejected", round(float((~passed[labels]).mean()), 3)
    yield "sufficient", round(float(enough[labels].mean()), 3)
    yield "mean_confidence", round(float(confidence.mean()), 3)
    if not labels.all():
        yield "auroc", round(auroc(confidence[labels], confidence[~labels]), 3)
        yield "unanswerable_rejected", round(float((~passed[~labels]).mean()), 3)
        yield "unanswerable_sufficient", round(float(enough[~labels].mean()), 3)
        yield "calibration_error", round(calibration_error(confidence, labels.astype(float)), 3)
        yield "answerable_share", round(float(labels.mean()), 3)


def fitted(
    rows: Table, topic: Sequence[str], answer: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A model with its thresholds, and its figures with each question set left out."""
    model, chances = train_both(rows, topic, answer), left_out(rows, topic, answer)
    whole = ~rows.shortened
    rows, chances = rows.where(whole), chances.where(whole)
    weak = quantile_by_set(rows, chances.topic, WEAK_LOSS)
    sufficient = quantile_by_set(rows, chances.topic, SUFFICIENT_LOSS)
    model |= {"weak_threshold": round(weak, 4), "sufficient_threshold": round(sufficient, 4)}
    figures = report(rows, chances, weak, sufficient)
    figures["fitted_on_all"] = report(rows, chances_of(model, rows), weak, sufficient)["sets"]
    return model, figures


def main() -> None:
    cache = Path(sys.argv[1])
    english = table(grader_pairs.collect(ENGLISH, cache, crossed=ENGLISH_CROSSED))
    chinese = table(grader_pairs.collect(CHINESE, cache, crossed=CHINESE_CROSSED))
    models, figures = {}, {}
    for name, rows, topic, answer in (
        ("dense", english, DENSE, ANSWER_DENSE), ("lexical", english, LEXICAL, ANSWER_LEXICAL),
        ("cjk", chinese, LEXICAL, ANSWER_LEXICAL),
    ):  # fmt: skip
        models[name], figures[name] = fitted(rows, topic, answer)
        print(name, json.dumps(figures[name], indent=1))
        for part in ("topic", "answer"):
            fit_of = models[name][part]
            print(part, dict(zip(fit_of["features"], fit_of["coefficients"], strict=True)))
    provenance = {
        "made_by": "tools/fit_grader.py",
        "seed": grader_pairs.SEED,
        "encoder": "all-MiniLM-L6-v2 int8",
        "sets": [size.label for size in (*ENGLISH, *CHINESE)],
        "assumed_shares": {"topic": TOPIC_SHARES, "answer": ANSWER_SHARES},
        "measured_with_the_question_set_left_out": figures,
    }
    Path(OUT).write_text(json.dumps({"provenance": provenance, "models": models}, indent=1) + "\n")


if __name__ == "__main__":
    main()
