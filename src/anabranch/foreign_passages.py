"""What a foreign retriever gave -> chunks with standard scores; pure, and trusts none of it.

Ranks, not scores, say where a list stands beside ours: scores of another engine mean nothing here.
Rank r gets the normal score of place r among a hundred, the z-score that a hit of that rank has in
a list as long as our own legs' (Blom, "Statistical Estimates and Transformed Beta-Variables",
1958): a list of one hit then stands as high as the first of twenty, and no higher. Scores that
come with a list only say how far apart its own hits are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice, pairwise
from numbers import Real
from statistics import NormalDist

from anabranch.chunking import chunk, text_hash
from anabranch.decoding import normalise
from anabranch.language import cjk_share, question_terms, sentence_spans, terms
from anabranch.types import FOREIGN, Chunk, Document, Hit, LeftOut, LegResult

# What is read of one document, and of one list together: a page of a book, twice over, and the time
# that cutting it into sentences takes (about 20 ms).
MOST_CHARACTERS = 50_000
MOST_CHARACTERS_TOGETHER = 200_000
# As long as the encoder reads (256 word pieces): longer passages are cut as our documents are.
WHOLE_CHARACTERS = 1_200
# A CJK character is a word piece of its own.
CJK_EXTRA = 1.5
# Parts of one long document that may become evidence; more of them would be a list of their own.
PARTS_KEPT = 3
# Length of the list in which a rank has its normal score: that of our own legs.
NOMINAL_HITS = 100
MOST_HITS = 50

# Where other systems keep what we call source, title and page. Of pages those that count from 1
# for certain go first.
_SOURCES = ("source", "url", "link", "file_path", "file_name", "path")
_TITLES = ("title", "name")
_PAGES = ("page_label", "page_number", "page")
_SCORES = ("relevance_score", "score", "_score")
_LONGEST_SOURCE = 500
_LONGEST_TITLE = 200
_LONGEST_ID = 64
_HIGHEST_PAGE = 1_000_000


@dataclass(frozen=True, slots=True)
class _Given:
    """One document as it was given, read. ``score`` is None where it has none to be used."""

    id: str
    text: str
    source: str
    title: str
    page: int | None
    score: float | None
    unread: int


def read_passages(found: object, question: str, *, name: str, limit: int) -> LegResult:
    """The foreign leg made of ``found``, a sequence of documents, best first.

    A document is anything with a text ``page_content`` and a mapping ``metadata``; what has no text
    is left out, and so is what is beyond ``limit`` or too long. ``text`` of each chunk is
    ``given[start:end]`` of the normalised text that was given. Raises TypeError for anything
    that is no sequence.
    """
    if not isinstance(found, Sequence) or isinstance(found, (str, bytes)):
        raise TypeError(f"it gave a {type(found).__name__}, not a list of documents")
    given: list[_Given] = []
    without_text, room = 0, MOST_CHARACTERS_TOGETHER
    for item in islice(found, limit):
        document = _read(item, most=min(MOST_CHARACTERS, room))
        if document is None:
            without_text += 1
            continue
        room -= len(document.text)
        given.append(document)
    collection = FOREIGN + name
    left_out = [
        LeftOut(collection, f"{count} {reason}")
        for count, reason in (
            (without_text, "without readable text"),
            (len(found) - limit, f"beyond the first {limit}"),
        )
        if count > 0
    ]
    hits: dict[str, Hit] = {}
    for document, height in zip(given, _heights([d.score for d in given]), strict=True):
        parts, unread = _parts(document, question, collection)
        left_out.extend(unread)
        for part in parts:
            hits.setdefault(part.chunk_id, Hit(part, height))
    return LegResult("foreign", tuple(islice(hits.values(), MOST_HITS)), left_out=tuple(left_out))


def normal_score(rank: int) -> float:
    """The standard score of a rank, counted from 1, in a list of a hundred."""
    place = min(rank, NOMINAL_HITS)
    return NormalDist().inv_cdf(1 - (place - 0.5) / NOMINAL_HITS)


def _heights(scores: Sequence[float | None]) -> list[float]:
    """A standard score for each place of a list, falling.

    Where all have a score and these fall as the list does, the gaps between them are kept, spread
    over the same range; a list in another order than its scores is believed in its order.
    """
    ranked = [normal_score(rank) for rank in range(1, len(scores) + 1)]
    known = [score for score in scores if score is not None]
    if len(known) < len(scores) or not known or known[0] == known[-1]:
        return ranked
    if any(later > earlier for earlier, later in pairwise(known)):
        return ranked
    share = (ranked[0] - ranked[-1]) / (known[0] - known[-1])
    return [ranked[-1] + share * (score - known[-1]) for score in known]


# ----------------------------------------------------------------------------------- one document


def _read(item: object, *, most: int) -> _Given | None:
    text = getattr(item, "page_content", None)
    if not isinstance(text, str) or most <= 0:
        return None
    # Normalising only shortens, apart from a few composed characters; what is cut is counted.
    cleaned = normalise(text[: 2 * most])
    kept = _cut(cleaned, most)
    if not kept.strip():
        return None
    metadata = getattr(item, "metadata", None)
    known: Mapping[object, object] = metadata if isinstance(metadata, Mapping) else {}
    own_id = getattr(item, "id", None)
    source = _first_text(known, _SOURCES, _LONGEST_SOURCE)
    return _Given(
        id=own_id if isinstance(own_id, str) else "",
        text=kept,
        source=source,
        title=_first_text(known, _TITLES, _LONGEST_TITLE),
        page=next((page for key in _PAGES if (page := _page(known.get(key))) is not None), None),
        score=next((s for key in _SCORES if (s := _score(known.get(key))) is not None), None),
        unread=max(0, len(cleaned) - len(kept)) + max(0, len(text) - 2 * most),
    )


def _cut(text: str, most: int) -> str:
    """The beginning of ``text`` up to the end of a sentence, at most ``most`` characters of it."""
    if len(text) <= most:
        return text
    start = text[:most]
    spans = sentence_spans(start)
    # The last one may be half a sentence; a text of one sentence is cut anywhere.
    return start[: spans[-2][1]] if len(spans) > 1 else start


def _first_text(known: Mapping[object, object], keys: Iterable[str], longest: int) -> str:
    for key in keys:
        value = known.get(key)
        if isinstance(value, str) and (line := " ".join(normalise(value).split())):
            return line[:longest]
    return ""


def _page(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 8:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 1 <= value <= _HIGHEST_PAGE else None


def _score(value: object) -> float | None:
    """``value`` if it is a finite number that is not negative; nothing else is a score."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        score = float(value)
    except (OverflowError, ValueError):
        return None
    return score if math.isfinite(score) and score >= 0 else None


