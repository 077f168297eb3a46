"""What English questions are about, as "it" and "she" would be read after them; pure.

What is spoken of stays so until a question names or defines something else; a part ("the symptoms")
does not displace what it is a part of.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from anabranch.exchanges import Exchange, Filled, Topic
from anabranch.grammar import AUXILIARY
from anabranch.language import ENGLISH_STOP_WORDS, words
from anabranch.names import names_in_sentence
from anabranch.references import references

_DEFINITION = re.compile(
    r"^(?:(?:what|who)(?:['’]s|\s+(?:exactly\s+)?(?:is|are|was|were))"
    r"|(?:please\s+)?(?:tell me(?: more)? about|describe|explain|define|i (?:want|would like) to know about)"
    r"|(?:can|could) you (?:please )?(?:tell me(?: more)? about|explain|describe|clarify))\s+(?P<subject>.+?)\s*[?.!]*$",
    re.IGNORECASE,
)
_ACTING = re.compile(
    rf"\b{AUXILIARY}\s+(?P<subject>(?:the|a|an|my|our|your|this|these)\s+[\w'’-]+(?:\s+[\w'’-]+){{0,2}}?)\s+"
    r"(?=[a-z]+\b(?:\s|\?|$))",
    re.IGNORECASE,
)
_PERSONAL = frozenset("i you we me us my your our it he she they".split())  # noqa: SIM905
_NOT_PERSONS = re.compile(
    r"\b(?:band|company|university|records?|club|team|court|war|awards?|office|school|college|league|cup|"
    r"festival|album|series|party|church|museum|group|orchestra|institute|union|world|north|south|east|"
    r"west|new|city|river|lake|street|january|february|march|april|may|june|july|august|september|"
    r"october|november|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday|of|the|for|and|in|on)\b",
    re.IGNORECASE,
)


_RELATIVE_PHRASE = re.compile(
    r"(?:the|some|any|other|another|that|this|these|those|my|your|our|in|on|at|for|about|common|typical|popular|good|best|main"
    r"|different|unique|important|famous|\w+['’]s?|\w+ (?:ones?|others?)$)\b",
    re.I,
)
# "The types of networks", "some facts about bees": what is spoken of stands behind.
_PART_OF = re.compile(
    r"(?:the|some|any|all)\s+(?:[\w-]+\s+){1,3}?(?:of|about)\s+(?P<whole>.+)$", re.I
)
_NO_NAMES = frozenset("i i'm i'll i've i'd ok".split())  # noqa: SIM905
_LONGEST_PHRASE, _LONGEST_PERSON = 9, 3


def exchange(turn: int, filled: Filled, said: Sequence[Exchange]) -> Exchange:
    """The exchange that begins with a completed question, and what "it" and "she" mean after it."""
    question = filled.text
    before = said[-1] if said else Exchange(0, "")
    person, thing = filled.person, filled.thing
    named = [name for name in names(question) if name not in _meant(filled)]
    # "When did he join Dundee United?" names what he is not.
    if named and not filled.person and not any(r.kind == "person" for r in references(question)):
        person = next(
            (Topic(n, turn) for n in named if is_person(n) and not has_article(n, question)), None
        )
    if not filled.thing:
        thing = _own_thing(question, turn, named, before.thing)
    return Exchange(turn, question, "", person or before.person, thing or before.thing)


def _meant(filled: Filled) -> list[str]:
    return [topic.name for topic in (filled.person, filled.thing) if topic]


def _own_thing(
    question: str, turn: int, named: Sequence[str], before: Topic | None
) -> Topic | None:
    """What a question itself brings up: what it defines, names or has do something."""
    definition = _DEFINITION.match(question)
    subject = definition["subject"] if definition else None
    if subject and not _is_phrase(subject):
        subject = None
    things = [name for name in named if not (before and " " in name and is_person(name))] or named
    if things and not (subject and any(name in subject for name in things)):
        return Topic(with_article(things[0], question, "the"), turn)
    if subject is None and not named:
        acting = _ACTING.search(question)
        subject = acting["subject"] if acting and _is_phrase(acting["subject"]) else None
    if subject is None:
        return None
    # "The side effects", "some others": of what was spoken of before.
    if _RELATIVE_PHRASE.match(subject) and not named and before:
        return None
    whole = _PART_OF.match(subject)
    return Topic(whole["whole"] if whole else subject, turn)


def has_article(name: str, text: str) -> bool:
    return re.search(rf"\b(?:the|a|an)\s+{re.escape(name)}", text, re.IGNORECASE) is not None


def is_person(name: str) -> bool:
    if len(name.split()) > _LONGEST_PERSON:
        return False
    return not _NOT_PERSONS.search(name) and not any(map(str.isdigit, name)) and not name.isupper()


def names(text: str) -> list[str]:
    found = (re.sub(r"^(?:the|a)\s+", "", name, flags=re.I) for name in names_in_sentence(text))
    return [name for name in found if name.lower().replace("’", "'") not in _NO_NAMES]


def _is_phrase(phrase: str) -> bool:
    found = words(phrase)
    telling = [word for word in found if word not in ENGLISH_STOP_WORDS]
    return bool(telling) and len(found) <= _LONGEST_PHRASE and found[0] not in _PERSONAL


def with_article(name: str, question: str, model: str) -> str:
    """The name as ``question`` has it, with its article if ``model`` has one too."""
    has_article = re.match(r"(?:the|our|my|your)\b", model, re.IGNORECASE)
    found = re.search(rf"\b(?:the|our|my|your)\s+{re.escape(name)}", question, re.IGNORECASE)
    return found.group() if found and has_article else name
