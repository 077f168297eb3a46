"""Several English questions in one: in a row, of several things, of several qualities; pure."""

from __future__ import annotations

import re

from anabranch.grammar import ASKING, AUXILIARY, PREPOSITION
from anabranch.reasoning.question_building import SINGULAR_VERB, asked, is_plural, names
from anabranch.reasoning.topics import resolved

Parts = list[tuple[str, str]]

# ------------------------------------------------------------------------- questions in a row

_IN_A_ROW = "one of several questions"
# In a row of questions that ends in "and how …" the earlier commas part questions too. "Who" and
# "which" behind a comma rather begin a relative clause, as "when" and "where" do without a verb.
_COMMA_QUESTION = re.compile(rf",\s+(?=(?:what|how|why)\s|(?:when|where)\s+{AUXILIARY}\b)", re.I)
_NEXT_QUESTION = re.compile(
    rf",?\s*;?\s+(?:and|but|or|while)\s+(?:also\s+|then\s+)?(?=(?:{PREPOSITION}\s+)?(?:what|when|where|why|how)\s+\S+\s+\S)"
    rf"|[,;]\s+(?:and|but|or|while)\s+(?:also\s+|then\s+)?(?=(?:who|which)\s+\S+\s+\S)"
    rf"|\s+and\s+(?=(?:who|which)\s+{AUXILIARY}\s+(?:it|its|they|their|he|his|she|her|the)\b)"
    rf"|\s+and\s+(?=(?:who|which)\s+\S+\s+(?:it|them|him|her|is|are|was|were|did|does|do)\b)"
    r"|\s+and\s+(?=who\s+[a-z]+(?:s|ed|t|d)\s+\S|which\s+[a-z]+\s+[a-z]+(?:s|ed)\s+\S)"
    rf"|,?\s+and\s+(?=(?:is|are|do|does|did|can|will|was|were)\s+(?:it|they|he|she|there)\b)",
    re.I,
)


def questions_in_a_row(text: str) -> Parts:
    """Each question of a row, its pronouns filled in; nothing if one of them cannot stand alone."""
    pieces = [
        piece for piece in re.split(r"\?\s+|(?<=[a-z])\.\s+(?=[A-Z])", text) if piece.strip(" ?")
    ]
    split = [part for piece in pieces for part in _NEXT_QUESTION.split(piece)]
    if len(split) > 1:
        split = [part for piece in split for part in _COMMA_QUESTION.split(piece)]
    split = [
        re.sub(r"^(?:and|also|but|so|then),?\s+", "", part.strip(" ?"), flags=re.I)
        for part in split
    ]
    if len(split) < 2 or not all(_asks(part) for part in split):
        return []
    if re.search(r"\S\s+(?:who|that)\b", split[0]) and re.match("who", split[1], re.I):
        return []  # "The man who won and who died": a second clause about the same one.
    built = [split[0]]
    for part in split[1:]:
        filled = resolved(part, split[0])
        if filled is None:
            return []
        built.append(filled)
    return [(asked(part), _IN_A_ROW) for part in built]


def _asks(part: str) -> bool:
    """Whether the piece is a question with a verb of its own."""
    opening = re.match(
        rf"(?:{PREPOSITION}\s+)?(?:(?:when|where|why)\s+(?={AUXILIARY}\b)|who|which|what|how|{AUXILIARY}\b)",
        part,
        re.I,
    )
    verb = re.search(
        rf"\b{AUXILIARY}\b|^(?:who|(?:which|what)(?:\s+\S+)?)\s+\S+(?:s|ed|t|d)\s|^how (?:many|much)\s+\S+\s+\S",
        part,
        re.I,
    )
    return (
        bool(opening and verb) and len(part.split()) >= 3 and not re.match("whose|whom", part, re.I)
    )


# ------------------------------------------------------------------- qualities and things

_OF_ONE = re.compile(
    r"^(?P<head>(?:what|who|how|which)\s+(?:is|are|was|were)|list|give(?:\s+me)?|name|find|describe|explain|tell me(?: about)?)\s+"
    r"(?:the\s+)?(?P<items>[^?]+?,?\s(?:and|&)\s+[^?]+?)\s+(?P<link>of|for|in|at|on|to)\s+(?P<rest>[^?]+)$",
    re.I,
)


