"""What each measured library is wrapped in, and what several wrappers share.

It is imported in environments that do not have Anabranch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from benchmarks.peers.encoder import Encoder
from benchmarks.peers.exchange import Passage

# Candidates of each leg, as ours; documents are ranked from them.
CANDIDATES = 100


@dataclass(frozen=True, slots=True)
class Mode:
    """A way to use a library. ``search`` takes wordings and gives positions of passages, best first.

    A mode that is not ``multi`` is given the question alone.
    """

    name: str
    multi: bool
    search: Callable[[Sequence[str]], list[int]]


class Peer(Protocol):
    """A library with its index in memory. ``packages`` are the ones whose versions are reported.

    ``for_quality`` asks for all modes at their best, and allows what would be wrong in a timed run:
    remembering what a leg found for a wording, since all modes ask the same legs.
    """

    packages: tuple[str, ...]
    # The modes that are timed: the fastest of those that the library's own pages show first.
    timed_single: str
    timed_multi: str

    def __init__(self, encoder: Encoder, *, for_quality: bool = False) -> None: ...

    def index(self, passages: Sequence[Passage]) -> None:
        """Make the passages searchable through the library's own way in, encoder included."""

    def modes(self) -> list[Mode]:
        """All modes that are measured, once there is an index."""


def mode_named(peer: Peer, name: str) -> Mode:
    return next(mode for mode in peer.modes() if mode.name == name)


def reciprocal_ranks(rankings: Sequence[Sequence[int]], *, constant: int = 60) -> list[int]:
    """Reciprocal rank fusion (Cormack et al., SIGIR 2009); ties in the order of appearance."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, position in enumerate(ranking, 1):
            scores[position] = scores.get(position, 0.0) + 1 / (constant + rank)
    return by_score(scores)


def by_score(scores: Mapping[int, float], *, limit: int = CANDIDATES) -> list[int]:
    """Keys by descending value, first come first where equal."""
    return sorted(scores, key=lambda position: -scores[position])[:limit]


def highest(scored: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """The highest score that a passage has anywhere."""
    found: dict[int, float] = {}
    for scores in scored:
        for position, score in scores.items():
            found[position] = max(score, found.get(position, score))
    return found


def summed(scored: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """The sum of a passage's scores."""
    found: dict[int, float] = {}
    for scores in scored:
        for position, score in scores.items():
            found[position] = found.get(position, 0.0) + score
    return found
