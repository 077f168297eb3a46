"""What is asked with a verb, an adjective or in another language, and the noun that documents have for it; pure.

A price list says "price" and never "cost"; a data sheet in English says "weight" to a question that asks 多重. The
table has the qualities that price lists, data sheets and handbooks give of nearly anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from anabranch.language import asks_in_cjk, question_terms, terms
from anabranch.lexicon import Lexicon


@dataclass(frozen=True, slots=True)
class Quality:
    """``words`` of the question that ask for a quality, and the nouns for it, the usual ones first.

    ``asks_only``: the words ask and name nothing (多重), so that no passage has them.
    """

    words: str
    english: tuple[str, ...]
    chinese: tuple[str, ...]
    asks_only: bool


# How English asks for it without the noun, how Chinese does, the nouns of Chinese, those of English.
_TABLE = (
    (r"(?P<words>costs?|how\s+(?:expensive|cheap))", "多少[钱錢]|多[贵貴]|什[么麼][价價]", "价格 价钱 售价 单价 费用", "price cost fee"),
    (r"(?P<words>weighs?|how\s+heavy)", "多重", "重量", "weight"),
    (r"(?P<words>how\s+(?:tall|high))", "多高", "高度", "height"),
    (r"(?P<words>how\s+deep)", "多深", "深度", "depth"),
    (r"(?P<words>how\s+(?:wide|broad))", "多[宽寬]", "宽度", "width"),
    (r"(?P<words>how\s+fast)", "多快", "速度", "speed"),
    (r"how\s+much\b.+\b(?P<words>earns?)", "", "工资 薪水 薪资", "salary"),
    ("", "几点[开关][门門]|幾點[開關][門门]", "营业时间 开放时间", "opens closes"),
    ("", "", "保修 质保", "warranty"),
    ("", "", "续航 电池寿命", "battery_life battery"),
    ("", "", "年假 休假", "leave vacation"),
    ("", "", "地址", "address"),
    ("", "", "电话 分机", "phone extension"),
    ("", "", "邮箱 电子邮件", "email"),
    ("", "", "交货期", "delivery"),
    ("", "", "尺寸", "size dimensions"),
    ("", "", "颜色", "colour color"),
    ("", "", "功率", "power"),
    ("", "", "容量", "capacity"),
    ("", "", "人口", "population"),
    ("", "", "面积", "area"),
    ("", "", "温度", "temperature"),
    ("", "", "精度", "accuracy"),
    (r"(?P<words>revenues?|turnover)", "", "营业额 营收 销售额", "sales revenue turnover"),
    (r"(?P<words>weekends?)", "", "周末 周六 周日 星期六 星期日 双休日", "Saturday Sunday weekend"),
)  # fmt: skip
_ENGLISH = [
    (re.compile(rf"\b{verbs}\b", re.I), number)
    for number, (verbs, *_) in enumerate(_TABLE)
    if verbs
]
_CHINESE_VERBS = [(re.compile(asks), number) for number, (_, asks, *_) in enumerate(_TABLE) if asks]
_CHINESE_NOUNS = [
    (re.compile(nouns.replace(" ", "|")), number) for number, (_, _, nouns, _) in enumerate(_TABLE)
]


@lru_cache(maxsize=1_024)
def quality(question: str) -> Quality | None:
    """What the question asks of something, where the table has it.

    A Chinese noun counts: the documents may say it in English. An English noun is what documents have.
    """
    if not asks_in_cjk(question):
        found = next(
            (
                (match["words"], number)
                for pattern, number in _ENGLISH
                if (match := pattern.search(question))
            ),
            None,
        )
        return _entry(*found, asks_only=False) if found else None
    for patterns, asks_only in ((_CHINESE_NOUNS, False), (_CHINESE_VERBS, True)):
        for pattern, number in patterns:
            if match := pattern.search(question):
                return _entry(match[0], number, asks_only=asks_only)
    return None


def _entry(words: str, number: int, *, asks_only: bool) -> Quality:
    _, _, chinese, english = _TABLE[number]
    nouns = tuple(noun.replace("_", " ") for noun in english.split())
    return Quality(words, nouns, tuple(chinese.split()), asks_only)


def with_noun(question: str) -> str:
    """A question that asks with nothing but an asking word, with the noun behind it: "Plover多少钱 价格"."""
    found = quality(question)
    return f"{question} {found.chinese[0]}" if found and found.asks_only else question


def other_forms(question: str) -> Mapping[str, tuple[frozenset[str], ...]]:
    """The terms of ``with_noun(question)`` that ask for a quality, each with the terms of its nouns."""
    found = quality(question)
    if found is None:
        return {}
    shown = found.chinese[0] if found.asks_only else found.words
    nouns = [frozenset(terms(noun)) for noun in (*found.english, *found.chinese)]
    return {
        term: tuple(noun for noun in nouns if term not in noun) for term in question_terms(shown)
    }


def in_nouns(question: str, lexicon: Lexicon) -> list[str]:
    """What is asked, as a noun that the documents have: of "What does a Plover cost" the "price".

    Of a Chinese question also the English noun, if it has a name in Latin script that goes with it.
    """
    found = quality(question)
    if found is None:
        return []
    known = [noun for noun in found.english if _has(lexicon, noun)][:1]
    if not asks_in_cjk(question):
        return known
    return [*known, *(found.chinese[:1] if found.asks_only else ())]


def _has(lexicon: Lexicon, noun: str) -> bool:
    words = noun.split()
    return all(lexicon.words.get(word) or lexicon.words.get(f"{word}s") for word in words)
