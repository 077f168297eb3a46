"""Two passages of the same kind that differ in one slot: what the slot holds in each; pure.

"offices/berlin/leave.md" and "offices/boston/leave.md" are the same kind of document about two
things. The slot is looked for in the path, the title, the headings, and last in sentences that
are word for word alike but for a name and a value.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Literal

from anabranch import language
from anabranch.reasoning import passages as features
from anabranch.types import Chunk, Passage
from anabranch.written_forms import code_pattern, codes

SlotKind = Literal["path", "title", "heading", "sentence"]

_TOKEN = re.compile(r"[一-鿿]|[^\W_一-鿿]+(?:[.'’](?=\w)[^\W_一-鿿]+)*")
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,5}$")
_NUMBER = re.compile(
    r"\d+(?:[.,:]\d+)*|[一二三四五六七八九十百千两]+(?=[天日月年元周次小个倍名人点时分块台张件米公千克斤吨升度瓦级层间位份页岁])"
    r"|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fourteen|fifteen|twenty|thirty"
    r"|forty|fifty|sixty|ninety|hundred)\b",
    re.IGNORECASE,
)
# A short line without a figure or a mark that ends or divides a sentence is a heading.
_LONGEST_HEADING = 60
_SENTENCE = re.compile(r"[\d.!?;:|,。！？；：，、]")
_HEADING = re.compile(r"^(?P<marks>#{1,6})\s+(?P<heading>.+?)\s*$", re.MULTILINE)
_TABLES = (".csv", ".tsv", ".xlsx", ".xls", ".ods")
_ROMAN = re.compile(r"[IVXLC]{1,7}")
_LONGEST_LABEL = 3
_LONGEST_CJK_LABEL = 6
# What stands before the number of a model: "HK-20".
_LONGEST_LETTERS = 3
# Two answers are of one kind if their words overlap this much; figures need less, since the same
# fact about two things is often told in different words.
_ALIKE_WITH_NUMBERS = 0.12
_ALIKE = 0.25
# Share of equal tokens from which two sentences are the same sentence about two things.
_PARALLEL = 0.6
# Folders that sort files rather than say what they are about.
_SORTING = frozenset((
    "docs", "doc", "document", "documents", "files", "file", "handbook", "intranet", "wiki",
    "archive", "archived", "old", "new", "draft", "drafts", "copy", "final", "backup",
    "current", "latest", "original", "tmp", "temp", "src", "data", "public", "private",
    "shared", "en", "zh", "readme", "index", "part", "page", "chapter", "section",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Contrast:
    """The label of the slot in the first and in the second passage, and where it was found."""

    kind: SlotKind
    first: str
    second: str


def contrast(question: features.CutQuestion, first: Passage, second: Passage) -> Contrast | None:
    """What the two differ in, if they are of one kind and give different values; else None.

    A page and a table that both name a thing are no two things.
    """
    one, other = first.chunk, second.chunk
    if _is_table(one) != _is_table(other):
        return None
    asked = frozenset(question.terms)
    texts = [best_window(asked, chunk.text) for chunk in (one, other)]
    if not all(asked & features.term_set(text) for text in texts):
        return None
    # Sections of one page say different things; only the same sentence in both asks for one.
    if one.chunk_id == other.chunk_id and likeness(*texts) < _PARALLEL:
        return None
    found = _by_sentence(*texts)
    shown = {"title": one.title, "heading": one.context}
    for kind, labels in (
        ("path", _by_path(one, other) if one.source != other.source else None),
        ("title", one_difference(one.title, other.title)),
        ("heading", one_difference(one.context, other.context)),
    ):
        if kind == "path" and labels and _differ_by_number(*labels):
            labels = None
        if labels and is_label(labels[0]) and is_label(labels[1]):
            if kind != "path" and _are_of_one_thing(labels, shown[kind], (one, other)):
                return None
            if not values_differ(texts[0], texts[1], labels=labels):
                return None
            return Contrast(kind, _shown(labels[0]), _shown(labels[1]))  # type: ignore[arg-type]
    return Contrast("sentence", *found) if found else None


def sections(question: features.CutQuestion, passage: Passage) -> list[Passage]:
    """The sections of a passage that say most of what is asked, each with its heading as context.

    The passage itself where fewer than two sections of its lowest level do.
    """
    text = passage.chunk.text
    found = list(_HEADING.finditer(text))
    lowest = max((len(match["marks"]) for match in found), default=0)
    starts = [match for match in found if len(match["marks"]) == lowest]
    ends = [match.start() for match in starts[1:]] + [len(text)]
    asked = frozenset(question.terms)
    cut = [
        _section(passage.chunk, match["heading"], match.end(), end)
        for match, end in zip(starts, ends, strict=False)
    ]
    says = [len(asked & features.term_set(best_window(asked, chunk.text))) for chunk in cut]
    kept = [chunk for chunk, count in zip(cut, says, strict=True) if count == max(says) > 0]
    return [replace(passage, chunk=chunk) for chunk in kept] if len(kept) > 1 else [passage]


def _section(chunk: Chunk, heading: str, start: int, end: int) -> Chunk:
    context = f"{chunk.title} > {heading}"
    return replace(chunk, text=chunk.text[start:end].strip(), context=context)


def _is_table(chunk: Chunk) -> bool:
    return chunk.source.lower().endswith(_TABLES)


def best_window(asked: frozenset[str], text: str) -> str:
    """The sentence of ``text`` with most of the asked terms, with its neighbour if that adds any.

    A heading names a fact without telling it, and of equals the one with a figure tells more.
    """
    sentences = features.cut(text).sentences
    telling = [one for one in sentences if not _is_heading(text[one.start : one.end])] or sentences
    best: tuple[int, bool, int, int] | None = None
    for number, sentence in enumerate(telling):
        for last in telling[number : number + 2]:
            count = len((sentence.term_set | last.term_set) & asked)
            plain = _NUMBER.search(text[sentence.start : last.end]) is None
            # More terms first, then the shorter span: a neighbour must earn its place.
            key = (-count, plain, last.end - sentence.start, sentence.start)
            if best is None or key < best:
                best = key
    return text[best[3] : best[3] + best[2]] if best else ""


def _is_heading(line: str) -> bool:
    return line.startswith("#") or (len(line) < _LONGEST_HEADING and _SENTENCE.search(line) is None)


def path_parts(source: str) -> list[str]:
    """The folders of a path and the file's name without its ending."""
    return re.split(r"[/\\]", _EXTENSION.sub("", source))


