"""What of a written answer may be shown: markers that resolve, and no address of another's; pure.

Works on pieces as they come from a model, however they are cut: the pieces shown, joined, are what
the whole text would have become.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from anabranch.types import Evidence

# "[1]", "[1, 2]", "[1-3]", "【1】", "［１］", "[^1]", "[evidence 1]", "[来源1]", "【1†source】".
_NUMBERS = (
    r"[\^#e]?\d+(?:[ \t]*(?:[,，、;；&/]|and\b|和|及|-|–|—|~|～|至|到|to\b)[ \t]*[\^#e]?\d+)*"
)
_NAMED = r"(?:evidence|source|passage|证据|来源|资料|文档|段落)?s?"
# In place of what is not shown: without it, what stands around it could join to what was removed.
GAP = "…"
_BEHIND = ".,;:!?*_~"
MARKER = re.compile(
    rf"[\[［【][ \t]*{_NAMED}[ \t]*(?P<numbers>{_NUMBERS})[ \t]*(?:†[^\[\]【】\n]{{0,80}})?[\]］】]",
    re.IGNORECASE,
)
_RANGE = re.compile(r"(\d+)\s*(?:-|–|—|~|～|至|到|to\b)\s*[\^#e]?(\d+)", re.IGNORECASE)
_IN_ADDRESS = r"[^\s<>\"'`()\[\]{}|\\^，。；：！？、…（）「」『』【】《》]"
_ADDRESS = (
    rf"[a-z][a-z0-9+.-]*://{_IN_ADDRESS}*"
    rf"|//[\w-]+\.[\w-]{_IN_ADDRESS}*|www\.[\w-]+\.{_IN_ADDRESS}*"
    rf"|(?:javascript|vbscript):{_IN_ADDRESS}+|data:[\w/+.-]*[;,]{_IN_ADDRESS}*"
)
# One of these is in every address, and in few other texts; to look for them costs next to nothing.
_ADDRESS_MARKS = ("//", "www.", "script:", "data:")
_TARGET = r"\([ \t]*<?(?P<{}>(?:[^()\s<>]|\([^()\s<>]*\))*)>?(?:[ \t]+[\"'(][^)\n]*)?[ \t]*\)"
_LABEL = r"[^\[\]\n]{0,300}"
# Tags that load, link or run something, and any tag with attributes, which may do it too.
_TAG = (
    r"</?(?:script|style|iframe|object|embed|svg|math|form|link|meta|base|img|image|video|audio"
    r"|source|picture|a)\b[^<>\n]*>|<[a-z!/][^<>\n]*=[^<>\n]*>"
)
_TOKEN = re.compile(
    rf"!\[(?P<alt>{_LABEL})\]{_TARGET.format('image')}"
    rf"|\[(?P<label>{_LABEL})\]{_TARGET.format('link')}"
    rf"|(?P<space>[ \t]*)(?P<marker>{MARKER.pattern.replace('(?P<numbers>', '(?:')})(?!\()"
    rf"|\]{_TARGET.format('other')}"
    rf"|(?P<tag>{_TAG})"
    rf"|<?(?P<address>{_ADDRESS})>?",
    re.IGNORECASE,
)
# What the next piece may still make a token of, beside the last word.
_OPEN_TARGET = r"\((?:[^()\n]|\([^()\n]*\)?)*"
_UNFINISHED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"[ \t]*!?[\[［【][^\[\]［］【】\n]{{0,400}}(?:[\]］】](?:{_OPEN_TARGET})?)?\Z",
        rf"\]{_OPEN_TARGET}\Z",
        r"<[^<>\n]*\Z",
        rf"(?:[a-z][a-z0-9+.-]*://|//|www\.|data:|(?:java|vb)script:){_IN_ADDRESS}*\Z",
    )
)


class ShownText:
    """An answer as it is shown, piece by piece. ``removed`` has the markers that meant nothing."""

    def __init__(self, evidence: Sequence[Evidence], *, keep_markers: bool = False) -> None:
        self.removed: list[str] = []
        self._count = len(evidence)
        self._addresses = addresses(item.text for item in evidence)
        self._keep = keep_markers
        self._held = ""
        self._before = ""

    def feed(self, piece: str) -> str:
        """What can be shown now; the end that the next piece may change is held back."""
        text = self._held + piece
        open_at = _unfinished_from(text)
        self._held = text[open_at:]
        return self._shown(text[:open_at])

    def end(self) -> str:
        """What was held back. Nothing comes after it."""
        text, self._held = self._held, ""
        return self._shown(text)

    def whole(self, text: str) -> str:
        """A whole text at once."""
        return self.feed(text) + self.end()

    def _shown(self, text: str) -> str:
        cleaned = self._cleaned(text)
        self._before = _last_run(self._before + text)
        return cleaned

    def _cleaned(self, text: str) -> str:
        return _TOKEN.sub(self._replaced, text)

    def _replaced(self, match: re.Match[str]) -> str:
        if match["marker"] is not None:
            return self._markers(match["marker"], match, space=match["space"])
        if match["alt"] is not None:  # a picture is fetched by whoever reads the answer
            return self._unwrapped(match["alt"], match)
        if match["label"] is not None:
            return self._link(match["label"], match["link"], match)
        if match["other"] is not None:
            return match.group() if match["other"] in self._addresses else f"]{GAP}"
        if match["tag"] is not None:
            return GAP
        written = match["address"].rstrip(_BEHIND)
        if written in self._addresses:
            return match.group()
        return GAP + match["address"][len(written) :]

    def _link(self, label: str, target: str, match: re.Match[str]) -> str:
        if target in self._addresses and "://" in target:
            return match.group()
        if MARKER.fullmatch(f"[{label}]"):
            return self._markers(f"[{label}]", match)
        return self._unwrapped(label, match)

    def _unwrapped(self, label: str, match: re.Match[str]) -> str:
        run = _last_run(self._before + match.string[: match.start()])
        words = self._cleaned(label)
        apart = _comes_apart(words or run, match.string[match.end() :][:2])
        return f"{GAP if run else ''}{words}{'' if apart else GAP}"

    def _markers(self, written: str, match: re.Match[str], *, space: str = "") -> str:
        kept = ""
        for number in marker_numbers(written, most=self._count):
            if self._keep or number in self._known():
                kept += f"[{number}]"
            else:
                self.removed.append(number)
        if kept:
            return space + kept
        run = _last_run(self._before + match.string[: match.start()])
        return "" if _comes_apart(run, match.string[match.end() :][:2]) else GAP

    def _known(self) -> frozenset[str]:
        # By the digits as written: "[01]", or a number of a thousand digits, is no marker of ours.
        return frozenset(str(number) for number in range(1, self._count + 1))


def plain_words(text: str) -> str:
    """``text`` without any address, picture or marker: what a model says beside an answer."""
    return ShownText(()).whole(text)


def marker_numbers(written: str, *, most: int) -> list[str]:
    """The numbers of a marker in order, as digits; of a range up to the first beyond ``most``."""
    found = MARKER.fullmatch(written)
    if found is None:
        return []
    plain = "".join(
        str(unicodedata.digit(character)) if character.isdigit() else character
        for character in found["numbers"]
    )
    expanded = _RANGE.sub(lambda match: _numbers_between(match[1], match[2], most), plain)
    return list(dict.fromkeys(re.findall(r"\d+", expanded)))


def _numbers_between(first: str, last: str, most: int) -> str:
    if len(first) > 6 or len(last) > 6 or int(first) > int(last):
        return f"{first} {last}"
    numbers = [str(n) for n in range(int(first), min(int(last), most + 1) + 1)]
    return " ".join([*numbers, *([last] if int(last) > most else [])]) or f"{first} {last}"


def addresses(texts: Iterable[str]) -> frozenset[str]:
    """Every address that stands in ``texts``, in running text or as the target of a link."""
    return frozenset().union(*map(_addresses_in, texts))


# The same evidence is looked through for what is told of an answer, for what is proven of it, and
# for what is shown.
@lru_cache(maxsize=256)
def _addresses_in(text: str) -> frozenset[str]:
    folded = text.casefold()
    if not any(mark in folded for mark in _ADDRESS_MARKS):
        return frozenset()
    found = re.finditer(_ADDRESS, text, re.IGNORECASE)
    return frozenset(match.group().rstrip(_BEHIND) for match in found)


def _unfinished_from(text: str) -> int:
    """Where the end of ``text`` begins that more text may turn into something else."""
    # From the last line: nothing that is looked for goes over a line's end.
    line = text.rfind("\n") + 1
    found = (pattern.search(text, line) for pattern in _UNFINISHED)
    start = min([_last_word(text, line), *(match.start() for match in found if match)])
    # What stands behind a marker that is taken out decides whether something joins there.
    for match in reversed(list(_TOKEN.finditer(text, line))):
        if match.start() < start <= match.end() + 1:
            start = match.start()
    return start


def _last_word(text: str, line: int) -> int:
    """Where the last word begins, with the space before it: an address, or what stands before a
    marker, may come of either."""
    at = len(text)
    while at > line and "!" <= text[at - 1] <= "~":
        at -= 1
    while at > line and text[at - 1] in " \t":
        at -= 1
    return at


def _last_run(text: str) -> str:
    """The end of ``text`` without a space in it."""
    return "" if text[-1:].isspace() else (text.split() or [""])[-1]


def _comes_apart(before: str, behind: str) -> bool:
    """Whether nothing comes of what is left where a marker was between ``before`` and ``behind``."""
    if not before or not behind or behind[0].isspace():
        return True
    if behind[0] in _BEHIND and (len(behind) == 1 or behind[1].isspace()):
        return True
    other_script = not before[-1].isascii() or not behind[0].isascii()
    return other_script and "/" not in before and before[-1] not in "［【"
