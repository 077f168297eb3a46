"""Grading without a model server: do the passages answer the question, and how sure is that?

Logistic regressions over the features of ``features.py``. Coefficients and thresholds are in
``grade_model.json``, fitted by ``tools/fit_grader.py``; ambiguity is judged in ``ambiguity.py``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from typing import Any, Literal

from anabranch import language
from anabranch.clauses import asks
from anabranch.lexicon import Lexicon
from anabranch.reasoning import passages as texts
from anabranch.reasoning.ambiguity import (
    Ambiguity,
    Settled,
    several_candidates,
    unresolved_reference,
)
from anabranch.reasoning.features import Features, features
from anabranch.reasoning.matching import Asked, ask, match
from anabranch.reasoning.premises import contradicted
from anabranch.reasoning.qualities import other_forms, with_noun
from anabranch.types import Background, EvidenceGrade, GradeRoute, Passage, Turn
from anabranch.values import values
from anabranch.written_forms import codes

# Share of CJK characters from which a question counts as Chinese (or Japanese, Korean).
_CJK_SHARE = 0.3
# Passages whose language is looked at.
_READ = 3
_NO_BACKGROUND = Background()
# Share of the question's weight from which a name is what it is about. In the open sets 12 of 812
# answerable questions have such a name, 166 of 702 off-topic ones.
_TELLING_NAME = 0.15
_ABOUT_ANOTHER = 0.1
# From here on it is part of what is asked: beside names that are known, a part is not answered.
_NAME_OF_A_PART = 0.075


@dataclass(frozen=True, slots=True)
class Sum:
    """A weighted sum of standardised features, by name."""

    names: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    coefficients: tuple[float, ...]
    intercept: float

    def of(self, values: Mapping[str, float]) -> float:
        weighed = zip(self.names, self.means, self.scales, self.coefficients, strict=True)
        return self.intercept + math.fsum(
            coefficient * (values[name] - mean) / scale
            for name, mean, scale, coefficient in weighed
        )


@dataclass(frozen=True, slots=True)
class Regression:
    """A fitted logistic regression; ``long`` takes the place of ``short`` as questions get longer."""

    short: Sum
    long: Sum | None = None

    def chance(self, values: Mapping[str, float]) -> float:
        z = self.short.of(values)
        if self.long is not None:
            z += values["long"] * (self.long.of(values) - z)
        return 1.0 / (1.0 + math.exp(-z))


@dataclass(frozen=True, slots=True)
class GradeModel:
    """Whether passages are about the question at all, and whether they then answer it.

    Thresholds look at the first chance: below ``weak`` there is no evidence, from ``sufficient`` on
    there is enough. On topic, no feature tells well enough whether the answer is there (AUROC .7)
    to hold back what was found; the confidence says how likely it is.
    """

    topic: Regression
    answer: Regression
    weak: float
    sufficient: float

    def chances(self, values: Mapping[str, float]) -> tuple[float, float]:
        """The chance that the passages are on topic, and that they answer as well (confidence)."""
        topic = self.topic.chance(values)
        return topic, topic * self.answer.chance(values)


@dataclass(frozen=True, slots=True)
class GradeModels:
    """The fitted models by name, and by embedder which of them read its cosines.

    ``embedders``: its name -> model for questions in the language of the passages (``same``) and in
    another (``foreign``); one that is not named gives cosines on a scale that is not known.
    """

    models: Mapping[str, GradeModel]
    embedders: Mapping[str, Mapping[str, str]]


@lru_cache(maxsize=1)
def load_models() -> GradeModels:
    """The fitted models that ship with the package."""
    file = resources.files("anabranch.reasoning").joinpath("grade_model.json")
    stored = json.loads(file.read_text(encoding="utf-8"))
    models = {
        name: GradeModel(
            topic=_regression(model["topic"]),
            answer=_regression(model["answer"]),
            weak=model["weak_threshold"],
            sufficient=model["sufficient_threshold"],
        )
        for name, model in stored["models"].items()
    }
    return GradeModels(models, stored["embedders"])


def _regression(stored: Mapping[str, Any]) -> Regression:
    return Regression(_sum(stored), _sum(stored["long"]) if "long" in stored else None)


def _sum(stored: Mapping[str, Any]) -> Sum:
    return Sum(
        names=tuple(stored["features"]),
        means=tuple(stored["means"]),
        scales=tuple(stored["scales"]),
        coefficients=tuple(stored["coefficients"]),
        intercept=stored["intercept"],
    )


def is_foreign(question: str, passages: Sequence[Passage]) -> bool:
    """Whether most of the first passages are in another script than the question.

    Two languages of one script share names and figures, and are compared by words as well.
    """
    asked = "cjk" if language.asks_in_cjk(question) else _script(question)
    found = [_script(passage.chunk.text) for passage in passages[:_READ]]
    return 2 * sum(script not in (asked, "") for script in found) > len(found)


@lru_cache(maxsize=4_096)
def _script(text: str) -> Literal["cjk", "latin", "other", ""]:
    if language.cjk_share(text) > _CJK_SHARE:
        return "cjk"
    letters = [character.isascii() for character in text if character.isalpha()]
    if not letters:
        return ""
    return "latin" if 2 * sum(letters) > len(letters) else "other"


class LocalGrader:
    """Grades by term coverage and cosine; deterministic, no model call.

    ``embedder`` is the name of the one that gives the cosines. Every encoder has its own scale: with
    one that no coefficients were fitted for, words alone decide.
    """

    def __init__(self, *, embedder: str = "bundled") -> None:
        self._by_cosines = load_models().embedders.get(embedder, {})

    async def grade(
        self,
        question: str,
        passages: Sequence[Passage],
        *,
        history: Sequence[Turn],
        lexicon: Lexicon,
        background: Background | None = None,
    ) -> EvidenceGrade:
        reference = unresolved_reference(question, history)
        if not passages:
            return _of_nothing(reference)
        asked = prepared(question, passages, lexicon)
        around = background or _NO_BACKGROUND
        matches = [match(asked, passage) for passage in passages]
        measured = features(asked, matches, around)
        foreign = is_foreign(question, passages)
        model = self._model(asked, measured, foreign=foreign)
        alone = [model.chances(features(asked, [single], around).values) for single in matches]
        # In another script a name is written otherwise, but for the number of a model.
        unknown = _weight(asked, asked.unknown_codes if foreign else asked.unknown_names)
        verdict, confidence = _judged(model, asked, measured, unknown=unknown)
        ambiguity: Ambiguity | None = reference
        settled = ""
        if reference is not None:
            # What is asked about is not known yet: that nothing matches proves nothing.
            verdict = _Verdict("weak", "partial")
        elif verdict.answerability != "none":
            found = several_candidates(
                asked.cut, passages, [about for about, _ in alone],
                weights=asked.weights, history=history,
            )  # fmt: skip
            if isinstance(found, Settled):
                settled = found.label
            else:
                ambiguity = found
        grade = _grade(verdict, ambiguity, asked, measured)
        return replace(
            grade,
            confidence=confidence,
            settled=settled,
            passage_relevance=tuple(chance for _, chance in alone),
            reason=grade.reason + _but_said(question, passages) + _as_settled(settled),
        )

    def _model(self, asked: Asked, measured: Features, *, foreign: bool) -> GradeModel:
        models = load_models().models
        chinese = language.asks_in_cjk(asked.cut.text)
        by_words = models["cjk" if chinese else "lexical"]
        # The encoder knows no short form of this collection ("fs"): its cosines are noise there.
        if measured.similarity is None or measured.spelled_out or "same" not in self._by_cosines:
            return by_words
        if "foreign" not in self._by_cosines:  # it reads no Chinese
            return by_words if chinese else models[self._by_cosines["same"]]
        return models[self._by_cosines["foreign" if foreign else "same"]]


def prepared(question: str, passages: Sequence[Passage], lexicon: Lexicon) -> Asked:
    """The question made ready; what it asks for also counts by the noun that documents have for it."""
    asked = ask(with_noun(question), passages, lexicon)
    # "Give 40 days" names no thing by a number as "valve 43" does: it says how many.
    counted = texts.term_set(" ".join(question[v.start : v.end] for v in values(question)))
    asked = replace(asked, unknown_names=tuple(n for n in asked.unknown_names if not n <= counted))
    forms = {
        term: nouns for term, nouns in other_forms(question).items() if term in asked.cut.terms
    }
    if not forms:
        return asked
    both = {term: (*asked.other_forms.get(term, ()), *nouns) for term, nouns in forms.items()}
    return replace(
        asked, other_forms={**asked.other_forms, **both}, unknown=asked.unknown - frozenset(forms)
    )


def _but_said(question: str, passages: Sequence[Passage]) -> str:
    """What the first passages say instead of what the question takes for granted, as a sentence."""
    places = (
        (passage.chunk.text[sentence.start : sentence.end], texts.place_terms(passage.chunk))
        for passage in passages[:_READ]
        for sentence in texts.cut(passage.chunk.text).sentences
    )
    found = contradicted(question, places)
    return f" The question says {found.claimed!r}, the documents {found.said!r}." if found else ""


def _as_settled(label: str) -> str:
    return f" Of several of a kind an earlier turn named {label!r}." if label else ""


def _of_nothing(reference: Ambiguity | None) -> EvidenceGrade:
    """The grade where no passage was found: what is asked about has to be known to say so."""
    if reference is None:
        return EvidenceGrade(
            "none", "none", route="no_knowledge", reason="No passage was found at all."
        )
    return EvidenceGrade(
        "weak", "partial", "missing_slot", missing_slots=reference.missing, route="clarify",
        reason=reference.reason, hitl_prompt=reference.prompt,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Verdict:
    relevance: Literal["none", "weak", "strong"]
    answerability: Literal["none", "partial", "sufficient"]


def _judged(
    model: GradeModel, asked: Asked, measured: Features, *, unknown: float
) -> tuple[_Verdict, float]:
    """The verdict and the confidence; names that no document has are ``unknown`` of the question."""
    topic, confidence = model.chances(measured.values)
    # "The Tern P9" is one thing, and P9 tells which.
    named = [
        name for name in asked.names if not any(c < name or name < c for c in asked.unknown_codes)
    ]
    about_another = 2 * len(asked.unknown_names) >= len(named)
    if asked.unknown_codes and 2 * len(asked.unknown_codes) <= len(codes(asked.cut.text)):
        about_another = False  # "The HK-20 or the HK-60": of one there is something to say.
    if about_another and unknown >= _TELLING_NAME:
        topic, confidence = 0.0, min(confidence, _ABOUT_ANOTHER)
    verdict = _verdict(model, topic)
    if asked.unknown_attribute and verdict.answerability == "sufficient":
        # "The rent of the office": all that is known of is the office.
        return _Verdict("weak", "partial"), confidence * (1.0 - _weight(asked, [_attribute(asked)]))
    if unknown >= _NAME_OF_A_PART and verdict.answerability == "sufficient":
        # "Leave in Berlin and hotels in Munich": what is there answers a part at most.
        return _Verdict("weak", "partial"), confidence * (1.0 - unknown)
    return verdict, confidence


def _attribute(asked: Asked) -> frozenset[str]:
    """The terms of what is asked and no document has."""
    return texts.term_set(asked.unknown_attribute) & frozenset(asked.cut.terms)


def _verdict(model: GradeModel, topic: float) -> _Verdict:
    if topic < model.weak:
        return _Verdict("none", "none")
    if topic < model.sufficient:
        return _Verdict("weak", "partial")
    return _Verdict("strong", "sufficient")


def _grade(
    verdict: _Verdict, ambiguity: Ambiguity | None, asked: Asked, measured: Features
) -> EvidenceGrade:
    """What follows from the verdict and what is open, with the reason in words."""
    return EvidenceGrade(
        relevance=verdict.relevance,
        answerability=verdict.answerability,
        ambiguity=ambiguity.kind if ambiguity else "none",
        missing_slots=_missing_slots(verdict, ambiguity, asked, measured),
        reason=_reason(verdict, ambiguity, asked, measured),
        route=_route(verdict, ambiguity),
        hitl_prompt=ambiguity.prompt if ambiguity else "",
        hitl_options=ambiguity.options if ambiguity else (),
        features=measured.values,
    )


def _weight(asked: Asked, names: Sequence[frozenset[str]]) -> float:
    """The share of the question's weight that ``names`` have.

    "How long is the warranty of the Sandpiper?" is close to what is said of the Plover, and still
    not answered by it; neither is "valve 43" by what is said of valve 12. In a long question such a
    name is often a side remark ("as Forbes says").
    """
    terms = frozenset[str]().union(*names)
    return math.fsum(asked.weights[term] for term in terms) / asked.total


def _route(verdict: _Verdict, ambiguity: Ambiguity | None) -> GradeRoute:
    if ambiguity is not None:
        return "clarify" if ambiguity.kind == "missing_slot" else "scope_select"
    if verdict.answerability == "none":
        return "no_knowledge"
    return "answer" if verdict.answerability == "sufficient" else "rewrite"


def _missing_slots(
    verdict: _Verdict, ambiguity: Ambiguity | None, asked: Asked, measured: Features
) -> tuple[str, ...]:
    if ambiguity is not None:
        return ambiguity.missing
    if verdict.answerability == "sufficient":
        return ()
    lacking = specifics(asked, measured.missing)
    if verdict.answerability == "partial" and not asks(asked.cut.text):
        return ()  # A claim leaves nothing open: it is held against what there is.
    if verdict.answerability == "none":  # Nobody is asked about these; they say what was not found.
        lacking = lacking or measured.missing
    return texts.written(asked.cut.text, lacking)


def specifics(asked: Asked, missing: Sequence[str]) -> tuple[str, ...]:
    """The missing terms that a user can be asked about: names, numbers, words no document has.

    An ordinary word that the best passages happen to lack is put in other words there, and of a
    Chinese question what is missing is often only a seam between two words.
    """
    places = [texts.term_set(place) for place in asked.unknown_places]
    named = frozenset[str]().union(
        *asked.cut.names, *asked.unknown_codes, *places, _attribute(asked)
    )
    counted = texts.term_set(" ".join(sorted(asked.cut.numbers)))
    return tuple(term for term in missing if term in named | counted | asked.unknown)


# A share of the question that nobody would call "only".
_MOST_OF_IT = 0.8


def _reason(
    verdict: _Verdict, ambiguity: Ambiguity | None, asked: Asked, measured: Features
) -> str:
    if ambiguity is not None:
        return ambiguity.reason
    lacking = specifics(asked, measured.missing) or measured.missing
    shown = ", ".join(repr(word) for word in texts.written(asked.cut.text, lacking)[:4])
    covered = f"{measured.best_coverage:.0%} of the question's weight"
    if verdict.answerability == "sufficient":
        return f"The best passage covers {covered} and is close enough to answer it."
    if verdict.answerability == "none":
        without = f"; nothing was found on {shown}" if shown else ""
        if measured.best_coverage > _MOST_OF_IT:  # its words stand there, and say something else
            return f"The best passage has the question's words ({covered}), but is too far from it{without}."
        return f"The best passage covers only {covered}{without}."
    without = f" but nothing was found on {shown}" if shown else " only loosely"
    return f"The passages are related to the question ({covered}){without}."
