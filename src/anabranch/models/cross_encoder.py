"""A reranker in a folder: a cross-encoder as ``model.onnx`` with its ``tokenizer.json``.

A cross-encoder reads question and passage together and gives one number, or two of which the
second means "relevant" (Nogueira & Cho 2019, "Passage re-ranking with BERT").
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

import numpy as np

from anabranch.errors import ConfigurationError, RunError
from anabranch.models.onnx_session import (
    CHARACTERS_A_TOKEN,
    encodable,
    feed_of,
    open_model,
    require_files,
    usable_cores,
)

MAX_TOKENS = 512
# The question is never cut to make room for a passage; beyond this it leaves no room itself.
MOST_QUESTION_TOKENS = 256

Score = Callable[[str, str], float]


class CrossEncoder:
    """The ``Reranker`` port over a local model; the same pair gives the same score.

    Pairs are scored one a call, spread over ``threads`` threads: a batch would pad every pair to
    the longest, and a quantised model's score would depend on its neighbours.
    """

    def __init__(self, folder: Path, *, threads: int = 0) -> None:
        require_files(folder, what="reranker")
        self.folder = folder
        self._executor = ThreadPoolExecutor(
            threads or usable_cores(), thread_name_prefix="anabranch-rerank"
        )
        self._loading = Lock()
        self._score: Score | None = None

    async def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        """A score for each text: a logit, higher is better."""
        loop = asyncio.get_running_loop()
        pairs = [
            loop.run_in_executor(self._executor, self._scored, question, text) for text in texts
        ]
        try:
            return list(await asyncio.gather(*pairs))
        finally:
            for pair in pairs:  # cut off by a deadline: what has not begun need not be computed
                pair.cancel()

    async def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _scored(self, question: str, text: str) -> float:
        with self._loading:
            if self._score is None:
                self._score = _load(self.folder)
            score = self._score
        return score(question, text)


def _load(folder: Path) -> Score:
    tokenizer, session = open_model(folder, what="reranker")
    # One that cuts the second text of a pair refuses a single text, so a copy counts questions.
    counting = type(tokenizer).from_str(tokenizer.to_str())
    counting.no_truncation()
    tokenizer.enable_truncation(MAX_TOKENS, strategy="only_second")
    width = session.get_outputs()[0].shape
    if len(width) not in (1, 2) or (len(width) == 2 and width[1] not in (1, 2)):
        raise ConfigurationError(
            f"The reranker in {str(folder)!r} has an output of shape {width!r}: it needs one or two "
            "numbers for a pair."
        )
    name = session.get_outputs()[0].name

    def score(question: str, text: str) -> float:
        read = encodable(text)[: MAX_TOKENS * CHARACTERS_A_TOKEN]
        tokens = tokenizer.encode(_shortened(encodable(question)), read)
        logits = np.ravel(session.run([name], feed_of(session, tokens))[0])
        value = float(logits[-1] - logits[0]) if len(logits) == 2 else float(logits[0])
        if not np.isfinite(value):
            raise RunError(f"The reranker in {str(folder)!r} gave no finite score.")
        return value

    def _shortened(question: str) -> str:
        question = question[: MOST_QUESTION_TOKENS * CHARACTERS_A_TOKEN]
        offsets = counting.encode(question, add_special_tokens=False).offsets
        if len(offsets) <= MOST_QUESTION_TOKENS:
            return question
        return question[: offsets[MOST_QUESTION_TOKENS - 1][1]]

    return score
