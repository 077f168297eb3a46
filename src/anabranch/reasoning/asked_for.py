"""What a question asks for, as its own words tell, in English and Chinese; pure."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["time", "number", "name", ""]

_ASKS_NUMBER = re.compile(
    r"\bhow\s+(?:many|much|long|often|far|old|big|large|high|tall|fast|late|soon|heavy|tight)\b"
    r"|\b(?:number|amount|percentage|rate|price|cost|limit|population|distance|size)\b"
    r"|多少|几[个天年月岁次位名台度元]|多[长久大高远重]|百分",
    re.IGNORECASE,
)
_ASKS_TIME = re.compile(
    r"\bwhen\b|\b(?:what|which|in what|in which)\s+(?:year|date|day|month|century|time)\b"
    r"|什么时[候间]|何时|哪一?[年天日月]|几[点月号]",
    re.IGNORECASE,
)
_ASKS_NAME = re.compile(r"\b(?:who|whom|whose|where)\b|谁|哪里|哪儿|在哪|什么地方", re.IGNORECASE)
# Words that end like superlatives and are none.
_EXTREME = re.compile(
    r"\b(?:first|last|only|most|least|best|worst|original|main)\b"
    r"|\b(?!forest|interest|request|protest|honest|modest|harvest|suggest|contest|conquest|arrest"
    r"|digest|priest|everest|budapest|bucharest|northwest|southwest|midwest|reinvest)\w{3,}est\b"
    r"|最|第一|首[个次位]|唯一",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:not|never|without|cannot|neither|nor)\b|\bno\b(?!\.)|n['’]t\b"
    r"|没有|从未|未能|不(?:是|能|会|可以|属于|包括|需要|应|得)",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\bwhen\s+(?:did|do|does|was|were|is|are|will|can|could|has|have|had|should)\b|什么时[候间]|何时",
    re.IGNORECASE,
)
_YES_OR_NO = re.compile(
    r"^\W*(?:is|are|was|were|did|does|do|can|could|has|have|had|will|would|should|may|must)\b"
    r"|吗|是否|(.)[不没]\1|有没有",
    re.IGNORECASE,
)
# "是不是", "能不能", "有没有" leave both open and deny nothing.
_EITHER = re.compile(r"(.)[不没]\1")


def kind_asked(question: str) -> Kind:
    """The kind of value that an answer has to have; empty where any text will do."""
    if _ASKS_TIME.search(question):
        return "time"
    if _ASKS_NUMBER.search(question):
        return "number"
    return "name" if _ASKS_NAME.search(question) else ""


def asks_when(question: str) -> bool:
    """Whether a date is asked for by "when": "which year" says more of what is meant."""
    return _WHEN.search(question) is not None


def asks_yes_or_no(question: str) -> bool:
    return _YES_OR_NO.search(question) is not None


def asks_extreme(question: str) -> bool:
    """Whether one of many is asked for: the first, the largest, the only."""
    return _EXTREME.search(question) is not None


def is_negated(question: str) -> bool:
    """Whether the question asks what is not so."""
    return _NEGATED.search(_EITHER.sub("", question)) is not None
