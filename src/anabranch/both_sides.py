"""An answer that rests on one side of a conflict names the other ones too; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anabranch.language import has_cjk, sentence_spans
from anabranch.types import Answer, Citation, Conflict, ConflictValue, Evidence

_LONGEST_QUOTE = 300


def name_all_sides(
    answer: Answer, conflicts: Sequence[Conflict], evidence: Sequence[Evidence]
) -> Answer:
    """``answer`` with a sentence for each side that it does not cite of a conflict that it cites.

    The sentence is quoted, so that it needs no judgement. An answer that cites no side of a
    conflict is about something else.
    """
    numbers = {item.id: number for number, item in enumerate(evidence, start=1)}
    cited = {citation.evidence for citation in answer.citations}
    for conflict in conflicts:
        sides = {value.evidence: value for value in reversed(conflict.values)}
        if not cited & set(sides):
            continue
        for side in sorted(set(sides) - cited, key=lambda name: numbers.get(name, 0)):
            if side in numbers:
                item = evidence[numbers[side] - 1]
                answer = _with_side(answer, sides[side], item, numbers[side])
                cited.add(side)
    return answer


def _with_side(answer: Answer, value: ConflictValue, item: Evidence, number: int) -> Answer:
    quote = _sentence_around(item.text, value.start - item.start)
    shown = " ".join(quote.split())
    said = (
        f"另一份资料的说法不同：“{shown}”[{number}]"
        if has_cjk(answer.text)
        else f"Another source says otherwise: “{shown}” [{number}]"
    )
    page = next(
        (place.page for place in item.provenance if place.start <= value.start < place.end),
        item.page,
    )
    return replace(
        answer,
        text=f"{answer.text}\n{said}",
        citations=(*answer.citations, Citation(number, item.id, quote, page)),
    )


def _sentence_around(text: str, at: int) -> str:
    for start, end in sentence_spans(text):
        if start <= at < end:
            begin = max(start, min(at - _LONGEST_QUOTE // 2, end - _LONGEST_QUOTE))
            return text[begin : min(end, begin + _LONGEST_QUOTE)]
    return text[:_LONGEST_QUOTE]
