"""What words the documents use: vocabulary, short forms and initials; pure.

Mined from each document when it is added and kept with it, so that a suggestion can always be
traced to a document, and never comes from one that the caller may not see.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from anabranch.language import ENGLISH_STOP_WORDS, fold, has_cjk, words
from anabranch.phrases import ANNOUNCERS, COMMON_WORDS, WORD, blocks, initials, names_in, sequences
from anabranch.short_forms import capitals, introductions
from anabranch.spelling import Speller

# Phrases kept of one document: about 6 kB of JSON, enough for every phrase that a long handbook
# repeats, and bounded for a book.
MOST_PHRASES = 250
# Below this many words nothing repeats, so that phrases count from the first occurrence.
SHORT_DOCUMENT_WORDS = 1_500
MOST_SINGLE_PHRASES = 60
MOST_WORDS = 50_000
LONGEST_WORD = 40
LONG_FORMS_PER_SHORT_FORM = 2
LONGEST_SHORT_FORM = 5
PHRASES_PER_INITIALS = 5
# In more documents than this a phrase that stands in all of them together once is chance.
SMALL_COLLECTION = 20

_TOKEN = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:&[A-Za-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class DocumentLexicon:
    """Words of one document.

    ``words``: folded word -> occurrences. ``short_forms``: short form as written, folded, ->
    long forms it was introduced with ("service level agreement (SLA)"), none if it is only used.
    ``phrases``: initials ->
    multi-word phrases whose initials they are ("fs" -> "file system"), with their counts.
    """

    words: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    short_forms: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    phrases: Mapping[str, Mapping[str, int]] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words of every document in a scope: counts are numbers of documents.

    What is looked up in it is indexed on first use, and the index lives as long as the value.
    """

    document_count: int = 0
    words: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    short_forms: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    phrases: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    _speller: Speller | None = field(default=None, init=False, repr=False, compare=False)
    _names: Mapping[str, str] | None = field(default=None, init=False, repr=False, compare=False)

    def speller(self) -> Speller:
        """The vocabulary as a repairer of words; two threads at worst build it twice."""
        speller = self._speller or Speller(self.words)
        object.__setattr__(self, "_speller", speller)
        return speller

    def names(self) -> Mapping[str, str]:
        """Folded long form -> the short form that the documents introduce for it."""
        if self._names is not None:
            return self._names
        pairs = [(fold(long), short) for short, longs in self.short_forms.items() for long in longs]
        names = MappingProxyType(dict(sorted(pairs, reverse=True)))
        object.__setattr__(self, "_names", names)
        return names


# ---------------------------------------------------------------------------------------- mining


def mine(text: str) -> DocumentLexicon:
    """The words, short forms and initials of one document's text."""
    counted = Counter(word for found in words(text) if (word := _vocabulary_word(found)))
    short_forms: dict[str, list[str]] = defaultdict(list)
    for short, long in introductions(text):
        short_forms[short].append(long)
    for short in capitals(text):
        short_forms.setdefault(short, [])
    return DocumentLexicon(
        words=MappingProxyType(dict(_most(counted, MOST_WORDS))),
        short_forms=MappingProxyType({short: tuple(longs) for short, longs in short_forms.items()}),
        phrases=MappingProxyType(_phrases(text, word_count=counted.total())),
    )


def _vocabulary_word(word: str) -> str | None:
    """The word as the vocabulary keeps it; None for CJK runs, long numbers and debris."""
    word = word.removesuffix("'s")
    if has_cjk(word) or not word or len(word) > LONGEST_WORD:
        return None
    if not any(map(str.isalpha, word)) and len(word) > 4:
        return None
    return word


def _most(counts: Counter[str], limit: int) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:limit]


