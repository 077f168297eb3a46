"""The bundled encoder for programs that do not have Anabranch installed: the same vectors, bit by bit.

Only NumPy, ONNX Runtime and tokenizers are needed, so that each peer's environment can have it.
A test compares it with ``anabranch.models.onnx_embedder``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

MODEL = Path(__file__).parents[2] / "src" / "anabranch" / "models" / "minilm"
DIMENSIONS = 384
# As in onnx_embedder: tokens that are read, and characters beyond which no token can matter.
MOST_TOKENS = 256
MOST_CHARACTERS = MOST_TOKENS * 100


class Encoder:
    """Texts to unit vectors of 32-bit floats; ``known`` vectors are looked up, not computed.

    One text a call, as Anabranch does it: with dynamic quantisation a vector would otherwise
    depend on what else is in the call. Several texts are spread over the cores. ``runs`` counts
    the calls of the model.
    """

    def __init__(self, known: Mapping[str, Any] | None = None, *, folder: Path = MODEL) -> None:
        self._folder = folder
        self._known = known or {}
        self._threads = ThreadPoolExecutor(len(os.sched_getaffinity(0)), "encoder")
        self._session: Any = None
        self._tokenizer: Any = None
        self.runs = 0

    def load(self) -> None:
        """Read the model now, so that no measured call does."""
        from onnxruntime import InferenceSession, SessionOptions
        from tokenizers import Tokenizer

        options = SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(MOST_TOKENS)
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer
        self._session = InferenceSession(
            str(self._folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )

    def one(self, text: str) -> Any:
        """The vector of one text, shape (384,)."""
        import numpy as np

        if text in self._known:
            return self._known[text]
        if self._session is None:
            self.load()
        cleaned = text.encode("utf-8", "replace").decode("utf-8")
        tokens = self._tokenizer.encode(cleaned[:MOST_CHARACTERS])
        feed = {
            "input_ids": np.array([tokens.ids], dtype=np.int64),
            "attention_mask": np.array([tokens.attention_mask], dtype=np.int64),
        }
        self.runs += 1
        return self._session.run(["sentence_embedding"], feed)[0][0]

    def many(self, texts: Sequence[str]) -> Any:
        """The vectors of ``texts``, shape (texts, 384), computed on all cores."""
        import numpy as np

        if self._session is None and any(text not in self._known for text in texts):
            self.load()
        if len(texts) == 1 or all(text in self._known for text in texts):
            rows = [self.one(text) for text in texts]
        else:
            rows = list(self._threads.map(self.one, texts))
        return np.array(rows, dtype=np.float32).reshape(len(texts), DIMENSIONS)
