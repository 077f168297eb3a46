"""Small sums that the measured environments share; the standard library only."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence


def spread(times: Sequence[float]) -> dict[str, float]:
    """Count, median and 95th percentile of ``times``, which are in milliseconds."""
    ordered = sorted(times)
    return {
        "n": len(ordered),
        "p50_ms": statistics.median(ordered),
        "p95_ms": ordered[math.ceil(0.95 * len(ordered)) - 1],  # nearest rank: never below p50
    }
