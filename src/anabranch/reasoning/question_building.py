"""Pieces of English grammar for questions that are built from another question; pure."""

from __future__ import annotations

import re

from anabranch.grammar import ASKING, AUXILIARY, PREPOSITION

# What the plural asks of two things, the singular asks of one.
SINGULAR_VERB = {"are": "is", "were": "was", "do": "does", "have": "has"}
# Comparatives whose question about one thing has a word of its own.
_BASE_FORMS = {
    "older": "old", "younger": "old", "larger": "large", "bigger": "big", "smaller": "large",
    "higher": "high", "lower": "high", "longer": "long", "shorter": "long", "taller": "tall",
    "faster": "fast", "slower": "fast", "cheaper": "expensive", "heavier": "heavy",
    "lighter": "heavy", "deeper": "deep", "wider": "wide", "safer": "safe", "stronger": "strong",
    "better": "good", "worse": "good", "closer": "close", "newer": "new", "richer": "rich",
    "oldest": "old", "largest": "large", "tallest": "tall", "longest": "long", "highest": "high",
}  # fmt: skip
# A verb as "did" takes it, for the events that are put in order.
BASE_VERBS = {
    "came": "come", "opened": "open", "started": "start", "began": "begin", "died": "die", "aired": "air",
    "appeared": "appear", "happened": "happen", "ended": "end", "closed": "close", "formed": "form",
    "debuted": "debut", "premiered": "premiere", "occurred": "occur", "retired": "retire", "won": "win",
    "joined": "join", "moved": "move", "left": "leave", "launched": "launch",
}  # fmt: skip
# How far a verb reaches, as it is compared and as it is asked of one thing.
REACHES = {
    "more": "much", "less": "much", "most": "much", "least": "much", "longer": "long", "longest": "long",
    "shorter": "long", "faster": "fast", "slower": "fast", "quicker": "fast", "further": "far", "farther": "far",
    "higher": "high", "deeper": "deep", "earlier": "early", "later": "late", "more often": "often",
    "less often": "often",
}  # fmt: skip
REACHING = "|".join(sorted(REACHES, key=len, reverse=True))
_UNFINISHED = re.compile(
    rf"\b(?:{PREPOSITION}|the|an?|and|or|than|between)\s+(?:is|are|was|were|has|have|had|did|does|do|and|or|{ASKING})\b(?!\s+\w+\s+of\b)"
    r"|\b(?:is|are|was|were|has|have|had)\s+(?:is|are|was|were|has|did|does)\b|\b(\w+)\s+\1\b|\bthe\s+an?\b|\ban?\s+the\b"
    rf"|\s,|,\s*\?|\b(?:the|an?|and|or|{PREPOSITION}|than)\?$(?<!\bto\?)(?<!\bfrom\?)(?<!\bfor\?)(?<!\bin\?)(?<!\bof\?)"
    r"(?<!\bwith\?)(?<!\bon\?)(?<!\bat\?)(?<!\bby\?)(?<!\bunder\?)"
    r"|\bthe\s+\w+\s+of\?|\b(?:respectively|each other|one another)\b",
    re.I,
)
_LEFT_OPEN = re.compile(
    r"\b(?:it|its|they|them|their|he|him|his|she|her|hers|these|those|this|the other|each(?! of)|former|latter|both|respectively|same)\b",
    re.I,
)


def asked(text: str) -> str:
    """``text`` as a question: trimmed, with a capital and a question mark."""
    text = re.sub(r"\s+", " ", text).strip(" ,;:.?")
    return f"{text[:1].upper()}{text[1:]}?" if text else ""


def is_whole(question: str) -> bool:
    """Whether a built question reads as one: it asks, nothing is cut off, nothing refers elsewhere."""
    opens = re.match(
        rf"(?:(?:{PREPOSITION}|during)\s+)?(?:{ASKING}|{AUXILIARY}|list|name)\b", question, re.I
    )
    balanced = question.count('"') % 2 == 0 and question.count("(") == question.count(")")
    return (
        bool(opens)
        and balanced
        and not _UNFINISHED.search(question)
        and not _LEFT_OPEN.search(question)
    )


def is_plural(noun: str) -> bool:
    return re.search(r"(?:[^sui]s|ies|people|children|men|women)$", noun.split()[-1]) is not None


def be(noun: str) -> str:
    return "are" if is_plural(noun) else "is"


def be_of(noun: str, *, past: bool) -> str:
    """The form of "to be" that goes with a noun phrase; a name is one thing, whatever it ends in."""
    plural = is_plural(noun) and not noun[:1].isupper()
    return ("were" if plural else "was") if past else ("are" if plural else "is")


