"""Telling languages apart, as far as a notice needs it."""

import pytest

from anabranch.languages import (
    document_notices,
    is_readable,
    language_of,
    question_notices,
)

ENGLISH = frozenset({"en"})


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The office is closed on public holidays and on the day before.", "en"),
        ("Das Büro ist an Feiertagen geschlossen und auch am Tag vor dem Fest.", "de"),
        ("Le bureau est fermé pendant les jours fériés et dans la semaine de Noël.", "fr"),
        ("La oficina está cerrada en los días de fiesta y en el fin de semana.", "es"),
        ("员工每年享有二十天带薪年假。", "zh"),
        ("年假", "zh"),
        ("従業員は年間二十日の有給休暇を取得できます。", "ja"),
        ("직원은 연간 20일의 유급 휴가를 받습니다.", "ko"),
        ("Сотрудники получают двадцать дней отпуска в год.", "ru"),
        ("Працівники мають двадцять днів відпустки на рік, її можна поділити.", "uk"),
        ("يحصل الموظفون على عشرين يوما من الإجازة في السنة.", "ar"),
        ("4711 | 12.50 | A-7", None),
        ("", None),
        ("Plover P300 P500", None),
    ],
)
def test_the_language_of_a_text(text, language):
    assert language_of(text) == language


def test_an_english_encoder_reads_latin_script_alone():
    assert is_readable("How does the Plover 《X》 work?", ENGLISH)
    assert is_readable("Wie viele Urlaubstage?", ENGLISH)
    assert is_readable("42?", ENGLISH)
    assert not is_readable("年假有多少天？", ENGLISH)
    assert not is_readable("Сколько дней?", ENGLISH)
    assert is_readable("年假有多少天？", None)
    assert is_readable("年假有多少天？", frozenset({"en", "zh"}))


def test_a_notice_names_the_language_and_the_way_out():
    [notice] = question_notices("年假有多少天？", ENGLISH)
    assert "Chinese" in notice
    assert "anabranch models add multilingual" in notice
    assert question_notices("How many days?", ENGLISH) == ()
    assert question_notices("年假有多少天？", None) == ()


def test_documents_are_counted_by_language():
    [notice] = document_notices({"en": 3, "zh": 2, "de": 1}, ENGLISH)
    assert "Of 6 documents 2 in Chinese, 1 in German" in notice
    assert document_notices({"en": 3}, ENGLISH) == ()
    assert document_notices({"zh": 3}, None) == ()
