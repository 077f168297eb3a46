"""What becomes of a question when something about it is odd: the same four cases for everybody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.peers.encoder import Encoder
from benchmarks.peers.exchange import Passage
from benchmarks.peers.peer import Peer, mode_named

BROKEN = "broken wording"
QUESTION = "When is the harbour office open?"
UNKNOWN_WORDS = "zyxwv qponm"
TWICE = "The harbour office opens at eight and closes at noon on Saturdays."
PASSAGES = (
    Passage("office/hours.txt", TWICE),
    Passage("archive/hours.txt", TWICE),
    Passage("boats.txt", "A boat longer than twelve metres pays a mooring fee by the day."),
    Passage("lights.txt", "The lighthouse was automated and its keeper retired the same year."),
    Passage("ferry.txt", "The ferry leaves from the eastern pier every forty minutes."),
    Passage("fuel.txt", "Fuel is sold beside the slipway until the evening."),
)


class BrokenEncoder(Encoder):
    """Raises for one wording, as a provider does that refuses a request."""

    def one(self, text: str) -> Any:
        if BROKEN in text:
            raise ConnectionError("The embedding service refused this text.")
        return super().one(text)


def measure_robustness(kind: Callable[[Encoder], Peer]) -> dict[str, str]:
    """What happened in each case, in words."""
    return {
        "a variant raises": _said(lambda: _variant_raises(kind)),
        "the same text in two files": _said(lambda: _twice(kind)),
        "no word is known": _said(lambda: _unknown_words(kind)),
        "nothing is indexed": _said(lambda: _empty(kind)),
    }


def _variant_raises(kind: Callable[[Encoder], Peer]) -> str:
    peer = _indexed(kind, BrokenEncoder())
    wordings = [QUESTION, BROKEN, "harbour office hours"]
    found = mode_named(peer, peer.timed_multi).search(wordings)
    return f"{len(found)} passages from the other wordings"


def _twice(kind: Callable[[Encoder], Peer]) -> str:
    peer = _indexed(kind, Encoder())
    found = mode_named(peer, peer.timed_single).search([QUESTION])
    return f"{sum(PASSAGES[at].text == TWICE for at in found)} of 2 files"


def _unknown_words(kind: Callable[[Encoder], Peer]) -> str:
    peer = _indexed(kind, Encoder())
    found = mode_named(peer, peer.timed_single).search([UNKNOWN_WORDS])
    return f"{len(found)} passages"


def _empty(kind: Callable[[Encoder], Peer]) -> str:
    peer = kind(Encoder())
    peer.index(())
    return f"{len(mode_named(peer, peer.timed_single).search([QUESTION]))} passages"


def _indexed(kind: Callable[[Encoder], Peer], encoder: Encoder) -> Peer:
    peer = kind(encoder)
    peer.index(PASSAGES)
    return peer


def _said(case: Callable[[], str]) -> str:
    """The outcome of a case; an error is one, and is what a caller of the library would get."""
    try:
        return case()
    except Exception as error:
        lines = str(error).splitlines() or [""]
        return f"raises {type(error).__name__}: {lines[0][:100]}".rstrip(": ")
