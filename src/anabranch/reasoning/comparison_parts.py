"""Sides of an English comparison, each asked about alone; pure."""

from __future__ import annotations

import re

from anabranch.grammar import PREPOSITION
from anabranch.reasoning.choice_parts import choice
from anabranch.reasoning.question_building import (
    REACHING,
    SINGULAR_VERB,
    asked,
    asking_how,
    be,
    be_of,
    names,
    reaching,
    singular_noun,
    with_head,
)

Parts = list[tuple[str, str]]
WHY = "one side of the comparison"
_COMPARED = r"(?:compare|compares|differ|differs|vary|varies)"
_CONCERNING = (
    r"(?:in|on|regarding|concerning|in terms of|with regard to|with respect to|when it comes to|by)"
)
_SIDES = r",|\band\b|\bor\b|\bwith\b|\bto\b|\bfrom\b|\bvs\b\.?|\bversus\b"

_OF_A_THING = re.compile(
    rf"^(?:how\s+(?:do|does|did)\s+(?P<what>.+?)\s+{_COMPARED}\s+(?:between|among|across|in|for|at)\s+(?P<items>.+)"
    r"|(?:what\s+(?:is|are|was|were)\s+)?(?:the\s+)?(?:main\s+|key\s+)?differences?\s+(?:in|of)\s+(?P<what2>.+?)\s+between\s+(?P<items2>.+)"
    r"|compare\s+(?P<what3>.+?)\s+(?P<link3>of|in|for|between|at)\s+(?P<items3>.+))$",
    re.I,
)
_OF_TWO_THINGS = re.compile(
    r"^(?:(?:what\s+(?:is|are|was|were)\s+|what's\s+|whats\s+)?(?:the\s+|an?\s+)?(?:main\s+|key\s+)?(?:differences?|similarit(?:y|ies))\s+between"
    rf"\s+(?P<items>.+?)(?:\s+{_CONCERNING}\s+(?P<what>.+))?"
    rf"|(?:compare|contrast)\s+(?P<items2>.+?\s(?:and|with|to)\s.+?)(?:\s+{_CONCERNING}\s+(?P<what2>.+))?"
    r"|how\s+(?:do|does|did|is|are)\s+(?P<items3>.+?\s(?:and|from|compare (?:to|with)|different from|differ from)\s.+?)"
    rf"(?:\s+(?:differ|compare))?(?:\s+{_CONCERNING}\s+(?P<what3>.+))?)$",
    re.I,
)
# "The Berlin and Boston offices' opening hours": of both the hours are asked for.
_SHARED_OWNED = re.compile(
    r"^(?P<owners>.+?\s(?:and|or|vs\.?|versus)\s.+?)(?:['’]s|(?<=s)['’])\s+(?P<what>[a-z][\w -]*)$"
)
# "The warranties of the Dipper and the Plover": what is compared stands once, before the first.
_SHARED_QUALITY = re.compile(
    r"^(?:the\s+)?(?P<what>[a-z][\w-]*(?:\s[a-z][\w-]*){0,2}?)\s+of\s+(?P<first>.+)$"
)
_NAMED_SIDE = re.compile(r"^(?:the\s+)?[A-Z\d][\w.'’&/-]*(?:\s+[\w.'’&/-]+){0,3}$")
_AGAINST = (
    r",?\s+(?:(?:as\s+)?compared\s+(?:with|to)|in\s+comparison\s+(?:with|to)|versus|vs\.?"
    r"|as\s+opposed\s+to)\s+"
)
# "What is the warranty of A compared with B?": all but the last thing named is asked of B as well.
_ONE_AGAINST = re.compile(
    rf"^(?P<lead>(?:what|how|which|when|where)\b.+\s{PREPOSITION}\s+)(?P<first>.+?){_AGAINST}"
    rf"(?:(?:(?:that|those|the\s+ones?)\s+)?{PREPOSITION}\s+)?(?P<second>.+)$",
    re.I,
)
_OWNER_AGAINST = re.compile(
    rf"^(?P<lead>(?:what|how|which|when|where)\b.+?\s)(?P<first>(?:the\s+)?[\w-]+)['’]s\s+(?P<what>.+?){_AGAINST}"
    r"(?P<second>(?:the\s+)?[\w-]+)['’]s(?:\s+(?P=what))?$",
    re.I,
)
_DOES_MORE_THAN = re.compile(
    rf"^(?P<aux>do|does|did)\s+(?P<first>.+?)\s+(?P<verb>[a-z]+)\s+(?P<reach>{REACHING})\s+than\s+(?P<second>.+)$",
    re.I,
)
_IN_COMMON = re.compile(
    r"^(?P<what>(?:what|which)\b.*?)\s*(?P<aux>do|did)\s+(?P<items>(?:both\s+)?.+?\s+and\s+.+?)\s+(?:both\s+)?(?:(?P<verb>have|share)"
    r"(?:\s+in\s+common)?)$",
    re.I,
)
_VERSUS = re.compile(r"^(?P<items>.+?\s(?:vs\.?|versus)\s.+?)(?::\s*(?P<what>.+))?$", re.I)
_WITH_THOSE = re.compile(
    rf"^how\s+(?:do|does|did)\s+(?:the\s+)?(?P<what>.+?)\s+(?P<link>{PREPOSITION})\s+(?P<first>.+?)\s+"
    rf"(?:compare\s+(?:with|to)|differ\s+from)\s+(?:those|that|the\s+ones?)\s+(?P<link2>{PREPOSITION})\s+(?P<second>.+)$",
    re.I,
)
_THAN = re.compile(
    r"^(?P<be>is|are|was|were)\s+(?P<first>.+?)\s+(?P<adjective>(?!other|rather)[a-z]+er|more\s+[a-z]+|less\s+[a-z]+)\s+than\s+(?P<second>.+)$",
    re.I,
)
_COUNTED_THAN = re.compile(
    rf"^(?P<be>are|were)\s+there\s+(?:more|fewer)\s+(?P<first>[\w-]+(?:\s[\w-]+)?)\s+than\s+(?P<second>[\w-]+(?:\s[\w-]+)??)\s+"
    rf"(?P<where>{PREPOSITION}\s.+)$",
    re.I,
)
_BOTH = re.compile(
    r"^(?P<aux>are|were|do|did|have)\s+(?:both\s+)?(?P<items>.+?\s+and\s+.+?)\s+(?:both\s+)?(?P<rest>(?:the\s+same|located|based|"
    r"members?|from|of|in|born|considered|directed|written|published|used|known|situated|made|found|both|headquartered)\b.*|(?<=both\s).+|[A-Z]\w+(?:ish|an|ese|ch|i))$",
    re.I,
)


