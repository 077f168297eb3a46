"""The local grader: what it takes for evidence, when it asks back, and when it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from anabranch import language
from anabranch.lexicon import Lexicon, combine, mine
from anabranch.reasoning.grading import LocalGrader, load_models, specifics
from anabranch.reasoning.matching import ask
from anabranch.reasoning.passages import cut, cut_question
from anabranch.reasoning.slots import contrast
from anabranch.synthesis import resolve_route
from anabranch.types import Background, Chunk, EvidenceGrade, Passage, Turn, WindowScore


def passage(
    source: str, text: str, *, title: str = "", context: str = "", similarity: float | None = 0.6
) -> Passage:
    chunk = Chunk(
        chunk_id=source + text[:8], source_id=source, collection="default", source=source,
        title=title, text=text, start=0, end=len(text), chunk_index=0, level=3, content_hash="",
        context=context,
    )  # fmt: skip
    return Passage(chunk=chunk, score=1.0, similarity=similarity)


def lexicon_of(*texts: str) -> Lexicon:
    counts: dict[str, int] = {}
    for text in texts:
        for word in set(language.words(text)):
            counts[word] = counts.get(word, 0) + 1
    return Lexicon(document_count=max(len(texts), 20), words=counts)


async def grade(
    question: str, passages: Sequence[Passage], *, history: Sequence[Turn] = ()
) -> EvidenceGrade:
    lexicon = lexicon_of(*(p.chunk.text for p in passages))
    return await LocalGrader().grade(question, passages, history=history, lexicon=lexicon)


BERLIN = passage(
    "offices/berlin/leave.md", "Employees in Berlin receive 30 days of annual leave each year."
)
BOSTON = passage(
    "offices/boston/leave.md", "Employees in Boston receive 20 days of annual leave each year."
)
HOTELS = passage(
    "handbook/expenses.md",
    "Hotel costs are reimbursed up to 120 euros per night.",
    similarity=0.2,
)


async def test_no_passages_are_no_knowledge() -> None:
    grade_ = await grade("How long is the warranty?", [])
    assert (grade_.relevance, grade_.answerability, grade_.route) == (
        "none", "none", "no_knowledge"
    )  # fmt: skip


async def test_covered_and_close_is_answered() -> None:
    close = passage("a.md", "Annual leave is 30 days for every employee.", similarity=0.8)
    graded = await grade("How many days of annual leave does an employee get?", [close, HOTELS])
    assert graded.route == "answer"
    assert graded.answerability == "sufficient"
    assert graded.missing_slots == ()


async def test_off_topic_is_no_knowledge_and_names_what_is_missing() -> None:
    far = passage("a.md", "Annual leave is 30 days for every employee.", similarity=0.05)
    graded = await grade("What is the boiling point of nitrogen?", [far])
    assert graded.route == "no_knowledge"
    assert "nitrogen" in graded.missing_slots
    assert graded.confidence < 0.2


async def test_a_passage_in_other_words_counts_by_its_meaning() -> None:
    text = "New mothers and fathers may stay at home for 14 weeks after the birth of a child."
    question = "How long can a dad be off work when his baby arrives?"
    near = await grade(question, [passage("a.md", text, similarity=0.75)])
    far = await grade(question, [passage("a.md", text, similarity=0.05)])
    assert near.answerability != "none"
    assert far.answerability == "none"


async def test_words_still_count_without_cosines() -> None:
    question = "How many days of annual leave do employees in Berlin receive?"
    matching = await grade(question, [passage("b.md", BERLIN.chunk.text, similarity=None)])
    other = await grade(question, [passage("h.md", HOTELS.chunk.text, similarity=None)])
    assert matching.route == "answer"
    assert matching.confidence > 2 * other.confidence
    assert other.route == "no_knowledge"


async def test_a_name_that_no_document_has_is_not_answered_by_what_is_said_of_others() -> None:
    close = [passage("b.md", BERLIN.chunk.text, similarity=0.8)]
    graded = await grade("How many days of annual leave do employees in Munich receive?", close)
    assert graded.route == "no_knowledge"
    assert graded.missing_slots == ("Munich",)
    assert "'Munich'" in graded.reason
    assert graded.confidence < 0.2
    same = await grade("How many days of annual leave do employees in Berlin receive?", close)
    assert same.route == "answer"


async def test_the_reason_does_not_call_all_of_a_question_only_a_part() -> None:
    """Its words stand there, and are too far from it all the same."""
    question = "How can a dad be off work?"
    far = [passage("a.md", "Work a dad can be off.", similarity=-0.1)]
    graded = await grade(question, far)
    assert graded.route == "no_knowledge"
    assert "100%" in graded.reason
    assert "only" not in graded.reason


async def test_a_name_with_a_slip_is_not_taken_for_another() -> None:
    graded = await grade(
        "How many days of annual leave do employees in Berlinn receive?",
        [passage("b.md", BERLIN.chunk.text, similarity=0.8)],
    )
    assert graded.route == "answer"


async def test_a_name_that_only_other_documents_have_leaves_the_rest_as_evidence() -> None:
    other = passage("m.md", "The Munich fair opens in March.", similarity=0.1)
    lexicon = lexicon_of(BERLIN.chunk.text, other.chunk.text)
    graded = await LocalGrader().grade(
        "How many days of annual leave do employees in Munich receive?",
        [passage("b.md", BERLIN.chunk.text, similarity=0.8)], history=(), lexicon=lexicon,
    )  # fmt: skip
    assert graded.answerability != "none"


async def test_a_side_remark_in_a_long_question_does_not_reject_it() -> None:
    graded = await grade(
        "How many days of annual leave do all employees in Berlin receive each year, according to "
        "what Zygmunt said in the spring meeting of the board?",
        [passage("b.md", BERLIN.chunk.text, similarity=0.8)],
    )
    assert graded.answerability != "none"


async def test_a_short_form_is_covered_by_what_it_stands_for() -> None:
    text = "Every document lives in the file system. The file system is backed up at night."
    lexicon = combine([mine(text), *[mine("Hotels are paid for.")] * 3])
    stored = [passage("it.md", text, similarity=0.15)]
    graded = await LocalGrader().grade(
        "What is fs?", stored, history=(), lexicon=lexicon, background=Background(0.05, 0.05)
    )
    assert graded.route == "answer"
    other = await LocalGrader().grade(
        "What is xq?", stored, history=(), lexicon=lexicon, background=Background(0.05, 0.05)
    )
    assert other.route == "no_knowledge"


async def test_a_word_of_the_same_beginning_counts_half() -> None:
    text = "The electrode is replaced by a technician."
    weights = lexicon_of(text)
    whole, half, none = (
        ask(question, [], weights).credits(cut(text).terms)
        for question in ("electrode?", "electrodes electrochemical?", "battery?")
    )
    assert set(whole.values()) == {1.0}
    assert sorted(half.values()) == [0.5, 1.0]
    assert none == {}


async def test_a_window_close_to_the_question_raises_its_confidence() -> None:
    text = "Hotels cost more in June. New parents may stay at home for 14 weeks. Bring a badge."
    spans = language.window_spans(text)

    def with_windows(*cosines: float) -> Passage:
        scores = tuple(WindowScore(a, b, c) for (a, b), c in zip(spans, cosines, strict=True))
        return replace(passage("a.md", text, similarity=0.4), windows=scores)

    question = "How long can a dad be off work when his baby arrives?"
    near = await grade(question, [with_windows(0.7, 0.3)])
    far = await grade(question, [with_windows(0.2, 0.2)])
    assert near.confidence > far.confidence
    assert near.features["window_similarity"] == 0.7


async def test_only_specifics_are_missing_from_partial_evidence() -> None:
    lexicon = lexicon_of("How tight the bolts of the bracket are is told on page 2.", "LM-0417")
    asked = ask("How tight should the flange bolts of the LM-9999 be in 2031?", [], lexicon)
    named = specifics(asked, ("tight", "flang", "lm", "9999", "2031"))
    assert "tight" not in named
    assert {"flang", "9999", "2031"} <= set(named)
    chinese = ask("上海销售处早上几点开门？", [], lexicon)
    assert specifics(chinese, chinese.cut.terms) == ()


async def test_a_reference_is_asked_about_even_where_nothing_is_relevant() -> None:
    for question in ("How much does it cost?", "它多少钱？"):
        graded = await grade(question, [passage("h.md", "Rivers rise in spring.", similarity=0.0)])
        assert (graded.relevance, graded.answerability) == ("weak", "partial")
        assert resolve_route(graded, rewrites_left=1, may_ask=True) == "clarify"


async def test_passage_relevance_follows_the_passages() -> None:
    graded = await grade("What do hotel costs per night come to?", [BERLIN, HOTELS])
    assert len(graded.passage_relevance) == 2
    assert all(0.0 <= value <= 1.0 for value in graded.passage_relevance)
    ranked = await grade("How many days of annual leave in Berlin?", [HOTELS, BERLIN])
    assert ranked.passage_relevance[1] > ranked.passage_relevance[0]


async def test_chinese_is_graded_by_words_whatever_the_cosine_says() -> None:
    text = "柏林办公室员工每年享有30天年假。未使用的年假三月到期。"
    answered = await grade("柏林办公室的员工有多少天年假？", [passage("a", text, similarity=0.1)])
    foreign = await grade("法国的首都是哪里？", [passage("a", text, similarity=0.9)])
    assert answered.route == "answer"
    assert foreign.route == "no_knowledge"
    assert foreign.missing_slots


async def test_grading_twice_gives_the_same() -> None:
    question = "How many days of annual leave do employees get?"
    assert await grade(question, [BERLIN, BOSTON]) == await grade(question, [BERLIN, BOSTON])


LOWERING = (
    "collection_size",
    "asks_number",
    "asks_when",
    "asks_extreme",
    "asks_yes_or_no",
    "negated",
)


@pytest.mark.parametrize("name", sorted(load_models().models))
def test_more_coverage_never_lowers_confidence(name: str) -> None:
    model = load_models().models[name]
    assert 0 < model.weak < model.sufficient < 1
    assert model.answer.long is not None
    for part in (model.topic.short, model.answer.short, model.answer.long):
        for feature, coefficient in zip(part.names, part.coefficients, strict=True):
            lowers = feature.endswith("_absent") or feature in LOWERING
            assert coefficient <= 0 if lowers else coefficient >= 0


def test_every_embedder_has_the_models_that_it_names() -> None:
    models = load_models()
    named = {name for found in models.embedders.values() for name in found.values()}
    assert named <= set(models.models)
    assert {"bundled", "multilingual"} <= set(models.embedders)


def windowed(source: str, text: str, *cosines: float) -> Passage:
    """A passage whose windows of the same text have these cosines, the best being its own."""
    windows = tuple(WindowScore(0, len(text), cosine) for cosine in cosines)
    return replace(passage(source, text, similarity=max(cosines)), windows=windows)


MEANT = Background(0.76, 0.03, 0.0)


async def test_with_the_multilingual_encoder_chinese_is_judged_by_meaning() -> None:
    text = "员工因子女出生可以在家休息十四周。"
    question = "爸爸在宝宝来了以后能放多久的假？"
    near = [
        windowed("a", text, 0.92),
        *(windowed(f"o{n}", "酒店费用按晚报销。", 0.78) for n in range(4)),
    ]
    far = [windowed(one.chunk.source_id, one.chunk.text, 0.76) for one in near]

    async def confidence(passages: Sequence[Passage], embedder: str) -> float:
        grader = LocalGrader(embedder=embedder)
        lexicon = lexicon_of(*(p.chunk.text for p in passages))
        graded = await grader.grade(
            question, passages, history=(), lexicon=lexicon, background=MEANT
        )
        return graded.confidence

    assert await confidence(near, "multilingual") > 2 * await confidence(far, "multilingual")
    assert await confidence(near, "bundled") == await confidence(far, "bundled")


async def test_a_question_in_another_script_is_judged_by_meaning_alone() -> None:
    texts = ["New mothers and fathers may stay at home for 14 weeks.", "Hotels are paid for.",
             "The office opens at eight.", "Dogs may come along."]  # fmt: skip
    grader = LocalGrader(embedder="multilingual")

    async def graded(best: float) -> EvidenceGrade:
        passages = [windowed(str(n), text, 0.75) for n, text in enumerate(texts)]
        passages[0] = windowed("0", texts[0], best)
        return await grader.grade(
            "Müller的爸爸们可以休多久的假？", passages, history=(), lexicon=lexicon_of(*texts),
            background=Background(0.74, 0.03, 0.0),
        )  # fmt: skip

    assert (await graded(0.88)).route == "answer"
    assert (await graded(0.75)).route == "no_knowledge"


async def test_an_encoder_without_coefficients_is_not_believed() -> None:
    async def confidence(similarity: float) -> float:
        graded = await LocalGrader(embedder="openai:some-model").grade(
            "How many days of annual leave in Berlin?", [replace(BERLIN, similarity=similarity)],
            history=(), lexicon=lexicon_of(BERLIN.chunk.text),
        )  # fmt: skip
        return graded.confidence

    assert await confidence(0.0) == await confidence(0.9)


async def test_a_number_that_names_something_no_document_has_is_not_answered() -> None:
    text = "Valve 12 closes at a pressure of 8 bar and opens again at 6 bar."
    lexicon = lexicon_of(text)

    async def route(question: str) -> str:
        graded = await LocalGrader().grade(
            question, [passage("v.md", text, similarity=0.75)], history=(), lexicon=lexicon
        )
        return graded.route

    assert await route("At what pressure does valve 12 close?") == "answer"
    assert await route("At what pressure does valve 43 close?") == "no_knowledge"
    assert await route("After how many of the 43 minutes does valve 12 close?") != "no_knowledge"


async def test_of_two_names_one_that_no_document_has_leaves_a_part() -> None:
    text = "Employees in Berlin and Boston receive 30 days of annual leave each year."
    graded = await grade(
        "How much annual leave do employees in Berlin, Boston and Munich receive each year?",
        [passage("b.md", text, similarity=0.85)],
    )
    assert graded.answerability == "partial"
    assert graded.missing_slots == ("Munich",)


async def test_a_negated_question_is_less_surely_answered() -> None:
    plain = await grade("Which employees in Berlin receive annual leave?", [BERLIN])
    negated = await grade("Which employees in Berlin never receive annual leave?", [BERLIN])
    assert negated.features["negated"] == 1.0
    assert negated.confidence < plain.confidence


# ------------------------------------------------------------------------------------ asking back


@pytest.mark.parametrize(
    "question",
    ["How much does it cost?", "When was it built?", "What does that mean?", "Where was he born?",
     "How do I get there?", "Who is responsible for that?", "它多少钱？", "那个什么时候到期？", "谁发明了它？"],
)  # fmt: skip
async def test_a_reference_to_nothing_is_asked_about(question: str) -> None:
    graded = await grade(question, [HOTELS])
    assert (graded.ambiguity, graded.route) == ("missing_slot", "clarify")
    assert graded.missing_slots[0] in graded.hitl_prompt
    assert language.has_cjk(graded.hitl_prompt) == language.has_cjk(question)


@pytest.mark.parametrize(
    "question",
    ["If an employee resigns, when does it take effect?", "Is it possible to work from home?",
     "How long does it take to get a passport?", "What does Einstein say about it?",
     "Where do they grow hops in the mountains?", "Is there a limit that applies to hotels?",
     "这份合同的期限是多久？", "公司的总部在哪里？它有多少员工？", "其他费用怎么报销？"],
)  # fmt: skip
async def test_a_reference_that_may_be_explained_is_not_asked_about(question: str) -> None:
    graded = await grade(question, [HOTELS])
    assert graded.ambiguity == "none"


async def test_an_earlier_turn_explains_the_reference() -> None:
    history = (Turn("user", "Tell me about the Orion."),)
    assert (await grade("How much does it cost?", [HOTELS], history=history)).ambiguity == "none"


async def test_documents_that_differ_in_one_folder_are_offered_in_order_of_rank() -> None:
    graded = await grade("How many days of annual leave do employees get?", [BOSTON, BERLIN])
    assert (graded.ambiguity, graded.route) == ("multiple_candidates", "scope_select")
    assert graded.hitl_options == ("Boston", "Berlin")
    assert graded.hitl_prompt == "Which do you mean: Boston or Berlin?"


async def test_titles_headings_and_parallel_sentences_name_the_options() -> None:
    months = {"Orion": 24, "Lyra": 12}
    text = "The warranty lasts {} months from the date of purchase."
    by_title = [
        passage(f"{i}.md", text.format(m), title=f"Warranty – {n}")
        for i, (n, m) in enumerate(months.items())
    ]
    by_heading = [
        passage("all.md", text.format(m), context=f"Products > Warranty of {n}")
        for n, m in months.items()
    ]
    by_sentence = [
        passage(f"{i}.md", f"The {n} is covered by a warranty of {m} months from purchase.")
        for i, (n, m) in enumerate(months.items())
    ]
    for passages in (by_title, by_heading, by_sentence):
        graded = await grade("How long is the warranty?", passages)
        assert graded.hitl_options == ("Orion", "Lyra"), passages


async def test_a_heading_that_repeats_the_question_does_not_hide_the_figures() -> None:
    english = [
        passage(
            f"products/{name.lower()}/warranty.md",
            f"# {name} warranty\n\nThe warranty for the {name} lasts {months} months.",
        )
        for name, months in (("Plover", 18), ("Dipper", 36))
    ]
    chinese = [
        passage(
            f"zh/{name.lower()}-warranty.md",
            f"## 保修期限\n\n{name}的保修期为{months}个月，从签收之日起计算。",
            title=f"{name}保修说明",
        )
        for name, months in (("Plover", "十八"), ("Dipper", "三十六"))
    ]
    for question, passages in (("How long is the warranty?", english), ("保修期有多长？", chinese)):
        graded = await grade(question, passages)
        assert graded.hitl_options == ("Plover", "Dipper"), question


async def test_chinese_documents_of_one_kind_are_offered() -> None:
    graded = await grade(
        "员工每年有多少天年假？",
        [
            passage("办公室/柏林/休假.md", "柏林办公室员工每年享有30天年假。"),
            passage("办公室/上海/休假.md", "上海办公室员工每年享有15天年假。"),
        ],
    )
    assert graded.route == "scope_select"
    assert graded.hitl_options == ("柏林", "上海")
    assert "柏林还是上海" in graded.hitl_prompt


@pytest.mark.parametrize(
    "question",
    [
        "How many days of annual leave do employees in Berlin get?",
        "How does annual leave differ between the offices?",
        "What annual leave do employees get in each office?",
        "Which office has 30 days of annual leave?",
        "Where do employees get the most annual leave?",
        "How many days of annual leave do employees in Munich get?",
    ],
)
async def test_a_question_that_says_which_or_wants_all_is_not_asked_back(question: str) -> None:
    assert (await grade(question, [BERLIN, BOSTON])).ambiguity == "none"


async def test_equal_values_are_no_reason_to_ask() -> None:
    same = passage(
        "offices/boston/leave.md", "Employees in Boston receive 30 days of annual leave each year."
    )
    graded = await grade("How many days of annual leave do employees get?", [BERLIN, same])
    assert graded.ambiguity == "none"


async def test_unrelated_documents_side_by_side_are_no_candidates() -> None:
    travel = passage("handbook/travel.md", "Trips longer than 3 days need approval.")
    graded = await grade("How many days of annual leave do employees get?", [BERLIN, travel])
    assert graded.ambiguity == "none"


async def test_a_label_in_the_last_turn_settles_the_choice() -> None:
    history = (Turn("user", "I work in Berlin."), Turn("assistant", "Noted."))
    question = "How many days of annual leave do employees get?"
    graded = await grade(question, [BERLIN, BOSTON], history=history)
    assert graded.ambiguity == "none"


async def test_a_number_of_days_names_nothing() -> None:
    grade_ = await grade("Why do employees in Berlin receive 40 days of leave?", [BERLIN])
    assert grade_.route != "no_knowledge"
    assert "'40 days', the documents '30 days'" in grade_.reason


async def test_what_weighs_has_a_weight_in_either_language_and_any_unit() -> None:
    sheet = passage("heron.md", "Heron. Weight without bracket: 3.4 kilograms.", title="Heron")
    for question in ("How heavy is the Heron?", "Heron多重？", "Does the Heron weigh 3.4 kg?"):
        grade_ = await grade(question, [sheet])
        assert grade_.answerability == "sufficient", question


async def test_a_claim_is_not_asked_about_for_what_is_missing() -> None:
    asked = await grade(
        "Which days of annual leave do employees in Berlin receive each year, and which in Quorx?",
        [BERLIN],
    )
    claimed = await grade(
        "Employees in Berlin receive 30 days of annual leave each year, as the employees of the other "
        "offices and Quorx do.",
        [BERLIN],
    )
    assert asked.answerability == claimed.answerability == "partial"
    assert asked.missing_slots == ("Quorx",)
    assert claimed.missing_slots == ()


def test_a_file_name_is_a_slot_where_the_page_uses_it_as_a_name() -> None:
    question = cut_question("Who is the managing director?")
    who = "Henrike Aldenrath is the managing director. This list has the people to look for."
    signs = "The managing director signs what is expensive. You are welcome to ask."
    people = passage("handbook/people.md", who, title="Who is who")
    welcome = passage("handbook/welcome.md", signs, title="First days")
    assert contrast(question, people, welcome) is None
    heron = passage("sheets/heron.md", f"Of the Heron {who}", title="Who is who")
    egret = passage("sheets/egret.md", f"Of the Egret {signs}", title="First days")
    found = contrast(question, heron, egret)
    assert found is not None
    assert (found.first, found.second) == ("Heron", "Egret")


KETTLE_20 = passage(
    "kettles/hk-20.md",
    "The warranty of the HK-20 is 24 months. The HK-20 weighs 900 grams and heats to 60 or 100 degrees.",
    title="HK-20 manual",
)
KETTLE_40 = passage(
    "kettles/hk-40.md",
    "The warranty of the HK-40 is 36 months. The HK-40 weighs 1200 grams and heats to 60 or 77 degrees.",
    title="HK-40 manual",
)


@pytest.mark.parametrize(
    "question",
    [
        "What is the warranty of the HK-60?",
        "What is the warranty of the HK-77?",
        "What is the warranty of the hk60?",
        "What is the warranty of the kettle HK 60?",
        "What does the HK-2000 weigh?",
        "HK-60的保修期是多久？",
    ],
)
async def test_a_model_that_no_document_has_is_not_answered_by_another(question: str) -> None:
    graded = await grade(question, [KETTLE_20, KETTLE_40])
    assert graded.route == "no_knowledge", graded
    assert graded.confidence <= 0.1
    assert any("60" in slot or "77" in slot or "2000" in slot for slot in graded.missing_slots)


@pytest.mark.parametrize(
    ("question", "route"),
    [
        ("What is the warranty of the HK-20?", "answer"),
        ("What is the warranty of the HK20?", "answer"),
        ("What is the warranty of the hk 20?", "answer"),
        ("What is the warranty of the hk-20?", "answer"),
        ("Is the warranty of the HK-20 or of the HK-60 longer?", "rewrite"),
    ],
)
async def test_a_model_is_known_in_any_joining(question: str, route: str) -> None:
    assert (await grade(question, [KETTLE_20])).route == route


async def test_a_model_behind_a_name_that_is_known_is_still_another() -> None:
    seven = passage("tern.md", "The Tern P7 can be lowered to 40 metres.", title="Tern P7")
    assert (await grade("How deep can the Tern P7 be lowered?", [seven])).route == "answer"
    assert (await grade("How deep can the Tern P9 be lowered?", [seven])).route == "no_knowledge"


def test_the_number_of_a_model_is_a_label_with_its_letters() -> None:
    question = cut_question("How long is the warranty of the kettle?")
    found = contrast(question, KETTLE_20, KETTLE_40)
    assert found is not None
    assert (found.first, found.second) == ("HK-20", "HK-40")
    titled = [
        replace(one, chunk=replace(one.chunk, source=f"{name}.md"))
        for one, name in ((KETTLE_20, "a"), (KETTLE_40, "b"))
    ]
    found = contrast(question, *titled)
    assert found is not None
    assert (found.kind, found.first, found.second) == ("title", "HK-20", "HK-40")


async def test_which_model_is_asked_back_and_not_where_it_is_said() -> None:
    asked = await grade("How long is the warranty of the kettle manual?", [KETTLE_20, KETTLE_40])
    assert set(asked.hitl_options) == {"HK-20", "HK-40"}
    said = await grade("How long is the warranty of the HK20?", [KETTLE_20, KETTLE_40])
    assert said.ambiguity == "none"


def test_a_running_number_of_a_file_is_no_label() -> None:
    question = cut_question("How many days of annual leave do employees get?")
    for names in (("cn_leave.md", "cn_leave2.md"), ("leave-1.md", "leave-2.md")):
        first, second = (
            passage(name, f"Employees receive {days} days of annual leave each year.")
            for name, days in zip(names, (20, 30), strict=True)
        )
        assert contrast(question, first, second) is None
    seven, nine = (
        passage(f"tern_{name}.md", f"Employees receive {days} days of annual leave each year.")
        for name, days in (("p7", 20), ("p9", 30))
    )
    found = contrast(question, seven, nine)
    assert found is not None
    assert (found.first, found.second) == ("P7", "P9")


async def test_a_number_that_is_written_otherwise_is_not_missing() -> None:
    question = "When did season 4 of The Heron end?"
    texts = (
        "The fourth season of The Heron ended in May.",
        "The Heron is a series; it ended in May.",
    )
    fourth, none = [await grade(question, [passage("a.md", text)]) for text in texts]
    assert (fourth.features["numbers_absent"], none.features["numbers_absent"]) == (0.0, 1.0)
    assert fourth.confidence > none.confidence


@pytest.mark.parametrize(
    ("question", "attribute", "known"),
    [
        ("What is the rent of the office in Berlin?", "rent", "address"),
        ("柏林办公室的租金是多少？", "租金", "地址"),
    ],
)
async def test_what_no_document_has_a_word_for_is_a_part_that_is_missing(
    question: str, attribute: str, known: str
) -> None:
    text = "The office in Berlin is at the canal. The address of the office is Quay 4. 柏林办公室的地址是河边路四号。"
    office = passage("office.md", text, similarity=0.9)
    lexicon = combine([mine(text)])
    found = await LocalGrader().grade(question, [office], history=(), lexicon=lexicon)
    assert (found.relevance, found.answerability) == ("weak", "partial")
    assert found.missing_slots == (attribute,)
    asked = ask(question.replace(attribute, known), [office], lexicon)
    assert asked.unknown_attribute == ""


async def test_a_slip_in_what_is_asked_is_no_unknown_thing() -> None:
    lexicon = lexicon_of("The allowance is paid each month.")
    assert ask("What is the alowance for travel?", [], lexicon).unknown_attribute == ""
    assert ask("What is the pension for drivers?", [], lexicon).unknown_attribute == "pension"


# -------------------------------------------------------------------- places that no document has

SHANGHAI = passage(
    "分公司/上海/办公室.md",
    "上海办公室早上九点开门，晚上六点关门。每天的津贴是八十元。",
    title="上海办公室",
)
GUANGZHOU = passage(
    "分公司/广州/办公室.md",
    "广州办公室早上八点开门，晚上六点关门。每天的津贴是六十元。",
    title="广州办公室",
)


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("北京办公室早上几点开门？", "北京"),
        ("慕尼黑办公室早上几点开门？", "慕尼黑"),
        ("青浦办公室早上几点开门？", "青浦"),
        ("公司在北京有办公室吗？", "北京"),
    ],
)
async def test_what_is_said_of_other_places_is_no_knowledge_of_this_one(
    question: str, place: str
) -> None:
    grade_ = await grade(question, [SHANGHAI, GUANGZHOU])
    assert grade_.route == "no_knowledge"
    assert grade_.missing_slots == (place,)
    assert repr(place) in grade_.reason


@pytest.mark.parametrize(
    "question",
    [
        "上海办公室早上几点开门？",
        # 天津 is only a seam here.
        "上海每天津贴是多少元？",
    ],
)
async def test_a_place_that_documents_have_is_answered(question: str) -> None:
    assert (await grade(question, [SHANGHAI, GUANGZHOU])).route == "answer"


async def test_a_place_is_known_in_either_script() -> None:
    lexicon = lexicon_of(SHANGHAI.chunk.text, GUANGZHOU.chunk.text)
    assert ask("廣州辦公室幾點開門？", [GUANGZHOU], lexicon).unknown_places == ()
    assert ask("廣州辦公室幾點開門？", [SHANGHAI], lexicon).unknown_places == ("廣州",)


async def test_beside_a_place_that_is_known_one_that_is_not_leaves_a_part_open() -> None:
    grade_ = await grade("上海办公室和北京办公室早上几点开门？", [SHANGHAI])
    assert (grade_.route, grade_.answerability) == ("rewrite", "partial")
