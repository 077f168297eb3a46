"""What the documents' words are, and what they let a question be read as."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.lexicon import DocumentLexicon, Lexicon, combine, mine
from anabranch.spelling import Speller, edit_distance
from anabranch.suggestions import expansions, other_ways, spelling


def lexicon_of(*texts: str) -> Lexicon:
    return combine(mine(text) for text in texts)


# ---------------------------------------------------------------------------------------- mining


def test_words_are_folded_and_counted_and_chinese_ones_by_character() -> None:
    lexicon = mine("Leave is leave. 年假 Café 2024 123456789")
    assert dict(lexicon.words) == {"leave": 2, "is": 1, "café": 1, "2024": 1, "年": 1, "假": 1}


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


@pytest.mark.parametrize("repeats", [3, 5_000], ids=["short", "long"])
def test_a_phrase_is_counted_alike_in_a_short_paragraph_and_in_a_huge_one(repeats: int) -> None:
    text = "The back-end data 保修 retention policy—see the data retention policy. " * repeats
    mined = mine(text)
    assert mined.phrases["drp"]["data retention policy"] == repeats
    assert mined.phrases["bed"]["back end data"] == repeats
    assert mined.phrases["dr"]["data retention"] == repeats  # not where 保修 stands in between


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


@pytest.mark.parametrize(
    ("text", "question", "pair"),
    [
        ("To Kill a Mockingbird", "Who wrote TKAM?", ("TKAM", "to kill a mockingbird")),
        ("The First Wives Club", "Who is in FWC?", ("FWC", "first wives club")),
        ("Their Eyes Were Watching God", "tewwg plot", ("tewwg", "their eyes were watching god")),
        ("Here the longest common subsequence", "the LCS", ("LCS", "longest common subsequence")),
        ("由世界卫生组织推荐", "世卫推荐什么", ("世卫", "世界卫生组织")),
    ],
)
def test_initials_that_nobody_wrote_lead_to_a_name(
    text: str, question: str, pair: tuple[str, str]
) -> None:
    prose = f"{text} is old.\nIt is said that {text} is well known."
    assert pair in expansions(question, lexicon_of(prose))


@pytest.mark.parametrize(
    "question",
    [
        "What field of computer science analyzes algorithms?",  # ends in a verb
        "Did the author of Alexander win?",  # joined by "of"
        "Is induced neuronal death rare?",  # shortened it would be a word: "in"
        "Is google rich?",  # its ticker is no other name for it
    ],
)
def test_words_that_merely_stand_together_are_no_name(question: str) -> None:
    used = "The CSA and AA met. induced neuronal (IN) death. Google (GOOG)"
    shorts = {short for short, _ in expansions(question, lexicon_of(used))}
    assert not shorts & {"CSA", "AA", "IN", "GOOG"}


def test_of_long_forms_that_say_the_same_only_one_is_offered() -> None:
    text = "induced pluripotent stem cell (IPSC). induced pluripotent stem cells (IPSC)"
    assert len(expansions("an IPSC", lexicon_of(text, text))) == 1


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
        ("Who is Mülller?", "Who is Müller?"),
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
        "Who is Bärlin?",  # whoever writes an accent means it
        "柏林的年假",
        "",
    ],
)
def test_what_is_not_a_slip_stays(question: str) -> None:
    assert spelling(question, lexicon_of(VOCABULARY)) is None


@pytest.mark.parametrize(
    ("documents", "question", "repaired"),
    [
        ("Гарантия на насос", "Какая горантия?", "Какая гарантия?"),
        ("ضمان المضخة لمدة عامين", "ما مدة المظخة", "ما مدة المضخة"),
    ],
)
def test_a_misspelt_word_of_another_script_becomes_the_documents_word(
    documents: str, question: str, repaired: str
) -> None:
    assert spelling(question, lexicon_of(documents)) == repaired


@pytest.mark.parametrize(
    ("documents", "question", "repaired"),
    [
        ("a planet and a planer", "a planex", "a planer"),  # two words are as near
    ],
)
def test_a_doubtful_repair_is_only_a_guess(documents: str, question: str, repaired: str) -> None:
    lexicon = lexicon_of(documents)
    assert spelling(question, lexicon) is None
    assert spelling(question, lexicon, guess=True) == repaired


@pytest.mark.parametrize(
    ("documents", "question"),
    [
        ("the river was crossed", "the midnight rider"),
        ("he gave it", "the main gate"),
        ("three are never there", "what is newer"),
        ("the boom of phenomenal sales", "the blooming phenomena"),
    ],
)
def test_an_english_word_that_the_documents_lack_is_missing_and_not_misspelt(
    documents: str, question: str
) -> None:
    assert spelling(question, lexicon_of(documents), guess=True) is None


@pytest.mark.parametrize(
    ("written", "likely", "unlikely"),
    [
        ("tiem", "time", "them"),  # swapped, or a letter exchanged
        ("figth", "fight", "filth"),
        ("reuction", "reduction", "reaction"),
        ("americn", "american", "america"),  # lost, or exchanged
    ],
)
def test_a_letter_is_rather_lost_or_swapped_than_gained_or_exchanged(
    written: str, likely: str, unlikely: str
) -> None:
    repair = Speller({likely: 3, unlikely: 5}).repair(written)
    assert repair is not None
    assert (repair.word, repair.sure) == (likely, True)


@pytest.mark.parametrize(
    ("documents", "question", "repaired"),
    [
        ("the amphisbaenic sort", "amphisbenic sort", "amphisbaenic sort"),
        ("the neutrino", "what are nuetrinos", "what are neutrino"),
        ("the accommodation", "acomodation costs", "accommodation costs"),
        ("Gorriarán", "Gorriaran", "Gorriarán"),
        ("Muller", "Müller", "Muller"),
        ("the CONMEBOL cup", "CONEMBOL cup of 2023", "CONMEBOL cup of 2023"),
        ("第二届会议", "第二屆會議", "第二届会议"),
        ("第二屆會議", "第二届会议", "第二屆會議"),
    ],
)
def test_what_sounds_or_reads_the_same_is_replaced(
    documents: str, question: str, repaired: str
) -> None:
    assert spelling(question, lexicon_of(documents)) == repaired


@pytest.mark.parametrize(
    ("documents", "question"),
    [
        ("quantitative results", "qualitative results"),
        ("an infinite series", "an indefinite series"),
        ("related problems", "restated problems"),
        ("it resisted", "it is restated"),
    ],
)
def test_two_edits_that_change_the_sound_make_another_word(documents: str, question: str) -> None:
    assert spelling(question, lexicon_of(documents), guess=True) is None


def test_a_character_that_the_documents_have_is_kept_in_its_script() -> None:
    assert spelling("會議", lexicon_of("會議", "会议")) is None


@pytest.mark.parametrize(
    ("documents", "question", "expected"),
    [
        ("in twelve houses", "the 12 houses", ("12", "twelve", True)),
        ("in 12 houses", "twelve houses", ("twelve", "12", True)),
        ("the 19th century", "the nineteenth century", ("nineteenth", "19th", True)),
        ("World War II", "after World War 2", ("2", "II", True)),
        ("ten kilometres", "ten km", ("km", "kilometres", True)),
        ("第十二届", "第12届", ("12届", "十二届", False)),
        ("乾隆25年", "乾隆二十五年", ("二十五年", "25年", False)),
        ("dry riverbeds", "dry river beds", ("river beds", "riverbeds", True)),
        ("a story book house", "storybook", ("storybook", "story book", True)),
        ("an analysis", "who is the analyst", ("analyst", "analysis", True)),
        ("in Honduras", "the Honduran bishop", ("Honduran", "honduras", True)),
    ],
)
def test_another_way_to_write_it_is_found_in_the_documents(
    documents: str, question: str, expected: tuple[str, str, bool]
) -> None:
    assert expected in other_ways(question, lexicon_of(documents))


def test_what_the_documents_write_as_asked_has_no_other_way() -> None:
    text = "twelve houses, a storybook and the analyst of 12 km"
    assert other_ways("twelve storybook analyst", lexicon_of(text, "twelve analyst")) == []


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
