"""Answers to questions that take two passages: the one that names the next thing, and what is said of it."""

from __future__ import annotations

import pytest

from anabranch.reasoning.answering import LocalAnswerer
from anabranch.reasoning.chains import is_nested
from anabranch.types import Answer, Evidence, SubQuestion


def evidence(number: int, title: str, text: str) -> Evidence:
    return Evidence(
        id=f"e{number}", chunk_id=f"c{number}", chunk_index=0, collection="default",
        source_id=f"s{number}", text=text, source=f"{number}.md", title=title, page=None, start=0,
        end=len(text), level=3, score=1.0, relevance=0.8,
    )  # fmt: skip


async def answer(question: str, *items: Evidence, parts: tuple[str, ...] = ()) -> Answer:
    sub_questions = tuple(SubQuestion(f"s{i}", part) for i, part in enumerate(parts, 1))
    return await LocalAnswerer().answer(question, items, sub_questions=sub_questions)


# Every sentence has some of the question's words, so that nothing but the chain tells which are needed.
TOWN = evidence(
    1,
    "Quarry Bay",
    "Quarry Bay is a small town at the sea. In 1986 the film The Silver Heron was shot in and around Quarry Bay. "
    "A film festival takes place in Quarry Bay. The first film shot there is lost. "
    "Quarry Bay has a school for those who want to learn how films are directed.",
)
FILM = evidence(
    2,
    "The Silver Heron (film)",
    "The Silver Heron is a drama in two parts. It was directed by Odile Marchetti. Its music won a prize.",
)
OTHER_FILM = evidence(
    3,
    "Harvest Moon",
    "Harvest Moon is a film directed by Howard Breen. Howard Breen directed no film that was shot at sea.",
)
PRODUCT = evidence(
    1, "Kestrel overview",
    "The Kestrel is a wind gauge for roofs. It is led by Imre Vass. It has no moving parts.",
)  # fmt: skip
PEOPLE = evidence(
    2, "Who is who",
    "Our switchboard is open from nine. Imre Vass manages the Trieste office. Lena Ode manages the Oslo office. "
    "The canteen manages itself.",
)  # fmt: skip


async def test_an_answer_quotes_what_names_the_next_thing_and_what_is_said_of_it() -> None:
    made = await answer(
        "Who directed the film that was shot in Quarry Bay?", TOWN, FILM, OTHER_FILM
    )
    assert "The Silver Heron was shot in and around Quarry Bay. [1]" in made.text
    assert "It was directed by Odile Marchetti. [2]" in made.text
    assert {citation.marker for citation in made.citations} >= {1, 2}


async def test_a_name_inside_of_a_page_leads_on_as_well() -> None:
    made = await answer(
        "Which office is managed by the person who leads the Kestrel?", PRODUCT, PEOPLE
    )
    assert "It is led by Imre Vass. [1]" in made.text
    assert "Imre Vass manages the Trieste office. [2]" in made.text


async def test_a_chinese_chain_is_quoted_whole() -> None:
    book = evidence(
        1, "灰鹤", "《灰鹤》是一部长篇小说。作者是林若溪。主角大学毕业后离开。小说分为三卷。"
    )  # fmt: skip
    writer = evidence(2, "林若溪", "林若溪住在海边。她毕业于青川大学。她喜欢钓鱼。")
    other = evidence(3, "白鹭", "《白鹭》的作者毕业于北岭大学。")
    made = await answer("小说《灰鹤》的作者毕业于哪所大学？", book, writer, other)
    assert "作者是林若溪。 [1]" in made.text
    assert "她毕业于青川大学。 [2]" in made.text


async def test_what_one_piece_says_alone_is_no_chain() -> None:
    whole = evidence(
        1, "Quarry Bay",
        "The film shot in Quarry Bay was directed by Odile Marchetti. See also The Silver Heron.",
    )  # fmt: skip
    made = await answer("Who directed the film that was shot in Quarry Bay?", whole, FILM)
    assert made.text.startswith("The film shot in Quarry Bay was directed by Odile Marchetti. [1]")
    assert "[2]" not in made.text.split("Odile Marchetti. [1]")[0]


async def test_a_plain_question_is_not_led_on_by_a_name_that_two_passages_share() -> None:
    first = evidence(1, "Garden", "The garden was planted by Imre Vass. Roses grow at the wall.")
    made = await answer("Who planted the garden?", first, PEOPLE)
    assert "Trieste" not in made.text


async def test_nested_parts_are_answered_as_the_chain_that_they_are() -> None:
    song = evidence(
        1, "Keep the Lantern", "Keep the Lantern is a song by Hal Tobin, made popular by Petra Pell in 1949."
    )  # fmt: skip
    singer = evidence(
        2, "Petra Pell", "Clara Fowler (November 8, 1927), known as Petra Pell, was a singer."
    )
    other = evidence(3, "Nick Hexel", "Nick Hexel is a singer. The year of birth is 1970.")
    made = await answer(
        "In what year was the singer who made Keep the Lantern popular born?",
        song, singer, other,
        parts=(
            "Which singer made Keep the Lantern popular?",
            "What is the date of birth of the singer who made Keep the Lantern popular?",
        ),
    )  # fmt: skip
    assert "(November 8, 1927)" in made.text


@pytest.mark.parametrize(
    ("parts", "nested"),
    [
        (("Who wrote The Heron?", "Where was the one who wrote The Heron born?"), True),
        (("When was Ann Lee born?", "When was Bo Carr born?"), False),
        (("《灰鹤》的作者是谁？", "《灰鹤》的作者毕业于哪所大学？"), True),
        (("柏林的年假有几天？", "波士顿的年假有几天？"), False),
        (("Who wrote The Heron?",), False),
    ],
)
def test_parts_are_nested_where_the_second_has_all_of_the_first(
    parts: tuple[str, ...], nested: bool
) -> None:
    assert is_nested([SubQuestion(str(n), part) for n, part in enumerate(parts)]) is nested


async def test_what_is_said_of_the_next_thing_and_not_of_its_neighbour_is_quoted_in_order() -> None:
    """ "It costs" is said of the product before it, and of another one if what stands between is moved."""
    teams = evidence(
        1, "Teams", "The Meadow team maintains the Osprey gateway. The Summit team maintains the Heron display."
    )  # fmt: skip
    catalogue = evidence(
        2,
        "Catalogue",
        "The Kestrel sensor is sold in Lisbon. It costs 149 euros and has a warranty of 24 months. Its battery "
        "lasts 18 months. The Osprey gateway is sold in Berlin. It costs 420 euros and has a warranty of 36 months.",
    )
    made = await answer(
        "What is the warranty of the product that the Meadow team maintains?", teams, catalogue
    )
    assert "warranty of 36 months" in made.text
    assert "24 months" not in made.text.split("The Osprey gateway is sold")[-1]
    places = [catalogue.text.index(one.quote) for one in made.citations if one.evidence == "e2"]
    assert len(places) > 1
    assert places == sorted(places)


async def test_beside_a_chain_nothing_points_back_to_what_is_not_quoted() -> None:
    teams = evidence(1, "Teams", "The Meadow team maintains the Osprey gateway.")
    torn = evidence(
        2,
        "Catalogue",
        "It costs 149 euros and has a warranty of 24 months. Its battery lasts 18 months. "
        "The Osprey gateway is sold in Berlin. It costs 420 euros and has a warranty of 36 months.",
    )
    made = await answer(
        "What is the warranty of the product that the Meadow team maintains?", teams, torn
    )
    assert "warranty of 36 months" in made.text
    assert "149" not in made.text
