"""Alternatives that an English question chooses from, each asked about alone; pure."""

from __future__ import annotations

import re

from anabranch.reasoning.question_building import (
    BASE_VERBS,
    NOUN_OF,
    REACHING,
    asking_how,
    be_of,
    is_plural,
    names,
    reaching,
    with_head,
)

_DOES_MORE = re.compile(
    rf"^(?P<noun>(?:one|[a-z]+(?:\s[a-z]+)?)\s+)??(?P<verb>[a-z]{{3,}}s)\s+(?:the\s+)?(?P<reach>{REACHING})$",
    re.I,
)
_CHOICES = (
    re.compile(
        r"^(?:which|who|what)\b\s*(?P<rest>.+?)\s*[,:;]\s*(?P<items>[^,:;]+(?:,[^,:;]+)*?,?\sor\s[^,:;]+)$",
        re.I,
    ),
    re.compile(
        r"^(?:which|who|what)\b\s*(?P<rest>.+?\b(?:first|earlier|later|last))\s+(?P<items>[A-Z\"“].+?\sor\s.+)$"
    ),
    re.compile(
        r"^(?:which|who)\s+(?:one\s+)?of\s+(?P<items>.+?\s(?:and|or)\s.+?)\s+(?P<rest>(?:is|was|has|had|are|were|have|costs?|weighs?|lasts?|"
        r"opens?|gives?|pays?|offers?)\b.+)$",
        re.I,
    ),
    re.compile(
        r"^(?:between|of|out of)\s+(?P<items>.+?\s(?:and|or)\s.+?),?\s+(?:which|who|what)\b\s*(?P<rest>.+)$",
        re.I,
    ),
    re.compile(
        r"^(?:which|who|what)\b\s*(?P<rest>.+?)\s+(?:between|out of)\s+(?P<items>.+?\s(?:and|or)\s.+)$",
        re.I,
    ),
)
# "Is A or B heavier?", "Does the Berlin or the Boston office open earlier?"
_COMPARATIVE = r"(?:(?:more|less)\s+[a-z]+|(?!other|rather|later|earlier|never|over|under)[a-z]+er)"
_IS_EITHER = re.compile(
    rf"^(?P<be>is|are|was|were)\s+(?P<items>\S.*?\s+or\s+.+?)\s+(?:the\s+)?(?P<more>{_COMPARATIVE})$",
    re.I,
)
_DOES_EITHER = re.compile(
    rf"^(?P<aux>do|does|did)\s+(?P<items>\S.*?\s+or\s+.+?)\s+(?P<verb>[a-z]+)\s+(?P<reach>{REACHING})$",
    re.I,
)


def choice(text: str) -> list[str]:
    """What is asked of each alternative; nothing if one of them cannot be told."""
    if found := _either(text):
        return found
    for pattern in _CHOICES:
        if match := pattern.match(text):
            listed = re.sub(r"^(?:the\s+)?(?:two|three)\s+[a-z ]+(?=[A-Z])", "", match["items"])
            sides = names(listed, _between(listed))
            rest = match["rest"].strip(" ,")
            found = [part for side in sides if (part := _chosen(rest, side))]
            if found and len(found) == len(sides):
                return found
    return []


def _either(text: str) -> list[str]:
    """What a question that begins with its verb asks of each of two things."""
    if match := _IS_EITHER.match(text):
        past = match["be"].lower() in ("was", "were")
        return [
            asking_how(match["more"], be_of(side, past=past), side)
            for side in with_head(names(match["items"], r"\bor\b"))
        ]
    if match := _DOES_EITHER.match(text):
        asking = reaching(match["reach"])
        return [
            f"{asking} {match['aux'].lower()} {side} {match['verb']}"
            for side in with_head(names(match["items"], r"\bor\b"))
        ]
    return []


def _between(items: str) -> str:
    """What parts the choices: an "and" or a comma may belong to a name where an "or" is there."""
    if not re.search(r"\bor\b", items):
        return r",?\s*\band\b|,"
    serial = re.search(r",\s+or\b", items) and items.count(",") > 1
    return r",?\s*\bor\b|," if serial else r",?\s*\bor\b"


_ORDER = r"(?:first|earlier|later|last|more recently|earliest|latest|before)"


