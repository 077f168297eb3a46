"""Questions and passages in terms, sentences and names: what grading, rewriting and answering share.

Text is cut once and remembered, because the same passage is graded, rewritten from and quoted
within one request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Protocol

from anabranch import language
from anabranch.types import Passage

# Below the first few passages a match says little: the tail of any ranking holds common words.
GRADED_PASSAGES = 8
_QUOTED = re.compile(r"[\"“「『《]([^\"”」』》]{2,60})[\"”」』》]")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?![\w])")
# Capitals inside a sentence, with small joining words: "Bank of England", "iOS", "R2-D2".
_NAME = re.compile(
    r"(?<!\w)(?:[A-Z][\w'’.&-]*|[a-z]+[A-Z]\w*)(?:\s+(?:(?:of|the|de|von|van|for)\s+)?[A-Z][\w'’.&-]*)*"
)
_LATIN_WORD = re.compile(r"[A-Za-z][A-Za-z0-9+#.&-]*")
# "How many" and "explain" ask; a passage that answers need not repeat them.
_ASKING = re.compile(
    r"\bhow\s+(?:many|much|long|often|far|old|big|large|high|tall|fast|soon|late)\b"
    r"|\b(?:number|amount)\s+of\b|^\s*(?:please\s+)?(?:explain|describe|tell me)\b"
    # "I am interested in articles about", "List all papers on": how things are looked for.
    r"|^\W*(?:please\s+)?(?:(?:i(?:['’]d| would| am|['’]m)?\s+(?:like|want|need|interested|looking)|"
    r"interested)\b(?:\s+(?:to|in|for|find|see|read|get))*|find|list|show(?:\s+me)?|give\s+me|"
    r"what)\s+(?:(?:all|any|some|of|the)\s+)*(?:articles?|papers?|documents?|publications?)\b"
    r"(?:\s+(?:that|which|exist|deal(?:ing)?|describ(?:e|ing)|discuss(?:ing)?|written|with|about|on))*",
    re.IGNORECASE,
)
# Verbs that carry little: "get", "use". Small collections are no judge of how common a word is.
_LIGHT_STEMS = frozenset(
    ("get", "got", "use", "take", "give", "need", "make", "made", "happen", "mean", "go", "come")
)
# "Electric" and "electrode", "retire" and "retirement": alike enough to count half.
SAME_BEGINNING = 5
LIKENESS = 0.5
# What stands behind the end of a question: a reply that was joined to it.
_REPLY = re.compile(r"[?？]\s*(?P<reply>[^?？]*[^\s?？.。!！])[^?？\w]*$")
_WRITTEN_WORD = re.compile(r"[^\W_](?:[^\W_]|['’.,&-](?=[^\W_]))*\+*#?")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a passage at ``text[start:end]`` and the search terms in it, in order."""

    start: int
    end: int
    terms: tuple[str, ...]
    term_set: frozenset[str]


@dataclass(frozen=True, slots=True)
class CutText:
    """A text in sentences; ``windows`` are the term sets of neighbours, ``terms`` those of all."""

    sentences: tuple[Sentence, ...]
    windows: tuple[frozenset[str], ...]
    terms: frozenset[str]
    bigrams: frozenset[tuple[str, str]]
    numbers: frozenset[str]


@lru_cache(maxsize=8_192)
def cut(text: str) -> CutText:
    """``text`` in sentences with their terms; of one sentence the only window is itself."""
    sentences = []
    for start, end in language.sentence_spans(text):
        found = tuple(language.terms(text[start:end]))
        sentences.append(Sentence(start, end, found, frozenset(found)))
    pairs = [a.term_set | b.term_set for a, b in pairwise(sentences)]
    windows = tuple(pairs) or tuple(sentence.term_set for sentence in sentences)
    return CutText(
        sentences=tuple(sentences),
        windows=windows,
        terms=frozenset().union(*windows),
        bigrams=frozenset(pair for s in sentences for pair in pairwise(s.terms)),
        numbers=frozenset(_NUMBER.findall(text)),
    )


@lru_cache(maxsize=8_192)
def term_set(text: str) -> frozenset[str]:
    """The search terms of a title, heading or path."""
    return frozenset(language.terms(text))


@dataclass(frozen=True, slots=True)
class CutQuestion:
    """A question's search terms in order, its named things (as term sets) and its numbers."""

    text: str
    terms: tuple[str, ...]
    names: tuple[frozenset[str], ...]
    numbers: frozenset[str]

    @property
    def bigrams(self) -> tuple[tuple[str, str], ...]:
        return tuple(pairwise(self.terms))


