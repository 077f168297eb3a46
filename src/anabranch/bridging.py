"""The second hop: what the first hop's passages name is asked for again; pure.

"Who founded the company that made X?" cannot be searched whole: the passage about X names the
company, and only then can its founder be looked for. So the names that the best passages bring in
and the question does not have are candidates (titles first, then names in the sentences closest to
the question), each a query of its own with the question's words that are still open. Each find is
graded by how much it has of the name and closes of the question, and lifted among the first hop's
passages without removing any: the idea of multi-hop retrievers (Xiong et al. 2021, "Answering complex
open-domain questions with multi-hop dense retrieval"), with counting in place of training.
Figures: docs/decisions/0002-fusion.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice

from anabranch.clauses import clauses_alone
from anabranch.fusion import best_first
from anabranch.language import (
    ENGLISH_STOP_WORDS,
    fold,
    has_cjk,
    question_terms,
    sentence_spans,
    terms,
    words,
)
from anabranch.lexicon import Lexicon
from anabranch.names import LONGEST_NAME, named_by, names_in_sentence
from anabranch.types import Chunk, Passage

PASSAGES_READ = 4
SENTENCES_READ = 3
# The prior of a title: a document that is about a name says more of it than one that mentions it.
TITLE_PRIOR = 1.5
NAME_PRIOR = 1.0
# A title in small letters of as many words is a description; fewer may be a name ("numpy").
DESCRIPTION_WORDS = 4
# A clause is a part of the question, and counts like the question. Its first documents do: one
# that it finds further down it found by a word or two.
CLAUSE_WEIGHT = 1.0
CLAUSE_DOCUMENTS = 10
# Of each follow-up query as many finds as this are graded, each for itself, and lifted.
DOCUMENTS_LIFTED = 3
POWER = 0.5
# How far below the best of the first hop the best find of a bridge stands. From .75 up it pushes
# the one document of a plain question down (.006 nDCG@10); below .6 chains lose what they gain.
HIGHEST_SHARE = 0.65
_TITLE_SHARE, _COVERAGE_SHARE, _COSINE_SHARE = 0.4, 0.6, 0.4
# How fast a candidate loses with the rank of the passage that names it.
_RANK_DISCOUNT = 0.6
_TITLE_CHARACTERS = 60

_WORD = re.compile(r"[^\W_](?:[\w'’&/-]|\.(?=\w))*")
_FILE_NAME = re.compile(r"\.[A-Za-z0-9]{1,5}\Z")
_NUMBER = re.compile(r"\d[\d.,/-]*(?:st|nd|rd|th|s)?")
_WORDS_OF_DATES = frozenset(
    "january february march april may june july august september october november december "  # noqa: SIM905
    "monday tuesday wednesday thursday friday saturday sunday of in on and the".split()
)


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A query for a name that a passage brings in; ``rank`` is that of the passage, from 0.

    ``open_terms`` are the terms of the question that the passages read so far leave open.
    """

    name: str
    text: str
    prior: float
    rank: int
    source: str
    open_terms: frozenset[str]
    is_clause: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """What bridging needs to know of a question: its terms, weighted by their rarity."""

    text: str
    weights: Mapping[str, float]

    @classmethod
    def of(cls, text: str, lexicon: Lexicon) -> Question:
        rarity: dict[str, float] = {}
        for word in words(text):
            for term in terms(word):
                rarity[term] = max(rarity.get(term, 0.0), _rarity(word, lexicon))
        return cls(text, {term: rarity.get(term, 1.0) for term in question_terms(text)})

    def share(self, wanted: AbstractSet[str], found: AbstractSet[str]) -> float:
        """How much of ``wanted`` is in ``found``, by weight; 0 where nothing is wanted."""
        total = math.fsum(self.weights[term] for term in sorted(wanted))
        return math.fsum(self.weights[t] for t in sorted(wanted & found)) / total if total else 0.0


def _rarity(word: str, lexicon: Lexicon) -> float:
    # The vocabulary has no CJK words: there every pair of characters weighs the same.
    count = lexicon.words.get(word.removesuffix("'s"), 0)
    return math.log(1 + (lexicon.document_count + 1) / (count + 0.5))


# ------------------------------------------------------------------------------------- candidates


