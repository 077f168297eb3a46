"""Real models that are small enough to be made by a test: word tables in ONNX, with a tokenizer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def _tokenizer(words: Sequence[str], folder: Path) -> None:
    vocabulary = {word: number for number, word in enumerate((*SPECIAL, *words))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))


def _input(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])


def _save(nodes, inputs, outputs, constants, folder: Path) -> None:
    graph = helper.make_graph(
        nodes, "tiny", inputs, outputs,
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 10
    onnx.checker.check_model(model)
    onnx.save(model, str(folder / "model.onnx"))


def make_encoder(
    folder: Path, words: Sequence[str], *, output: str = "last_hidden_state", **config: object
) -> Path:
    """An encoder whose token vectors are one direction for each word, of length 2.

    With the output ``sentence_embedding`` it gives their mean instead, of whatever length.
    """
    pooled = output == "sentence_embedding"
    folder.mkdir(parents=True)
    _tokenizer(words, folder)
    table = 2 * np.eye(len(SPECIAL) + len(words), dtype=np.float32)
    width = table.shape[1]
    _save(
        [
            helper.make_node("Gather", ["table", "input_ids"], ["words"]),
            helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["mask", "last"], ["wide"]),
            helper.make_node("Mul", ["words", "wide"], ["tokens"]),
            helper.make_node("ReduceMean", ["tokens"], [output], axes=[1], keepdims=0)
            if pooled
            else helper.make_node("Identity", ["tokens"], [output]),
        ],
        [_input("input_ids"), _input("attention_mask")],
        [
            helper.make_tensor_value_info(
                output,
                TensorProto.FLOAT,
                ["batch", width] if pooled else ["batch", "length", width],
            )
        ],
        {"table": table, "last": np.array([-1], dtype=np.int64)},
        folder,
    )
    if config:
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def make_cross_encoder(
    folder: Path, worth: dict[str, float], *, logits: int = 1, token_types: bool = True
) -> Path:
    """A cross-encoder: the sum of what the passage's words are worth.

    The question's are left out, by the types of the tokens; without these they count too.
    """
    folder.mkdir(parents=True)
    _tokenizer(list(worth), folder)
    table = np.zeros((len(SPECIAL) + len(worth), logits), dtype=np.float32)
    table[len(SPECIAL) :, -1] = list(worth.values())
    counted = "token_type_ids" if token_types else "attention_mask"
    _save(
        [
            helper.make_node("Gather", ["table", "input_ids"], ["words"]),
            helper.make_node("Mul", ["attention_mask", counted], ["passage"]),
            helper.make_node("Cast", ["passage"], ["mask"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["mask", "last"], ["wide"]),
            helper.make_node("Mul", ["words", "wide"], ["counted"]),
            helper.make_node("ReduceSum", ["counted", "along"], ["logits"], keepdims=0),
        ],
        [_input(name) for name in dict.fromkeys(("input_ids", "attention_mask", counted))],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", logits])],
        {
            "table": table,
            "last": np.array([-1], dtype=np.int64),
            "along": np.array([1], dtype=np.int64),
        },
        folder,
    )
    return folder
