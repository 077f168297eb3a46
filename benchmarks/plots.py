"""Draws ``docs/benchmarks.md`` and its plots from the results of ``benchmarks/peers/run.py``.

    PYTHON benchmarks/plots.py [--results FILE] [--quality FILE] [--docs FOLDER] [--png FOLDER]

PYTHON is one with matplotlib: ``make bench-peers`` makes an environment for it. The newest file of
``benchmarks/results`` that has peers is taken; ``--quality`` names one whose rankings are shown where
only times were measured anew. Plots are SVG, for light and for dark pages; ``--png``
writes them as pictures too, to look at.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[0] = str(ROOT)

from benchmarks.peers.page import NAMES, OURS, page, systems_of, with_quality  # noqa: E402
from benchmarks.pictures import THEMES, Theme, save, set_theme  # noqa: E402

# Okabe and Ito's colours, told apart by the colour-blind, in tones that both pages bear; with a
# marker each, since colour alone should carry nothing.
COLOURS = {
    "anabranch": "#d55e00", "baseline": "#8b949e", "txtai": "#009e73", "langchain": "#0f86d6",
    "llamaindex": "#cc79a7", "haystack": "#c9a400",
}  # fmt: skip
MARKERS = {
    "anabranch": "o", "baseline": "s", "txtai": "^", "langchain": "D", "llamaindex": "v",
    "haystack": "P",
}  # fmt: skip
COMPARED = "standard"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--results", type=Path)
    parser.add_argument("--quality", type=Path)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    parser.add_argument("--png", type=Path)
    arguments = parser.parse_args()
    file = arguments.results or newest(ROOT / "benchmarks" / "results")
    results = json.loads(file.read_text(encoding="utf-8"))
    if arguments.quality:
        results = with_quality(results, json.loads(arguments.quality.read_text(encoding="utf-8")))
    images = arguments.docs / "images"
    images.mkdir(parents=True, exist_ok=True)
    for theme in THEMES:
        for name, figure in _figures(results, theme).items():
            save(figure, name, theme, images=images, png=arguments.png)
    (arguments.docs / "benchmarks.md").write_text(page(results), encoding="utf-8")


def newest(folder: Path) -> Path:
    """The latest results with peers; exits with what to do where there are none."""
    found = sorted(
        folder.glob("*-peers.json"), key=lambda file: json.loads(file.read_text())["date"]
    )
    if not found:
        sys.exit(f"{str(folder)!r} has no *-peers.json. Run benchmarks/peers/run.py first.")
    return found[-1]


def _figures(results: Mapping[str, Any], theme: Theme) -> dict[str, Any]:
    set_theme(theme)
    figures = {}
    if results.get("quality"):
        figures["quality"] = _quality(results["quality"])
    if results.get("latency"):
        figures["latency"] = _latency(results["latency"])
    return figures


def _quality(quality: Mapping[str, Any]) -> Any:
    """A row for each set, a mark for each system, on the whole scale from 0 to 1."""
    import matplotlib.pyplot as plt

    means, best = quality["means"], quality["best_mode"]
    rows = [*quality["sets"], "mean"]
    figure, axes = plt.subplots(figsize=(8, 0.42 * len(rows) + 1.3), layout="constrained")
    for system in systems_of(means):
        mode = COMPARED if system == OURS else best[system]
        by_set = means[system].get(mode, {})
        there = [(by_set[name]["nDCG@10"], at) for at, name in enumerate(rows) if name in by_set]
        if not there:
            continue
        own = system == OURS
        axes.scatter(
            [value for value, _ in there], [at for _, at in there], s=80 if own else 46,
            color=COLOURS[system], marker=MARKERS[system], zorder=4 if own else 3,
            alpha=1 if own else 0.85,
            label=f"{NAMES[system]}{' (standard)' if own else ''}", linewidths=0,
        )  # fmt: skip
    axes.axhline(len(rows) - 1.5, color=axes.spines["left"].get_edgecolor(), linewidth=1)
    axes.set_yticks(range(len(rows)), [name.replace("_", " ") for name in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("nDCG@10; each library in its best mode over all sets")
    axes.grid(axis="both", linewidth=0.6)
    axes.set_axisbelow(True)
    figure.legend(loc="outside upper center", ncols=6, frameon=False, columnspacing=1.0,
                  handletextpad=0.2)  # fmt: skip
    return figure


def _latency(latency: Mapping[str, Any]) -> Any:
    """Three panels over the number of passages, both axes logarithmic and the second one shared."""
    import matplotlib.pyplot as plt

    sizes = sorted(latency, key=int)
    figure, panels = plt.subplots(1, 3, figsize=(10, 4), layout="constrained", sharey=True)
    shown = (
        ("one query: time", "1", "p50_ms"), ("four wordings: time", "4", "p50_ms"),
        ("four wordings: CPU", "4", "cpu_ms"),
    )  # fmt: skip
    for axes, (title, ways, figure_name) in zip(panels, shown, strict=True):
        for system in systems_of(system for size in sizes for system in latency[size]):
            there = [
                (int(size), latency[size][system]["ways"][ways])
                for size in sizes
                if ways in latency[size].get(system, {}).get("ways", {})
            ]
            axes.plot(
                [size for size, _ in there], [found[figure_name] for _, found in there],
                color=COLOURS[system], marker=MARKERS[system],
                linewidth=2.4 if system == OURS else 1.4, markersize=6,
                label=NAMES[system], zorder=4 if system == OURS else 3,
            )  # fmt: skip
            if figure_name == "p50_ms":
                axes.vlines(
                    [size for size, _ in there], [found["p50_ms"] for _, found in there],
                    [max(found["p50_ms"], found["p95_ms"]) for _, found in there], color=COLOURS[system], linewidth=1,
                    alpha=0.6,
                )  # fmt: skip
        axes.set(xscale="log", yscale="log", title=title, xlabel="passages")
        axes.set_xticks([int(size) for size in sizes], [f"{int(size) // 1000}k" for size in sizes])
        axes.minorticks_off()
        axes.grid(linewidth=0.6)
        axes.set_axisbelow(True)
    from matplotlib.ticker import FuncFormatter

    panels[0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    panels[0].set_ylabel("ms: median, line up to the 95th percentile")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=6, frameon=False)
    return figure


if __name__ == "__main__":
    main()