def comparison(question: str) -> Parts:
    """What the comparison asks of each side; nothing if a side cannot be told."""
    text = re.sub(r"^(?:please|can you|could you)\s+", "", question.strip(" ?."), flags=re.I)
    for way in (_with_those, _against, _same_of_both, _sides, _than, choice):
        if found := way(text):
            return [(asked(part), WHY) for part in found]
    return []


def _with_those(text: str) -> list[str]:
    match = _WITH_THOSE.match(text)
    if match is None:
        return []
    opening = f"what {be(match['what'])} the {match['what']}"
    return [
        f"{opening} {match['link']} {match['first']}",
        f"{opening} {match['link2']} {match['second']}",
    ]


def _against(text: str) -> list[str]:
    """What is asked of the first thing, and the same of the one that it is compared with."""
    if match := _OWNER_AGAINST.match(text):
        sides = (match["first"], match["second"])
        return [f"{match['lead']}{side}'s {match['what']}" for side in sides]
    match = _ONE_AGAINST.match(text)
    if match is None or not names(f"{match['first']}, {match['second']}", ","):
        return []
    return [f"{match['lead']}{side}" for side in (match["first"], match["second"])]


def _sides(text: str) -> list[str]:
    for pattern in (_OF_A_THING, _OF_TWO_THINGS, _VERSUS):
        if match := pattern.match(text):
            groups = match.groupdict()
            what = next((v for k, v in groups.items() if k.startswith("what") and v), "")
            items = next((v for k, v in groups.items() if k.startswith("items") and v), "")
            what = re.sub(r"^(?:the|their|its)\s+", "", what.strip(), flags=re.I)
            items = re.sub(rf"\s+{_COMPARED}$", "", items)
            if not what and (owned := _SHARED_OWNED.match(items)):
                items = re.sub(r"['’]s(?=\s+(?:and|or|vs|versus)\b)", "", owned["owners"])
                what = owned["what"]
            sides = names(items, _SIDES)
            if not sides or len(what.split()) > 6:
                continue
            if not what and (shared := _SHARED_QUALITY.match(sides[0])):
                what, sides = _shared_quality(shared, sides)
            sides = with_head(sides)
            if not what:
                return [f"what {be(_head_of(side))} {side}" for side in sides]
            named = (groups.get("link3") or "in").replace("between", "in")
            link = named if pattern is _OF_A_THING else "of"
            # "Compare X by weight and battery life" asks several things of each: their list stays whole.
            return [
                f"what {'are' if ' and ' in what else be(what)} the {what} {link} {side}"
                for side in sides
            ]
    return []


