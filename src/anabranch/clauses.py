"""Whether a text asks, and the clauses of a question that says several things of one; pure.

"Which company released a lite model, is involved in default search deals, and is accused of harming
publishers?" describes one thing by what several documents say of it. Searched whole, it finds the
documents of the clause with the rarest words; each clause alone finds its own.
"""

from __future__ import annotations

import re

from anabranch.grammar import CHINESE_ASKING
from anabranch.language import question_terms

# Each is a query: a question of more of them is a list, which the planner takes apart.
MOST_CLAUSES = 4
# A clause is searched alone if it has so many terms, in a question of so many.
CLAUSE_TERMS = 4
QUESTION_TERMS = 12

_CLAUSE_END = re.compile(
    r"[,;:]\s+(?:(?:and|but|or|while)\s+)?|\s+(?:and|but|or|while|who|which|that|as well as)\s+|[，；、]|(?:以及|并且|並且|而且|同时|同時)"
)
_QUESTION_MARK = re.compile(r"[?？][\s\"'”’」）)]*\Z")
# What asks without the mark: many type none.
_ASKING_WORDS = re.compile(
    r"\b(?:who|whom|whose|what|when|where|which|why|how)\b"
    r"|\A\W*(?:is|are|was|were|do|does|did|can|could|has|have|had|will|would|should|may|must)\b"
    r"|\A\W*(?:please\s+)?(?:name|identify|find|list|compare|give|tell|show|explain|describe)\b"
    rf"|{CHINESE_ASKING}|呢"
    r"|\A\W*(?:请|請)?(?:列出|找出|比较|比較|说明|說明|介绍|介紹)",
    re.I,
)
_EDGE = " ?.!'\"？。！"


def asks(text: str) -> bool:
    """Whether ``text`` asks for something; a claim or a list of keywords only names a topic.

    Only what asks can lead on from document to document. Followed up, claims lost .016 nDCG@10
    (a claim has all its words already; a name beside them is another topic).
    """
    return bool(_QUESTION_MARK.search(text) or _ASKING_WORDS.search(text))


def clauses_alone(question: str) -> tuple[str, ...]:
    """The clauses to be searched one by one; none where the question is short, or asks nothing.

    A description of a topic that asks nothing ("effects of X, including Y") drifts apart when its
    clauses are searched: it lost up to .04 nDCG@10.
    """
    if not _QUESTION_MARK.search(question) or len(question_terms(question)) < QUESTION_TERMS:
        return ()
    found = _clauses(question)
    return tuple(found[:MOST_CLAUSES]) if len(found) > 1 else ()


def _clauses(text: str) -> list[str]:
    """Clauses with enough words to be searched; shorter ones are joined with the next."""
    found: list[str] = []
    waiting = ""
    for piece in _CLAUSE_END.split(text):
        waiting = f"{waiting} {piece.strip(_EDGE)}".strip()
        if len(question_terms(waiting)) >= CLAUSE_TERMS:
            found.append(waiting)
            waiting = ""
    if waiting and found:
        found[-1] = f"{found[-1]} {waiting}"
    return found
