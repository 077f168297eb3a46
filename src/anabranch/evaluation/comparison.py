"""Two runs over the same queries: is the difference more than chance?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, FiniteFloat, ValidationError

from anabranch.errors import InputError

RUN_SCHEMA = "anabranch.eval-run/1"
ROUNDS = 10_000
_SEED = 20_261_130
_AT_ONCE = 500
# Differences of means that are equal but for the order of summing.
_SAME = 1e-12

Figures = Mapping[str, Mapping[str, float]]


class _SavedRun(BaseModel):
    schema_name: Literal["anabranch.eval-run/1"] = Field(alias="schema")
    report: dict[str, Any]
    queries: dict[str, dict[str, FiniteFloat]]


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """A figure in both runs over the ``n`` queries that have it in both.

    ``interval`` is the 95 % bootstrap interval of the mean difference; ``p`` is two-sided.
    """

    n: int
    before: float
    after: float
    difference: float
    interval: tuple[float, float]
    p: float


def compare(before: Figures, after: Figures) -> dict[str, PairedDifference]:
    """The paired difference of every figure. Raises InputError where no query is in both runs.

    ``p`` is from Fisher's randomisation test, which assumes nothing of the figures' distribution
    (Smucker et al., CIKM 2007): the share of random exchanges of the two runs, query by query,
    that differ at least as much. It is not corrected for looking at several figures.
    """
    shared = [query for query in after if query in before]
    if not shared:
        raise InputError(
            "The two runs have no query in common. Compare runs of the same data set and split."
        )
    names = dict.fromkeys(name for query in shared for name in after[query])
    pairs = {
        name: [
            (before[query][name], after[query][name])
            for query in shared
            if name in before[query] and name in after[query]
        ]
        for name in names
    }
    return {name: paired_difference(found) for name, found in pairs.items() if found}


def paired_difference(pairs: list[tuple[float, float]]) -> PairedDifference:
    """The difference of the second values to the first; the same pairs give the same result."""
    import numpy as np

    values = np.asarray(pairs, dtype=np.float64)
    differences = values[:, 1] - values[:, 0]
    count, observed = len(differences), float(differences.mean())
    generator = np.random.default_rng(_SEED)
    extreme, resampled = 0, []
    for start in range(0, ROUNDS, _AT_ONCE):
        rounds = min(_AT_ONCE, ROUNDS - start)
        signs = generator.integers(0, 2, size=(rounds, count)) * 2 - 1
        extreme += int((np.abs(signs @ differences / count) >= abs(observed) - _SAME).sum())
        chosen = generator.integers(0, count, size=(rounds, count))
        resampled.append(differences[chosen].mean(axis=1))
    low, high = np.quantile(np.concatenate(resampled), (0.025, 0.975))
    return PairedDifference(
        n=count,
        before=float(values[:, 0].mean()),
        after=float(values[:, 1].mean()),
        difference=observed,
        interval=(float(low), float(high)),
        p=(extreme + 1) / (ROUNDS + 1),
    )


def save_run(file: Path, report: Mapping[str, Any], figures: Figures) -> None:
    """Writes what ``read_run`` reads. Raises InputError for a file that cannot be written."""
    saved = {"schema": RUN_SCHEMA, "report": report, "queries": figures}
    write_text(file, json.dumps(saved, ensure_ascii=False, indent=1))


def read_run(file: Path) -> tuple[Mapping[str, Any], Figures]:
    """The report and the figures by query of a saved run. Raises InputError."""
    try:
        saved = _SavedRun.model_validate_json(file.read_bytes())
    except OSError as error:
        raise InputError(f"The run {str(file)!r} cannot be read: {error.strerror}.") from None
    except ValidationError:
        raise InputError(
            f"{str(file)!r} is not a saved run. `anabranch eval DATASET --save FILE` writes one."
        ) from None
    return saved.report, saved.queries


def write_text(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{str(file)!r} cannot be written: {error.strerror}. Give a path in a folder that "
            "is there."
        ) from None
