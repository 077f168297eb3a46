"""An answer about the thing that the question names, without what is said of its equals; pure.

"How much may I spend on hotels in Oslo?" finds the pages of Oslo and of Lisbon, which are alike in
every word but one. Where the question names one of two things and a piece stands with it, the
pieces that stand with the other one in the same place are no answer: not by a folder or file, by a
title, by a heading, nor by a sentence that is the same but for the name and a figure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest

from anabranch import language
from anabranch.reasoning import passages as features
from anabranch.reasoning.slots import (
    best_window,
    is_always_name,
    is_label,
    is_mentioned,
    is_slot,
    likeness,
    one_difference,
    path_parts,
    sorts_things,
    values_differ,
    without_figures,
)
from anabranch.reasoning.weighing import Candidate
from anabranch.types import Evidence

# The same sentence about two things, figures aside.
_PARALLEL = 0.6
# Where nothing else shows that two places are of one kind, as of which they say the same.
_SAME = 0.75
_FIGURE = "0"
_MARKED = re.compile(r"(?P<marks>#{1,6})\s+(?P<heading>.+)")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where pieces stand: the number of their evidence and the headings above them, outermost first."""

    number: int
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked, with all its words, and those that name something."""

    text: str
    terms: frozenset[str]
    names: frozenset[str]


# What stands in the first of two places and in the second where they differ first, and whether that
# alone shows that they are of one kind.
_Difference = tuple[str, str, bool]


def of_the_named(
    question: str, ranked: Sequence[Candidate], evidence: Sequence[Evidence]
) -> list[Candidate]:
    """The candidates without those that stand with another thing than the one that is named."""
    cut = features.cut_question(question)
    asked = _Asked(question, features.term_set(question), features.named_terms(question))
    groups: dict[_Place, list[Candidate]] = {}
    for piece in ranked:
        groups.setdefault(_place(piece, evidence), []).append(piece)
    others: set[tuple[int, int]] = set()
    terms = frozenset(cut.terms)
    # Places under other headings of the same two sources differ alike.
    by_source: dict[tuple[int, int], list[_Difference]] = {}
    for named, standing in groups.items():
        one = evidence[named.number]
        where = "\n".join((one.source, one.title, *named.headings))
        if asked.terms.isdisjoint(features.term_set(where)):
            continue  # It names nothing of this place.
        by_heading = not asked.terms.isdisjoint(features.term_set("\n".join(named.headings)))
        for other, pieces in groups.items():
            pair = named.number, other.number
            if pair not in by_source:
                between = _by_source(evidence[pair[0]], evidence[pair[1]])
                by_source[pair] = [one for one in between if _is_chosen(one, asked)]
            differences = by_source[pair]
            if by_heading:
                found = _by_headings(named, other)
                differences = differences + [one for one in found if _is_chosen(one, asked)]
            if not differences:
                continue
            for label in _named_labels(named, other, differences, evidence, asked, terms):
                if _is_answered_by(standing, label):
                    others |= {_spot(one) for one in pieces if not _says(label, one)}
    left = [one for one in ranked if _spot(one) not in others]
    figured = [one for one in left if _FIGURE in without_figures(one.unit.shown)]
    another = {_spot(one) for one in figured if _is_of_another(one, figured, asked)}
    return [one for one in left if _spot(one) not in another] or list(ranked)


def _spot(candidate: Candidate) -> tuple[int, int]:
    return candidate.number, candidate.index


def _place(candidate: Candidate, evidence: Sequence[Evidence]) -> _Place:
    one = evidence[candidate.number]
    # The context is that of the beginning; a heading in the text ends those of its level and below.
    above = one.context.split("\n", 1)[0].split(" > ") if one.context else []
    for start, level, heading in _headings(one.text):
        if start >= candidate.unit.start:
            break
        above = above[: above.index(heading) if heading in above else level - 1]
        above.append(heading)
    return _Place(candidate.number, tuple(above))


# ----------------------------------------------------------------------------- by where it stands


def _named_labels(
    named: _Place,
    other: _Place,
    differences: Sequence[_Difference],
    evidence: Sequence[Evidence],
    asked: _Asked,
    terms: frozenset[str],
) -> Iterator[str]:
    """Those of ``differences`` by which the second place is of another thing than the first."""
    first, second = evidence[named.number], evidence[other.number]
    windows: list[str] = []
    for left, right, by_itself in differences:
        texts = _running(first.text) + _running(second.text)
        if not _is_a_name(left, asked, f"{texts} . {first.title} . {second.title} . "):
            continue
        if _all_said(left, f"{second.source}\n{second.title}\n{' '.join(other.headings)}"):
            continue  # A page of the other about this one.
        if by_itself or is_always_name(right, texts):
            yield left
            continue
        windows = windows or [best_window(terms, one.text) for one in (first, second)]
        alike = likeness(*map(without_figures, windows)) >= _SAME
        if alike and values_differ(*windows, labels=(left, right)):
            yield left


@lru_cache(maxsize=256)
def _headings(text: str) -> tuple[tuple[int, int, str], ...]:
    """Where each heading of a text in Markdown begins, its level, and what it says."""
    found, start = [], 0
    for line in text.splitlines(keepends=True):
        if match := _MARKED.fullmatch(line.strip()):
            found.append((start, len(match["marks"]), match["heading"].strip()))
        start += len(line)
    return tuple(found)


@lru_cache(maxsize=256)
def _running(text: str) -> str:
    """The sentences of a text: a capital in a heading, or at the beginning, makes no name."""
    lines = (line for line in text.split("\n") if not _MARKED.fullmatch(line.strip()))
    return re.sub(r"\n\s*\n", ". ", "\n".join(("", "", *lines, "", "")))


def _by_source(first: Evidence, second: Evidence) -> Iterator[_Difference]:
    if first.source != second.source:
        yield from _by_path(first, second)
        if pair := one_difference(first.title, second.title):
            yield *pair, True


def _by_headings(named: _Place, other: _Place) -> Iterator[_Difference]:
    for left, right in zip_longest(named.headings, other.headings, fillvalue=""):
        if left != right:
            if left and right:
                pair = one_difference(left, right)
                yield *(pair or (left, right)), pair is not None
            return


def _by_path(first: Evidence, second: Evidence) -> Iterator[_Difference]:
    parts = path_parts(first.source), path_parts(second.source)
    if len(parts[0]) != len(parts[1]):
        return
    differing = (n for n, (left, right) in enumerate(zip(*parts, strict=True)) if left != right)
    at = next(differing, None)
    if at is None:  # "leave.pdf" and "leave.md"
        return
    left, right = parts[0][at], parts[1][at]
    parent = parts[0][at - 1].lower() if at else ""
    below = parts[0][at + 1 :]
    if pair := one_difference(left, right):
        yield _words(pair[0]), _words(pair[1]), True
    elif is_slot(left, right, parent, (first, second)):
        same_file = bool(below) and below == parts[1][at + 1 :]
        yield _words(left), _words(right), same_file or sorts_things(parent)


def _words(label: str) -> str:
    return re.sub(r"[-_]+", " ", label).strip()


def _is_chosen(difference: _Difference, asked: _Asked) -> bool:
    """Whether the question says what the first place has, and nothing of what the second has."""
    left, right, _ = difference
    return (
        _all_said(left, asked.text)
        and not is_mentioned(right, asked.text)
        and is_label(left)
        and is_label(right)
    )


def _is_a_name(label: str, asked: _Asked, texts: str) -> bool:
    said = features.term_set(label)
    is_name = language.has_cjk(label) or said <= asked.names or label.isdigit()
    return is_name or is_always_name(label if label[:1].isupper() else label.title(), texts)


def _all_said(label: str, text: str) -> bool:
    """Whether every word of ``label`` stands in ``text``."""
    if language.has_cjk(label):
        return language.fold(label) in language.fold(text)
    said = features.term_set(label)
    return bool(said) and said <= features.term_set(text)


def _is_answered_by(standing: Sequence[Candidate], label: str) -> bool:
    """Whether a piece that stands with what is named has something else of what is asked."""
    about = features.term_set(label)
    return any(one.placed - about for one in standing)


def _says(label: str, candidate: Candidate) -> bool:
    """Whether a piece or what it stands under has the label itself."""
    unit = candidate.unit
    said = features.term_set(label)
    return _all_said(label, unit.shown) or (bool(said) and said <= unit.terms | unit.setting)


# ------------------------------------------------------------------------------ by what it says


def _is_of_another(candidate: Candidate, figured: Sequence[Candidate], asked: _Asked) -> bool:
    """Whether a piece says with another name and figure what a piece says of the thing named;
    ``figured`` are those with a figure."""
    masked = without_figures(candidate.unit.shown)
    return any(
        _parallel(without_figures(one.unit.shown), masked, asked)
        for one in figured
        if one is not candidate
        and 2 * len(one.unit.terms & candidate.unit.terms) >= len(candidate.unit.terms)
        and one.unit.shown != candidate.unit.shown
    )


def _parallel(named: str, other: str, asked: _Asked) -> bool:
    pair = one_difference(named, other)
    if pair is None or not (is_label(pair[0]) and is_label(pair[1])):
        return False
    return (
        _all_said(pair[0], asked.text)
        and not is_mentioned(pair[1], asked.text)
        and likeness(named, other) >= _PARALLEL
    )
