"""Placeholders for personal data: the same one for the same value throughout a request.

``EMAIL_1`` stands for an address, ``EMAIL_1b`` for the same one written otherwise. A text that has
such a word of its own gets a placeholder for it too, so that putting back is exact.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from anabranch.ports import Anonymizer
from anabranch.privacy.findings import WORD_CHARACTERS, Finding, merged

KINDS = ("EMAIL", "PHONE", "CARD", "IBAN", "ID", "IP", "NAME", "ADDRESS", "PLACE", "ORG", "WORD")
# Models escape the underscore in Markdown, and some change the case.
_FORM = rf"(?P<kind>{'|'.join(KINDS)})\\?_(?P<number>[0-9]{{1,7}})(?P<form>[b-z]?)(?![A-Za-z0-9_])"
_PLACEHOLDER = re.compile(rf"(?<![A-Za-z0-9_]){_FORM}", re.IGNORECASE | re.ASCII)
# In a JSON string also behind an escape: "\nEMAIL_1" is a line's end and a placeholder.
_IN_JSON = re.compile(
    rf"(?:(?<![A-Za-z0-9_])|(?<=\\[bfnrt])|(?<=\\u[0-9a-f]{{4}})){_FORM}", re.IGNORECASE | re.ASCII
)
# Fewer characters of a value give nothing away.
_LEAST_OF_A_VALUE = 3
_FORMS = " bcdefghijklmnopqrstuvwxyz"
NOTE = (
    "Words like EMAIL_1, NAME_2 or PHONE_3b stand for something that is not shown to you. Where you "
    "need one, copy it exactly as it is; never guess what it stands for."
)


class Placeholders:
    """What one request hides, and the way back: only that request has it.

    ``find`` gives what is personal in a text.
    """

    def __init__(self, find: Callable[[str], Sequence[Finding]]) -> None:
        self._find = find
        self._by_value: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._forms: dict[tuple[str, str], list[str]] = {}
        self._counts: Counter[str] = Counter()
        self._known: re.Pattern[str] | None = None

    def __repr__(self) -> str:  # it holds what nobody may see
        return f"Placeholders({len(self._values)} hidden)"

    def hide(self, text: str, *, cut: bool = False) -> str:
        """``text`` with a placeholder for everything personal that is found in it, or was before.

        ``cut``: it was cut off somewhere; a value that the cut goes through is left out.
        """
        text = self._without_cut(text) if cut else text
        pieces: list[str] = []
        end = 0
        for one in merged(text, self._found(text)):
            pieces += [text[end : one.start], self._placeholder(one, text[one.start : one.end])]
            end = one.end
        return "".join([*pieces, text[end:]])

    def restore(self, text: str, *, as_json: bool = False) -> str:
        """``text`` with the values in place of their placeholders; ``as_json``: within its strings."""

        def value(match: re.Match[str]) -> str:
            found = self._values.get(_plain(match), match.group())
            return json.dumps(found, ensure_ascii=False)[1:-1] if as_json else found

        return (_IN_JSON if as_json else _PLACEHOLDER).sub(value, text)

    def _without_cut(self, text: str) -> str:
        for value in self._by_value:
            for length in range(len(value) - 1, _LEAST_OF_A_VALUE - 1, -1):
                if text.endswith(value[:length]):
                    return text[:-length]
        return text

    def _found(self, text: str) -> Iterator[Finding]:
        for match in _PLACEHOLDER.finditer(text):
            yield Finding(*match.span(), "WORD", match.group())
        yield from self._find(text)
        # A name that was only recognised elsewhere, where its sentence gave it away.
        if self._by_value:
            self._known = self._known or _any_of(self._by_value)
            for match in self._known.finditer(text):
                placeholder = _PLACEHOLDER.fullmatch(self._by_value[match.group()])
                kind = placeholder["kind"] if placeholder else "WORD"
                yield Finding(*match.span(), kind, match.group().casefold())

    def _placeholder(self, one: Finding, value: str) -> str:
        known = self._by_value.get(value)
        if known is not None:
            return known
        forms = self._forms.setdefault((one.kind, one.key), [])
        if not forms or len(forms) == len(_FORMS):
            self._counts[one.kind] += 1
            forms[:] = [f"{one.kind}_{self._counts[one.kind]}"]
            made = forms[0]
        else:
            made = f"{forms[0]}{_FORMS[len(forms)]}"
            forms.append(made)
        self._by_value[value] = made
        self._values[made.upper()] = value
        self._known = None  # to be made again when it is needed
        return made


class RestoredPieces:
    """The pieces of a reply, said with their values: a placeholder may be cut anywhere."""

    def __init__(self, anonymizer: Anonymizer, say: Callable[[str], None]) -> None:
        self._anonymizer = anonymizer
        self._say = say
        self._held = ""

    def feed(self, piece: str) -> None:
        text = self._held + piece
        at = len(text)
        while at and (text[at - 1] in WORD_CHARACTERS or text[at - 1] == "\\"):
            at -= 1
        self._held = text[at:]
        self._said(text[:at])

    def end(self) -> None:
        text, self._held = self._held, ""
        self._said(text)

    def _said(self, text: str) -> None:
        if text:
            self._say(self._anonymizer.restore(text))


def _plain(match: re.Match[str]) -> str:
    return f"{match['kind']}_{match['number']}{match['form']}".upper()


def _any_of(values: dict[str, str]) -> re.Pattern[str]:
    """Finds any of ``values``; one that begins or ends with a letter only as a word of its own."""
    longest_first = sorted(values, key=lambda value: (-len(value), value))
    return re.compile(
        "|".join(
            f"{_edge(value[0], '(?<!')}{re.escape(value)}{_edge(value[-1], '(?!')}"
            for value in longest_first
        )
    )


def _edge(character: str, open_look: str) -> str:
    return f"{open_look}[A-Za-z0-9_])" if character in WORD_CHARACTERS else ""
