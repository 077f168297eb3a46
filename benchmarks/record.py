"""What every benchmark says of itself, and where its dated results go."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def git(*arguments: str) -> str:
    """What git prints, or "" where there is no repository."""
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def provenance() -> dict[str, Any]:
    """The commit, whether anything was changed since, and the time."""
    return {
        "commit": git("rev-parse", "--short", "HEAD"),
        "changed_since": bool(git("status", "--porcelain", "src")),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def write_results(
    results: dict[str, Any], folder: Path, *, kind: str = "", digits: int = 3
) -> dict[str, Any]:
    """``results``, rounded, as ``DATE-COMMIT[-KIND].json`` in ``folder``; what was written."""
    rounded: dict[str, Any] = json.loads(
        json.dumps(results), parse_float=lambda text: round(float(text), digits)
    )
    folder.mkdir(parents=True, exist_ok=True)
    name = "-".join(filter(None, (results["date"][:10], results["commit"] or "no-commit", kind)))
    file = folder / f"{name}.json"
    file.write_text(json.dumps(rounded, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"written: {file}", file=sys.stderr)
    return rounded
