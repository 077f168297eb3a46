"""Pieces of evidence that give different values for the same fact; pure.

By rule, and meant to be right rather than complete: two clauses count only if one says nothing
that the other does not say but for the value, if neither they nor their documents name different
things, and if both are about the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from anabranch import language
from anabranch.types import Conflict, ConflictValue, Evidence
from anabranch.values import MONTHS, Value, values

# Passages that barely touch the question say nothing about its fact.
_LEAST_RELEVANCE = 0.2
# Share of the question's terms in a clause with what stands around it.
_LEAST_ASKED = 0.4
# Words that two clauses share, and characters where they are Chinese: fewer can be chance.
_LEAST_SHARED, _LEAST_SHARED_CJK = 2, 4
_LONGEST_CLAUSE = 300
_CLAUSE_END = re.compile(r"[,;:](?=\s)|[，；：、]|\s(?:and|but|or|while|whereas)(?=\s)|但是?|而且?")
_NEGATION = re.compile(
    r"\b(?:not|never|no|cannot|without)\b|\b\w+n['’]t\b|不|没有?|无(?=[法需须])|未|禁止|严禁",
    re.IGNORECASE,
)
# Ways to say "may" and "may not", written as one word with or without a negation.
_PERMISSION = (
    (re.compile(r"\b(?:forbidden|prohibited|banned)\b", re.IGNORECASE), "not allowed"),
    (re.compile(r"\b(?:permitted)\b", re.IGNORECASE), "allowed"),
    (re.compile(r"禁止|严禁|不得|不准|不许"), "不可以"),
    (re.compile(r"(?<!可)以?允许|准许|(?<!可)能(?!力|源|够)|能够"), "可以"),
)
_PARTICLES = frozenset("的了是在为每一次将会要应由也都就从与和及或其该本此之个有可以")
_LIGHT = frozenset(("everi", "each", "per", "alway", "now", "current", "exact", "onli", "just"))
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_CALENDAR = frozenset((*MONTHS, *_DAYS))
_NAME = re.compile(r"(?<![\w'’-])(?:[A-Z][\w&-]*|[a-z]+[A-Z]\w*)")
_LATIN = re.compile(r"[A-Za-z][\w&-]*")
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,5}$")
# Folders that hold other copies of the same documents, not documents about something else.
_COPIES = frozenset(("archive", "archived", "old", "new", "draft", "drafts", "copy", "backup"))


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause at ``text[start:end]`` with its one value; ``words`` are those beside the value.

    A clause without figures has its truth as its value: ``unit`` "truth", 1 or 0.
    """

    start: int
    end: int
    value: Value
    words: tuple[str, ...]
    before: frozenset[str]
    names: frozenset[str]

    @property
    def set(self) -> frozenset[str]:
        return frozenset(self.words)


@dataclass(frozen=True, slots=True)
class _Claim:
    """A clause of one piece of evidence."""

    evidence: Evidence
    clause: _Clause


def find(question: str, evidence: Sequence[Evidence]) -> tuple[Conflict, ...]:
    """The conflicts about what ``question`` asks, each with all sides, best evidence first."""
    asked = frozenset(language.question_terms(question)) | _words(question)
    claims = [
        _Claim(one, clause)
        for one in evidence
        if one.relevance >= _LEAST_RELEVANCE
        for clause in _clauses(one.text)
        if _is_asked(clause, one, question)
    ]
    found: list[Conflict] = []
    told: set[int] = set()
    for number, claim in enumerate(claims):
        if number in told:
            continue
        same = [
            at
            for at in range(number + 1, len(claims))
            if at not in told and _same_fact(claim, claims[at], asked)
        ]
        sides = _one_of_each(claims[at] for at in (number, *same))
        if any(a.clause.value.differs(b.clause.value) for a, b in combinations(sides, 2)):
            told.update((number, *same))
            found.append(_conflict(sides))
    return tuple(found)


def _one_of_each(claims: Iterable[_Claim]) -> list[_Claim]:
    kept: dict[str, _Claim] = {}
    for claim in claims:
        kept.setdefault(claim.evidence.id, claim)
    return list(kept.values())


