"""Score fusion, identity and de-duplication of hits; pure.

Raw scores of different lists never meet: each list is standardised over the candidates of its
query (z-score; Fox & Shaw's CombSUM over standardised scores, see Wu, "Data Fusion in Information
Retrieval", section 2). Measured on nine sets against min-max and reciprocal rank fusion:
docs/decisions/0002-fusion.md.
"""

from __future__ import annotations

import hashlib
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from anabranch.types import (
    FOREIGN,
    PAGE_SPANS,
    Chunk,
    Hit,
    LegName,
    LegResult,
    Passage,
    Place,
    QueryResult,
    WindowScore,
)

# Two chunks at the same place of a source whose texts begin alike are one: what is left of an
# earlier chunking, or of a small edit, must not take two places in the evidence.
SAME_BEGINNING = 80
# Hits of a leg that make the scale of a query. What a leg finds beyond them comes after, so that
# asking for more candidates moves none of the first: a scale over 200 was no better than over 100
# (nDCG@10 from -.006 to +.008 by set), and thorough effort would differ from standard by chance.
POOL = 100
# A foreign passage of which this share is one of ours says nothing that ours does not.
MOSTLY_OURS = 0.75


@dataclass(frozen=True, slots=True)
class ScoredList:
    """Scores of one list by key, each key once, with the weight of the list.

    ``floor`` is the score that a candidate missing from the list is taken to have.
    """

    scores: Mapping[str, float]
    weight: float
    floor: float


def standardise(scored: ScoredList, candidates: Sequence[str]) -> list[float]:
    """z-score of each of ``candidates``; all zero when the list tells none of them apart."""
    values = [scored.scores.get(key, scored.floor) for key in candidates]
    # The candidates are in order of their keys, so that a plain sum is the same every time.
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum([(value - mean) ** 2 for value in values]) / len(values))
    # Differences in the last bits of equal scores must not be blown up to whole deviations.
    if deviation <= 1e-9 * max(1.0, abs(mean)):
        return [0.0] * len(values)
    return [(value - mean) / deviation for value in values]


def best_first(scores: Mapping[str, float]) -> dict[str, float]:
    """``scores`` from the highest on, equals by key."""
    # Pairs are compared without a call for each, and the negative of a float is exact.
    ranked = sorted(zip([-score for score in scores.values()], scores, strict=True))
    return {key: -score for score, key in ranked}


def fuse(lists: Sequence[ScoredList]) -> dict[str, float]:
    """Weighted mean of the lists' z-scores over the union of their keys, best first.

    Lists that are empty or have no weight take no part, so that a dead leg pulls nothing down.
    The order of the lists does not matter; ties are ordered by key.
    """
    living = [scored for scored in lists if scored.scores and scored.weight > 0]
    if not living:
        return {}
    candidates = sorted({key for scored in living for key in scored.scores})
    total = math.fsum(scored.weight for scored in living)
    weights = [scored.weight for scored in living]
    standard = zip(*(standardise(scored, candidates) for scored in living), strict=True)
    if len(living) == 2:  # the two legs of a query: nearly always, and the order is free
        first, second = weights
        fused = [(first * ours + second * theirs) / total for ours, theirs in standard]
    else:
        fused = [math.fsum(map(operator.mul, weights, scores)) / total for scores in standard]
    return best_first(dict(zip(candidates, fused, strict=True)))


def fuse_legs(
    result: QueryResult, weights: Mapping[LegName, float], limit: int
) -> dict[str, float]:
    """The legs of one query fused, by chunk id, best first: the first ``POOL`` hits of each.

    A foreign leg is the whole query: its scores are standard already, over a nominal list.
    """
    for leg in result.legs:
        if leg.leg == "foreign":
            heights = {hit.chunk.chunk_id: hit.score for hit in reversed(leg.hits)}
            return best_first(heights)
    most = min(limit, POOL)
    return fuse([_leg_list(leg, weights.get(leg.leg, 0.5), most) for leg in result.legs])


def _leg_list(leg: LegResult, weight: float, limit: int) -> ScoredList:
    scores: dict[str, float] = {}
    # One credit for a list: a chunk that comes twice counts once, at its best.
    for hit in leg.hits[:limit]:
        scores.setdefault(hit.chunk.chunk_id, hit.score)
    if not scores:
        return ScoredList(scores, weight, 0.0)
    # A chunk missing from a text leg that was not cut off has none of the words: its score is 0.
    # Otherwise all that is known is that it scores no higher than the last one found.
    matched_all = leg.leg == "text" and len(scores) < limit
    return ScoredList(scores, weight, 0.0 if matched_all else min(scores.values()))


