"""Placeholders for personal data: the same one for the same value throughout a request.

``EMAIL_1`` stands for an address, ``EMAIL_1b`` for the same one written otherwise. A text that has
such a word of its own gets a placeholder for it too, so that putting back is exact.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

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
# From so many characters a value is looked for within other words too.
_LEAST_ANYWHERE = 6
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
        for one in self._found(text):
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

    def _found(self, text: str) -> list[Finding]:
        own = [Finding(*one.span(), "WORD", one.group()) for one in _PLACEHOLDER.finditer(text)]
        found = merged(text, [*own, *self._find(text)])
        here = {text[one.start : one.end]: one.kind for one in found}
        if here.keys() <= self._by_value.keys():
            self._known = self._known or _any_of(self._by_value)
            known = self._known
        else:
            known = _any_of({*self._by_value, *here})
        # Where its surroundings do not give it away: without its label, or run into another word.
        again = [
            Finding(*match.span(), self._kind(match.group(), here), match.group().casefold())
            for match in (known.finditer(text) if known is not None else ())
        ]
        return merged(text, [*found, *again])

    def _kind(self, value: str, here: Mapping[str, str]) -> str:
        return here.get(value) or self._by_value[value].partition("_")[0]

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


def _any_of(values: Iterable[str]) -> re.Pattern[str] | None:
    """Finds any of ``values``; a short one that begins or ends with a letter only as a word."""
    longest_first = sorted(values, key=lambda value: (-len(value), value))
    if not longest_first:
        return None
    return re.compile("|".join(map(_anywhere_or_alone, longest_first)))


def _anywhere_or_alone(value: str) -> str:
    if len(value) >= _LEAST_ANYWHERE:
        return re.escape(value)
    before = "(?<![A-Za-z0-9_])" if value[0] in WORD_CHARACTERS else ""
    behind = "(?![A-Za-z0-9_])" if value[-1] in WORD_CHARACTERS else ""
    return f"{before}{re.escape(value)}{behind}"