def _shared_quality(shared: re.Match[str], sides: list[str]) -> tuple[str, list[str]]:
    """What is asked of every side, where only the first says it, and the sides without it."""
    if all(_NAMED_SIDE.match(side) for side in (shared["first"], *sides[1:])):
        return shared["what"], [shared["first"], *sides[1:]]
    return "", sides


def _head_of(side: str) -> str:
    """The noun that the verb agrees with: the warranties of "the warranties of the Dipper"."""
    head = re.match(r"((?:the\s+)?[a-z][\w -]*?)\s+of\s", side)
    return head[1] if head else side


def _than(text: str) -> list[str]:
    if counted := _COUNTED_THAN.match(text):
        kinds, where = (counted["first"], counted["second"]), counted["where"]
        return [f"how many {kind} {counted['be'].lower()} {where}" for kind in kinds]
    if (does := _DOES_MORE_THAN.match(text)) and names(f"{does['first']}, {does['second']}", ","):
        asking = f"{reaching(does['reach'])} {does['aux'].lower()}"
        return [f"{asking} {does[side]} {does['verb']}" for side in ("first", "second")]
    match = _THAN.match(text)
    if (
        match is None
        or match["first"].lower() == "there"
        or re.search(
            r"\b(?:or|and|who|that|which)\b|'s$", f"{match['first']} {match['second']}", re.I
        )
    ):
        return []
    if re.search(r"\b(?:more|less)\b", match["first"]) or match["adjective"].endswith("likely"):
        return []
    sides = [match["first"], match["second"]]
    if match["adjective"].lower() in ("older", "younger") and all(
        side[:1].isupper() for side in sides
    ):
        return [f"when was {side} born" for side in sides]
    past = match["be"].lower() in ("was", "were")
    return [asking_how(match["adjective"], be_of(side, past=past), side) for side in sides]


def _same_of_both(text: str) -> list[str]:
    if match := _IN_COMMON.match(text):
        sides = names(match["items"])
        what = match["what"].strip()
        if sides and len(what.split()) == 1:
            return [f"what is {side}" for side in sides]
        auxiliary = SINGULAR_VERB.get(match["aux"].lower(), match["aux"])
        return [f"{what} {auxiliary} {side} have" for side in sides]
    match = _BOTH.match(text)
    if match is None or text.count(" and ") != 1:
        return []
    sides = names(match["items"])
    auxiliary = SINGULAR_VERB.get(match["aux"].lower(), match["aux"].lower())
    if auxiliary not in ("is", "was") and "same" in match["rest"].split():
        return []
    rest = re.sub(r"^both\s+", "", match["rest"])
    return [part for side in sides if (part := _of_one(side, auxiliary, rest))] if sides else []


_THE_SAME = re.compile(
    r"^(?P<how>located|based|situated|born|headquartered|found|from|in|members? of|of|directed by|written by)?\s*(?:in|from|by)?\s*"
    r"the\s+same\s+(?P<what>[\w ]{3,30})$",
    re.I,
)


def _of_one(side: str, auxiliary: str, rest: str) -> str | None:
    """What "Are A and B … ?" asks of one of them; None where that cannot be said."""
    if same := _THE_SAME.match(rest):
        verb, what = (same["how"] or "").lower(), same["what"]
        if verb in ("located", "based", "situated", "born", "headquartered", "found", "in"):
            return f"in which {what} {auxiliary} {side} {'' if verb == 'in' else verb}"
        if verb.endswith(" by"):
            return f"who {auxiliary} the {what} of {side}"
        return f"what {auxiliary if auxiliary in ('is', 'was') else 'is'} the {what} of {side}"
    if "same" in rest.split():
        return None
    if re.fullmatch(r"[a-z][a-z -]*[^s]s", rest) and auxiliary in ("is", "was"):
        return f"{auxiliary} {side} {singular_noun(rest)}"
    if re.match(
        rf"(?:{PREPOSITION}|located|based|born|considered|directed|written|published|used|known|made|found|situated|headquartered)\b|[A-Z]\w+$",
        rest,
    ):
        return f"{auxiliary} {side} {rest}"
    return None