def _conflict(sides: Sequence[_Claim]) -> Conflict:
    fullest = max(sides, key=lambda side: len(side.clause.words))
    clause, text = fullest.clause, fullest.evidence.text
    fact = text[clause.start : clause.end]
    if clause.value.unit != "truth":
        at = clause.value.start - clause.start
        fact = f"{fact[:at]}…{fact[at + clause.value.end - clause.value.start :]}"
    return Conflict(
        fact=" ".join(fact.split()),
        values=tuple(
            ConflictValue(
                value=side.evidence.text[side.clause.value.start : side.clause.value.end],
                evidence=side.evidence.id,
                start=side.evidence.start + side.clause.value.start,
                end=side.evidence.start + side.clause.value.end,
            )
            for side in sides
        ),
    )


# ------------------------------------------------------------------------------------ the clauses


@lru_cache(maxsize=1_024)
def _clauses(text: str) -> tuple[_Clause, ...]:
    """The clauses of ``text`` that say one value, or that something is so or is not so."""
    found: list[_Clause] = []
    before: frozenset[str] = frozenset()
    for start, end in language.sentence_spans(text):
        sentence = text[start:end]
        if sentence.startswith("|") or sentence.endswith(("?", "？")):
            continue
        if sentence.startswith("#") or len(sentence) > 3 * _LONGEST_CLAUSE:
            before = _words(sentence)
            continue
        names = _names(sentence)
        for left, right in _clause_spans(sentence):
            clause = _clause(sentence[left:right], start + left, before | _words(sentence), names)
            if clause is not None:
                found.append(clause)
        before = _words(sentence)
    return tuple(found)


