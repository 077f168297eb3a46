"""Short forms that a text introduces itself, with their long forms; pure.

English introductions are checked letter by letter after Schwartz & Hearst, "A simple algorithm for
identifying abbreviation definitions in biomedical text" (PSB 2003): every letter of the short
form must be found in the long form, from right to left, the first one at the start of a word.
Chinese long forms share no letters with a Latin short form, so there the wording has to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from anabranch.language import fold, has_cjk

_SHORT = r"[A-Za-z][A-Za-z0-9&./-]{1,9}"
_PARENTHESIS = re.compile(r"[(（]([^()（）\n]{2,120})[)）]")
_WORD = re.compile(r"[^\W_](?:[^\s()（）,;:，；：。]*[^\W_])?")
_SHORT_FORM = re.compile(rf"{_SHORT}\Z")
# The word right before a parenthesis, as in "SLA (service level agreement)".
_SHORT_BEFORE = re.compile(rf"(?<![A-Za-z0-9])({_SHORT})\s?\Z")
_GLOSSARY_LINE = re.compile(
    rf"(?:^[ \t>*•|#-]*|[.;] )\**({_SHORT})\**[ \t]*(?:[:：=|]|[-–—](?=\s)|\bmeans\b|\bstands for\b)"
    r"[ \t]*\**([^\n|.;:：。；]{4,100})",
    re.MULTILINE,
)
_SPOKEN = re.compile(
    rf"\b({_SHORT})\b,? (?:which )?(?:stands for|is short for|is an abbreviation (?:of|for))"
    r" ([^\n.;:,()]{4,100})"
)
_OR_SHORT = re.compile(
    r"(?:, or|,? (?:abbreviated(?: as| to)?|known as|hereinafter)) [\"“']?([A-Z][A-Z0-9&]{1,7})\b"
)
_ROMAN_NUMERAL = re.compile(r"[IVXLC]+\Z")
# What a Chinese parenthesis or clause says before the short form: （以下简称“人资部”）.
_CHINESE_LABEL = re.compile(
    r"(?:以下|下文|下称|英文)?(?:简称|簡稱|缩写|縮寫|英文名|又称|又稱|全称|全稱|即)(?:为|為|是|作)?"
    r"[:：]?\s*"
)
_CHINESE_CALLED = re.compile(
    r"([\u4e00-\u9fff]{3,20})[，,]?(?:以下|下文)?(?:简称|簡稱|缩写为|縮寫為)(?:为|為)?[“\"「『]?"
    r"([A-Za-z][A-Za-z0-9&-]{1,9}|[\u4e00-\u9fff]{2,6}?)(?=[”\"」』，,。；）)\s]|\Z)"
)
_CHINESE_RUN_END = re.compile(r"[\u3400-\u9fff]{2,24}\Z")
# Words that join a name to what stands before it: the name begins after the last of them.
_CHINESE_JOINTS = re.compile(
    "的|由|和|与|與|及|或|是|在|向|对|對|为|為|将|將|把|被|给|給|从|從|请|請|称作|称为|稱為|使用|采用|採用|"
    "通过|通過|根据|根據|按照|联系|聯繫|提交|属于|屬於|包括|负责|負責|我们|我們|公司|本"
)
# Chinese short forms that everybody knows and few documents introduce. Their characters are taken
# from anywhere in the long form, so that neither search nor initials lead from one to the other.
COMMON_CHINESE = {
    "一战": "第一次世界大战", "二战": "第二次世界大战", "奥运会": "奥林匹克运动会",
    "冬奥": "冬季奥林匹克运动会", "世卫": "世界卫生组织", "世贸": "世界贸易组织",
    "北约": "北大西洋公约组织", "欧盟": "欧洲联盟", "东盟": "东南亚国家联盟", "非盟": "非洲联盟",
    "政协": "政治协商会议", "发改委": "发展和改革委员会", "国资委": "国有资产监督管理委员会",
    "央行": "中央银行", "社保": "社会保险", "医保": "医疗保险", "个税": "个人所得税",
    "高铁": "高速铁路", "地铁": "地下铁路", "环评": "环境影响评价", "知产": "知识产权",
    "职代会": "职工代表大会", "董监高": "董事、监事和高级管理人员", "人社局": "人力资源和社会保障局",
    "高考": "高等学校招生考试", "研招": "研究生招生", "家电": "家用电器",
    "科研": "科学研究", "环保": "环境保护", "维和": "维持和平",
    "彩电": "彩色电视机", "超市": "超级市场",
}  # fmt: skip
_ARTICLES = ("the", "a", "an", "this", "our")
_QUOTES = "“”\"'「」『』‘’ \t*_"


def introductions(text: str) -> list[tuple[str, str]]:
    """Pairs (folded short form, long form) in the order in which ``text`` introduces them."""
    found: dict[tuple[str, str], None] = {}
    for short, long in _candidates(text):
        cleaned = " ".join(long.strip(_QUOTES + "-,.，。：:").split())
        key = fold(short.strip(_QUOTES).rstrip("."))
        if 2 <= len(key) < len(cleaned) and key != fold(cleaned):
            found[(key, cleaned if has_cjk(cleaned) else fold(cleaned))] = None
    return list(found)


def _candidates(text: str) -> Iterator[tuple[str, str]]:
    for match in _PARENTHESIS.finditer(text):
        before = text[max(0, match.start() - 160) : match.start()]
        yield from _parenthetical(before, match[1].strip())
    for match in _GLOSSARY_LINE.finditer(text):
        yield from _defined(match[1], match[2])
    # Any word may be the first of such a sentence; that it is said at all is found at once.
    if any(saying in text for saying in ("stands for", "short for", "abbreviation")):
        for match in _SPOKEN.finditer(text):
            yield from _defined(match[1], match[2])
    for match in _OR_SHORT.finditer(text):
        yield from _before(text[max(0, match.start() - 160) : match.start()], match[1])
    if has_cjk(text):
        for match in _CHINESE_CALLED.finditer(text):
            yield from _chinese_before(match[1], match[2])


def _parenthetical(before: str, inside: str) -> Iterator[tuple[str, str]]:
    label = _CHINESE_LABEL.match(inside)
    content = (inside[label.end() :] if label else inside).strip(_QUOTES)
    pieces = [piece.strip(_QUOTES) for piece in re.split(r"[,，;；、]", content) if piece.strip()]
    short_before = _SHORT_BEFORE.search(before)
    if len(pieces) > 1 and _is_short(pieces[-1]):
        # 企业资源计划（Enterprise Resource Planning，ERP） gives the short form two long forms.
        yield from _defined(pieces[-1], pieces[0])
        yield from _before(before, pieces[-1])
    elif pieces and (_is_short(pieces[0]) or (label and len(pieces[0]) <= 6)):
        yield from _before(before, pieces[0])
    if pieces and short_before and _is_short(short_before[1]):
        yield from _defined(short_before[1], pieces[0])


def _is_short(candidate: str) -> bool:
    """Two to ten characters, mostly capitals or with one inside ("kPa"); no numeral, no word."""
    if not _SHORT_FORM.match(candidate) or _ROMAN_NUMERAL.match(candidate):
        return False
    capitals = sum(map(str.isupper, candidate))
    return 2 * capitals >= len(candidate) or any(map(str.isupper, candidate[1:]))


def _before(before: str, short: str) -> Iterator[tuple[str, str]]:
    """The long form that ends where ``before`` ends."""
    before = before.rstrip(_QUOTES + "，,")
    if _CHINESE_RUN_END.search(before):
        yield from _chinese_before(before, short)
        return
    words = list(_WORD.finditer(re.split(r"[.;!?](?=\s)|\n\s*\n", before)[-1]))
    allowed = min(len(short) + 5, 2 * len(short))  # Schwartz & Hearst, section 3.1.
    candidates = [match.group() for match in words[-allowed:]]
    for count in range(2, len(candidates) + 1):
        # Initials before letters: "PPE" takes its P from "Personal", not from "equipment".
        if _initials_cover(short, candidates[-count:], whole=True):
            yield short, " ".join(candidates[-count:])
            return
    # Two letters are found in order in almost any words, so there only initials prove anything.
    if len(short) > 2 and (long := _matched(short, " ".join(candidates))):
        yield short, long


def _chinese_before(before: str, short: str) -> Iterator[tuple[str, str]]:
    run = _CHINESE_RUN_END.search(before)
    if run is None:
        return
    name = _CHINESE_JOINTS.split(run.group())[-1]
    if has_cjk(short):
        start = name.find(short[0])
        if start >= 0 and _letters_in_order(short, name[start:]):
            yield short, name[start:]
    elif 2 <= len(name) <= 14:
        yield short, name


def _defined(short: str, long: str) -> Iterator[tuple[str, str]]:
    """A long form that stands after its short form: here it must begin with the first letter."""
    if not _is_short(short):
        return
    if has_cjk(long):
        run = re.match(r"[\u3400-\u9fff]{2,20}", long.strip(_QUOTES))
        if run and run.group() == long.strip(_QUOTES):
            yield short, run.group()
        return
    allowed = min(len(short) + 5, 2 * len(short))
    words = [match.group() for match in _WORD.finditer(long)][:allowed]
    # The shortest beginning whose words give every letter: what follows is the explanation.
    for count in range(2, len(words) + 1):
        beginning = " ".join(words[:count])
        if _matched(short, beginning) == beginning and _initials_cover(short, words[:count]):
            yield short, beginning
            return


def _initials_cover(short: str, words: list[str], *, whole: bool = False) -> bool:
    """Whether every letter of ``short`` starts a word, in order, so that chance is left out.

    ``whole``: the first word gives the first letter.
    """
    letters = [letter for letter in fold(short) if letter.isalnum()]
    initials = [fold(part)[0] for word in words for part in re.split(r"[-/]", word) if part]
    if whole and (letters[:1] != initials[:1] or words[0].lower() in _ARTICLES):
        return False
    position = 0
    for letter in letters:
        if letter in initials[position:]:
            position = initials.index(letter, position) + 1
        else:
            return False
    return True


def _matched(short: str, window: str) -> str | None:
    """The shortest end of ``window`` that holds the letters of ``short`` in order, or None."""
    letters = [letter for letter in fold(short) if letter.isalnum()]
    folded = window.casefold()
    if len(folded) != len(window):
        return None
    position = len(folded)
    for index in range(len(letters) - 1, -1, -1):
        position -= 1
        while position >= 0 and (
            folded[position] != letters[index]
            or (index == 0 and position > 0 and folded[position - 1].isalnum())
        ):
            position -= 1
        if position < 0:
            return None
    long = window[position:]
    enough = len(long) > len(short) and len(long.split()) <= len(letters) + 5
    # "the agreement (TA)" matches letter by letter, but no name begins with an article.
    article = long.split()[0].lower() in _ARTICLES
    return long if enough and not article and fold(short) not in fold(long).split() else None


def _letters_in_order(short: str, long: str) -> bool:
    remaining = iter(long)
    return len(long) > len(short) and all(letter in remaining for letter in short)


_CAPITALS = re.compile(r"(?<![\w-])[A-Z][A-Z0-9]{1,5}(?![\w-])")


def capitals(text: str) -> Iterator[str]:
    """Folded words in capitals on lines that also have lower-case words: used, maybe undefined."""
    for line in text.split("\n"):
        found = [word for word in _CAPITALS.findall(line) if not _ROMAN_NUMERAL.match(word)]
        if found and (any(map(str.islower, line)) or has_cjk(line)):
            yield from map(fold, found)
