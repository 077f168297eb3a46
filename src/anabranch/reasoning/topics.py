"""What an English question is about, for the pronouns of the next one; pure."""

from __future__ import annotations

import re

from anabranch.grammar import ASKING, AUXILIARY, PREPOSITION
from anabranch.language import question_terms
from anabranch.reasoning.question_building import is_plural
from anabranch.reasoning.question_shape import KINDS, ROLES

_PRONOUN = re.compile(
    r"\b((?:each|all|both) of them|each one|it|they|them|he|she|him|its|their|his|her|there|each(?!\s+[a-z]+\s*$))\b(?!\s+(?:is|are)\s+(?:a|an|the)\b)",
    re.I,
)
_POSSESSIVE = frozenset({"its", "their", "his", "her"})
_OF_PERSONS = frozenset({"he", "she", "him", "his", "her"})
_OF_THINGS = frozenset({"it", "its", "there"})
_NAMES_OF = re.compile(
    r"^(?:the\s+)?(?:names?|birthplaces?|hometowns?|ages?|birthdays?)\s+of\s+", re.I
)
# "The price of the Dipper … how heavy is it": what has the quality is meant, not the quality.
_QUALITY_OF = re.compile(
    r"^(?:the\s+)?(?:price|cost|fee|weight|length|height|width|depth|size|age|colour|color|name|"
    r"address|duration|warranty|date|number|salary|capital|population|director|founder|author)\s+of\s+",
    re.I,
)
# Verbs that end a clause with "did", "does", "do"; where none of them is met, the last word is the verb.
_VERBS = re.compile(
    r"\s+(?:work|happen|mean|fail|cost|start|begin|end|take|open|close|live|die|say|require|use|need|play|win|write|make|"
    r"get|have|come|go|run|grow|fall|leave|join|move|become|change|occur|weigh|last|stop|refuse|offer|provide|allow|"
    r"pay|sell|buy|store|contain|include|apply|cover|pass|arrive|depart|meet|serve|host|release|publish|produce|found|build|"
    r"study|marry|retire|resign|attend|graduate|originate|differ|affect|influence|lead|report|recommend|increase|decrease)\b.*$",
    re.I,
)
_PARTICIPLES = re.compile(
    r"\s+(?:founded|born|built|made|located|created|released|scheduled|maintained|used|called|named|known|based|held|hosted|"
    r"sold|bought|repaired|written|published|directed|discovered|invented|introduced|chosen|elected|stored|signed|killed|"
    r"defeated|played|filmed|set|due|discussed|approved|paid|closed|open|opened|headquartered|situated)\b.*$",
    re.I,
)


def resolved(part: str, first: str) -> str | None:
    """``part`` with its pronouns filled in from the first question; None if it cannot stand alone."""
    about = re.search(r"\b(?:about|on|regarding|concerning)\s+(.+)$", first)
    if about and re.search(r"\s+instead$", part):
        return re.sub(r"\s+instead$", f" about {about[1]}", part)
    later = re.search(r"\s+(?:afterwards|after that|thereafter)$", part)
    if later and (event := _topic(first.strip(" ?"), thing=True)):
        return f"{part[: later.start()]} after {event}"
    pronoun = _PRONOUN.search(part)
    if pronoun is None:
        return part if question_terms(part) and len(part.split()) >= 3 else None
    topic = _topic(first.strip(" ?"), thing=pronoun[1].lower() in _OF_THINGS)
    if topic is None:
        return None
    if pronoun[1].lower() in _OF_PERSONS and _is_thing(topic, first.strip(" ?")):
        return None
    if pronoun[1].lower() == "there":
        # "How many people work there": the place may be left to the other words.
        return f"{part[: pronoun.start()]}{'at ' + topic}{part[pronoun.end() :]}"
    if pronoun[1].lower().startswith("each"):
        topic = f"each of {topic}"
    if pronoun[1].lower() not in _POSSESSIVE:
        return f"{part[: pronoun.start()]}{topic}{part[pronoun.end() :]}"
    if len(topic.split()) <= 3:
        ending = "'" if topic.endswith("s") and is_plural(topic) else "'s"
        return f"{part[: pronoun.start()]}{topic}{ending}{part[pronoun.end() :]}"
    owned = re.match(
        rf"(.*\b{AUXILIARY})\s+(?:its|their|his|her)\s+([\w-]+(?:\s+(?!{AUXILIARY})[\w-]+)?)$",
        part,
        re.I,
    )
    return f"{owned[1]} the {owned[2]} of {topic}" if owned else None


