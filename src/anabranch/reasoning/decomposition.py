"""Parts of a complex question that stand alone, built from its own structure; pure.

Four shapes are taken apart: several questions in one, a comparison, an enumeration, and a before
with its after. A part is only given if it names what it asks about; fewer than two such parts are
no decomposition, and the question is then searched as it stands.
"""

from __future__ import annotations

import re

from anabranch.language import cjk_share, fold, question_terms
from anabranch.reasoning.chinese_decomposition import chinese_parts

MOST_PARTS = 4
# A longer text is no question that can be taken apart by its form.
LONGEST_QUESTION = 400

_ASKING = r"(?:who|whom|whose|what|when|where|which|why|how)"
_AUXILIARY = r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|must|may)"
_ITEM = r"[^\s,;?]+(?:\s+(?!(?:and|or)\b)[^\s,;?]+){0,4}?"
_PREPOSITION = r"(?:of|in|for|at|on|from|to|under|with|by)"
# What the plural asks of two things, the singular asks of one.
_SINGULAR = {"are": "is", "were": "was", "do": "does", "have": "has"}
# Comparatives whose question about one thing has a word of its own.
_BASE_FORMS = {
    "older": "old", "younger": "old", "larger": "large", "bigger": "big", "smaller": "large",
    "higher": "high", "lower": "high", "longer": "long", "shorter": "long", "taller": "tall",
    "faster": "fast", "slower": "fast", "cheaper": "expensive", "heavier": "heavy",
    "lighter": "heavy", "deeper": "deep", "wider": "wide", "safer": "safe", "stronger": "strong",
    "better": "good", "worse": "good", "closer": "close", "newer": "new", "richer": "rich",
}  # fmt: skip
_PRONOUN = re.compile(
    r"\b((?:each|all|both) of them|each one|it|they|them|he|she|him|its|their|his|her|these|those|this|each|one)\b",
    re.I,
)
_POSSESSIVE = frozenset({"its", "their", "his", "her"})
_FILLERS = re.compile(r"\b(?:respectively|respective|both|each(?: of)?)\b\s*", re.I)


def parts(question: str) -> list[tuple[str, str]]:
    """Two to four pairs (question that stands alone, why), or none."""
    text = " ".join(question.split())
    if len(text) > LONGEST_QUESTION:
        return []
    if cjk_share(text) >= 0.3:
        found = chinese_parts(text)
    else:
        found = next((built for way in _WAYS if len(built := _distinct(way(text), text)) >= 2), [])
    distinct = _distinct(found, text)[:MOST_PARTS]
    return distinct if len(distinct) >= 2 else []


def _distinct(found: list[tuple[str, str]], question: str) -> list[tuple[str, str]]:
    """The parts that ask different things, none of them the question itself."""
    kept: list[tuple[str, str]] = []
    seen: set[str] = set()
    for part, why in found:
        side = re.findall(r"\b(?:before|after)\b", part.lower())  # Stop words that matter here.
        terms = " ".join(sorted(question_terms(part) + side))
        if terms and terms not in seen and fold(part).strip(" ?？") != fold(question).strip(" ?？"):
            seen.add(terms)
            kept.append((part, why))
    return kept


def _asked(text: str) -> str:
    """``text`` as a question: trimmed, with a capital and a question mark."""
    text = re.sub(r"\s+", " ", text).strip(" ,;:.?")
    return f"{text[:1].upper()}{text[1:]}?" if text else ""


# ------------------------------------------------------------------------- several questions in one


# In a row of questions that ends in "and how …" the earlier commas part questions too. "Who" and
# "which" behind a comma rather begin a relative clause, as "when" and "where" do without a verb.
_COMMA_QUESTION = re.compile(rf",\s+(?=(?:what|how|why)\s|(?:when|where)\s+{_AUXILIARY}\b)", re.I)
# "The price of the Dipper … how heavy is it": what has the quality is meant, not the quality.
_QUALITY_OF = re.compile(
    r"^(?:the\s+)?(?:price|cost|fee|weight|length|height|width|depth|size|age|colour|color|name|"
    r"address|duration|warranty|date|number|salary)\s+of\s+",
    re.I,
)


