"""Grading without a model server: do the passages answer the question, and how sure is that?

A logistic regression over the features of ``passages.py``. Its coefficients and thresholds are in
``grade_model.json``, fitted by ``tools/fit_grader.py``; ambiguity is judged in ``ambiguity.py``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Literal

from anabranch import language
from anabranch.lexicon import Lexicon
from anabranch.reasoning import passages as features
from anabranch.reasoning.ambiguity import Ambiguity, several_candidates, unresolved_reference
from anabranch.types import EvidenceGrade, GradeRoute, Passage, Turn

ModelName = Literal["dense", "lexical", "cjk"]
# Share of CJK characters from which a question counts as Chinese (or Japanese, Korean): the
# bundled encoder gives such text cosines that mean nothing.
_CJK_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class GradeModel:
    """A fitted logistic regression; confidence below ``weak`` is no evidence at all."""

    names: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    coefficients: tuple[float, ...]
    intercept: float
    weak: float
    sufficient: float

    def confidence(self, values: Mapping[str, float]) -> float:
        """The chance that the evidence answers, from feature values."""
        z = self.intercept + sum(
            coefficient * (values[name] - mean) / scale
            for name, mean, scale, coefficient in zip(
                self.names, self.means, self.scales, self.coefficients, strict=True
            )
        )
        return 1.0 / (1.0 + math.exp(-z))


@lru_cache(maxsize=1)
def load_models() -> Mapping[ModelName, GradeModel]:
    """The fitted models that ship with the package."""
    file = resources.files("anabranch.reasoning").joinpath("grade_model.json")
    stored = json.loads(file.read_text(encoding="utf-8"))["models"]
    return {
        name: GradeModel(
            names=tuple(model["features"]),
            means=tuple(model["means"]),
            scales=tuple(model["scales"]),
            coefficients=tuple(model["coefficients"]),
            intercept=model["intercept"],
            weak=model["weak_threshold"],
            sufficient=model["sufficient_threshold"],
        )
        for name, model in stored.items()
    }


class LocalGrader:
    """Grades by term coverage and cosine; deterministic, no model call.

    ``use_similarity`` is for encoders whose cosines are on another scale than the bundled one's:
    False judges by words alone.
    """

    def __init__(self, *, use_similarity: bool = True) -> None:
        self._use_similarity = use_similarity

    async def grade(
        self,
        question: str,
        passages: Sequence[Passage],
        *,
        history: Sequence[Turn],
        lexicon: Lexicon,
    ) -> EvidenceGrade:
        if not passages:
            return EvidenceGrade(
                "none", "none", route="no_knowledge", reason="No passage was found at all."
            )
        asked = features.cut_question(question)
        weights = features.term_weights(asked.terms, question, passages, lexicon=lexicon)
        measured = features.measure(asked, passages, weights)
        model = self._model(question, measured)
        confidence = model.confidence(measured.values())
        relevance = tuple(
            self._single(question, features.measure(asked, [passage], weights))
            for passage in passages
        )
        missing = features.written(question, measured.missing)
        verdict = _verdict(
            model, confidence, beside=_names_something_else(asked, measured, lexicon)
        )
        ambiguity = unresolved_reference(question, history)
        if ambiguity is None and verdict.answerability != "none":
            ambiguity = several_candidates(
                asked, passages, relevance, weights=weights, history=history, floor=model.weak
            )
        return EvidenceGrade(
            relevance=verdict.relevance,
            answerability=verdict.answerability,
            ambiguity=ambiguity.kind if ambiguity else "none",
            confidence=confidence,
            missing_slots=_missing_slots(verdict, ambiguity, missing),
            reason=_reason(verdict, ambiguity, missing, measured),
            route=_route(verdict, ambiguity),
            hitl_prompt=ambiguity.prompt if ambiguity else "",
            hitl_options=ambiguity.options if ambiguity else (),
            passage_relevance=relevance,
            features=measured.values(),
        )

    def _model(self, question: str, measured: features.Features) -> GradeModel:
        models = load_models()
        if language.cjk_share(question) > _CJK_SHARE:
            return models["cjk"]
        dense = self._use_similarity and measured.similarity is not None
        return models["dense" if dense else "lexical"]

    def _single(self, question: str, measured: features.Features) -> float:
        return self._model(question, measured).confidence(measured.values())


@dataclass(frozen=True, slots=True)
class _Verdict:
    relevance: Literal["none", "weak", "strong"]
    answerability: Literal["none", "partial", "sufficient"]


def _verdict(model: GradeModel, confidence: float, *, beside: bool) -> _Verdict:
    if confidence < model.weak:
        return _Verdict("none", "none")
    if confidence < model.sufficient:
        return _Verdict("weak", "partial")
    return _Verdict("strong", "partial" if beside else "sufficient")


def _names_something_else(
    asked: features.CutQuestion, measured: features.Features, lexicon: Lexicon
) -> bool:
    """Whether most of what the question names or counts by is in no document at all.

    Then the passages are about something close to it. A name that is merely absent from the best
    passages proves nothing: they may write it in another way (8 % of the answerable questions
    that the model was fitted on).
    """
    if measured.names_absent <= 0.5 and measured.numbers_absent <= 0.5:
        return False
    named = frozenset[str]().union(*asked.names, features.term_set(" ".join(sorted(asked.numbers))))
    lacking = features.written(asked.text, [term for term in measured.missing if term in named])
    known = lexicon.words.keys()
    return any(
        language.fold(part) not in known and not language.has_cjk(part)
        for word in lacking
        for part in language.words(word)
    )


def _route(verdict: _Verdict, ambiguity: Ambiguity | None) -> GradeRoute:
    if ambiguity is not None:
        return "clarify" if ambiguity.kind == "missing_slot" else "scope_select"
    if verdict.answerability == "none":
        return "no_knowledge"
    return "answer" if verdict.answerability == "sufficient" else "rewrite"


def _missing_slots(
    verdict: _Verdict, ambiguity: Ambiguity | None, missing: tuple[str, ...]
) -> tuple[str, ...]:
    if ambiguity is not None:
        return ambiguity.missing
    return () if verdict.answerability == "sufficient" else missing


def _reason(
    verdict: _Verdict,
    ambiguity: Ambiguity | None,
    missing: tuple[str, ...],
    measured: features.Features,
) -> str:
    if ambiguity is not None:
        return ambiguity.reason
    lacking = ", ".join(repr(word) for word in missing[:4])
    covered = f"{measured.passage_coverage:.0%} of the question's weight"
    if verdict.answerability == "sufficient":
        return f"The best passage covers {covered} and is close enough to answer it."
    if verdict.answerability == "none":
        without = f"; nothing was found on {lacking}" if lacking else ""
        return f"The best passage covers only {covered}{without}."
    without = f" but nothing was found on {lacking}" if lacking else " only loosely"
    return f"The passages are related to the question ({covered}){without}."