def _topic(question: str, *, thing: bool) -> str | None:
    """The noun phrase that the question is about; ``thing``: not the person, where there are both."""
    question = re.sub(rf"^(?:{PREPOSITION})\s+(?=what|which)", "", question, flags=re.I)
    found = _after_be(question) or _after_do(question) or _object(question) or _described(question)
    if found is None:
        return None
    found = _QUALITY_OF.sub("", found) if thing else _NAMES_OF.sub("", found)
    role_of = re.match(r"(?:the\s+)?(?:[\w-]+\s+){0,2}?([\w-]+)\s+of\s+(.+)$", found)
    if thing and role_of and role_of[1].lower() in ROLES:
        found = role_of[2]
    fits = (
        1 <= len(found.split()) <= 12
        and not _PRONOUN.search(found)
        and not re.search(r"[,;]", found)
    )
    return found if fits else None


_PERSONS = (ROLES - {"headquarters", "birthplace", "hometown"}) | {
    "man", "woman", "person", "player", "character", "boy", "girl", "pope", "prince", "princess",
}  # fmt: skip


def _is_thing(topic: str, question: str) -> bool:
    """Whether "she" cannot stand for ``topic``: a name with an article, a kind of things, what somebody made.

    "Who designed the Kestrel Bridge and where was she born": she is who is asked for.
    """
    if topic == _object(question) and _after_be(question) is None and _after_do(question) is None:
        return True
    described = re.match(
        r"(?:the|an?)\s+(.+?)(?:\s+(?:of|that|who|which|in|at|for|from)\s.*)?$", topic, re.I
    )
    if described is None:
        return False
    *before, noun = described[1].split()
    if noun.lower() in _PERSONS:
        return False
    return noun.lower() in KINDS or (noun[:1].isupper() and (bool(before) or noun.isupper()))


def _after_be(question: str) -> str | None:
    match = re.match(rf"(?:how\s+[\w-]+|{ASKING})\s+(?:is|are|was|were)\s+(.+)$", question, re.I)
    return _PARTICIPLES.sub("", match[1]) if match else None


def _after_do(question: str) -> str | None:
    match = re.match(
        rf"(?:{ASKING})\s+(?:[\w-]+\s+){{0,3}}?(?:do|does|did|can|will|should|has|have)\s+(.+)$",
        question,
        re.I,
    )
    if match is None:
        return None
    if mine := re.match(r"(?:i|we|you|one)\s+[a-z]+\s+(?:for\s+)?(.+)$", match[1], re.I):
        return mine[1]
    rest = _PARTICIPLES.sub("", _VERBS.sub("", match[1]))
    if rest == match[1]:
        words = rest.split()
        rest = " ".join(words[:-1]) if 2 <= len(words) <= 5 else ""
    return rest or None


def _object(question: str) -> str | None:
    """ "Who founded Acme" is about what was founded."""
    match = re.match(
        r"(?:who|what)\s+((?!is|was|are|were|do|does|did|has)[a-z]+(?:ed|de|te|ote|ld|ght|ns|s|t))\s+((?:the\s+|an?\s+)?[^,]+)$",
        question,
        re.I,
    )
    return match[2] if match and match[1].lower() not in ("is", "was", "has") else None


def _described(question: str) -> str | None:
    """ "Which author published X" is about the author who did."""
    match = re.match(
        rf"(?:which|what)\s+((?!{AUXILIARY}\b)[\w' -]+?)\s+((?:is|was|are|were|has|have|[a-z]+ed|won|wrote|made)\s.+)$",
        question,
        re.I,
    )
    if match is None or re.search(rf"\b{AUXILIARY}$", match[1]):
        return None
    return f"the {match[1]} that {match[2]}"