def with_the_rest(fused: Mapping[str, float], legs: Sequence[LegResult]) -> dict[str, float]:
    """``fused`` and behind it what the legs found beyond ``POOL``, by the best rank in a leg."""
    ranks: dict[str, int] = {}
    for leg in legs:
        for rank, hit in enumerate(leg.hits[POOL:], start=1):
            key = hit.chunk.chunk_id
            if key not in fused:
                ranks[key] = min(rank, ranks.get(key, rank))
    lowest = min(fused.values(), default=0.0)
    return {**fused, **best_first({key: lowest - rank for key, rank in ranks.items()})}


def fuse_queries(
    fused: Mapping[str, Mapping[str, float]],
    weights: Mapping[str, float],
    *,
    floor: float | None = None,
) -> dict[str, float]:
    """Queries fused by query id: the weighted mean of their fused scores, best first.

    A candidate that a query did not find has ``floor``, or that query's lowest score. The scores
    are already standardised, so they are added as they are: a query that finds one clear winner
    says more than one that finds a hundred equals.
    """
    living = {
        name: scores for name, scores in sorted(fused.items()) if scores and weights[name] > 0
    }
    if not living:
        return {}
    total = math.fsum(weights[name] for name in living)
    floors = {
        name: min(scores.values()) if floor is None else floor for name, scores in living.items()
    }
    lists = [(weights[name], scores, floors[name]) for name, scores in living.items()]
    return best_first(
        {
            key: math.fsum([weight * scores.get(key, low) for weight, scores, low in lists]) / total
            for key in {key for scores in living.values() for key in scores}
        }
    )


def with_foreign(
    ours: Mapping[str, float],
    results: Sequence[QueryResult],
    rankings: Mapping[str, Mapping[str, float]],
) -> dict[str, float]:
    """``ours`` with what foreign retrievers found in its place, best first.

    A retriever cannot have what only our documents hold, nor the other way round: that one lists
    a passage and the other does not says nothing. So each system's queries are fused among
    themselves, and the systems meet by standard scores alone; no order among ours changes.
    """
    joined = dict(ours)
    asked: dict[str, list[QueryResult]] = {}
    for result in results:
        if result.query.retriever is not None:
            asked.setdefault(result.query.retriever, []).append(result)
    for _, own in sorted(asked.items()):
        lists = {result.query.id: rankings[result.query.id] for result in own}
        weights = {result.query.id: result.query.weight for result in own}
        # A short list says nothing of what it lacks: that is as good as any, which is 0.
        for key, score in fuse_queries(lists, weights, floor=0.0).items():
            joined[key] = max(score, joined.get(key, score))
    return best_first(joined)