_BESIDE_EACH_OTHER = re.compile(
    r"^(?P<head>(?:what|who|where|when)\s+(?:is|are|was|were))\s+(?P<items>the\s+[^,]+?\s+and\s+the\s+[^,]+)$",
    re.I,
)


def qualities(text: str) -> Parts:
    """ "What are the price, weight and warranty of Orion?" asks three things of one."""
    text = text.strip(" ?.")
    beside = _BESIDE_EACH_OTHER.match(text)
    items = names(beside["items"], r"\band\b") if beside else []
    # "The warranty of the Dipper and the Plover": the second has no quality of its own.
    carried = len(items) == 2 and " of " in items[0] and re.match(r"the [A-Z][\w-]*$", items[1])
    if beside and items and not carried:
        return [
            (asked(f"{_agreeing(beside['head'].lower(), item)} {item}"), f"asks for {item}")
            for item in items
        ]
    match = _OF_ONE.match(text)
    if match is None or re.search(r"\b(?:and|or)\b|,", match["rest"]):
        return []
    if match["link"].lower() not in ("of", "for") and " of " in match["rest"]:
        return []
    items = [
        re.sub(r"^(?:the|its|their)\s+", "", item, flags=re.I)
        for item in names(match["items"], r",|\band\b|&")
    ]
    if not items or any(
        len(item.split()) > 3 or re.search(rf"\b{PREPOSITION}\b|[A-Z]", item) for item in items
    ):
        return []
    head = match["head"].lower()
    opening = head if head.split()[0] in ("who", "how") else "what is"
    return [
        (
            asked(f"{_agreeing(opening, item)} the {item} {match['link']} {match['rest']}"),
            f"asks for the {item}",
        )
        for item in items
    ]


def _agreeing(head: str, item: str) -> str:
    *front, verb = head.split()
    plural = {"is": "are", "was": "were"}
    chosen = plural.get(verb, verb) if is_plural(item) else SINGULAR_VERB.get(verb, verb)
    return " ".join([*front, chosen])


_CAPITALISED = r"(?:[A-Z0-9][\w.'&/-]*(?:\s+(?:of\s+|the\s+|de\s+)?[A-Z0-9][\w.'&/-]*){0,5})"
_NAME_LIST = re.compile(
    rf"(?P<before>^.*?\b(?P<joint>of|in|for|at|on|from|to|do|does|did|are|were|between|have|with|by|among|both)\s+(?:the\s+)?)"
    rf"(?P<items>{_CAPITALISED}(?:,\s*(?:the\s+)?{_CAPITALISED})*,?\s+(?:and|&)\s+(?:the\s+)?{_CAPITALISED})(?P<after>.*)$"
)
_PLAIN_LIST = re.compile(
    rf"^(?P<before>.*\b(?P<joint>{PREPOSITION}|do|does|did|are|were)\s+(?:the\s+)?)"
    r"(?P<items>(?:[^\s,;?]+(?:\s+[^\s,;?]+){0,2},\s*)*[^\s,;?]+(?:\s+[^\s,;?]+){0,2},?\s+and\s+[^\s,;?]+(?:\s+[^\s,;?]+){0,2}?)"
    r"(?P<after>(?:\s+(?:get|have|offer|need|cost|use|pay|work|open|close|require|provide))?)$",
    re.I,
)
_OF_EACH = re.compile(r",?\s*\b(?:respectively|respective|each)\b", re.I)
_SAID_TWICE = re.compile(
    rf"\b({PREPOSITION})\s+((?:the\s+)?[\w'-]+(?:\s[\w'-]+)?)\s+(and)\s+\1\s+(?=\S)", re.I
)
# What two names have between them is not asked of each.
_TOGETHER = re.compile(
    r"\b(?:between|relationship|relation|together|war|treaty|partnership|distance|border|merger|difference|same|married|rivalry|total|"
    r"combined|number of|than)\b",
    re.I,
)


