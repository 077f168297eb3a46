"""The local rewriter: leave out what nothing matches, or add the documents' own words."""

from __future__ import annotations

import pytest

from anabranch.lexicon import Lexicon
from anabranch.reasoning.rewriting import LocalRewriter
from anabranch.types import Chunk, EvidenceGrade, Passage, Rewrite

WEAK = EvidenceGrade("weak", "partial", route="rewrite")


def passage(text: str, title: str = "") -> Passage:
    chunk = Chunk(
        chunk_id=text, source_id="s", collection="default", source="s.md", title=title, text=text,
        start=0, end=len(text), chunk_index=0, level=3, content_hash="",
    )  # fmt: skip
    return Passage(chunk=chunk, score=1.0, similarity=0.4)


LEAVE = passage("Employees receive 30 days of annual leave each year. Leave must be approved.")


async def rewrite(
    question: str, *passages: Passage, words: dict[str, int] | None = None
) -> Rewrite | None:
    lexicon = Lexicon(document_count=10, words=words or {})
    return await LocalRewriter().rewrite(question, passages, WEAK, lexicon=lexicon)


async def test_an_unmatched_name_and_number_are_left_out() -> None:
    made = await rewrite("How much annual leave did employees in Munich receive in 2019?", LEAVE)
    assert made is not None
    assert made.method == "step_back"
    assert "Munich" not in made.query
    assert "2019" not in made.query
    assert "annual leave" in made.query
    assert "'Munich'" in made.reason


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How long is the warranty of the Sandpiper?", "The warranty of the Plover is 18 months."),
        ("Sandpiper的保修期有多长？", "Plover探头的保修期为十八个月。"),
    ],
)
async def test_what_the_question_is_about_is_never_left_out(question: str, text: str) -> None:
    made = await rewrite(question, passage(text), words={"warranty": 3, "plover": 2})
    assert made is None or "Sandpiper" in made.query


async def test_of_several_names_the_unmatched_one_is_left_out() -> None:
    text = "The warranty of the Plover is 18 months."
    made = await rewrite("Is the Plover warranty valid in Munich?", passage(text))
    assert made is not None
    assert made.method == "step_back"
    assert "Plover" in made.query
    assert "Munich" not in made.query


async def test_a_word_that_other_documents_use_is_kept_and_companions_are_added() -> None:
    made = await rewrite("annual holiday approval", LEAVE, words={"holiday": 3})
    assert made is not None
    assert made.method == "hyde"
    assert made.query.startswith("annual holiday approval")
    assert "leave" in made.query


async def test_nothing_in_common_is_filled_up_from_the_best_passage() -> None:
    made = await rewrite("vacation", LEAVE)
    assert made is not None
    assert made.method == "hyde"
    assert "leave" in made.query
    assert made.reason


async def test_without_passages_and_specifics_there_is_nothing_to_change() -> None:
    assert await rewrite("annual leave", words={"annual": 1, "leave": 1}) is None


async def test_a_chinese_question_steps_back_from_what_nothing_matches() -> None:
    made = await rewrite(
        "2019年慕尼黑员工年假", passage("员工每年享有30天年假。员工年假须经批准。")
    )
    assert made is not None
    assert made.method == "step_back"
    assert "慕尼黑" not in made.query
    assert "年假" in made.query


async def test_a_chinese_question_gets_companions() -> None:
    made = await rewrite("休假", passage("员工的年假和病假，年假须经主管批准。"))
    assert made is not None
    assert made.method == "hyde"
    assert "年假" in made.query


async def test_rewriting_twice_gives_the_same() -> None:
    assert await rewrite("vacation", LEAVE) == await rewrite("vacation", LEAVE)
