"""Parts of a complex Chinese question that stand alone; pure."""

from __future__ import annotations

import re

_AND = "(?:以及|还有|還有|、|和|与|與|跟|及)"
_ITEM = "[^，。、？?和与與跟及的]{1,16}?"
_LIST = f"{_ITEM}(?:{_AND}{_ITEM})+"
_EACH = "(?:分别|分別|各自|各|都|依次|又)"
_ASKING = "(?:什么|什麼|为什么|為什麼|为何|怎么|怎麼|怎样|怎樣|如何|哪|谁|誰|多少|几|幾|何|多久|多大|多长|多高|吗|嗎)"
_DIFFERENCE = (
    "(?:有|的)?(?:什么|什麼|何|哪些|啥)?(?:的)?(?:主要)?(?:区别|區別|差异|差異|差别|差別|不同|异同|異同|共同点|共同點)"
    "(?:之处|之處|点|點)?(?:是什么|是什麼|在哪里|在哪裡|有哪些|吗|呢)?"
)
_OPENING = re.compile(
    "^(?:请问|請問|请|請|告诉我|介绍一下|说说|我想知道|帮我|比较一下|比較一下|对比一下|对比|對比|比较|比較)+"
)

_COMPARED = re.compile(
    f"^(?P<items>{_LIST})(?:之间|之間|相比)?(?:的(?P<what>[^，。？?]{{1,14}}?)|在(?P<what2>[^，。？?]{{1,14}}?)"
    f"(?:上|方面|中|里)?)?(?:，)?{_DIFFERENCE}$"
)
_RATHER = re.compile(
    f"^(?P<items>{_LIST})(?:相比)?[，,]?(?:哪一?[个個家种種款座位]|谁|誰|哪边|孰)(?:的(?P<what>[^，。？?]{{1,10}}?))?"
    "(?:更|比较|比較|较|較)(?P<adjective>[^，。？?]{1,6})$"
)
# The list ends at 的, or at a word that spreads the question, or at the question itself: nothing
# else shows where the last name stops.
_SAME_OF_EACH = re.compile(
    f"^(?P<items>{_LIST})(?P<what>的[^，。？?]{{1,14}}?|(?={_EACH}|(?:是|有|在|位于){_ASKING}))"
    f"{_EACH}?(?P<asked>(?:是|有|为|為|在|需要|要|于|於|位于|享有|提供)?{_ASKING}.*)$"
)
_ATTRIBUTES = re.compile(
    f"^(?P<subject>[^，。？?、]{{1,20}}?)的(?P<items>{_LIST}){_EACH}?(?P<asked>(?:是|有|为|為|在)?{_ASKING}.*)$"
)
_COMPARE_ONLY = re.compile(f"^(?P<items>{_LIST})的(?P<what>[^，。？?]{{1,14}})$")


def chinese_parts(question: str) -> list[tuple[str, str]]:
    """Pairs (question that stands alone, why), in the order of the question."""
    text = _OPENING.sub("", question.strip(" ？?。"))
    several = _several_questions(text)
    if several:
        return several
    if match := _RATHER.match(text):
        what = f"的{match['what']}" if match["what"] else ""
        degree = "少" if match["adjective"] in ("多", "少") else match["adjective"]
        return [
            (f"{item}{what}有多{degree}？", "one side of the comparison")
            for item in _items(match["items"])
        ]
    if match := _COMPARED.match(text):
        what = match["what"] or match["what2"]
        asked = f"的{what}是什么？" if what else "是什么？"
        return [(f"{item}{asked}", "one side of the comparison") for item in _items(match["items"])]
    if text != question.strip(" ？?。") and (match := _COMPARE_ONLY.match(text)):
        return [
            (f"{item}的{match['what']}是什么？", "one side of the comparison")
            for item in _items(match["items"])
        ]
    if match := _SAME_OF_EACH.match(text):
        tail = f"{match['what']}{_one(match['asked'])}？"
        return [(f"{item}{tail}", f"asks about {item}") for item in _items(match["items"])]
    if match := _ATTRIBUTES.match(text):
        subject = match["subject"]
        return [
            (f"{subject}的{item}{_one(match['asked'])}？", f"asks about {item}")
            for item in _items(match["items"])
        ]
    return []


def _items(text: str) -> list[str]:
    return [item.strip() for item in re.split(_AND, text) if item.strip()]


def _one(asked: str) -> str:
    """The asking part without the words that spread it over several things."""
    return re.sub(f"^{_EACH}", "", asked)


def _several_questions(text: str) -> list[tuple[str, str]]:
    pieces = [
        piece
        for piece in re.split("[？?；;，,]|(?:以及|并且|並且)(?=[^、]*?" + _ASKING + ")", text)
        if piece.strip()
    ]
    if len(pieces) < 2 or not all(re.search(_ASKING, piece) for piece in pieces):
        return []
    topic = _topic(pieces[0])
    built = [pieces[0].strip()]
    for piece in pieces[1:]:
        piece = re.sub("^(?:又|还|還|并|並|同时|同時|那么|那|和|而且|请问)+", "", piece.strip())
        pronoun = re.match("(?:它们?|他们?|她们?|其|这|這|该|該)的?", piece)
        if pronoun and topic:
            joint = "的" if pronoun.group().endswith("的") or pronoun.group() == "其" else ""
            piece = f"{topic}{joint}{piece[pronoun.end() :]}"
        elif re.match(f"(?:有|是|在|应该|應該|需要|要|该|可以|能|会|會|于)?(?:{_ASKING})", piece):
            if topic is None:
                return []
            piece = f"{topic}{piece}"
        built.append(piece)
    return [(f"{piece}？", "one of several questions") for piece in built]


def _topic(piece: str) -> str | None:
    """What the first question is about: what stands before its asking words, or after 为什么."""
    before = re.match(
        f"(?P<topic>.{{2,16}}?)(?:是|有|为|為|在|会|應該|应该|可以|需要|要)?(?:{_ASKING})", piece
    )
    if before:
        return before["topic"].removesuffix("的")
    after = re.match("(?:为什么|為什麼|为何|如何|怎么|怎样)(?P<topic>.{2,16})$", piece)
    return after["topic"] if after else None
