"""The same thing written in other ways: numbers in words and digits, both Chinese scripts; pure.

What may be offered for a question is for the caller to decide: here is only what a form stands for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files

_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINAL_UNITS = (
    "zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth",
    "tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth",
    "seventeenth", "eighteenth", "nineteenth",
)  # fmt: skip
_ROMAN_UNITS = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
_ROMAN_TENS = ("", "X", "XX", "XXX")
_CHINESE_DIGITS = "零一二三四五六七八九"
# What is counted or numbered in Chinese: other numerals (一般, 三明治) are parts of words.
_COUNTED = "年月日号號届屆次区區路岁歲个個名位人天章条條级級层層楼樓卷集期代世回种種项項国國"
_ARABIC_BEFORE_CHINESE = re.compile(rf"(?<![\d.,])(\d{{1,2}})(?=[{_COUNTED}])")
_CHINESE_NUMERAL = re.compile(
    rf"([{_CHINESE_DIGITS[1:]}]?十[{_CHINESE_DIGITS[1:]}]?)(?=[{_COUNTED}])"
)
# Short units, and the word that a text may write out.
_SYMBOLS = {
    "km": "kilometres", "kg": "kilograms", "cm": "centimetres", "mm": "millimetres",
    "bn": "billion", "mph": "miles per hour", "hrs": "hours", "mins": "minutes", "lbs": "pounds",
    "ft": "feet", "yrs": "years",
}  # fmt: skip


def number_forms(word: str) -> tuple[str, ...]:
    """Other ways to write a folded number up to 99: "12" -> twelve, "nineteenth" -> 19th.

    A plain number also as a Roman numeral up to 39 ("2" -> two, II), as names have them.
    """
    return _number_forms().get(word, ())


@lru_cache(maxsize=1024)
def number_pattern(number: str) -> re.Pattern[str]:
    """A number of digits in whatever way a text has it: 13 as thirteen, thirteenth, 13th or XIII, 10000 as 10,000.

    Not "1" as "one" or "first", which stand in nearly every text, nor in another form above 99.
    """
    plain = number.replace(",", "")
    written = [plain, number]
    if plain.isdigit() and 1 < int(plain) < 100:
        numbered = f"{int(plain)}{_ordinal_ending(int(plain))}"
        written += [*number_forms(plain), numbered, _ordinal_in_words(int(plain))]
    elif plain.isdigit():
        written.append(f"{int(plain):,}")
    # Roman numerals are capitals; words may begin a sentence.
    forms = (re.escape(form) if form.isupper() else f"(?i:{re.escape(form)})" for form in written)
    return re.compile(rf"(?<![\w.])(?:{'|'.join(forms)})(?!\w|[.,]\d)")


@cache
def _number_forms() -> Mapping[str, tuple[str, ...]]:
    forms: dict[str, tuple[str, ...]] = {}
    for number in range(1, 100):
        cardinal, ordinal = _in_words(number), _ordinal_in_words(number)
        digits, numbered = str(number), f"{number}{_ordinal_ending(number)}"
        roman = (_roman(number),) if number < 40 else ()
        forms[digits] = (cardinal, *roman)
        forms[cardinal] = (digits, *roman)
        forms[numbered], forms[ordinal] = (ordinal, *roman), (numbered, *roman)
        # "I", "V" and "X" alone are mostly a word or a letter.
        if roman and len(roman[0]) > 1:
            forms[roman[0].lower()] = (digits, cardinal)
    return forms


def _in_words(number: int) -> str:
    if number < 20:
        return _UNITS[number]
    tens, unit = _TENS[number // 10 - 2], number % 10
    return f"{tens}-{_UNITS[unit]}" if unit else tens


def _ordinal_in_words(number: int) -> str:
    if number < 20:
        return _ORDINAL_UNITS[number]
    tens, unit = _TENS[number // 10 - 2], number % 10
    return f"{tens}-{_ORDINAL_UNITS[unit]}" if unit else f"{tens[:-1]}ieth"


def _ordinal_ending(number: int) -> str:
    if 10 < number % 100 < 14:
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def _roman(number: int) -> str:
    return _ROMAN_TENS[number // 10] + _ROMAN_UNITS[number % 10]


def unit_form(word: str) -> str | None:
    """A folded unit or magnitude written out: "km" -> kilometres."""
    return _SYMBOLS.get(word)


def chinese_number_forms(text: str) -> Iterator[tuple[str, str]]:
    """Numbers before what they count, with their other form: 12届 with 十二届, and back."""
    for match in _ARABIC_BEFORE_CHINESE.finditer(text):
        counted = text[match.end()]
        if number := int(match[1]):
            yield match[1] + counted, _in_chinese(number) + counted
    for match in _CHINESE_NUMERAL.finditer(text):
        counted = text[match.end()]
        yield match[1] + counted, f"{_from_chinese(match[1])}{counted}"


def _in_chinese(number: int) -> str:
    tens, unit = divmod(number, 10)
    ending = _CHINESE_DIGITS[unit] if unit else ""
    if not tens:
        return ending
    return f"{_CHINESE_DIGITS[tens] if tens > 1 else ''}十{ending}"


def _from_chinese(numeral: str) -> int:
    tens, _, unit = numeral.partition("十")
    return 10 * (_CHINESE_DIGITS.index(tens) if tens else 1) + (
        _CHINESE_DIGITS.index(unit) if unit else 0
    )


def simplified(text: str) -> str:
    """The text with common traditional characters as their simplified ones."""
    return text.translate(_to_simplified())


@cache
def _to_simplified() -> dict[int, str]:
    return {ord(traditional): simple for traditional, simple in _character_pairs()}


@cache
def _character_pairs() -> tuple[tuple[str, str], ...]:
    """(traditional, simplified), made by tools/make_chinese_characters.py."""
    table = files("anabranch").joinpath("chinese_characters.txt").read_text(encoding="utf-8")
    return tuple((line[0], line[1]) for line in table.splitlines() if len(line) == 2)


@cache
def other_script() -> Mapping[str, str]:
    """A common traditional character -> its simplified one, and back where only one leads there."""
    pairs = _character_pairs()
    back: dict[str, list[str]] = {}
    for traditional, simplified in pairs:
        back.setdefault(simplified, []).append(traditional)
    single = {simplified: found[0] for simplified, found in back.items() if len(found) == 1}
    return {**single, **dict(pairs)}


# ---------------------------------------------------------------------------- codes of things

# "HK-60", "hk60", "P9", "HK 60", "R2-D2": letters and digits that are one name. Without capitals only where
# nothing, or letters that are no word, stand before the hyphen: "type-2" and "post-1945" are ordinary words.
_CODE = re.compile(
    r"(?<![A-Za-z0-9.,_/&+'’-])(?:[A-Z]{1,4}[ ](?=\d{2})|[A-Za-z]{1,4}[-‐‑]?)\d{1,6}(?:[-‐‑]?[A-Z]{1,3}(?:[-‐‑]?\d{1,4})?)?"
    r"(?![A-Za-z0-9%+]|[.,:/-]\d|[-‐‑][A-Za-z])"
)
_HYPHENS = "-‐‑‒–"
_SEGMENT = re.compile(r"[a-z]+|[0-9]+")
# Quarters, halves and years of accounts, versions, numbers and pages are written out as well; so are months, and
# "B2B" and "P2P" are no numbers.
_WRITTEN_OUT = re.compile(
    r"q[1-4]|[hs][12]|fy\d+|cy\d+|v\d+|ver\d+|nos?\d+|nr\d+|pp\d+|vol\d+|fig\d+|ch\d+|sec\d+|art\d+|top\d+|ww\d|[a-z]2[a-z]|"
    r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)\d+|(?:ad|bc|ce|bce|am|pm|gmt|utc|usd?|eur|gbp|rmb|cny)\d+|"
    r"(?:mid|pre|post|type|part|step|day|week|year|age|unit|page|line|room|area|item|case|test|form|plan|tier|over|from|to|in|of|"
    r"for|the|is|and|or|at|on|by)\d+"
)


def codes(text: str) -> list[str]:
    """The model and part numbers in ``text``, as they are written there: letters and digits that are one name."""
    found = []
    for match in _CODE.finditer(text):
        written = match.group()
        letters = re.match(r"[A-Za-z]+", written)
        hyphened = letters is not None and written[letters.end()] in _HYPHENS
        if letters is None or _WRITTEN_OUT.fullmatch(bare_code(written)):
            continue
        if hyphened and letters.group().islower() and re.search("[aeiou]", letters.group()):
            continue
        found.append(written)
    return list(dict.fromkeys(found))


def bare_code(code: str) -> str:
    """The letters and digits of a code alone: "HK-60" and "hk 60" -> hk60."""
    return "".join(_SEGMENT.findall(code.lower()))


def says_another_code(asked: Iterable[str], texts: Iterable[str]) -> bool:
    """Whether the first of ``texts`` that has a code of the asked letters has only others: DB-11 for DB-12."""
    wanted = list(asked)
    siblings = {re.sub(r"[0-9].*", "", bare_code(code)) for code in wanted}
    for text in texts if wanted else ():
        if any(code_pattern(code).search(text) for code in wanted):
            return False
        said = {re.sub(r"[0-9].*", "", bare_code(code)) for code in codes(text)}
        if siblings & said:
            return True
    return False


def code_joinings(code: str) -> tuple[str, ...]:
    """The ways to join the letters and digits of a code: "HK60" -> HK-60, HK 60, without its own."""
    parts = re.findall(r"[A-Za-z]+|[0-9]+", code)
    return tuple(form for form in (joint.join(parts) for joint in ("-", "", " ")) if form != code)


@lru_cache(maxsize=1_024)
def code_pattern(code: str) -> re.Pattern[str]:
    """What finds a code in a text in any joining and any case, also in a row: "HK-20/40" has HK-40."""
    segments = _SEGMENT.findall(code.lower())
    joint = rf"[{_HYPHENS}\s_.]?"
    pattern = joint.join(segments)
    if len(segments) == 2:
        row = (
            rf"(?:[0-9]+\s*(?:[/、]\s*[{_HYPHENS}]?|(?:,|&|and|or|和|及|或|与|與)\s*[{_HYPHENS}]))*"
        )
        pattern = f"{segments[0]}{joint}{row}{segments[1]}"
    return re.compile(rf"(?<![A-Za-z0-9]){pattern}(?![0-9])", re.IGNORECASE | re.ASCII)
