"""What a Chinese question asks on the way to what it asks: the inner question first; pure."""

from __future__ import annotations

import re

from anabranch.written_forms import simplified

Parts = list[tuple[str, str]]
_AND = "(?:以及|还有|還有|、|和|与|與|跟|及)"
_INNER = "has to be known first"
_OUTER = "asks about what the first question finds"
_COUNTED = {
    "人": "哪个人", "者": "谁", "公司": "哪家公司", "企业": "哪家企业", "机构": "哪家机构", "作家": "哪位作家", "诗人": "哪位诗人", "画家": "哪位画家",
    "导演": "哪位导演", "演员": "哪位演员", "歌手": "哪位歌手", "科学家": "哪位科学家", "国家": "哪个国家", "城市": "哪座城市", "大学": "哪所大学",
    "球队": "哪支球队", "俱乐部": "哪家俱乐部", "电影": "哪部电影", "小说": "哪部小说", "同事": "哪位同事", "员工": "哪位员工", "总统": "哪位总统",
    "运动员": "哪位运动员", "球员": "哪位球员", "建筑师": "哪位建筑师", "部门": "哪个部门", "供应商": "哪家供应商", "产品": "哪款产品",
}  # fmt: skip
_NOUN = "(?:" + "|".join(sorted(_COUNTED, key=len, reverse=True)) + ")"
# (how the outer question ends, how it is asked of the description in other words)
_ENDINGS = (
    ("(?:是)?(?:出生|生)(?:于|在)(?:哪|什么地方)[^，]{0,4}", "的出生地是哪里"),
    ("(?:是)?(?:什么时候|何时|哪一?年)(?:出生|生)的?", "的出生日期是什么"),
    ("(?:是)?毕业于哪[所个]?(?:大学|学校|院校|里)?", "的母校是哪所学校"),
    ("(?:的)?总部(?:位于|在|设在)哪[^，]{0,4}", "的总部在什么地方"),
    ("是哪个?国(?:家的)?人?", "的国籍是什么"),
    ("(?:是)?来自哪个?国家", "的国籍是什么"),
    ("是哪个?朝代的人?", "生活在什么朝代"),
    ("是哪里人", "的家乡在哪里"),
    ("的首都(?:是|叫|在)(?:哪里|什么|哪座城市|哪)", "的首都是哪座城市"),
    ("(?:还)?(?:拍|写|演|导|唱|执导|创作)过(?:哪些|什么)(?:其他)?(?P<what>[^，？]{1,6})", "的{what}有哪些"),
    ("(?:还)?有(?:哪些|什么)(?:其他)?(?P<what>[^，？]{1,6})", "的{what}有哪些"),
)  # fmt: skip
_BY_CLAUSE = re.compile(
    f"^(?P<clause>[^，。？]{{3,24}})的(?:那|这)?(?:一)?(?:个|位|家|座|所|部)?(?P<noun>{_NOUN})$"
)
_BY_ROLE = re.compile(
    "^(?P<thing>[^，。？]{1,20}?)的?(?P<role>导演|作者|编剧|主演|创始人|创办人|发明者|发明人|设计者|母公司|董事长|总经理|法人代表|法定代表人|校长|"
    "项目负责人|负责人|主角)(?:的(?P<of>父亲|母亲|妻子|丈夫|儿子|女儿|老师|母校|家乡|出生地))?$"
)


def chinese_nested(text: str) -> Parts:
    """The inner question, then the outer one in other words."""
    plain = simplified(text)
    for ending, said in _ENDINGS:
        match = re.match(f"^(?P<one>.+?){ending}$", plain)
        if match is None:
            continue
        inner = _inner(match["one"])
        if inner:
            what = match.groupdict().get("what") or ""
            return [(f"{inner}？", _INNER), (f"{match['one']}{said.format(what=what)}？", _OUTER)]
    return []


def _inner(description: str) -> str | None:
    """Who or what the description stands for, as a question."""
    if clause := _BY_CLAUSE.match(description):
        if re.search(f"{_AND}|的", clause["clause"]) or not re.search(
            "[了过]|于|获得|发明|发现|写|创|设计|拥有|负责|管理|执导|导演|收购|生产|出土",
            clause["clause"],
        ):
            return None
        return f"{_COUNTED[clause['noun']]}{clause['clause']}"
    if role := _BY_ROLE.match(description):
        return (
            f"{role['thing']}的{role['role']}是{'哪家公司' if role['role'] == '母公司' else '谁'}"
        )
    return None
