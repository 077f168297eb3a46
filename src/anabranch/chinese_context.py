"""Chinese follow-ups, completed from what was said before; pure.

A Chinese question leaves its subject out rather than saying "it": 保修期多久？ after a question about
the Plover asks for the Plover's. Only attributes that have to be somebody's are completed so (a price,
a warranty), since 食堂几点开门？ is a new topic.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from anabranch.chinese_places import place_pattern
from anabranch.exchanges import Exchange, Filled, Topic, told
from anabranch.grammar import CHINESE_ASKING
from anabranch.names import names_in_sentence
from anabranch.references import CHINESE_REFERENCE
from anabranch.replies import meant

_LEAD = re.compile(
    r"^(?:(?:好的?|谢谢(?:你|您)?|明白了?|知道了|了解了?|嗯+|哦+|是的|对)[，,。！!\s]*)*"
    r"(?:那么?|还有|另外|而|那就)?[，,\s]*(?:请问)?(?:(?:如果|要是)?换(?:成|作)|至于|关于)?"
)
_CORRECTION = re.compile(
    r"^(?:不是?[，,]\s*)?我(?:是说|是指|的意思是|想问的是)[，,：:\s]*(?P<rest>.+)$"
)
_END = "？?。.！! 　"
_ASKING = re.compile(CHINESE_ASKING)
# What has to be somebody's or something's.
_ATTRIBUTE = (
    r"(?:价格|价钱|售价|单价|费用|成本|保修(?:期限?)?|质保期?|重量|尺寸|大小|颜色|型号|电池(?:寿命)?|寿命|续航|精度|功率|容量|地址"
    r"|电话|邮箱|负责人|联系人|联系方式|作者|导演|主演|人口|面积|首都|功能|特点|优点|缺点|用途|原理|症状|病因|规格|参数|配件|说明书"
    r"|安装(?:方法|步骤)?|校准(?:方法|时间)?|保质期|有效期|产地|材质|性能|速度|温度范围|量程|年假|工资|押金|违约金)"
)
_ABOUT_ATTRIBUTE = re.compile(
    rf"^(?:它?的)?(?P<attribute>{_ATTRIBUTE})(?=是|有|为|多|要|在|能|可|呢|怎|如|[？?]|$)"
)
_ASKS_AT_ONCE = re.compile(
    r"^(?:要|需要|得)?(?:多少钱|多重|多大|多长时间|多久|多高|怎么(?:安装|使用|用|校准|买|办理|申请|联系)|在哪(?:里|儿)?(?:买|生产)?"
    r"|什么时候(?:上市|发布|开始|结束|成立)?|是谁(?:发明|创立|写|做)的?|有什么(?:用|功能|特点|优点|缺点)|什么颜色)(?:的|呢|啊)?$"
)
_ASKS_WHY = re.compile(r"^(?:这是|那是)?(?:为什么|为何|怎么会这样|原因呢?)(?:呢|啊|会这样)?$")
# Pointing words with the measure word or the noun that they may have.
_POINTING = re.compile(
    r"(?:[这那该此](?:款|台|种|项|部|件|家|位|本|只|支)?(?:产品|设备|仪器|探头|机器|公司|地方|东西|文件|规定|书|电影|歌|药|课程|项目|服务|活动|软件|人)"
    r"|[这那][款种项件台](?![^，。？?]{0,2}(?:人|时候)))"
)
_WHOSE = re.compile(r"^(?:它们?|[这那]个|该产品|这款产品)的")
_THERE = re.compile(r"(?<![一-鿿])(?:那里|那儿|那边)")
_ITS = re.compile(r"(?<![一-鿿])其(?![他它中实余次间])")
_LATIN = re.compile(r"[A-Za-z][A-Za-z0-9+#.&-]*(?:\s+[A-Z0-9][A-Za-z0-9+#.&-]*)*")
_QUOTED = re.compile(r"《[^》]{1,30}》|“[^”]{2,30}”|「[^」]{2,30}」")
# What there is for one thing or another; the word before it says for which: 住宿补贴, 差旅规定.
_FOR_SOMETHING = "(?:补贴|补助|津贴|费用|预算|标准|额度|限额|上限|政策|规定|制度|流程|手续|期限|押金|合同|保险|培训)"
_EACH = "每[日天晚月年周次人]"
_WHAT_FOR = re.compile(
    rf"(?:^|的|{_EACH})(?P<what>(?!{_EACH}|{_FOR_SOMETHING})(?:(?!的)[一-鿿]){{2,4}}?)(?={_FOR_SOMETHING})"
)
# 对吸烟有什么规定, 关于吸烟的规定.
_ABOUT = re.compile(r"(?:对于?|关于|有关)(?P<what>(?:(?![的有是])[一-鿿]){2,6})(?=有|的|是)")
# What a subject ends at.
_GOES_ON = r"(?=[是有在为要需能可应由怎如几多每最]|什么|$)"
# Of these a place can be the owner, a place of work included; of no warranty and no price.
_OF_PLACES = frozenset(
    [
        "人口",
        "面积",
        "首都",
        "大小",
        "特点",
        "地址",
        "电话",
        "邮箱",
        "负责人",
        "联系人",
        "联系方式",
        "年假",
        "工资",
    ]
)
# Which other one, only the user knows.
_OTHER = re.compile(r"(?:另外?|其[他它余]|别|剩下)的?(?:那)?[一两几]?(?:个|种|款|台|项|家|些)?的?")
_DEFINITION = re.compile(
    r"^(?:什么(?:是|叫)|谁是|(?:请)?(?:介绍|解释|说明|讲)(?:一下)?|我想了解(?:一下)?)(?P<subject>[^，。？?]{2,16}?)(?:的?(?:情况|含义|意思))?$"
    r"|^(?P<subject2>[^，。？?]{2,16}?)(?:是什么|是谁|指什么|是啥)(?:意思|东西)?$"
)
_LEADING = re.compile(
    r"^(?P<subject>(?![我你您他她它这那该其])[^，。？?]{2,10}?)(?:的|是|有(?!限)|在|需要|要|会|能|可以|应该|什么|怎么|如何|为什么|哪|多少|多[久长大高重])"
)
_LONGEST_FRAGMENT, _LONGEST_REPLY = 12, 14


def fill(question: str, said: Sequence[Exchange]) -> Filled | None:
    """``question`` completed from what was said; None where it says all, or nothing fits."""
    text, last = question.strip(), said[-1]
    if correction := _CORRECTION.match(text):
        text = correction["rest"].strip()
        if not _ASKING.search(text):
            return _joined(text, last)
    rest = text[_LEAD.match(text).end() :].strip(_END)  # type: ignore[union-attr]
    if rest.endswith("呢") and not _ASKING.search(rest) and len(rest) <= _LONGEST_FRAGMENT:
        return _in_its_place(rest.removesuffix("呢").removesuffix("的"), last)
    if _ASKS_WHY.match(rest):
        shown = last.question.strip(_END)
        return Filled(f"{shown}，{rest}？", (told(rest, shown, last.turn),))
    if _is_reply(text, last):
        # "Not sure" adds nothing to what was asked.
        return _joined(text if meant(text, ()) else "", last)
    pointed = _with_referents(text, last)
    return pointed or _with_subject(rest, text, last)


def _is_reply(text: str, last: Exchange) -> bool:
    """Whether the user answers what was asked back."""
    asked_back = last.answer.rstrip("”」\"' ").endswith(("？", "?"))
    return (
        asked_back and len(text) <= _LONGEST_REPLY and not _ASKING.search(text) and "呢" not in text
    )


def _joined(rest: str, last: Exchange) -> Filled:
    shown = last.question.strip(_END)
    return Filled(f"{shown} {rest.strip(_END)}".rstrip() + "？", (told(rest, shown, last.turn),))


def _in_its_place(thing: str, last: Exchange) -> Filled | None:
    """The last question with ``thing`` in the place of what is of its kind, or as its attribute."""
    whose = _WHOSE.match(thing)
    thing = thing[whose.end() :] if whose else thing
    if not thing or _OTHER.fullmatch(thing):
        return None
    if last.thing and (whose or (re.fullmatch(_ATTRIBUTE, thing) and _owns(last.thing, thing))):
        name = re.sub(rf"的{_ATTRIBUTE}$", "", _bare(last.thing.name))
        # Asked as the last attribute was: 面积是多少 makes 人口是多少 of 人口呢.
        asked = re.search(
            rf"的{_ATTRIBUTE}(?P<asked>(?:是|有|为)?(?:{_ASKING.pattern}).*)$",
            last.question.strip(_END),
        )
        asking = asked["asked"] if asked else "是什么"
        return Filled(
            f"{name}的{thing}{asking}？", (told(thing, f"{name}的{thing}", last.thing.turn),)
        )
    old = _of_its_kind(thing, last)
    if old is None or old == thing:
        return _joined(thing, last)
    return Filled(
        last.question.replace(old, thing, 1),
        (f"the question, {thing!r} for {old!r} (turn {last.turn})",),
    )


def _of_its_kind(thing: str, last: Exchange) -> str | None:
    """What in the last question ``thing`` can stand for: a place for a place, a name for a name."""
    for kind in (place_pattern(), _LATIN, _QUOTED):
        if kind.fullmatch(thing):
            found = list(dict.fromkeys(kind.findall(last.question)))
            if len(found) == 1:
                return str(found[0])
    if plain := None if _LATIN.search(thing) else _plain(thing, last.question):
        return plain
    if last.thing is None or last.thing.name not in last.question:
        return None
    owner, _, owned = last.thing.name.partition("的")
    if not owned:
        behind = re.search(rf"{re.escape(owner)}的([一-鿿]{{2,6}}?){_GOES_ON}", last.question)
        owned = behind[1] if behind and place_pattern().fullmatch(owner) else ""
    # 住宿呢 after 上海的餐补是多少: no place stands for it.
    return owned if owned and place_pattern().fullmatch(owner) else owner


def _plain(thing: str, question: str) -> str | None:
    """The word of ``question`` that another plain word can stand for: one that ends alike, or what something is for."""
    text = question.strip(_END)
    # 餐费呢 after 出差的住宿费最多多少: words of one kind end alike.
    whole = re.findall(rf"(?:^|的)([一-鿿]{{1,2}}{thing[-1]}){_GOES_ON}", text)
    if len(whole) == 1:
        return str(whole[0])
    alike = re.findall(rf"[一-鿿]{{{len(thing) - 1}}}{thing[-1]}", text)
    if len(thing) in (2, 3) and len(alike) == 1 and not _ASKING.search(alike[0]):
        return str(alike[0])
    for pattern in (_WHAT_FOR, _ABOUT):
        found = [match["what"] for match in pattern.finditer(text)]
        if len(found) == 1:
            return found[0]
    return None


# ------------------------------------------------------------------------- pointing and omitting


def _with_referents(question: str, last: Exchange) -> Filled | None:
    """The question with a name for its first word that points at one."""
    matches = [p.search(question) for p in (_POINTING, _THERE, _ITS, CHINESE_REFERENCE)]
    found = min(
        (m for m in matches if m), key=lambda match: (match.start(), -match.end()), default=None
    )
    if found is None or _own_names(question[: found.start()]):
        return None
    person = found.group() in ("他", "她")
    topic = (last.person or last.thing) if person else last.thing
    if topic is None:
        return None
    name = f"{_bare(topic.name)}的" if found.group() == "其" else _bare(topic.name)
    text = question[: found.start()] + name + question[found.end() :]
    supplied = (told(found.group(), topic.name, topic.turn),)
    return Filled(text, supplied, topic if person else None, None if person else topic)


def _bare(name: str) -> str:
    """A name from an English question without its article."""
    return re.sub(r"^(?:the|an?|our|my|your)\s+", "", name, flags=re.IGNORECASE)


def _with_subject(rest: str, question: str, last: Exchange) -> Filled | None:
    """The question with the subject that it leaves out, if it asks for what is somebody's."""
    if last.thing is None or _own_names(question):
        return None
    attribute = _ABOUT_ATTRIBUTE.match(rest)
    if attribute is None and not _ASKS_AT_ONCE.match(rest):
        return None
    if not _owns(last.thing, attribute["attribute"] if attribute else ""):
        return None
    name = _bare(last.thing.name)
    if attribute is not None:
        text = f"{name}的{rest[attribute.start('attribute') :]}？"
        return Filled(
            text,
            (told(attribute["attribute"], f"{name}的{attribute['attribute']}", last.thing.turn),),
            thing=last.thing,
        )
    return Filled(
        f"{name}{rest}？", (told(rest, f"{name}{rest}", last.thing.turn),), thing=last.thing
    )