def rank_score(standard: float) -> float:
    """A z-score as a rank score between 0 and 1 (logistic); its order is all it means."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, standard))))


def to_passages(
    combined: Mapping[str, float],
    results: Sequence[QueryResult],
    fused: Mapping[str, Mapping[str, float]],
    *,
    similar_to: Sequence[str],
) -> list[Passage]:
    """Passages in fused order; ``similar_to`` names the queries whose cosine is kept."""
    chunks: dict[str, Chunk] = {}
    similarity: dict[str, float] = {}
    windows: dict[str, tuple[WindowScore, ...]] = {}
    for result in results:
        is_foreign_query = result.query.retriever is not None
        # A foreign query has a dense leg only where its passages were compared with the question.
        is_question = result.query.id in similar_to or is_foreign_query
        for leg in result.legs:
            for hit in leg.hits:
                chunks.setdefault(hit.chunk.chunk_id, hit.chunk)
            if is_question and leg.leg == "dense":
                for hit in leg.hits:
                    key = hit.chunk.chunk_id
                    similarity[key] = max(similarity.get(key, -1.0), hit.score)
            if is_foreign_query:
                for hit in leg.hits:
                    if hit.windows:
                        windows.setdefault(hit.chunk.chunk_id, hit.windows)
    finders = list(fused.items())
    return [
        Passage(
            chunks[key],
            rank_score(score),
            tuple([name for name, ranking in finders if key in ranking]),
            similarity.get(key),
            places_of(chunks[key]),
            (),
            windows.get(key, ()),
        )
        for key, score in combined.items()
    ]


def identified(hit: Hit) -> Hit:
    """``hit`` with an id: a chunk that came without one goes by the hash of its content."""
    if hit.chunk.chunk_id:
        return hit
    chunk = hit.chunk
    name = chunk.content_hash or hashlib.blake2b(chunk.text.encode(), digest_size=12).hexdigest()
    return replace(hit, chunk=replace(chunk, chunk_id=name))


def places_of(chunk: Chunk) -> tuple[Place, ...]:
    """Where a chunk stands, then its part on each page, if it goes over several."""
    own = Place(chunk.source, chunk.page, chunk.start, chunk.end, chunk.source_id, chunk.collection)
    if PAGE_SPANS not in chunk.metadata:  # nearly always, and asked of every candidate
        return (own,)
    spans = [(chunk.page, chunk.start, chunk.end), *chunk.metadata[PAGE_SPANS]]
    return tuple(
        Place(chunk.source, page, start, end, chunk.source_id, chunk.collection)
        for page, start, end in spans
    )


def deduplicate(passages: Sequence[Passage]) -> list[Passage]:
    """Each text once, in the given order.

    The same place of the same source (index and content hash, or index and the same first 80
    characters) is one passage. The same text elsewhere is one passage with both places as
    provenance; the copy that ranks first stays, but one of ours in place of a foreign one.
    """
    kept: list[Passage] = []
    position: dict[object, int] = {}
    for passage in passages:
        chunk = passage.chunk
        place = (chunk.source_id, chunk.level, chunk.chunk_index)
        keys: tuple[object, ...] = (
            (*place, chunk.content_hash),
            (*place, chunk.text[:SAME_BEGINNING]),
            (chunk.level, chunk.content_hash),
        )
        at = next((position[key] for key in keys if key in position), None)
        if at is None:
            at = len(kept)
            kept.append(passage)
        elif is_foreign(kept[at]) and not is_foreign(passage):
            kept[at] = replace(absorb(passage, kept[at]), score=kept[at].score)
        else:
            kept[at] = absorb(kept[at], passage)
        for key in keys:
            position.setdefault(key, at)
    return kept


def is_foreign(passage: Passage) -> bool:
    return passage.chunk.collection.startswith(FOREIGN)


def fold_copies(passages: Sequence[Passage]) -> list[Passage]:
    """Passages without the foreign ones that say what one of ours says already.

    Ours takes the better place of the two and has both places as provenance. A foreign passage
    that goes on beyond ours stays: it is not for it to speak in the name of our document.
    """
    ours = [(at, " ".join(p.chunk.text.split())) for at, p in enumerate(passages)
            if not is_foreign(p)]  # fmt: skip
    kept: dict[int, Passage] = {at: passages[at] for at, _ in ours}
    place: dict[int, int] = {at: at for at, _ in ours}
    for at, passage in enumerate(passages):
        if not is_foreign(passage):
            continue
        text = " ".join(passage.chunk.text.split())
        same = [
            i for i, own in ours
            if text in own or (len(own) >= MOSTLY_OURS * len(text) and own in text)
        ]  # fmt: skip
        if not same:
            kept[at], place[at] = passage, at
            continue
        first = same[0]
        best = max(kept[first].score, passage.score)
        kept[first] = replace(absorb(kept[first], passage), score=best)
        place[first] = min(place[first], at)
    return [kept[at] for at in sorted(kept, key=lambda at: (place[at], at))]


def absorb(passage: Passage, *others: Passage) -> Passage:
    """``passage`` with the finders, places and similarity of ``others``.

    Their ids stay known, so that a query that found one can say what became of it.
    """
    found_by, places = dict.fromkeys(passage.found_by), dict.fromkeys(passage.provenance)
    parts, similarity = dict.fromkeys(passage.merged_from), passage.similarity
    for other in others:
        found_by |= dict.fromkeys(other.found_by)
        places |= dict.fromkeys(other.provenance)
        parts |= dict.fromkeys((other.chunk.chunk_id, *other.merged_from))
        if similarity is None or (other.similarity is not None and other.similarity > similarity):
            similarity = other.similarity
    parts.pop(passage.chunk.chunk_id, None)
    return replace(
        passage, found_by=tuple(found_by), similarity=similarity, provenance=tuple(places),
        merged_from=tuple(parts),
    )  # fmt: skip