def _phrases(text: str, *, word_count: int) -> dict[str, Mapping[str, int]]:
    """Initials -> phrases with counts. A phrase in a heading counts twice: it names something."""
    counts: Counter[str] = Counter()
    for line, weight in blocks(text):
        for sequence in sequences(line):
            for phrase in names_in(sequence):
                counts[phrase] += weight
    repeated = Counter({phrase: count for phrase, count in counts.items() if count > 1})
    kept = _most(repeated, MOST_PHRASES)
    if word_count <= SHORT_DOCUMENT_WORDS:
        single = Counter({phrase: 1 for phrase, count in counts.items() if count == 1})
        kept += [pair for pair in single.items() if len(pair[0].split()) == 2][:MOST_SINGLE_PHRASES]
    by_initials: dict[str, dict[str, int]] = defaultdict(dict)
    for phrase, count in kept:
        for key in initials(phrase):
            by_initials[key][phrase] = count
    return {key: MappingProxyType(found) for key, found in by_initials.items()}


# ------------------------------------------------------------------------------------- combining


def combine(lexicons: Iterable[DocumentLexicon]) -> Lexicon:
    """The lexicon of several documents: the more documents use a form, the further in front."""
    document_count = 0
    word_documents: Counter[str] = Counter()
    long_forms: dict[str, Counter[str]] = defaultdict(Counter)
    phrases: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    for lexicon in lexicons:
        document_count += 1
        word_documents.update(lexicon.words.keys())
        for short, longs in lexicon.short_forms.items():
            long_forms[short].update(sorted(set(longs)))
        for key, found in lexicon.phrases.items():
            known = phrases[key]
            for phrase, count in found.items():
                documents, total = known.get(phrase, (0, 0))
                known[phrase] = (documents + 1, total + count)
    fewest = 1 if document_count <= SMALL_COLLECTION else 2
    return Lexicon(
        document_count=document_count,
        words=MappingProxyType(dict(word_documents)),
        short_forms=MappingProxyType(
            {
                short: tuple(long for long, _ in _most(counts, len(counts)))
                for short, counts in sorted(long_forms.items())
            }
        ),
        phrases=MappingProxyType(
            {
                key: tuple(ranked)
                for key, known in sorted(phrases.items())
                if (ranked := _ranked(known, fewest))
            }
        ),
    )


def _ranked(known: Mapping[str, tuple[int, int]], fewest: int) -> list[str]:
    """Phrases by number of documents, then occurrences, then the alphabet; chance ones left out."""
    often = [phrase for phrase, (_, total) in known.items() if total >= fewest]
    return sorted(often, key=lambda phrase: (-known[phrase][0], -known[phrase][1], phrase))[
        :PHRASES_PER_INITIALS
    ]


# --------------------------------------------------------------------------------------- looking up


def expansions(question: str, lexicon: Lexicon) -> list[tuple[str, str]]:
    """Pairs (short form, long form) of which the question has one and not the other.

    Short forms that the documents introduce go first, then initials of their phrases ("fs" for
    "file system"), then the reverse: a name in the question that the documents shorten. The form
    that stands in the question is given as it is written there.
    """
    folded = fold(question)
    mixed_case = any(map(str.islower, question))
    defined: list[tuple[str, str]] = []
    guessed: list[tuple[str, str]] = []
    for match in _TOKEN.finditer(question):
        token = match.group()
        key = fold(token)
        shouted = token.isupper() and mixed_case
        if not 2 <= len(key) <= 10 or (key in COMMON_WORDS and not shouted):
            continue
        longs = lexicon.short_forms.get(key, ())
        defined.extend((token, long) for long in longs[:LONG_FORMS_PER_SHORT_FORM])
        if not longs and _may_be_initials(key, lexicon, shouted=shouted):
            phrases = lexicon.phrases.get(key.replace("&", ""), ())
            guessed.extend((token, phrase) for phrase in phrases[:LONG_FORMS_PER_SHORT_FORM])
    pairs = [pair for pair in defined + guessed if not _holds(folded, pair[1])]
    pairs += _shortenings(question, folded, lexicon)
    return list(dict.fromkeys(pairs))


