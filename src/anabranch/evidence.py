"""Passages -> numbered Evidence in a token budget, and answers checked against it; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from anabranch.language import cjk_share, question_terms, sentence_spans, terms
from anabranch.types import Answer, Citation, Evidence, LeftOut, Nearest, Passage

# Places that are given by rank alone.
SURE_OF_A_PLACE = 3
# Of the best passage's relevance, what another needs for a place of its own. On four sets no relevant
# document fell to it, and 4 to 20 in 100 of the others did; at .3 one in five relevant ones.
LEAST_SHARE = 0.15
NEAREST_SHOWN = 3
NEAREST_CHARACTERS = 300
# Ids of queries other than the question's own wordings: sub-questions and follow-ups.
_SUB_QUESTION = re.compile(r"(s\d+)(?:\.|\Z)")
_APART = re.compile(r"(?:s\d+|b\d+|f\d+)(?:\.|\Z)")
_MARKER = re.compile(r"\[(\d+)\]")
_SPACED_MARKER = re.compile(r"[ \t]*\[(\d+)\]")
_MARKERS_BEHIND = re.compile(r"(?:[ \t]*\[\d+\])+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def estimate_tokens(text: str) -> int:
    """About how many tokens a model's tokenizer makes of ``text``.

    Four characters a token for alphabetic text and one for CJK: right within a fifth for the
    tokenizers in common use, and on the safe side for Chinese.
    """
    share = cjk_share(text)
    return int(len(text) * (share + (1 - share) / 4)) + 1


def pack(
    passages: Sequence[Passage],
    relevance: Mapping[str, float],
    *,
    top_k: int,
    context_tokens: int,
) -> tuple[tuple[Evidence, ...], tuple[LeftOut, ...]]:
    """The passages as evidence e1, e2, … in order, as many as the budgets hold.

    Where the token budget is short, the first passage and the best one of each sub-question come
    before the rest. A passage over the budget is left out and the next ones still tried, so that
    one long parent does not empty the list; the first passage is always in. ``left_out`` lists
    what the budget cost and what was not worth its place, not what ranked below ``top_k``.
    """
    worth, left_out = _worth_their_place(passages, relevance, top_k)
    kept: set[int] = set()
    spent = 0
    for index in _most_worth_first(worth, top_k):
        if len(kept) == top_k:
            break
        cost = estimate_tokens(worth[index].chunk.text)
        if kept and spent + cost > context_tokens:
            left_out.append(LeftOut(worth[index].chunk.chunk_id, "budget"))
            continue
        spent += cost
        kept.add(index)
    return tuple(
        _evidence(worth[index], number, relevance)
        for number, index in enumerate(sorted(kept), start=1)
    ), tuple(left_out)


def _worth_their_place(
    passages: Sequence[Passage], relevance: Mapping[str, float], top_k: int
) -> tuple[list[Passage], list[LeftOut]]:
    """Passages without those that are there only because there was room.

    The first ``SURE_OF_A_PLACE`` stay whatever they are worth, and so does what a follow-up or a
    sub-question found: the second document of a chain says little to the question itself. The
    others need some share of the best relevance.
    """
    found = [_relevance_of(passage, relevance) for passage in passages]
    least = LEAST_SHARE * max(found, default=0.0)
    worth: list[Passage] = []
    left_out: list[LeftOut] = []
    for index, passage in enumerate(passages):
        sure = index < SURE_OF_A_PLACE or _found_apart(passage)
        if sure or found[index] >= least:
            worth.append(passage)
        elif index < top_k:
            left_out.append(LeftOut(passage.chunk.chunk_id, "relevance"))
    return worth, left_out


def _found_apart(passage: Passage) -> bool:
    """Whether something else than the question in some wording found it too."""
    return any(_APART.match(query_id) for query_id in passage.found_by)


def _most_worth_first(passages: Sequence[Passage], top_k: int) -> Iterator[int]:
    """Indexes of passages: the first, then the first of each sub-question, then in order."""
    seen: set[str] = set()
    leading: list[int] = []
    for index, passage in enumerate(passages[:top_k]):
        groups = {match[1] for name in passage.found_by if (match := _SUB_QUESTION.match(name))}
        if not index or groups - seen:
            leading.append(index)
            seen |= groups
    yield from leading
    yield from (index for index in range(len(passages)) if index not in leading)


def _relevance_of(passage: Passage, relevance: Mapping[str, float]) -> float:
    ids = (passage.chunk.chunk_id, *passage.merged_from)
    return max(relevance.get(key, 0.0) for key in ids)


def _evidence(passage: Passage, number: int, relevance: Mapping[str, float]) -> Evidence:
    chunk = passage.chunk
    return Evidence(
        id=f"e{number}",
        chunk_id=chunk.chunk_id,
        chunk_index=chunk.chunk_index,
        collection=chunk.collection,
        source_id=chunk.source_id,
        text=chunk.text,
        source=chunk.source,
        title=chunk.title,
        page=chunk.page,
        start=chunk.start,
        end=chunk.end,
        level=chunk.level,
        score=passage.score,
        relevance=_relevance_of(passage, relevance),
        found_by=passage.found_by,
        provenance=passage.provenance,
        context=chunk.context,
        windows=passage.windows,
        merged_from=passage.merged_from,
    )


def as_context(evidence: Sequence[Evidence]) -> str:
    """The evidence as numbered text for a model or a person, each with its place."""
    return "\n\n".join(
        f"[{number}] {item.source}{'' if item.page is None else f', page {item.page}'}\n{item.text}"
        for number, item in enumerate(evidence, start=1)
    )


def nearest(passages: Sequence[Passage], relevance: Mapping[str, float]) -> tuple[Nearest, ...]:
    """What came closest, for an outcome without evidence."""
    return tuple(
        Nearest(
            text=passage.chunk.text[:NEAREST_CHARACTERS],
            source=passage.chunk.source,
            page=passage.chunk.page,
            relevance=relevance.get(passage.chunk.chunk_id, 0.0),
        )
        for passage in passages[:NEAREST_SHOWN]
    )


# ------------------------------------------------------------------------------ the citation guard


def guard(answer: Answer, evidence: Sequence[Evidence]) -> Answer:
    """``answer`` with every citation proven, whoever wrote it.

    A marker that resolves to no evidence is removed and its sentence listed as unsupported; a
    citation whose quote does not stand in its evidence is dropped; a sentence without a marker,
    or with numbers or most of its words missing from all that it cites, is unsupported.
    """
    # Keyed by the digits as written: "[01]" or a number of a thousand digits is no marker of ours.
    by_marker = {str(number): item for number, item in enumerate(evidence, start=1)}
    unsupported = list(answer.unsupported)
    said = _cited_quotes if answer.mode == "extractive" else _cited_sentences
    for sentence, markers in said(answer.text):
        cited = [by_marker.get(marker) for marker in markers]
        found = [item for item in cited if item is not None]
        if len(found) < len(cited) or not _supported(sentence, found):
            unsupported.append(sentence)
    text = _SPACED_MARKER.sub(
        lambda match: match.group() if match[1] in by_marker else "", answer.text
    )
    citations = tuple(
        replace(citation, page=_page_of(citation.quote, by_marker[str(citation.marker)]))
        for citation in answer.citations
        if _proven(citation, by_marker)
    )
    return replace(
        answer, text=text, citations=citations, unsupported=tuple(dict.fromkeys(unsupported))
    )


def _cited_sentences(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each sentence without its markers, and the markers; those right behind its end are its own.

    "It is 30 days. [1]" is as common a way to cite as "It is 30 days [1]."
    """
    taken = 0
    for start, end in sentence_spans(text):
        start = max(start, taken)
        behind = _MARKERS_BEHIND.match(text, end)
        taken = behind.end() if behind else end
        sentence = _SPACED_MARKER.sub("", text[start:end]).strip()
        if sentence:
            yield sentence, _MARKER.findall(text[start:taken])


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


def _supported(sentence: str, cited: Sequence[Evidence]) -> bool:
    wanted = question_terms(sentence)
    if not wanted:
        return True
    place = " ".join(f"{item.context} {item.title} {item.text}" for item in cited)
    numbers = set(_NUMBER.findall(place))
    if any(number not in numbers for number in _NUMBER.findall(sentence)):
        return False
    known = set(terms(place))
    return sum(term in known for term in wanted) >= 0.5 * len(wanted)
