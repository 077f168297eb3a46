"""Where personal data stands in a text, and what it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

WORD_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")


@dataclass(frozen=True, slots=True)
class Finding:
    """``text[start:end]`` is personal. ``kind`` is a word in capitals; equal ``key``: one thing."""

    start: int
    end: int
    kind: str
    key: str


class Finder(Protocol):
    """One way to recognise personal data."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """What it finds, in words for a person."""

    def find(self, text: str) -> Iterable[Finding]: ...


def merged(text: str, findings: Iterable[Finding]) -> list[Finding]:
    """``findings`` in order, none touching another one or a letter, digit or underscore.

    What overlaps or touches becomes one: a part of either must not be left over, and what is put in
    its place has to stand alone. Of overlapping ones the longest says what it is.
    """
    wide = sorted((_widened(text, one) for one in findings), key=lambda one: (one.start, -one.end))
    found: list[Finding] = []
    for one in wide:
        if not found or one.start > found[-1].end:
            found.append(one)
            continue
        last = found[-1]
        if (one.start, one.end) == (last.start, last.end):
            continue
        start, end = last.start, max(last.end, one.end)
        longest = max(last, one, key=lambda each: each.end - each.start)
        found[-1] = Finding(start, end, longest.kind, text[start:end].casefold())
    return found


def _widened(text: str, one: Finding) -> Finding:
    start, end = one.start, one.end
    while start and text[start - 1] in WORD_CHARACTERS:
        start -= 1
    while end < len(text) and text[end] in WORD_CHARACTERS:
        end += 1
    if (start, end) == (one.start, one.end):
        return one
    return Finding(start, end, one.kind, text[start:end].casefold())
