"""An answer as it is written, for a protocol in which nothing that was sent can be taken back; pure."""

from __future__ import annotations

import re

from anabranch.language import has_cjk, sentence_spans
from anabranch.trace import RunEvent

_CITED = re.compile(r"\[\d+\]")
_MARKERS_BEHIND = re.compile(r"(?:[ \t]*\[\d+\])+")


class Settled:
    """What of an answer can be sent so far: whole sentences up to the last one that cites.

    A marker that is told cites evidence that there is (``answer.Telling``), so an answer with one of
    them is used unless its stream breaks; one without any is replaced by another answer, and none
    of it is sent. A sentence is whole when the next one has begun, since its markers may stand
    behind it.
    """

    def __init__(self) -> None:
        self.sent = ""
        self._heard = ""

    def hear(self, delta: RunEvent) -> str:
        """What can be sent after an ``answer.delta``; empty where it settles nothing more."""
        self._heard = delta.text if delta.restart else self._heard + delta.text
        if not self._heard.startswith(self.sent):
            return ""  # begun anew: the rest is sent when it is whole
        return self._send(self._heard[: _settled_until(self._heard)])

    def broken_off(self, content: str) -> str:
        """What stands before ``content``, which the assistant says in the end.

        Empty where it goes on from what was sent. Else that broke off: it stays, this is said behind
        it, and ``content`` follows as a whole.
        """
        return "" if content.startswith(self.sent) else f"{self.sent}\n\n{_broke_off(content)}\n\n"

    def rest(self, content: str) -> str:
        """What is left to send of ``content``."""
        return self._send(self.broken_off(content) + content)

    def _send(self, text: str) -> str:
        more = text[len(self.sent) :]
        if more:
            self.sent = text
        return more


def _settled_until(text: str) -> int:
    """The end of the last whole sentence of ``text`` that cites, with the markers behind it."""
    begin = until = 0
    for _, end in sentence_spans(text)[:-1]:
        if end <= begin:  # was nothing but the markers of the one before
            continue
        behind = _MARKERS_BEHIND.match(text, end)
        end = behind.end() if behind else end
        if not text[end:].strip():
            break
        if _CITED.search(text, begin, end):
            until = end
        begin = end
    return until


def _broke_off(content: str) -> str:
    if has_cjk(content):
        return "（以上回答中断了，改为：）"
    return "(The answer broke off here. In its place:)"
