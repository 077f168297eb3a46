"""Answering without a model: the sentences of the evidence that answer, each with its citation.

At most four sentences are shown, and fewer where the first ones are plainly the best, so that the
reader sees an answer and not another search result. Sources that contradict each other are both
quoted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anabranch import language
from anabranch.reasoning.chains import chained, is_nested
from anabranch.reasoning.choosing import (
    Choice,
    by_likelihood,
    choose,
    disputed_places,
    fit_together,
    fitting,
    in_order,
    is_yes_no,
    understood,
)
from anabranch.reasoning.named_thing import of_the_named
from anabranch.reasoning.part_lines import part_lines
from anabranch.reasoning.passages import place_terms
from anabranch.reasoning.premises import contradicted
from anabranch.reasoning.presenting import Unit
from anabranch.reasoning.weighing import FITTED, Candidate, PieceModel, weigh
from anabranch.types import Answer, Citation, Evidence, SubQuestion

# What stands before an answer that gives another figure than the question takes for granted.
_OTHERWISE = {False: "Other than the question says", True: "与问题所说不同"}


class LocalAnswerer:
    """Quotes the best sentences, rows and list items; deterministic, no model call.

    ``model`` says how likely a piece is to answer.
    """

    def __init__(self, model: PieceModel = FITTED) -> None:
        self._model = model

    async def answer(
        self, question: str, evidence: Sequence[Evidence], *, sub_questions: Sequence[SubQuestion]
    ) -> Answer:
        if not evidence:
            return Answer("", "extractive")
        pieces = weigh(question, evidence, self._model)
        # Of one part that is left nothing was found on the others: the whole question would be answered by
        # what is said of other things.
        chain = self._chain(question, pieces, evidence) if is_nested(sub_questions) else []
        if sub_questions and not chain:
            lines = part_lines(question, evidence, sub_questions, self._model)
            if lines:
                return _answer(lines, evidence)
        named = of_the_named(question, by_likelihood(pieces), evidence)
        ranked, lead = _against_premise(question, named, evidence)
        chosen = choose(
            ranked,
            Choice(),
            disputed=disputed_places(question, evidence),
            with_antecedents=not is_yes_no(question),
            question=question,
        )
        if lead:
            return _answer([(lead, chosen)], evidence)
        chain = chain or self._chain(question, pieces, evidence)
        kept = fit_together((*chain, *chosen))
        if chain:  # Beside its links "it" is read as the last thing that they name.
            clear = understood(kept)
            kept = [one for one in kept if one in chain or one in clear]
        ordered = _as_it_leads_on(chain, in_order(question, kept))
        return _answer([("", ordered)], evidence)

    def _chain(
        self, question: str, pieces: Sequence[Candidate], evidence: Sequence[Evidence]
    ) -> list[Candidate]:
        return fit_together(chained(question, pieces, evidence, self._model))


def _as_it_leads_on(chain: Sequence[Candidate], kept: Sequence[Candidate]) -> list[Candidate]:
    """``kept`` with the passages of the chain first, as they lead on; in each its own order stays:
    "it costs 149 euros" is said of what stands before it there.
    """
    passages = list(dict.fromkeys(piece.number for piece in chain))
    places = {number: place for place, number in enumerate(passages)}
    return sorted(kept, key=lambda piece: places.get(piece.number, len(places)))


def _against_premise(
    question: str, ranked: list[Candidate], evidence: Sequence[Evidence]
) -> tuple[list[Candidate], str]:
    """The candidates with the one ahead that gives another figure than the question, and what says so."""
    places = [
        (one.unit.shown, one.unit.setting | place_terms(evidence[one.number])) for one in ranked
    ]
    found = contradicted(question, places)
    if found is None:
        return ranked, ""
    first = ranked[found.place]
    ahead = replace(first, likelihood=max(first.likelihood, ranked[0].likelihood))
    lead = _OTHERWISE[language.asks_in_cjk(question)]
    return [ahead, *(one for one in ranked if one is not first)], lead


# ------------------------------------------------------------------------------------- the answer


def _answer(
    lines: Sequence[tuple[str, Sequence[Candidate]]], evidence: Sequence[Evidence]
) -> Answer:
    written: list[str] = []
    citations: list[Citation] = []
    for label, candidates in lines:
        pieces: list[str] = []
        named: set[tuple[int, int]] = set()
        for candidate in candidates:
            one = evidence[candidate.number]
            marker = int(one.id.removeprefix("e"))
            for unit in _with_company(candidate, named):
                separator = ("\n" if unit.is_item or unit.names else " ") if pieces else ""
                pieces.append(f"{separator}{unit.shown} [{marker}]")
                citations.append(Citation(marker, one.id, one.text[unit.start : unit.end]))
        text = "".join(pieces)
        written.append(f"{label}: {text}" if label else text)
    return Answer("\n".join(written), "extractive", tuple(citations))


def _with_company(candidate: Candidate, named: set[tuple[int, int]]) -> list[Unit]:
    """A piece with the list that it introduces, or below the line that names its figures."""
    unit = candidate.unit
    company: list[Unit] = []
    if unit.names and (candidate.number, unit.names.start) not in named:
        named.add((candidate.number, unit.names.start))
        company.append(unit.names)
    return [*company, unit, *fitting(unit)]
