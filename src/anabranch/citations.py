"""The citation guard: what an answer says, held against the evidence that it names; pure.

One for answers of either kind. It never asks a model, so that nothing that a document or a model
says can talk it out of its finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from anabranch import language
from anabranch.language import question_terms, sentence_spans, terms
from anabranch.shown_text import ShownText
from anabranch.types import Answer, Citation, Evidence
from anabranch.values import MONTHS, Value, values

_MARKER = re.compile(r"\[(\d+)\]")
_SPACED_MARKER = re.compile(r"[ \t]*\[(\d+)\]")
_MARKERS_BEHIND = re.compile(r"(?:[ \t]*\[\d+\])+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NUMBER_ALONE = re.compile(r"(?<![A-Za-z0-9_])\d+(?:[.,]\d+)*(?![A-Za-z0-9_])")
# Of a sentence's terms, those that have to stand in what it cites: a model words things its own way.
_LEAST_FOUND = 0.5
# Below this share of one script and above it of the other, words cannot be compared.
_OTHER_SCRIPT = 0.1
_QUOTED = re.compile(
    r"\"([^\"\n]{2,600})\"|[“„]([^“”„\n]{2,600})[“”]|«([^»\n]{2,600})»|「([^」\n]{2,600})」|『([^』\n]{2,600})』"
)
_LEFT_OUT = re.compile(r"\s*(?:\[?(?:…|\.\.\.)\]?|\[[^\]\d][^\]]*\])\s*")
# Less than this in quotation marks is a word that is talked about.
_LEAST_QUOTED_WORDS, _LEAST_QUOTED_CJK = 2, 4
# A whole word behind another one: at the beginning of a sentence any word is capitalised.
_NAME = re.compile(r"(?:(?<=[^\W\d_] )|(?<=, ))[^\W\d_]{3,}(?:['’-]\w+)*(?!\w)")
_NO_NAMES = frozenset(
    (*MONTHS, "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
)
# A count in words may be the writer's own ("both", "two offices"); an amount of these is not.
_MEASURES = frozenset(
    ("second", "day", "month", "%", "€", "$", "£", "¥", "gram", "metre", "date", "time of day")
)
# That the evidence does not say something stands nowhere in it, and is no claim about the world.
_SAYS_NOTHING = re.compile(
    r"\b(?:do(?:es)? not|did not|don['’]t|doesn['’]t|never|not) (?:\w+ )?"
    r"(?:say|state|mention|contain|provide|specify|include|give|cover|describe|address|indicate|"
    r"answer|name|list|stated|mentioned|specified|given|covered|found|said|provided)\b"
    r"|\b(?:no|without) (?:\w+ )?(?:information|mention|details?|evidence)\b"
    r"|(?:没有|并未|未|没|不)(?:明确|直接|具体)?(?:提到|提及|说明|记载|给出|包含|涉及|提供|写明|找到|指出|列出|回答)"
    r"|没有(?:相关|任何)?(?:信息|说明|内容|记载|资料)",
    re.IGNORECASE,
)
_MOST_QUOTED_SENTENCES = 2


def guard(answer: Answer, evidence: Sequence[Evidence]) -> Answer:
    """``answer`` with every citation proven, whoever wrote it.

    Markers come in one form, ``[1][2]``; one that resolves to no evidence is removed and its
    sentence listed as unsupported. So is a sentence without a marker, one with a quotation, a
    number or a name that is not in what it cites, and one most of whose words are not there. A
    citation whose quote does not stand in its evidence is dropped, and one made for every marker
    that has none. Addresses and pictures that are not in the evidence are not shown.
    """
    # Keyed by the digits as written: "[01]" or a number of a thousand digits is no marker of ours.
    by_marker = {str(number): item for number, item in enumerate(evidence, start=1)}
    as_written = ShownText(evidence, keep_markers=True).whole(answer.text)
    unsupported = list(answer.unsupported)
    said = list((_cited_quotes if answer.mode == "extractive" else _cited_sentences)(as_written))
    for sentence, markers in said:
        found = [by_marker[marker] for marker in markers if marker in by_marker]
        if len(found) < len(markers) or not _supported(sentence, found, mode=answer.mode):
            unsupported.append(sentence)
    citations = [citation for citation in answer.citations if _proven(citation, by_marker)]
    cited = {citation.marker for citation in citations}
    citations += [
        citation for citation in _citations(said, by_marker) if citation.marker not in cited
    ]
    return replace(
        answer,
        text=ShownText(evidence).whole(answer.text),
        citations=tuple(
            replace(citation, page=_page_of(citation.quote, by_marker[str(citation.marker)]))
            for citation in citations
        ),
        unsupported=tuple(dict.fromkeys(unsupported)),
    )


def cite(text: str, evidence: Sequence[Evidence]) -> tuple[Citation, ...]:
    """A citation for each sentence of ``text`` and each marker in it, with what supports it best."""
    by_marker = {str(number): item for number, item in enumerate(evidence, start=1)}
    as_written = ShownText(evidence).whole(text)
    return tuple(_citations(list(_cited_sentences(as_written)), by_marker))


def _citations(
    said: Sequence[tuple[str, list[str]]], by_marker: Mapping[str, Evidence]
) -> list[Citation]:
    found: dict[tuple[str, str], Citation] = {}
    for sentence, markers in said:
        for marker in markers:
            item = by_marker.get(marker)
            for quote in supporting(sentence, item.text) if item else ():
                citation = Citation(int(marker), item.id if item else "", quote)
                found.setdefault((marker, quote), citation)
    return list(found.values())


# --------------------------------------------------------------------------- what is said, by whom


def _cited_sentences(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each sentence without its markers, and the markers; those right behind its end are its own.

    "It is 30 days. [1]" is as common a way to cite as "It is 30 days [1]."
    """
    taken = 0
    for start, end in _whole_quotations(text, sentence_spans(text)):
        start = max(start, taken)
        behind = _MARKERS_BEHIND.match(text, end)
        taken = behind.end() if behind else end
        sentence = _SPACED_MARKER.sub("", text[start:end]).strip()
        if sentence:
            yield sentence, _MARKER.findall(text[start:taken])


