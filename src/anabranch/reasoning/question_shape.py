"""The shape of an English question: its grammar words, with classes in place of the others; pure.

"Which film was directed by the wife of Orson Welles?" has the shape "which KIND was Ved by the ROLE of
W". What a question is built like is read off that, whatever it is about and however it is typed: capitals,
quotation marks and the closing mark leave no trace.
"""

from __future__ import annotations

import re

from anabranch.language import ENGLISH_STOP_WORDS

LOOKED_AT = 600  # Characters: what a longer text asks shows in its beginning, if at all.

# Somebody or something that is what it is to another: reaching it takes that other.
ROLES = frozenset(
    [
        "director", "performer", "singer", "author", "writer", "creator", "founder", "cofounder",
        "co-founder", "composer", "producer", "developer", "publisher", "manufacturer", "owner", "spouse",
        "wife", "husband", "father", "mother", "son", "daughter", "brother", "sister", "sibling", "child",
        "employer", "artist", "actor", "actress", "screenwriter", "designer", "architect", "inventor",
        "discoverer", "distributor", "broadcaster", "operator", "maker", "birthplace", "hometown",
        "headquarters", "successor", "predecessor", "star", "narrator", "editor", "president", "king",
        "queen", "ceo", "mayor", "governor", "leader", "coach", "manager", "chairman", "captain", "head",
        "secretary", "minister", "senator", "novelist", "guitarist", "drummer", "vocalist", "advisor",
        "supervisor", "winner", "recipient", "receiver", "champion", "protagonist", "ruler", "commander",
        "host", "biographer", "pilot",
    ]
)  # fmt: skip
# Kinds of things that questions describe when they do not name them.
KINDS = frozenset(
    [
        "city", "country", "state", "county", "company", "band", "group", "team", "place", "university",
        "school", "college", "continent", "region", "province", "river", "film", "movie", "book", "album",
        "song", "league", "network", "year", "novel", "series", "show", "game", "person", "player", "man",
        "woman", "town", "district", "village", "island", "organization", "organisation", "party", "club",
        "label", "magazine", "newspaper", "award", "war", "battle", "event", "character", "people",
        "nation", "empire", "capital", "stadium", "airport", "church", "museum", "building", "supplier",
        "product", "office", "department",
    ]
)  # fmt: skip
_KEPT = ENGLISH_STOP_WORDS | frozenset(
    [
        "also",
        "whose",
        "whom",
        "which",
        "who",
        "what",
        "when",
        "where",
        "why",
        "how",
        "many",
        "much",
        "long",
        "old",
        "far",
        "often",
        "first",
        "last",
        "second",
        "third",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "only",
        "same",
        "both",
        "each",
        "every",
        "either",
        "neither",
        "would",
        "could",
        "should",
        "might",
        "will",
        "can",
        "may",
        "must",
        "among",
        "along",
        "without",
        "within",
        "other",
        "another",
        "besides",
        "respectively",
        "per",
        "like",
        "near",
        "part",
        "versus",
        "vs",
        "according",
        "since",
        "based",
        "born",
        "located",
        "made",
        "called",
        "named",
        "known",
        "used",
    ]
)
_COMPARATIVES = frozenset(
    [
        "older", "younger", "larger", "bigger", "smaller", "higher", "lower", "longer", "shorter",
        "taller", "faster", "slower", "cheaper", "heavier", "lighter", "deeper", "wider", "safer",
        "stronger", "better", "worse", "closer", "newer", "richer", "earlier", "later", "greater", "fewer",
    ]
)  # fmt: skip
_NO_SUPERLATIVE = frozenset(
    [
        "west",
        "interest",
        "forest",
        "guest",
        "test",
        "rest",
        "contest",
        "request",
        "protest",
        "harvest",
        "budapest",
        "everest",
        "ernest",
        "nest",
        "quest",
        "chest",
        "arrest",
        "invest",
        "suggest",
        "midwest",
        "northwest",
        "southwest",
    ]
)
_WORD = re.compile(r"[^\W_]+(?:[-'.&][^\W_]+)*'?|[,;:]")
_NUMBER = re.compile(r"\d[\d.,]*(?:st|nd|rd|th|s)?'?$")


def plain(question: str) -> str:
    """The question in small letters with single blanks and plain apostrophes."""
    return " ".join(question.split())[:LOOKED_AT].casefold().replace("’", "'")


def shape(question: str) -> str:
    """The classes of the question's words in order: W for a run of words that only name things."""
    found: list[str] = []
    for word in _WORD.findall(plain(question)):
        for name in _classes(word):
            if name != "W" or found[-1:] != ["W"]:
                found.append(name)
    return " ".join(found)


def _classes(word: str) -> tuple[str, ...]:
    if word in ",;:":
        return (",",)
    if _NUMBER.match(word):
        return ("NUM",)
    if word in _KEPT:
        return (word,)
    if word.endswith(("'s", "s'")):
        owner = _classes(word.rstrip("s").rstrip("'"))
        return (*owner, "'s")
    singular = f"{word[:-3]}y" if word.endswith("ies") else word.removesuffix("s")
    for names, token in ((ROLES, "ROLE"), (KINDS, "KIND")):
        if word in names:
            return (token,)
        if singular in names:
            return (f"{token}S",)
    if word in _COMPARATIVES:
        return ("COMP",)
    if word in ("top", "worst") or (
        len(word) > 4 and word.endswith("est") and word not in _NO_SUPERLATIVE
    ):
        return ("SUP",)
    for ending, token in (("ed", "Ved"), ("ing", "Ving"), ("ly", "Wly")):
        if len(word) > len(ending) + 2 and word.endswith(ending):
            return (token,)
    return ("W",)
