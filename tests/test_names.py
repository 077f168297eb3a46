"""Names in a sentence: what capitals, quotes and Chinese marks show, and nothing else."""

from __future__ import annotations

import pytest

from anabranch.names import names_in_sentence


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("It was written by Judith Viorst in 1972.", ["Judith Viorst in 1972"]),
        ("The song is by Pearl Jam, an American band.", ["Pearl Jam", "American"]),
        ("She joined the Bank of England after Leonardo da Vinci.",
         ["Bank of England", "Leonardo da Vinci"]),
        ("G. Stanley Hall's book", ["G. Stanley Hall"]),
        ("However, nobody knew.", []),
        ("Annual leave is 30 days.", []),
        ("NASA approved it.", ["NASA"]),
        ("nothing is named here", []),
    ],
)  # fmt: skip
def test_english_names_are_runs_of_capitalised_words(sentence: str, names: list[str]) -> None:
    assert list(names_in_sentence(sentence)) == names


@pytest.mark.parametrize(
    ("sentence", "name"),
    [
        ("他的代表作是《活着》。", "活着"),
        ("余华（1960年－）是中国作家。", "余华"),
        ("柏林是德国的首都。", "柏林"),
        ("该书由列夫·托尔斯泰于1869年写成。", "列夫·托尔斯泰"),
        ("该片由王家卫执导。", "王家卫"),
        ("他毕业于北京大学。", "北京大学"),
        ("申请由人事部审批。", "人事部"),
        ("系统使用 SAP Concur 报销。", "SAP Concur"),
        ("该片由导演张艺谋拍摄，主演是巩俐。", "张艺谋"),
        ("公司创始人：任正非。", "任正非"),
        ("诸葛亮出生于琅琊。", "诸葛亮"),
        ("莫言获得诺贝尔文学奖。", "莫言"),
        ("她曾就读复旦大学。", "复旦大学"),
        ("收购了红十字医院", "红十字医院"),
        ("歌手鄧麗君的母親", "鄧麗君"),
    ],
)
def test_chinese_names_are_found_by_their_marks_and_endings(sentence: str, name: str) -> None:
    assert name in " ".join(names_in_sentence(sentence))


@pytest.mark.parametrize("sentence", ["这是他的书。", "该公司成立于1990年。", "他是作家。", ""])
def test_words_that_point_back_are_no_names(sentence: str) -> None:
    assert list(names_in_sentence(sentence)) == []


@pytest.mark.parametrize(
    "sentence",
    ["高度为三米。", "方法在附录中。", "白色的纸。", "文章在线发表。", "金属的价格上涨。"],
)
def test_a_word_that_begins_like_a_surname_is_no_person(sentence: str) -> None:
    assert [name for name in names_in_sentence(sentence) if name[0] in "方白文金"] == []


@pytest.mark.parametrize(
    ("sentence", "name"), [("她曾就读复旦大学。", "复旦大学"), ("由导演张艺谋执导。", "张艺谋")]
)
def test_a_chinese_name_does_not_begin_with_what_is_done_to_it(sentence: str, name: str) -> None:
    assert name in names_in_sentence(sentence)


def test_a_name_comes_once() -> None:
    assert list(names_in_sentence("it met “Ann Lee” and Ann Lee")) == ["Ann Lee"]
