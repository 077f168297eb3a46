"""The tool that makes the bundled encoder: it starts from the published weights or not at all."""

import hashlib
import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUNDLED = ROOT / "src" / "anabranch" / "models" / "minilm"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("make_minilm", ROOT / "tools" / "make_minilm.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_other_weights_are_refused_before_anything_is_built(tool, tmp_path, capsys):
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    output = tmp_path / "model.onnx"
    assert tool.main([str(tmp_path), str(output)]) == 3
    message = capsys.readouterr().err
    assert hashlib.sha256(b"other weights").hexdigest() in message
    assert tool.UPSTREAM_SHA256 in message
    assert not output.exists()


def test_missing_weights_are_named(tool, tmp_path, capsys):
    assert tool.main([str(tmp_path), str(tmp_path / "model.onnx")]) == 3
    assert "model.safetensors" in capsys.readouterr().err


def test_the_shipped_file_is_the_one_that_the_tool_makes(tool):
    assert tool.file_sha256(BUNDLED / "model.onnx") == tool.SHIPPED_SHA256


def test_the_provenance_page_names_the_shipped_files(tool):
    page = (BUNDLED / "README.md").read_text(encoding="utf-8")
    for name in ("model.onnx", "tokenizer.json"):
        assert f"| `{name}` | `{tool.file_sha256(BUNDLED / name)}` |" in page
    assert tool.UPSTREAM_SHA256 in page
