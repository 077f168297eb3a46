"""What words the documents use: vocabulary, short forms and initials; pure.

Mined from each document when it is added and kept with it, so that a suggestion can always be
traced to a document, and never comes from one that the caller may not see.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from types import MappingProxyType

from anabranch.language import fold, has_cjk, words
from anabranch.phrases import blocks, has_joint, initials, names_in, sequences, titles
from anabranch.short_forms import capitals, introductions
from anabranch.spelling import Speller

# Phrases kept of one document: about 6 kB of JSON, enough for every phrase that a long handbook
# repeats, and bounded for a book.
MOST_PHRASES = 250
# Below this many words nothing repeats, so that phrases count from the first occurrence.
SHORT_DOCUMENT_WORDS = 1_500
MOST_SINGLE_PHRASES = 60
# Of three words there are as many again, and fewer of them are asked for by their initials.
MOST_SINGLE_TRIPLES = 30
MOST_TITLES = 40
MOST_WORDS = 50_000
LONGEST_WORD = 40
PHRASES_PER_INITIALS = 5
# In more documents than this a phrase that stands in all of them together once is chance.
SMALL_COLLECTION = 20


@dataclass(frozen=True, slots=True)
class DocumentLexicon:
    """Words of one document.

    ``words``: folded word -> occurrences; of Chinese text the single characters. ``short_forms``: short form as written, folded, ->
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

    ``word_count``: how long the documents are together, in words (of Chinese text, in characters); 0
    where it is not known.
    What is looked up in it is indexed on first use, and the index lives as long as the value.
    """

    document_count: int = 0
    word_count: int = 0
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
    # Counted before they are looked at: most words of a text stand in it more than once.
    found = Counter(words(text))
    counted: dict[str, int] = {}
    characters: Counter[str] = Counter()
    for run, count in found.items():
        if word := _vocabulary_word(run):
            counted[word] = counted.get(word, 0) + count
        elif has_cjk(run):
            for character in run:
                characters[character] += count
    short_forms: dict[str, list[str]] = defaultdict(list)
    for short, long in introductions(text):
        short_forms[short].append(long)
    for short in capitals(text):
        short_forms.setdefault(short, [])
    return DocumentLexicon(
        words=MappingProxyType(dict(_most({**counted, **characters}, MOST_WORDS))),
        short_forms=MappingProxyType({short: tuple(longs) for short, longs in short_forms.items()}),
        phrases=MappingProxyType(_phrases(text, word_count=sum(counted.values()))),
    )


@lru_cache(maxsize=32_768)
def _vocabulary_word(word: str) -> str | None:
    """The word as the vocabulary keeps it; None for CJK runs, long numbers and debris."""
    word = word.removesuffix("'s")
    if has_cjk(word) or not word or len(word) > LONGEST_WORD:
        return None
    if not any(map(str.isalpha, word)) and len(word) > 4:
        return None
    return word


def _most(counts: Mapping[str, int], limit: int) -> list[tuple[str, int]]:
    alphabetic = sorted(counts)  # and stays so where counts are equal
    ranked = sorted(alphabetic, key=counts.__getitem__, reverse=True)[:limit]
    return [(word, counts[word]) for word in ranked]


def _phrases(text: str, *, word_count: int) -> dict[str, Mapping[str, int]]:
    """Initials -> phrases with counts. A phrase in a heading counts twice: it names something."""
    counts: Counter[str] = Counter()
    for line, weight in blocks(text):
        for _ in range(weight):
            counts.update(name for run in sequences(line) for name in names_in(run))
    kept = _most({phrase: count for phrase, count in counts.items() if count > 1}, MOST_PHRASES)
    if word_count <= SHORT_DOCUMENT_WORDS:
        single = [(phrase, 1) for phrase, count in counts.items() if count == 1]
        # Words of a phrase have one blank between them.
        pairs = (pair for pair in single if pair[0].count(" ") == 1)
        kept += islice(pairs, MOST_SINGLE_PHRASES)
        triples = (p for p in single if p[0].count(" ") == 2 and not has_joint(p[0]))
        kept += islice(triples, MOST_SINGLE_TRIPLES)
    by_initials: dict[str, dict[str, int]] = defaultdict(dict)
    for phrase, count in kept:
        for key in initials(phrase):
            by_initials[key][phrase] = count
    named = Counter(titles(text))
    for (title, keys), count in sorted(named.items(), key=lambda item: (-item[1], item[0]))[
        :MOST_TITLES
    ]:
        for key in keys:  # A capitalised name counts twice, as in a heading.
            by_initials[key][title] = max(by_initials[key].get(title, 0), 2 * count)
    # Plain dictionaries: a document has dozens of them, which the garbage collector need not visit.
    return dict(by_initials)


# ------------------------------------------------------------------------------------- combining


def combine(lexicons: Iterable[DocumentLexicon]) -> Lexicon:
    """The lexicon of several documents: the more documents use a form, the further in front."""
    document_count = word_count = 0
    word_documents: Counter[str] = Counter()
    long_forms: dict[str, Counter[str]] = defaultdict(Counter)
    phrases: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    for lexicon in lexicons:
        document_count += 1
        word_count += sum(lexicon.words.values())
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
        word_count=word_count,
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