def how(comparative: str) -> str:
    """ "heavier" and "more expensive" as "how heavy" and "how expensive"."""
    words = comparative.lower().split()
    if len(words) > 1:
        return f"how {words[-1]}"
    return f"how {_BASE_FORMS.get(words[0], re.sub('(?:er|est)$', '', words[0]))}"


# What is compared by these has a noun that data sheets and price lists use.
NOUN_OF = {"heavy": "weight", "weigh": "weight", "expensive": "price", "cost": "price"}


def asking_how(comparative: str, verb: str, thing: str) -> str:
    """ "heavier" of a thing as a question about it alone: what its weight is, how old it is."""
    degree = how(comparative).removeprefix("how ")
    noun = NOUN_OF.get(degree)
    if noun is None:
        return f"how {degree} {verb} {thing}"
    return f"what {'was' if verb in ('was', 'were') else 'is'} the {noun} of {thing}"


def reaching(reach: str) -> str:
    """ "longer" and "earlier" behind a verb as they are asked of one thing: "how long", "when"."""
    degree = REACHES[reach.lower()]
    return "when" if degree in ("early", "late") else f"how {degree}"


def singular_noun(noun: str) -> str:
    """A plural noun phrase as one of them, with its article."""
    one = re.sub(r"(?<=[^aeiou])ies$", "y", noun)
    if one == noun:
        one = re.sub(r"(?<=ch|sh|ss)es$|(?<=x)es$|(?<=[^su])s$", "", noun)
    return f"{'an' if one[:1].lower() in 'aeiou' else 'a'} {one}"


def names(text: str, separators: str = r",|\band\b|\bor\b") -> list[str]:
    """The members of a list of two to six things; none unless each of them is a name or a plain noun phrase.

    What stands in quotation marks is not looked into. A member is no name if it begins with a verb or a
    question word, or holds a clause.
    """
    quoted: list[str] = []

    def put_aside(match: re.Match[str]) -> str:
        quoted.append(match[0])
        return f"\x00{len(quoted) - 1}\x00"

    held = re.sub(r"\"[^\"]*\"|“[^”]*”", put_aside, text)
    held = re.sub(r"^(?:both|either|the case of)\s+", "", held, flags=re.I)
    found = [item.strip(" ,?") for item in re.split(rf"\s*(?:{separators})\s*", held, flags=re.I)]
    items = [re.sub("\x00(\\d+)\x00", lambda m: quoted[int(m[1])], item) for item in found if item]
    return items if 2 <= len(items) <= 6 and all(_is_name(item) for item in items) else []


_NO_NAME = re.compile(
    rf"^(?:{AUXILIARY}|{ASKING}|not|also|then|that|which|it|its|he|she|they|their|his|her|him|them|how|more|most|"
    r"(?:[a-z]+(?:ed|ing))|won|made|wrote|played|born|known|used)\b|\b(?:who|which|that|whose|where|is|are|was|were|has|had|have|both|either|or)\b",
)
_HALF_A_NAME = frozenset(
    ["central", "eastern", "western", "northern", "southern", "north", "south", "east", "west", "upper",
     "lower", "early", "late", "black", "white", "first", "second", "new", "old"]
)  # fmt: skip


def _is_name(item: str) -> bool:
    return len(item.split()) <= 7 and not _NO_NAME.search(item) and item.lower() not in _HALF_A_NAME


def with_head(sides: list[str]) -> list[str]:
    """ "the basic and the premium plan": what both are stands only behind the last.

    So it does in "the Berlin and Boston offices": of one thing there would be no plural.
    """
    if not sides:
        return []
    kinds = re.match(r"(?:the\s+)?[A-Z][\w-]*\s+([a-z]+)$", sides[-1])
    if kinds and is_plural(kinds[1]):
        bare = re.compile(r"(?:the\s+)?[A-Z][\w-]*$")
        if all(bare.match(side) for side in sides[:-1]):
            article = "the " if sides[0].startswith("the ") else ""
            named = [re.sub(r"^the\s+", "", side) for side in sides]
            return [
                f"{article}{name}" if number == len(sides) - 1 else f"{article}{name} {kinds[1]}"
                for number, name in enumerate(named)
            ]
    # "The Berlin or the Boston office": an article before each, and the noun once.
    kind = re.match(r"the\s+[A-Z][\w-]*\s+([a-z]+)$", sides[-1])
    if kind and all(re.match(r"the\s+[A-Z][\w-]*$", side) for side in sides[:-1]):
        return [*(f"{side} {kind[1]}" for side in sides[:-1]), sides[-1]]
    head = re.match(r"(?:the\s+)?[a-z]+\s+([a-z]+)$", sides[-1])
    if head is None:
        return sides
    return [f"{side} {head[1]}" if re.match(r"(?:the\s+)[a-z]+$", side) else side for side in sides]