class Placed(Protocol):
    """A text and where it stands: a chunk, or evidence."""

    @property
    def source(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def context(self) -> str: ...
    @property
    def text(self) -> str: ...


def place_terms(placed: Placed) -> frozenset[str]:
    """The terms of where a text stands: its title, its headings and its path."""
    return term_set(f"{placed.title}\n{placed.context}\n{placed.source}")


@lru_cache(maxsize=2_048)
def beginnings(found: frozenset[str]) -> frozenset[str]:
    """With what those terms begin that are long enough to be alike by that."""
    return frozenset(term[:SAME_BEGINNING] for term in found if len(term) >= SAME_BEGINNING)


@lru_cache(maxsize=1_024)
def cut_question(question: str) -> CutQuestion:
    """``question`` in terms, with what it names: quoted, capitalised or foreign to its script."""
    spans = [match[1] for match in _QUOTED.finditer(question)]
    if language.has_cjk(question):
        spans += _LATIN_WORD.findall(question)
    else:
        spans += names(question)
    telling = language.question_terms(_ASKING.sub(" ", question))
    terms = tuple(term for term in telling if term not in _LIGHT_STEMS)
    terms = terms or tuple(language.question_terms(question))
    # What is left of 多少天 or 几个月 is a unit. Passages have it inside of words (二十天), where
    # only pairs of characters are compared: alone it would count as missing everywhere.
    terms = tuple(term for term in terms if len(term) > 1 or not language.has_cjk(term)) or terms
    sets = dict.fromkeys(term_set(span) & frozenset(terms) for span in spans)
    return CutQuestion(
        text=question,
        terms=terms,
        names=tuple(name for name in sets if name),
        numbers=frozenset(_NUMBER.findall(question)),
    )


def named_terms(question: str) -> frozenset[str]:
    """The terms of what a question names, and of the reply that is joined to it: the option chosen."""
    cut = cut_question(question)
    reply = _REPLY.search(question)
    chosen = term_set(reply["reply"]) if reply else frozenset[str]()
    return chosen.union(*cut.names)


def names(text: str) -> list[str]:
    """Capitalised spans of ``text`` in order; a plain capitalised word that opens a sentence isn't."""
    found = []
    for match in _NAME.finditer(text):
        span = match.group().rstrip(".'’-&")
        opens = not text[: match.start()].rstrip() or text[: match.start()].rstrip()[-1] in ".!?:"
        if opens:
            first, _, rest = span.partition(" ")
            # "In France" opens with a small word; "SARS" or "B12" is a name even there.
            marked = any(c.isupper() or c.isdigit() for c in first[1:])
            if not marked and (not rest or language.fold(first) in language.ENGLISH_STOP_WORDS):
                span = rest
        if span and language.fold(span) not in language.ENGLISH_STOP_WORDS:
            found.append(span)
    return found


def around(passage: Passage) -> frozenset[str]:
    """Terms of a passage with its title and headings counted."""
    chunk = passage.chunk
    return cut(chunk.text).terms | term_set(chunk.title) | term_set(chunk.context)


def written(question: str, missing: Iterable[str]) -> tuple[str, ...]:
    """The missing terms as the question spells them, in its order; CJK pairs joined to runs."""
    wanted = frozenset(missing)
    found: list[str] = []
    for word in _WRITTEN_WORD.findall(question):
        if language.has_cjk(word):
            found.extend(_missing_runs(word, wanted))
        elif any(term in wanted for term in language.terms(word)):
            found.append(word)
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=64)
def written_as(question: str) -> Mapping[str, tuple[str, ...]]:
    """Each term of ``question`` that is no CJK pair with the words it is written as, folded."""
    found: dict[str, dict[str, None]] = {}
    for word in _WRITTEN_WORD.findall(question):
        if not language.has_cjk(word):
            for term in language.terms(word):
                found.setdefault(term, {})[language.fold(word)] = None
    return MappingProxyType({term: tuple(forms) for term, forms in found.items()})


def _missing_runs(run: str, wanted: frozenset[str]) -> list[str]:
    found: list[str] = []
    end = -1
    for start in range(len(run)):
        pair = run[start : start + 2]
        if language.fold(pair) not in wanted:
            continue
        if found and start < end:
            found[-1] += pair[-1]
        else:
            found.append(pair)
        end = start + 2
    return found
