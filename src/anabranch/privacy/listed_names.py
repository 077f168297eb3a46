"""Names and addresses from the user's own list, found however they are capitalised and spaced."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from anabranch import language
from anabranch.errors import ConfigurationError
from anabranch.privacy.findings import Finding

_TOKEN = re.compile(r"[^\W_]")
_WORD = re.compile(r"[^\W_]+")
# Between the words of a name: "Ann-Marie", "Ann  Marie", "Berg, Ann", "马丁·路德", a line's end.
_MOST_BETWEEN = 3
_ENDS = re.compile(r"[.;!?。；！？|]")
_CJK_EDGE = re.compile(r"(?<=[\u2e80-\u9fff\uf900-\ufaff])|(?=[\u2e80-\u9fff\uf900-\ufaff])")
_KINDS = {"name": "NAME", "address": "ADDRESS", "place": "PLACE", "organisation": "ORG",
          "organization": "ORG", "id": "ID"}  # fmt: skip
_LINE = re.compile(rf"(?:(?P<kind>{'|'.join(_KINDS)})\s*:)?(?P<text>.*)", re.IGNORECASE)
# One letter or character would be found in nearly every text.
_LEAST_CHARACTERS = 2

Token = tuple[int, int, str]


class ListedNames:
    """What a list has. ``entries`` are pairs of kind and text."""

    def __init__(self, entries: Sequence[tuple[str, str]]) -> None:
        by_first: dict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
        for kind, written in entries:
            words = tuple(word for _, _, word in _tokens(written))
            by_first[words[0]].append((words, kind))
        # The longest first: "Ann Berg" before "Ann".
        self._by_first: Mapping[str, list[tuple[tuple[str, ...], str]]] = {
            first: sorted(names, key=lambda name: -len(name[0]))
            for first, names in by_first.items()
        }
        self.count = len(entries)

    @property
    def kinds(self) -> tuple[str, ...]:
        return (f"what your list has ({self.count})",)

    def find(self, text: str) -> Iterator[Finding]:
        tokens = _tokens(text)
        at = 0
        while at < len(tokens):
            words, kind = self._named(text, tokens, at)
            if words:
                start, end = tokens[at][0], tokens[at + len(words) - 1][1]
                yield Finding(start, end, kind, " ".join(words))
            at += max(1, len(words))

    def _named(self, text: str, tokens: Sequence[Token], at: int) -> tuple[tuple[str, ...], str]:
        for words, kind in self._by_first.get(tokens[at][2], ()):
            here = tokens[at : at + len(words)]
            if tuple(word for _, _, word in here) == words and _together(text, here):
                return words, kind
        return (), ""


def read_list(file: Path) -> ListedNames:
    """The list in ``file``: an entry a line, "address: …" where it is no name, ``#`` for comments.

    Raises ConfigurationError for a file that cannot be read or a line that names nothing.
    """
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigurationError(
            f"anonymize_list = {str(file)!r} cannot be read ({reason}). It is a text file with a "
            "name on each line."
        ) from None
    entries: list[tuple[str, str]] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        written = match["text"].strip() if match else ""
        if len(_TOKEN.findall(written)) < _LEAST_CHARACTERS:
            raise ConfigurationError(
                f"Line {number} of anonymize_list = {str(file)!r} has less than "
                f"{_LEAST_CHARACTERS} letters: it would be found everywhere. Write more, or take it out."
            )
        kind = match["kind"] if match else None
        entries.append((_KINDS[(kind or "name").lower()], written))
    if not entries:
        raise ConfigurationError(
            f"anonymize_list = {str(file)!r} has no entry. Write a name on each line, or unset it."
        )
    return ListedNames(entries)


def _tokens(text: str) -> list[Token]:
    """The words of ``text`` folded, with their places; every CJK character is one."""
    found: list[Token] = []
    for match in _WORD.finditer(text):
        start = match.start()
        for part in _CJK_EDGE.split(match.group()):
            if part:
                found.append((start, start + len(part), language.fold(part)))
                start += len(part)
    return found


def _together(text: str, tokens: Sequence[Token]) -> bool:
    """Whether little stands between the words, and no end of a sentence but that of an initial."""
    between = [text[left[1] : right[0]] for left, right in pairwise(tokens)]
    return all(
        len(gap) <= _MOST_BETWEEN and (gap.strip() == "." or not _ENDS.search(gap))
        for gap in between
    )
