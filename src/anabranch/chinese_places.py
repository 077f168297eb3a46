"""Names of places in Chinese text, which no capital shows; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

_KINDS = "省|市|县|分公司|办事处|销售处|办公室"
# No name begins with what leads to it (在, 从), counts it or points at it.
_LETTER = (
    "(?![在于到从去往住的是和与跟及或各每哪几某这那其本贵我你您他她它们总新老])[\u4e00-\u9fff]"
)
# What is called after the place where it is.
_SITE = (
    f"(?:{_KINDS}|镇|乡|村|办公楼|子公司|分店|门店|分行|支行|分部|分校|校区|园区|厂区|工厂|仓库)"
)
# Where a name of a place stands: at the beginning, or behind what leads to it.
_AT_A_SITE = re.compile(
    f"(?:^|[在于到从去往住和与跟及或、，,\\s]|请问)(?P<name>{_LETTER}[\u4e00-\u9fff]{{1,2}}?){_SITE}"
)


@cache
def place_pattern() -> re.Pattern[str]:
    """A place by its name, or by a kind that places have at their end."""
    return re.compile(f"(?:中国|{'|'.join(_known())}|{_LETTER}[\u4e00-\u9fff]{{1,3}}?(?:{_KINDS}))")


def places_in(text: str) -> Iterator[tuple[int, int]]:
    """Where names of places stand: well-known ones, and what a site is called after (青浦 in 青浦办公室)."""
    end = 0
    found = [match.span() for match in _known_pattern().finditer(text)]
    found += [match.span("name") for match in _AT_A_SITE.finditer(text)]
    for span in sorted(set(found)):
        if span[0] >= end:
            yield span
            end = span[1]


@cache
def _known() -> tuple[str, ...]:
    """Made by tools/make_chinese_places.py, the longest first: 印度尼西亚 is not in 印度."""
    table = files("anabranch").joinpath("chinese_places.txt").read_text(encoding="utf-8")
    return tuple(table.split())


@cache
def _known_pattern() -> re.Pattern[str]:
    return re.compile("|".join(_known()))
