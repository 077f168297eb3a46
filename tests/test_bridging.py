"""The second hop's proposals and grades: new names lead on, what closes the question weighs."""

from __future__ import annotations

import pytest

from anabranch.bridging import (
    CLAUSE_WEIGHT,
    DOCUMENTS_LIFTED,
    HIGHEST_SHARE,
    Bridge,
    FollowUp,
    Found,
    Question,
    follow_ups,
    lift,
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


def weights(*found: Found) -> tuple[float, ...]:
    return weigh(Question.of(SONG, LEXICON), found, {})


def test_a_find_that_closes_the_question_weighs_most() -> None:
    closing = Found(follow_up("Pearl Jam"), [chunk(BAND_TEXT, title="Pearl Jam")])
    beside = Found(follow_up("Epic Records"), [chunk("A label.", title="Epic")])
    first, second = weights(closing, beside)
    assert first == HIGHEST_SHARE
    assert 0 <= second < first


def test_the_later_the_passage_that_names_it_the_less_it_weighs() -> None:
    chunks = [chunk(BAND_TEXT, title="Pearl Jam")]
    near, far = weights(
        Found(follow_up("Pearl Jam"), chunks), Found(follow_up("Pearl Jam", 3), chunks)
    )
    assert far < near


def test_a_bridge_that_found_nothing_weighs_nothing() -> None:
    assert weights(Found(follow_up("Nobody"), [])) == (0.0,)
    assert weights() == ()


# ------------------------------------------------------------------------------------------ lifting


def test_the_first_finds_are_lifted_below_the_best_and_the_rest_comes_last() -> None:
    bridge = {f"n{place}": 4.0 - place for place in range(DOCUMENTS_LIFTED + 1)}
    ranked = lift({"a": 3.0, "b": 1.0, "c": -1.0}, [Bridge(bridge, 0.8)])
    assert list(ranked)[:2] == ["a", "n0"]
    assert ranked["n0"] == pytest.approx(0.8 * 3.0)
    assert list(ranked)[-1] == f"n{DOCUMENTS_LIFTED}"


def test_a_bridge_without_weight_lifts_nothing() -> None:
    ranked = lift({"a": 3.0, "b": -1.0}, [Bridge({"b": 2.0, "n": 1.0}, 0.0)])
    assert list(ranked) == ["a", "b", "n"]
    assert ranked["b"] == -1.0


def test_a_bridge_lifts_nothing_out_of_nothing() -> None:
    assert lift({}, [Bridge({"n": 1.0}, 0.8)]) == {}


def test_what_a_clause_finds_counts_beside_what_the_question_finds() -> None:
    first = {"a": 2.0, "b": 1.0, "c": -1.0}
    clauses = [Bridge(found, 1.0, is_clause=True) for found in ({"b": 1.5, "n": 4.0}, {"b": 0.5})]
    ranked = lift(first, clauses)
    assert ranked == {"n": 3.0, "b": 2.5, "a": 2.0, "c": -1.0}


def test_a_name_of_full_weight_is_no_clause() -> None:
    assert lift({"a": 2.0, "c": -1.0}, [Bridge({"n": 4.0}, 1.0)])["n"] == 2.0


def test_a_clause_has_the_weight_of_the_question_and_takes_none_from_the_names() -> None:
    clause = FollowUp("what", "what", 1.0, 0, "x", frozenset(), is_clause=True)
    found = weights(
        Found(clause, [chunk(SONG_TEXT, title="Brother")]),
        Found(follow_up("Pearl Jam"), [chunk(BAND_TEXT, title="Pearl Jam")]),
    )
    assert found == (CLAUSE_WEIGHT, HIGHEST_SHARE)
