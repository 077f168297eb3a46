"""Parts of a complex Chinese question that stand alone; pure.

As in English, only what comes out clean is given: a part asks, begins with what it asks about, and leaves nothing
of the list or the comparison that it was taken from.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from anabranch.grammar import CHINESE_ASKING
from anabranch.reasoning.chinese_complexity import TITLE, WORDS_WITH_AND
from anabranch.reasoning.chinese_nested import chinese_nested

Parts = list[tuple[str, str]]

_AND = "(?:以及|还有|還有|、|和|与|與|跟|及)"
_ITEM = "[^，。、？?；和与與跟及]{1,16}?"
_LIST = f"{_ITEM}(?:{_AND}{_ITEM})+"
_EACH = "(?:分别|分別|各自|各|都|依次|又)"
_DIFFERENCE = (
    "(?:差在哪[里儿裡]?|(?:有|的)?(?:什么|什麼|何|哪些|啥)?(?:的)?(?:主要|根本|最大|本质|本質)?(?:区别|區別|差异|差異|差别|差別|不同|异同|異同|共同点|共同點|"
    "不一样|不一樣|出入|分歧)(?:之处|之處|点|點|的地方)?(?:是什么|是什麼|在哪里|在哪裡|在哪儿|有哪些|吗|嗎|呢)?)"
)
_OPENING = re.compile(
    "^(?:请问|請問|请|請|告诉我|告訴我|介绍一下|介紹一下|说说|說說|我想知道|帮我|幫我|列出|列举|列舉|说明|說明|介绍|介紹|概述|分析|"
    "比较一下|比較一下|对比一下|對比一下|对比|對比|比较|比較)+"
)
_SIDE = "one side of the comparison"
_IN_A_ROW = "one of several questions"
_SOURCE = "what one source says"

# What no part may begin with or hold: it refers outside, or belongs to the list or comparison as a whole.
_REFERS = re.compile(
    "^(?:之间|之間|后来|後來|其中|其|他|她|它|该|該|这|這|那|双方|雙方|最终|最終|最后|最後|又|还|還|也|都|再|的|和|与|與|对|對|而|但|却|卻)|"
    "之间|之間|分别|分別|各自|相比|其他|其它|另一|相差|差距|差异|差異|区别|區別|不同|共同点|共同點|出入|分歧|两者|兩者|双方|雙方|矛盾|"
    "[两兩]个是|(?:在|于|於|从|從|下|时|時|后|後|如何|何时|何時)？$|他的|她的|它的|同一"
)


def chinese_parts(question: str) -> Parts:
    """Pairs (question that stands alone, why), in the order of the question; none that is not clean."""
    guarded, words = _guard(question.strip(" ？?。"))
    text = _OPENING.sub("", guarded)
    for way in _WAYS:
        found = [(_restore(part, words), why) for part, why in way(text)]
        if len(found) >= 2 and all(_stands(part) for part, _ in found):
            return found
    return []


def _guard(text: str) -> tuple[str, list[str]]:
    """Titles and words with an "and" inside as one sign each, and what the signs stand for."""
    words: list[str] = []

    def put_aside(match: re.Match[str]) -> str:
        words.append(match[0])
        return chr(0xE000 + len(words) - 1) if len(words) <= 0x1000 else match[0]

    return WORDS_WITH_AND.sub(put_aside, TITLE.sub(put_aside, text)), words


def _restore(text: str, words: list[str]) -> str:
    return re.sub("[\ue000-\uefff]", lambda sign: _word(sign[0], words), text)


def _word(sign: str, words: list[str]) -> str:
    place = ord(sign) - 0xE000
    return _restore(words[place], words) if place < len(words) else sign


def _stands(part: str) -> bool:
    asks = re.search(f"{CHINESE_ASKING}|有多[^？]{{1,3}}？$", part) is not None
    whole = all(
        part.count(left) == part.count(right) for left, right in ("《》", "「」", "“”", "（）")
    )
    return asks and whole and len(part) >= 5 and not _REFERS.search(part)


# ----------------------------------------------------------------------------------- lists

# Nouns have none of these: an item with one of them is a clause, and where it ends cannot be told.
_CLAUSE = re.compile(
    "[被将將把是会會能让讓使]|有些|认为|認為|越来越|越來越|直接|没有|沒有|需要|提出|获得|獲得|可以|应该|應該|所[^有在]|流经|流經|成为|成為|相较|相較|"
    "诸如|諸如|他|她|它|时$|時$|如何|怎么|怎麼|的$"
)


# A joint name ends in what kind of body it is.
_BODY = "(?:联盟|聯盟|公司|部|局|委员会|委員會|大学|大學|学院|學院|协会|協會|组织|組織|集团|集團|基金会|基金會|研究所)$"


def _items(text: str) -> list[str]:
    """The members of a list, each with what only the first says for all; none if one is no noun."""
    found = [item.strip() for item in re.split(_AND, text) if item.strip()]
    found = [
        re.sub(
            "(?:这|這)?[两兩三四五几幾](?:个|個|款|种|種|家|地|国|國|省|市|者|座|大)[^，。]{0,3}$",
            "",
            item,
        )
        for item in found
    ]
    if not 2 <= len(found) <= 6 or any(
        re.fullmatch("[\u4e00-\u9fff]?", item) or _CLAUSE.search(item) for item in found
    ):
        return []
    if re.search("[与與及]", text) and re.search(_BODY, found[-1]):
        return []  # "环境与自然保护联盟" is one name.
    return [found[0], *(_shared_front(found[0], item) + item for item in found[1:])]


_TIME = re.compile(
    "^(?:在)?(?:\\d{2,4}年(?:\\d{1,2}月)?|第[一二三四]季度|今年|去年|前年|明年|上半年|下半年|[^，]{2,6}(?:里|中|内|內|期间|期間|方面))"
)


def _shared_front(first: str, other: str) -> str:
    """What the first item has in front of what the other one matches: "入职" of 入职满一年 / 满三年."""
    time = _TIME.match(first)
    if time and not _TIME.match(other) and len(time[0]) < len(first):
        return time[0]
    front = first[: -len(other)]
    aligned = first[len(front) :]
    alike = aligned[:1] == other[:1] or (len(other) == 2 and aligned[-1:] == other[-1:])
    if len(front) >= 2 and "的" not in front and alike:
        return front
    return ""


def _one(asked: str) -> str:
    """The asking part without the words that spread it over several things."""
    return re.sub(f"^{_EACH}", "", asked)


# ------------------------------------------------------------------------------ comparisons

_COMPARED = re.compile(
    f"^(?P<items>{_LIST})(?:之间|之間|相比)?(?:的(?P<what>[^，。？?]{{1,14}}?)|在(?P<what2>[^，。？?]{{1,14}}?)"
    f"(?:上|方面|中|里)?)?(?:，|上|方面)?(?:的)?{_DIFFERENCE}$"
)
_COMPARE_ONLY = re.compile(
    f"^(?P<items>{_LIST})的(?P<what>[^，。？?]{{1,14}}?)(?:的)?(?:对比|對比|比较|比較)?$"
)
_WHICH = "(?:哪一?[个個家种種款座位本部所边邊]?|谁|誰|孰)"
# What is compared, by the adjectives that compare it: as a noun where data sheets have one, else by its degree.
_NOUNS = {"重轻輕": "重量", "贵貴便宜": "价格", "快慢": "速度", "宽窄寬": "宽度", "深浅淺": "深度"}
_DEGREES = {"高矮低": "高", "长短長": "长", "大小": "大", "远近遠": "远", "久": "久", "厚薄": "厚"}
_ADJECTIVE = "(?:便宜|[重轻輕贵貴快慢宽窄寬深浅淺高矮低长短長大小远近遠久厚薄])"
_COMPARING = "(?:更加?|比较|比較|较|較|相对|相對)?"
_RATHER = re.compile(
    f"^(?P<items>{_LIST})(?:相比|比起来|比起來|比较起来|比)?[，,]?{_WHICH}(?:的(?P<what>[^，。？?]{{1,10}}?)|(?P<what2>[^，。？?更较較的]{{2,6}}?))?"
    f"(?:{_COMPARING}(?P<adjective>{_ADJECTIVE})(?:一点|一點|一些|些)?|(?:更|比较|比較|较|較)(?P<adjective2>[^，。？?]{{1,6}}))$"
)
# "更重的是Dipper还是Plover", "Dipper重还是Plover重", "Dipper还是Plover更重", "哪个更重，Dipper还是Plover".
_OR = "(?:还是|還是|或者?)"
_EITHER = re.compile(
    f"^(?:{_WHICH}?(?P<what>[^，。？?更较較]{{2,6}}?)?{_COMPARING}(?P<before>{_ADJECTIVE})(?:的)?(?:一点|一些|些)?[是，,：:]+)?(?:是)?(?P<first>[^，。？?是]{{1,12}}?)"
    f"(?P<middle>{_COMPARING}{_ADJECTIVE})?[，,]?{_OR}(?P<second>[^，。？?]{{1,12}}?)(?P<after>(?:的(?P<what2>[^，。？?更较較的]{{2,5}}))?{_COMPARING}{_ADJECTIVE})?$"
)
# "Dipper比Plover贵吗", "Dipper比Plover贵多少", "Dipper是不是比Plover重".
_THAN = re.compile(
    f"^(?P<first>[^，。？?比是]{{1,12}}?)(?:的(?P<what>[^，。？?的比]{{2,8}}?))?(?:是不是|是否)?(?:要)?比(?P<second>[^，。？?]{{1,12}}?)(?:的(?P=what))?"
    f"(?:要|更|还|還)?(?P<adjective>{_ADJECTIVE})(?:吗|嗎|多少|一些|一点|些|得多)*$"
)
_SOONER = re.compile(
    f"^(?P<items>{_LIST})[，,]?{_WHICH}(?:(?P<kind>[^，。？?先最首更较較早晚]{{2,5}})?(?:先|最先|首先|更早|较早|較早|更晚|最早|早|晚)(?P<event>[^，。？?]{{2,14}})"
    "|(?P<event2>[^，。？?更较較早晚]{2,6}?)(?:更|较|較|比较|比較|得更?)?[早晚]些?)$"
)
_MORE_OF = re.compile(
    f"^(?P<items>{_LIST})[，,]?{_WHICH}(?P<what>[^，。？?]{{2,10}}?)(?:更|比较|比較)?(?P<amount>[多少])$"
)


def _degree(item: str, what: str | None, adjective: str) -> str:
    """What "item更adjective" compares, asked of one thing: its weight, how long its warranty is."""
    if what:
        item = f"{item}的{what}"
    else:
        noun = next((noun for known, noun in _NOUNS.items() if adjective in known), None)
        if noun:
            return f"{item}的{noun}是多少？"
    degree = next((much for known, much in _DEGREES.items() if adjective in known), None)
    degree = degree or ("少" if adjective in ("多", "少") else adjective)
    return f"{item}有多{degree}？"


# "甲的保修期和乙相比": of the second only its name is said.
_AGAINST = re.compile(
    "^(?P<first>[^，。？?的]{1,16}?)的(?P<what>[^，。？?的]{1,10}?)(?:和|与|與|跟|同)(?P<second>[^，。？?的]{1,16}?)"
    "(?:的(?P=what))?(?:相比较?|相比較|比起来|比起來|比较起来)[，,]?(?:[^，。？?]{0,10})$"
)


# "HK-20的保修期和HK-40": of two names in Latin letters the second is no quality.
_OF_THE_FIRST = re.compile(r"^(?P<first>[\w -]+)的(?P<what>[^的、]{2,8})(?:、[\w -]+)+$", re.ASCII)


def _either(text: str) -> Parts:
    """What "A比B贵吗" and "更重的是A还是B" ask of each."""
    if match := _THAN.match(text):
        sides, adjective = (match["first"], match["second"]), match["adjective"]
    elif match := _EITHER.match(text):
        compared = match["before"] or match["after"] or match["middle"]
        if compared is None:
            return []
        sides, adjective = (match["first"], match["second"]), re.findall(_ADJECTIVE, compared)[-1]
    else:
        return []
    what = match["what"] or match.groupdict().get("what2")
    items = _items("、".join(sides))
    return [(_degree(item, what, adjective), _SIDE) for item in items]


def _comparison(text: str) -> Parts:
    if match := _AGAINST.match(text):
        items = _items(f"{match['first']}和{match['second']}")
        return [(f"{item}的{match['what']}是什么？", _SIDE) for item in items]
    if match := _SOONER.match(text):
        kind, event = match["kind"] or "", match["event"] or match["event2"]
        return [(f"{item}{kind}是什么时候{event}的？", _SIDE) for item in _items(match["items"])]
    if match := _RATHER.match(text):
        what, adjective = match["what"] or match["what2"], match["adjective"] or match["adjective2"]
        items = _items(match["items"])
        if items and not what and (shared := re.fullmatch("([^的]+)的([^的]{2,8})", items[-1])):
            what, items = shared[2], [*items[:-1], shared[1]]  # "华东和华南的退货率"
        return [(_degree(item, what, adjective), _SIDE) for item in items]
    if found := _either(text):
        return found
    if match := _MORE_OF.match(text):
        return [(f"{item}{match['what']}有多少？", _SIDE) for item in _items(match["items"])]
    if match := _COMPARED.match(text):
        what = re.sub("上$|方面$", "", match["what"] or match["what2"] or "")
        items = _items(match["items"])
        if items and not what and (shared := _OF_THE_FIRST.match("、".join(items))):
            what, items = shared["what"], [shared["first"], *items[1:]]
        return [(f"{item}的{what}是什么？" if what else f"{item}是什么？", _SIDE) for item in items]
    if not re.search(CHINESE_ASKING, text) and (match := _COMPARE_ONLY.match(text)):
        return [(f"{item}的{match['what']}是什么？", _SIDE) for item in _items(match["items"])]
    return []


# ------------------------------------------------------------------------------ enumerations

# The list ends at 的, or at a word that spreads the question, or at the question itself: nothing
# else shows where the last name stops.
_SAME_OF_EACH = re.compile(
    f"^(?P<place>[^，。、？的]{{1,8}}?在)?(?P<items>{_LIST})(?P<what>的[^，。？?]{{1,14}}?|(?={_EACH}|(?:是|有|在|位于){CHINESE_ASKING}|几点|幾點|什么时候|什麼時候|何时|多少钱|多少錢))"
    f"{_EACH}?(?P<asked>(?:是|有|为|為|在|需要|要|于|於|位于|享有|提供|怎么|怎麼|如何)?{CHINESE_ASKING}.*|怎么[^，]*)$"
)
_ATTRIBUTES = re.compile(
    f"^(?P<subject>[^，。？?、和与與跟及]{{1,20}}?)的(?P<items>{_LIST}){_EACH}?(?P<asked>(?:是|有|为|為|在)?{CHINESE_ASKING}.*)$"
)
_ATTRIBUTES_ONLY = re.compile(
    f"^(?P<subject>[^，。？?、]{{2,16}}?)(?P<need>需要)?的(?P<items>{_LIST})$"
)


def _enumeration(text: str) -> Parts:
    if re.search("总和|總和|之间|之間|关系|關係|合作|总共|總共|一共|合并|合併|比分", text):
        return []  # What several have together is not asked of each.
    if (match := _ATTRIBUTES.match(text)) and "的" not in match["items"]:
        found = [re.sub("^其", "", item) for item in _items(match["items"])]
        return [
            (f"{match['subject']}的{item}{_one(match['asked'])}？", f"asks about {item}")
            for item in found
        ]
    if match := _SAME_OF_EACH.match(text):
        place = match["place"] or ""
        tail = f"{match['what']}{_one(match['asked'])}？"
        return [(f"{place}{item}{tail}", f"asks about {item}") for item in _items(match["items"])]
    if not re.search(CHINESE_ASKING, text) and (match := _ATTRIBUTES_ONLY.match(text)):
        found = [item for item in re.split(_AND, match["items"]) if item]
        return [(f"{match['subject']}的{item}是什么？", f"asks about {item}") for item in found]
    return []


# ----------------------------------------------------------------------- questions in a row

# A piece that begins with its verb or its asking word has left its subject in the first question.
_NEEDS_SUBJECT = re.compile(
    "(?:(?:不|没|沒)?(?:有|是|在|应该|應該|应|應|需要|要|该|該|可以|能|会|會|于|於|由|用|何时|何時))?"
    f"{CHINESE_ASKING}|(?:需要|应该|應該|可以|采取|採取|造成|导致|導致|带来|帶來|吃|流入|流向|改到|改在|产生|產生|发生|發生|持续|持續|影响|影響|"
    "对|對|给|給)"
)
_FOLLOWS = re.compile("造成|导致|導致|带来|帶來|采取|採取|吃|影响|影響|产生|產生")
# What has to be something's: a quality, a part, somebody's place. Without a word of whose, it is the first question's.
_OWNED = re.compile(
    "(?:保修期?|质保期?|售价|单价|价格|价钱|费用|重量|尺寸|高度|宽度|深度|长度|面积|体积|容量|功率|精度|速度|续航|寿命|型号|颜色|材质|材料|外壳|"
    "电池|屏幕|包装|配件|产地|厂家|制造商|供应商|交货期|有效期|负责人|联系人|作者|导演|主演|创始人|地址|电话|邮箱|人口|首都|面积|总部|注册资本)"
    f"(?:是|有|为|在|由|多[久长長高重大]|要|怎么|如何|{CHINESE_ASKING})"
)
_NAMED_FIRST = re.compile("[^，是有在]{2,3}(?:是|有|在)?(?:什么|什麼|多少|几|幾|哪|谁|誰)")


def _questions_in_a_row(text: str) -> Parts:
    pieces = [
        piece.strip()
        for piece in re.split(
            "[？?；;，,]|(?:以及|并且|並且)(?=[^、]*?" + CHINESE_ASKING + ")", text
        )
    ]
    pieces = [piece for piece in pieces if piece]
    if len(pieces) < 2 or not all(re.search(CHINESE_ASKING, piece) for piece in pieces):
        return []
    topic = _topic(pieces[0])
    built = [pieces[0]]
    for piece in pieces[1:]:
        resolved = _with_topic(piece, topic, pieces[0])
        if resolved is None:
            return []
        built.append(resolved)
    return [(f"{piece}？", _IN_A_ROW) for piece in built]


# "桥是谁设计的": he or she is who is asked for, and not what stands before.
_MADE_BY = re.compile("(?:由|被|是)(?:谁|誰|哪位)[^，？]+|^(?:谁|誰|哪位)(?![是叫])")


def _with_topic(piece: str, topic: str | None, first: str) -> str | None:
    """The piece with the subject that it leaves out; None if that cannot be told."""
    before = re.match(
        "(?P<event>[^，]{2,8}?)(?:之前|以前|前)(?P<subject>[^，]{1,8}?)(?:设|設|在|是|位于|放|用)",
        first,
    )
    after = re.match(
        "(?P<event>[^，]{2,8}?)(?:之后|以后|之後|以後|后|後)(?:又|则|則)?(?P<rest>.+)$", piece
    )
    if before and after and before["event"] == after["event"]:
        return f"{before['event']}之后{before['subject']}{after['rest']}"
    piece = re.sub(
        "^(?:又|还|還|并|並|同时|同時|那么|那麼|那|和|而且|而|请问|請問|后来|後來|最终|最終|最后|最後|随后|隨後)+",
        "",
        piece,
    )
    pronoun = re.match("(?:它们?|他们?|她们?|其(?!中)|这|這|该|該)的?", piece)
    if pronoun:
        if topic is None or (piece[0] in "他她" and _MADE_BY.search(first)):
            return None
        joint = "的" if pronoun.group().endswith("的") or pronoun.group() == "其" else ""
        return f"{topic}{joint}{piece[pronoun.end() :]}"
    if _NEEDS_SUBJECT.match(piece):
        if topic and _FOLLOWS.match(piece):
            topic = re.sub(
                "的[^的]{2,3}$", "", topic
            )  # "甲流的症状": what follows, follows from 甲流.
        return f"{topic}{piece}" if topic else None
    if _OWNED.match(piece) and topic and len(topic) <= 16 and not re.search("[有是吗的]", topic):
        return f"{topic}的{piece}"
    if (
        _NAMED_FIRST.match(piece) and len(piece) < 7
    ):  # "费用多少": of what, the first question says.
        return (
            f"{topic}的{piece}"
            if topic and len(topic) <= 8 and not re.search("[有是吗的]", topic)
            else None
        )
    return piece


def _topic(piece: str) -> str | None:
    """What the first question is about: what stands before its asking words, or after 为什么."""
    before = re.match(
        f"(?P<topic>[^？]{{2,16}}?)(?:是|有|为|為|在|会|會|應該|应该|可以|需要|要|里|的症状|的原因)?(?:{CHINESE_ASKING})",
        piece,
    )
    if before:
        return re.sub("(?:的|发源|發源|创作了?|產生|产生|发生|發生|设|設)$", "", before["topic"])
    after = re.match(
        "(?:为什么|為什麼|为何|為何|如何|怎么|怎麼|怎样)(?:要)?(?P<topic>.{2,16})$", piece
    )
    return after["topic"] if after else None


# -------------------------------------------------------------------- before/after, sources

_CHANGE = re.compile(
    "^(?P<event>[^，。？]{2,12}?)(?:前后|前後|之前和之后|之前与之后)[，]?(?P<what>[^，。？]{2,16}?)(?:有|发生|發生|产生|產生)?(?:了)?"
    "(?:何|什么|什麼|哪些|怎样的?|怎樣的?|多大|啥)?(?:的)?(?:变化|變化|不同|改变|改變|变了|變了)(?:吗|嗎)?$"
)
_BY_SOURCE = re.compile(
    "^(?:根据|根據|按照|依据|依據|依照|按)(?P<one>[\ue000-\uefff]|[^，。？]{2,10}?(?:法|规定|規定|手册|手冊|报告|報告|合同|数据|數據|说法|說法|统计|統計|条例|"
    "條例|标准|標準|协议|協議))[，]?(?P<topic>[^，。？]{2,10}?)(?P<asked>(?:是|应|應|要|该|該)?(?:怎么|怎麼|如何|多少|几|幾|什么|什麼)[^，。？]{0,6})[，；]"
    "(?:而|但|但是)(?:根据|根據|按照|按)?(?P<other>[^，。？]{2,12}?)[，]?(?:又|却|卻|则|則)?(?:是|要求)?(?P<said>(?:怎么|怎麼|如何|多少|几|幾|什么|什麼)[^，。？]*)$"
)


def _change(text: str) -> Parts:
    match = _CHANGE.match(text)
    if match is None:
        return []
    what = re.sub("(?:有|的)$", "", match["what"])
    return [
        (f"{match['event']}{side}{what}是怎样的？", f"asks about the time {side}")
        for side in ("之前", "之后")
    ]


def _by_source(text: str) -> Parts:
    match = _BY_SOURCE.match(text)
    if match is None:
        return []
    return [
        (f"按照{match['one']}，{match['topic']}{match['asked']}？", _SOURCE),
        (f"按照{match['other']}，{match['topic']}{match['asked']}？", _SOURCE),
    ]


_WAYS: tuple[Callable[[str], Parts], ...] = (
    _change, _by_source, _questions_in_a_row, _comparison, _enumeration, chinese_nested,
)  # fmt: skip
