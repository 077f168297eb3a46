"""What a question asks for, as its own words tell, in English and Chinese; pure."""

from __future__ import annotations

import re
from functools import lru_cache
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

_MONEY = frozenset("€$£¥")
_TIMES = frozenset(("second", "day", "month"))
# What is asked for, and the units that its values have (those of ``values.py``).
_UNITS_ASKED = (
    # What happened has a date; a time of day alone says too little.
    (
        re.compile(
            r"\bwhen\s+(?:did|was|were)\b|\b(?:what|which)\s+(?:date|day|year)\b|哪一?[天年日]|何年|何日",
            re.IGNORECASE,
        ),
        frozenset(("date",)),
    ),
    (
        re.compile(
            r"\b(?:prices?|costs?|fees?|salar(?:y|ies)|wages?|allowances?|budgets?|deposits?|fines?"
            r"|per\s+diems?|expensive)\b|价格|售价|费用|工资|薪水|津贴|补贴|补助|押金|预算|多少钱",
            re.IGNORECASE,
        ),
        _MONEY,
    ),
    (re.compile(r"\bweigh(?:s|t|ts)?\b|\bheavy\b|重量|多重", re.IGNORECASE), frozenset(("gram",))),
    (
        re.compile(
            r"\b(?:height|depth|width|distance|far|tall|deep|wide)\b|高度|深度|宽度|距离|多[高深宽远]",
            re.IGNORECASE,
        ),
        frozenset(("metre",)),
    ),
    (re.compile(r"\bduration\b|期限|时长|多久", re.IGNORECASE), _TIMES),
    (re.compile(r"\bhow\s+long\b|\blength\b|多长|长度", re.IGNORECASE), _TIMES | {"metre"}),
    (
        re.compile(
            r"\b(?:opening|closing|office|business)\s+(?:hours|times?)\b|营业时间|开放时间|几点",
            re.IGNORECASE,
        ),
        frozenset(("time of day",)),
    ),
)


_OVERVIEW = re.compile(
    r"^\W*(?:(?:please|(?:can|could|would)\s+you(?:\s+please)?)\s+)?(?:tell\s+(?:me|us)\s+(?:(?:something|more|all|everything|a\s+(?:bit|little))\s+)?about"
    r"|(?:describe|introduce)|(?:give\s+(?:me|us)\s+)?(?:an?\s+|some\s+)?(?:overview|introduction|information|summary)\s+(?:of|on|about|to)"
    r"|what\s+(?:do|can)\s+you\s+(?:know|tell\s+(?:me|us))\s+about|what\s+(?:is|do\s+we)\s+know[n]?\s+(?:of|about)|what\s+about)\s+"
    r"|^(?:请|請|麻烦|帮我|给我)*(?:简单|简要|详细)?(?:介绍|介紹|讲讲|講講|说说|說說|讲一下|说一下|描述|概述|谈谈|了解)(?:一下|下)?(?:关于)?"
    r"|(?:的(?:基本)?(?:情况|概况|简介|介绍)|是(?:个|一个|一种)?(?:什么东西|啥))[？?。]*$",
    re.IGNORECASE,
)


# A question is asked about for each passage that may answer it.
_once = lru_cache(maxsize=256)


@_once
def asks_overview(question: str) -> bool:
    """Whether all that is said of something is asked for: "Tell me about X", 介绍一下X."""
    return _OVERVIEW.search(question) is not None


def without_overview(question: str) -> str:
    """``question`` without the words that ask for all that is said of something."""
    return _OVERVIEW.sub(" ", question)


# "What is the rent of", "how much rent does", 办公室的租金是多少: what is asked of something.
_ATTRIBUTE = re.compile(
    r"^\W*(?:what\s+(?:is|are|was|were)\s+(?:the|our|your|my)\s+(?:[a-z-]+\s+){0,2}?(?P<of>[a-z][a-z-]+)\s+(?:of|for)\b"
    r"|how\s+(?:much|many)\s+(?:[a-z-]+\s+)??(?P<much>(?!(?:is|are|was|were|do|does|did|can|may|will)\b)[a-z][a-z-]+)"
    r"\s+(?:is|are|was|were|do|does|did|can|may|must|will|has|have)\b)"
    r"|的(?P<chinese>[\u4e00-\u9fff]{2,4}?)(?:是|有|为|要|需)?(?:多[少久长大高重]|什么|几[个天年月元]|怎么|如何)",
    re.IGNORECASE,
)


@_once
def attribute_asked(question: str) -> str:
    """What is asked of something: "rent" of "What is the rent of the office?"; empty where that is not plain."""
    found = _ATTRIBUTE.search(question)
    return next((name for name in found.groups() if name), "") if found else ""


@_once
def units_asked(question: str) -> frozenset[str]:
    """The units of ``values.py`` that tell an answer from another figure; empty where any will do."""
    return next((units for asks, units in _UNITS_ASKED if asks.search(question)), frozenset())


@_once
def kind_asked(question: str) -> Kind:
    """The kind of value that an answer has to have; empty where any text will do."""
    if _ASKS_TIME.search(question):
        return "time"
    if _ASKS_NUMBER.search(question):
        return "number"
    return "name" if _ASKS_NAME.search(question) else ""


@_once
def asks_when(question: str) -> bool:
    """Whether a date is asked for by "when": "which year" says more of what is meant."""
    return _WHEN.search(question) is not None


@_once
def asks_yes_or_no(question: str) -> bool:
    return _YES_OR_NO.search(question) is not None


@_once
def asks_extreme(question: str) -> bool:
    """Whether one of many is asked for: the first, the largest, the only."""
    return _EXTREME.search(question) is not None


@_once
def is_negated(question: str) -> bool:
    """Whether the question asks what is not so."""
    return _NEGATED.search(_EITHER.sub("", question)) is not None
