"""Words that are English by themselves, whatever the documents have; pure.

A word that no document has may be misspelt, or only missing: "rider" is no slip of "river". The
bundled encoder's vocabulary (WordPiece; Schuster and Nakajima 2012, "Japanese and Korean voice
search", section 3) holds as wholes the words that were frequent in much text, which no slip is.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from anabranch.language import stem

_SHORTEST = 4
# A shorter stem is one of many words, and of slips as well.
_SHORTEST_STEM = 5


def is_english(word: str) -> bool:
    """Whether the folded ``word`` is an English word, or another form of one."""
    whole, stems = _known()
    return word in whole or (len(found := stem(word)) >= _SHORTEST_STEM and found in stems)


@cache
def _known() -> tuple[frozenset[str], frozenset[str]]:
    tokenizer = files("anabranch") / "models" / "minilm" / "tokenizer.json"
    vocabulary = json.loads(tokenizer.read_bytes())["model"]["vocab"]
    whole = frozenset(
        word for word in vocabulary if len(word) >= _SHORTEST and word.isalpha() and word.isascii()
    )
    return whole, frozenset(map(stem, whole))