def follow_ups(
    question: Question,
    passages: Sequence[Passage],
    *,
    limit: int,
    closed: AbstractSet[str] = frozenset(),
    asked: AbstractSet[str] = frozenset(),
) -> tuple[FollowUp, ...]:
    """At most ``limit`` follow-up queries from the first passages, the most promising first.

    ``closed`` are terms that an earlier hop has found already, ``asked`` names (as ``name_key``
    gives them) that it has asked for. Names whose words are all in the question lead nowhere new.
    """
    if not question.weights or not passages:
        return ()
    known = closed | (_terms_of(passages[0].chunk) & set(question.weights))
    open_terms = frozenset(question.weights) - known
    parts = [
        FollowUp(
            clause, clause, NAME_PRIOR, 0, passages[0].chunk.chunk_id,
            frozenset(question_terms(clause)), is_clause=True,
        )
        for clause in (() if asked else clauses_alone(question.text))
    ]  # fmt: skip
    still_open = _words_with(question.text, open_terms)
    found: dict[str, FollowUp] = {}
    for rank, passage in enumerate(passages[:PASSAGES_READ]):
        for name, prior in _offered(question, passage.chunk):
            key = name_key(name)
            if key in found or key in asked or not _leads_on(key, question):
                continue
            text = " ".join((name, *still_open))
            found[key] = FollowUp(name, text, prior, rank, passage.chunk.chunk_id, open_terms)
    ranked = sorted(found.values(), key=lambda item: -_discounted(item.prior, item.rank))
    # The sort is stable: equals stay in reading order.
    return (*parts[:limit], *ranked[:limit])


def name_key(name: str) -> str:
    """What makes two spellings of a name one."""
    return " ".join(terms(name))


def _leads_on(key: str, question: Question) -> bool:
    own = key.split()
    return any(term not in question.weights for term in own) and len(key) > 1


def _discounted(worth: float, rank: int) -> float:
    return worth / (1 + _RANK_DISCOUNT * rank)


def _offered(question: Question, chunk: Chunk) -> Iterator[tuple[str, float]]:
    """The title, then names in the sentences that cover most of the question."""
    title = named_by(chunk.title)
    if title and not _FILE_NAME.search(title) and not _is_description(title):
        yield title, TITLE_PRIOR
    sentences = [chunk.text[start:end] for start, end in sentence_spans(chunk.text)]
    wanted = set(question.weights)
    covered = [question.share(wanted, set(terms(sentence))) for sentence in sentences]
    best = sorted(range(len(sentences)), key=lambda index: (-covered[index], index))
    for index in best[:SENTENCES_READ]:
        for name in names_in_sentence(sentences[index]):
            if not _is_date(name):
                yield name, NAME_PRIOR


def _is_description(title: str) -> bool:
    """Whether a title tells a topic ("heat flow in composite slabs") and names nothing.

    Followed up it is a second question about the same topic, not the next link of a chain.
    """
    in_small_letters = title.islower() and title.count(" ") >= DESCRIPTION_WORDS - 1
    return len(title) > LONGEST_NAME or in_small_letters


def _is_date(name: str) -> bool:
    """Whether a name is only a date or a number: what else happened then answers nothing."""
    return all(
        fold(word) in _WORDS_OF_DATES or _NUMBER.fullmatch(word) for word in _WORD.findall(name)
    )


def _words_with(text: str, open_terms: AbstractSet[str]) -> list[str]:
    """The words of a question that hold one of ``open_terms``; of CJK runs the parts that do."""
    kept: list[str] = []
    for match in _WORD.finditer(text):
        word = match.group()
        if has_cjk(word):
            kept += _open_parts(word, open_terms)
        elif fold(word) not in ENGLISH_STOP_WORDS and not open_terms.isdisjoint(terms(word)):
            kept.append(word)
    return list(dict.fromkeys(kept))


def _open_parts(run: str, open_terms: AbstractSet[str]) -> Iterator[str]:
    """Stretches of ``run`` whose neighbouring characters are open pairs: 出版社在哪 -> 出版社."""
    start = None
    for index in range(len(run)):
        is_open = fold(run[index : index + 2]) in open_terms
        if is_open and start is None:
            start = index
        elif not is_open and start is not None:
            yield run[start : index + 1]
            start = None


# ----------------------------------------------------------------------------------------- grading


@dataclass(frozen=True, slots=True)
class Found:
    """What a follow-up query found, best first: chunks with their fused scores."""

    follow_up: FollowUp
    chunks: Sequence[Chunk]