def _several_questions(text: str) -> list[tuple[str, str]]:
    pieces = [
        piece for piece in re.split(r"\?\s+|(?<=[a-z])\.\s+(?=[A-Z])", text) if piece.strip(" ?")
    ]
    split: list[str] = []
    for piece in pieces:
        split += re.split(
            rf",?\s*;?\s+(?:and|but|or)\s+(?:also\s+|then\s+)?(?=(?:{_PREPOSITION}\s+)?{_ASKING}\s)"
            rf"|,?\s+and\s+(?=(?:is|are|do|does|did|can|will|was|were)\s+(?:it|they|he|she|there)\b)",
            piece,
            flags=re.I,
        )
    if len(split) > 1:
        split = [part for piece in split for part in _COMMA_QUESTION.split(piece)]
    split = [
        re.sub(r"^(?:and|also|but|so|then),?\s+", "", part.strip(), flags=re.I) for part in split
    ]
    asking = [
        part
        for part in split
        if re.match(rf"(?:{_PREPOSITION}\s+)?(?:{_ASKING}|{_AUXILIARY})\b", part, re.I)
    ]
    if len(asking) < 2 or len(asking) != len(split):
        return []
    topic = _topic(asking[0])
    built = [asking[0]]
    for part in asking[1:]:
        resolved = _with_topic(part, topic)
        if resolved is None:
            return []
        built.append(resolved)
    return [(_asked(part), "one of several questions") for part in built]


def _topic(question: str) -> str | None:
    """What the first question is about, for the pronouns of the next."""
    text = question.strip(" ?")
    named = re.search(
        rf"^{_ASKING}\s+(?:\w+\s+)?(?:is|are|was|were|do|does|did|has|have|can|will)\s+(.+)$",
        text,
        re.I,
    )
    if named is None:
        # "Who founded Acme" is about what was founded.
        named = re.search(
            r"^(?:who|which\s+\w+|what\s+\w+)\s+\w+(?:ed|s|de|te|ote|ld|ght)\s+(.+)$", text, re.I
        )
    if named is None:
        return None
    phrase = re.sub(
        r"\s+(?:work|happen|mean|founded|born|built|made|located|created|released|fail|cost|start|begin|end)s?$",
        "", named[1], flags=re.I,
    )  # fmt: skip
    phrase = _QUALITY_OF.sub("", phrase)
    return phrase if 1 <= len(phrase.split()) <= 10 and not _PRONOUN.fullmatch(phrase) else None


def _with_topic(part: str, topic: str | None) -> str | None:
    """``part`` with its pronouns filled in; None if it cannot stand alone."""
    if not _PRONOUN.search(part):
        return part if len(question_terms(part)) >= 1 and len(part.split()) >= 3 else None
    if topic is None:
        return None

    def filled(match: re.Match[str]) -> str:
        return f"{topic}'s" if match[1].lower() in _POSSESSIVE else topic

    return _PRONOUN.sub(filled, part, count=1)


# -------------------------------------------------------------------------------------- comparisons

