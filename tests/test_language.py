"""Terms of questions and passages."""

from __future__ import annotations

import pytest

from anabranch.language import (
    cjk_bigrams,
    cjk_share,
    fold,
    question_terms,
    sentence_spans,
    terms,
    words,
)


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("埃及的首都在哪里？", ["埃及", "首都"]),
        ("关于请假的规定是什么", ["请假", "规定"]),
        ("以色列和约旦", ["以色", "色列", "约旦"]),
        ("请介绍一下公司", ["公司"]),
    ],
)
def test_words_that_ask_are_left_out_but_not_from_within_a_name(
    question: str, terms: list[str]
) -> None:
    assert question_terms(question) == terms
    assert cjk_bigrams(question, question=True) == terms


def test_a_request_is_no_please() -> None:
    assert "申请" in question_terms("如何申请年假？")


def test_the_share_of_cjk_is_of_letters_and_digits() -> None:
    assert cjk_share("年假 30 天") == 3 / 5
    assert cjk_share("thirty days") == 0.0
    assert cjk_share("\u2e80") == 0.0  # a part of a character, and no letter


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),  # the vowel signs are marks, no letters
        ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
        ("বাংলা ভাষা", ["বাংলা", "ভাষা"]),
    ],
)
def test_vowel_signs_do_not_part_a_word(text: str, found: list[str]) -> None:
    assert words(text) == [fold(word) for word in found]


@pytest.mark.parametrize(
    ("full", "plain"),
    [
        ("الْقُرْآن", "القرآن"),
        ("محمـــد", "محمد"),  # a letter drawn out to fill the line
        ("שָׁלוֹם", "שלום"),
        ("Москва\u0301", "Москва"),  # the stress of a dictionary or an encyclopaedia
        ("می\u200cخواهم", "میخواهم"),
        ("İstanbul", "istanbul"),
    ],
)
def test_marks_that_are_written_or_not_make_no_other_word(full: str, plain: str) -> None:
    assert words(full) == words(plain)
    assert len(words(full)) == 1


@pytest.mark.parametrize(
    "sentence", ["ในประเทศไทยมีช้าง", "ອາຫານລາວ", "ព្រះរាជាណាចក្រកម្ពុជា", "မြန်မာနိုင်ငံ"]
)
def test_a_word_is_found_inside_a_run_of_a_script_without_blanks(sentence: str) -> None:
    inside = sentence[2:8]
    assert len(terms(inside)) > 1
    assert set(terms(inside)) <= set(terms(sentence))


def test_thai_beside_a_number_is_a_run_of_its_own() -> None:
    assert "2000" in terms("ในปี2000")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("университета", "университеты"),
        ("الجامعة", "جامعة"),
        ("άνθρωπος", "ανθρώπων"),
        ("लड़का", "लड़के"),
    ],
)
def test_forms_of_a_word_are_one_term_in_their_own_script(one: str, other: str) -> None:
    assert terms(one) == terms(other)


def test_english_words_keep_their_stems() -> None:
    assert terms("the universities' naïve relations") == ["universiti", "naïv", "relat"]


@pytest.mark.parametrize(
    "text",
    [
        "यह पहला वाक्य है। यह दूसरा वाक्य है।",
        "ما هي العاصمة؟ العاصمة هي الرياض.",
        "یہ پہلا جملہ ہے۔ یہ دوسرا جملہ ہے۔",
        "នេះជាប្រយោគទីមួយ។ នេះជាប្រយោគទីពីរ។",
    ],
)
def test_sentences_end_at_the_marks_of_their_script(text: str) -> None:
    assert len(sentence_spans(text)) == 2