# A piece is compared with every other one.
@lru_cache(maxsize=4_096)
def without_figures(text: str) -> str:
    """``text`` with one and the same sign for every figure, so that only words tell texts apart."""
    return _NUMBER.sub("0", text)


def is_mentioned(label: str, text: str) -> bool:
    """Whether ``text`` has the label, or any content word of it."""
    label_terms = features.term_set(label)
    return (
        language.fold(label) in language.fold(text)
        or bool(label_terms & features.term_set(text))
        or any(code_pattern(code).search(text) for code in codes(label))
    )


# Titles and headings of the same few places are compared for every question.
@lru_cache(maxsize=8_192)
def one_difference(one: str, other: str) -> tuple[str, str] | None:
    """What stands in each where the two differ, if that is one short span and the rest is shared."""
    spans = [list(_TOKEN.finditer(text)) for text in (one, other)]
    tokens = [[language.fold(match.group()) for match in matches] for matches in spans]
    head = _shared(tokens[0], tokens[1])
    tail = _shared(tokens[0][head:][::-1], tokens[1][head:][::-1])
    inside = [matches[head : len(matches) - tail] for matches in spans]
    if all(inside):
        inside = [
            _whole_code(text, matches, inner)
            for text, matches, inner in zip((one, other), spans, inside, strict=True)
        ]
    labels = []
    for text, inner in zip((one, other), inside, strict=True):
        if not inner:
            return None
        label = text[inner[0].start() : inner[-1].end()]
        limit = _LONGEST_CJK_LABEL if language.has_cjk(label) else _LONGEST_LABEL
        if len(inner) > limit or "\n" in label:
            return None
        labels.append(label)
    rest = tokens[0][:head] + tokens[0][len(tokens[0]) - tail :]
    shared = [token for token in rest if not token.isdigit()]
    enough = len(shared) >= (2 if any(map(language.has_cjk, shared)) else 1)
    return (labels[0], labels[1]) if enough else None