def _whole_quotations(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """``spans`` with those joined that a quotation goes over: it is cited at its end."""
    open_at: int | None = None
    for number, (start, end) in enumerate(spans):
        begin = start if open_at is None else open_at
        last = number == len(spans) - 1 or "\n" in text[end : spans[number + 1][0]]
        if _is_open(text[begin:end]) and not last:
            open_at = begin
            continue
        open_at = None
        yield begin, end


def _is_open(sentence: str) -> bool:
    pairs = (("“", "”"), ("「", "」"), ("『", "』"), ("«", "»"))
    return sentence.count('"') % 2 == 1 or any(
        sentence.count(left) > sentence.count(right) for left, right in pairs
    )


def _cited_quotes(text: str) -> Iterator[tuple[str, list[str]]]:
    """What stands before each marker of an extractive answer, which is one quote.

    A table row or a line of a document can have a full stop in it, and is cited at its end.
    """
    for line in text.split("\n"):
        start = 0
        for match in _MARKERS_BEHIND.finditer(line):
            if quote := line[start : match.start()].strip():
                yield quote, _MARKER.findall(match.group())
            start = match.end()
        if rest := line[start:].strip():
            yield rest, []


def _page_of(quote: str, item: Evidence) -> int | None:
    """The page that the quote begins on: that of the narrowest known place around it."""
    at = item.start + item.text.find(quote)
    around = [
        place
        for place in item.provenance
        if place.source_id == item.source_id and place.start <= at < place.end
    ]
    narrowest = min(around, key=lambda place: place.end - place.start, default=None)
    return item.page if narrowest is None else narrowest.page


def _proven(citation: Citation, by_marker: Mapping[str, Evidence]) -> bool:
    item = by_marker.get(str(citation.marker))
    return item is not None and item.id == citation.evidence and citation.quote in item.text


def supporting(sentence: str, text: str) -> tuple[str, ...]:
    """The sentences of ``text`` that ``sentence`` rests on: the closest, and one that adds to it.

    All of ``text`` where none has a word in common, as between languages.
    """
    spans = sentence_spans(text)
    wanted = _held(sentence)
    chosen: list[tuple[int, int]] = []
    for _ in range(_MOST_QUOTED_SENTENCES):
        shares = {span: len(wanted & _held(text[span[0] : span[1]])) for span in spans}
        best = max(shares, key=lambda span: (shares[span], -span[0]), default=None)
        # A second one for a single word would quote what is beside the point.
        if best is None or shares[best] < (2 if chosen else 1):
            break
        chosen.append(best)
        wanted -= _held(text[best[0] : best[1]])
    if not chosen:
        return (text,) if text else ()
    return tuple(text[start:end] for start, end in sorted(chosen))


@lru_cache(maxsize=2_048)
def _held(text: str) -> frozenset[str]:
    """Terms of ``text``, and its numbers once more: they decide between sentences alike."""
    return frozenset(terms(text)) | {f"#{number}" for number in _numbers(text)}


# ------------------------------------------------------------------------------------ the support


def _supported(sentence: str, cited: Sequence[Evidence], *, mode: str) -> bool:
    if not question_terms(sentence):
        return True
    if not cited:
        return mode == "llm" and _SAYS_NOTHING.search(sentence) is not None
    place = "\n".join(f"{item.context}\n{item.title}\n{item.text}" for item in cited)
    if not _numbers_stand(sentence, place):
        return False
    if mode == "llm" and not (_quotes_stand(sentence, place) and _names_stand(sentence, place)):
        return False
    comparable = _comparable(question_terms(_without_numbers(sentence)), sentence, place)
    known = set(terms(place))
    return sum(term in known for term in comparable) >= _LEAST_FOUND * len(comparable)


def _comparable(wanted: Sequence[str], sentence: str, place: str) -> Sequence[str]:
    """The terms that can be looked for: between two scripts only what is written in both."""
    ours, theirs = language.cjk_share(sentence), language.cjk_share(place)
    if theirs <= _OTHER_SCRIPT < ours:
        return [term for term in wanted if not language.has_cjk(term)]
    if ours <= _OTHER_SCRIPT and theirs > 1 - _OTHER_SCRIPT:
        return ()
    return wanted


def _numbers_stand(sentence: str, place: str) -> bool:
    """Whether ``place`` has every number and measure of ``sentence``, however it is written."""
    known, given = _numbers(place), list(values(place))
    same: list[Value] = []
    for value in values(sentence):
        if any(value.unit == other.unit and not value.differs(other) for other in given):
            same.append(value)
        elif value.unit in _MEASURES and not _NUMBER.search(sentence, value.start, value.end):
            return False
    return all(
        _plain(match.group()) in known
        or any(value.start <= match.start() < value.end for value in same)
        for match in _NUMBER.finditer(sentence)
    )


def _without_numbers(sentence: str) -> str:
    for value in reversed(list(values(sentence))):
        sentence = f"{sentence[: value.start]} {sentence[value.end :]}"
    return _NUMBER_ALONE.sub(" ", sentence)


def _numbers(text: str) -> frozenset[str]:
    read = _read_numbers if len(text) <= language.LONGEST_REMEMBERED else _read_numbers.__wrapped__
    return read(text)


@lru_cache(maxsize=1_024)
def _read_numbers(text: str) -> frozenset[str]:
    return frozenset(_plain(number) for number in _NUMBER.findall(language.fold(text)))


def _plain(number: str) -> str:
    """``number`` without the commas between its thousands: "1,000" is "1000", "1,5" stays."""
    return re.sub(r",(?=\d{3}(?:\D|$))", "", language.fold(number))


def _quotes_stand(sentence: str, place: str) -> bool:
    """Whether what ``sentence`` has in quotation marks stands in ``place``, word by word."""
    words = _running(place)
    for match in _QUOTED.finditer(sentence):
        quoted = next(group for group in match.groups() if group)
        for part in _LEFT_OUT.split(quoted):
            running = _running(part)
            long_enough = (
                len(running) >= _LEAST_QUOTED_CJK
                if language.has_cjk(part)
                else len(running.split()) >= _LEAST_QUOTED_WORDS
            )
            if long_enough and running not in words:
                return False
    return True


def _running(text: str) -> str:
    """The words of ``text`` one after another; Chinese without the marks between them."""
    return re.sub(r"(?<=[\u3400-\u9fff]) (?=[\u3400-\u9fff])", "", " ".join(language.words(text)))


def _names_stand(sentence: str, place: str) -> bool:
    """Whether every capitalised name inside of ``sentence`` is in ``place``, which has capitals too."""
    if language.cjk_share(place) > 1 - _OTHER_SCRIPT:
        return True
    known = {language.stem(word.removesuffix("'s")) for word in language.words(place)}
    for name in _NAME.findall(sentence):
        if not name[0].isupper() or name.isupper():
            continue
        for word in language.words(name):
            if word not in _NO_NAMES and language.stem(word.removesuffix("'s")) not in known:
                return False
    return True