def _parts(
    document: _Given, question: str, collection: str
) -> tuple[list[Chunk], tuple[LeftOut, ...]]:
    """The document as one chunk, or the parts of it that hold most of the question's words."""
    whole = _whole(document, collection)
    text, unread = document.text, document.unread
    if len(text) * (1 + CJK_EXTRA * cjk_share(text)) <= WHOLE_CHARACTERS:
        parts, count = [whole], 1
    else:
        leaves = _leaves(document, whole)
        parts, count = _telling(leaves, question), len(leaves)
    reasons = []
    if len(parts) < count:
        reasons.append(f"{count - len(parts)} of {count} parts")
    if unread:
        reasons.append(f"{unread:,} characters at the end")
    if not reasons:
        return parts, ()
    return parts, (LeftOut(whole.source_id, "length: " + ", ".join(reasons)),)


def _whole(document: _Given, collection: str) -> Chunk:
    digest = blake2b(digest_size=12)
    for part in (document.id, document.source, document.text):
        digest.update(f"{len(part)}:{part}".encode("utf-8", "surrogatepass"))
    # Never an id alone: a foreign one may be anybody's, even that of another text.
    source_id = f"{collection}:{digest.hexdigest()}"
    start = len(document.text) - len(document.text.lstrip())
    text = document.text.strip()
    return Chunk(
        chunk_id=f"{source_id}:{start}",
        source_id=source_id,
        collection=collection,
        source=document.source or " ".join(document.id.split())[:_LONGEST_ID] or collection,
        title=document.title,
        text=text,
        start=start,
        end=start + len(text),
        chunk_index=0,
        level=3,
        content_hash=text_hash(text),
        page=document.page,
        context=document.title,
    )


def _leaves(document: _Given, whole: Chunk) -> list[Chunk]:
    """The leaves that the document would have in our own store, so that equal text stays equal."""
    read = Document(whole.source, whole.title, document.text, whole.content_hash, "text/plain")
    cut = chunk(read, source_id=whole.source_id, collection=whole.collection)
    return [
        replace(
            leaf, chunk_id=f"{whole.source_id}:{leaf.start}", parent_id=None, page=document.page
        )
        for leaf in cut
        if leaf.level == 3
    ]


def _telling(leaves: Sequence[Chunk], question: str) -> list[Chunk]:
    """The few parts with most of the question's words, the best first; the first where none has."""
    wanted = frozenset(question_terms(question))
    matched = [len(wanted & frozenset(terms(leaf.text))) for leaf in leaves]
    order = sorted(range(len(leaves)), key=lambda at: (-matched[at], at))[:PARTS_KEPT]
    return [leaves[at] for at in order if matched[at] or at == order[0]]