def _whole_code(
    text: str, matches: Sequence[re.Match[str]], inner: list[re.Match[str]]
) -> list[re.Match[str]]:
    """``inner`` with what a hyphen joins to it: of "HK-20" 20 alone is no name, and HK a poor one."""
    first, last = matches.index(inner[0]), matches.index(inner[-1])
    for start, end in ((first - 1, last), (first, last + 1)):
        if start < 0 or end == len(matches):
            continue
        written = text[matches[start].start() : matches[end].end()]
        if re.search("[-‑]", written) and codes(written) == [written]:
            return list(matches[start : end + 1])
    return inner


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _are_of_one_thing(labels: tuple[str, str], shown: str, chunks: tuple[Chunk, Chunk]) -> bool:
    """Whether two titles are of different documents about one thing, not of one document about two.

    "Dipper warranty" and "Dipper installation": what they share is a name and nothing else, and what differs is
    written small, as kinds of documents are.
    """
    rest = shown.replace(labels[0], " ", 1)
    words = [
        word for word in _TOKEN.findall(rest) if word.lower() not in language.ENGLISH_STOP_WORDS
    ]
    texts = "\n".join(chunk.text for chunk in chunks)
    return (
        bool(words)
        and all(is_always_name(word, texts) for word in words)
        and not any(is_always_name(label, texts) for label in labels)
    )


def is_always_name(word: str, texts: str) -> bool:
    """Whether ``word`` is in Latin script and stands in ``texts`` with a capital only."""
    if language.has_cjk(word) or not word[:1].isupper():
        return False
    return re.search(rf"\b{re.escape(word.lower())}", texts) is None and (
        re.search(rf"[^.!?\s]\s+{re.escape(word)}", texts) is not None
    )


def _by_path(one: Chunk, other: Chunk) -> tuple[str, str] | None:
    parts = [path_parts(chunk.source) for chunk in (one, other)]
    if len(parts[0]) != len(parts[1]):
        return None
    found: set[tuple[str, str]] = set()
    for number, (left, right) in enumerate(zip(*parts, strict=True)):
        if left == right:
            continue
        parent = parts[0][number - 1] if number else ""
        labels = one_difference(left, right)
        if labels is None and not is_slot(left, right, parent, (one, other)):
            return None
        found.add(labels or (left, right))
    return next(iter(found)) if len(found) == 1 else None


def is_slot(
    left: str, right: str, parent: str, chunks: tuple[features.Placed, features.Placed]
) -> bool:
    """Whether a path part that differs as a whole names a thing: a folder "offices" holds
    offices; elsewhere the passages themselves must use it as a name."""
    if sorts_things(parent):
        return True
    if len({PurePosixPath(chunk.source.lower()).suffix for chunk in chunks}) > 1:
        return False
    return all(is_named(label, chunk) for label, chunk in zip((left, right), chunks, strict=True))


def sorts_things(folder: str) -> bool:
    """Whether a folder is called after the things that it holds: "offices"."""
    return folder.lower().endswith("s") and folder.lower() not in _SORTING


def is_named(label: str, chunk: features.Placed) -> bool:
    """Whether a passage calls by ``label`` what it is about, beyond having the word: "people.md"."""
    if is_mentioned(label, f"{chunk.title}\n{chunk.context}"):
        return True
    if language.has_cjk(label):
        return is_mentioned(label, chunk.text)
    return is_always_name(_shown(label), chunk.text)