def things(text: str) -> Parts:
    """The same asked of several things: named ones, or plain ones at the end of the question."""
    spread = re.search(r"\b(?:respectively|respective|each|both)\b", text, re.I) is not None
    text = _OF_EACH.sub("", text.strip(" ?.")).strip(" ,")
    text = _SAID_TWICE.sub(r"\1 \2 \3 ", text)  # "of the Plover and of the Dipper"
    match = _NAME_LIST.match(text) or _PLAIN_LIST.match(text)
    if (
        match is None
        or re.match(r"(?:which|who)\s+(?:one\s+)?of\b", text, re.I)
        or (spread and text.count(" and ") > 1)
        or _TOGETHER.search(text)
        or re.search(r"[\"“]", match["items"])
    ):
        return []
    after = match.groupdict().get("after") or ""
    items = names(match["items"], r",|\band\b|&")
    if not items or not _are_apart(match, items, after, spread=spread):
        return []
    before = re.sub(r"\bboth\s+", "", match["before"], flags=re.I)
    if before.lower().endswith(" the "):
        items = [re.sub(r"^the\s+", "", item, flags=re.I) for item in items]
    # "the classes RP, BPP and PP": what the list is of stands once, before the first.
    head = re.match(r"((?:[a-z][\w-]*\s+)+)(?=[A-Z\d])", items[0])
    if head and all(item[:1].isupper() or item[:1].isdigit() for item in items[1:]):
        before, items = before + head[1], [items[0][head.end() :], *items[1:]]
    return [
        (asked(f"{_agreeing_before(before, item)}{item}{after}"), f"asks about {item}")
        for item in items
    ]


def _agreeing_before(before: str, item: str) -> str:
    """The verb right before a list, for one of its members."""
    if is_plural(item) and item[:1].islower():
        return before
    return re.sub(
        r"\b(are|were|do|have)\s+((?:the\s+)?)$",
        lambda verb: f"{SINGULAR_VERB[verb[1].lower()]} {verb[2]}",
        before,
    )


def _are_apart(match: re.Match[str], items: list[str], after: str, *, spread: bool) -> bool:
    """Whether the members of the list are things of their own, not one title with an "and" in it."""
    joint, before = match["joint"].lower(), match["before"]
    first, last = items[0].split(), items[-1].split()
    if any(item.lower().startswith("other ") for item in items) or re.search(
        r"(?:ed|ing)$", last[-1]
    ):
        return False
    if len(items) == 2 and re.search(r"\s(?:who|that|which|whose|than|more)\s", before):
        return False  # The list is inside a description.
    if len(last) > len(first) and is_plural(last[-1]) and not is_plural(first[-1]):
        return False  # "the Bennington and Bridgewater Triangles": half a name.
    if not re.match(
        rf"(?:{PREPOSITION}\s+)?(?:{ASKING}|list|name|give|find|compare)\b", before.strip(), re.I
    ):
        return False  # "Did children read Harry Potter and the …": a claim falls apart when split.
    if re.search(r"[\"“]", after) or re.match(r"\s*'s|\s+and\b|\s*,", after):
        return False
    if joint == "to" and not items[0][:1].isupper():
        return False  # "to amass wealth, power and influence"
    plural_verb = joint in ("do", "are", "were", "have", "both") or len(items) > 2
    place = joint in ("in", "at", "for", "of", "from", "to") and all(
        len(item.split()) <= 3 for item in items
    )
    # A noun right behind the last name belongs to it, or to all: "the Tundra Mine and Negus Mine".
    ends = not after.strip() or re.match(rf"\s+(?:{AUXILIARY}|{PREPOSITION}|get|have|offer|give|pay|cost|employ|work|open|close|produce|"
                                         r"during|after|before|since|between|respectively|when|as)\b", after)  # fmt: skip
    # "a new car and house": without capitals two members have to be of one length.
    alike = (
        any(item[:1].isupper() for item in items) or len({len(item.split()) for item in items}) <= 2
    )
    return bool(ends) and alike and (spread or plural_verb or place)


# ------------------------------------------------------------------ before/after, conditions, reports


def before_and_after(text: str) -> Parts:
    match = re.search(r"\bbefore\s+and\s+after\b", text, re.I)
    if match is None:
        return []
    start, end = match.span()
    return [
        (asked(f"{text[:start]}{side}{text[end:]}"), f"asks about the time {side}")
        for side in ("before", "after")
    ]


