"""One line of an answer for each part of a question, in which no thing answers for another; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anabranch.reasoning import passages as features
from anabranch.reasoning.choosing import (
    MOST_SENTENCES,
    Choice,
    by_likelihood,
    choose,
    disputed_places,
    in_order,
    ranked_pieces,
)
from anabranch.reasoning.named_thing import of_the_named
from anabranch.reasoning.qualities import other_forms
from anabranch.reasoning.slots import one_difference
from anabranch.reasoning.weighing import Candidate, PieceModel, gives
from anabranch.types import Evidence, SubQuestion
from anabranch.values import values

# In a line about one part of a question a reader looks for less.
_WORTH_SHOWING_IN_LINE = 0.27
# A sub-question has a line of its own: there the second sentence must be nearly as good.
_WORTH_SHOWING_IN_PART = 0.6
# Less likely than this, a sentence is no answer to a sub-question, and its line is left out.
_LEAST_LIKELY = 0.06
# From half of their words in common two sentences say the same of two things; such a pair goes
# ahead of sentences that are up to five times as likely by themselves.
_LEAST_PARALLEL, _PARALLEL_BONUS = 0.5, 4.0
# Where some piece has the value that a part asks for, one without it is this much less likely.
_WITHOUT_VALUE = 0.4


def part_lines(
    question: str,
    evidence: Sequence[Evidence],
    sub_questions: Sequence[SubQuestion],
    model: PieceModel,
) -> list[tuple[str, list[Candidate]]]:
    """One labelled line for each sub-question that the evidence says something about."""
    choice = Choice()
    disputed = disputed_places(question, evidence)
    per_part = max(1, MOST_SENTENCES // max(2, len(sub_questions)))
    labels = _labels(sub_questions)
    owned = _own_terms(sub_questions)
    parts = [
        _with_value_first(
            one.question,
            # What the whole question names holds for its parts.
            _about(
                own,
                of_the_named(question, ranked_pieces(one.question, evidence, model), evidence),
                evidence,
            ),
        )
        for one, own in zip(sub_questions, owned, strict=True)
    ]
    if labels[0]:
        parts = [_of_attribute(own, part) for own, part in zip(owned, parts, strict=True)]
        parts = [
            _deciding_first(
                own, part, [one for other in parts if other is not part for one in other]
            )
            for own, part in zip(owned, parts, strict=True)
        ]
    # A second pair that differs may tell more than the first one.
    again = _WORTH_SHOWING_IN_LINE if labels[0] else _WORTH_SHOWING_IN_PART
    lines: list[tuple[str, list[Candidate]]] = []
    best = [_spot(part[0]) for part in parts if part and part[0].likelihood >= _LEAST_LIKELY]
    for sub_question, label, part in zip(sub_questions, labels, parts, strict=True):
        # The best piece of another part is left to its own line.
        ranked = [
            one
            for number, one in enumerate(part)
            if one.likelihood >= _LEAST_LIKELY and not (number and _spot(one) in best)
        ]
        chosen = choose(
            ranked, choice, disputed=disputed, most=per_part,
            worth=_WORTH_SHOWING_IN_LINE, worth_again=again,
        )  # fmt: skip
        if chosen:
            lines.append((label, in_order(sub_question.question, chosen)))
    return lines


def _spot(candidate: Candidate) -> tuple[int, int]:
    return candidate.number, candidate.index


def _with_value_first(question: str, part: Sequence[Candidate]) -> list[Candidate]:
    """The candidates of a part with those ahead that have a value as it asks for."""
    having = [gives(question, one) for one in part]
    if not any(
        has and one.likelihood >= _LEAST_LIKELY for has, one in zip(having, part, strict=True)
    ):
        return list(part)
    return by_likelihood(
        one if has else replace(one, likelihood=one.likelihood * _WITHOUT_VALUE)
        for has, one in zip(having, part, strict=True)
    )


def _of_attribute(own: frozenset[str], part: Sequence[Candidate]) -> list[Candidate]:
    """The candidates of one side weighed by how much they have of what is asked of every side,
    without those that have less of it than a better one.

    "30 vacation days" is no answer about sick days where another piece stands under "Sickness".
    """
    most = max((len(one.placed - own) for one in part), default=0)
    if not most:
        return list(part)
    weighed = by_likelihood(
        replace(one, likelihood=one.likelihood * len(one.placed - own) / most) for one in part
    )
    kept: list[Candidate] = []
    better: set[frozenset[str]] = set()
    for one in weighed:
        attribute = one.placed - own
        if not any(attribute < other for other in better):
            kept.append(one)
            better.add(attribute)
    return kept


def _deciding_first(
    own: frozenset[str], part: Sequence[Candidate], others: Sequence[Candidate]
) -> list[Candidate]:
    """Candidates of a comparison with those ahead that say of one thing what is said of another.

    "Full-time staff have 30 days" beside "full-time staff have 20 days" is what differs, whether
    or not the question uses these words; but not beside a piece with more of what is asked.
    """
    most = max((len(one.placed - own) for one in part), default=0)
    return by_likelihood(
        replace(one, likelihood=one.likelihood * (1 + _PARALLEL_BONUS * _parallel(one, others)))
        if len(one.placed - own) == most
        else one
        for one in part
    )


def _parallel(candidate: Candidate, others: Sequence[Candidate]) -> float:
    """How much a candidate is like one of another passage that gives another value; 0 to 1."""
    terms = candidate.unit.terms
    best = 0.0
    for other in others:
        shared = len(terms & other.unit.terms) / max(len(terms | other.unit.terms), 1)
        if shared <= max(best, _LEAST_PARALLEL) or other.number == candidate.number:
            continue
        if any(
            a.differs(b) for a in values(candidate.unit.shown) for b in values(other.unit.shown)
        ):
            best = shared
    return best


def _own_terms(sub_questions: Sequence[SubQuestion]) -> list[frozenset[str]]:
    """What each sub-question asks about and none of the others."""
    cuts = [_said(one.question) for one in sub_questions]
    return [
        terms - frozenset[str]().union(*(cuts[at] for at in range(len(cuts)) if at != number))
        for number, terms in enumerate(cuts)
    ]


def _said(question: str) -> frozenset[str]:
    """The terms of a question, and of what it asks for the nouns that stand for it."""
    nouns = (noun for forms in other_forms(question).values() for noun in forms)
    return frozenset(features.cut_question(question).terms).union(*nouns)


def _about(
    own: frozenset[str], ranked: Sequence[Candidate], evidence: Sequence[Evidence]
) -> list[Candidate]:
    """The candidates that name what this sub-question alone asks about, themselves or by where
    they stand; if none does, those of passages that name it anywhere."""
    if not own:
        return list(ranked)
    places = [features.place_terms(one) for one in evidence]
    close = [c for c in ranked if own & (c.unit.terms | c.unit.setting | places[c.number])]
    return close or [c for c in ranked if own & features.cut(evidence[c.number].text).terms]


def _labels(sub_questions: Sequence[SubQuestion]) -> list[str]:
    """What stands before each line: the thing in which a sub-question differs from the others.

    Only where they are the same question about different things; fragments of different questions
    are no label that a reader would understand.
    """
    questions = [one.question for one in sub_questions]
    found: list[str] = []
    for number, question in enumerate(questions):
        differences = [
            one_difference(question, other) for at, other in enumerate(questions) if at != number
        ]
        found.append(next((pair[0] for pair in differences if pair), ""))
    return found if all(found) and len(set(found)) == len(found) else [""] * len(found)
