"""Fit ``reasoning/complexity_model.json`` on open question sets, and measure how questions are routed.

Run from the checkout: ``PYTHONPATH=src python tools/fit_complexity.py [--write]``. Every figure for a set is of a
model that saw no question of its family (HotpotQA is left out of BREAK, too; XQuAD goes with SQuAD). What a rule
settles is not fitted. The sets are found in the folder that ``ANABRANCH_DATA`` names, else in
``../shared/data``. Deterministic: a fixed seed, projected Newton steps.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from anabranch.language import cjk_share
from anabranch.reasoning.complexity import complexity_reason, decisive_reason
from anabranch.reasoning.detours import SIGNS, TEN_WORDS, signs

DATA = Path(os.environ.get("ANABRANCH_DATA", Path(__file__).parents[2] / "shared" / "data"))
MODEL = Path(__file__).parents[1] / "src" / "anabranch" / "reasoning" / "complexity_model.json"
SEED = 7
MOST_OF_A_SET = 1_500
# Where the coefficients are drawn to, and how hard: what was a rule of its own before it was weighed starts as
# one. Chosen among (0, 1), (1.5, 5), (1.5, 20), (2, 10), (2, 40), (2.5, 20), (2.5, 60) by the sets left out.
STARTS = 2.0
ALONE = 3.0  # "Where was the performer of Thriller born?" is short, and still takes two facts.
STARTING = frozenset(SIGNS) - {
    "any_relative", "late_relative", "kind_participle", "other_participle", "two_participles", "bare_kind",
    "role_of", "two_kinds", "two_numbers", "ends_open", "asks_late", "two_verbs", TEN_WORDS,
}  # fmt: skip
RIDGE = 10.0
# The share of plain questions that the weighing may call complex; every family of them counts the same.
FALSE_ALARMS = 0.03
FEWEST = 60  # A family with fewer plain questions says nothing about so small a share.
# QuAC's questions lean on a conversation; CWQ's are made by machine: half the say.
SAY = {"canard": 0.5, "cwq": 0.5}

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Labelled:
    family: str
    text: str
    complex: bool


@dataclass(frozen=True, slots=True)
class Fitted:
    coefficients: Array  # the bias first, then one for each of SIGNS
    threshold: float


def lines(name: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / name / "queries.jsonl.gz", "rt", encoding="utf-8") as opened:
        return [json.loads(line) for line in opened]


def texts(name: str, keep: Callable[[dict[str, Any]], bool] = lambda metadata: True) -> list[str]:
    """The English questions of a set, each once, at most as many as are worth fitting."""
    found = [row["text"] for row in lines(name) if keep(row["metadata"])]
    english = list(dict.fromkeys(text for text in found if cjk_share(text) == 0))
    return random.Random(SEED).sample(english, min(MOST_OF_A_SET, len(english)))


def training() -> list[Labelled]:
    """Questions whose sets ask for one fact or for several."""
    sets: list[tuple[str, bool, Iterable[str]]] = [
        ("squad", False, texts("squad2_dev")),
        ("squad", False, texts("xquad_12lang", lambda m: m["lang"] == "en")[:500]),
        ("nq", False, texts("nq_open_oracle")),
        ("nomiracl", False, texts("nomiracl_en")),
        ("rgb", False, texts("rgb_fact")),
        ("musique", False, texts("musique_100", lambda m: m["type"] == "single_hop")),
        ("canard", False, [row["metadata"]["rewrite"] for row in lines("canard_dev")][:1_200]),
        ("musique", True, texts("musique_100", lambda m: m["type"] != "single_hop")),
        ("hotpot", True, texts("hotpotqa_mix")),
        ("hotpot", True, texts("break_qdmr", lambda m: m["source"] == "HOTPOT")),
        (
            "cwq",
            True,
            texts("break_qdmr", lambda m: m["source"] == "CWQ" and m["route"] == "complex"),
        ),
        ("fanout", True, texts("fanoutqa")),
        ("strategy", True, texts("strategyqa_facts")),
        ("multihop", True, texts("multihop_rag_500")),
    ]
    return [
        Labelled(family, text, label)
        for family, label, found in sets
        for text in found
        if not re.match(
            r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b",
            text,
            re.I,
        )
        and decisive_reason(text) is None
    ]


def design(questions: Sequence[str]) -> Array:
    """A row of zeros and ones for each question, a one in front for the bias."""
    rows = np.zeros((len(questions), len(SIGNS) + 1))
    rows[:, 0] = 1
    for row, question in zip(rows, questions, strict=True):
        for name in signs(question):
            row[1 + SIGNS.index(name)] = 1
    return rows


def weigh(rows: Sequence[Labelled]) -> Array:
    """Both labels weigh the same; inside one, a family counts by the root of its size."""
    weights = np.zeros(len(rows))
    for label in (False, True):
        sizes: dict[str, int] = {}
        for row in rows:
            if row.complex == label:
                sizes[row.family] = sizes.get(row.family, 0) + 1
        says = {family: size**0.5 * SAY.get(family, 1.0) for family, size in sizes.items()}
        for index, row in enumerate(rows):
            if row.complex == label:
                weights[index] = 500 * says[row.family] / sum(says.values()) / sizes[row.family]
    return weights


def fit(inputs: Array, labels: Array, weights: Array) -> Array:
    """Logistic regression with a normal prior; no coefficient but the bias is negative.

    A sign of a detour cannot speak for a plain question: without the bound the fit learns the style of the
    sets that it saw ("what kind of", their length), and fails on the one left out.
    """
    prior = np.array([0.0] + [STARTS if name in STARTING else 0.0 for name in SIGNS])
    prior[1 + SIGNS.index("role_chain")] = ALONE
    penalty = np.array([0.0] + [RIDGE] * len(SIGNS))
    coefficients = prior.copy()
    for _ in range(80):
        chance = 1 / (1 + np.exp(-np.clip(inputs @ coefficients, -60, 60)))
        gradient = inputs.T @ (weights * (labels - chance)) - penalty * (coefficients - prior)
        free = (coefficients > 0) | (gradient > 0)
        free[0] = True
        curvature = (inputs.T * (weights * chance * (1 - chance))) @ inputs + np.diag(penalty)
        step = np.zeros_like(coefficients)
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        coefficients += 0.7 * step
        coefficients[1:] = np.maximum(coefficients[1:], 0)
    return coefficients


def without(family: str, rows: Sequence[Labelled], inputs: Array) -> Fitted:
    """The model of all families but one."""
    kept = [index for index, row in enumerate(rows) if row.family != family]
    chosen, design_of = [rows[index] for index in kept], inputs[kept]
    labels = np.array([row.complex for row in chosen], dtype=float)
    coefficients = fit(design_of, labels, weigh(chosen))
    return Fitted(coefficients, alarm_threshold(chosen, design_of @ coefficients))


def alarm_threshold(rows: Sequence[Labelled], scores: Array) -> float:
    """The score that FALSE_ALARMS of the plain questions reach, every family counted the same."""
    sizes: dict[str, int] = {}
    for row in rows:
        if not row.complex:
            sizes[row.family] = sizes.get(row.family, 0) + 1
    counted = [
        (float(score), 1 / sizes[row.family])
        for row, score in zip(rows, scores, strict=True)
        if not row.complex and sizes[row.family] >= FEWEST
    ]
    counted.sort(reverse=True)
    room = FALSE_ALARMS * sum(weight for _, weight in counted)
    for score, weight in counted:
        room -= weight
        if room <= 0:
            return score
    raise ValueError("no plain questions to set the threshold by")


def reads_complex(questions: Sequence[str], model: Fitted) -> npt.NDArray[np.bool_]:
    ruled = np.array([decisive_reason(question) is not None for question in questions])
    verdict: npt.NDArray[np.bool_] = ruled | (
        design(questions) @ model.coefficients > model.threshold
    )
    return verdict


FAMILIES = {
    "nq_open_oracle": "nq", "musique_100": "musique", "hotpotqa_mix": "hotpot", "fanoutqa": "fanout",
    "strategyqa_facts": "strategy", "multihop_rag_500": "multihop",
}  # fmt: skip


def routing(model_for: Callable[[str], Fitted], change: Callable[[str], str]) -> dict[str, float]:
    """The share of each source of routing_mix_open that is routed as labelled."""
    found: dict[str, list[tuple[str, bool]]] = {}
    for row in lines("routing_mix_open"):
        source, route = row["metadata"]["source"], row["metadata"]["route"]
        if route != "clarify":
            found.setdefault(source, []).append((change(row["text"]), route == "complex"))
    shares = {}
    for source, pairs in found.items():
        questions, labels = [text for text, _ in pairs], np.array([label for _, label in pairs])
        if source in FAMILIES:
            verdicts = reads_complex(questions, model_for(FAMILIES[source]))
        else:  # Chinese: rules alone
            verdicts = np.array([complexity_reason(question) is not None for question in questions])
        shares[source] = float(np.mean(verdicts == labels))
    return shares


def shown(title: str, shares: dict[str, float]) -> None:
    mean = sum(shares.values()) / len(shares)
    print(f"{title}: mean {mean:.4f}", {name: round(share, 3) for name, share in shares.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the model file")
    arguments = parser.parse_args()
    rows = training()
    inputs = design([row.text for row in rows])
    everything = without("", rows, inputs)
    left_out = {family: without(family, rows, inputs) for family in (*FAMILIES.values(), "squad")}
    print(f"{len(rows)} questions that no rule settles")
    squad = [row["text"] for row in lines("squad2_dev")]
    for title, model in (("left out", left_out["squad"]), ("fitted", everything)):
        print(f"squad2_dev read as simple, {title}: {1 - np.mean(reads_complex(squad, model)):.4f}")
    for how, change in (("as typed", str), ("lower case", str.lower), ("no marks", unmarked)):
        shown(f"left out, {how}", routing(left_out.__getitem__, change))
        shown(f"fitted, {how}", routing(lambda _: everything, change))
    weights = dict(zip(SIGNS, everything.coefficients[1:].round(2).tolist(), strict=True))
    stored = {
        "bias": round(float(everything.coefficients[0]), 2),
        "threshold": round(everything.threshold, 2),
        "weights": {name: weight for name, weight in weights.items() if weight},
    }
    print(json.dumps(stored, indent=1))
    if arguments.write:
        MODEL.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


def unmarked(question: str) -> str:
    """As it is typed in haste: small letters, no closing mark, no apostrophe's curl."""
    return question.lower().rstrip("?？ .").replace("’", "'")


if __name__ == "__main__":
    main()
