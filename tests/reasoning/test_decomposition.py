"""Parts of a question: each stands alone, and what does not come out clean is not given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.language import fold, question_terms
from anabranch.reasoning.decomposition import MOST_PARTS, parts
from anabranch.reasoning.question_building import is_whole, names, singular_noun


def given_parts(question: str) -> list[str]:
    return [part for part, _ in parts(question)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        # comparison
        ("What is the difference between the basic and the premium plan?", ["What is the basic plan?", "What is the premium plan?"]),
        (
            "How does the refund policy for hardware compare to the one for subscriptions?",
            ["What is the refund policy for hardware?", "What is the refund policy for subscriptions?"],
        ),
        ("Who is older, Gabe Saporta or John S. Hall?", ["When was Gabe Saporta born?", "When was John S. Hall born?"]),
        (
            "Which movie did Disney produce first, Ride a Wild Pony or Bambi?",
            ["When did Disney produce Ride a Wild Pony?", "When did Disney produce Bambi?"],
        ),
        ("Which festival started earlier: Fleadh or Feile?", ["When did Fleadh start?", "When did Feile start?"]),
        (
            "Who scored more points in the game, Giants or Steelers?",
            ["How many points were scored by Giants in the game?", "How many points were scored by Steelers in the game?"],
        ),
        (
            "Were Ilya Ehrenburg and Harold Robbins both translators?",
            ["Was Ilya Ehrenburg a translator?", "Was Harold Robbins a translator?"],
        ),
        (
            "Are Todd Haynes and Chris Columbus of the same nationality?",
            ["What is the nationality of Todd Haynes?", "What is the nationality of Chris Columbus?"],
        ),
        (
            "Compare the Dipper and the Plover by weight and battery life.",
            ["What are the weight and battery life of the Dipper?", "What are the weight and battery life of the Plover?"],
        ),
        (
            "Are there more women than men on the board?",
            ["How many women are on the board?", "How many men are on the board?"],
        ),
        (
            "What is the difference between the Bonn and Graz stations' closing times?",
            ["What are the closing times of the Bonn stations?", "What are the closing times of the Graz stations?"],
        ),
        (
            "What is the difference between the Heron's and the Egret's range?",
            ["What is the range of the Heron?", "What is the range of the Egret?"],
        ),
        (
            "How do the warranties of the Heron and the Egret differ?",
            ["What are the warranties of the Heron?", "What are the warranties of the Egret?"],
        ),
        (
            "What is the difference between the price of HK-20 and HK-40?",
            ["What is the price of HK-20?", "What is the price of HK-40?"],
        ),
        (
            "How do the warranties of the Heron and the prices of the Egret differ?",
            ["What are the warranties of the Heron?", "What are the prices of the Egret?"],
        ),
        ("HK-20的保修期和HK-40有什么不同？", ["HK-20的保修期是什么？", "HK-40的保修期是什么？"]),
        ("Compare the Bonn and Graz stations.", ["What are the Bonn stations?", "What are the Graz stations?"]),
        (
            "What is the range of the Heron compared with the Egret?",
            ["What is the range of the Heron?", "What is the range of the Egret?"],
        ),
        (
            "How many rooms are there in Bonn as opposed to Graz?",
            ["How many rooms are there in Bonn?", "How many rooms are there in Graz?"],
        ),
        (
            "How long is the notice period for staff versus that for trainees?",
            ["How long is the notice period for staff?", "How long is the notice period for trainees?"],
        ),
        (
            "What is the Heron's range vs. the Egret's?",
            ["What is the Heron's range?", "What is the Egret's range?"],
        ),
        ("What costs more, the Heron or the Egret?", ["What is the price of the Heron?", "What is the price of the Egret?"]),
        (
            "Which battery lasts longer, the Heron's or the Egret's?",
            ["How long does the Heron's battery last?", "How long does the Egret's battery last?"],
        ),
        (
            "Does the Heron reach further than the Egret?",
            ["How far does the Heron reach?", "How far does the Egret reach?"],
        ),
        ("苍鹭的保修期和白鹭相比怎么样？", ["苍鹭的保修期是什么？", "白鹭的保修期是什么？"]),
        ("苍鹭的量程与白鹭的量程相比，有什么不同？", ["苍鹭的量程是什么？", "白鹭的量程是什么？"]),
        # several qualities, several things
        (
            "What are the side effects, dosage and storage conditions of metformin?",
            ["What are the side effects of metformin?", "What is the dosage of metformin?", "What are the storage conditions of metformin?"],
        ),
        ("What is the vacation policy and the sick leave policy?", ["What is the vacation policy?", "What is the sick leave policy?"]),
        (
            "how many days of leave do employees in berlin and boston get",
            ["How many days of leave do employees in berlin get?", "How many days of leave do employees in boston get?"],
        ),
        ("Which suppliers deliver to both Lyon and Turin?", ["Which suppliers deliver to Lyon?", "Which suppliers deliver to Turin?"]),
        (
            "What is impossible for the complexity classes RP, BPP and PH?",
            [f"What is impossible for the complexity classes {name}?" for name in ("RP", "BPP", "PH")],
        ),
        # cause and effect, questions in a row
        (
            "What caused the 2003 blackout and which measures were taken afterwards?",
            ["What caused the 2003 blackout?", "Which measures were taken after the 2003 blackout?"],
        ),
        ("who is the founder of google and when was it founded", ["Who is the founder of google?", "When was google founded?"]),
        (
            "who is the father of genetics and what did he study",
            ["Who is the father of genetics?", "What did the father of genetics study?"],
        ),
        ("Who approves travel, and what happens if it is rejected?", ["Who approves travel?", "What happens if travel is rejected?"]),
        ("How do I request leave and who approves it?", ["How do I request leave?", "Who approves leave?"]),
        # conditions, sources
        (
            "Which bridge was built in 1903 and demolished in 1965?",
            ["Which bridge was built in 1903?", "Which bridge was demolished in 1965?"],
        ),
        (
            "What player was born in Tyler and drafted by Acme?",
            ["What player was born in Tyler?", "What player was drafted by Acme?"],
        ),
        (
            "What player was born in 1984 and played as a rookie in 2007?",
            ["What player was born in 1984?", "What player played as a rookie in 2007?"],
        ),
        (
            "What does the safety data sheet say about gloves, and what does the site manual require instead?",
            ["What does the safety data sheet say about gloves?", "What does the site manual require about gloves?"],
        ),
        (
            "According to the audit how large is the loss, while according to the board how large is it?",
            ["How large is the loss according to the audit?", "How large is the loss according to the board?"],
        ),
        (
            "Does the Times article suggest a delay, while the Post article indicates that the bridge opened?",
            ["Does the Times article suggest a delay?", "Does the Post article indicate that the bridge opened?"],
        ),
        # what is compared is filled in
        ("Which is heavier, the Heron or the Egret?", ["What is the weight of the Heron?", "What is the weight of the Egret?"]),
        ("Is the Heron or the Egret more expensive?", ["What is the price of the Heron?", "What is the price of the Egret?"]),
        (
            "Does the Bonn or the Graz office open earlier?",
            ["When does the Bonn office open?", "When does the Graz office open?"],
        ),
        (
            "Which of Heron and Egret has the longer battery life?",
            ["What is the battery life of Heron?", "What is the battery life of Egret?"],
        ),
        ("Which is older, the Heron or the Egret?", ["How old is the Heron?", "How old is the Egret?"]),
        ("Compare the weight of the Heron with the Egret.", ["What is the weight of the Heron?", "What is the weight of the Egret?"]),
        # the same of both, and rows of questions about different things
        (
            "How long is the warranty of the Heron and of the Egret?",
            ["How long is the warranty of the Heron?", "How long is the warranty of the Egret?"],
        ),
        (
            "What is the warranty of the Heron and the Egret?",
            ["What is the warranty of the Heron?", "What is the warranty of the Egret?"],
        ),
        ("How heavy are the Heron and the Egret?", ["How heavy is the Heron?", "How heavy is the Egret?"]),
        ("How much does the Heron cost and who founded Acme?", ["How much does the Heron cost?", "Who founded Acme?"]),
        (
            "What does the Heron weigh, and which company casts its housing?",
            ["What does the Heron weigh?", "Which company casts the Heron's housing?"],
        ),
        # nested: the inner question first
        (
            "Where was the performer of Thriller born?",
            ["Who is the performer of Thriller?", "What is the birthplace of the performer of Thriller?"],
        ),
        (
            "In which city is the company that makes the engines of the A350 headquartered?",
            [
                "Which company makes the engines of the A350?",
                "What is the city of the headquarters of the company that makes the engines of the A350?",
            ],
        ),
        # Chinese
        ("第一季度华东、华南、西北三个大区的退货率各是多少？", [f"第一季度{area}的退货率是多少？" for area in ("华东", "华南", "西北")]),
        ("请列出申请护照需要的材料、办理地点以及费用。", [f"申请护照的{what}是什么？" for what in ("材料", "办理地点", "费用")]),
        ("入职满一年与满三年的员工年假天数分别多少", ["入职满一年的员工年假天数多少？", "入职满三年的员工年假天数多少？"]),
        ("长城和故宫，哪个先被列入世界遗产？", ["长城是什么时候被列入世界遗产的？", "故宫是什么时候被列入世界遗产的？"]),
        ("Heron和Egret哪个更重？", ["Heron的重量是多少？", "Egret的重量是多少？"]),
        ("Heron和Egret哪个便宜？", ["Heron的价格是多少？", "Egret的价格是多少？"]),
        ("Heron和Egret哪个保修期更长？", ["Heron的保修期有多长？", "Egret的保修期有多长？"]),
        ("Heron比Egret贵吗？", ["Heron的价格是多少？", "Egret的价格是多少？"]),
        ("更重的是Heron还是Egret？", ["Heron的重量是多少？", "Egret的重量是多少？"]),
        ("华东和华南的退货率哪个更高？", ["华东的退货率有多高？", "华南的退货率有多高？"]),
        ("柏林和波士顿哪个办公室更早开门？", ["柏林办公室是什么时候开门的？", "波士顿办公室是什么时候开门的？"]),
        ("小学、初中和高中的开学时间", [f"{school}的开学时间是什么？" for school in ("小学", "初中", "高中")]),
        ("Heron多重，外壳是哪家公司铸造的？", ["Heron多重？", "Heron的外壳是哪家公司铸造的？"]),
        ("张艺谋和陈凯歌谁拍的电影多？", ["张艺谋拍的电影有多少？", "陈凯歌拍的电影有多少？"]),
        ("公司在杭州、苏州的办公室地址是什么？", ["公司在杭州的办公室地址是什么？", "公司在苏州的办公室地址是什么？"]),
        ("王安石变法为什么失败，对北宋有何影响？", ["王安石变法为什么失败？", "王安石变法对北宋有何影响？"]),
        ("甲流的症状有哪些，吃什么药好得快？", ["甲流的症状有哪些？", "甲流吃什么药好得快？"]),
        (
            "新税法实施前后，月薪两万元的员工到手工资有何变化？",
            ["新税法实施之前月薪两万元的员工到手工资是怎样的？", "新税法实施之后月薪两万元的员工到手工资是怎样的？"],
        ),
        (
            "按照《劳动法》加班费怎么算，而公司手册又是怎么规定的？",
            ["按照《劳动法》，加班费怎么算？", "按照公司手册，加班费怎么算？"],
        ),
        ("收购了沃尔沃汽车的企业总部位于哪座城市？", ["哪家企业收购了沃尔沃汽车？", "收购了沃尔沃汽车的企业的总部在什么地方？"]),
        ("三峽大壩與胡佛大壩的壩高分別是多少", ["三峽大壩的壩高是多少？", "胡佛大壩的壩高是多少？"]),
    ],
)  # fmt: skip
def test_parts_stand_alone(question: str, expected: list[str]) -> None:
    assert given_parts(question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "Is Rick and Morty considered an anime?",
        "Did children read Harry Potter and the Philosopher's Stone during the war?",
        "Was the film shot in black and white?",
        "What is the relationship between Acme and Globex?",
        "What is the distance between Lyon and Turin?",
        "What school did the speaker of March on Washington for Jobs and Freedom attend?",
        "Where are the maps and atlases stored and why",
        "Which planets were found after 1700, and how many moons do those have?",
        "Is it heavier than the other one?",
        "Who is the individual that wanted to amass wealth, power, and influence?",
        "第一位获得诺贝尔和平奖的美国黑人是谁？",
        "德国环境与自然保护联盟的英文是什么？",
        "苏轼被贬黄州的原因以及他在那里写了哪些名作？",
        "贝多芬失聪以后创作了哪些交响曲，其中最有名的是哪一部？",
        "哪家快递去西藏最快，运费又是多少？",
        "特斯拉、莱恩和威尔之间的合作是何时建立的？",
    ],
)
def test_what_does_not_come_out_clean_is_not_taken_apart(question: str) -> None:
    assert given_parts(question) == []


@pytest.mark.parametrize(
    "broken",
    [
        "What is the price of?",
        "Which airline partners with has opened in 1984?",
        "What was the the height of the mast?",
        "When was it founded?",
        "Orion and Lyra?",
        'Who wrote "Thriller?',
        "Who did they meet?",
    ],
)
def test_a_broken_question_is_seen_as_broken(broken: str) -> None:
    assert not is_whole(broken)


def test_a_list_is_only_one_of_names() -> None:
    assert names("Orion, the Lyra and Vega") == ["Orion", "the Lyra", "Vega"]
    assert names('"Rock and Roll" and Thriller') == ['"Rock and Roll"', "Thriller"]
    assert names("a plan and is known as one") == []
    assert names("Central and Eastern Europe") == []


def test_one_of_several_gets_its_article() -> None:
    assert [singular_noun(word) for word in ("actors", "rock bands", "cities", "churches")] == [
        "an actor", "a rock band", "a city", "a church",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "question",
    [
        "Who designed the Kestrel Bridge and where was she born?",
        "Who founded Acme and where did he study?",
        "When was the Kestrel Bridge built and where did she live?",
        "红隼桥是谁设计的？她出生在哪里？",
    ],
)
def test_she_is_no_thing(question: str) -> None:
    assert given_parts(question) == []


@pytest.mark.parametrize(
    ("question", "second"),
    [
        ("Who is the CEO of Acme and when was he born?", "When was the CEO of Acme born?"),
        ("Who is Ada Lovelace and when did she die?", "When did Ada Lovelace die?"),
        ("Who designed the Kestrel Bridge, and when was it opened?", "When was the Kestrel Bridge opened?"),
        ("红隼桥的设计师是谁？他出生在哪里？", "红隼桥的设计师出生在哪里？"),
    ],
)  # fmt: skip
def test_she_is_a_person_who_is_named(question: str, second: str) -> None:
    assert given_parts(question)[1] == second


# ------------------------------------------------------------------------------ whatever is asked

QUESTIONS = [
    json.loads(line)["text"]
    for line in (Path(__file__).parents[1] / "data" / "routing.jsonl")
    .read_text("utf-8")
    .splitlines()
]
WORDS = st.sampled_from(sorted({word for text in QUESTIONS for word in text.split()}))
MIXED = st.lists(WORDS, max_size=16).map(" ".join)
CHARACTERS = st.text(
    st.sampled_from(sorted({sign for text in QUESTIONS for sign in text if sign > "\u3000"})),
    max_size=30,
)


@given(st.sampled_from(QUESTIONS) | MIXED | CHARACTERS | st.text(max_size=150))
def test_two_to_four_different_parts_that_ask_of_the_question_or_none(question: str) -> None:
    found = given_parts(question)
    assert len(found) in (0, *range(2, MOST_PARTS + 1))
    assert all(part.strip(" ?？") for part in found)
    assert len({fold(part) for part in found}) == len(found)
    assert all(fold(part).strip(" ?？") != fold(question).strip(" ?？") for part in found)
    terms = set(question_terms(question))
    assert all(terms & set(question_terms(part)) for part in found)
    assert all(why for _, why in parts(question))


@given(MIXED | st.text(max_size=150))
def test_english_parts_are_whole_questions(question: str) -> None:
    assert all(is_whole(part) for part in given_parts(question) if part.isascii())
