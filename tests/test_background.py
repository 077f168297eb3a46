"""What a collection gives to a question anyway, from its dense leg's tail and both legs' heads."""

from __future__ import annotations

import pytest

from anabranch.background import background_of
from anabranch.types import Background, Hit, LegResult, Query, QueryKind, QueryResult, Retrieval
from fakes import chunk


def hits(*scores: float, prefix: str = "c") -> tuple[Hit, ...]:
    return tuple(
        Hit(chunk(source=f"{prefix}{rank}.md"), score) for rank, score in enumerate(scores)
    )


def found(
    dense: tuple[Hit, ...], text: tuple[Hit, ...] = (), *,
    kind: QueryKind = "original", weight: float = 1.0,
) -> QueryResult:  # fmt: skip
    legs = (LegResult("dense", dense), LegResult("text", text))
    return QueryResult(Query(kind, "what?", kind, weight), legs)


def test_the_mean_is_of_the_tail_and_not_of_what_may_answer() -> None:
    scores = (0.9, 0.8, 0.7, *[0.1, 0.2] * 4)
    background = background_of(Retrieval(results=(found(hits(*scores)),)))
    assert background.mean == pytest.approx(0.15)
    assert background.deviation == pytest.approx(0.05)


def test_a_tail_of_equals_still_has_a_deviation() -> None:
    background = background_of(Retrieval(results=(found(hits(*[0.3] * 20)),)))
    assert background.mean == pytest.approx(0.3)
    assert background.deviation > 0


def test_too_few_hits_have_no_tail() -> None:
    assert background_of(Retrieval(results=(found(hits(0.5, 0.4)),))).mean is None
    assert background_of(Retrieval()) == Background()


def test_a_rewrite_or_a_bridge_says_nothing_about_the_question() -> None:
    asked, rewritten = found(hits(*[0.2] * 10)), found(hits(*[0.6] * 10), kind="step_back")
    both = background_of(Retrieval(results=(rewritten, asked)))
    assert both == background_of(Retrieval(results=(asked,)))


def test_the_repaired_spelling_speaks_for_the_question() -> None:
    typed = found(hits(*[0.1] * 10), weight=0.3)
    repaired = found(hits(*[0.4] * 10), kind="spelling")
    assert background_of(Retrieval(results=(typed, repaired))).mean == pytest.approx(0.4)


def test_legs_that_find_the_same_agree_and_others_do_not() -> None:
    same = hits(*[0.5] * 8)
    other = hits(*[3.0] * 8, prefix="other")
    assert background_of(Retrieval(results=(found(same, same),))).agreement == pytest.approx(1)
    assert background_of(Retrieval(results=(found(same, other),))).agreement == 0
    assert background_of(Retrieval(results=(found(same),))).agreement == 0
