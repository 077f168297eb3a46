"""The small words that a question may open with, which say nothing of what is asked; pure.

"Actually, what does E3 mean?" asks what "What does E3 mean?" asks. Searched and graded with it, "actually" is a
word that no document has, and a short question is then refused for it.
"""

from __future__ import annotations

import re

from anabranch.grammar import ASKING, AUXILIARY

# These open a sentence whatever follows the comma.
_PLAIN = (
    r"(?:actually|so|also|ok(?:ay)?|alright|all\s+right|anyway|anyhow|h+m+|u+[hm]+|oh|ah|btw|by\s+the\s+way|never\s*mind"
    r"|another\s+(?:question|thing)|one\s+more\s+(?:question|thing)|good\s+(?:morning|afternoon|evening)|h(?:i|ello|ey)(?:\s+there)?"
    r"|thanks|thank\s+you|got\s+it|i\s+see)"
)
# These are nouns and adjectives as well ("well water", "right of way"), or join what follows.
_DOUBTFUL = r"(?:well|right|now|then|and|but|fine|great|good|cool|perfect|look|listen|sorry)"
_MARK = r"[\s]*[,;:.!…–—-]+\s*"
_ASKS = rf"(?:{ASKING}|what['’]s|who['’]s|how['’]s|where['’]s|(?:please\s+)?(?:tell|show|give|list|explain|describe|compare|find))\b"
_MOST_ROUNDS = 4
_ENGLISH = re.compile(
    rf"\W*(?:(?:{_PLAIN}|{_DOUBTFUL})(?:{_MARK}|\s+)(?=\S))*?"
    rf"(?:{_PLAIN}{_MARK}(?=\w)|{_PLAIN}\s+(?={_ASKS}|{AUXILIARY}\b)"
    rf"|{_DOUBTFUL}{_MARK}(?={_ASKS}|{AUXILIARY}\b)|{_DOUBTFUL}\s+(?={_ASKS}))",
    re.IGNORECASE,
)
_CHINESE_PLAIN = "(?:好的?|好吧|行|嗯+|哦+|噢|啊|对了|對了|其实|其實|不过|不過|那么?|那麼|另外|还有|還有|顺便(?:问(?:一下|下)?)?|順便(?:問(?:一下|下)?)?|算了|没事|沒事|谢谢|謝謝|你好|您好)"
_CHINESE = re.compile(
    rf"(?:{_CHINESE_PLAIN}[\s，,、。.！!；;：:…]+)*"
    # Without a mark, where it can be no part of a word: 不过敏, 其实验 and 那不勒斯 are.
    r"(?:(?:其实|其實|不过|不過|那么?|那麼|好的|另外|顺便问一?下|順便問一?下)(?=请问|請問|想问|想問|[A-Za-z0-9]|为什么|為什麼|怎么|怎麼|如何|什么|什麼|谁|誰)"
    r"|(?:顺便问一?下|順便問一?下)(?=\S))?"
)


def without_opening(question: str) -> str:
    """``question`` without what it opens with before it asks; as it is where nothing else is left."""
    start = 0
    # "OK, and so what …": each round takes what stands before the next mark or the asking word.
    for _ in range(_MOST_ROUNDS):
        rest = question[start:]
        found = _ENGLISH.match(rest) or _CHINESE.match(rest)
        if found is None or not found.end():
            break
        start += found.end()
    rest = question[start:]
    if not start or not any(map(str.isalnum, rest)):
        return question
    small = re.match(r"[a-z]+\b", rest)  # "iPhone" keeps its form.
    return rest[:1].upper() + rest[1:] if small and question[:1].isupper() else rest
