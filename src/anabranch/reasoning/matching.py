"""What of a question each passage holds: its terms, their weight, and where they stand; pure.

Coverage is a share of the question's terms by their rarity. A term counts in full where its stem
or a spelled-out short form stands, and half where only a word of the same beginning does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from anabranch import language
from anabranch.chinese_places import places_in
from anabranch.lexicon import Lexicon
from anabranch.reasoning.asked_for import attribute_asked
from anabranch.reasoning.passages import (
    LIKENESS,
    SAME_BEGINNING,
    CutQuestion,
    CutText,
    around,
    beginnings,
    cut,
    cut_question,
    term_set,
    written_as,
)
from anabranch.suggestions import expansions
from anabranch.types import Passage
from anabranch.written_forms import (
    bare_code,
    code_joinings,
    code_pattern,
    codes,
    number_pattern,
    simplified,
)

# A name of this many letters that is an edit away from a word of the documents is a slip or
# another spelling; shorter ones have neighbours by chance.
_REPAIRABLE = 5
# "Valve 43", "LM 0417", "March 2026", "第43号": a number that tells one thing from others like it. "7
# days" counts, and a single digit has other spellings ("World War II").
_LABEL = re.compile(
    r"([^\W\d_]{2,})\s+(?:no\.?\s*|number\s+|#)?(\d[\d.]*\d)(?![\w%])|()(\d[\d.]*\d)(?=号|章|条|款|节|页|室|楼|栋)"
)
_COMPARING = frozenset(("least", "most", "than", "about", "top", "last", "next", "past", "first"))


@dataclass(frozen=True, slots=True)
class Asked:
    """A question in terms, what each weighs, and what else each may be written as.

    ``other_forms``: term -> term sets, any of which stands for it. ``unknown``: terms that no
    document in scope has, in any inflection; never CJK, whose words the lexicon does not count.
    ``names`` are what the question is about by name or by a number that is as good as one;
    ``unknown_names`` those of them that are made of nothing else, slips apart.
    ``unknown_places``: places that a Chinese question names and no passage has, as written.
    ``unknown_attribute``: what is asked of something, where no document has the word for it.
    ``unknown_codes``: of these the model and part numbers, which are written alike in every script.
    ``shortened``: terms that are short for something that the documents spell out.
    ``collection_words``: how long the documents in scope are together; 0 where it is not known.
    """

    cut: CutQuestion
    weights: Mapping[str, float]
    other_forms: Mapping[str, tuple[frozenset[str], ...]]
    unknown: frozenset[str]
    names: tuple[frozenset[str], ...] = ()
    unknown_names: tuple[frozenset[str], ...] = ()
    unknown_codes: tuple[frozenset[str], ...] = ()
    unknown_places: tuple[str, ...] = ()
    unknown_attribute: str = ""
    shortened: frozenset[str] = frozenset()
    collection_words: int = 0

    @property
    def total(self) -> float:
        return math.fsum(self.weights[term] for term in self.cut.terms) or 1.0

    def credits(self, found: frozenset[str]) -> dict[str, float]:
        """How far each term stands among ``found``; those that don't are left out."""
        held = {term: 1.0 for term in self.cut.terms if term in found}
        for term, forms in self.other_forms.items():
            if term not in held and any(form <= found for form in forms):
                held[term] = 1.0
        missing = [term for term in self.cut.terms if term not in held]
        if missing:
            standing = beginnings(found)
            for term in missing:
                if term[:SAME_BEGINNING] in standing:
                    held[term] = LIKENESS
        return held

    def coverage(self, held: Mapping[str, float]) -> float:
        return math.fsum(self.weights[term] * credit for term, credit in held.items()) / self.total


def ask(question: str, passages: Sequence[Passage], lexicon: Lexicon) -> Asked:
    """``question`` made ready to be compared with ``passages`` from the documents of ``lexicon``."""
    asked = cut_question(question)
    forms: dict[str, tuple[frozenset[str], ...]] = {}
    terms = frozenset(asked.terms)
    pairs = expansions(question, lexicon)
    for short, long in pairs:
        for shown, meant in ((short, long), (long, short)):
            stands = term_set(meant)
            for term in term_set(shown) & terms if stands else ():
                forms[term] = (*forms.get(term, ()), stands)
    known_codes, unknown_codes = _codes(asked, passages, lexicon, frozenset(forms))
    for code in known_codes:
        for term, joinings in _other_joinings(code, terms).items():
            forms[term] = (*forms.get(term, ()), *joinings)
    unknown = frozenset(
        term
        for term in asked.terms
        if lexicon.words and term not in forms and not language.has_cjk(term)
        and not _is_known(term, question, lexicon)
    )  # fmt: skip
    places = _unknown_places(asked, passages) if lexicon.words else {}
    names = tuple(dict.fromkeys((*asked.names, *_labels(asked), *unknown_codes, *places)))
    lacked = [name for name in names if name <= unknown and not _is_slip(name, asked, lexicon)]
    return Asked(
        cut=asked,
        weights=term_weights(asked.terms, question, passages, lexicon),
        other_forms=forms,
        unknown=unknown,
        names=names,
        unknown_names=tuple(dict.fromkeys((*lacked, *unknown_codes, *places))),
        unknown_codes=unknown_codes,
        unknown_places=tuple(places.values()),
        unknown_attribute=_unknown_attribute(asked, unknown, lexicon),
        shortened=terms & frozenset[str]().union(*(term_set(short) for short, _ in pairs)),
        collection_words=lexicon.word_count,
    )


