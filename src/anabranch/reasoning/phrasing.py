"""Other phrasings of a question, made without a model; pure.

A misspelling is replaced, for the documents do not have the word; a short form is spelt out (or a
name shortened) as the documents do; what follows only moves words about, so it counts little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from anabranch.language import (
    CHINESE_QUESTION_WORDS,
    ENGLISH_STOP_WORDS,
    asks_in_cjk,
    fold,
    has_cjk,
    question_terms,
    stem,
)
from anabranch.lexicon import Lexicon
from anabranch.reasoning.qualities import in_nouns, quality
from anabranch.suggestions import expansions, other_ways, spelling
from anabranch.types import Variant

SPELLING_WEIGHT = 1.0  # It stands for the original, which names a word that nothing has.
SHORT_FORM_WEIGHT = 0.3
# The documents lack the word as it is written, so that the question alone finds nothing by it; but
# it may be right (a name that they do not have), or another word be meant.
DOUBTFUL_WEIGHT = 0.3
# A price list never says "cost": this is the same question in the words of a table.
QUALITY_WEIGHT = 0.8
# What the documents do not bear out, and what only moves words about, may add what nothing else
# found, but not reorder: at .3 it cost up to .008 nDCG@10, wordings at .05 still .004 of squad2
# (docs/decisions/0002-fusion.md, 0009-variants.md).
GUESS_WEIGHT = 0.05
WORDING_WEIGHT = 0.02

_LATIN_WORD = re.compile(r"[^\W_]+(?:[-'’.&][^\W_]+)*")
_ASKING_WORDS = frozenset(
    "who whom whose what when where which why how many much".split()  # noqa: SIM905
)
_HEAD = re.compile(
    r"^(?:please\s+)?(?:(?:can|could)\s+you\s+)?(?:tell\s+me\s+(?:about\s+)?|explain\s+|describe\s+)?"
    r"(?P<asking>(?:how\s+(?:many|much|long|often|old|big|far|high)|who|whom|whose|what|when|where|which|why|how)\b)?\s*",
    re.I,
)
_BE_QUESTION = re.compile(
    r"^(?:who|what|which|where|when|how)\s+(?P<verb>is|are|was|were)\s+(?P<rest>.+)$", re.I
)
_DO_QUESTION = re.compile(
    r"^(?:who|what|which(?:\s+\w+)?|what\s+\w+|where|when|why|how(?:\s+(?:many|much|long|often)(?:\s+\w+)?)?)?\s*"
    r"(?:do|does|did|can|could|will|would|should|must|may|has|have|had)\s+(?P<rest>.+)$",
    re.I,
)
_OF = re.compile(
    r"^(?:the\s+|an?\s+)?(?P<attribute>[\w' -]{2,40}?)\s+(?:of|for|in|at)\s+(?:the\s+|an?\s+)?(?P<thing>.+)$",
    re.I,
)
# What an asking word wants to find, in the words of a document.
_WANTED = {
    "when": "date year", "where": "place location", "who": "person name", "why": "reason because",
    "how many": "number", "how much": "amount", "how long": "duration", "how often": "frequency",
}  # fmt: skip

_CHINESE_MEASURES = re.compile(
    "(?:多少|几|幾|哪一?)(?:个|個|名|位|天|年|月|次|种|種|家|座|条|條|件|本|块|元|人|岁|米|公里|部|只|项|項)?"
)
_CHINESE_WHOLE = re.compile("(?:什么|什麼)(?:时候|時候|地方)|何时|何時|何地|哪[里裡儿]|请问|請問")
_CHINESE_ASKING = re.compile(
    "|".join(
        re.escape(word)
        for word in sorted(
            [word for word in CHINESE_QUESTION_WORDS if len(word) > 1 or word in "谁吗呢吧啊了"]
            + [
                "什麼",
                "怎麼",
                "怎樣",
                "誰",
                "幾",
                "嗎",
                "何时",
                "何時",
                "何地",
                "何",
                "什么时候",
                "什麼時候",
                "什么地方",
                "什麼地方",
                "哪里",
                "哪裡",
                "哪儿",
                "有哪些",
                "请问",
                "應該",
                "应该",
            ],
            key=len,
            reverse=True,
        )
    )
)
_CHINESE_WANTED = (
    (re.compile("什么时候|什麼時候|何时|何時|哪[一]?年|哪天|几月|幾月"), "时间 日期"),
    (re.compile("哪里|哪裡|哪儿|何地|在哪|地点"), "地点 位置"),
    (re.compile("谁|誰|哪位"), "姓名 人物"),
    (re.compile("为什么|為什麼|为何|為何"), "原因"),
    (re.compile("多少|几|幾"), "数量"),
    (re.compile("怎么|怎麼|如何|怎样|怎樣"), "方法 步骤"),
)
_PUNCTUATION = re.compile(r"[？?。，,、；;：:！!“”\"‘’（）()]+")


def phrasings(question: str, *, lexicon: Lexicon, limit: int) -> tuple[Variant, ...]:
    """At most ``limit`` different phrasings, the most useful first, none equal to the question."""
    if limit <= 0:
        return ()
    text = " ".join(question.split())
    repaired = spelling(text, lexicon)
    kept: list[Variant] = []
    seen = {_plain(text)}
    for variant in _offered(text, repaired, lexicon):
        key = _plain(variant.text)
        if key and key not in seen:
            seen.add(key)
            kept.append(variant)
        if len(kept) == limit:
            break
    return tuple(kept)


def _plain(text: str) -> str:
    return " ".join(_PUNCTUATION.sub(" ", fold(text)).split())


def _offered(text: str, repaired: str | None, lexicon: Lexicon) -> Iterator[Variant]:
    if repaired is not None:
        yield Variant(repaired, "spelling", SPELLING_WEIGHT, _repair_reason(text, repaired))
    base = repaired or text
    if (guessed := spelling(base, lexicon, guess=True)) is not None:
        yield Variant(guessed, "variant", DOUBTFUL_WEIGHT, _repair_reason(base, guessed))
    for short, long in expansions(base, lexicon):
        if (spelt := _exchanged(base, short, long)) is not None:
            weight = SHORT_FORM_WEIGHT if _borne_out(short, long, lexicon) else GUESS_WEIGHT
            yield Variant(spelt, "variant", weight, f"{short!r} is short for {long!r}")
    for written, form, lacking in other_ways(base, lexicon):
        weight = DOUBTFUL_WEIGHT if lacking else GUESS_WEIGHT
        exchanged = _exchanged(base, written, form)
        if exchanged is not None:
            yield Variant(exchanged, "variant", weight, f"{written!r} written as {form!r}")
    for named in _named_qualities(base, lexicon):
        yield Variant(named, "variant", QUALITY_WEIGHT, "the documents have a noun for it")
    wordings = _chinese_wordings(base) if asks_in_cjk(base) else _english_wordings(base)
    for wording, reason in wordings:
        yield Variant(" ".join(wording.split()), "variant", WORDING_WEIGHT, reason)


def _named_qualities(text: str, lexicon: Lexicon) -> Iterator[str]:
    """The question with the noun for what it asks, where the documents have that noun.

    "What does a Plover cost" as "Plover price": a table names the column, not the verb. 多重 of a Latin name is
    "weight" in a data sheet in English.
    """
    found = quality(text)
    if found is None:
        return
    chinese = asks_in_cjk(text)
    content = (
        _LATIN_WORD.findall(text) if chinese else _content_words(text.replace(found.words, " "))
    )
    for noun in in_nouns(text, lexicon):
        if chinese and has_cjk(noun):
            yield f"{text} {noun}"
        elif content:
            yield f"{' '.join(content)} {noun}"


def _borne_out(short: str, long: str, lexicon: Lexicon) -> bool:
    """Whether the documents say so, or have no other reading: they lack one form altogether.

    Initials of words that merely stand together ("NP" for "Nobel Prize" where the documents speak
    of NP) are a guess.
    """
    key = fold(short)
    if fold(long) in map(fold, lexicon.short_forms.get(key, ())):
        return True
    knows = lexicon.speller().knows
    return not lexicon.words.get(key) or not all(knows(word) for word in fold(long).split())


def _repair_reason(text: str, repaired: str) -> str:
    changed = [
        f"{before!r} read as {after!r}"
        for before, after in zip(text.split(), repaired.split(), strict=False)
        if before != after
    ]
    return "; ".join(changed) or "spelling"


def _exchanged(text: str, short: str, long: str) -> str | None:
    """The question with the form that it has replaced by the other one."""
    for written, other in ((short, long), (long, short)):
        pattern = _standing_alone(written)
        if pattern.search(text):
            return pattern.sub(other.replace("\\", r"\\"), text, count=1)
    return None


@lru_cache(maxsize=1_024)
def _standing_alone(written: str) -> re.Pattern[str]:
    edges = (
        ("", "") if has_cjk(written) else (r"(?<![^\W\u3400-\u9fff])", r"(?![^\W\u3400-\u9fff])")
    )
    # In mixed text a Latin word ends where Chinese begins, which \b does not see. Case is left out
    # of the edges: to compile a range of all Chinese characters without it takes 10 ms.
    inner = re.escape(written).replace(r"\ ", r"[\s-]+")
    return re.compile(f"{edges[0]}(?i:{inner}){edges[1]}")


def _content_words(text: str) -> list[str]:
    return [
        word
        for word in _LATIN_WORD.findall(text)
        if fold(word) not in ENGLISH_STOP_WORDS and fold(word) not in _ASKING_WORDS
    ]


def _english_wordings(text: str) -> Iterator[tuple[str, str]]:
    bare = text.strip(" ?.!")
    head = _HEAD.match(bare)
    named = bare[head.end() :] if head else bare
    content = _content_words(named)
    if not content:
        return
    yield " ".join(content), "content words only"
    if statement := _statement(bare):
        yield statement, "as a statement"
    asking = " ".join(head["asking"].lower().split()) if head and head["asking"] else ""
    if asking in _WANTED:
        yield f"{' '.join(content)} {_WANTED[asking]}", f"with what {asking!r} asks for"
    if swapped := _swapped(bare):
        yield swapped, "thing before attribute"
    stems = [_base(word) for word in content]
    yield " ".join(stems), "words in their base form"
    if len(content) > 2:
        yield " ".join(reversed(content)), "content words, last first"
        # The longest words are mostly the rarest ones.
        longest = set(
            sorted(content, key=lambda word: (-len(word), word))[: max(2, len(content) // 2)]
        )
        yield " ".join(word for word in content if word in longest), "its longest words"
        yield " ".join(content[1:]), "without its first content word"


def _statement(bare: str) -> str | None:
    """ "What is the capital of France" as "the capital of France is"."""
    if match := _BE_QUESTION.match(bare):
        return f"{match['rest']} {match['verb'].lower()}"
    if match := _DO_QUESTION.match(bare):
        return str(match["rest"])
    return None


def _swapped(bare: str) -> str | None:
    """ "The capital of France" as "France capital"."""
    match = _BE_QUESTION.match(bare)
    named = _OF.match(match["rest"] if match else bare)
    return f"{named['thing']} {named['attribute']}" if named else None


def _base(word: str) -> str:
    """A shorter form of a word that search may know better: singular, or the stem if it is a word."""
    lowered = word.lower()
    if word != lowered:
        return word
    if lowered.endswith("ies") and len(lowered) > 4:
        return lowered[:-3] + "y"
    if lowered.endswith("s") and not lowered.endswith(("ss", "us", "is")) and len(lowered) > 3:
        return lowered[:-1]
    return stem(lowered) if lowered.endswith(("ing", "ed")) else word


def _chinese_wordings(text: str) -> Iterator[tuple[str, str]]:
    bare = _PUNCTUATION.sub(" ", text).strip()
    # Whole words before their parts: 什么时候 before 什么, 多少天 before 多少.
    for words_that_ask in (_CHINESE_WHOLE, _CHINESE_MEASURES, _CHINESE_ASKING):
        bare = words_that_ask.sub(" ", bare)
    content = " ".join(bare.split())
    content = re.sub(
        r"(?<=\S)(?:是|有|在|为|為)(?= |$)|(?:^|(?<= ))(?:是|有|在)(?=\S)", "", content
    )
    content = content.strip().removesuffix("的")
    if not content:
        return
    yield content, "content words only"
    split = " ".join(piece for piece in re.split("[的之\\s]+", content) if piece)
    yield split, "split at its joints"
    for pattern, wanted in _CHINESE_WANTED:
        if pattern.search(text):
            yield f"{content} {wanted}", "with what it asks for"
            break
    pieces = split.split()
    if len(pieces) > 1:
        yield " ".join(reversed(pieces)), "attribute first"
    terms = [term for term in question_terms(text) if has_cjk(term)]
    yield " ".join(terms), "as character pairs"
    yield f"关于{content}的说明", "as a heading"
    yield f"{content}是", "as a statement"