def _chosen(rest: str, item: str) -> str | None:
    """What "which … was founded first, A or B" asks of one of them; None where that cannot be said."""
    if event := re.search(rf"\b(was|were)\s+([a-z]+(?:\s+[a-z]+)??)\s+{_ORDER}$", rest, re.I):
        return f"when {event[1]} {item} {event[2]}"
    if event := re.search(rf"\bdid\s+(.+?)\s+([a-z]+)\s+{_ORDER}$", rest):
        return f"when did {event[1]} {event[2]} {item}"
    if (
        (event := re.search(rf"\b([a-z]+)((?:\s+(?:out|up|on|in|off))?)\s+{_ORDER}$", rest))
        and event[1] in BASE_VERBS
        and not re.search(r"\s[a-z]+(?:ing|ed)\b", item)
    ):
        return f"when did {item} {BASE_VERBS[event[1]]}{event[2]}"
    if compared := re.fullmatch(
        r"(?:\w+ ){0,3}(is|was|are|were)\s+(?:the\s+)?([a-z]+er|[a-z]+est|more\s+[a-z]+|less\s+[a-z]+)",
        rest,
        re.I,
    ):
        if (
            compared[2].lower() in ("older", "younger", "oldest", "youngest")
            and re.match("is|was", rest)
            and not item.startswith("the ")
        ):
            return f"when was {item} born"
        verb = be_of(item, past=compared[1].lower() in ("was", "were"))
        return asking_how(compared[2], verb, item)
    return _reached(rest, item) or _amount(rest, item) or _alike(rest, item)


def _reached(rest: str, item: str) -> str | None:
    """ "… weighs more": how much one of them weighs."""
    match = _DOES_MORE.match(rest)
    if match is None or match["verb"].lower() in ("is", "has", "was", "does"):
        return None
    noun = (match["noun"] or "").strip()
    if re.search(r"['’]s$", item):  # "Which battery lasts longer, the Dipper's or …"
        if not noun or noun == "one":
            return None
        item = f"{item} {noun}"
    verb = re.sub(r"(?<=ch|sh|ss)es$|s$", "", re.sub(r"ies$", "y", match["verb"]))
    plural = is_plural(item) and not item[:1].isupper()
    if verb in NOUN_OF and reaching(match["reach"]) == "how much":
        return f"what is the {NOUN_OF[verb]} of {item}"
    return f"{reaching(match['reach'])} {'do' if plural else 'does'} {item} {verb}"


_MORE = r"(?:more|most|fewer|less|larger|higher|longer|greater|lower|bigger|better|cheaper)"


def _amount(rest: str, item: str) -> str | None:
    """ "… has more employees in Asia": how many employees one of them has in Asia."""
    has = re.search(
        rf"\b(has|have|had|offers?|gives?|pays?|won|scored|sold|received)\s+(?:the\s+)?{_MORE}\s+([a-z]+(?:\s(?!in\b|as\b|on\b|at\b|of\b)[a-z]+)?)"
        r"((?:\s+(?:in|as|on|at|of)\s.+)?)$",
        rest,
        re.I,
    )
    if has is None:
        return None
    noun, where = has[2].strip(), has[3]
    if not is_plural(noun) and " " in noun and re.search(r"\b(?:more|most|fewer|less)\b", has[0]):
        return None
    if not is_plural(noun):
        return f"what is the {noun} of {item}{where}"
    if has[1].lower() in ("won", "scored", "sold", "received"):
        return f"how many {noun} were {has[1].lower()} by {item}{where}"
    return f"how many {noun} {'did' if has[1].lower() == 'had' else 'does'} {item} have{where}"


def _alike(rest: str, item: str) -> str | None:
    """ "Which facility was founded in Missouri, A or B?" asks the same of each."""
    plain = re.fullmatch(
        r"(?:[a-z]+\s+){0,3}?(is|was)\s+((?!the\b|more\b|less\b|[a-z]+er\b|.*\b(?:further|farther)\b)\S+\s.+|[A-Z]\w+)",
        rest,
    )
    return (
        f"{plain[1]} {item} {plain[2]}"
        if plain and not re.search(rf"\b(?:{_MORE}|{_ORDER})\b", plain[2])
        else None
    )
