"""A folder with ``model.onnx`` and ``tokenizer.json``, opened for one text at a time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from anabranch.errors import ConfigurationError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

_KNOWN_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
# No token of a WordPiece vocabulary spans more than 100 characters, so beyond this many times the
# token limit only the time to split the text into words would grow.
CHARACTERS_A_TOKEN = 100


def open_model(folder: Path, *, what: str) -> tuple[Tokenizer, InferenceSession]:
    """The tokenizer and the session of a folder; ConfigurationError names ``what`` is wrong."""
    from onnxruntime import InferenceSession, SessionOptions
    from tokenizers import Tokenizer

    require_files(folder, what=what)
    options = SessionOptions()
    # One text has too little work for two threads; cores are used by several texts at once.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3  # errors only: warnings are about graph details
    try:
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        session = InferenceSession(str(folder / MODEL), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # both libraries raise direct subclasses of Exception, or itself
        raise ConfigurationError(
            f"The {what} in {str(folder)!r} cannot be loaded ({error}): install it again, or give a "
            f"folder with a working {MODEL} and {TOKENIZER}."
        ) from error
    # A published tokenizer may pad every text to a fixed length: wasted work with one text a call.
    tokenizer.no_padding()
    # "[SEP]" in a document is text that someone wrote, not an instruction to the model.
    tokenizer.encode_special_tokens = True
    inputs = {node.name for node in session.get_inputs()}
    if not {"input_ids", "attention_mask"} <= inputs <= _KNOWN_INPUTS:
        raise ConfigurationError(
            f"The {what} in {str(folder)!r} has the inputs {sorted(inputs)!r}: it needs input_ids "
            "and attention_mask, and may take token_type_ids."
        )
    return tokenizer, session


def feed_of(session: InferenceSession, tokens: Encoding) -> dict[str, npt.NDArray[np.int64]]:
    """One text, or one pair, as the model's inputs: a batch of one."""
    values: dict[str, Any] = {
        "input_ids": tokens.ids,
        "attention_mask": tokens.attention_mask,
        "token_type_ids": tokens.type_ids,
    }
    return {
        node.name: np.array([values[node.name]], dtype=np.int64) for node in session.get_inputs()
    }


def encodable(text: str) -> str:
    """``text`` with lone surrogates, which no tokenizer takes, as question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def require_files(folder: Path, *, what: str) -> None:
    """Raises ConfigurationError where one of the two files is missing."""
    for name in (MODEL, TOKENIZER):
        if not (folder / name).is_file():
            raise ConfigurationError(
                f"The {what}'s file {str(folder / name)!r} is not there: install it again, or give "
                f"a folder that holds {MODEL} and {TOKENIZER}."
            )


def usable_cores() -> int:
    """Cores that this process may run on: in a container often fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
