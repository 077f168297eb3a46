"""Draws how far the grader's confidence can be trusted, from what ``fit_grader.py`` kept.

    PYTHON tools/plot_grader.py CACHE [--png FOLDER]

PYTHON is one with matplotlib. Writes ``docs/images/reliability-*.svg`` and ``risk_coverage-*.svg``,
for light and for dark pages; ``--png`` writes them as pictures too, to look at.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from fit_grader import ANSWERED, BINS, Array, bins_of, risks

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))

from benchmarks.pictures import THEMES, save, set_theme  # noqa: E402

# Okabe and Ito's colours, told apart by the colour-blind; with a marker each.
LOOKS = (("#0f86d6", "^"), ("#009e73", "D"), ("#cc79a7", "v"), ("#c9a400", "P"))
OVERALL = "#d55e00"
# By set: confidences, whether answerable, and what each question counts.
Judged = dict[str, tuple[Array, Array, Array]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cache", type=Path)
    parser.add_argument("--png", type=Path)
    arguments = parser.parse_args()
    kept = json.loads((arguments.cache / "confidences.json").read_text(encoding="utf-8"))
    judged = {name: tuple(np.array(column) for column in columns) for name, columns in kept.items()}
    for theme in THEMES:
        set_theme(theme)
        for name, figure in (
            ("reliability", _reliability(judged)), ("risk_coverage", _risk_coverage(judged)),
        ):  # fmt: skip
            save(figure, name, theme, images=ROOT / "docs" / "images", png=arguments.png)


def _reliability(judged: Judged) -> Any:
    """Observed beside stated chance, in bins of equal mass."""
    figure, axes = _square("confidence, mean of a bin", "share of these that is answerable")
    axes.plot([0, 1], [0, 1], linewidth=1, linestyle=":", color=axes.xaxis.label.get_color())
    shown = [name for name in judged if name in ANSWERED]
    for name, (colour, marker) in zip(shown, LOOKS, strict=False):
        points = bins_of(*judged[name], count=BINS // 2)
        axes.plot(*zip(*points, strict=True), color=colour, marker=marker, markersize=5,
                  linewidth=1, alpha=0.9, label=_named(name))  # fmt: skip
    points = bins_of(*_together(judged, shown), count=BINS)
    axes.plot(
        *zip(*points, strict=True), color=OVERALL, marker="o", linewidth=2.2, label="together"
    )
    axes.legend(frameon=False, loc="upper left")
    return figure


def _risk_coverage(judged: Judged) -> Any:
    """The share of answers given to unanswerable questions, the surest questions answered first."""
    figure, axes = _square("share of questions answered", "of these: not answerable")
    shown = [name for name in judged if name in ANSWERED]
    for name, (colour, _) in zip(shown, LOOKS, strict=False):
        axes.plot(*risks(*judged[name]), color=colour, linewidth=1.2, label=_named(name))
    coverage, risk = risks(*_together(judged, list(judged)))
    axes.plot(
        coverage, risk, color=OVERALL, linewidth=2.4, label="all sets and off-topic questions"
    )
    axes.axvline(0.6, linewidth=1, linestyle=":", color=axes.xaxis.label.get_color())
    axes.set_ylim(0, 0.6)
    axes.legend(frameon=False, loc="upper left")
    return figure


def _together(judged: Judged, names: list[str]) -> tuple[Array, Array, Array]:
    columns = zip(*(judged[name] for name in names), strict=True)
    first, second, third = (np.concatenate(column) for column in columns)
    return first, second, third


def _square(across: str, up: str) -> tuple[Any, Any]:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.4, 4.6), layout="constrained")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(axis="both", linewidth=0.6)
    axes.set_axisbelow(True)
    return figure, axes


def _named(name: str) -> str:
    return name.replace("_", " ")


if __name__ == "__main__":
    main()