def _differ_by_number(one: str, other: str) -> bool:
    """Whether two words of paths are one word with and without a running number: "leave2" beside "leave".

    "P7" and "P9" are names: what stands before a running number is a word.
    """
    bare = [re.sub(r"[\s_-]*\d+$", "", language.fold(label)) for label in (one, other)]
    return bare[0] == bare[1] and (len(bare[0]) > _LONGEST_LETTERS or language.has_cjk(bare[0]))


def is_label(label: str) -> bool:
    """Whether a user would recognise the label: no running number, hash or sorting folder."""
    bare = label.lower()
    if label.count("(") != label.count(")"):
        return False  # Half of a bracketed remark.
    if bare in _SORTING or bare in language.ENGLISH_STOP_WORDS:
        return False
    if _ROMAN.fullmatch(label):
        return False
    if bare.isdigit():
        return len(bare) == 4 and bare[:2] in ("19", "20")  # A year.
    return not (len(bare) > 8 and any(c.isdigit() for c in bare) and any(c.isalpha() for c in bare))


def _shown(label: str) -> str:
    if codes(label) == [label]:
        return label.upper() if label.islower() else label
    text = re.sub(r"[-_]+", " ", label).strip()
    if not text.islower():
        return text
    return text.upper() if len(text) <= 2 else text.title()


def values_differ(one: str, other: str, *, labels: tuple[str, str]) -> bool:
    """Whether two windows give different values for the same kind of fact."""
    about = features.term_set(labels[0]) | features.term_set(labels[1])
    terms = [frozenset(language.terms(text)) - about for text in (one, other)]
    alike = len(terms[0] & terms[1]) / max(len(terms[0] | terms[1]), 1)
    numbers = [
        {n.lower() for n in _NUMBER.findall(_without(text, label))}
        for text, label in zip((one, other), labels, strict=True)
    ]
    if numbers[0] and numbers[1]:
        return numbers[0] != numbers[1] and alike >= _ALIKE_WITH_NUMBERS
    if numbers[0] or numbers[1]:
        return False
    return alike >= _ALIKE and bool(terms[0] - terms[1]) and bool(terms[1] - terms[0])


def _without(text: str, label: str) -> str:
    return re.sub(re.escape(label), " ", text, flags=re.IGNORECASE)


def likeness(one: str, other: str) -> float:
    """Share of the words of two texts that stand in both, in the same order."""
    left, right = ([word.lower() for word in _TOKEN.findall(text)] for text in (one, other))
    return difflib.SequenceMatcher(None, left, right, autojunk=False).ratio()


def _by_sentence(one: str, other: str) -> tuple[str, str] | None:
    """The names in two windows that are alike but for a name and a number."""
    spans = [list(_TOKEN.finditer(text)) for text in (one, other)]
    tokens = [[match.group().lower() for match in matches] for matches in spans]
    matcher = difflib.SequenceMatcher(None, tokens[0], tokens[1], autojunk=False)
    if not all(tokens) or matcher.ratio() < _PARALLEL:
        return None
    names: set[tuple[str, str]] = set()
    values = False
    for tag, a_start, a_end, b_start, b_end in matcher.get_opcodes():
        if tag == "equal":
            continue
        if tag != "replace":
            return None
        left = one[spans[0][a_start].start() : spans[0][a_end - 1].end()]
        right = other[spans[1][b_start].start() : spans[1][b_end - 1].end()]
        if _NUMBER.search(left) and _NUMBER.search(right):
            values = True
        elif _is_name(left) and _is_name(right):
            names.add((left, right))
        else:
            return None
    return next(iter(names)) if values and len(names) == 1 else None


def _is_name(span: str) -> bool:
    if language.has_cjk(span):
        return 2 <= len(span) <= _LONGEST_CJK_LABEL
    return span[:1].isupper() and len(span.split()) <= _LONGEST_LABEL