def _clause_spans(sentence: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _CLAUSE_END.finditer(sentence):
        yield start, match.start()
        start = match.end()
    yield start, len(sentence)


def _clause(
    clause: str, offset: int, before: frozenset[str], names: frozenset[str]
) -> _Clause | None:
    clause_start = len(clause) - len(clause.lstrip())
    end = len(clause.rstrip(" .。!！"))
    given = list(values(clause[:end]))
    if len(given) > 1 or not clause[:end].strip():
        return None
    if given:
        value = given[0]
        rest = f"{clause[: value.start]} … {clause[value.end : end]}"
    else:
        rest, truth = _affirmed(clause[:end])
        value = Value(clause_start, end, "truth", (truth,))
    return _Clause(
        start=offset + clause_start,
        end=offset + end,
        value=Value(offset + value.start, offset + value.end, value.unit, value.amount),
        words=_ordered_words(rest),
        before=before,
        names=names,
    )


def _affirmed(clause: str) -> tuple[str, float]:
    """The clause without its negations, and 1 if their number is even, else 0."""
    for pattern, plain in _PERMISSION:
        clause = pattern.sub(plain, clause)
    text, count = _NEGATION.subn(" ", clause)
    return text, float(count % 2 == 0)


def _ordered_words(text: str) -> tuple[str, ...]:
    """Content words in order: English stems, and the single characters of Chinese."""
    found: list[str] = []
    for word in language.words(text):
        if language.has_cjk(word):
            found.extend(character for character in word if character not in _PARTICLES)
        elif word not in language.ENGLISH_STOP_WORDS:
            stem = language.stem(word.removesuffix("'s"))
            found.extend([stem] if stem not in _LIGHT else [])
    return tuple(found)


@lru_cache(maxsize=8_192)
def _words(text: str) -> frozenset[str]:
    return frozenset(_ordered_words(text))


def _names(text: str) -> frozenset[str]:
    """Folded words that name something: capitalised inside a sentence, or Latin in Chinese."""
    if language.has_cjk(text):
        found = _LATIN.findall(text)
    else:
        # The first word is capitalised whatever it is, unless more of it is.
        found = [
            match.group()
            for match in _NAME.finditer(text)
            if match.start() > 0 or re.search(r"[A-Z0-9]", match.group()[1:])
        ]
    folded = frozenset(language.fold(name).removesuffix("'s") for name in found)
    return folded - _CALENDAR - language.ENGLISH_STOP_WORDS


# -------------------------------------------------------------------------------- the same fact?


def _setting(evidence: Evidence) -> frozenset[str]:
    return _words(f"{evidence.title}\n{evidence.context}\n{evidence.source}")


def _is_asked(clause: _Clause, evidence: Evidence, question: str) -> bool:
    asked = _words(question)
    if not asked & clause.set:
        return False
    known = clause.set | clause.before | _setting(evidence)
    return len(asked & known) >= _LEAST_ASKED * len(asked)


def _same_fact(one: _Claim, other: _Claim, asked: frozenset[str]) -> bool:
    a, b = one.clause, other.clause
    if a.value.unit != b.value.unit or one.evidence.source_id == other.evidence.source_id:
        return False
    shared = a.set & b.set
    weight = sum(_LEAST_SHARED / _LEAST_SHARED_CJK if language.has_cjk(w) else 1 for w in shared)
    enough = _LEAST_SHARED + (a.value.unit == "truth")
    if weight < enough or not shared & asked:
        return False
    if a.value.unit == "truth" and a.set != b.set:
        return False
    if not (_adds_nothing(one, other, asked) and _adds_nothing(other, one, asked)):
        return False
    if a.set - b.set and b.set - a.set:
        return False
    return not _about_different_things(one, other)


def _adds_nothing(one: _Claim, other: _Claim, asked: frozenset[str]) -> bool:
    """Whether what only ``one`` says is known of ``other`` from its surroundings.

    "Visitor network" beside "visitor": neighbouring words are one addition, and one known word
    is enough for it; "admin password" beside "password" is another thing.
    """
    place = _setting(other.evidence) | _words(other.evidence.text)
    known = other.clause.set | other.clause.before | place | asked
    for group in _additions(one.clause.words, other.clause.set):
        if not any(word in known for word in group):
            return False
    return not (one.clause.names & one.clause.set) - known


def _additions(words: Sequence[str], known: frozenset[str]) -> Iterator[list[str]]:
    group: list[str] = []
    for word in words:
        if word not in known:
            group.append(word)
        elif group:
            yield group
            group = []
    if group:
        yield group


def _about_different_things(one: _Claim, other: _Claim) -> bool:
    """Whether the sentences, titles, headings or paths name different things."""
    a, b = one.evidence, other.evidence
    if _differ(one.clause.names - other.clause.set, other.clause.names - one.clause.set):
        return True
    if any(map(_is_sibling, (a.title, a.context), (b.title, b.context))):
        return True
    if _are_sibling_paths(a.source, b.source):
        return True
    # Names of the title and the path are known by their capitals in the running text.
    named = [
        frozenset(language.stem(name) for name in _names(item.text)) & _setting(item)
        for item in (a, b)
    ]
    return _differ(*named)


def names_another_thing(one: str, other: str) -> bool:
    """Whether two sentences each name something that the other one does not."""
    return _differ(_names(one), _names(other))


def _differ(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one - other) and bool(other - one)


def _is_sibling(one: str, other: str) -> bool:
    """Whether two titles are alike but for one span: "Dipper warranty" and "Plover warranty".

    "Leave" and "Leave for trainees" are the rule and its exception, and no conflict either.
    """
    a, b = _pieces(one), _pieces(other)
    if a == b:
        return False
    head = _shared(a, b)
    tail = _shared(a[head:][::-1], b[head:][::-1])
    inner = a[head : len(a) - tail], b[head : len(b) - tail]
    if any(piece in _COPIES for part in inner for piece in part):
        return False
    return bool(head + tail) and max(map(len, inner)) <= 6


def _pieces(text: str) -> list[str]:
    return [
        piece
        # A title that is a file name shares no more than its extension with any other.
        for word in language.words(_EXTENSION.sub("", text))
        for piece in (list(word) if language.has_cjk(word) else [word])
    ]


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _are_sibling_paths(one: str, other: str) -> bool:
    """Whether two files have the same place in folders of different things, or differ in a word."""
    parts = [re.split(r"[/\\]", _EXTENSION.sub("", path.lower())) for path in (one, other)]
    if len(parts[0]) != len(parts[1]):
        return False
    different = [pair for pair in zip(*parts, strict=True) if pair[0] != pair[1]]
    if not different or any(part in _COPIES for pair in different for part in pair):
        return False
    if parts[0][-1] == parts[1][-1]:
        return True
    return len(different) == 1 and _is_sibling(*(re.sub(r"[-_]", " ", p) for p in different[0]))
