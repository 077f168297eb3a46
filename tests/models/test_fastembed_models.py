"""The fastembed extra: the adapter against a stand-in for the library, which is not installed here.

What the real library computes is run by nobody here, as ``docs/models.md`` says.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anabranch.errors import ConfigurationError, MissingExtraError
from anabranch.models.embedding_cache import EmbeddingCache
from anabranch.models.fastembed_models import FastembedEmbedder, FastembedReranker
from anabranch.ports import PassageText

LIBRARY = {
    "fastembed/__init__.py": """
import numpy as np

class TextEmbedding:
    made = []

    @classmethod
    def list_supported_models(cls):
        return [{"model": "some/encoder", "dim": 3}]

    def __init__(self, model_name):
        self.made.append(model_name)

    def query_embed(self, query):
        for text in query:
            yield np.array([2.0 * len(text), 0.0, 1.0], dtype=np.float32)

    def passage_embed(self, texts):
        for text in texts:
            yield np.array([0.0, 2.0 * len(text), 1.0], dtype=np.float32)
""",
    "fastembed/rerank/__init__.py": "",
    "fastembed/rerank/cross_encoder.py": """
class TextCrossEncoder:
    @classmethod
    def list_supported_models(cls):
        return [{"model": "some/reranker"}]

    def __init__(self, model_name):
        assert model_name == "some/reranker"

    def rerank(self, query, documents):
        for text in documents:
            yield text.count(query)
""",
    "fastembed-0.7.3.dist-info/METADATA": "Metadata-Version: 2.1\nName: fastembed\nVersion: 0.7.3\n",
}
absent = pytest.mark.skipif(
    importlib.util.find_spec("fastembed") is not None, reason="fastembed is installed"
)


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    home = tmp_path / "library"
    for name, text in LIBRARY.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(home))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "fastembed"]:
        del sys.modules[name]


@absent
@pytest.mark.parametrize("kind", [FastembedEmbedder, FastembedReranker])
def test_without_the_extra_the_command_that_installs_it_is_told(
    kind: Callable[[str], Any],
) -> None:
    with pytest.raises(MissingExtraError, match=r"pip install 'anabranch\[fastembed\]'"):
        kind("some/model")


@absent
@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("kind", [FastembedEmbedder, FastembedReranker])
def test_a_model_that_the_library_does_not_have_is_named(kind: Callable[[str], Any]) -> None:
    with pytest.raises(ConfigurationError, match="'some/other'"):
        kind("some/other")


@absent
@pytest.mark.usefixtures("library")
async def test_questions_and_passages_are_embedded_each_in_their_way(tmp_path: Path) -> None:
    def unit(*values: float) -> Iterable[float]:
        return np.array(values) / np.linalg.norm(values)

    embedder = FastembedEmbedder("some/encoder", cache=EmbeddingCache(tmp_path / "vectors.sqlite"))
    assert embedder.fingerprint == "fastembed:some/encoder@0.7"
    assert embedder.dimensions == 3
    asked = await embedder.embed_queries(["ab", "abc"])
    np.testing.assert_allclose(asked, [unit(4, 0, 1), unit(6, 0, 1)], atol=1e-6)
    for _ in range(2):  # the second time from the cache
        found = await embedder.embed_passages([PassageText("ab"), PassageText("b", "a")])
        np.testing.assert_allclose(
            [vectors.passage for vectors in found], [unit(0, 4, 1), unit(0, 6, 1)], atol=1e-6
        )
    assert (await embedder.embed_queries([])).shape == (0, 3)
    await embedder.close()


@absent
@pytest.mark.usefixtures("library")
async def test_a_reranker_scores_each_text() -> None:
    reranker = FastembedReranker("some/reranker")
    assert await reranker.rerank("a", ["b", "aa", "a"]) == [0.0, 2.0, 1.0]
    await reranker.close()
