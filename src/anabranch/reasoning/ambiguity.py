"""When to ask back: only if it is certain that the question leaves something open.

Two cases: the question points at something that nobody has named, or several documents of one
kind answer it differently and differ in exactly what the question does not say. A needless
question costs the user more than a missed one, so every rule here errs towards silence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from anabranch import language
from anabranch.reasoning import passages as features
from anabranch.reasoning.asked_for import asks_overview
from anabranch.reasoning.slots import contrast, is_mentioned, sections
from anabranch.references import CHINESE_REFERENCE, references
from anabranch.types import Passage, Turn

_MOST_OPTIONS = 5
# How close a passage must come to the best one to count as another candidate.
_AS_RELEVANT = 0.8
_AS_COVERED = 0.12
# Below this share of covered terms "both match" says nothing.
_LEAST_COVERAGE = 0.5
_LEAST_CJK_PAIRS = 2
# What was said within so many turns, also by way of an answer, is still meant.
_LAST_TURNS = 4


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """What is open, and how the user is asked about it in the question's language."""

    kind: Literal["missing_slot", "multiple_candidates"]
    missing: tuple[str, ...]
    prompt: str
    reason: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settled:
    """Which of the things that would be asked about the user said in an earlier turn."""

    label: str


# ------------------------------------------------------------------- a reference without anything

# "Who is responsible for that?", "What is the deadline for this?": at the end, behind a preposition.
_CLOSING = re.compile(
    r"^\s*\w+\b.*\b(?:for|of|with|about|to|from|by|on|in|at)\s+(this|that|these|those|it|them)\s*[?.!]*$",
    re.IGNORECASE,
)
# "It" that may stand for nothing: where it does not for certain point at something, nobody is asked.
_DOUBTFUL_IT = re.compile(
    r"\bit\b\s+(?:\w+\s+)?(?:possible|necessary|required|allowed|true|legal|safe|ok|okay|better|worth"
    r"|important|correct|mandatory|permitted|rain|snow|time|necessary)\b"
    r"|\b(?:does|will|did|would)\s+it\s+(?:take|cost|require|need)\b.*\b(?:to|for|until|before)\s+\w+"
    r"|\bis\s+it\b.*\b(?:to|that|if|when)\b|\btime\s+is\s+it\b|\bmake it\b|\bwhy is it\b"
    r"|\bit\s+(?:be|become|mean\s+(?:to|for|when|if|that)|(?:determined|decided|considered|thought"
    r"|believed|called|said)\b)|\bif it\b|\bit['’]s\b|\bthis is us\b",
    re.IGNORECASE,
)
# "Who announced that she …": the question word is what it stands for. "Who wrote she's always a
# woman": the words of a title.
_SAID_ELSEWHERE = re.compile(
    r"\bwho\b.*\bthat\s+(?:s?he|his|her)\b"
    r"|\b(?:wrote|writes?|sang|sings?|sung|recorded|performed|plays?|played|directed|stars? in)\s+(?:the\s+song\s+)?"
    r"(?:it|he|she|they|this|that|these|those|his|her|their)\b['’]?\w*\s+\w",
    re.IGNORECASE,
)
# What stands behind the end of a question: a reply that was joined to it.
_REPLIED = re.compile(r"[?？。]\s*[^\s?？。!！.]")
# Words before a pronoun that cannot be what it stands for: they ask, measure or act.
_NOT_THINGS = frozenset((
    "many", "much", "long", "often", "old", "big", "tall", "far", "high", "large", "fast",
    "deep", "wide", "heavy", "expensive", "soon", "late", "year", "time", "day", "date",
    "month", "kind", "type", "sort", "cost", "costs", "happen", "happened", "happens",
    "mean", "means", "work", "works", "use", "used", "invent", "make", "made", "build",
    "find", "found", "create", "start", "get", "go", "come", "say", "said", "tell",
    "explain", "describe", "write", "wrote", "buy", "bought", "own", "owns", "run", "runs",
    "need", "needs", "exactly", "please", "know", "think", "give", "want", "like", "else",
    "also", "then", "next", "still", "apply", "applies",
))  # fmt: skip
_GREETING = re.compile(
    r"\W*(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|thanks?|thank you|ok|okay|你好|您好|早上好|下午好|谢谢|在吗)"
    r"(?: there| you| very much| so much)?[\W_]*",
    re.IGNORECASE,
)


