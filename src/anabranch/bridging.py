"""The second hop: what the first hop's passages name is asked for again; pure.

"Who founded the company that made X?" cannot be searched whole: the passage about X names the
company, and only then can its founder be looked for. So the names that the best passages bring in
and the question does not have are candidates (titles first, then names in the sentences closest to
the question), each a query of its own with the question's words that are still open. What comes
back is graded by how much of the question it closes, and lifted among the first hop's passages
without removing any: the idea of multi-hop retrievers (Xiong et al. 2021, "Answering complex
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
from anabranch.names import names_in_sentence
from anabranch.types import Chunk, Passage

PASSAGES_READ = 4
SENTENCES_READ = 3
# The prior of a title: a document that is about a name says more of it than one that mentions it.
TITLE_PRIOR = 1.5
NAME_PRIOR = 1.0
# A clause is a part of the question, and counts like the question. Its first documents do: one
# that it finds further down it found by a word or two.
CLAUSE_WEIGHT = 1.0
CLAUSE_DOCUMENTS = 10
# Of each follow-up query as many documents as this are lifted.
DOCUMENTS_LIFTED = 2
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
_PARENTHESIS = re.compile(r"\s*[(（][^()（）]*[)）]")


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
    title = _PARENTHESIS.sub("", chunk.title).strip()
    if title and not _FILE_NAME.search(title):
        yield title, TITLE_PRIOR
    sentences = [chunk.text[start:end] for start, end in sentence_spans(chunk.text)]
    wanted = set(question.weights)
    covered = [question.share(wanted, set(terms(sentence))) for sentence in sentences]
    best = sorted(range(len(sentences)), key=lambda index: (-covered[index], index))
    for index in best[:SENTENCES_READ]:
        for name in names_in_sentence(sentences[index]):
            yield name, NAME_PRIOR


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
) -> tuple[float, ...]:
    """How high each name may lift what it found, 0 to ``HIGHEST_SHARE``; of a clause
    ``CLAUSE_WEIGHT``.

    ``similarity`` is the cosine of chunks with the question; one that the first hop's dense leg
    did not see is taken to be as far as the farthest that it saw.
    """
    farthest = min(similarity.values(), default=0.0)
    grades = [
        max(
            (
                _grade(question, one.follow_up, chunk, similarity.get(chunk.chunk_id, farthest))
                for chunk in one.chunks[:DOCUMENTS_LIFTED]
            ),
            default=0.0,
        )
        for one in found
    ]
    names = [grade for grade, one in zip(grades, found, strict=True) if not one.follow_up.is_clause]
    best = max(names, default=0.0)
    return tuple(
        CLAUSE_WEIGHT
        if one.follow_up.is_clause
        else HIGHEST_SHARE * (grade / best) ** POWER
        if grade > 0
        else 0.0
        for grade, one in zip(grades, found, strict=True)
    )


def _grade(question: Question, follow_up: FollowUp, chunk: Chunk, cosine: float) -> float:
    worth = (
        _TITLE_SHARE * follow_up.prior * _title_match(follow_up.name, chunk)
        + _COVERAGE_SHARE * question.share(follow_up.open_terms, _terms_of(chunk))
        + _COSINE_SHARE * max(0.0, cosine)
    )
    return _discounted(worth, follow_up.rank)


def _title_match(name: str, chunk: Chunk) -> float:
    """Overlap of the name with the title, or, where there is none, with how the text begins."""
    title = _PARENTHESIS.sub("", chunk.title).strip() or chunk.text[:_TITLE_CHARACTERS]
    own, titled = set(terms(name)), set(terms(title))
    return len(own & titled) / len(own | titled) if own | titled else 0.0


def _terms_of(chunk: Chunk) -> frozenset[str]:
    return frozenset(terms(f"{chunk.title} {chunk.text}"))


# ------------------------------------------------------------------------------------------ fusing


@dataclass(frozen=True, slots=True)
class Bridge:
    """What one follow-up found: its own fused ranking, best first, and its weight (``weigh``)."""

    ranking: Mapping[str, float]
    weight: float
    is_clause: bool = False


def lift(fused: Mapping[str, float], bridges: Sequence[Bridge]) -> dict[str, float]:
    """``fused`` with what follow-ups found, best first; nothing of it goes.

    What a clause found has the score of the clause that it answers best added, as standard as the
    question's own. The first documents of a name stand at its share of the best score, in
    proportion to their own scores, and never lower than they stood; the rest of what only
    follow-ups found comes after everything else.
    """
    if not fused:
        return {}
    lifted = _with_clauses(fused, [bridge.ranking for bridge in bridges if bridge.is_clause])
    top, below = max(lifted.values()), min(fused.values()) - 1.0
    for bridge in bridges:
        best = max(bridge.ranking.values(), default=0.0)
        lifts = not bridge.is_clause and bridge.weight > 0 and best > 0 and top > 0
        for place, (key, score) in enumerate(bridge.ranking.items()):
            height = below
            if lifts and place < DOCUMENTS_LIFTED:
                height = bridge.weight * top * max(0.0, score) / best
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
