"""Fit the local grader: writes ``src/anabranch/reasoning/grade_model.json`` and prints how good it is.

    PYTHONPATH=src:tools python tools/fit_grader.py CACHE [MODELS]

CACHE holds the indexes of ``anabranch eval --cache``; what is missing is indexed. MODELS is the
folder in which ``anabranch models add multilingual`` made its model; without it the multilingual
coefficients stay as they are. Deterministic: fixed seeds and numbers of steps.
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
from grader_pairs import CHINESE, ENGLISH, MULTILINGUAL, Pair

from anabranch.reasoning.features import features
from anabranch.reasoning.grading import is_foreign, prepared
from anabranch.reasoning.matching import match

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
OUT = grader_pairs.ROOT / "src" / "anabranch" / "reasoning" / "grade_model.json"
_ABSENT = (
    "rarest_absent", "names_absent", "numbers_absent", "unknown_absent", "unknown_names_absent",
)  # fmt: skip
LEXICAL = (
    "window_coverage", "passage_coverage", "together_coverage", "bigram_share", "matched_terms",
    *_ABSENT, "collection_size",
)  # fmt: skip
# Beside cosines, pairs of words and the share of one passage lower what questions of another set,
# that the fit has not seen, are told apart by.
DENSE = (
    "similarity", "window_similarity", "window_mean", "agreement", "window_coverage",
    "together_coverage", *_ABSENT, "collection_size",
)  # fmt: skip
# The cosines of some encoders lie close together: how far one is above the others tells more, and
# words tell as much as meaning.
ABOVE = ("similarity_above", "window_above", "stands_out")
CLOSE = (
    "similarity", "window_similarity", "window_mean", "agreement", "leg_agreement", *ABOVE,
    *LEXICAL,
)  # fmt: skip
# What is asked for, and how much of it stands where: on topic, words match whether or not the
# answer is there.
ANSWER_LEXICAL = (
    "window_coverage", "titled", "held_weight", "phrase", "numbers_absent", "asks_number",
    "asks_when", "asks_extreme", "asks_yes_or_no", "negated",
)  # fmt: skip
# A question in another language than the passages has no words in common with them.
CROSSLINGUAL = ("similarity", "window_similarity", "window_mean", *ABOVE, "collection_size")
ANSWER_CROSSLINGUAL = ("asks_number", "asks_when", "asks_extreme", "asks_yes_or_no", "negated")
ANSWER_DENSE = ("window_similarity", "stands_out", "agreement", *ANSWER_LEXICAL)
_LOWERING = (*ANSWER_CROSSLINGUAL, "collection_size")
# What answers a long question stands in several passages; what a single one of them has of it says
# little.
LONG_DENSE = ("window_mean",)
# Sets that have questions of both kinds; mass of each in the fit of the second model. Of the long
# questions there are few that are not answered.
ANSWERED = {
    "squad2_dev": 800.0, "nomiracl_en": 600.0, "multihop_rag_500": 250.0, "nomiracl_zh": 600.0,
}  # fmt: skip
# What a question asked of someone's documents is taken to be.
TOPIC_SHARES = {"answerable": 0.8, "off_topic": 0.2}
# Keywords say less than the sentence they come from; they should teach, not dominate.
SHORTENED_WEIGHT = 0.3
# The features overlap; sharing weight among them carries over to unseen sets better.
RIDGE = 10.0
STEPS, ROUNDS = 800, 6
# This share of answerable questions falls below each threshold, by models that never saw their
# set; every set counts the same.
WEAK_LOSS, SUFFICIENT_LOSS = 0.045, 0.07
FOLDS, BINS, COVERAGE = 5, 15, 0.6


@dataclass(frozen=True, slots=True)
class Table:
    """The pairs as columns: a row of ``inputs`` has every feature, in the order of ``names``."""

    names: tuple[str, ...]
    inputs: Array
    kinds: npt.NDArray[np.str_]
    questions: npt.NDArray[np.str_]
    corpora: npt.NDArray[np.str_]
    texts: npt.NDArray[np.str_]
    shortened: Flags
    small: Flags
    foreign: Flags

    def where(self, rows: Flags) -> Table:
        return Table(
            self.names, self.inputs[rows], self.kinds[rows], self.questions[rows],
            self.corpora[rows], self.texts[rows], self.shortened[rows], self.small[rows],
            self.foreign[rows],
        )  # fmt: skip

    def columns(self, names: Sequence[str]) -> Array:
        return self.inputs[:, [self.names.index(name) for name in names]]

    @property
    def long(self) -> Array:
        return self.columns(["long"])

    @property
    def own(self) -> Flags:
        """Whole questions, asked of the documents of their own set."""
        return np.asarray((self.questions == self.corpora) & ~self.shortened)

    @property
    def answerable(self) -> Flags:
        return np.asarray(self.kinds == "answerable")


def table(pairs: Sequence[Pair]) -> Table:
    rows = [measured(pair) for pair in pairs]
    names = tuple(rows[0])
    return Table(
        names=names,
        inputs=np.array([[row[name] for name in names] for row in rows], dtype=np.float64),
        kinds=np.array([pair.kind for pair in pairs]),
        questions=np.array([pair.question_set for pair in pairs]),
        corpora=np.array([pair.corpus_set for pair in pairs]),
        texts=np.array([pair.question for pair in pairs]),
        shortened=np.array([pair.shortened for pair in pairs]),
        small=np.array([pair.small for pair in pairs]),
        foreign=np.array([is_foreign(pair.question, pair.passages) for pair in pairs]),
    )


def measured(pair: Pair) -> Mapping[str, float]:
    passages = pair.passages[: grader_pairs.GRADED]
    asked = prepared(pair.question, passages, pair.lexicon)
    return features(asked, [match(asked, passage) for passage in passages], pair.background).values


# --------------------------------------------------------------------------------------- fitting


def fit(inputs: Array, labels: Array, weights: Array, names: Sequence[str]) -> Array:
    """Ridge logistic regression whose signs make sense; the intercept comes first, unpenalised.

    So is "long", which is the intercept of long questions.

    More coverage never lowers and more absence never raises the chance: coverages overlap, and
    left alone they trade weight against each other in ways that only the sets at hand bear out.
    Projected gradient steps with momentum (Beck and Teboulle 2009, FISTA) on the bounded problem.
    """
    lowers = [name.endswith("_absent") or name in _LOWERING for name in names]
    wanted = np.where(lowers, -1.0, 1.0)
    design = np.hstack([np.ones((len(inputs), 1)), inputs * wanted])
    penalty = np.array([0.0] + [0.0 if name == "long" else RIDGE for name in names])
    step = 1.0 / (np.linalg.norm((design.T * weights) @ design, 2) / 4 + RIDGE)
    found = ahead = np.zeros(design.shape[1])
    momentum = 1.0
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-design @ ahead))
        moved = ahead - step * (design.T @ (weights * (chance - labels)) + penalty * ahead)
        moved[1:] = np.maximum(moved[1:], 0.0)
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = moved + (momentum - 1) / following * (moved - found)
        found, momentum = moved, following
    return np.concatenate([found[:1], found[1:] * wanted])


def fit_topic(rows: Table, names: Sequence[str]) -> dict[str, Any]:
    """Answerable questions against those of other sets."""
    rows = rows.where(np.isin(rows.kinds, list(TOPIC_SHARES)))
    inputs, means, scales = _standard(rows.columns(names))
    found = fit(inputs, rows.answerable.astype(np.float64), _topic_weights(rows), names)
    return _stored(names, means, scales, found)


def _topic_weights(rows: Table) -> Array:
    """Every kind carries its share, and within it every collection the same."""
    weights = np.zeros(len(rows.kinds))
    for kind, share in TOPIC_SHARES.items():
        of_kind = rows.kinds == kind
        sets = sorted(set(rows.corpora[of_kind]))
        for name in sets:
            cell = of_kind & (rows.corpora == name)
            each = np.where(rows.shortened[cell], SHORTENED_WEIGHT, 1.0)
            weights[cell] = share / len(sets) * each / each.sum()
    return np.asarray(weights * len(weights), dtype=np.float64)


def fit_answer(
    rows: Table, names: Sequence[str], topic: Array, *, of_long: Sequence[str] = ()
) -> dict[str, Any]:
    """Answered or not, given that it is on topic, from the sets that have both kinds.

    ``topic`` is each row's chance to be on topic. An unanswered question may be off topic instead:
    how far it counts is estimated and fitted in turn (Dempster, Laird and Rubin 1977), so that the
    product of both chances fits. The longer a question, the less ``names`` count in it, and the
    more ``of_long``.
    """
    both = np.isin(rows.questions, _sets_of_both(rows)) & rows.own
    rows, topic = rows.where(both), topic[both]
    plain, means, scales = _standard(rows.columns(names))
    several, long_means, long_scales = _standard(rows.columns(of_long))
    inputs = np.hstack([plain * (1 - rows.long), several * rows.long, rows.long])
    labels = rows.answerable.astype(np.float64)
    mass = np.zeros(len(labels))
    for name in set(rows.questions):
        mass[rows.questions == name] = ANSWERED[name] / (rows.questions == name).sum()
    answered = np.full(len(labels), labels.mean())
    for _ in range(ROUNDS):
        on_topic = topic * (1 - answered) / (1 - topic * answered + 1e-9)
        weights = mass * np.where(labels > 0, 1.0, on_topic)
        found = fit(inputs, labels, weights, (*names, *of_long, "long"))
        answered = 1 / (1 + np.exp(-(found[0] + inputs @ found[1:])))
    weighed, of_several = found[: len(names) + 1], found[len(names) + 1 : -1]
    of_several = np.concatenate([found[:1] + found[-1], of_several])
    return _stored(names, means, scales, weighed) | {
        "long": _stored(of_long, long_means, long_scales, of_several)
    }


def _sets_of_both(rows: Table) -> list[str]:
    def has_both(name: str) -> bool:
        kinds = set(rows.kinds[rows.own & (rows.questions == name)])
        return {"answerable", "unanswerable"} <= kinds

    return [name for name in ANSWERED if has_both(name)]


def _standard(inputs: Array) -> tuple[Array, Array, Array]:
    means, scales = inputs.mean(axis=0), inputs.std(axis=0)
    scales[scales == 0] = 1.0
    return (inputs - means) / scales, means, scales


def _stored(names: Sequence[str], means: Array, scales: Array, found: Array) -> dict[str, Any]:
    return {
        "features": list(names),
        "means": means.round(5).tolist(),
        "scales": scales.round(5).tolist(),
        "intercept": round(float(found[0]), 5),
        "coefficients": [round(float(value), 5) + 0.0 for value in found[1:]],
    }


def predict(model: Mapping[str, Any], rows: Table) -> Array:
    z = _sum(model, rows)
    if "long" in model:
        z += rows.long[:, 0] * (_sum(model["long"], rows) - z)
    return np.asarray(1 / (1 + np.exp(-z)), dtype=np.float64)


def _sum(model: Mapping[str, Any], rows: Table) -> Array:
    inputs = (rows.columns(model["features"]) - model["means"]) / model["scales"]
    return np.asarray(inputs @ np.array(model["coefficients"]) + model["intercept"])


# ------------------------------------------------------------------------------------- measuring


@dataclass(frozen=True, slots=True)
class Chances:
    """By pair: on topic, by a model that saw neither its set nor its collection; on topic by a
    model that did not see the question; and on topic and answered, by that model too."""

    apart: Array
    topic: Array
    confidence: Array


def crossed(
    rows: Table,
    topic: Sequence[str],
    answer: Sequence[str],
    *,
    of_long: Sequence[str] = (),
    second: Mapping[str, Any] | None = None,
) -> Chances:
    """``second`` is the model of answers where these rows cannot teach one."""
    on_topic, confidence = np.zeros(len(rows.kinds)), np.zeros(len(rows.kinds))
    folds = _folds(rows)
    for fold in range(FOLDS):
        inside = folds == fold
        rest = rows.where(~inside)
        model = fit_topic(rest, topic)
        answered = second or fit_answer(rest, answer, predict(model, rest), of_long=of_long)
        on_topic[inside] = predict(model, rows.where(inside))
        confidence[inside] = on_topic[inside] * predict(answered, rows.where(inside))
    apart = on_topic.copy()
    if len(_names(rows)) > 1:  # with a single set there is none to learn from
        for held in sorted(set(rows.questions)):
            inside = rows.questions == held
            model = fit_topic(rows.where(~inside & (rows.corpora != held)), topic)
            apart[inside] = predict(model, rows.where(inside))
    return Chances(apart, on_topic, confidence)


def _folds(rows: Table) -> npt.NDArray[np.int_]:
    """A fold for each question, whichever collection it is asked of."""
    texts = sorted(set(rows.texts))
    order = np.random.default_rng(grader_pairs.SEED).permutation(len(texts))
    fold_of = dict(zip(texts, (order % FOLDS).tolist(), strict=True))
    return np.array([fold_of[text] for text in rows.texts])


def auroc(positive: Array, negative: Array) -> float:
    """The chance that a positive scores above a negative; ties count half."""
    above = (positive[:, None] > negative[None, :]).mean()
    return float(above + (positive[:, None] == negative[None, :]).mean() / 2)


def bins_of(
    chances: Array, labels: Array, weights: Array, *, count: int
) -> list[tuple[float, float]]:
    """Mean stated and observed chance of bins of equal mass, by rising chance."""
    order = np.argsort(chances, kind="stable")
    mass = np.cumsum(weights[order]) - weights[order] / 2
    place = np.minimum((mass / weights.sum() * count).astype(int), count - 1)
    parts = [order[place == number] for number in range(count)]
    return [
        (float(np.average(chances[p], weights=weights[p])), float(np.average(labels[p], weights=weights[p])))
        for p in parts
        if len(p)
    ]  # fmt: skip


def calibration_error(chances: Array, labels: Array, weights: Array) -> float:
    """Mean distance of stated and observed chance over bins of equal mass (Naeini et al. 2015)."""
    points = bins_of(chances, labels, weights, count=BINS)
    return sum(abs(stated - observed) for stated, observed in points) / len(points)


def risks(chances: Array, labels: Array, weights: Array) -> tuple[Array, Array]:
    """Coverage, and the share of unanswerable ones among what is covered, the surest first."""
    order = np.argsort(-chances, kind="stable")
    mass = np.cumsum(weights[order])
    wrong = np.cumsum(weights[order] * (1 - labels[order]))
    return mass / mass[-1], wrong / mass


def quantile_by_set(rows: Table, chances: Array, share: float) -> float:
    """The chance below which ``share`` of the answerable questions lie, every set counted the same."""
    found, weights = [], []
    for name in sorted(set(rows.questions)):
        of_set = chances[rows.own & rows.answerable & (rows.questions == name)]
        found.append(of_set)
        weights.append(np.full(len(of_set), 1 / max(len(of_set), 1)))
    order = np.argsort(np.concatenate(found), kind="stable")
    mass = np.cumsum(np.concatenate(weights)[order])
    return float(np.concatenate(found)[order][int(np.searchsorted(mass, share * mass[-1]))])


def report(rows: Table, chances: Chances, weak: float, sufficient: float) -> dict[str, Any]:
    off_topic = (rows.kinds == "off_topic") & ~rows.shortened
    answerable = rows.own & rows.answerable
    cells = {
        f"{one}->{other}": chances.apart[off_topic & (rows.questions == one) & (rows.corpora == other)]
        for one, other in sorted(set(zip(rows.questions, rows.corpora, strict=True)))
        if one != other
    }  # fmt: skip
    rejected = {name: float((cell < weak).mean()) for name, cell in cells.items()}
    barred = {n for n in rejected if set(n.split("->")) <= grader_pairs.CROSSED_MORE}
    # Behind the first ones of all, those that have a bar.
    ordered = sorted(rejected, key=lambda name: rejected[name])
    worst = [*ordered[:6], *[name for name in ordered[6:] if name in barred][:6]]
    sets = {name: dict(_of_set(rows, chances, name, weak, sufficient)) for name in _names(rows)}
    together = judged(rows, chances)
    both = [together[name] for name in together if name in _sets_of_both(rows)]
    return {
        "pairs": {str(kind): int((rows.kinds == kind).sum()) for kind in sorted(set(rows.kinds))},
        "off_topic_auroc": round(auroc(chances.apart[answerable], chances.apart[off_topic]), 4),
        "off_topic_rejected": round(float((chances.apart[off_topic] < weak).mean()), 4),
        "off_topic_rejected_mean_of_the_barred_pairs": round(
            float(np.mean([rejected[name] for name in sorted(barred)])), 4
        )
        if barred
        else None,
        "falsely_rejected_mean_of_sets": round(
            float(np.mean([sets[name]["falsely_rejected"] for name in sets])), 4
        ),
        "worst_pairs": [f"{name} {rejected[name]:.2f} of {len(cells[name])}" for name in worst],
        "calibration_error_sets_equal": round(calibration_error(*_joined(both)), 4)
        if both
        else None,
        "risk_at_60_percent": {
            "sets_of_both_kinds": _risk_at(*_joined(both)) if both else None,
            "all_sets_and_off_topic": _risk_at(*_joined(list(together.values()))),
        },
        "sets": sets,
    }


def judged(rows: Table, chances: Chances) -> dict[str, tuple[Array, Array, Array]]:
    """By set, and for off-topic questions as one more: confidence, label, and mass of one in all."""
    found = {}
    for name in [*_names(rows), "off_topic"]:
        inside = rows.own & ~rows.small & (rows.questions == name)
        if name == "off_topic":
            inside = (rows.kinds == "off_topic") & ~rows.shortened & ~rows.small
        count = int(inside.sum())
        found[name] = (
            chances.confidence[inside], rows.answerable[inside].astype(float),
            np.full(count, 1 / count),
        )  # fmt: skip
    return found


def _names(rows: Table) -> list[str]:
    return sorted(set(rows.questions[rows.own]))


def _joined(columns: Sequence[tuple[Array, Array, Array]]) -> tuple[Array, Array, Array]:
    chances, labels, weights = zip(*columns, strict=True)
    return np.concatenate(chances), np.concatenate(labels), np.concatenate(weights)


def _risk_at(chances: Array, labels: Array, weights: Array) -> float:
    coverage, risk = risks(chances, labels, weights)
    return round(float(risk[int(np.searchsorted(coverage, COVERAGE))]), 4)


def _of_set(
    rows: Table, chances: Chances, name: str, weak: float, sufficient: float
) -> Iterator[tuple[str, float]]:
    own = rows.own & (rows.questions == name)
    right = own & rows.answerable
    yield "falsely_rejected", round(float((chances.apart[right] < weak).mean()), 3)
    yield "sufficient", round(float((chances.apart[right] >= sufficient).mean()), 3)
    confidence, labels, weights = judged(rows, chances)[name]
    yield "mean_confidence", round(float(confidence.mean()), 3)
    if labels.min() == labels.max():
        return
    wrong = own & ~rows.answerable
    yield "auroc", round(auroc(confidence[labels > 0], confidence[labels == 0]), 3)
    yield "unanswerable_rejected", round(float((chances.apart[wrong] < weak).mean()), 3)
    yield "calibration_error", round(calibration_error(confidence, labels, weights), 3)
    yield "answerable_share", round(float(labels.mean()), 3)
    yield "aurc", round(float(risks(confidence, labels, weights)[1].mean()), 3)
    yield "questions", len(labels)


def fitted(
    rows: Table,
    topic: Sequence[str],
    answer: Sequence[str],
    *,
    of_long: Sequence[str] = (),
    second: Mapping[str, Any] | None = None,
) -> tuple[dict[str, Any], dict[str, Any], Chances]:
    """A model with its thresholds, its figures, and the chances that these are of."""
    first = fit_topic(rows, topic)
    answered = second or fit_answer(rows, answer, predict(first, rows), of_long=of_long)
    model = {"topic": first, "answer": answered}
    chances = crossed(rows, topic, answer, of_long=of_long, second=second)
    weak = quantile_by_set(rows, chances.apart, WEAK_LOSS)
    sufficient = quantile_by_set(rows, chances.apart, SUFFICIENT_LOSS)
    model |= {"weak_threshold": round(weak, 4), "sufficient_threshold": round(sufficient, 4)}
    return model, report(rows, chances, weak, sufficient), chances


def _of_one_kind(rows: Table, kind: Flags) -> Flags:
    """``kind`` without the strays of sets that are of the other one: two are no set."""
    strays = [
        name for name in _names(rows) if kind[rows.own & (rows.questions == name)].mean() < 0.5
    ]
    return np.asarray(kind & ~((rows.questions == rows.corpora) & np.isin(rows.questions, strays)))


def main() -> None:
    cache = Path(sys.argv[1])
    models = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    kept = json.loads(OUT.read_text(encoding="utf-8"))
    found, figures = kept["models"], kept["provenance"].get("measured", {})

    def keep(name: str, rows: Table, *names: Sequence[str], **options: Any) -> Chances:
        found[name], figures[name], chances = fitted(rows, *names, **options)
        print(name, json.dumps(figures[name], indent=1))
        for part in ("topic", "answer"):
            fit_of = found[name][part]
            print(part, dict(zip(fit_of["features"], fit_of["coefficients"], strict=True)))
        return chances

    english = table(grader_pairs.collect(ENGLISH, cache, crossed=12))
    chances = keep("dense", english, DENSE, ANSWER_DENSE, of_long=LONG_DENSE)
    columns = {name: [c.tolist() for c in own] for name, own in judged(english, chances).items()}
    (cache / "confidences.json").write_text(json.dumps(columns))
    keep("lexical", english, LEXICAL, ANSWER_LEXICAL)
    chinese = table(grader_pairs.collect(CHINESE, cache, crossed=16))
    keep("cjk", chinese, LEXICAL, ANSWER_LEXICAL)
    if models is not None:
        pairs = grader_pairs.collect(MULTILINGUAL, cache, crossed=12, models=models)
        multilingual = table(pairs)
        same = multilingual.where(_of_one_kind(multilingual, ~multilingual.foreign))
        foreign = multilingual.where(_of_one_kind(multilingual, multilingual.foreign))
        chances = keep("multilingual", same, CLOSE, ANSWER_DENSE, of_long=LONG_DENSE)
        second = fit_answer(same, ANSWER_CROSSLINGUAL, chances.topic)
        keep("crosslingual", foreign, CROSSLINGUAL, ANSWER_CROSSLINGUAL, second=second)
    provenance = {
        "made_by": "tools/fit_grader.py",
        "seed": grader_pairs.SEED,
        "sets": {
            "dense, lexical": [size.label for size in ENGLISH],
            "cjk": [size.label for size in CHINESE],
            "multilingual, crosslingual": [size.label for size in MULTILINGUAL],
        },
        "assumed_shares": TOPIC_SHARES,
        "measured": figures,
    }
    written = {"provenance": provenance, "embedders": EMBEDDERS, "models": found}
    OUT.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


# The coefficients for the cosines of an embedder: of questions in the language of the passages, and
# of others. Embedders that are not here are judged by words.
EMBEDDERS = {
    "bundled": {"same": "dense"},
    "multilingual": {"same": "multilingual", "foreign": "crosslingual"},
}


if __name__ == "__main__":
    main()
