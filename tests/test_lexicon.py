"""What the documents' words are, and what they let a question be read as."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.lexicon import DocumentLexicon, Lexicon, combine, expansions, mine, spelling
from anabranch.spelling import Speller, edit_distance


def lexicon_of(*texts: str) -> Lexicon:
    return combine(mine(text) for text in texts)


# ---------------------------------------------------------------------------------------- mining


def test_words_are_folded_and_counted_without_chinese_runs() -> None:
    lexicon = mine("Leave is leave. 年假 Café 2024 123456789")
    assert dict(lexicon.words) == {"leave": 2, "is": 1, "café": 1, "2024": 1}


@pytest.mark.parametrize(
    ("text", "short", "long"),
    [
        ("The service level agreement (SLA) binds.", "sla", "service level agreement"),
        ("The SLA (service level agreement) binds.", "sla", "service level agreement"),
        ("SLA: service level agreement, signed yearly", "sla", "service level agreement"),
        ("- **MFA** – multi-factor authentication for all", "mfa", "multi-factor authentication"),
        ("| VPN | virtual private network |", "vpn", "virtual private network"),
        ("SLA stands for service level agreement.", "sla", "service level agreement"),
        ("Hypertext Transfer Protocol, or HTTP, is used.", "http", "hypertext transfer protocol"),
        ("Personal Protective Equipment (“PPE”)", "ppe", "personal protective equipment"),
        ("research and development (R&D) costs", "r&d", "research and development"),
        ("公司的人力资源部（HR）负责招聘。", "hr", "人力资源部"),
        ("我们使用企业资源计划系统（简称ERP）。", "erp", "企业资源计划系统"),
        ("企业资源计划系统，以下简称“ERP”，管理库存。", "erp", "企业资源计划系统"),
        ("人力资源部（以下简称“人资部”）在二楼。", "人资部", "人力资源部"),
        ("API（应用程序接口）很好。", "api", "应用程序接口"),
        (
            "客户关系管理（Customer Relationship Management，CRM）",
            "crm",
            "customer relationship management",
        ),
    ],
)
def test_a_short_form_is_found_where_the_text_introduces_it(
    text: str, short: str, long: str
) -> None:
    assert long in mine(text).short_forms[short]


@pytest.mark.parametrize(
    "text",
    [
        "See the next table (below).",
        "Henry the Eighth (VIII) reigned.",
        "the agreement (TA) was signed",
        "Note: never eat this",
        "an unrelated sentence (XQZ)",
        "他在北京（图一）。",
    ],
)
def test_what_only_looks_like_an_introduction_gives_no_long_form(text: str) -> None:
    assert not any(mine(text).short_forms.values())


def test_a_repeated_phrase_is_kept_under_its_initials() -> None:
    lexicon = mine("The file system is full. A file system check runs." + " filler" * 2_000)
    assert lexicon.phrases["fs"] == {"file system": 2}
    assert "sc" not in lexicon.phrases


def test_initials_count_with_and_without_joining_words() -> None:
    lexicon = mine("# Terms of service\n")
    assert "terms of service" in lexicon.phrases["tos"]
    assert "terms of service" in lexicon.phrases["ts"]


def test_what_is_kept_of_a_long_document_is_bounded() -> None:
    source = random.Random(7)
    vocabulary = ["".join(source.choices(string.ascii_lowercase, k=6)) for _ in range(300)]
    text = " ".join(source.choices(vocabulary, k=20_000))
    phrases = mine(text).phrases
    assert len({phrase for found in phrases.values() for phrase in found}) <= 250


# ------------------------------------------------------------------------------------- combining


def test_words_count_documents_not_occurrences() -> None:
    lexicon = lexicon_of("leave leave leave", "leave work")
    assert lexicon.document_count == 2
    assert lexicon.words == {"leave": 2, "work": 1}


def test_the_long_form_that_more_documents_use_goes_first() -> None:
    lexicon = lexicon_of(
        "sales lead allocation (SLA)",
        "service level agreement (SLA)",
        "the service level agreement (SLA)",
    )
    assert lexicon.short_forms["sla"] == ("service level agreement", "sales lead allocation")


def test_combining_does_not_depend_on_the_order_of_documents() -> None:
    mined = [mine("alpha beta (AB). file system"), mine("apple bar (AB). fire safety"), mine("x")]
    forwards, backwards = combine(mined), combine(reversed(mined))
    assert forwards == backwards
    assert list(forwards.phrases["fs"]) == list(backwards.phrases["fs"])


def test_no_document_gives_an_empty_lexicon() -> None:
    assert combine([]) == Lexicon()
    assert combine([DocumentLexicon()]).document_count == 1


# ------------------------------------------------------------------------------------ expansions

HANDBOOK = (
    "The service level agreement (SLA) of human resources (HR). IT: information technology.\n"
    "公司的人力资源部（HR）负责招聘。企业资源计划系统（简称ERP）\n"
    "# File system\nThe file system is mounted. Do it at once."
)


@pytest.mark.parametrize(
    ("question", "pair"),
    [
        ("What is the SLA?", ("SLA", "service level agreement")),
        ("what is the sla", ("sla", "service level agreement")),
        ("how big is the fs?", ("fs", "file system")),
        ("Who leads the IT team?", ("IT", "information technology")),
        ("ERP是什么时候上线的？", ("ERP", "企业资源计划系统")),
        ("人力资源部在哪里？", ("HR", "人力资源部")),
        ("what does the service level agreement say", ("SLA", "service level agreement")),
    ],
)
def test_a_form_in_the_question_leads_to_the_other_one(
    question: str, pair: tuple[str, str]
) -> None:
    assert pair in expansions(question, lexicon_of(HANDBOOK))


@pytest.mark.parametrize("question", ["do it at once", "is it so", "What is it?", "WHO IS IT"])
def test_a_common_word_is_never_read_as_initials(question: str) -> None:
    assert expansions(question, lexicon_of(HANDBOOK, "dense orbit. intact tissue")) == []


def test_a_word_that_the_documents_use_is_not_guessed_from_initials() -> None:
    used = lexicon_of("the file system", *["an fs is mounted"] * 3)
    assert expansions("how big is the fs", used) == []


def test_a_form_that_the_question_has_already_is_not_offered() -> None:
    assert expansions("Is the SLA the service level agreement?", lexicon_of(HANDBOOK)) == []


def test_documents_that_only_have_the_short_form_are_reached_from_the_long_one() -> None:
    lexicon = lexicon_of("Every SLA is reviewed yearly.", "A new SLA needs a signature.")
    question = "Who signs the service level agreement?"
    assert ("SLA", "service level agreement") in expansions(question, lexicon)


# -------------------------------------------------------------------------------------- spelling

VOCABULARY = "The annual holiday allowance and the warranty agreement of Berlin, Müller and Orion"


@pytest.mark.parametrize(
    ("question", "repaired"),
    [
        ("What is the warrenty?", "What is the warranty?"),  # substitution
        ("What is the waranty?", "What is the warranty?"),  # deletion
        ("What is the warrantyy?", "What is the warranty?"),  # insertion
        ("What is the warrnaty?", "What is the warranty?"),  # neighbours swapped
        ("holliday alowance in Berlin", "holiday allowance in Berlin"),
        ("HOLDIAY IN BERLIN", "HOLIDAY IN BERLIN"),
        ("Holdiay in Berlin", "Holiday in Berlin"),
        ("the anual leave's warrenty", "the annual leave's warranty"),
        ("什么是 warrenty", "什么是 warranty"),
    ],
)
def test_a_misspelt_word_becomes_the_documents_word(question: str, repaired: str) -> None:
    assert spelling(question, lexicon_of(VOCABULARY)) == repaired


@pytest.mark.parametrize(
    "question",
    [
        "What is the warranty?",
        "What are the warranties?",  # another form of a known word
        "Who is Smith of Acme?",  # names that are near nothing
        "What about 20244?",
        "Is the SLAX valid?",  # written as a short form
        "How much is it?",
        "柏林的年假",
        "",
    ],
)
def test_what_is_not_a_slip_stays(question: str) -> None:
    assert spelling(question, lexicon_of(VOCABULARY)) is None


def test_nothing_is_repaired_without_documents() -> None:
    assert spelling("What is the warrenty?", Lexicon()) is None


def test_of_equally_near_words_the_one_in_more_documents_wins_then_the_alphabet() -> None:
    assert Speller({"planet": 1, "planer": 5}).nearest("planez") == "planer"
    assert Speller({"planet": 2, "planer": 2}).nearest("planez") == "planer"


def test_the_same_first_letter_goes_before_a_frequent_word() -> None:
    assert Speller({"motion": 90, "notiom": 1}).nearest("notion") == "notiom"


def test_two_edits_are_repaired_only_in_long_words() -> None:
    speller = Speller({"agreement": 1, "table": 1})
    assert speller.nearest("agremant") == "agreement"
    assert speller.nearest("tabel") == "table"
    assert speller.nearest("tubal") is None


@given(st.text("abcd", max_size=7), st.text("abcd", max_size=7))
def test_edit_distance_is_symmetric_and_zero_only_for_equals(first: str, second: str) -> None:
    distance = edit_distance(first, second, 9)
    assert distance == edit_distance(second, first, 9)
    assert (distance == 0) == (first == second)
    assert edit_distance(first, second, 1) == min(distance, 2)


@given(st.text("abcdefgh", min_size=8, max_size=12), st.data())
def test_the_letter_filter_never_hides_a_word_one_edit_away(word: str, data: st.DataObject) -> None:
    position = data.draw(st.integers(1, len(word) - 1))
    changed = word[:position] + "z" + word[position + 1 :]
    assert Speller({word: 1}).nearest(changed) == word


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_can_be_mined_and_asked(text: str, question: str) -> None:
    lexicon = lexicon_of(text, question)
    assert lexicon == lexicon_of(text, question)
    assert expansions(question, lexicon) == expansions(question, lexicon)
    spelling(question, lexicon_of(text))