_DIFFER = re.compile(
    r"^how\s+(?:do|does|did)\s+(?P<what>.+?)\s+(?:differ|compare|vary)\s+(?:between|among|across|in|for|at)"
    r"\s+(?P<items>.+)$|^(?:what\s+(?:is|are|was|were)\s+)?(?:the\s+)?(?:main\s+|key\s+)?differences?\s+(?:in|of)\s+"
    r"(?P<what2>.+?)\s+between\s+(?P<items2>.+)$|^compare\s+(?P<what3>.+?)\s+(?:of|in|for|between|at)\s+(?P<items3>.+)$",
    re.I,
)
_DIFFERENT_THINGS = re.compile(
    r"^(?:what\s+(?:is|are|was|were)\s+)?(?:the\s+)?(?:main\s+|key\s+)?(?:differences?|similarit(?:y|ies))\s+between"
    r"\s+(?P<items>.+?)(?:\s+(?:in|on|regarding|concerning|in terms of|with regard to|when it comes to)\s+(?P<what>.+))?$"
    r"|^(?:compare|contrast)\s+(?P<items2>.+?\s(?:and|with|to)\s.+?)(?:\s+(?:in|on|regarding|in terms of|by)\s+(?P<what2>.+))?$"
    r"|^how\s+(?:do|does|did|is|are)\s+(?P<items3>.+?\s(?:and|from|compare (?:to|with)|different from|differ from)\s.+?)"
    r"(?:\s+(?:differ|compare))?(?:\s+(?:in|on|regarding|in terms of)\s+(?P<what3>.+))?$",
    re.I,
)
_VERSUS = re.compile(r"^(?P<items>.+?\s(?:vs\.?|versus)\s.+?)(?::\s*(?P<what>.+))?$", re.I)
_WHICH = re.compile(
    r"^(?:which|who|what)\s+(?P<rest>.+?)\s*[,:;]\s*(?P<items>.+?\sor\s.+)$",
    re.I,
)
_BETWEEN = re.compile(
    r"^between\s+(?P<items>.+?\s(?:and|or)\s.+?),?\s+(?:which|who|what)\s+(?P<rest>.+)$", re.I
)
_THAN = re.compile(
    r"^(?:is|are|was|were)\s+(?P<first>.+?)\s+(?P<adjective>[a-z]+er|more\s+[a-z]+|less\s+[a-z]+)\s+than\s+(?P<second>.+)$",
    re.I,
)
_BOTH = re.compile(
    r"^(?P<aux>are|were|do|did|have|can)\s+(?:both\s+)?(?P<items>.+?\s+and\s+.+?)\s+both\s+(?P<rest>.+)$",
    re.I,
)
_COMMON = re.compile(
    r"^(?:what|which)\s+(?P<what>.*?)\s*(?:do|does|did)\s+(?P<items>.+?\s+and\s+.+?)\s+(?:have\s+in\s+common|share)$",
    re.I,
)
_WITH_THOSE = re.compile(
    rf"^how\s+(?:do|does|did)\s+(?:the\s+)?(?P<what>.+?)\s+(?P<link>{_PREPOSITION})\s+(?P<first>.+?)\s+"
    rf"(?:compare\s+(?:with|to)|differ\s+from)\s+(?:those|that|the\s+ones?)\s+(?P<link2>{_PREPOSITION})\s+(?P<second>.+)$",
    re.I,
)
_WHY_COMPARED = "one side of the comparison"


def _comparison(text: str) -> list[tuple[str, str]]:
    text = re.sub(r"^(?:please|can you|could you)\s+", "", text.strip(" ?."), flags=re.I)
    if match := _WITH_THOSE.match(text):
        asked = f"what {_verb(match['what'])} the {match['what']}"
        places = (f"{match['link']} {match['first']}", f"{match['link2']} {match['second']}")
        return [(_asked(f"{asked} {place}"), _WHY_COMPARED) for place in places]
    for pattern in (_DIFFER, _DIFFERENT_THINGS, _COMMON, _VERSUS):
        if match := pattern.match(text):
            groups = match.groupdict()
            what = next((v for k, v in groups.items() if k.startswith("what") and v), "")
            items = next((v for k, v in groups.items() if k.startswith("items") and v), "")
            link = "in" if pattern is _DIFFER else "of"
            sides = _about_each(
                what,
                link,
                _items(items, r",|\band\b|\bor\b|\bwith\b|\bto\b|\bfrom\b|\bvs\.?|\bversus\b"),
            )
            if len(sides) >= 2:
                return sides
    if match := _THAN.match(text):
        asked = _how(match["adjective"])
        return [
            (_asked(f"{asked} is {item}"), _WHY_COMPARED)
            for item in (match["first"], match["second"])
        ]
    if match := _BOTH.match(text):
        auxiliary = _SINGULAR.get(match["aux"].lower(), match["aux"])
        return [
            (_asked(f"{auxiliary} {item} {match['rest']}"), _WHY_COMPARED)
            for item in _items(match["items"], r",|\band\b")
        ]
    if match := _WHICH.match(text) or _BETWEEN.match(text):
        items = _items(match["items"], r",|\bor\b|\band\b")
        chosen = [_chosen(match["rest"], item) for item in items]
        return [(part, _WHY_COMPARED) for part in chosen if part]
    return []