def _labels(asked: CutQuestion) -> list[frozenset[str]]:
    """The numbers that name something, each a name of its own."""
    found = []
    for place in _LABEL.finditer(asked.text):
        before = language.fold(place[1] or "")
        number = frozenset({place[2] or place[4]})
        common = before in language.ENGLISH_STOP_WORDS or before in _COMPARING
        if not common and number <= frozenset(asked.terms):
            found.append(number)
    return found


def _codes(
    asked: CutQuestion, passages: Sequence[Passage], lexicon: Lexicon, explained: frozenset[str]
) -> tuple[list[str], tuple[frozenset[str], ...]]:
    """The model and part numbers of a question: those that stand somewhere, and the terms of the others.

    "HK" and "60" may each stand in a document that has no HK-60. A text search brings up what has both, so that
    the passages at hand decide. A code that is ``explained`` as a short form is known as what it is short for.
    """
    known: list[str] = []
    unknown: list[frozenset[str]] = []
    for code in codes(asked.text) if lexicon.words else ():
        found = term_set(code) & frozenset(asked.terms)
        if bare_code(code) in lexicon.words or _stands(code, passages):
            known.append(code)
        elif found and found.isdisjoint(explained):
            unknown.append(found)
    return known, tuple(dict.fromkeys(unknown))


def _unknown_attribute(asked: CutQuestion, unknown: frozenset[str], lexicon: Lexicon) -> str:
    """What is asked of something, where no document has the word; of a Chinese one, one of its characters."""
    attribute = attribute_asked(asked.text)
    if not attribute or not lexicon.words:
        return ""
    if language.has_cjk(attribute):
        lacks = any(language.fold(character) not in lexicon.words for character in attribute)
        # An index of an earlier version has no Chinese in its lexicon.
        knows = lacks and any(len(word) == 1 and language.has_cjk(word) for word in lexicon.words)
        return attribute if knows else ""
    terms = term_set(attribute)
    is_slip = _is_slip(terms, asked, lexicon)
    return attribute if terms and terms <= unknown and not is_slip else ""


def _unknown_places(asked: CutQuestion, passages: Sequence[Passage]) -> dict[frozenset[str], str]:
    """The places that a Chinese question names and no passage at hand has, by the pairs of characters that are missing
    with each: its own, and those that it makes with what stands beside it.

    The lexicon knows no Chinese words. A text search brings up what has the name, so that the passages at hand decide.
    """
    if not passages or not language.has_cjk(asked.text):
        return {}
    text = simplified(asked.text)
    named = list(places_in(text))
    if not named:
        return {}
    found = [
        simplified(f"{chunk.text}\n{chunk.title}\n{chunk.context}\n{chunk.source}")
        for chunk in (passage.chunk for passage in passages)
    ]

    def stands(start: int, end: int) -> bool:
        return any(text[start:end] in one for one in found)

    unknown: dict[frozenset[str], str] = {}
    for start, end in named:
        # 天津 in 每天津贴 is the seam of two words.
        if stands(start, end) or (
            start and stands(start - 1, start + 1) and stands(end - 1, end + 1)
        ):
            continue
        pairs = {language.fold(asked.text[at : at + 2]) for at in range(max(start - 1, 0), end)}
        if own := pairs & frozenset(asked.terms):
            unknown[frozenset(own)] = asked.text[start:end]
    return unknown


def _stands(code: str, passages: Sequence[Passage]) -> bool:
    """Whether any passage, its title, headings or path have the code, in whatever joining."""
    written = code_pattern(code)
    return any(
        written.search(language.fold(text))
        for passage in passages
        for text in (
            passage.chunk.text, passage.chunk.title, passage.chunk.context, passage.chunk.source,
        )
    )  # fmt: skip


def _other_joinings(code: str, terms: frozenset[str]) -> dict[str, list[frozenset[str]]]:
    """Each term of a code with what it may stand as: "hk20" as hk and 20, and both as hk20."""
    own = term_set(code)
    others = [term_set(form) for form in code_joinings(code)]
    return {term: [form for form in others if form != own] for term in own & terms}


def _is_known(term: str, question: str, lexicon: Lexicon) -> bool:
    speller = lexicon.speller()
    spelled = {term, *written_as(question).get(term, ())}
    parts = {part for word in spelled for part in language.words(word)}
    return any(speller.knows(word) for word in spelled | parts)


