"""Words of a question that point at something said elsewhere: "it", "there", "that", 它, 那个; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

ReferenceKind = Literal["person", "thing", "several", "place"]

_PERSONS = ("he", "him", "his", "she", "her", "hers", "himself", "herself")
_SEVERAL = ("they", "them", "their", "theirs", "themselves", "these", "those")
_POSSESSIVE = frozenset(("its", "his", "her", "their", "theirs", "hers", "其"))
_PRONOUN = re.compile(
    rf"\b(it|its|itself|{'|'.join((*_PERSONS, *_SEVERAL[:5]))}"
    r"|this one|that one|these ones|those ones|the other one)\b(?!['’]t)",
    re.IGNORECASE,
)
# "This" and "that" stand alone only before a verb or at the end; elsewhere they point at a noun
# or join clauses.
_DEMONSTRATIVE = re.compile(
    r"\b(this|that|these|those)\b(?=\s*(?:[?.!,]*$|(?:is|are|was|were|do|does|did|cost|costs|mean|means"
    r"|work|works|apply|applies|happen|happens|take|takes|start|end|include|come|go|get)\b))",
    re.IGNORECASE,
)
_THERE = re.compile(
    r"(?<!are )(?<!is )(?<!was )(?<!were )(?<!be )(?<!been )\b(there)\b(?=\s*[?.!]*$)", re.I
)
# What stands before a "that" that points; behind a noun it begins a clause: "breeds that are calm".
_BEFORE_THAT = re.compile(
    r"(?:^|\b(?:is|are|was|were|do|does|did|of|for|with|about|to|from|by|on|in|at|after|before|and|but"
    r"|why|how|when|where|what|whose|like|can|will|would|could|should|has|have|had))\s*,?\s*$",
    re.IGNORECASE,
)
# "It" that stands for nothing, whatever was said before: time, "is it possible to", "does it take to".
_EMPTY_IT = re.compile(
    r"\bit\b\s+(?:\w+\s+){0,2}?(?:possible|necessary|required|allowed|true|legal|safe|ok|okay|better|worth"
    r"|important|mandatory|permitted|common|hard|easy|difficult|best|good|bad|rude|normal|likely|wise)\s+"
    r"(?:to|that|for|if|when)\b"
    r"|\b(?:does|will|did|would)\s+it\s+(?:take|require|need)\b.*\bto\s+\w+"
    r"|\btime\s+(?:is|was)\s+it\b|\bmake it\b|\bit\s+(?:rain|snow)|\bwas it (?:that|who)\b",
    re.IGNORECASE,
)
CHINESE_REFERENCE = re.compile(
    r"(它们|他们|她们|(?<!其)[它他她](?!人|们|国|乡|日)|[这那该此]个(?!人|时候|月|星期|季度)|这些|那些"
    r"|(?<![一-鿿])[这那](?=是|有|怎么|要|该))"
)


@dataclass(frozen=True, slots=True)
class Reference:
    """A pointing word at ``question[start:end]``, and what it can stand for."""

    start: int
    end: int
    word: str
    kind: ReferenceKind
    possessive: bool = False


def references(question: str) -> Iterator[Reference]:
    """The pointing words of an English question in order; none that stands for nothing."""
    found: dict[int, Reference] = {}
    for pattern in (_PRONOUN, _DEMONSTRATIVE, _THERE):
        for match in pattern.finditer(question):
            word = match.group(1).lower()
            if _is_empty(question, match) or match.start(1) in found:
                continue
            closes = not question[match.end(1) :].strip(" ?.!,")
            if (
                word == "that"
                and not closes
                and not _BEFORE_THAT.search(question[: match.start(1)])
            ):
                continue
            possessive = word in _POSSESSIVE and (word != "her" or _before_noun(question, match))
            found[match.start(1)] = Reference(
                match.start(1), match.end(1), match.group(1), _kind(word), possessive
            )
    yield from (found[start] for start in sorted(found))


def _is_empty(question: str, match: re.Match[str]) -> bool:
    return any(
        empty.start() <= match.start() < empty.end() for empty in _EMPTY_IT.finditer(question)
    )


def _before_noun(question: str, match: re.Match[str]) -> bool:
    """Whether "her" has something: "her album" against "tell me about her", "see her in"."""
    following = re.match(r"\s+([^\W\d_][\w'’-]*)", question[match.end() :])
    return following is not None and following[1].lower() not in _NEVER_NOUNS


_NEVER_NOUNS = frozenset(
    "in on at to for from with by about after before during as and or but when while if so a an the".split()  # noqa: SIM905
)


def _kind(word: str) -> ReferenceKind:
    if word in _PERSONS:
        return "person"
    if word in _SEVERAL or word in ("these ones", "those ones"):
        return "several"
    return "place" if word == "there" else "thing"
