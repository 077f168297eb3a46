"""Greetings, thanks and goodbyes, which are answered without a search; pure.

Only what is nothing but small talk counts: a question behind a greeting is a question.
"""

from __future__ import annotations

import re
from typing import Final

from anabranch.grammar import CHINESE_ASKING
from anabranch.language import fold, has_cjk

_GREETINGS = (
    "hi", "hello", "hey", "hello there", "hi there", "hey there", "good morning",
    "good afternoon", "good evening", "greetings", "how are you", "你好", "您好", "你们好", "嗨", "哈喽",
    "早", "早上好", "下午好", "晚上好", "你好吗", "在吗",
)  # fmt: skip
_THANKS = (
    "thanks", "thank you", "thank you very much", "thanks a lot", "many thanks", "thx", "cheers",
    "great thanks", "ok thanks", "okay thanks", "perfect thanks", "谢谢", "谢谢你", "谢谢您", "多谢", "非常感谢",
    "感谢", "好的谢谢", "谢了", "太感谢了",
)  # fmt: skip
_GOODBYES = (
    "bye", "goodbye", "good bye", "bye bye", "see you", "good night", "再见", "拜拜", "回见", "晚安",
)  # fmt: skip
_REPLIES: Final = (
    (_GREETINGS, "Hello! Ask me anything about the documents.", "你好！有关文档的问题都可以问我。"),
    (_THANKS, "You're welcome.", "不客气。"),
    (_GOODBYES, "Goodbye.", "再见。"),
)
_REPLY = {
    phrase: (chinese if has_cjk(phrase) else english)
    for phrases, english, chinese in _REPLIES
    for phrase in phrases
}
_ASKS = re.compile(
    r"[?？]|^(?:who|whose|what|when|where|which|why|how|can|could|may|do|does|did|is|are|was|were|"
    r"tell|show|list|compare|explain|describe|find|give|summari[sz]e)\b"
    rf"|{CHINESE_ASKING}|呢|请问|介绍|比较|列出|说明"
)
_NO_WORDS = re.compile(r"[^\w\s]+|_")


def reply_to(text: str) -> str | None:
    """The reply to ``text`` in its language, where it is nothing but small talk."""
    bare = " ".join(_NO_WORDS.sub(" ", fold(text)).split())
    return _REPLY.get(bare) or _REPLY.get(bare.replace(" ", ""))


def asks(text: str) -> bool:
    """Whether ``text`` plainly asks for something: then nobody has to decide that it is searched."""
    return bool(_ASKS.search(fold(text).strip()))