def _is_slip(name: frozenset[str], asked: CutQuestion, lexicon: Lexicon) -> bool:
    known = written_as(asked.text)
    spelled = {word for term in name for word in known.get(term, ())}
    speller = lexicon.speller()
    return any(
        word.isalpha() and len(word) >= _REPAIRABLE and speller.nearest(word) for word in spelled
    )


def term_weights(
    terms: Iterable[str], question: str, passages: Sequence[Passage], lexicon: Lexicon
) -> dict[str, float]:
    """Smoothed inverse document frequency of each term, at least 1.

    The lexicon counts words as written, a term is a stem: the question's own spelling is looked up
    beside it. Where the lexicon knows neither, the passages at hand are counted.
    """
    spellings = _spellings(question)
    size = max(lexicon.document_count, len(passages))
    found = [cut(passage.chunk.text).terms for passage in passages]
    weights = {}
    for term in terms:
        known = max(
            (lexicon.words.get(word, 0) for word in (term, *spellings.get(term, ()))), default=0
        )
        seen = sum(term in text for text in found)
        weights[term] = 1.0 + math.log((size + 1) / (max(known, min(seen, size)) + 1))
    return weights


def _spellings(question: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for word in language.words(question):
        for term in language.terms(word)[:1] if not language.has_cjk(word) else ():
            found[term] = (*found.get(term, ()), word, f"{word}s", word.removesuffix("s"))
    return found


# ----------------------------------------------------------------------------------- one passage


@dataclass(frozen=True, slots=True)
class Match:
    """What of a question one passage holds. ``windows`` pairs coverage and cosine of each.

    ``titled`` is the share of its title that the question has, ``run`` how many of the question's
    terms stand in a row in it as they do there.
    """

    similarity: float | None
    held: Mapping[str, float]
    windows: tuple[tuple[float, float | None], ...]
    matched_terms: int
    bigrams: frozenset[tuple[str, str]]
    numbers: frozenset[str]
    spelled_out: bool
    titled: float = 0.0
    run: int = 0


def match(asked: Asked, passage: Passage) -> Match:
    """The match of one passage, title and headings counted with each of its windows."""
    chunk = passage.chunk
    whole = around(passage)
    held = asked.credits(whole)
    text = cut(chunk.text)
    windows: list[tuple[float, float | None]] = []
    most = 0
    if held:
        setting = asked.credits(term_set(chunk.title) | term_set(chunk.context))
        for terms, cosine in _windows(passage):
            found = asked.credits(terms)
            most = max(most, len(found))
            windows.append((asked.coverage(better(found, setting)), cosine))
    else:
        windows = [(0.0, window.cosine) for window in passage.windows]
    pairs = frozenset(asked.cut.bigrams)
    return Match(
        similarity=passage.similarity,
        held=held,
        windows=tuple(windows),
        matched_terms=most,
        bigrams=pairs & text.bigrams if pairs else pairs,
        numbers=text.numbers & asked.cut.numbers
        | {
            number
            for number in asked.cut.numbers - text.numbers
            if number_pattern(number).search(f"{chunk.title}\n{chunk.text}")
        },
        spelled_out=any(term in held and term not in whole for term in asked.shortened),
        titled=_share(term_set(chunk.title), frozenset(asked.cut.terms)),
        run=_longest_run(asked.cut.terms, text, pairs) if pairs & text.bigrams else int(bool(held)),
    )


def _longest_run(terms: Sequence[str], text: CutText, pairs: frozenset[tuple[str, str]]) -> int:
    """The length of the longest piece of ``terms`` that stands in one sentence (dynamic programme)."""
    longest = 1
    for sentence in text.sentences:
        if pairs.isdisjoint(pairwise(sentence.terms)):
            continue
        ending = [0] * (len(terms) + 1)
        for word in sentence.terms:
            ending = [0] + [
                before + 1 if term == word else 0
                for term, before in zip(terms, ending, strict=False)
            ]
            longest = max(longest, *ending)
    return longest


def _share(wanted: frozenset[str], found: frozenset[str]) -> float:
    return len(wanted & found) / len(wanted) if wanted else 0.0


def better(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {term: max(one.get(term, 0.0), other.get(term, 0.0)) for term in (*one, *other)}


def _windows(passage: Passage) -> list[tuple[frozenset[str], float | None]]:
    """The terms and cosine of each window; of a passage without cosines its sentence pairs."""
    text = cut(passage.chunk.text)
    if not passage.windows:
        return [(window, None) for window in text.windows]
    found: list[tuple[frozenset[str], float | None]] = []
    for window in passage.windows:
        start, end = window.start - passage.chunk.start, window.end - passage.chunk.start
        inside = [s.term_set for s in text.sentences if s.start >= start and s.end <= end]
        found.append((frozenset[str]().union(*inside), window.cosine))
    return found
