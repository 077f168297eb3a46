"""Bytes -> clean text: which encoding a file is in, and what is never kept of a text; pure."""

from __future__ import annotations

import codecs
import re
import unicodedata

# Longest first: the UTF-32 mark of little endian begins with the UTF-16 one.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE_BYTES = 65_536

_NEWLINES = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# PDF text marks a hyphen at the end of a line with one of these. Most of them only broke a word;
# beside digits and capitals, and after words that like company, the hyphen was a real one.
_LINE_HYPHEN = re.compile("[\x02\ufffe][ \t]*\r?\n?[ \t]*")
_REAL_HYPHEN = re.compile(
    r"(?:(?<=\d)|(?<=\bself)|(?<=\bSelf)|(?<=\bwell)|(?<=\bWell))[\x02\ufffe]\s*(?=\w)"
    r"|(?<=\w)[\x02\ufffe]\s*(?=[A-Z\d])"
)
# Controls, surrogates, non-characters, and Unicode's Default_Ignorable_Code_Point
# (DerivedCoreProperties.txt): soft hyphen, zero-width and bidi marks, fillers, selectors, tags.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
# Of terminals (ECMA-48: CSI, OSC and its kin), with the printable tail that would be read as words.
CONTROL_SEQUENCES = r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"
_SEQUENCES = re.compile(CONTROL_SEQUENCES)
_ODD_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f]")
_TRAILING = re.compile(r"[^\S\n]+(?=\n|\Z)")
_BLANK_LINES = re.compile(r"\n{4,}")


def normalise(text: str) -> str:
    """``text`` in NFC with plain line ends and spaces, without anything that cannot be seen.

    Words broken by a PDF's hyphen mark are joined; at most two blank lines stand in a row; line
    ends carry no white space. Applying it again changes nothing.
    """
    text = _SEQUENCES.sub("", text)
    text = _LINE_HYPHEN.sub("", _REAL_HYPHEN.sub("-", text))
    text = _NEWLINES.sub("\n", text)
    text = _ODD_SPACES.sub(" ", _INVISIBLE.sub("", text))
    text = unicodedata.normalize("NFC", text)
    return _BLANK_LINES.sub("\n\n\n", _TRAILING.sub("", text))


def decode(data: bytes, *, declared: str | None = None) -> str | None:
    """The text in ``data``, or None where it is not text.

    Tried in this order: byte order mark, UTF-16/32 by where the zero bytes stand, UTF-8, the
    ``declared`` encoding, then the likeliest of the legacy encodings.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, errors="replace")
    if b"\0" in data[:_SAMPLE_BYTES]:
        wide = _wide_encoding(data[:_SAMPLE_BYTES])
        return data.decode(wide, errors="replace") if wide else None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if len(data) > 1_000 and _broken_utf8(data, error.start):
            return data.decode("utf-8", errors="replace")
    if _looks_binary(data[:_SAMPLE_BYTES]):
        return None
    if declared and (text := _strict(data, declared)) is not None:
        return text
    return data.decode(_legacy_encoding(data[:_SAMPLE_BYTES]), errors="replace")


def _strict(data: bytes, encoding: str) -> str | None:
    # Browsers read these names as their supersets (WHATWG Encoding Standard, section 4.2).
    supersets = {"iso-8859-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252",
                 "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932",
                 "euc-kr": "cp949"}  # fmt: skip
    try:
        return data.decode(supersets.get(encoding.lower(), encoding))
    except (LookupError, UnicodeDecodeError, ValueError):
        return None


def _wide_encoding(sample: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark; None where the zero bytes fit no such text."""
    best, best_score = None, 0.0
    for encoding, width in (("utf-32-le", 4), ("utf-32-be", 4), ("utf-16-le", 2), ("utf-16-be", 2)):
        whole = sample[: len(sample) - len(sample) % width]
        if len(whole) < width:
            continue
        try:
            text = whole.decode(encoding)
        except UnicodeDecodeError as error:
            # The sample may end inside a surrogate pair; anything earlier is no such text.
            if error.start < len(whole) - 4 or error.start == 0:
                continue
            text = whole[: error.start].decode(encoding)
        readable = sum(_readable(character) for character in text)
        plain = sum(character < "\u0600" for character in text)
        wide = sum(map(_is_common_wide, text))
        # Read in the wrong order, ASCII looks like rare Han: so plain letters count for more.
        score = (plain + 0.5 * wide) / len(text)
        if readable >= 0.98 * len(text) and plain + wide >= 0.7 * len(text) and score > best_score:
            best, best_score = encoding, score
    return best


def _readable(character: str) -> bool:
    return character in "\n\r\t\f\ufeff" or unicodedata.category(character) not in (
        "Cc", "Cn", "Co", "Cs",
    )  # fmt: skip


