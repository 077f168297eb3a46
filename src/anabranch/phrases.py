"""Names of several words, and the initials that they could be asked for by; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from anabranch.language import ENGLISH_STOP_WORDS, has_cjk

# Joining words that a phrase may have inside, and that its initials may count: "terms of service".
_JOINTS = frozenset(
    """
    of and for on in to from at by the
    """.split()  # noqa: SIM905
)
ANNOUNCERS = frozenset(
    """
    the a an our your my this that of for in on about with is are
    """.split()  # noqa: SIM905
)
# Words that start or end no name, beside the stop words.
_NOT_IN_NAMES = frozenset(
    """
    may might must shall would could need needs needed use used uses using make makes
    made get gets got give gives given take takes taken go goes went come comes came say
    says said see seen one two three first second last next new old many much several
    every another within without however therefore thus also often always never usually
    since per via upon including include includes based according like well even still
    yet already become became becomes known called following example please contact note
    ask asks
    """.split()  # noqa: SIM905
)
# Words that a title has inside without a capital: "To Kill a Mockingbird".
_INSIDE_TITLES = frozenset("of and for in on to from at by the a an de la".split())  # noqa: SIM905
# Lower-case words that are far likelier meant as words than as initials.
COMMON_WORDS = (
    ENGLISH_STOP_WORDS
    | _NOT_IN_NAMES
    | frozenset(
        """
    us up ok yes day days way ways man men job jobs pay paid fee fees tax law car cat
    dog box bus map age year date time name list type kind form file data work home team
    role rule rules plan cost price rate rent sick code door desk room site main best
    good bad big long high low full free open late early left right near end start stop
    sign send set put let ran run try buy sell sold win won lose lost eat food war king
    city town sea sun sky air oil gas iron gold red blue born die died live lived life
    play film movie song book read write wrote word find found help hour week month both
    each half part side area unit case cases goal test step steps cap max min lead led
    mean means rank size unit wear ago eve far few god hot cold ice key kid kids lab leg
    lot mom dad sum ten top toy van via war wet act add aid aim arm art ask bag bar bed
    bet bit boy cup cut ear egg eye fan fat fit fix fly fun gap gun guy hat hit ill ink
    jam joke land lie lip log mix mud net nor nut odd own pen pet pin pot raw rid row
    sad sit six son tea tie tip tour trip two use wage who why zoo
    else anyone someone everyone anything something nothing everything whether instead
    rather either neither maybe perhaps though although
    """.split()  # noqa: SIM905
    )
)
WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_WORDS = re.compile(f"({WORD.pattern})")
# Splitting a paragraph is faster, and has all its words in memory: 20 times its size.
_LONGEST_SPLIT = 100_000
_BETWEEN_WORDS = " \n*_`\"'“”"
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]")


def blocks(text: str) -> Iterator[tuple[str, int]]:
    """Paragraphs of the text, and its Markdown headings, which weigh twice."""
    for paragraph in re.split(r"\n\s*\n", text):
        running: list[str] = []
        for line in paragraph.split("\n"):
            if _HEADING.match(line):
                yield line, 2
            else:
                running.append(line)
        yield "\n".join(running), 1


def sequences(text: str) -> Iterator[list[str]]:
    """Runs of lower-case Latin words with nothing but white space or a hyphen between them."""
    sequence: list[str] = []
    plain = text.isascii()
    if plain:
        text = text.lower()
    for between, word in _apart(text):
        foreign = not plain and has_cjk(word)
        # One blank is what mostly stands there.
        if sequence and (foreign or (between != " " and between.strip(_BETWEEN_WORDS))):
            yield sequence
            sequence = []
        if foreign:
            continue
        folded = word if plain else word.replace("’", "'").casefold()
        if "-" in folded:
            # A hyphen joins words whose initials count ("back-end" -> b, e).
            sequence.extend(folded.split("-"))
        else:
            sequence.append(folded)
    if sequence:
        yield sequence


def _apart(text: str) -> Iterator[tuple[str, str]]:
    """Each word of the text, with what stands between it and the one before."""
    if len(text) > _LONGEST_SPLIT:
        return _one_by_one(text)
    parts = _WORDS.split(text)
    return zip(parts[::2], parts[1::2], strict=False)  # without what stands after the last


def _one_by_one(text: str) -> Iterator[tuple[str, str]]:
    end = 0
    for match in WORD.finditer(text):
        yield text[end : match.start()], match.group()
        end = match.end()


def names_in(sequence: list[str]) -> list[str]:
    """Phrases of two to four words that begin and end with a word that can be part of a name."""
    if len(sequence) < 2:
        return []
    found: list[str] = []
    fits = [_fits_name(word) for word in sequence]
    for start, first in enumerate(fits):
        if not first:
            continue
        phrase, names = sequence[start], 1
        near = slice(start + 1, start + 6)
        for word, fit in zip(sequence[near], fits[near], strict=True):
            phrase = f"{phrase} {word}"
            if fit:
                names += 1
                found.append(phrase)
                if names == 4:
                    break
            elif word not in _JOINTS:
                break
    return found


@lru_cache(maxsize=32_768)
def _fits_name(word: str) -> bool:
    return (
        len(word) > 1
        and word[0].isalpha()
        and word not in ENGLISH_STOP_WORDS
        and word not in _NOT_IN_NAMES
        and not word.endswith(("ly", "'s", "n't"))
    )


def has_joint(phrase: str) -> bool:
    return not _JOINTS.isdisjoint(phrase.split())


def initials(phrase: str) -> tuple[str, ...]:
    """The initials of a phrase without its joining words, and with them where it has any."""
    parts = phrase.split()
    every = "".join([part[0] for part in parts])
    if _JOINTS.isdisjoint(parts):
        return (every,)
    return "".join([part[0] for part in parts if part not in _JOINTS]), every


def titles(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Runs of three to six capitalised words, folded, with the initials they are known by.

    Names of works, bodies and events: "To Kill a Mockingbird" is asked for as TKAM and TKM. A run
    that begins with an article is also given without it. Lines without lower-case letters, where
    every word is a capital, have none.
    """
    for line in text.split("\n"):
        for run in _capitalised_runs(line):
            if len(run) < 3 or not any(map(str.islower, line)):
                continue
            folded = [word.casefold().replace("’", "'") for word in run]
            for words in (folded, folded[1:] if folded[0] in ("the", "a", "an") else []):
                if 3 <= len(words) <= 6:
                    every = "".join(word[0] for word in words)
                    names = "".join(word[0] for word in words if word not in _INSIDE_TITLES)
                    found = tuple(key for key in dict.fromkeys((every, names)) if len(key) > 2)
                    if found:
                        yield " ".join(words), found


def _capitalised_runs(line: str) -> Iterator[list[str]]:
    run: list[str] = []
    waiting: list[str] = []
    for between, word in _apart(line):
        if run and between != " " and between.strip():
            yield run
            run, waiting = [], []
        if "A" <= word[0] <= "Z" and (len(word) == 1 or not word.isupper()):
            run, waiting = [*run, *waiting, word], []
        elif run and word in _INSIDE_TITLES and not (word == "the" and waiting[-1:] == ["and"]):
            waiting.append(word)
        elif run:
            yield run
            run, waiting = [], []
    if run:
        yield run