def _items(text: str, separators: str) -> list[str]:
    """The single things of a list; none if one of them is a clause rather than a name."""
    text = _FILLERS.sub("", text)
    found = [
        re.sub(r"^(?:the case of|that of|those of)\s+", "", item.strip(" ,?"))
        for item in re.split(rf"\s*(?:{separators})\s*", text, flags=re.I)
    ]
    found = [
        re.sub(r"\s+(?:compare|differ|different|do|does|is|are)$", "", item)
        for item in found
        if item
    ]
    return found if all(len(item.split()) <= 8 for item in found) else []


def _about_each(what: str, link: str, items: list[str]) -> list[tuple[str, str]]:
    what = re.sub(r"^(?:the|their|its)\s+", "", what.strip(), flags=re.I)
    if len(items) < 2:
        return []
    if not what:
        return [(_asked(f"What is {item}"), _WHY_COMPARED) for item in items]
    return [
        (_asked(f"what {_verb(what)} the {what} {link} {item}"), _WHY_COMPARED) for item in items
    ]


def _verb(noun: str) -> str:
    return "are" if _is_plural(noun) else "is"


def _is_plural(noun: str) -> bool:
    return re.search(r"(?:[^sui]s|ies)$", noun.split()[-1]) is not None


def _how(adjective: str) -> str:
    words = adjective.lower().split()
    return (
        f"how {_BASE_FORMS.get(words[0], words[0].removesuffix('er'))}"
        if len(words) == 1
        else f"how {words[-1]}"
    )


def _chosen(rest: str, item: str) -> str | None:
    """What "which … was founded first, A or B" asks of one of them."""
    event = re.search(
        r"\b(was|were)\s+([a-z]+(?:\s+[a-z]+)??)\s+(?:first|earlier|later|last|more recently|earliest)\b",
        rest,
        re.I,
    )
    if event:
        return _asked(f"when was {item} {event[2]}")
    if event := re.search(r"\b(?:came|opened|started|began|died|aired|appeared)\b", rest, re.I):
        return (
            _asked(f"when was {item}: {event.group()}")
            if "first" in rest or "earlier" in rest
            else None
        )
    if has := re.search(
        r"\b(?:has|have|had|offers?|gives?|pays?)\s+(?:the\s+)?(?:more|most|fewer|less|larger|higher|longer|greater|lower|bigger|better|cheaper)\s+(.+)",
        rest,
        re.I,
    ):
        noun = has[1].strip()
        if _is_plural(noun):
            return _asked(f"how many {noun} does {item} have")
        return _asked(f"what is the {noun} of {item}")
    if compared := re.search(
        r"\b(?:is|are|was|were)\s+(?:the\s+)?([a-z]+er|more\s+[a-z]+|less\s+[a-z]+)$", rest, re.I
    ):
        return _asked(f"{_how(compared[1])} is {item}")
    # "Which facility was founded in Missouri, A or B?" asks the same of each.
    if plain := re.search(r"\b(is|was|has|does|did)\s+(.+)", rest, re.I):
        return _asked(f"{plain[1]} {item} {plain[2]}")
    return None


# ------------------------------------------------------------------------------------- enumerations

