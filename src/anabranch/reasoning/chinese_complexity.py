"""Whether a Chinese question is simple or complex, by the way it is built; pure."""

from __future__ import annotations

import re

_CHINESE_ASKING = "(?:什么|什麼|为什么|為什麼|为何|為何|怎么|怎麼|怎样|怎樣|如何|哪|谁|誰|多少|几|幾|何时|何時|何地|多久|多大|多长|多高|是否|吗|嗎)"
_CHINESE_ROLE = (
    "(?:导演|導演|作者|创始人|創始人|主演|演员|演員|歌手|原唱|作曲者|制片人|父亲|父親|母亲|母親|妻子|丈夫|儿子|兒子|女儿|女兒|"
    "老师|老師|总部|總部|首都|母公司|出版社|开发商|開發商|制造商|製造商|发明者|發明者|所在地|出生地|母校|继任者|繼任者|前任)"
)
_CHINESE_CUES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            "区别|區別|差异|差異|差别|差別|异同|異同|相比|对比|對比|优缺点|優缺點|利弊|优劣|優劣|孰|"
            "(?:哪[一]?[个個家种種款座位]?|谁|誰)(?:的[^，。？?]{1,8})?(?:更|比较|比較|较|較)|"
            "(?:有|有什么|有什麼|有何|有哪些|怎么|怎麼|如何)(?:什么|什麼|何|哪些)?(?:的)?不同|不同(?:之处|之處|点|點)|"
            "比较(?:一下)?.{1,20}[和与與跟]|比較(?:一下)?.{1,20}[和与與跟]|共同点|共同點|相同(?:之处|之處|点|點)|"
            "[^，。]{1,16}[和与與跟][^，。]{1,16}(?:一样|一樣|相同)|还是.*[更先早晚]|[更先早晚].*还是|[更先早晚].*還是"
        ),
        "compares",
    ),
    (
        re.compile(
            "分别(?!为政)|(?<!区)分別|各自|各(?:是|有|为|為|需|占|佔)(?:多|什|哪|几|幾|何|谁|要|怎)|依次"
        ),
        "asks the same of several things",
    ),
    (
        re.compile(
            f"[？?][^？?]*{_CHINESE_ASKING}|{_CHINESE_ASKING}[^，,；;？?]*(?:[，,；;]|以及|并且|並且|同时|同時)"
            f"(?:[^，,；;？?]*){_CHINESE_ASKING}"
        ),
        "asks several questions in one",
    ),
    (
        re.compile(
            "(?:原因|起因|成因|病因|症状|症狀|步骤|步驟|影响|影響|后果|後果|结果|結果)[、和与與及]+(?:以及)?[^，。？?]{0,6}"
            "(?:影响|影響|后果|後果|结果|結果|步骤|步驟|治疗|治療|解决|解決|措施|方法|过程|過程|意义|意義|原因|预防|預防)"
        ),
        "asks for causes and what follows from them",
    ),
    (
        re.compile(
            "[^，。、？?《》的]{1,12}、[^，。、？?《》的]{1,12}(?:、|和|与|與|以及|及)[^，。、？?《》]{1,14}(?:的|是|在|有|各|都)?[^，。]*"
            f"{_CHINESE_ASKING}|^[^，。、？?《》的是在]{{1,8}}(?:和|与|與|以及)[^，。、？?《》的是在]{{1,8}}的"
            f"(?!关系|關係|区|战|戰)[^，。？?的]{{1,10}}(?:是|有|为|為|都)?{_CHINESE_ASKING}|"
            f"的[^，。、？?《》的]{{1,8}}(?:、|和|与|與|以及|及)[^，。、？?《》的]{{1,8}}(?:是|有|各|都)(?:{_CHINESE_ASKING})"
        ),
        "enumerates several things",
    ),
    (
        re.compile(
            f"{_CHINESE_ROLE}的(?!是)[^，。？?]{{1,20}}{_CHINESE_ASKING}"
            f"|的{_CHINESE_ROLE}(?:毕业于|畢業於|出生于|出生在|还|還|曾)"
        ),
        "asks about something that is known only through another",
    ),
    (
        re.compile("(?:如果|假如|假设|假設|倘若)[^？?]{4,}(?:会|會|能|可以)"),
        "supposes something and asks what follows",
    ),
    (
        re.compile("(?:之前|以前)[和与與].*(?:之后|以后|之後|以後)|前后.{0,8}(?:变化|變化)"),
        "depends on another event",
    ),
    (
        re.compile(
            f"(?:每个|每個|每一|前[三四五六七八九十\\d]+(?:大|名|个|個|位)).*的.*{_CHINESE_ASKING}"
        ),
        "asks the same of several things",
    ),
)


def chinese_reason(text: str) -> str | None:
    for pattern, reason in _CHINESE_CUES:
        if pattern.search(text):
            return reason
    return None
