"""Bridging, whatever it finds: nothing of the first hop goes or falls, and order changes nothing."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.bridging import Bridge, Question, follow_ups, lift
from anabranch.lexicon import Lexicon
from anabranch.names import names_in_sentence
from fakes import chunk, passage

FAST = settings(max_examples=25, deadline=None)

KEYS = st.sampled_from([f"c{number}" for number in range(12)])
SCORES = st.integers(-40, 40).map(lambda quarters: quarters / 4)
RANKINGS = st.dictionaries(KEYS, SCORES, max_size=6).map(
    lambda scores: dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))
)
LIFTS = st.dictionaries(KEYS, st.sampled_from([0.3, 0.65]), max_size=4)
BRIDGES = st.lists(st.builds(Bridge, RANKINGS, LIFTS, st.booleans()), max_size=4)
TEXTS = st.text(max_size=80) | st.lists(
    st.sampled_from(
        [
            "The",
            "Bank",
            "of",
            "England",
            ".",
            "is",
            "《活着》",
            "由",
            "余华",
            "创作",
            "，",
            "J.",
            "’s",
        ]
    ),
    max_size=12,
).map(" ".join)


@FAST
@given(RANKINGS, BRIDGES)
def test_no_candidate_of_the_first_hop_is_lost_or_falls(
    first: dict[str, float], bridges: list[Bridge]
) -> None:
    lifted = lift(first, bridges)
    assert set(first) <= set(lifted)
    assert all(lifted[key] >= score for key, score in first.items())
    if first:
        assert set(lifted) == set(first).union(*(bridge.ranking for bridge in bridges))
        by_name = [bridge for bridge in bridges if not bridge.is_clause]
        assert (
            next(iter(lift(first, by_name))) == next(iter(lift(first, [])))
            or max(first.values()) <= 0
        )


@FAST
@given(RANKINGS, BRIDGES, st.randoms())
def test_the_order_in_which_bridges_come_changes_nothing(
    first: dict[str, float],
    bridges: list[Bridge],
    order: random.Random,
) -> None:
    shuffled = list(bridges)
    order.shuffle(shuffled)
    assert list(lift(first, shuffled).items()) == list(lift(first, bridges).items())


@FAST
@given(TEXTS)
def test_any_text_has_names_that_stand_in_it(text: str) -> None:
    found = list(names_in_sentence(text))
    assert found == list(names_in_sentence(text))
    assert all(name in text for name in found)


@FAST
@given(TEXTS, st.lists(TEXTS, max_size=3), st.integers(0, 5))
def test_follow_ups_are_few_different_and_the_same_every_time(
    question: str, texts: list[str], limit: int
) -> None:
    asked = Question.of(question, Lexicon())
    passages = [
        passage(chunk=chunk(text, f"{number}.md", title="")) for number, text in enumerate(texts)
    ]
    found = follow_ups(asked, passages, limit=limit)
    assert len(found) <= limit
    assert len({item.name for item in found}) == len(found)
    assert found == follow_ups(asked, passages, limit=limit)
