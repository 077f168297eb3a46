"""Telling languages apart, as far as a notice needs it."""

import pytest

from anabranch import KnowledgeBase
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


def test_punctuation_and_figures_say_nothing_of_what_an_encoder_reads():
    assert is_readable("“The café” – 20 °C … £5", ENGLISH)
    assert is_readable("Ångström, Łódź, İzmir", ENGLISH)
    assert not is_readable("Сколько — 20 дней?", ENGLISH)
    assert not is_readable("年假 2026 | 20 | 30 | 40", ENGLISH)
    assert is_readable("The Great Wall (长城) is long", ENGLISH)


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


def test_documents_and_questions_that_are_not_read_are_told_and_found_by_their_words(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "leave.md").write_text("员工每年享有二十天带薪年假。", encoding="utf-8")
    (tmp_path / "docs" / "ferry.md").write_text("The ferry leaves at noon from the pier.")
    with KnowledgeBase.open(tmp_path / "kb") as base:
        [told] = base.add(tmp_path / "docs").notices
        assert "Of 2 documents 1 in Chinese" in told
        assert base.add(tmp_path / "docs").notices == ()  # nothing was read again
        assert base.describe().notices == (told,)
        chinese = base.ask("年假有多少天？")
        english = base.ask("When does the ferry leave?")
    assert "Chinese" in chinese.notices[0]
    assert chinese.to_dict()["notices"] == list(chinese.notices)
    assert chinese.failures == ()
    assert chinese.evidence[0].text == "员工每年享有二十天带薪年假。"
    assert english.notices == ()
    assert english.status == "answerable"
