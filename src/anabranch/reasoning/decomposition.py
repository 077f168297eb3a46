"""Parts of a complex question that stand alone, built from its own structure; pure.

Only what comes out clean is given: every part asks, names what it asks about, is cut off nowhere and refers to
nothing outside it. Otherwise there are no parts, and the question is searched as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from anabranch.language import asks_in_cjk, fold, question_terms
from anabranch.reasoning.chinese_decomposition import chinese_parts
from anabranch.reasoning.comparison_parts import comparison
from anabranch.reasoning.nested_parts import nested
from anabranch.reasoning.question_building import is_whole
from anabranch.reasoning.several_parts import (
    according_to,
    before_and_after,
    conditions,
    qualities,
    questions_in_a_row,
    reports,
    things,
)

Parts = list[tuple[str, str]]
MOST_PARTS = 4
# A longer text is no question that can be taken apart by its form.
LONGEST_QUESTION = 400

# The first way that gives clean parts is taken: the ones with the most telling form come first.
_WAYS: tuple[Callable[[str], Parts], ...] = (
    before_and_after, according_to, reports, questions_in_a_row, comparison, qualities, things, conditions, nested,
)  # fmt: skip


def parts(question: str) -> Parts:
    """Two to four pairs (question that stands alone, why), or none."""
    text = " ".join(question.split())
    if len(text) > LONGEST_QUESTION:
        return []
    if asks_in_cjk(text):
        return _clean(chinese_parts(text), text)
    for way in _WAYS:
        found = way(text)
        if found and all(is_whole(part) for part, _ in found) and (clean := _clean(found, text)):
            return clean
    return []


def _clean(found: Parts, question: str) -> Parts:
    """The first four parts, if at least two ask different things and none is the question itself."""
    kept: Parts = []
    seen: set[str] = set()
    shared = set(question_terms(question))
    for part, why in found:
        side = re.findall(r"\b(?:before|after)\b", part.lower())  # Stop words that matter here.
        terms = " ".join(sorted(question_terms(part) + side))
        if not terms or fold(part).strip(" ?？") == fold(question).strip(" ?？"):
            return []
        if terms not in seen and shared & set(question_terms(part)):
            seen.add(terms)
            kept.append((part, why))
    return kept[:MOST_PARTS] if len(kept) >= 2 else []