def _holds(folded: str, phrase: str) -> bool:
    """Whether the phrase stands in the folded question as whole words."""
    phrase = fold(phrase)
    if has_cjk(phrase):
        return phrase in folded
    return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", folded) is not None


def _may_be_initials(key: str, lexicon: Lexicon, *, shouted: bool) -> bool:
    """Whether a token that no document introduces can be read as initials of a phrase.

    Not if the documents use it as a word of their own: then it is found as it is.
    """
    if len(key) > LONGEST_SHORT_FORM or key in COMMON_WORDS:
        return False
    documents = lexicon.words.get(key, 0)
    return documents <= (max(1, lexicon.document_count // 50) if shouted else 0)


def _shortenings(question: str, folded: str, lexicon: Lexicon) -> list[tuple[str, str]]:
    found = [
        (_shown(short), long)
        for long, short in lexicon.names().items()
        if (long in folded) and _holds(folded, long) and not _holds(folded, short)
    ]
    for phrase in _named(question):
        for key in initials(phrase):
            if _stands_for(key, phrase, lexicon) and not _holds(folded, key):
                found.append((_shown(key), phrase))
    # The longest name first: "service level agreement" says more than "level agreement".
    return sorted(found, key=lambda pair: (-len(pair[1]), pair))


def _named(question: str) -> Iterator[str]:
    """Phrases of a question that begin it or follow a word that announces a name ("the …")."""
    for sequence in sequences(question):
        for phrase in names_in(sequence):
            before = sequence[: _position(sequence, phrase.split())][-1:]
            if not before or before[0] in ANNOUNCERS:
                yield phrase


def _position(sequence: list[str], phrase: list[str]) -> int:
    starts = range(len(sequence) - len(phrase) + 1)
    return next(start for start in starts if sequence[start : start + len(phrase)] == phrase)


def _stands_for(key: str, phrase: str, lexicon: Lexicon) -> bool:
    """Whether the documents write the initials in capitals and never spell the phrase out."""
    if len(key) < 2 or key in COMMON_WORDS or lexicon.short_forms.get(key) != ():
        return False
    # Two initials prove little, unless the documents do not even have the words.
    if len(phrase.split()) < 3 and all(map(lexicon.speller().knows, phrase.split())):
        return False
    return phrase not in lexicon.phrases.get(key, ())


def _shown(short: str) -> str:
    return short if has_cjk(short) else short.upper()


def spelling(question: str, lexicon: Lexicon) -> str | None:
    """The question with words that no document has repaired from their vocabulary, or None.

    Only words of four letters or more; a name (capitalised inside the question) only where it is
    a single edit away, because a name that the documents lack is usually meant.
    """
    if not lexicon.words:
        return None
    speller = lexicon.speller()
    mixed_case = any(map(str.islower, question))
    first_word = WORD.search(question)

    def repaired(match: re.Match[str]) -> str:
        written = match.group()
        word = fold(written)
        if not (word.isalpha() and word.isascii()) or len(word) < 4 or speller.knows(word):
            return written
        if written in ENGLISH_STOP_WORDS or word in COMMON_WORDS:
            return written
        if written.isupper() and mixed_case:  # A short form, not a slip.
            return written
        name = (
            written[0].isupper() and first_word is not None and match.start() > first_word.start()
        )
        nearest = speller.nearest(word, farthest=1 if name else None)
        return _in_case_of(written, nearest) if nearest else written

    result = _WORD_ALONE.sub(repaired, question)
    return result if fold(result) != fold(question) else None


# Possessive endings, hyphens and neighbours stay as they are.
_WORD_ALONE = re.compile(r"(?<![^\W_])[^\W\d_]+(?![\w&]|['’](?!s\b))")


def _in_case_of(written: str, word: str) -> str:
    if written.isupper():
        return word.upper()
    return word.capitalize() if written[0].isupper() else word
