"""Rewriting a question whose evidence was weak, once: a step back, or towards the documents' words.

A step back (Zheng et al. 2023, "Take a Step Back") leaves out the specifics that nothing matches,
and keeps what the question is about: where that is what nothing matches, there is nothing to rewrite.
The other way adds the words that stand beside the question's own in the best passages, which is
what a hypothetical document (Gao et al. 2022, HyDE) adds where there is a model to write one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from anabranch import language
from anabranch.lexicon import Lexicon
from anabranch.reasoning import passages as features
from anabranch.types import EvidenceGrade, Passage, Rewrite

# So few terms, without any of the names, say what is asked but not of what.
_BARE_ATTRIBUTE = 2
_FEEDBACK_PASSAGES = 3
_FEEDBACK_TERMS = 5
_WORD = re.compile(r"[^\W\d_](?:[^\W_]|['’-](?=[^\W_]))+")
# Runs of Chinese between function words are about as long as words and short phrases.
_CHINESE_GLUE = re.compile(
    r"[的了是在和与及或有为以于之将被把对从到由等并其该此这那不也就而但所]|[^一-鿿]"
)
_LONGEST_CHINESE = 4


class LocalRewriter:
    """Rewrites by rule from what the passages hold; deterministic, no model call."""

    async def rewrite(
        self,
        question: str,
        passages: Sequence[Passage],
        grade: EvidenceGrade,
        *,
        lexicon: Lexicon,
    ) -> Rewrite | None:
        asked = features.cut_question(question)
        found: frozenset[str] = frozenset()
        for passage in passages[: features.GRADED_PASSAGES]:
            found |= features.around(passage)
        missing = [term for term in asked.terms if term not in found]
        dropped = _specifics(asked, missing, lexicon=lexicon)
        kept = [term for term in asked.terms if term not in dropped]
        if dropped and kept:
            if _drops_the_subject(asked, kept, dropped):
                return None
            return _step_back(question, kept, dropped)
        return _fuller(asked, passages, lexicon=lexicon)


def _specifics(
    asked: features.CutQuestion, missing: Sequence[str], *, lexicon: Lexicon
) -> frozenset[str]:
    """Missing terms that narrow the question: names, numbers, words the documents don't have.

    A missing word that other documents do use is not dropped: there it may still be found.
    """
    named = frozenset[str]().union(*asked.names)
    counted = features.term_set(" ".join(sorted(asked.numbers)))
    written = {term: features.written(asked.text, [term]) for term in missing}
    return frozenset(
        term
        for term in missing
        if term in named or term in counted or not _known(term, written[term], lexicon)
    )


def _drops_the_subject(
    asked: features.CutQuestion, kept: Sequence[str], dropped: frozenset[str]
) -> bool:
    """Whether a step back would ask about something else: "warranty" of "warranty of the Sandpiper".

    In a longer question a name is often one detail of several.
    """
    return (
        bool(asked.names)
        and len(kept) <= _BARE_ATTRIBUTE
        and all(name <= dropped for name in asked.names)
    )


def _known(term: str, spellings: Sequence[str], lexicon: Lexicon) -> bool:
    return any(language.fold(word) in lexicon.words for word in (term, *spellings))


def _step_back(question: str, kept: Sequence[str], dropped: frozenset[str]) -> Rewrite | None:
    query = " ".join(features.written(question, kept))
    left_out = features.written(question, dropped)
    if not query or frozenset(language.question_terms(query)) == frozenset((*kept, *dropped)):
        return None
    shown = ", ".join(repr(word) for word in left_out)
    return Rewrite("step_back", query, f"Nothing was found on {shown}; asking without it.")


def _fuller(
    asked: features.CutQuestion, passages: Sequence[Passage], *, lexicon: Lexicon
) -> Rewrite | None:
    added = _companions(asked, passages[:_FEEDBACK_PASSAGES], lexicon=lexicon)
    if not added:
        return None
    query = " ".join((asked.text.strip().rstrip("?？。."), *added))
    shown = ", ".join(repr(word) for word in added)
    return Rewrite("hyde", query, f"The words match loosely; added {shown} from the best passages.")


def _companions(
    asked: features.CutQuestion, passages: Sequence[Passage], *, lexicon: Lexicon
) -> tuple[str, ...]:
    """The words that stand with the question's own, strongest first.

    Weight is occurrences times rarity times the rank score of their passage; sentences that hold
    a word of the question count double.
    """
    terms = frozenset(asked.terms)
    weights: dict[str, float] = {}
    spelling: dict[str, str] = {}
    for rank, passage in enumerate(passages):
        text = passage.chunk.text
        for sentence in features.cut(text).sentences:
            near = 2.0 if sentence.term_set & terms else 1.0
            for word in _content_words(text[sentence.start : sentence.end]):
                key = word if language.has_cjk(word) else language.stem(word)
                if key in terms or features.term_set(word) <= terms or len(word) < 2:
                    continue
                spelling.setdefault(key, word)
                weight = near * _rarity(word, lexicon) / (1 + rank)
                weights[key] = weights.get(key, 0.0) + weight
    chosen: list[str] = []
    for key, _ in sorted(weights.items(), key=lambda item: (-item[1], item[0])):
        if not any(key in other or other in key for other in chosen):
            chosen.append(key)
        if len(chosen) == _FEEDBACK_TERMS:
            break
    return tuple(spelling[key] for key in chosen)


def _content_words(text: str) -> list[str]:
    """Words of a sentence that could carry a search; of Chinese its runs and their short parts."""
    if not language.has_cjk(text):
        folded = (language.fold(word) for word in _WORD.findall(text))
        return [w for w in folded if w not in language.ENGLISH_STOP_WORDS and len(w) > 2]
    found: list[str] = []
    for run in _CHINESE_GLUE.split(text):
        if 2 <= len(run) <= _LONGEST_CHINESE:
            found.append(run)
        else:
            found.extend(run[i : i + 2] for i in range(0, len(run) - 1, 2))
    return found


def _rarity(word: str, lexicon: Lexicon) -> float:
    known = min(lexicon.words.get(word, 0), lexicon.document_count)
    return 1.0 + math.log((lexicon.document_count + 1) / (known + 1))
