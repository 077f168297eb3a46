"""Passages -> numbered Evidence in a token budget; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from anabranch.language import cjk_share
from anabranch.types import PAGE_SPANS, Chunk, Evidence, LeftOut, Nearest, Passage

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
    """What came closest, for an outcome without evidence: from where it comes closest."""
    found = []
    for passage in passages[:NEAREST_SHOWN]:
        closest = max(passage.windows, key=lambda window: window.cosine, default=None)
        start = max(closest.start, passage.chunk.start) if closest else passage.chunk.start
        found.append(
            Nearest(
                text=passage.chunk.text[start - passage.chunk.start :][:NEAREST_CHARACTERS],
                source=passage.chunk.source,
                page=_page_at(start, passage.chunk),
                relevance=relevance.get(passage.chunk.chunk_id, 0.0),
            )
        )
    return tuple(found)


def _page_at(offset: int, chunk: Chunk) -> int | None:
    spans = chunk.metadata.get(PAGE_SPANS, ())
    return next((page for page, start, end in spans if start <= offset < end), chunk.page)