_PARTICIPLE = r"(?:[a-z]+ed|born|won|made|known|written|held|built|led|sung|set|found|begun|shot)"
_CONDITIONS = re.compile(
    r"^(?P<opening>(?P<wh>[Ww]hat|[Ww]hich)\s+(?P<noun>(?!year\b|day\b|time\b|is\b|are\b|was\b|were\b|do\b|does\b|did\b|has\b|have\b)(?:[\w'.-]+\s+){1,4}?))"
    rf"(?P<first>(?:is|was|has|had|are|were|have|{_PARTICIPLE}|[a-z]+s)\s[^,;]+?),?\s+and\s+(?:also\s+|then\s+|later\s+)?"
    rf"(?P<second>(?:is|was|has|had|are|were|have|{_PARTICIPLE})\s[^,;]+)$"
)


def conditions(text: str) -> Parts:
    """ "What attraction opened in 1971 and is located in Florida?": two facts of the one that is looked for."""
    text = text.strip(" ?.")
    match = _CONDITIONS.match(text)
    if (
        match is None
        or text.count(" and ") != 1
        or re.search(r"\b(?:both|between|neither)\b", text, re.I)
    ):
        return []
    noun = match["noun"].strip()
    if (
        len(match["first"].split()) < 3
        or len(match["second"].split()) < 3
        or re.search(rf"\b{PREPOSITION}$", noun)
    ):
        return []
    second = match["second"]
    carried = re.match(rf"(is|was|has|are|were|have)\s+(born\b)?{_PARTICIPLE}?\b", match["first"])
    # "was born in Tyler and drafted by …" carries its verb on, "was born in 1984 and played …" does not.
    passive = re.match(rf"{_PARTICIPLE}\s+by\b", second)
    if carried and re.match(rf"{_PARTICIPLE}\b", second) and (passive or not carried[2]):
        second = f"{carried[1]} {second}"  # "was built in 1903 and demolished in 1965"
    why = "one of the conditions"
    return [(asked(f"{match['wh']} {noun} {fact}"), why) for fact in (match["first"], second)]


_SOURCES = re.compile(
    r"^(?P<aux>did|does|do|do)\s+(?P<one>.+?),\s+(?:while|whereas|and|but)\s+(?:did\s+|does\s+)?(?P<other>(?:the\s+|an?\s+|['\"‘“]|[A-Z]).+)$",
    re.I,
)
_SAYING = re.compile(
    r"\b(suggest|indicate|report|claim|state|mention|say|highlight|discus|describe|attribute|portray|imply|emphasize|focu|note|argue|"
    r"cover|feature|identify|associate|allege|announce|warn|confirm|deny|predict|recommend)(?:e?d|e?s|ses|ies)?\b"
)


def reports(text: str) -> Parts:
    """ "Does report A say …, while report B says …?": what each of them says."""
    match = _SOURCES.match(text.strip(" ?."))
    if match is None:
        return []
    one, other = (
        match["one"].strip(" ,"),
        re.sub(r",\s*(?:respectively|without\b.*|contrasting\b.*)$", "", match["other"]),
    )
    said, says = _SAYING.search(one), _SAYING.search(other)
    if said is None or says is None or re.search(r",\s+(?:while|whereas)\b", other):
        return []
    base = {"discus": "discuss", "focu": "focus", "identif": "identify"}.get(says[1], says[1])
    other = f"{other[: says.start()]}{base}{other[says.end() :]}"
    auxiliary = match["aux"].lower()
    return [(asked(f"{auxiliary} {side}"), "what one source says") for side in (one, other)]


_ACCORDING = re.compile(
    rf"^(?:according to|based on)\s+(?P<one>[^,]+?),?\s+(?P<first>(?:{ASKING}|{AUXILIARY})\b[^,]+),?\s+(?:and|but|while|whereas)\s+"
    rf"(?:according to|based on)\s+(?P<other>[^,]+?),?\s+(?P<second>(?:{ASKING}|{AUXILIARY})\b.+)$",
    re.I,
)


def according_to(text: str) -> Parts:
    """ "According to A what …, while according to B what …?"."""
    match = _ACCORDING.match(text.strip(" ?."))
    if match is None:
        return []
    second = resolved(match["second"], match["first"])
    if second is None:
        return []
    sides = ((match["one"], match["first"]), (match["other"], second))
    return [
        (asked(f"{question} according to {source}"), "what one source says")
        for source, question in sides
    ]
