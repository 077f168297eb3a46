"""The local answerer: the deciding sentences, each cited, each quote verbatim."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from anabranch.citations import guard
from anabranch.reasoning.answering import LocalAnswerer
from anabranch.reasoning.presenting import units
from anabranch.types import Answer, Evidence, SubQuestion, WindowScore


def evidence(
    number: int, text: str, *, title: str = "", context: str = "", relevance: float = 0.8
) -> Evidence:
    return Evidence(
        id=f"e{number}", chunk_id=f"c{number}", chunk_index=0, collection="default",
        source_id=f"s{number}", text=text, source=f"{number}.md", title=title, page=None, start=0,
        end=len(text), level=3, score=1.0, relevance=relevance, context=context,
    )  # fmt: skip


async def answer(question: str, *items: Evidence, parts: tuple[str, ...] = ()) -> Answer:
    sub_questions = tuple(SubQuestion(f"s{i}", part) for i, part in enumerate(parts, 1))
    made = await LocalAnswerer().answer(question, items, sub_questions=sub_questions)
    texts = {one.id: one.text for one in items}
    for citation in made.citations:
        assert citation.quote in texts[citation.evidence]
        assert f"[{citation.marker}]" in made.text
    return made


LEAVE = (
    "The company was founded in 1987. It has offices in four cities. Employees receive 30 days of "
    "annual leave each year. The cafeteria opens at eight. Dogs are welcome on Fridays. "
    "Parking is free for visitors. The garden is open in summer."
)


async def test_no_evidence_is_no_answer() -> None:
    assert await answer("Why?") == Answer("", "extractive")


async def test_the_deciding_sentence_is_quoted_with_its_marker() -> None:
    made = await answer("How many days of annual leave do employees receive?", evidence(3, LEAVE))
    assert "Employees receive 30 days of annual leave each year. [3]" in made.text
    assert made.mode == "extractive"


async def test_an_answer_stays_short_and_in_reading_order() -> None:
    made = await answer(
        "When was the company founded and where are offices?", evidence(1, LEAVE * 4)
    )
    assert len(made.citations) <= 4
    assert len(re.sub(r" \[\d+\]", "", made.text)) <= 600
    assert made.text.startswith("The company was founded in 1987. [1]")


async def test_every_sentence_is_followed_by_its_marker() -> None:
    made = await answer(
        "annual leave of employees", evidence(1, LEAVE), evidence(2, "Leave is paid.")
    )
    assert len(re.findall(r"\[\d\]", made.text)) == len(made.citations)


async def test_the_same_sentence_in_two_documents_is_said_once() -> None:
    text = "Employees receive 30 days of annual leave."
    made = await answer("How much annual leave?", evidence(1, text), evidence(2, text))
    assert made.text.count("30 days") == 1


async def test_markdown_marks_are_not_shown_but_stay_in_the_quote() -> None:
    made = await answer(
        "What is the limit?", evidence(1, "# Limits\n\n- The limit is **120** euros.")
    )
    assert "- " not in made.text
    assert "The limit is 120 euros. [1]" in made.text
    assert any(citation.quote == "- The limit is **120** euros." for citation in made.citations)


async def test_a_table_row_carries_its_column_names() -> None:
    row = "| Basic | 10 GB | 5 euros |"
    made = await answer(
        "How much storage has the Basic plan?",
        evidence(1, f"{row}\n| Pro | 100 GB | 20 euros |", context="Plans\nPlan | Storage | Price"),
    )
    assert "Plan: Basic; Storage: 10 GB; Price: 5 euros [1]" in made.text
    assert made.citations[0].quote == row


async def test_a_table_that_begins_in_the_passage_gives_its_own_column_names() -> None:
    table = "| Plan | Storage |\n|---|---|\n| Basic | 10 GB |\n| Pro | 100 GB |"
    made = await answer("How much storage has the Pro plan?", evidence(1, table))
    assert "Plan: Pro; Storage: 100 GB [1]" in made.text


async def test_a_list_is_given_whole() -> None:
    text = "To apply for leave you need:\n- a signed form\n- approval of your manager\n- two weeks"
    made = await answer("What do you need to apply for leave?", evidence(1, text))
    assert "a signed form [1]" in made.text
    assert "approval of your manager [1]" in made.text
    assert "two weeks [1]" in made.text


async def test_a_heading_alone_is_no_answer() -> None:
    text = "Annual leave policy\n\nEveryone has 30 days, which expire in March."
    made = await answer("What is the annual leave policy?", evidence(1, text))
    assert "30 days" in made.text


async def test_yes_or_no_starts_with_the_deciding_sentence() -> None:
    first = evidence(1, "Offices have rules. The rules are printed.", relevance=0.5)
    second = evidence(2, "Dogs are allowed in the office on Fridays.")
    made = await answer("Are dogs allowed in the office?", first, second)
    assert made.text.startswith("Dogs are allowed in the office on Fridays. [2]")


async def test_each_sub_question_has_its_own_line() -> None:
    made = await answer(
        "How does leave differ between Berlin and Boston?",
        evidence(1, "Employees in Berlin receive 30 days of annual leave."),
        evidence(2, "Employees in Boston receive 20 days of annual leave."),
        parts=("How much annual leave in Berlin?", "How much annual leave in Boston?"),
    )
    lines = made.text.split("\n")
    assert lines == [
        "Berlin: Employees in Berlin receive 30 days of annual leave. [1]",
        "Boston: Employees in Boston receive 20 days of annual leave. [2]",
    ]


async def test_a_sub_question_without_evidence_borrows_none() -> None:
    made = await answer(
        "How does leave differ between Berlin and Munich?",
        evidence(1, "Employees in Berlin receive 30 days of annual leave."),
        parts=("How much annual leave in Berlin?", "How much annual leave in Munich?"),
    )
    assert "Munich" not in made.text
    assert made.text.count("[1]") == 1


async def test_chinese_sentences_are_quoted() -> None:
    text = "公司成立于1987年。办公室有四个。员工每年享有30天年假。食堂八点开门。欢迎带狗。"
    made = await answer("员工每年有多少天年假？", evidence(1, text))
    assert "员工每年享有30天年假。 [1]" in made.text
    assert len(made.citations) <= 4


async def test_a_sentence_longer_than_an_answer_is_cut_at_a_word() -> None:
    text = "The warranty of the device " + "and of every single part of it " * 40 + "ends."
    made = await answer("What about the warranty of the device?", evidence(1, text))
    assert made.citations
    assert len(made.text) <= 610


# ------------------------------------------------------------------------- what is never shown


async def test_headings_titles_and_running_heads_are_not_sentences() -> None:
    text = (
        "Larkmoor annual report 2025 Page 3\nTravel allowance for the Berlin office\n\n"
        "What does Berlin pay for travel?\nFinance pays 28 euros a day."
    )
    made = await answer(
        "What is the travel allowance for the Berlin office?",
        evidence(1, text, title="Larkmoor annual report 2025"),
    )
    assert made.text == "Finance pays 28 euros a day. [1]"


async def test_the_heading_above_a_sentence_counts_as_its_words() -> None:
    text = (
        "## Parking\n\nNine dollars a day.\n\n## Annual leave\n\nFull-time colleagues have 30 days."
        "\n\n## Pets\n\nLeave them at home."
    )
    made = await answer("What is the annual leave?", evidence(1, text))
    assert made.text.startswith("Full-time colleagues have 30 days. [1]")


async def test_references_of_a_document_are_not_markers() -> None:
    text = "The dose is 20 mg for adults [12], as the trial of 2019 showed [3]."
    made = await answer("What is the dose for adults?", evidence(1, text))
    assert made.text == "The dose is 20 mg for adults (12), as the trial of 2019 showed (3). [1]"
    assert made.citations[0].quote == text
    assert guard(made, [evidence(1, text)]).unsupported == ()


async def test_rows_about_other_things_are_left_out() -> None:
    rows = "\n".join(
        f"| LM-04{n} | Laptop | {name} |" for n, name in ((16, "Ada"), (17, "Ben"), (18, "Cleo"))
    )
    made = await answer(
        "Who uses the laptop LM-0417?", evidence(1, rows, context="Number | Item | User")
    )
    assert made.text == "Number: LM-0417; Item: Laptop; User: Ben [1]"


async def test_figures_of_a_printed_table_come_with_the_line_that_names_them() -> None:
    text = "Millions of euros 2024 2025\nMaterial 3.6 4.2\nResearch and development 0.9 1.1"
    made = await answer("What was spent on research and development?", evidence(1, text))
    assert made.text == ("Millions of euros 2024 2025 [1]\nResearch and development 0.9 1.1 [1]")


async def test_a_pronoun_comes_with_the_sentence_that_says_what_it_stands_for() -> None:
    text = "Elise Marten was born in Trento. She plays the judge in the film Tall Water."
    made = await answer("Who plays the judge in Tall Water?", evidence(1, text))
    assert made.text.startswith("Elise Marten was born in Trento. [1] She plays the judge")


async def test_much_weaker_sentences_of_other_passages_do_not_fill_up() -> None:
    other = evidence(2, "The cafeteria serves soup. The lift is slow.", relevance=0.1)
    made = await answer("How many days of annual leave do employees receive?",
                        evidence(1, "Employees receive 30 days of annual leave."), other)  # fmt: skip
    assert made.text == "Employees receive 30 days of annual leave. [1]"


async def test_what_the_words_leave_open_is_decided_by_meaning() -> None:
    text = "Pets may come along on Fridays. The lift is slow."
    split = text.index("The")
    close = (WindowScore(0, split - 1, 0.6), WindowScore(split, len(text), 0.1))
    far = (WindowScore(0, split - 1, 0.1), WindowScore(split, len(text), 0.6))
    for windows, first in ((close, "Pets"), (far, "The lift")):
        made = await answer("Can I bring a dog?", replace(evidence(1, text), windows=windows))
        assert made.text.startswith(first)


# -------------------------------------------------------------------------- several things at once


async def test_a_comparison_gives_the_sentences_that_differ() -> None:
    text = (
        "# Leave in the {0} office\n\nThis page is for colleagues in {0}. Ask early for leave.\n\n"
        "## Annual leave\n\nFull-time colleagues have {1} vacation days in a calendar year."
    )
    made = await answer(
        "How does annual leave differ between Berlin and Boston?",
        evidence(1, text.format("Berlin", 30), title="Leave in the Berlin office"),
        evidence(2, text.format("Boston", 20), title="Leave in the Boston office"),
        parts=("What is the annual leave in Berlin?", "What is the annual leave in Boston?"),
    )
    berlin, boston = made.text.split("\n")
    assert berlin.startswith("Berlin: Full-time colleagues have 30 vacation days")
    assert boston.startswith("Boston: Full-time colleagues have 20 vacation days")


async def test_parts_that_are_different_questions_have_no_label() -> None:
    made = await answer(
        "Why did the gateway fail and how much did the credits cost?",
        evidence(1, "The gateway failed because a certificate expired."),
        evidence(2, "The credits for customers cost 41,200 euros."),
        parts=("Why did the gateway fail?", "How much did the credits cost?"),
    )
    assert made.text == (
        "The gateway failed because a certificate expired. [1]\n"
        "The credits for customers cost 41,200 euros. [2]"
    )


async def test_chinese_comparisons_are_labelled_by_their_subjects() -> None:
    made = await answer(
        "Dipper和Plover的保修期分别是多久？",
        evidence(1, "Dipper的保修期为三十六个月。"),
        evidence(2, "Plover的保修期为十八个月。"),
        parts=("Dipper的保修期是多久？", "Plover的保修期是多久？"),
    )
    assert made.text == (
        "Dipper: Dipper的保修期为三十六个月。 [1]\nPlover: Plover的保修期为十八个月。 [2]"
    )


async def test_both_sides_of_a_conflict_are_quoted() -> None:
    items = [
        evidence(1, "The notice period is four weeks. It starts on a Monday. It ends on a Friday."),
        evidence(2, "The notice period is six weeks.", relevance=0.25),
    ]
    made = await answer("How long is the notice period?", *items)
    assert "four weeks. [1]" in made.text
    assert "six weeks. [2]" in made.text


async def test_a_verb_finds_the_noun_that_a_table_has_for_it() -> None:
    text = (
        "| Property | Value |\n| --- | --- |\n| Weight without bracket | 3.4 kilograms |\n"
        "| Housing | Cast aluminium |\n\nThe Heron hangs above a river and is read four times an hour."
    )
    made = await answer("What does the Heron weigh?", evidence(1, text, title="Heron"))
    assert "3.4 kilograms" in made.text


async def test_a_date_at_the_end_of_a_sentence_is_no_row_of_figures() -> None:
    text = "The eighth season of the Heron was renewed in March.\nIt premiered on October 21, 2016."
    made = await answer("When did season eight of the Heron come out?", evidence(1, text))
    assert "October 21, 2016" in made.text


async def test_a_long_sentence_is_cut_behind_a_clause() -> None:
    clause = "the committee of the northern district heard every member who had asked to speak"
    text = "; ".join([clause] * 6) + "; and the vote on the harbour was lost by nine to four."
    made = await answer("How was the vote on the harbour lost?", evidence(1, text))
    assert "nine to four" in made.text
    assert all(quote.quote.endswith((";", ".")) for quote in made.citations)


async def test_a_long_chinese_word_does_not_outweigh_the_one_that_tells() -> None:
    text = (
        "新签约的经销商首批至少订购五台。\n\n我们按省份登记经销商的项目。\n\n"
        "每位经销商都有一名联系人。\n\n签订合同后预付三成，发货前付清余款。"
    )
    made = await answer("经销商的余款什么时候付？", evidence(1, text))
    assert "发货前付清余款" in made.text


# ------------------------------------------------------------------- what announces, what has a value


async def test_a_line_of_a_comparison_gives_the_amount_and_not_the_introduction() -> None:
    text = (
        "# Travel allowance for the {0} office\n\nThis page says what {0} pays back when you travel.\n\n"
        "## Meals\n\nFor a full day away you receive {1} euros. Travel by train is allowed everywhere."
    )
    made = await answer(
        "Compare the travel allowances of Bonn and Graz",
        evidence(1, text.format("Bonn", 28), title="Travel allowance for the Bonn office"),
        evidence(2, text.format("Graz", 31), title="Travel allowance for the Graz office"),
        parts=(
            "What are the travel allowances in Bonn?",
            "What are the travel allowances in Graz?",
        ),
    )
    bonn, graz = made.text.split("\n")
    assert bonn.startswith("Bonn: For a full day away you receive 28 euros.")
    assert graz.startswith("Graz: For a full day away you receive 31 euros.")
    assert "This page" not in made.text


async def test_a_line_of_a_chinese_comparison_gives_the_amount_and_not_the_introduction() -> None:
    text = "# {0}出差补贴\n\n本页介绍{0}办公室的出差补贴。\n\n## 餐费\n\n全天外出每天领取{1}元。"
    made = await answer(
        "比较成都和苏州的出差补贴",
        evidence(1, text.format("成都", 80), title="成都出差补贴"),
        evidence(2, text.format("苏州", 100), title="苏州出差补贴"),
        parts=("成都的出差补贴是什么？", "苏州的出差补贴是什么？"),
    )
    assert made.text == "成都: 全天外出每天领取80元。 [1]\n苏州: 全天外出每天领取100元。 [2]"


async def test_a_line_keeps_to_what_is_asked_of_every_side() -> None:
    leave = "# Leave in {0}\n\n## Annual leave\n\nColleagues have {1} vacation days in a calendar year.\n\n"
    made = await answer(
        "How do sick days differ between Bonn and Graz?",
        evidence(1, leave.format("Bonn", 30) + "## Sickness\n\nFrom the fourth day a doctor certifies the sickness.", title="Leave in Bonn"),
        evidence(2, leave.format("Graz", 20) + "## Sickness\n\nThere are ten paid sick days a year.", title="Leave in Graz"),
        parts=("What are the sick days in Bonn?", "What are the sick days in Graz?"),
    )  # fmt: skip
    bonn, graz = made.text.split("\n")
    assert bonn.startswith("Bonn: From the fourth day a doctor certifies the sickness.")
    assert graz.startswith("Graz: There are ten paid sick days a year.")


async def test_what_only_announces_does_not_open_an_answer() -> None:
    text = (
        "# Heron warranty\n\nWhat we promise to the first owner of a Heron.\n\n"
        "## Period\n\nThe warranty for the Heron lasts 36 months."
    )
    made = await answer(
        "How long is the Heron's warranty?", evidence(1, text, title="Heron warranty")
    )
    assert made.text == "The warranty for the Heron lasts 36 months. [1]"


@pytest.mark.parametrize(
    ("sentence", "announces"),
    [
        ("This page says what Bonn pays back.", True), ("What we promise to visitors.", True),
        ("In this chapter we describe the pump.", True), ("本页介绍出差补贴。", True), ("本说明适用于苍鹭水位计。", True),
        ("This policy covers theft and fire.", False), ("This section says that pets are welcome.", False),
        ("This guide covers 40 rivers.", False), ("What counts is trust.", False),
        ("What you want, you pay.", False), ("本政策规定每人领取津贴。", False), ("本文由王芳撰写。", False),
    ],
)  # fmt: skip
def test_what_announces_its_page_and_what_says_something(sentence: str, announces: bool) -> None:
    assert [unit.announces for unit in units(evidence(1, sentence))] == [announces]


async def test_what_announces_answers_a_question_about_its_page() -> None:
    text = "# Leave\n\nThis page is for colleagues in Bonn.\n\nThe garden is open in summer."
    made = await answer("Who is this page for?", evidence(1, text, title="Leave"))
    assert made.text.startswith("This page is for colleagues in Bonn. [1]")


async def test_a_clause_that_is_a_subject_announces_nothing() -> None:
    text = "# Trust\n\nWhat counts in a review is trust. Reviews are read twice a year by everyone."
    made = await answer("What counts in a review?", evidence(1, text))
    assert made.text.startswith("What counts in a review is trust. [1]")


async def test_when_something_happened_is_a_date_and_not_the_author_of_the_report() -> None:
    text = (
        "# Incident report: the pump stood still\n\nAuthor: Ida Lund.\n\n## Summary\n\n"
        "On 11 March 2026 the pump refused to run until noon.\n\n## Cause\n\n"
        "The incident was caused by a worn seal."
    )
    made = await answer(
        "When did the incident happen and what caused it?",
        evidence(1, text, title="Incident report: the pump stood still"),
        parts=("When did the incident happen?", "What caused the incident?"),
    )
    when, cause = made.text.split("\n")
    assert when.startswith("On 11 March 2026 the pump refused to run")
    assert cause == "The incident was caused by a worn seal. [1]"


async def test_a_figure_that_the_question_has_otherwise_is_said_first() -> None:
    made = await answer("Why do employees receive 40 days of annual leave?", evidence(1, LEAVE))
    assert made.text.startswith(
        "Other than the question says: Employees receive 30 days of annual leave each year. [1]"
    )
    assert guard(made, [evidence(1, LEAVE)]).unsupported == ()
    borne_out = await answer(
        "Why do employees receive 30 days of annual leave?", evidence(1, LEAVE)
    )
    assert "Other than" not in borne_out.text


async def test_of_one_part_that_is_covered_only_that_is_answered() -> None:
    prices = (
        "The Heron costs 90 euros. The Egret is made in Graz. Acme was founded in 1950 by Ada Orr."
    )
    made = await answer(
        "How much does the Heron cost and who founded Borg?",
        evidence(1, prices),
        parts=("How much does the Heron cost?",),
    )
    assert "The Heron costs 90 euros. [1]" in made.text
    assert "founded" not in made.text


async def test_what_is_asked_with_a_verb_is_found_in_the_row_of_its_noun() -> None:
    sheet = "| Property | Value |\n|---|---|\n| Weight without bracket | 3.4 kilograms |\n| Housing | aluminium |"
    made = await answer(
        "What does the Heron weigh, and what is its housing?",
        evidence(1, sheet, title="Heron"),
        parts=("What does the Heron weigh?", "What is the Heron's housing?"),
    )
    assert "3.4 kilograms" in made.text.splitlines()[0]


async def test_all_that_is_said_of_a_thing_begins_with_what_has_it_as_its_subject() -> None:
    text = (
        "Twice a year somebody cleans the Heron. The Heron is a scale for the field. Order early."
    )
    made = await answer("Tell me about the Heron", evidence(1, text))
    assert "The Heron is a scale for the field. [1]" in made.text


@pytest.mark.parametrize("asked", ["DB-12", "DB12", "DB 12"])
async def test_a_row_of_another_part_number_is_not_quoted(asked: str) -> None:
    table = evidence(
        1,
        "| part | number | supplier |\n|---|---|---|\n| Drive belt | DB-11 | Aldenrath |\n"
        "| Drive belt | DB-12 | Corvo |",
    )
    said = (await answer(f"Who supplies the drive belt {asked}?", table)).text
    assert "Corvo" in said
    assert "Aldenrath" not in said


async def test_beside_what_has_the_value_asked_for_nothing_lesser_stands_without_one() -> None:
    gauge = evidence(
        1, "Noor Vass leads the Kestrel. The Kestrel is mounted on roofs. It is light."
    )
    price = evidence(2, "The price of the Kestrel is low. A cable leads to the mast.")
    made = await answer("Who leads the Kestrel?", gauge, price)
    assert made.text == "Noor Vass leads the Kestrel. [1]"
    mast = evidence(1, "The mast was erected in 1987. The mast is painted in red. It is tall.")
    footing = evidence(2, "A mast needs a footing. It was erected by hand.")
    made = await answer("When was the mast erected?", mast, footing)
    assert made.text == "The mast was erected in 1987. [1]"


@pytest.mark.parametrize(
    ("question", "text", "said"),
    [
        (
            "Is the office open at weekends?",
            "The office opens at nine. It is closed on Saturday and Sunday. The office is bright.",
            "It is closed on Saturday and Sunday.",
        ),
        (
            "What was the revenue of last year?",
            "Last year was long. Sales came to 12 million euros. The year before was cold.",
            "Sales came to 12 million euros.",
        ),
        (
            "办公室周末开门吗？",
            "办公室九点开门。周六上午只接待预约客户。",
            "周六上午只接待预约客户。",
        ),
    ],
)
async def test_other_words_for_the_same_are_quoted(question: str, text: str, said: str) -> None:
    assert said in (await answer(question, evidence(1, text))).text
