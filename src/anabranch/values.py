"""Values that a sentence gives: amounts with their units, dates, times of day; pure.

English and Chinese. Values of one ``unit`` can be compared: weeks are given in days and years in
months, so that "12 months" and "one year" are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from anabranch import language

_NUMBER_WORDS = {
    word: number
    for number, word in enumerate(
        [
            "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
            "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen",
            "eighteen", "nineteen",
        ]
    )
} | {
    word: 10 * number
    for number, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2
    )
}  # fmt: skip
_WORD = "|".join(sorted(_NUMBER_WORDS, key=len, reverse=True))
MONTHS = {
    month: number
    for number, month in enumerate(
        [
            "january", "february", "march", "april", "may", "june", "july", "august", "september",
            "october", "november", "december",
        ],
        start=1,
    )
}  # fmt: skip
_MONTH = "|".join(MONTHS)
_CHINESE_DIGITS = {character: number for number, character in enumerate("零一二三四五六七八九")}
_CHINESE_DIGITS |= {"两": 2, "〇": 0}
_CHINESE_FACTORS = {"十": 10, "百": 100, "千": 1_000, "万": 10_000}
# Unit as written -> (unit that it is given in, how many of those).
_UNITS: dict[str, tuple[str, float]] = {
    "second": ("second", 1), "minut": ("second", 60), "hour": ("second", 3_600),
    "秒": ("second", 1), "分钟": ("second", 60), "小时": ("second", 3_600),
    "day": ("day", 1), "week": ("day", 7), "天": ("day", 1), "日": ("day", 1), "周": ("day", 7),
    "month": ("month", 1), "year": ("month", 12), "个月": ("month", 1), "年": ("month", 12),
    "percent": ("%", 1), "per cent": ("%", 1), "%": ("%", 1), "％": ("%", 1),
    "euro": ("€", 1), "eur": ("€", 1), "€": ("€", 1), "欧元": ("€", 1),
    "dollar": ("$", 1), "usd": ("$", 1), "$": ("$", 1), "美元": ("$", 1),
    "pound": ("£", 1), "gbp": ("£", 1), "£": ("£", 1),
    "yuan": ("¥", 1), "cni": ("¥", 1), "rmb": ("¥", 1), "元": ("¥", 1), "¥": ("¥", 1),
    "kg": ("gram", 1_000), "kilogram": ("gram", 1_000), "gram": ("gram", 1),
    "公斤": ("gram", 1_000), "千克": ("gram", 1_000), "克": ("gram", 1),
    "km": ("metre", 1_000), "kilomet": ("metre", 1_000), "kilometr": ("metre", 1_000),
    "metr": ("metre", 1), "meter": ("metre", 1), "m": ("metre", 1),
    "cm": ("metre", 0.01), "centimetr": ("metre", 0.01), "centimet": ("metre", 0.01),
    "公里": ("metre", 1_000), "千米": ("metre", 1_000), "米": ("metre", 1), "厘米": ("metre", 0.01),
}  # fmt: skip
_CHINESE_UNITS = "|".join(
    sorted(
        [unit for unit in _UNITS if language.has_cjk(unit)]
        + list("个名位次台人岁页层座种条件") + ["倍"],
        key=len,
        reverse=True,
    )
)  # fmt: skip

_VALUE = re.compile(
    rf"(?P<iso>(?<![\w-])(?P<y1>[0-9]{{4}})-(?P<m1>[0-9][0-9])-(?P<d1>[0-9][0-9])(?![\w-]))"
    rf"|(?P<cjk>(?:(?P<y2>[0-9]{{4}})年)?(?P<m2>[0-9]{{1,2}})月(?P<d2>[0-9]{{1,2}})[日号])"
    rf"|(?P<dmy>\b(?P<d3>[0-9]{{1,2}})(?:st|nd|rd|th)?\s+(?P<m3>{_MONTH})(?:,?\s+(?P<y3>[0-9]{{4}}))?\b)"
    rf"|(?P<mdy>\b(?P<m4>{_MONTH})\s+(?P<d4>[0-9]{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<y4>[0-9]{{4}}))?\b)"
    r"|(?P<clock>(?<![0-9:])(?P<hour>[0-9]{1,2}):(?P<minute>[0-9][0-9])(?::[0-9][0-9])?(?:\s*(?P<half>[ap])\.?m\b\.?)?)"
    r"|(?P<chinese>(?P<cn>[0-9]+(?:[.,][0-9]+)*|[零〇一二三四五六七八九十百千万两]+)\s?"
    rf"(?P<cu>{_CHINESE_UNITS}|[%％]))"
    r"|(?P<money>(?P<symbol>[€$£¥])\s?(?P<sum>[0-9]+(?:[.,][0-9]+)*)(?P<many>\s+(?:million|billion)\b)?)"
    rf"|(?P<amount>(?<![\w.,:/-])(?P<n>[0-9]+(?:[.,][0-9]+)*|(?:{_WORD})(?:-(?:{_WORD}))?)(?![0-9:/]|[-.][0-9])"
    r"(?P<scale>[\s-]+(?:hundred|thousand|million|billion)\b)?"
    r"(?:\s?(?P<sign>[%€°])|[\s-](?P<unit>per\s+cent\b|[^\W0-9_]+))?)",
    re.IGNORECASE,
)
_FURTHER_WORD = re.compile(r"\s([^\W\d_]{3,})")
_COUNTED = re.compile(r"s$|^(?:people|men|women|children|staff)$")
_LABELLED = frozenset(
    [
        "article", "section", "chapter", "page", "room", "version", "figure", "table", "step",
        "no", "number", "level", "line", "point", "item", "gate", "floor", "phase", "type",
        "model", "extension", "season", "episode", "part", "volume", "book", "rule", "title",
    ]
)  # fmt: skip
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9}


@dataclass(frozen=True, slots=True)
class Value:
    """What stands at ``text[start:end]``: an ``amount`` of ``unit``.

    A date is its year, month and day, 0 where one is not said; anything else is one number.
    """

    start: int
    end: int
    unit: str
    amount: tuple[float, ...]

    def differs(self, other: Value) -> bool:
        """Whether both cannot be true of one thing; parts that only one of them says are open."""
        if self.unit != other.unit:
            return False
        if self.unit == "date":
            return any(a and b and a != b for a, b in zip(self.amount, other.amount, strict=True))
        return abs(self.amount[0] - other.amount[0]) > 1e-6 * max(map(abs, self.amount))


def values(text: str) -> Iterator[Value]:
    """The values in ``text``, in order. Numbers without a unit are none, but for years."""
    # A passage is read for every sentence that cites it, and for what it contradicts.
    read = _values if len(text) <= language.LONGEST_REMEMBERED else _values.__wrapped__
    return iter(read(text))


@lru_cache(maxsize=1_024)
def _values(text: str) -> tuple[Value, ...]:
    found = map(_value, _VALUE.finditer(text))
    return tuple(value for value in found if value is not None)


def _value(match: re.Match[str]) -> Value | None:
    start, end = match.span()
    for number in "1234":
        if match[f"m{number}"]:
            return Value(start, end, "date", _date(match, number))
    if match["clock"]:
        hour = int(match["hour"]) + 12 * (
            (match["half"] or "").lower() == "p" and match["hour"] != "12"
        )
        return Value(start, end, "time of day", (60.0 * hour + int(match["minute"]),))
    if match["chinese"]:
        if match["chinese"] == "一次":  # "每30天更换一次": once every 30 days, one value.
            return None
        return _in_unit(start, end, _number(match["cn"]), match["cu"])
    if match["money"]:
        scale = _SCALES[_letters(match["many"])] if match["many"] else 1.0
        return _in_unit(start, end, _number(match["sum"], scale), match["symbol"])
    return _amount(match)


def _amount(match: re.Match[str]) -> Value | None:
    start, end = match.span()
    scale = _SCALES[_letters(match["scale"])] if match["scale"] else 1.0
    number = _number(match["n"], scale)
    if match["sign"]:
        return _in_unit(start, end, number, match["sign"])
    word = language.fold(match["unit"] or "")
    bare_year = re.fullmatch(r"1\d{3}|20\d\d", match["n"])
    if not word or word in language.ENGLISH_STOP_WORDS:
        return (
            Value(start, match.end("n"), "date", (float(match["n"]), 0.0, 0.0))
            if bare_year
            else None
        )
    unit = "per cent" if word.startswith("per") and "cent" in word else language.stem(word)
    if unit not in _UNITS and (further := _FURTHER_WORD.match(match.string, end)):
        # "30 vacation days" are days of a kind, and comparable to those only.
        name, factor = _UNITS.get(language.stem(language.fold(further[1])), ("", 1.0))
        if name:
            return Value(start, further.end(), f"{unit} {name}", ((number or 0.0) * factor,))
    if unit not in _UNITS and (not _COUNTED.search(word) or _is_label(match)):
        return None
    return _in_unit(start, end, number, unit)


def _is_label(match: re.Match[str]) -> bool:
    """Whether the number only tells things of a kind apart: "Article 102", "room 12"."""
    before = match.string[: match.start()].rstrip().rsplit(maxsplit=1)[-1:]
    return bool(before) and language.fold(before[0]) in _LABELLED


def _in_unit(start: int, end: int, number: float | None, unit: str) -> Value | None:
    if number is None:
        return None
    name, factor = _UNITS.get(unit, (unit, 1.0))
    return Value(start, end, name, (number * factor,))


def _date(match: re.Match[str], number: str) -> tuple[float, ...]:
    month = language.fold(match[f"m{number}"])
    return (
        float(match[f"y{number}"] or 0),
        float(MONTHS.get(month) or month),
        float(match[f"d{number}"]),
    )


def _letters(written: str) -> str:
    """``written`` without what joins it to the number before it: any kind of space, a hyphen."""
    return re.sub(r"[\s-]", "", written).lower()


def _number(written: str, scale: float = 1.0) -> float | None:
    """The number that digits, English words ("twenty-one") or Chinese numerals write."""
    if written[0].isdigit() and written.isascii():
        plain = re.sub(r",(?=\d{3}(?:\D|$))", "", written).replace(",", ".")
        return float(plain) * scale if plain.count(".") <= 1 else None
    if not language.has_cjk(written):
        parts = [_NUMBER_WORDS.get(word) for word in language.fold(written).split("-")]
        return None if None in parts else scale * sum(part or 0 for part in parts)
    total, section, digit = 0, 0, 0
    for character in written:
        factor = _CHINESE_FACTORS.get(character)
        if factor is None:
            digit = 10 * digit + _CHINESE_DIGITS[character]
        elif factor == 10_000:
            total, section, digit = total + (section + digit) * factor, 0, 0
        else:
            section, digit = section + (digit or 1) * factor, 0
    return float(total + section + digit)
