"""How the plots of the documentation look, on light and on dark pages, and how they are written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of a page: text, faint lines, and what is behind (only to look at a picture)."""

    name: str
    text: str
    faint: str
    behind: str


THEMES = (
    Theme("light", "#1f2328", "#d0d7de", "#ffffff"),
    Theme("dark", "#e6edf3", "#3d444d", "#0d1117"),
)


def set_theme(theme: Theme) -> None:
    """Makes matplotlib draw for ``theme``."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update(
        {
            "font.size": 10, "svg.fonttype": "path", "svg.hashsalt": "anabranch",
            "text.color": theme.text, "axes.labelcolor": theme.text, "axes.edgecolor": theme.faint,
            "xtick.color": theme.text, "ytick.color": theme.text, "grid.color": theme.faint,
            "axes.facecolor": "none", "figure.facecolor": "none", "legend.labelcolor": theme.text,
            "axes.spines.top": False, "axes.spines.right": False, "xtick.major.size": 0,
            "ytick.major.size": 0,
        }
    )  # fmt: skip


def save(figure: Any, name: str, theme: Theme, *, images: Path, png: Path | None) -> None:
    """``NAME-THEME.svg`` in ``images``, and a picture of it in ``png``, to look at."""
    file = images / f"{name}-{theme.name}.svg"
    # No date inside: the same results give the same file.
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    # Lines that end in blanks do not pass the checks of the repository.
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")
    if png:
        png.mkdir(parents=True, exist_ok=True)
        figure.savefig(png / f"{name}-{theme.name}.png", dpi=110, facecolor=theme.behind)
