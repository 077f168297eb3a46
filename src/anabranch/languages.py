"""Which language a text is in, as far as a notice needs it; pure.

By script first; among Latin scripts by the words that make up half of any text of a language. A text
that is too short or too mixed has none.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache

from anabranch.language import words

# Enough to tell a language by, and little beside what reading the document took.
_SAMPLE = 4_000
_LEAST_LETTERS = 20
# Share of its words that stop words have in running text of a language: a third to a half.
_LEAST_SHARE = 0.12

NAMES: Mapping[str, str] = {
    "en": "English", "zh": "Chinese", "ja": "Japanese", "ko": "Korean", "ru": "Russian",
    "uk": "Ukrainian", "ar": "Arabic", "he": "Hebrew", "el": "Greek", "hi": "Hindi", "th": "Thai",
    "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pt": "Portuguese",
    "nl": "Dutch", "pl": "Polish", "sv": "Swedish", "tr": "Turkish", "vi": "Vietnamese",
    "other": "another language",
}  # fmt: skip

# The first word of a character's Unicode name says its script; these stand for one language.
_OF_SCRIPT: Mapping[str, str] = {
    "CJK": "zh", "HIRAGANA": "ja", "KATAKANA": "ja", "HANGUL": "ko", "CYRILLIC": "ru",
    "ARABIC": "ar", "HEBREW": "he", "GREEK": "el", "DEVANAGARI": "hi", "THAI": "th",
}  # fmt: skip
_IN_LATIN_SCRIPT = frozenset(
    ["en", "de", "fr", "es", "it", "pt", "nl", "pl", "sv", "tr", "vi", "other"]
)
# A Chinese question may well have half of its letters in an English name.
_LEAST_LATIN = 0.7
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())
REMEDY = (
    "For Chinese and some ninety other languages: anabranch models add multilingual, then "
    "anabranch reindex --model multilingual."
)
_UKRAINIAN = frozenset("іїєґ")

_STOP_WORDS: Mapping[str, frozenset[str]] = {
    language: frozenset(listed.split())
    for language, listed in {
        "en": "the of and to in is that for it as was with be by on not he this are or from at",
        "de": "der die und das in den von zu mit sich des auf für ist im dem nicht ein eine als auch",
        "fr": "le la les de des et du en un une est que qui dans pour par sur pas au ce il plus",
        "es": "el la los las de que y en un una por con para se del es no su al lo como más",
        "it": "il la le di che e in un una per con del della non si è i da al dei sono come",
        "pt": "o a os as de que e em um uma para com do da não se na no por mais dos das",
        "nl": "de het een van en in is dat op te voor met zijn niet aan er ook als bij door",
        "pl": "w i na z się nie do to jest że o jak po przez od dla są oraz co za",
        "sv": "och i att det som en på är av för med till den har inte om ett de från var",
        "tr": "ve bir bu için de da ile olarak olan en daha çok gibi kadar sonra ne her",
        "vi": "của và là có được trong các cho không với một những người này khi để từ đã",
    }.items()
}
# Each stop word with the languages that have it.
_STOPPED_BY: Mapping[str, Sequence[str]] = {
    word: [language for language, stops in _STOP_WORDS.items() if word in stops]
    for word in frozenset[str]().union(*_STOP_WORDS.values())
}


def language_of(text: str) -> str | None:
    """The code of the language of ``text``, "other" where it is none that is known by name.

    None where there is too little to tell.
    """
    sample = text[:_SAMPLE]
    scripts: Counter[str] = Counter()
    for character, count in Counter(sample).items():  # a page has some sixty of them
        if character.isalpha():
            scripts[_script(character)] += count
    letters = scripts.total()
    if letters < _LEAST_LETTERS and not (letters and scripts.keys() - {"LATIN"}):
        return None
    script, count = scripts.most_common(1)[0]
    if script == "CJK" and scripts["HIRAGANA"] + scripts["KATAKANA"] > 0.1 * letters:
        return "ja"
    if count < 0.5 * letters:
        script = next((name for name, _ in scripts.most_common() if name != "LATIN"), script)
    if script == "CYRILLIC" and _UKRAINIAN & set(sample.casefold()):
        return "uk"
    if script != "LATIN":
        return _OF_SCRIPT.get(script, "other")
    return _latin(words(sample))


def _latin(found: Sequence[str]) -> str | None:
    counts = dict.fromkeys(_STOP_WORDS, 0)
    for word in found:
        for language in _STOPPED_BY.get(word, ()):
            counts[language] += 1
    best = max(counts, key=lambda language: (counts[language], language == "en"))
    # Names and tables have no stop words in any language: nothing is said of them.
    return best if counts[best] / max(len(found), 1) >= _LEAST_SHARE else None


@lru_cache(maxsize=8_192)
def _script(character: str) -> str:
    return "LATIN" if character.isascii() else unicodedata.name(character, "").partition(" ")[0]


def is_readable(text: str, languages: Set[str] | None) -> bool:
    """Whether an encoder for ``languages`` (None: all) has seen the script of ``text``.

    One for English makes something of other languages in its own script, and noise of all others.
    """
    if languages is None or text.isascii() or not languages <= _IN_LATIN_SCRIPT:
        return True
    # Asked of every hit: English with its quotation marks and dashes is told by bytes alone.
    plain = text.encode("ascii", "ignore")
    latin, others = len(plain.translate(None, _NO_LETTERS)), len(text) - len(plain)
    if latin >= _LEAST_LATIN * (latin + others):
        return True
    return _is_latin(text)


@lru_cache(maxsize=4_096)
def _is_latin(text: str) -> bool:
    letters = [_script(character) for character in text if character.isalpha()]
    return not letters or letters.count("LATIN") >= _LEAST_LATIN * len(letters)


def question_notices(question: str, languages: Set[str] | None) -> tuple[str, ...]:
    """What is to be said of a question that the encoder does not read."""
    if is_readable(question, languages):
        return ()
    named = NAMES.get(language_of(question) or "other", NAMES["other"])
    return (
        f"The embedding model in use does not read {named}: the question was searched and judged by "
        f"its words alone. {REMEDY}",
    )


def document_notices(found: Mapping[str, int], languages: Set[str] | None) -> tuple[str, ...]:
    """What is to be said of documents, counted by language, that the encoder does not read."""
    if languages is None:
        return ()
    foreign = {code: number for code, number in found.items() if code not in languages}
    if not foreign:
        return ()
    ordered = sorted(foreign.items(), key=lambda item: (-item[1], item[0]))
    listed = ", ".join(f"{number} in {NAMES.get(code, code)}" for code, number in ordered)
    return (
        f"Of {sum(found.values())} documents {listed}: the embedding model in use reads English, so "
        f"that these are found by their words alone. {REMEDY}",
    )