def _owns(thing: Topic, attribute: str) -> bool:
    """Whether ``attribute`` can be that of ``thing``: a place has few."""
    return attribute in _OF_PLACES or not place_pattern().fullmatch(thing.name)


# -------------------------------------------------------------------------------------- topics


def exchange(turn: int, filled: Filled, said: Sequence[Exchange]) -> Exchange:
    """The exchange that begins with a completed question, and what 它 and 他 mean after it."""
    before = said[-1] if said else Exchange(0, "")
    thing, person = filled.thing, filled.person
    if thing is None and person is None:
        subject = _subject(filled.text)
        thing = Topic(subject, turn) if subject else None
    return Exchange(turn, filled.text, "", person or before.person, thing or before.thing)


def _subject(question: str) -> str | None:
    """What a question is about: what it names, defines, or begins with."""
    named = _own_names(question)
    if len(named) == 1:
        return named[0]
    text = question[_LEAD.match(question).end() :].strip(_END)  # type: ignore[union-attr]
    definition = _DEFINITION.match(text)
    if definition:
        return definition["subject"] or definition["subject2"]
    leading = _LEADING.match(text)
    return leading["subject"] if leading and not _ASKING.search(leading["subject"]) else None


def _own_names(text: str) -> list[str]:
    """Latin and quoted names, places, and what has the kind of a name at its end; each once."""
    unquoted = _LATIN.findall(_QUOTED.sub(" ", text))
    found = [*_QUOTED.findall(text), *unquoted, *place_pattern().findall(text)]
    inner = {name.strip("《》“”「」") for name in found}
    found += [
        name
        for name in names_in_sentence(text)
        # 人口 ends like a place (渡口), and is what is asked of one.
        if not any(name in one or one in name for one in inner)
        and not re.fullmatch(_ATTRIBUTE, name)
    ]
    return list(dict.fromkeys(found))
