"""What a reply to a question back means: an option by its number, none of them, or what it says; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from anabranch.language import fold

_ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
)  # fmt: skip
_CARDINALS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_CHINESE = "一二三四五六七八九十"
_WORTH: Final = {
    word: place
    for words in (_ORDINALS, _CARDINALS, _CHINESE)
    for place, word in enumerate(words, 1)
} | {"两": 2}
_NUMBER = re.compile(r"[#(\[]?\s*(?P<number>\d{1,4})\s*[.)\]。、]?")
_COUNTED = re.compile(
    r"(?:the\s+)?(?:option|number|no\.?|choice|answer)\s*#?\s*"
    rf"(?P<number>\d{{1,4}}|{'|'.join(_CARDINALS)})\s*[.!]?"
    r"|(?:the\s+)?(?P<ordinal>\d{1,4}(?=st|nd|rd|th)|last|"
    rf"{'|'.join(_ORDINALS)})(?:st|nd|rd|th)?(?:\s+(?:one|option|choice|answer))?(?:,?\s*please)?\s*[.!]?"
)
_CHINESE_COUNTED = re.compile(
    rf"(?:我?选(?:择)?)?(?:第\s*(?P<place>\d{{1,4}}|[{_CHINESE}两])\s*[个项种款条]?|(?P<last>最后一?[个项种款条])"
    rf"|选项\s*(?P<option>\d{{1,4}}|[{_CHINESE}]))(?:选项)?[吧。！!]?"
)
_FILLER = r"(?:(?:h+m+|u+[mh]+|er+m?|well|oh|ah|sorry|honestly|actually|maybe|i think|i guess|no|but)\b[\s,.…!-]*)*"
_NONE = re.compile(
    rf"{_FILLER}(?:no|nope|none|neither|nothing"
    r"|(?:none|neither|not any|any|either|not one) of (?:them|these|those|the (?:above|options)|it|the two|both)"
    r"|any|either(?: one)?|any(?: one)?|whichever|whatever|(?:it )?(?:does not|doesn't|doesnt) matter|(?:i )?(?:don't|dont|do not) (?:mind|care)"
    r"|(?:(?:i am|i'm|im) )?(?:not (?:really )?(?:sure|certain)|unsure)|no idea|no clue|idk|dunno|skip(?: it| this)?|pass"
    r"|(?:i )?(?:really )?(?:don't|dont|do not) (?:really )?know(?: (?:that|which(?: one)?|either|yet|sorry))?"
    r"|(?:i )?(?:can't|cannot|can not) (?:say|tell|decide)|neither one|not (?:those|these|that|this)|something else)"
    r"[\s.,…!]*(?:sorry|thanks|thank you|really)?[\s.…!]*"
)
_CHINESE_NONE = re.compile(
    r"(?:[嗯呃额啊哦唔]+[,，。…\s]*)?(?:抱歉|对不起|不好意思)?[,，\s]*(?:我)?(?:也|还|真|就|并)?(?:"
    r"不(?:太|大|是很)?(?:知道|清楚|确定|了解)|不晓得|没想好|说不(?:好|清|准)|都不(?:是|对|要|行|选)|(?:哪|一)个(?:都|也)不(?:是|对|要|选)"
    r"|以上都不是|不是|没有|无|都没有|随便|都行|都可以|都可|无所谓|任意|跳过|不选)(?:的|了|啊|呢|吧|哦|呀)?[。！!…\s]*"
)


def meant(reply: str, options: Sequence[str]) -> str | None:
    """The option that ``reply`` is or is the number or place of; None where it chooses nothing.

    Any other reply is given back, trimmed. An option keeps its words whatever they look like.
    """
    text = reply.strip()
    folded = fold(text)
    if not text:
        return None
    if any(fold(option).strip() == folded for option in options):
        return text
    place = _place(folded, len(options))
    if place is not None and 1 <= place <= len(options):
        return options[place - 1]
    declined = _NONE.fullmatch(folded) or _CHINESE_NONE.fullmatch(folded)
    return None if declined else text


def _place(folded: str, count: int) -> int | None:
    """The number, from 1, that is all of a reply; None where it is none."""
    if number := _NUMBER.fullmatch(folded):
        return int(number["number"])
    found = _COUNTED.fullmatch(folded) or _CHINESE_COUNTED.fullmatch(folded)
    if found is None:
        return None
    word = next(value for value in found.groupdict().values() if value)
    if word == "last" or word.startswith("最后"):
        return count
    return int(word) if word.isdecimal() else _WORTH[word]