def unresolved_reference(question: str, history: Sequence[Turn]) -> Ambiguity | None:
    """The question's "it" or "那个" that neither the question nor an earlier turn explains.

    With anything said before, what is meant may be in it, and nobody is asked.
    """
    said = [turn for turn in history if turn.role == "user" and not _GREETING.fullmatch(turn.text)]
    if said or _REPLIED.search(question):
        return None
    chinese = language.has_cjk(question)
    word = _chinese_reference(question) if chinese else _english_reference(question)
    if word is None:
        return None
    shown = word.lower()
    if chinese:
        prompt = f"“{word}”指的是什么？请写出具体名称。"
    else:
        verb = "do" if shown in ("they", "them", "their", "these", "those") else "does"
        prompt = f"What {verb} “{shown}” refer to? Please name it."
    return Ambiguity(
        kind="missing_slot",
        missing=(word,),
        prompt=prompt,
        reason=f"The question says {word!r}, but neither it nor an earlier turn says what that is.",
    )


def _english_reference(question: str) -> str | None:
    if _DOUBTFUL_IT.search(question) or _SAID_ELSEWHERE.search(question):
        return None
    first = next(references(question), None)
    if first is None:
        return None
    # A name anywhere, or any noun before the pronoun, may be what it stands for.
    if features.names(question) or features.cut_question(question).names or '"' in question:
        return None
    before, after = _things(question[: first.start]), _things(question[first.end :])
    closing = _CLOSING.search(question)
    if closing is not None and closing.start(1) == first.start and len(before) <= 1:
        return first.word
    if any(not word.endswith("ed") for word in before):
        return None
    # "Where do they grow hops": people in general. "He" and "she" always mean someone.
    person = first.kind == "person"
    return first.word if len(after) <= (4 if person else 1) else None


def _things(text: str) -> list[str]:
    """The words that may name what a pronoun stands for."""
    return [
        word
        for word in language.words(text)
        if word not in language.ENGLISH_STOP_WORDS and word not in _NOT_THINGS
    ]


def _chinese_reference(question: str) -> str | None:
    match = CHINESE_REFERENCE.search(question)
    if match is None or "《" in question or "“" in question:
        return None
    before = question[: match.start()]
    opens = not any(len(pair) > 1 for pair in language.cjk_bigrams(before, question=True))
    opens = opens and not re.search(r"[A-Za-z0-9]", before)
    # "谁发明了它？": an action before, the reference at the end.
    closes = len(before) <= 6 and not question[match.end() :].strip("？?。吗呢的 ")
    asked_who = before.startswith(("谁", "为什么", "怎么", "如何", "怎样"))
    return match.group(1) if opens or (closes and asked_who) else None


# ------------------------------------------------------------------- several of the same kind

_PLURAL = re.compile(
    r"\b(all|each|every|both|compare[ds]?|comparison|differ\w*|between|versus|vs|various|respectively"
    r"|across|any|either|list|most|least|highest|lowest|largest|smallest|longest|shortest|cheapest"
    r"|best|worst|total|sum|average|which of|which one)\b|\b\w+er than\b",
    re.IGNORECASE,
)
_CHINESE_PLURAL = re.compile(
    r"各|所有|全部|每(?![年月天日周次晚小])|分别|比较|对比|区别|不同|差异|哪些|哪个|哪家|哪种|哪一|最[大小高低多少长短好贵]|一共|总共|都"
)
# What was spoken of is just what is not meant.
_OTHER_ONE = re.compile(
    r"\b(?:others?|another|elsewhere|else|instead)\b|别的|其[他它余]|另", re.IGNORECASE
)
_WHICH = re.compile(
    r"\bwh(?:ich|at)\s+(\w+)\s+(?:is|are|was|were|has|have|had|offers?|allows?|gives?|provides?|does)\b",
    re.IGNORECASE,
)


def several_candidates(
    question: features.CutQuestion,
    passages: Sequence[Passage],
    relevance: Sequence[float],
    *,
    weights: Mapping[str, float],
    history: Sequence[Turn],
) -> Ambiguity | Settled | None:
    """The documents of one kind that answer differently, named after what differs; or the one of
    them that the user named last, in whichever turn.

    ``relevance`` is aligned with ``passages``.
    """
    if _asks_for_several(question.text) or asks_overview(question.text):
        return None
    candidates = _equals_of_the_best(question, passages, relevance, weights)
    if not candidates:
        return None
    labels = _labels(question, candidates)
    if len(labels) < 2:  # Sections of one document may have been put back into one passage.
        labels = _labels(question, sections(question, candidates[0]))
    if (
        len(labels) < 2
        or _others_say_it(question, candidates)
        or _is_settled(question, labels, candidates[0])
    ):
        return None
    label = _named_before(labels, history)
    if label and not _OTHER_ONE.search(question.text):
        return Settled(label)
    if _is_spoken_of(labels, history):
        return None
    options = tuple(labels)[:_MOST_OPTIONS]
    return Ambiguity(
        kind="multiple_candidates",
        missing=options,
        prompt=_which_prompt(question.text, options),
        reason=(
            f"{len(labels)} passages of the same kind answer this differently; the question does "
            f"not say which of {', '.join(options)} is meant."
        ),
        options=options,
    )