def _is_common_wide(character: str) -> bool:
    spaces = unicodedata.category(character) in ("Po", "Ps", "Pe", "Zs")
    return spaces or "\u3040" <= character <= "\u9fff" or "\uac00" <= character <= "\ud7a3"


def _broken_utf8(data: bytes, first_error: int) -> bool:
    """Whether ``data`` is UTF-8 with a few damaged bytes rather than another encoding."""
    text = data[:_SAMPLE_BYTES].decode("utf-8", errors="replace")
    damaged = text.count("\ufffd")
    multibyte = sum(character > "\x7f" for character in text) - damaged
    return multibyte > 20 * damaged or (first_error > _SAMPLE_BYTES and multibyte > damaged)


def _looks_binary(sample: bytes) -> bool:
    controls = sum(byte < 32 and byte not in b"\t\n\r\f\x1b\x02\x0b" for byte in sample)
    return controls > 0.02 * len(sample)


# Legacy encodings with the letters that make most of any running text in them.
_FREQUENT = {
    "gb18030": "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说"
    "产种面而方后多定行学法所民得经，。、；：？！“”（）《》公司员规定申请天月日",
    "big5": "的一是在不了有和人這中大為上個國我以要他時來用們生到作地於出就分對成會可主發年動同工也能下過子說"
    "產種面而方後多定行學法所民得經，。、；：？！「」（）《》公司員規定申請天月日",
    "cp932": "日本人大年月一国会中社事者出行分上名前後時間地方高東京都市田佐藤太郎山川木村"
    "、。「」・ー（）",
    "cp949": "이다는의에을가고를로하은지기한사도서나시인자어대해리스정아그일라수부조제성전보장주과",
}
_EXTRA_KANA = re.compile("[\u3041-\u30fe]")
_HANGUL = re.compile("[\uac00-\ud7a3]")


def _legacy_encoding(sample: bytes) -> str:
    """The likeliest encoding of a text that is no UTF: the best score, Western where none fits."""
    scores = {name: _multibyte_score(sample, name) for name in _FREQUENT}
    scores["cp1251"] = _cyrillic_score(sample)
    scores["cp1252"] = _western_score(sample)
    return max(scores, key=lambda name: (scores[name], name == "cp1252", name))


def _multibyte_score(sample: bytes, encoding: str) -> float:
    """Share of ordinary characters among those outside ASCII, 0 where bytes do not fit."""
    try:
        text = sample.decode(encoding)
    except UnicodeDecodeError as error:
        if error.start < len(sample) - 4 or error.start == 0:
            return 0.0
        text = sample[: error.start].decode(encoding, errors="ignore")
    foreign = [character for character in text if character > "\x7f"]
    if not foreign:
        return 0.0
    total = sum(_character_score(character, encoding) for character in foreign)
    return total / len(foreign)


def _character_score(character: str, encoding: str) -> float:
    if character in _FREQUENT[encoding]:
        return 1.6
    if encoding == "cp932" and _EXTRA_KANA.match(character):
        return 1.2
    if encoding == "cp949":
        return 0.6 if _HANGUL.match(character) else 0.0
    level_one = {"gb18030": ("gb2312", 0xB0, 0xD7), "big5": ("big5", 0xA4, 0xC6),
                 "cp932": ("shift_jis", 0x88, 0x97)}[encoding]  # fmt: skip
    codec, first, last = level_one
    try:
        raw = character.encode(codec)
    except UnicodeEncodeError:
        return -0.5  # Extensions and private use: rare in any real text.
    if len(raw) == 1:
        return -0.3  # Half-width katakana: what Western bytes turn into.
    return 0.7 if first <= raw[0] <= last else 0.1


def _western_score(sample: bytes) -> float:
    """How well high bytes sit between Latin letters, as accents and typographic marks do."""
    text = sample.decode("cp1252", errors="replace")
    good, total = 0.0, 0
    for match in re.finditer(r"[^\x00-\x7f]+", text):
        run = match.group()
        total += len(run)
        before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
        beside_letter = (before + after).isascii() and any(map(str.isalpha, before + after))
        if "\ufffd" in run:
            continue
        if len(run) <= 2 and (beside_letter or run in "“”‘’–—…•€£§©®°·"):
            good += len(run)
        elif run.isalpha() and (run.islower() or run.isupper()):
            good += len(run) * 0.75
    return good / total if total else 0.5


def _cyrillic_score(sample: bytes) -> float:
    """Share of Cyrillic letters in words of ordinary case; needs enough of them to mean anything."""
    try:
        text = sample.decode("cp1251")
    except UnicodeDecodeError:
        return 0.0
    words = re.findall(r"[\u0400-\u04ff]{2,}", text)
    plain = sum(len(word) for word in words if word[1:].islower() or word.isupper())
    high = sum(character > "\x7f" for character in text)
    frequent = sum(character in "оеаинтсрвлОЕАИНТС" for character in text)
    return 0.9 * plain / high if high >= 24 and frequent > 0.45 * high else 0.0
