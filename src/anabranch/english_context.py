"""English follow-ups, completed from what was said before; pure.

Without a parser, shape has to do: fragments ("and in Boston?", "why?"), pronouns, and corrections
("I meant …"). Each rule needs a place in an earlier question that the words fit into.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from anabranch.clauses import asks
from anabranch.english_topics import is_person, names, with_article
from anabranch.exchanges import Exchange, Filled, Topic, told
from anabranch.grammar import ASKING, AUXILIARY
from anabranch.references import Reference, references
from anabranch.replies import meant

_PREPOSITION = r"(?:in|for|at|of|from|on|with|by|to|during|after|before|under|within|about|between)"
_LEAD = re.compile(
    r"^(?:(?:ok(?:ay)?|thanks?(?: you)?|great|well|yes|no|sure|i see|right|actually|anyway|never\s*mind|oh)\b[\s,.!]*)*"
    r"(?:(?:and|but|so|then|also|or)\b[\s,]*)*"
    r"(?:(?P<about>what|how)\s+about|(?:the )?same (?:for|in|with)|what of)?\s*",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"^(?:(?:sorry|no)[\s,.!]*)*i\s+mean(?:t)?(?:\s+to\s+(?:ask|say))?[\s,:]+(?P<rest>.+)$",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"^(?P<asking>why(?: not)?|when|where|who|how(?: (?:much|many|long|often|far|old|come|so|big|high))?"
    r"|since when|until when|by when|by whom|with whom|which(?: ones?)?|(?:in|at|on) (?:what|which) \w+"
    r"|what (?:year|time|day|date|for|kind)|how exactly)"
    r"(?:\s+(?:was|is|are|were|did)\s+(?:that|this|it|so))?\s*[?.!]*$",
    re.IGNORECASE,
)
_STARTS_QUESTION = re.compile(rf"^(?:{ASKING}|{AUXILIARY})\b", re.IGNORECASE)
_ASKS_INSIDE = re.compile(rf"\b{ASKING}\b", re.IGNORECASE)
_HAS_VERB = re.compile(rf"\b{AUXILIARY}\b", re.IGNORECASE)
_LONGEST_FRAGMENT = 6
_LONGEST_REPLY = 8
_LONGEST_NOUN = 3
# Up to here an answer is a name or a phrase rather than a report.
_SHORT_ANSWER = 12
# What a phrase of an earlier question ends at.
_PHRASE_END = rf"(?=\s+(?:{_PREPOSITION}|and|or|{AUXILIARY}|who|which|that|when|where|while|if|as)\b|[?.!,;:]|$)"
_PLACE = re.compile(r"\b(?:in|at)\s+(?:the\s+)?[A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)*")
# What has to be something's, without a word of whose.
_ATTRIBUTE_OF = (
    r"the\s+(?:(?:standard|total|list|current|maximum|minimum)\s+)?(?:warranty|guarantee|price|cost|weight|size"
    r"|dimensions|colou?r|battery(?:\s+life)?|accuracy|capacity|life\s?span|range|housing|display|firmware|calibration|manual"
    r"|delivery\s+time|release\s+date|population|capital|symptoms|side\s+effects|causes?|treatments?|advantages"
    r"|disadvantages|benefits|drawbacks|features|specifications|author|director|founder|plot)"
)
_ATTRIBUTE = re.compile(
    rf"\b(?P<attribute>{_ATTRIBUTE_OF})(?!\s+(?:of|for|in|on|at|to|that|which|when|if)\b|['’-]|\s+[A-Z])\b",
    re.IGNORECASE,
)
_LONGEST_OWNED = 9
# Of these a place can be the owner; of no warranty and no price.
_OF_PLACES = re.compile(r"population|capital|size", re.IGNORECASE)
_PLACE_NOUN = r"(?:office|branch|site|plant|factory|store|shop|warehouse|campus|lab|laborator(?:y|ies)|area|region|airport|station)s?"
_INSIDE = r"(?:in|at|near|around|within|inside|outside|throughout)"
# What is counted, who does something to what, and what something is for: where a plain noun can stand for another.
_NOUNS = r"(?:(?!(?:is|are|was|were|does|did|will)\b)[a-z][a-z-]+\s+){0,2}?[a-z][a-z-]+"
_PLACES_OF_NOUNS = (
    re.compile(rf"\bhow\s+(?:many|much)\s+(?P<noun>{_NOUNS})(?=\s+{AUXILIARY}\b)", re.IGNORECASE),
    re.compile(rf"\b(?:for|about)\s+(?P<noun>{_NOUNS}){_PHRASE_END}"),
    re.compile(rf"\b(?:of|on|with)\s+(?P<noun>(?:the\s+)?{_NOUNS}){_PHRASE_END}"),
    re.compile(rf"^who\s+[a-z]+(?:s|ed)\s+(?P<noun>(?:the\s+)?{_NOUNS})(?=[?.!]*$)", re.IGNORECASE),
)
_WITH_ARTICLE = re.compile(rf"\ban?\s+(?:{_NOUNS})(?=\s|[?.!]*$)")
# "And the other one?": which, only the user knows.
_OTHER = re.compile(
    r"(?:the |that |those |any |all )?(?:other|others|another|remaining|rest)(?: (?:one|ones|two|thing|things))?",
    re.IGNORECASE,
)
# Who acts: "do interns get", "can managers".
_ACTORS = re.compile(r"\b(?:do|can|must|should|may|will|are|were|did|for)\s+([a-z]{3,}s)(?=\s)")
# "What is inflation and why is it important?" says itself what it means.
_OWN_ANTECEDENT = re.compile(
    r"\b(?:(?:what|who)\s+(?:is|are|was|were)|about|describe|explain)\s+.*[^\W\d_]{4,}.*\band\b",
    re.I,
)


def fill(question: str, said: Sequence[Exchange]) -> Filled | None:
    """``question`` completed from what was said; None where it says all, or nothing fits."""
    text = question.strip()
    if correction := _CORRECTION.match(text):
        rest = correction["rest"]
        if not _STARTS_QUESTION.match(rest):
            return _joined(rest, said[-1])
        text = rest
    lead = _LEAD.match(text)
    rest = text[lead.end() :] if lead else text
    if bare := _BARE.match(rest):
        return _asked_again(bare["asking"], said[-1])
    if _is_reply(text, said[-1]):
        # "Not sure" adds nothing to what was asked.
        return _joined(text if meant(text, ()) else "", said[-1])
    if _OTHER.fullmatch(rest.rstrip(" ?.!")):
        return None
    if _is_fragment(rest, led=bool(lead and lead.group().strip())):
        return _in_its_place(rest.rstrip(" ?.!"), said[-1])
    return _with_referents(text, said) or _with_owner(text, said)


# --------------------------------------------------------------------------------- fragments


def _is_fragment(rest: str, *, led: bool) -> bool:
    """Whether what is left is a phrase: "in Boston", "the Dipper"; a lone one has to ask."""
    count = len(rest.split())
    if not rest or _ASKS_INSIDE.search(rest) or _HAS_VERB.search(rest):
        return False
    if led:
        return count <= _LONGEST_FRAGMENT
    if re.match(rf"{_PREPOSITION}\b", rest, re.IGNORECASE):
        return count <= 4 and rest.endswith("?")
    return count <= 3 and rest.endswith("?")


def _is_reply(text: str, last: Exchange) -> bool:
    """Whether the user answers what was asked back: a phrase behind an answer that asks."""
    return (
        last.answer.rstrip(" \"'”").endswith("?")
        and len(text.split()) <= _LONGEST_REPLY
        and not asks(text)
        and not text.endswith("?")
    )


def _joined(rest: str, last: Exchange) -> Filled:
    shown = last.question.rstrip(" ?.!")
    return Filled(f"{shown} {rest.rstrip(' ?.!')}".rstrip() + "?", (told(rest, shown, last.turn),))


def _in_its_place(rest: str, last: Exchange) -> Filled | None:
    """The last question with ``rest`` in the place of what is of its kind, or at its end."""
    place = re.match(rf"(?P<preposition>{_PREPOSITION})\s+(?P<thing>.+)$", rest, re.IGNORECASE)
    thing = place["thing"] if place else rest
    named = names(last.question)
    old = _phrase_behind(place["preposition"], last.question) if place else None
    if old is None and _is_name(thing) and len(named) == 1:
        old = with_article(named[0], last.question, thing)
    if old is None and place is None and (actors := _ACTORS.findall(last.question)):
        # "What about managers?" after "How much leave do interns get?"
        old = actors[0] if len(actors) == 1 and _ACTORS.match(f"do {thing} ") else None
    if old is not None:
        text = last.question.replace(old, thing, 1)
        return Filled(text, (f"the question, {thing!r} for {old!r} (turn {last.turn})",))
    if place is None and not _is_name(thing) and (plain := _plain(thing, last.question)):
        text = last.question.replace(plain, thing, 1)
        return Filled(text, (f"the question, {thing!r} for {plain!r} (turn {last.turn})",))
    if place is None and not _is_name(thing) and len(named) == 1:
        subject = with_article(named[0], last.question, "the")
        site = re.search(rf"\b{re.escape(named[0])}\s+{_PLACE_NOUN}\b", last.question)
        subject = f"the {site.group()}" if site else subject
        behind = re.search(rf"\b{_INSIDE}\s+{re.escape(named[0])}\b", last.question)
        whole = f"{thing} {behind.group()}" if behind else f"{thing} of {subject}"
        return Filled(f"What about {whole}?", (told(thing, whole, last.turn),))
    return _joined(rest, last)


def _plain(thing: str, question: str) -> str | None:
    """The plain noun of ``question`` that another one can stand for: what is counted, what something is for.

    An attribute ("the warranty") stands for an attribute, and one of several ("a meal") for one of several.
    """
    if len(thing.split()) > _LONGEST_NOUN:
        return None
    if _ATTRIBUTE.fullmatch(thing):
        found = re.findall(rf"\b({_ATTRIBUTE_OF})\s+(?:of|for)\b", question, re.IGNORECASE)
        return str(found[0]) if len(found) == 1 else None
    if re.match(r"an?\s", thing):
        found = _WITH_ARTICLE.findall(question)
        return str(found[0]) if len(found) == 1 else None
    for pattern in _PLACES_OF_NOUNS:
        found = [match["noun"] for match in pattern.finditer(question)]
        if len(found) == 1 and question.count(found[0]) == 1:
            return str(found[0])
    return None


def _phrase_behind(preposition: str, question: str) -> str | None:
    """What stands behind the same preposition in ``question``, if it does so once."""
    names = re.findall(
        rf"\b{preposition}\s+((?:the\s+)?[A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)*)", question
    )
    found = names or re.findall(
        rf"\b{preposition}\s+((?:[\w'’&-]+\s+){{0,3}}?[\w'’&-]+){_PHRASE_END}", question, re.I
    )
    return found[0] if len(found) == 1 else None


def _is_name(phrase: str) -> bool:
    bare = re.sub(r"^(?:the|a|an|our|my|your)\s+", "", phrase, flags=re.IGNORECASE)
    return bare[:1].isupper()


def _asked_again(asking: str, last: Exchange) -> Filled | None:
    """ "When?" after "Did the Plover ship?": when did it."""
    question = last.question.rstrip(" ?.!")
    start = _STARTS_QUESTION.match(question)
    if start is None:
        return None
    verb = re.search(rf"\b{AUXILIARY}\b", question, re.IGNORECASE)
    tail = question[verb.start() :] if verb else question.split(" ", 1)[-1]
    tail = tail[:1].lower() + tail[1:]
    shown = asking[:1].upper() + asking[1:]
    return Filled(f"{shown} {tail}?", (told(asking, tail, last.turn),))


# ---------------------------------------------------------------------------------- pronouns


def _with_referents(question: str, said: Sequence[Exchange]) -> Filled | None:
    """The question with a name for the first word of each kind that points at one."""
    written: list[str] = []
    supplied: list[str] = []
    meant: dict[str, Topic] = {}
    end = 0
    named = names(question)
    for reference in references(question):
        before = question[: reference.start]
        role = "person" if reference.kind == "person" else "thing"
        # A name before it in the same question is what it stands for; so is the first of its kind.
        if role in meant or any(name in before for name in named) or '"' in before:
            continue
        found = _referent(reference, said)
        if found is None or found.name in question or _OWN_ANTECEDENT.search(before):
            continue
        meant[role] = found
        supplied.append(told(reference.word, found.name, found.turn))
        written += [question[end : reference.start], _as_written(reference, found.name)]
        end = reference.end
    if not supplied:
        return None
    text = "".join((*written, question[end:]))
    return Filled(text, tuple(supplied), meant.get("person"), meant.get("thing"))


def _with_owner(question: str, said: Sequence[Exchange]) -> Filled | None:
    """ "How long is the warranty?" after a question about the Plover: of the Plover.

    Only what has to be something's is completed so: "the office" may be a new topic. Where
    something happened ("leave in Boston") owns nothing but what places have.
    """
    attribute, last = _ATTRIBUTE.search(question), said[-1]
    if attribute is None or last.thing is None or not _is_name(last.thing.name):
        return None
    if names(question) or len(question.split()) > _LONGEST_OWNED:
        return None
    if _is_place(last.thing, said) and not _OF_PLACES.search(attribute["attribute"]):
        return None
    owned = f"{attribute['attribute']} of {last.thing.name}"
    text = f"{question[: attribute.start()]}{owned}{question[attribute.end() :]}"
    return Filled(text, (told(attribute["attribute"], owned, last.thing.turn),), thing=last.thing)


def _is_place(thing: Topic, said: Sequence[Exchange]) -> bool:
    """Whether the question that brought ``thing`` up has it as a place: in Boston, Boston office."""
    asked = next((one.question for one in said if one.turn == thing.turn), "")
    name = re.escape(re.sub(r"^(?:the|our|my|your)\s+", "", thing.name, flags=re.IGNORECASE))
    place = rf"\b{_INSIDE}\s+{name}\b|\b{name}(?:['’]s)?\s+{_PLACE_NOUN}\b"
    return re.search(place, asked, re.IGNORECASE) is not None


def _as_written(reference: Reference, meant: str) -> str:
    if reference.kind == "place":
        return meant if re.match(rf"{_PREPOSITION}\b", meant) else f"in {meant}"
    if reference.possessive:
        return f"{meant}'" if meant.endswith("s") else f"{meant}'s"
    return meant


def _referent(reference: Reference, said: Sequence[Exchange]) -> Topic | None:
    """What a pointing word stands for after the last exchange."""
    last = said[-1]
    if reference.kind == "person":
        return _answered_person(last) or last.person or _most_named_person(said)
    if reference.kind == "place":
        place = _PLACE.search(last.question)
        return Topic(place.group(), last.turn) if place else last.thing
    topic = _answered_thing(last) or last.thing
    return topic or (last.person if reference.kind == "several" else None)


def _answered_person(last: Exchange) -> Topic | None:
    """Whom a question with "who" was answered with, if that is one person."""
    if not re.match(r"\W*(?:and\s+)?who(?:m|se)?\b", last.question, re.IGNORECASE):
        return None
    found = [name for name in names(_short(last.answer)) if is_person(name)]
    return Topic(found[0], last.turn) if len(found) == 1 else None


def _answered_thing(last: Exchange) -> Topic | None:
    """What a question with "what" or "which" that names nothing itself was answered with."""
    if not re.match(
        r"\W*(?:and\s+)?(?:what|which)\s+(?!is|was|are|were|did|do|does)", last.question, re.I
    ):
        return None
    found = names(_short(last.answer))
    return Topic(found[0], last.turn) if len(found) == 1 and not names(last.question) else None


def _short(answer: str) -> str:
    """The answer if it is a name or a phrase rather than a report."""
    return answer if len(answer.split()) <= _SHORT_ANSWER else ""


def _most_named_person(said: Sequence[Exchange]) -> Topic | None:
    """The person named in more exchanges than any other; None if two are named equally often."""
    count: dict[str, int] = {}
    latest: dict[str, Topic] = {}
    for exchange in said:
        for name in dict.fromkeys(names(f"{exchange.question} {exchange.answer}")):
            if is_person(name):
                key = name.split()[-1]
                count[key] = count.get(key, 0) + 1
                if key not in latest or len(name) >= len(latest[key].name):
                    latest[key] = Topic(name, exchange.turn)
    ranked = sorted(count, key=lambda key: -count[key])
    if not ranked or (len(ranked) > 1 and count[ranked[0]] == count[ranked[1]]):
        return None
    return latest[ranked[0]]