def weigh(
    question: Question, found: Sequence[Found], similarity: Mapping[str, float]
) -> tuple[Mapping[str, float], ...]:
    """How much of the question each find of a follow-up closes, by chunk id; only what does at all.

    Of a clause nothing: what it finds is added, not lifted. ``similarity`` is the cosine of chunks
    with the question; one that the first hop's dense leg did not see is taken to be as far as the
    farthest that it saw.
    """
    farthest = min(similarity.values(), default=0.0)
    read: dict[str, frozenset[str]] = {}
    grades: list[dict[str, float]] = []
    for one in found:
        own: dict[str, float] = {}
        for chunk in () if one.follow_up.is_clause else one.chunks[:DOCUMENTS_LIFTED]:
            key = chunk.chunk_id
            if key not in read:  # names of one passage often find the same
                read[key] = _terms_of(chunk)
            cosine = similarity.get(key, farthest)
            own[key] = _grade(question, one.follow_up, chunk, read[key], cosine)
        grades.append({key: grade for key, grade in own.items() if grade > 0})
    return tuple(grades)


def shares(grades: Mapping[str, float], best: float) -> dict[str, float]:
    """How high finds with ``grades`` may be lifted: shares of the best score of the first hop, by
    chunk id; ``HIGHEST_SHARE`` for what is as good as ``best``, or better."""
    return {
        key: HIGHEST_SHARE * min(1.0, grade / best) ** POWER
        for key, grade in grades.items()
        if best > 0
    }


def _grade(
    question: Question,
    follow_up: FollowUp,
    chunk: Chunk,
    found: AbstractSet[str],
    cosine: float,
) -> float:
    """What a find is worth as the next link of a chain; ``found`` are its terms.

    A chain holds by the name: a find that has only the open words of the question is one that the
    question finds by itself, and the passage that the name is from adds nothing to itself.
    """
    if chunk.chunk_id == follow_up.source:
        return 0.0
    name = set(terms(follow_up.name))
    worth = (
        _TITLE_SHARE * follow_up.prior * _share_of(name, _title_terms(chunk))
        + _COVERAGE_SHARE * question.share(follow_up.open_terms, found)
        + _COSINE_SHARE * max(0.0, cosine)
    )
    return _discounted(_share_of(name, found) * worth, follow_up.rank)


def _title_terms(chunk: Chunk) -> set[str]:
    """Those of the title, or, where there is none, of how the text begins."""
    return set(terms(named_by(chunk.title) or chunk.text[:_TITLE_CHARACTERS]))


def _share_of(wanted: AbstractSet[str], found: AbstractSet[str]) -> float:
    return len(wanted & found) / len(wanted) if wanted else 0.0


def _terms_of(chunk: Chunk) -> frozenset[str]:
    return frozenset(terms(f"{chunk.title} {chunk.text}"))


# ------------------------------------------------------------------------------------------ fusing


@dataclass(frozen=True, slots=True)
class Bridge:
    """What one follow-up found: its own fused ranking, best first, and what it may lift (``weigh``)."""

    ranking: Mapping[str, float]
    lifts: Mapping[str, float]
    is_clause: bool = False


def lift(fused: Mapping[str, float], bridges: Sequence[Bridge]) -> dict[str, float]:
    """``fused`` with what follow-ups found, best first; nothing of it goes.

    What a clause found has the score of the clause that it answers best added, as standard as the
    question's own. What a name may lift stands at its share of the question's own best score, in
    proportion to what the name's query gave it, and never lower than it stood; the rest of what
    only follow-ups found comes after everything else.
    """
    if not fused:
        return {}
    lifted = _with_clauses(fused, [bridge.ranking for bridge in bridges if bridge.is_clause])
    # Not the best of the sums: beside clauses a name's find would stand twice as high.
    top, below = max(fused.values()), min(fused.values()) - 1.0
    for bridge in bridges:
        best = max(bridge.ranking.values(), default=0.0)
        lifts = bridge.lifts if not bridge.is_clause and best > 0 and top > 0 else {}
        for key, score in bridge.ranking.items():
            height = lifts[key] * top * max(0.0, score) / best if key in lifts else below
            lifted[key] = max(lifted.get(key, below), height)
    return best_first(lifted)


def _with_clauses(
    fused: Mapping[str, float], rankings: Sequence[Mapping[str, float]]
) -> dict[str, float]:
    lowest = min(fused.values())
    best: dict[str, float] = {}
    for ranking in rankings:
        for key, score in islice(ranking.items(), CLAUSE_DOCUMENTS):
            best[key] = max(score, best.get(key, 0.0))
    joined = dict(fused)
    for key, score in best.items():
        joined[key] = fused.get(key, lowest) + CLAUSE_WEIGHT * score
    return joined