_ATTRIBUTES = re.compile(
    r"^(?P<head>(?:what|who|how|which)\s+(?:is|are|was|were)|list|give|name|find|describe|explain|tell me(?: about)?)\s+"
    r"(?:the\s+)?(?P<items>[^?]+?\sand\s+[^?]+?)\s+(?P<link>of|for|in|at|on|to)\s+(?P<rest>[^?]+)$",
    re.I,
)
_SUBJECTS = re.compile(
    rf"^(?P<before>.*?\b(?:of|in|for|at|on|from|to|do|does|did|are|were|is|have|can|between|under|with|by)\s+(?:the\s+)?)"
    rf"(?P<items>(?:{_ITEM},\s*)*{_ITEM},?\s+(?:and|or)\s+{_ITEM})(?P<after>(?:\s+[^,?]*)?)$",
    re.I,
)
_NAME_LIST = re.compile(
    r"(?P<items>(?:(?:[A-Z0-9][\w.'&/-]*(?:\s+(?:of\s+|the\s+)?[A-Z0-9][\w.'&/-]*)*),\s*)*"
    r"(?:[A-Z0-9][\w.'&/-]*(?:\s+(?:of\s+|the\s+)?[A-Z0-9][\w.'&/-]*)*),?\s+(?:and|or)\s+"
    r"(?:the\s+)?(?:[A-Z0-9][\w.'&/-]*(?:\s+(?:of\s+|the\s+)?[A-Z0-9][\w.'&/-]*)*))"
)


def _attributes(text: str) -> list[tuple[str, str]]:
    """ "What are the price, weight and warranty of Orion?" asks three things of one."""
    match = _ATTRIBUTES.match(_FILLERS.sub("", text.strip(" ?.")))
    if match is None:
        return []
    items = [
        re.sub(r"^(?:the|its|their)\s+", "", item, flags=re.I)
        for item in _items(match["items"], r",|\band\b")
    ]
    if len(items) < 2 or any(len(item.split()) > 4 for item in items):
        return []
    head = match["head"].lower()
    asks = head if head.split()[0] in ("who", "how") else "what is"
    return [
        (
            _asked(f"{_singular(asks, item)} the {item} {match['link']} {match['rest']}"),
            f"asks for the {item}",
        )
        for item in items
    ]


def _singular(head: str, item: str) -> str:
    plural = _is_plural(item)
    words = head.split()
    auxiliary = words[-1] if plural else _SINGULAR.get(words[-1], words[-1])
    if plural and auxiliary == "is":
        auxiliary = "are"
    return " ".join([*words[:-1], auxiliary])


def _subjects(text: str) -> list[tuple[str, str]]:
    """The same asked of several things: a list of names, or of nouns between two joints."""
    text = _FILLERS.sub("", text.strip(" ?.")).strip()
    match = None
    for found in _NAME_LIST.finditer(text):
        if found.start() > 0:
            match = found
    if match is not None:
        before, listed, after = text[: match.start()], match["items"], text[match.end() :]
    elif loose := _SUBJECTS.match(text):
        before, listed, after = loose["before"], loose["items"], loose["after"]
    else:
        return []
    items = _items(listed, r",|\band\b|\bor\b")
    if len(items) < 2 or re.search(r"\bbetween\s+$", before, re.I):
        return []
    before = _one_of_them(before)
    return [(_asked(f"{before} {item} {after}"), f"asks about {item}") for item in items]


def _one_of_them(before: str) -> str:
    """The auxiliary right before a list, for one of its members."""
    match = re.search(r"\b(are|were|do|have)\s*$", before, re.I)
    if match is None:
        return before
    return before[: match.start()] + _SINGULAR[match[1].lower()]


def _before_and_after(text: str) -> list[tuple[str, str]]:
    match = re.search(r"\bbefore\s+and\s+after\b", text, re.I)
    if match is None:
        return []
    start, end = match.span()
    return [
        (_asked(f"{text[:start]}{side}{text[end:]}"), f"asks about the time {side}")
        for side in ("before", "after")
    ]


_WAYS = (_before_and_after, _several_questions, _comparison, _attributes, _subjects)
