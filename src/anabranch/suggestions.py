"""What the documents' words let a question be read as: other forms, repairs, other spellings; pure.

All of it comes from a ``Lexicon``, that is from documents in the caller's scope, but for what
everybody knows: how numbers and units are written, and common Chinese short forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from anabranch.english_words import is_english
from anabranch.language import ENGLISH_STOP_WORDS, fold, has_cjk, stem, words
from anabranch.lexicon import Lexicon
from anabranch.phrases import (
    ANNOUNCERS,
    COMMON_WORDS,
    has_joint,
    initials,
    names_in,
    sequences,
    titles,
)
from anabranch.short_forms import COMMON_CHINESE
from anabranch.spelling import Repair, bare
from anabranch.written_forms import (
    chinese_number_forms,
    code_joinings,
    codes,
    number_forms,
    other_script,
    unit_form,
)

LONG_FORMS_PER_SHORT_FORM = 2
LONGEST_SHORT_FORM = 5
# Written apart in more than so many times the documents, the joined word is a slip of a document
# ("breastcancer"), not their way to write it ("riverbeds").
COMMONER_PARTED = 20

# "PD-1" and "4-PBA" are names of their own.
_PART_OF_A_CODE = re.compile(r"\0-\d|\d-\0")
_TOKEN = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:&[A-Za-z0-9]+)*")


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
        start, end = match.span()
        if _PART_OF_A_CODE.search(
            f"{question[max(0, start - 2) : start]}\0{question[end : end + 2]}"
        ):
            continue
        longs = lexicon.short_forms.get(key, ())
        defined.extend((token, long) for long in _different(longs)[:LONG_FORMS_PER_SHORT_FORM])
        if not longs and _may_be_initials(key, lexicon, shouted=shouted):
            phrases = lexicon.phrases.get(key.replace("&", ""), ())
            readings = _different(phrases)[:LONG_FORMS_PER_SHORT_FORM]
            guessed.extend((token, phrase) for phrase in readings)
    pairs = [pair for pair in defined + guessed if not _holds(folded, pair[1])]
    pairs += [
        (short, long)
        for short, long in COMMON_CHINESE.items()
        if short in question and long not in question and _has_characters(long, lexicon)
    ]
    pairs += _shortenings(question, folded, lexicon)
    return list(dict.fromkeys(pairs))


def _different(longs: Sequence[str]) -> list[str]:
    """Long forms without those that have all words of an earlier one: its plural, or more of it."""
    kept: list[tuple[str, set[str]]] = []
    for long in longs:
        found = {stem(word) for word in re.split(r"[\s-]+", fold(long))}
        if not any(earlier <= found or found <= earlier for _, earlier in kept):
            kept.append((long, found))
    return [long for long, _ in kept]


def _has_characters(text: str, lexicon: Lexicon) -> bool:
    return all(character in lexicon.words for character in text)


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
    if documents and len(key) < 3:  # TV, HD: of those read, one in ten meant what was guessed.
        return False
    return documents <= (max(1, lexicon.document_count // 50) if shouted else 0)


def _shortenings(question: str, folded: str, lexicon: Lexicon) -> list[tuple[str, str]]:
    # A ticker in brackets ("Google (GOOG)") is no other name for one word of a question.
    found = [
        (_shown(short), long)
        for long, short in lexicon.names().items()
        if (long in folded) and (has_cjk(long) or len(long.split()) > 1 or "-" in long)
        if short not in ENGLISH_STOP_WORDS
        if len(short) > 2 or _has_one_meaning(short, long, lexicon)
        if _holds(folded, long) and not _holds(folded, short)
    ]
    for phrase in _named(question):
        for key in initials(phrase):
            if _stands_for(key, phrase, lexicon) and not _holds(folded, key):
                found.append((_shown(key), phrase))
    # The longest name first: "service level agreement" says more than "level agreement".
    return sorted(found, key=lambda pair: (-len(pair[1]), pair))


def _has_one_meaning(short: str, long: str, lexicon: Lexicon) -> bool:
    """Whether a short form, too short to tell by itself, has one long form in a script."""
    longs = _different(lexicon.short_forms.get(short, ()))
    return sum(has_cjk(other) == has_cjk(long) for other in longs) <= 1


def _named(question: str) -> Iterator[str]:
    """Names in a question: what is capitalised in it, and runs of nouns that stand alone.

    Of questions read, nearly all other runs were no name ("computer science analyzes"): so one in
    small letters has three words or more, begins the question or follows a word that announces a
    name ("the ..."), goes as far as it can, and ends in no verb form.
    """
    yield from (title for title, _ in titles(question))
    for sequence in sequences(question):
        runs = [run for run in names_in(sequence) if not has_joint(run)]
        # In one search each: a question may have hundreds of them.
        together = "\0".join(dict.fromkeys(runs))
        longest = [run for run in runs if together.count(run) == 1]
        for phrase in longest:
            before = sequence[: _position(sequence, phrase.split())][-1:]
            ends_in_verb = re.search(r"(?:ed|ing|[^s]es|[^aeious]s)$", phrase)
            announced = not before or before[0] in ANNOUNCERS
            if announced and len(phrase.split()) > 2 and not ends_in_verb:
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


def spelling(question: str, lexicon: Lexicon, *, guess: bool = False) -> str | None:
    """The question with words that no document has repaired from their vocabulary, or None.

    Only where the repair is sure; with ``guess`` also where the word may be right as it stands (a
    name that the documents lack is usually meant) or another one be meant. Words of four letters
    or more, and Chinese characters that the documents have in the other script.
    """
    if not lexicon.words:
        return None
    mixed_case = any(map(str.islower, question))

    def repaired(match: re.Match[str]) -> str:
        written = match.group()
        repair = _repair(written, lexicon, mixed_case=mixed_case)
        return _in_case_of(written, repair.word) if repair and (repair.sure or guess) else written

    result = _in_script_of(_WORD_ALONE.sub(repaired, question), lexicon)
    return result if fold(result) != fold(question) else None


def _repair(written: str, lexicon: Lexicon, *, mixed_case: bool) -> Repair | None:
    word, speller = fold(written), lexicon.speller()
    if not word.isalpha() or has_cjk(word) or len(word) < 4 or speller.knows(word):
        return None
    if word in ENGLISH_STOP_WORDS or word in COMMON_WORDS:
        return None
    if not word.isascii():
        plain = bare(word)
        if plain in lexicon.words:
            return Repair(plain, sure=True, accents_only=True)
        # Whoever writes an accent means it: "Müller" is no slip for "Miller".
        repair = speller.repair(word)
        return repair if repair is not None and not repair.word.isascii() else None
    shouted = written.isupper() and mixed_case
    if shouted and len(word) <= LONGEST_SHORT_FORM:  # A short form, not a slip.
        return None
    if is_english(word):  # Missing, not misspelt: "rider" is no slip of "river".
        return None
    return speller.repair(word)


def _in_script_of(text: str, lexicon: Lexicon) -> str:
    """``text`` with Chinese characters that no document has in the script that they are written in."""
    if not has_cjk(text):
        return text
    others = other_script()
    return "".join(
        others[character]
        if character in others
        and character not in lexicon.words
        and others[character] in lexicon.words
        else character
        for character in text
    )


# Possessive endings, hyphens and neighbours stay as they are.
_WORD_ALONE = re.compile(r"(?<![^\W_])[^\W\d_]+(?![\w&]|['’](?!s\b))")


def _in_case_of(written: str, word: str) -> str:
    if written.isupper():
        return word.upper()
    return word.capitalize() if written[0].isupper() else word


# -------------------------------------------------------------------------------- other ways to write


def other_ways(question: str, lexicon: Lexicon) -> list[tuple[str, str, bool]]:
    """Words of the question with another way to write them that the documents have.

    (as written, as the documents have it, whether they lack it as it is written): numbers
    ("twelve", 12), units, two words that they write as one and one that they write as two, and
    other words of a family ("analyst", analysis) where they lack this one.
    """
    if not lexicon.words:
        return []
    found = [*_joinings(question, lexicon), *_numbers(question, lexicon)]
    matches = [match for match in _WORD_ALONE.finditer(question) if not has_cjk(match.group())]
    for first, second in pairwise(matches):
        between = question[first.end() : second.start()]
        together = fold(first.group() + second.group())
        names = first.group().istitle() and second.group().istitle()
        if (
            not names
            and between in (" ", "-")
            and _joins(fold(first.group()), fold(second.group()), lexicon)
        ):
            # Rarer than its parts, so that it says more than they do.
            found.append((question[first.start() : second.end()], together, True))
    for match in matches:
        word = fold(match.group())
        if len(word) < 6 or lexicon.speller().knows(word) or match.group().isupper():
            continue
        if parts := _parts(word, lexicon):
            found.append((match.group(), parts, True))
        elif (kin := lexicon.speller().kin(word)) is not None:
            found.append((match.group(), kin, True))
    return found


def _joinings(question: str, lexicon: Lexicon) -> Iterator[tuple[str, str, bool]]:
    """Model and part numbers in a joining whose words the documents have: "HK20" as HK-20."""
    for code in codes(question):
        lacks = any(word not in lexicon.words for word in words(code))
        for form in code_joinings(code) if lacks else ():
            if all(word in lexicon.words for word in words(form)):
                yield code, form, True
                break


def _numbers(question: str, lexicon: Lexicon) -> Iterator[tuple[str, str, bool]]:
    for match in _NUMBER.finditer(question):
        word = fold(match.group())
        unit, known = unit_form(word), lexicon.words.get(word, 0)
        forms = number_forms(word) if unit is None else (unit,)
        if _ENDS_IN_NAME.search(question[: match.start()]) and not match.group().islower():
            # Of a name: "World War 2", "Leopold the Third". Elsewhere no Roman numeral is meant.
            roman = (form for form in forms if form.isupper() and len(form) > 1)
            yield from (
                (match.group(), form, True) for form in roman if fold(form) in lexicon.words
            )
        for form in (form for form in forms if not form.isupper()):
            parts = [lexicon.words.get(part, 0) for part in re.split("[- ]", fold(form))]
            if min(parts) > known:
                yield match.group(), form, not known
                break
    for written, form in chinese_number_forms(question):
        if _has_characters("".join(filter(has_cjk, form)), lexicon):
            yield written, form, False


def _joins(first: str, second: str, lexicon: Lexicon) -> bool:
    """Whether the documents write the two as one word, and not merely forgot a blank once."""
    if min(len(first), len(second)) < 3 or not ENGLISH_STOP_WORDS.isdisjoint((first, second)):
        return False
    parted = min(lexicon.words.get(first, 0), lexicon.words.get(second, 0))
    together = lexicon.words.get(first + second, 0)
    return together > 0 and parted <= COMMONER_PARTED * together


def _parts(word: str, lexicon: Lexicon) -> str | None:
    """Two known words that make up an unknown one: the pair whose rarer half is in most documents."""
    halves = [(word[:at], word[at:]) for at in range(4, len(word) - 3)]
    frequency = lexicon.words.get
    known = [
        (min(frequency(first, 0), frequency(second, 0)), f"{first} {second}")
        for first, second in halves
        if frequency(first) and frequency(second)
    ]
    return max(known)[1] if known else None


# A capitalised word that does not begin the question, nor a month: the number after it is its own.
_ENDS_IN_NAME = re.compile(
    r"\S\s+(?!(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec))[A-Z][\w'’-]+ (?:the )?$"
    r"|^(?!(?:Wh|How|In|On|At|Th))[A-Z][\w'’-]+ (?:the )?$"
)
_NUMBER = re.compile(
    r"(?<![\w.,-])(?:\d{1,2}(?:st|nd|rd|th)?|[A-Za-z]+(?:-[A-Za-z]+)?)(?![\w-]|[.,]\d)"
)
