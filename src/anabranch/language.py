"""Words, sentences and scripts of text; pure. English and Chinese in detail, others by their script.

Everything that compares words (lexicon, grading, answering, the text search columns) uses these
functions, so that a question and a document are always cut in the same way.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache

import Stemmer

from anabranch.grammar import CHINESE_DEGREE

# Han, kana, hangul, bopomofo, with the extension planes: scripts that are found inside a run.
_CJK = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_CJK_CHARACTER = re.compile(f"[{_CJK}]")
# Thai, Lao, Burmese, Khmer: letters, vowels, tones and digits. They too have no blanks between words.
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0eff\u1000-\u1049\u1050-\u109f\u1780-\u17d3"
    "\u17d7\u17dc\u17dd\u17e0-\u17e9\uaa60-\uaa7f"
)
_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")
# Marks of the living scripts. They are no letters to Python, but vowels to Hindi or Tamil.
_COMBINING = "".join(c for c in map(chr, range(0x300, 0x1D00)) if unicodedata.category(c)[0] == "M")
# A CJK run, an unspaced run, or a word of letters, digits and marks. "R&D", "C++" and "3.5" stay whole.
_TOKEN = re.compile(
    rf"[{_CJK}]+|[{_UNSPACED}]+|[^\W_{_CJK}{_UNSPACED}](?:[^\W_{_CJK}{_UNSPACED}]|[{_COMBINING}]"
    r"|['’](?=[^\W\d_])|[.,](?=\d)|&(?=[^\W_]))*\+*#?"
)
# What a text may have or lack without another word being meant: vowel points of Hebrew and Arabic, the
# stroke that draws Arabic letters out, stress in Cyrillic, the dot of a Turkish capital I when it is
# made small, and what cannot be seen.
_OPTIONAL = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u00ad\u200b-\u200f\u2060\ufeff]"
    "|(?<=[\u0400-\u052f])[\u0300\u0301]|(?<=i)\u0307"
)
# The same words of folded text in ASCII, as most of English is, in half the time.
_ASCII_TOKEN = re.compile(r"[a-z0-9]+(?:(?:'(?=[a-z])|[.,](?=[0-9])|&(?=[a-z0-9]))[a-z0-9]+)*\+*#?")

ENGLISH_STOP_WORDS = frozenset(
    [
        "a", "about", "above", "after", "again", "against", "all", "also", "am", "an", "and",
        "any", "are", "aren't", "as", "at", "be", "because", "been", "before", "being", "below",
        "between", "both", "but", "by", "can", "can't", "cannot", "could", "couldn't", "did",
        "didn't", "do", "does", "doesn't", "doing", "don't", "down", "during", "each", "few",
        "for", "from", "further", "had", "hadn't", "has", "hasn't", "have", "haven't", "having",
        "he", "her", "here", "hers", "herself", "him", "himself", "his", "how", "i", "if", "in",
        "into", "is", "isn't", "it", "it's", "its", "itself", "let's", "me", "more", "most", "my",
        "myself", "no", "nor", "not", "of", "off", "on", "once", "only", "or", "other", "our",
        "ours", "ourselves", "out", "over", "own", "please", "same", "shall", "she", "should",
        "so", "some", "such", "tell", "than", "that", "that's", "the", "their", "theirs", "them",
        "themselves", "then", "there", "these", "they", "this", "those", "through", "to", "too",
        "under", "until", "up", "very", "was", "wasn't", "we", "were", "weren't", "what", "what's",
        "when", "where", "which", "while", "who", "who's", "whom", "whose", "why", "will", "with",
        "won't", "would", "wouldn't", "you", "your", "yours", "yourself", "yourselves",
    ]
)  # fmt: skip
# Words of a Chinese question that ask rather than name. Removed before bigrams are made from a
# question, so that 的是/什么 never count as evidence.
CHINESE_QUESTION_WORDS = [
    "请问", "什么", "为什么", "怎么样", "怎么", "怎样", "如何", "哪些", "哪个", "哪里", "哪儿", "哪家", "哪种", "哪年", "哪一",
    "哪", "谁", "多少", "几个", "是否", "有没有", "是不是", "能不能", "可不可以", "可以", "能否", "吗", "呢", "吧", "啊", "了",
    "的", "是", "有", "在", "和", "与", "及", "或", "以及", "这", "那", "我们", "我", "你们", "你", "他们", "他", "她",
    "它", "一下", "请", "告诉", "介绍", "关于", "分别", "各", "都", "也", "就", "被", "把", "对", "从", "到", "为", "以",
    "于", "之",
]  # fmt: skip
# Words that name something and have one of those characters inside: 申请 is no "please", and 埃及
# no "and". They are kept whole.
_CHINESE_NAMING_WORDS = (
    "申请|邀请|聘请|请求|请假|请愿|首都|成都|京都|都市|都会|埃及|普及|涉及"
    "|和平|共和|和谐|温和|饱和|和解|参与|与会|对象|对外|对手|对抗|反对|针对"
    "|相对|绝对|对话|行为|人为|以色列|达到|到期|报到|有限|所有|拥有|有效|国有"
    "|有机|私有|公有|存在|在线|在职|现在|内在|外在|了解|目的|标的|的士|其他"
    "|他人|从事|服从|就业|成就|就职|就读|就诊|被告|被子|把握|自我|我国|申請"
    "|邀請|聘請|請求|請假|參與|與會|對象|對外|對手|對抗|反對|針對|相對|絕對"
    "|對話|行為|人為|達到|有效|有機|現在|從事|服從|就業|成就|就職|就讀"
)
# What is measured is said by the noun beside it, and 期多 in 保修期多长 is a seam of two words.
_CHINESE_DEGREE = f"有?{CHINESE_DEGREE}"
_CHINESE_QUESTION = re.compile(
    f"(?P<kept>{_CHINESE_NAMING_WORDS})|{_CHINESE_DEGREE}|"
    + "|".join(re.escape(word) for word in sorted(CHINESE_QUESTION_WORDS, key=len, reverse=True))
)

_local = threading.local()


# By a script, not by a language: a word alone does not tell its language, and a question and a document
# must be cut alike. For most text in these scripts it is the right one.
_STEMMED_BY_SCRIPT = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
    ("\u1f00", "\u1fff", "greek"),
)


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """The Snowball stem of a lower-case word: the English one (Porter2), or that of its script."""
    first = word[:1]
    language = "english"
    if first >= _STEMMED_BY_SCRIPT[0][0]:
        language = next(
            (name for low, high, name in _STEMMED_BY_SCRIPT if low <= first <= high), language
        )
    stemmer = getattr(_local, language, None)
    if stemmer is None:  # A Stemmer object is not safe across threads.
        stemmer = Stemmer.Stemmer(language, 0)
        setattr(_local, language, stemmer)
    return str(stemmer.stemWord(word))


def has_cjk(text: str) -> bool:
    return not text.isascii() and _CJK_CHARACTER.search(text) is not None


def cjk_share(text: str) -> float:
    """Share of CJK characters among the letters and digits of ``text``."""
    found = len(_CJK_CHARACTER.findall(text))
    letters = sum(map(str.isalnum, text)) if found else 0  # most texts have no CJK at all
    return found / letters if letters else 0.0


# Share of CJK characters from which a text is in a language of that script, whatever else is in it.
_MOSTLY_CJK = 0.3
# A question with one of these asks in English, also about a Chinese word: "What does 保修期 mean?"
_ASKS_IN_ENGLISH = frozenset(
    "who whom whose what when where which why how is are was were do does did can could".split()  # noqa: SIM905
)


def asks_in_cjk(question: str) -> bool:
    """Whether a question is to be read by the rules of Chinese (or Japanese, Korean).

    Names in Latin script are long and say nothing of the language: "Dipper和Plover哪个更重？" has five Chinese
    characters among seventeen letters, and asks with them.
    """
    if not has_cjk(question):
        return False
    return cjk_share(question) >= _MOSTLY_CJK or _ASKS_IN_ENGLISH.isdisjoint(words(question))


def fold(text: str) -> str:
    """``text`` compatibility-composed and lower-cased, without optional marks, for comparing;
    offsets are lost."""
    if text.isascii():
        return text.casefold()
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return _OPTIONAL.sub("", folded)


def words(text: str) -> list[str]:
    """Folded words in order: words of letters whole, CJK runs whole.

    Of Thai, Lao, Burmese and Khmer the overlapping pairs of characters: no other cut of a question
    is sure to be one of a document (nDCG@10 .94 on 40 Thai questions; runs as they stand .74).
    """
    folded = fold(text)
    if folded.isascii():
        return _ASCII_TOKEN.findall(folded)
    found: list[str] = _TOKEN.findall(folded)
    if not _UNSPACED_CHARACTER.search(folded):
        return found
    return [
        piece
        for run in found
        for piece in (bigrams(run) if _UNSPACED_CHARACTER.match(run) else (run,))
    ]


def bigrams(run: str) -> list[str]:
    """Overlapping character pairs of a CJK run; a run of one character is itself."""
    return [run[i : i + 2] for i in range(len(run) - 1)] if len(run) > 1 else [run]


def cjk_bigrams(text: str, *, question: bool = False) -> list[str]:
    """Character pairs of every CJK run in ``text``; ``question`` leaves out the words that ask."""
    folded = fold(text)
    if question:
        stripped = _without_asking(folded)
        folded = stripped if has_cjk(stripped) else folded
    return [pair for run in _TOKEN.findall(folded) if has_cjk(run) for pair in bigrams(run)]


def _without_asking(folded: str) -> str:
    """A folded Chinese question with a blank for each word that asks rather than names."""
    return _CHINESE_QUESTION.sub(lambda match: match["kept"] or " ", folded)


LONGEST_REMEMBERED = 4_000


def terms(text: str) -> list[str]:
    """Search terms of a passage in order: English stems with stop words left out, CJK bigrams."""
    # The same passages are read by every step of a request and by the next requests; a whole
    # document is read once.
    cut = _terms if len(text) <= LONGEST_REMEMBERED else _terms.__wrapped__
    return list(cut(text))


@lru_cache(maxsize=4_096)
def _terms(text: str) -> tuple[str, ...]:
    found: list[str] = []
    for word in words(text):
        if not word.isascii() and _CJK_CHARACTER.match(word):
            found.extend(bigrams(word))
        elif word not in ENGLISH_STOP_WORDS:
            found.append(stem(word.removesuffix("'s")))
    return tuple(found)


def question_terms(text: str) -> list[str]:
    """Distinct search terms of a question in order, without the words that only ask.

    A question made of nothing but stop words keeps them, so that it can still be searched.
    """
    folded = fold(text)
    stripped = _without_asking(folded) if has_cjk(folded) else folded
    found = terms(stripped) or terms(folded) or [stem(word) for word in words(folded)]
    return list(dict.fromkeys(found))


# A sentence ends at . ! ? … (؟ ۔ । ॥ ։ ။ ។ ៕ ። in other scripts) with closing quotes before white
# space, at the CJK marks without it, and at a line that ends a paragraph, a list item or a table row.
_SENTENCE_END = re.compile(
    r"(?P<latin>(?<!\d\.)[.!?…؟۔।॥։။។៕።]+[\"'”’»)\]]*(?=\s))|(?P<cjk>[。！？；…]+[”’」』）]*)|(?P<line>\n)"
)
_ABBREVIATIONS = frozenset(
    [
        "mr", "mrs", "ms", "dr", "prof", "sr", "jr", "st", "vs", "etc", "e.g", "i.e", "fig", "no",
        "inc", "ltd", "co", "corp", "dept", "est", "approx", "cf", "al", "vol", "pp", "ed", "eds",
        "op", "sec", "ch", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct",
        "nov", "dec", "u.s", "u.k",
    ]
)  # fmt: skip


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Spans of the sentences of ``text`` in order, white space at their ends left out.

    English and Chinese; each line of a list, a table or a heading is a sentence of its own, while
    a line break inside a running sentence (as in text from a PDF) does not end it.
    """
    cut = _sentence_spans if len(text) <= LONGEST_REMEMBERED else _sentence_spans.__wrapped__
    return list(cut(text))


