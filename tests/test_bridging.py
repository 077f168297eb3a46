"""The second hop's proposals and grades: new names lead on, what closes the question weighs."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from anabranch.bridging import (
    DOCUMENTS_LIFTED,
    HIGHEST_SHARE,
    Bridge,
    FollowUp,
    Found,
    Question,
    follow_ups,
    lift,
    shares,
    weigh,
)
from anabranch.lexicon import Lexicon, combine, mine
from anabranch.types import Passage
from fakes import chunk, passage

SONG = "Which city was the band that recorded Brother formed in?"
SONG_TEXT = "Brother is a song by the American rock band Pearl Jam, recorded in 1991."
BAND_TEXT = "Pearl Jam is an American rock band formed in Seattle."
LEXICON = combine([mine(SONG_TEXT), mine(BAND_TEXT), mine("A city of bands.")])


def about(title: str, text: str) -> Passage:
    return passage(chunk=chunk(text, f"{title or text[:8]}.md", title=title))


def proposed(question: str, *passages: Passage, lexicon: Lexicon = LEXICON) -> list[FollowUp]:
    return list(follow_ups(Question.of(question, lexicon), passages, limit=8))


def test_a_name_that_the_question_lacks_is_asked_for_with_what_is_still_open() -> None:
    texts = [item.text for item in proposed(SONG, about("Brother (song)", SONG_TEXT))]
    assert "Pearl Jam city formed" in texts


def test_names_that_the_question_has_lead_nowhere() -> None:
    names = {item.name for item in proposed(SONG, about("Brother (song)", SONG_TEXT))}
    assert "Brother" not in names


def test_titles_come_before_names_in_the_text() -> None:
    first = proposed(SONG, about("Vitalogy", SONG_TEXT))[0]
    assert (first.name, first.rank) == ("Vitalogy", 0)


def test_a_file_name_is_no_title() -> None:
    assert proposed("how long is leave", about("leave.md", "annual leave is long")) == []


def test_a_date_leads_nowhere_and_a_name_with_a_date_does() -> None:
    text = "Brother was recorded in May 1991 on 24th August, after the Summer of 1990."
    names = {item.name for item in proposed(SONG, about("", text))}
    assert names == {"Summer of 1990"}


@pytest.mark.parametrize(
    ("title", "leads"),
    [
        ("Songs of a band", True),
        ("numpy", True),
        ("what the band of the song did", False),
        ("The Recording Sessions of an American Rock Band and All of Its Songs", False),
    ],
)
def test_a_title_that_describes_a_topic_is_no_name(title: str, leads: bool) -> None:
    found = proposed(SONG, about(title, "it was recorded by a band"))
    assert [item.name for item in found] == ([title] if leads else [])


def test_names_asked_for_before_are_not_asked_for_again() -> None:
    question = Question.of(SONG, LEXICON)
    passages = [about("", SONG_TEXT)]
    names = {item.name for item in follow_ups(question, passages, limit=8)}
    left = follow_ups(question, passages, limit=8, asked=frozenset({"pearl jam"}))
    assert names - {item.name for item in left} == {"Pearl Jam"}


def test_chinese_names_are_followed_with_the_open_part_of_the_question() -> None:
    found = proposed(
        "《活着》的作者毕业于哪所大学", about("", "《活着》是余华创作的小说，由余华创作。")
    )
    assert any(item.name == "余华" and "毕业" in item.text for item in found)


@pytest.mark.parametrize(("question", "passages"), [("", ()), ("?", ()), (SONG, ())])
def test_nothing_to_read_or_to_ask_proposes_nothing(
    question: str, passages: tuple[Passage, ...]
) -> None:
    assert proposed(question, *passages) == []


LONG = (
    "Which firm from Mountain View released a lite model in spring, "
    "is accused of harming news publishers by its default search deals?"
)
CLOSING_ONE = about("", "the firm from mountain view released a lite model in spring")


def test_each_clause_of_a_long_question_is_asked_for_alone_once() -> None:
    assert [item.text for item in proposed(LONG, CLOSING_ONE) if item.is_clause] == [
        "Which firm from Mountain View released a lite model in spring",
        "is accused of harming news publishers by its default search deals",
    ]
    later = follow_ups(
        Question.of(LONG, LEXICON), [CLOSING_ONE], limit=8, asked=frozenset({"mountain view"})
    )
    assert not any(item.is_clause for item in later)


def test_a_description_that_asks_nothing_is_not_cut() -> None:
    assert proposed(LONG.rstrip("?"), CLOSING_ONE) == []


# ----------------------------------------------------------------------------------------- weights


def follow_up(name: str, rank: int = 0) -> FollowUp:
    return FollowUp(name, name, 1.0, rank, "x", frozenset({"citi", "form"}))


def lifts(*found: Found) -> tuple[Mapping[str, float], ...]:
    grades = weigh(Question.of(SONG, LEXICON), found, {})
    best = max((grade for own in grades for grade in own.values()), default=0.0)
    return tuple(shares(own, best) for own in grades)


BAND = chunk(BAND_TEXT, "band.md", title="Pearl Jam")
OTHER_BAND = chunk("The city where the band Mudhoney was formed in.", "other.md", title="Mudhoney")


def test_a_find_that_closes_the_question_is_lifted_most() -> None:
    label = chunk("Epic is a label.", "label.md", title="Epic")
    first, second = lifts(
        Found(follow_up("Pearl Jam"), [BAND]), Found(follow_up("Epic Records"), [label])
    )
    assert first == {BAND.chunk_id: HIGHEST_SHARE}
    assert 0 < second[label.chunk_id] < HIGHEST_SHARE


def test_a_find_that_lacks_the_name_is_no_link_of_the_chain() -> None:
    (found,) = lifts(Found(follow_up("Pearl Jam"), [OTHER_BAND, BAND]))
    assert found == {BAND.chunk_id: HIGHEST_SHARE}


def test_a_find_that_has_half_of_the_name_is_lifted_less() -> None:
    half = chunk(BAND_TEXT.replace("Pearl Jam", "Pearl"), "half.md", title="Pearl")
    (found,) = lifts(Found(follow_up("Pearl Jam"), [BAND, half]))
    assert 0 < found[half.chunk_id] < found[BAND.chunk_id]


def test_the_passage_that_a_name_is_from_is_not_lifted_by_it() -> None:
    own = FollowUp("Pearl Jam", "Pearl Jam", 1.0, 0, BAND.chunk_id, frozenset({"citi"}))
    assert lifts(Found(own, [BAND])) == ({},)


def test_the_later_the_passage_that_names_it_the_less_it_lifts() -> None:
    near, far = lifts(
        Found(follow_up("Pearl Jam"), [BAND]), Found(follow_up("Pearl Jam", 3), [BAND])
    )
    assert far[BAND.chunk_id] < near[BAND.chunk_id]


def test_only_the_first_finds_are_lifted() -> None:
    chunks = [
        chunk(BAND_TEXT, f"{number}.md", title="Pearl Jam")
        for number in range(DOCUMENTS_LIFTED + 1)
    ]
    (found,) = lifts(Found(follow_up("Pearl Jam"), chunks))
    assert list(found) == [one.chunk_id for one in chunks[:DOCUMENTS_LIFTED]]


def test_a_bridge_that_found_nothing_lifts_nothing() -> None:
    assert lifts(Found(follow_up("Nobody"), [])) == ({},)
    assert lifts() == ()


def test_nothing_is_lifted_higher_than_what_it_is_measured_by() -> None:
    found = shares({"a": 0.2, "b": 0.8, "c": 1.6}, 0.8)
    assert found == {"a": pytest.approx(HIGHEST_SHARE / 2), "b": HIGHEST_SHARE, "c": HIGHEST_SHARE}
    assert shares({"a": 0.2}, 0.0) == {}


# ------------------------------------------------------------------------------------------ lifting


def test_a_find_stands_at_its_share_of_the_best_and_the_rest_comes_last() -> None:
    bridge = Bridge({"n": 4.0, "m": 2.0, "o": 1.0}, {"n": 0.8, "m": 0.6})
    ranked = lift({"a": 3.0, "b": 1.0, "c": -1.0}, [bridge])
    assert list(ranked) == ["a", "n", "b", "m", "c", "o"]
    assert ranked["n"] == pytest.approx(0.8 * 3.0)
    assert ranked["m"] == pytest.approx(0.6 * 3.0 * 2.0 / 4.0)


def test_a_bridge_without_a_share_lifts_nothing() -> None:
    ranked = lift({"a": 3.0, "b": -1.0}, [Bridge({"b": 2.0, "n": 1.0}, {})])
    assert list(ranked) == ["a", "b", "n"]
    assert ranked["b"] == -1.0


def test_a_bridge_lifts_nothing_out_of_nothing() -> None:
    assert lift({}, [Bridge({"n": 1.0}, {"n": 0.8})]) == {}


def test_a_find_of_a_name_stands_no_higher_beside_clauses() -> None:
    first = {"a": 2.0, "b": 1.0, "c": -1.0}
    name = Bridge({"n": 3.0}, {"n": 0.5})
    clause = Bridge({"a": 4.0}, {}, is_clause=True)
    assert lift(first, [name, clause])["n"] == lift(first, [name])["n"] == 1.0


def test_what_a_clause_finds_counts_beside_what_the_question_finds() -> None:
    first = {"a": 2.0, "b": 1.0, "c": -1.0}
    clauses = [Bridge(found, {}, is_clause=True) for found in ({"b": 1.5, "n": 4.0}, {"b": 0.5})]
    ranked = lift(first, clauses)
    assert ranked == {"n": 3.0, "b": 2.5, "a": 2.0, "c": -1.0}


def test_a_name_of_full_weight_is_no_clause() -> None:
    assert lift({"a": 2.0, "c": -1.0}, [Bridge({"n": 4.0}, {"n": 1.0})])["n"] == 2.0


def test_a_clause_lifts_nothing_and_takes_nothing_from_the_names() -> None:
    clause = FollowUp("what", "what", 1.0, 0, "x", frozenset(), is_clause=True)
    found = lifts(Found(clause, [BAND]), Found(follow_up("Pearl Jam"), [BAND]))
    assert found == ({}, {BAND.chunk_id: HIGHEST_SHARE})
