"""What an English question asks on the way to what it asks: the inner question first; pure."""

from __future__ import annotations

import re

from anabranch.grammar import AUXILIARY
from anabranch.reasoning.question_building import asked
from anabranch.reasoning.question_shape import KINDS, ROLES

Parts = list[tuple[str, str]]
_INNER = "has to be known first"
_OUTER = "asks about what the first question finds"

_PERSONAL = ROLES - {
    "headquarters",
    "birthplace",
    "hometown",
    "publisher",
    "developer",
    "manufacturer",
    "distributor",
    "broadcaster",
}
_ROLE = "(?:" + "|".join(sorted(ROLES, key=len, reverse=True)) + ")"
_KIND = "(?:" + "|".join(sorted(KINDS, key=len, reverse=True)) + ")"
_ADJECTIVES = r"(?:(?!of\b|in\b)[\w-]+\s+){0,2}?"
_ENDINGS = (
    # (what is asked, how it is asked of the description alone)
    (re.compile(r"^where\s+(?:was|were)\s+(?P<one>.+?)\s+born$", re.I), "what is the birthplace of {one}"),
    (re.compile(r"^(?:when|in (?:what|which) year)\s+(?:was|were)\s+(?P<one>.+?)\s+born$", re.I), "what is the date of birth of {one}"),
    (re.compile(r"^what year\s+was\s+(?P<one>.+?)\s+born(?:\s+in)?$", re.I), "what is the date of birth of {one}"),
    (re.compile(r"^(?:when|in (?:what|which) year)\s+did\s+(?P<one>.+?)\s+die$", re.I), "what is the date of death of {one}"),
    (re.compile(r"^where\s+did\s+(?P<one>.+?)\s+die$", re.I), "what is the place of death of {one}"),
    (re.compile(r"^(?:when|in (?:what|which) year)\s+was\s+(?P<one>.+?)\s+(?:founded|established)$", re.I), "what is the founding year of {one}"),
    (re.compile(r"^where\s+(?:is|was)\s+(?P<one>.+?)\s+(?:based|headquartered)$", re.I), "what are the headquarters of {one}"),
    (re.compile(r"^in (?:what|which) (?P<kind>\w+)\s+(?:is|was)\s+(?P<one>.+?)\s+(?:based|headquartered)$", re.I), "what is the {kind} of the headquarters of {one}"),
    (re.compile(r"^where\s+(?:is|was)\s+(?P<one>.+?)(?:\s+located|\s+situated)?$", re.I), "what is the location of {one}"),
    (re.compile(r"^in (?:what|which) (?P<kind>country|city|state|county|province)\s+was\s+(?P<one>.+?)\s+born$", re.I), "what is the {kind} of birth of {one}"),
    (re.compile(r"^(?P<one>.+?)\s+was born in (?:what|which) (?P<kind>country|city|state|county|year)$", re.I), "what is the {kind} of birth of {one}"),
    (re.compile(r"^what (?:school|university|college)\s+did\s+(?P<one>.+?)\s+(?:attend|go to|study at|graduate from)$", re.I), "where did {one} study"),
    (re.compile(r"^where\s+did\s+(?P<one>.+?)\s+(?:study|go to (?:school|college|university)|graduate)$", re.I), "what is the alma mater of {one}"),
    (re.compile(r"^what\s+(?:is|was)\s+the\s+nationality\s+of\s+(?P<one>.+?)$", re.I), "which country is {one} from"),
    (re.compile(r"^(?:which|what)\s+country\s+(?:is|was)\s+(?P<one>.+?)\s+from$", re.I), "what is the nationality of {one}"),
    (re.compile(r"^who\s+(?:is|was)\s+(?P<one>.+?)\s+married to$", re.I), "who is the spouse of {one}"),
    (re.compile(r"^(?:who is|who was)\s+the\s+(?:spouse|wife|husband) of\s+(?P<one>.+?)$", re.I), "who is married to {one}"),
)  # fmt: skip
_BY_ROLE = re.compile(
    rf"^the\s+(?P<role>{_ADJECTIVES}{_ROLE})\s+(?:of|for|behind)\s+(?P<thing>(?!the\s+{_ROLE}\b).+)$",
    re.I,
)
_BY_CLAUSE = re.compile(
    rf"^the\s+(?P<noun>{_ADJECTIVES}(?P<head>{_KIND}|{_ROLE}))\s+(?P<pronoun>who|that|which)\s+(?P<clause>(?!{AUXILIARY}\s+(?:i|you|we)\b).+)$",
    re.I,
)


def nested(question: str) -> Parts:
    """The inner question, then the outer one in other words; nothing where either cannot be said whole."""
    text = re.sub(r"\s+", " ", question).strip(" ?.")
    if text.count(" and ") or ('"' in text and text.count('"') % 2):
        return []
    for pattern, outer in _ENDINGS:
        match = pattern.match(text)
        if match is None:
            continue
        one = match["one"]
        one = one if one.lower().startswith(("the ", "a ", "an ")) else f"the {one}"
        if re.search(r"\b(?:from|in|of|for|by|at|on|with)$", one):
            continue
        inner = _inner(one[0].lower() + one[1:])
        if inner:
            kind = match.groupdict().get("kind") or ""
            said = outer.format(one=one[0].lower() + one[1:], kind=kind)
            return [(asked(inner), _INNER), (asked(said), _OUTER)]
    return []


def _inner(description: str) -> str | None:
    """Who or what the description stands for, as a question."""
    if role := _BY_ROLE.match(description):
        noun = role["role"].split()[-1].lower()
        plural = noun not in ROLES
        verb = "are" if plural else "is"
        return f"{'who' if noun.rstrip('s') in _PERSONAL else 'what'} {verb} the {role['role']} of {role['thing']}"
    clause = _BY_CLAUSE.match(description)
    if clause is None or len(clause["clause"].split()) < 2:
        return None
    if not re.match(
        rf"{AUXILIARY}\b|[a-z]+(?:s|ed)\b|won\b|made\b|wrote\b|sang\b|held\b|built\b|led\b",
        clause["clause"],
    ):
        return None  # "the company that Bezos founded": the verb comes last, and the order would change.
    opening = f"which {clause['noun']}"
    return f"{opening} {clause['clause']}"