@lru_cache(maxsize=4_096)
def _sentence_spans(text: str) -> tuple[tuple[int, int], ...]:
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        end = match.end()
        if match["latin"] and _is_abbreviation(text, start, match.start()):
            continue
        if match["line"] and _line_continues(text, start, match.start(), end):
            continue
        _append_span(spans, text, start, end)
        start = end
    _append_span(spans, text, start, len(text))
    return tuple(spans)


def _append_span(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        spans.append((start, end))


def _is_abbreviation(text: str, start: int, dot: int) -> bool:
    word = re.search(r"[\w.]+$", text[max(start, dot - 12) : dot])
    if word is None or text[dot] != ".":
        return False
    name = word.group().lower()
    # A single letter is an initial ("J. Smith").
    return name in _ABBREVIATIONS or (len(name) == 1 and name.isalpha() and name != "i")


def _line_continues(text: str, start: int, newline: int, after: int) -> bool:
    """Whether a line break stands inside a sentence: a long line, then a lower-case start."""
    line_start = max(text.rfind("\n", 0, newline) + 1, start)
    following = text[after : after + 1]
    long_line = newline - line_start >= 40
    if not following or following.isspace() or not long_line:
        return False
    if "|" in text[line_start:newline] or text[line_start : line_start + 1] == "#":
        return False
    return (
        following.islower()
        or following.isdigit()
        or (has_cjk(following) and has_cjk(text[newline - 1 : newline]))
    )


# A table row or list item is a sentence, so a leaf can have dozens; more windows than this would
# cost more to keep than they tell apart.
MOST_WINDOWS = 12


@lru_cache(maxsize=8_192)
def window_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Spans of neighbouring sentences, two at a time, each sentence in two of them.

    What a question is compared with: a whole passage says too many things at once. A text of one
    sentence is one window; where there would be more than ``MOST_WINDOWS``, each holds more
    sentences. The same text always has the same windows, so that stored vectors stay aligned.
    """
    sentences = sentence_spans(text)
    size = 2
    while len(sentences) - size + 1 > MOST_WINDOWS * (size - 1):
        size += 1
    step = size - 1
    starts = range(0, max(1, len(sentences) - 1), step)
    return tuple(
        (sentences[start][0], sentences[min(start + size, len(sentences)) - 1][1])
        for start in starts
        if sentences
    )