def _labels(question: features.CutQuestion, candidates: Sequence[Passage]) -> list[str]:
    """What tells the candidates apart from the first one, in one and the same slot."""
    first = candidates[0]
    labels: dict[str, None] = {}
    kind = ""
    for other in candidates[1:]:
        found = contrast(question, first, other)
        if (
            found is None
            or (labels and found.first not in labels)
            or found.kind != (kind or found.kind)
        ):
            continue
        kind = found.kind
        labels |= dict.fromkeys((found.first, found.second))
    return list(labels)


def _others_say_it(question: features.CutQuestion, candidates: Sequence[Passage]) -> bool:
    """Whether a page of another kind says as much about so short a question.

    "How do I claim" fits the travel allowances of two offices, and a warranty: what is open is more
    than an office. Where the candidates are about it by their title, so has the other page to be.
    """
    if len(question.terms) > 1:
        return False
    first = candidates[0]
    asked = frozenset(question.terms)
    by_title = asked <= features.term_set(first.chunk.title)
    return any(
        other.chunk.source != first.chunk.source
        and contrast(question, first, other) is None
        and (not by_title or asked <= features.term_set(other.chunk.title))
        for other in candidates[1:]
    )


def _asks_for_several(question: str) -> bool:
    if language.has_cjk(question):
        return _CHINESE_PLURAL.search(question) is not None
    return _PLURAL.search(question) is not None


def _equals_of_the_best(
    question: features.CutQuestion,
    passages: Sequence[Passage],
    relevance: Sequence[float],
    weights: Mapping[str, float],
) -> list[Passage]:
    """The best passage and those that cover the question about as well, in order of rank."""
    ranked = list(zip(passages, relevance, strict=True))[: features.GRADED_PASSAGES]
    best = max(chance for _, chance in ranked)
    terms = frozenset(question.terms)
    if language.has_cjk(question.text):
        # Pairs of characters over the seam of two words stand nowhere, and say nothing.
        held = frozenset[str]().union(*(features.around(passage) for passage, _ in ranked))
        terms &= held
        if len(terms) < _LEAST_CJK_PAIRS:
            return []
    total = sum(weights[term] for term in terms) or 1.0

    def coverage(passage: Passage) -> float:
        found = features.around(passage)
        return sum(weights[term] for term in terms if term in found) / total

    most = max(coverage(passage) for passage, _ in ranked)
    if most < _LEAST_COVERAGE:
        return []
    # The chance of a Chinese passage hangs on cosines that mean little: words alone decide.
    least = 0.0 if language.has_cjk(question.text) else _AS_RELEVANT * best
    return [
        passage
        for passage, chance in ranked
        if chance >= least and coverage(passage) >= most - _AS_COVERED
    ]


def _is_settled(question: features.CutQuestion, labels: Sequence[str], first: Passage) -> bool:
    """Whether the question names one of the labels, or asks for the label itself."""
    if any(is_mentioned(label, question.text) for label in labels):
        return True
    if any(name - features.around(first) for name in question.names):
        return True  # It names something else, which none of the candidates is.
    which = _WHICH.search(question.text)
    kinds = features.term_set(f"{first.chunk.source} {first.chunk.title} {first.chunk.context}")
    if which and language.stem(which[1].lower()) in kinds | _GENERIC_KINDS:
        return True
    # "Do offices …" asks about all the things that a folder of that name holds.
    folders = set(re.split(r"[/\\]", first.chunk.source.lower())[:-1])
    return bool({word for word in language.words(question.text) if word.endswith("s")} & folders)


def _named_before(labels: Sequence[str], history: Sequence[Turn]) -> str:
    """The label that the user's last turn with any of them names; empty where it names several."""
    for turn in reversed(history):
        if turn.role != "user":
            continue
        if named := [label for label in labels if is_mentioned(label, turn.text)]:
            return named[0] if len(named) == 1 else ""
    return ""


def _is_spoken_of(labels: Sequence[str], history: Sequence[Turn]) -> bool:
    """Whether one of the last turns, of whomever, names one of the labels."""
    said = " ".join(turn.text for turn in history[-_LAST_TURNS:])
    return any(is_mentioned(label, said) for label in labels)


_GENERIC_KINDS = frozenset((
    "product", "offic", "compani", "model", "version", "team", "countri", "citi", "site",
    "depart", "person", "project", "store", "plan", "document", "file", "report", "branch",
    "region", "client", "custom",
))  # fmt: skip


def _which_prompt(question: str, options: Sequence[str]) -> str:
    if language.has_cjk(question):
        listed = "、".join(options[:-1]) + "还是" + options[-1]
        return f"您指的是哪一个：{listed}？"
    listed = ", ".join(options[:-1]) + " or " + options[-1]
    return f"Which do you mean: {listed}?"
