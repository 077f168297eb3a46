"""Settings become parts: which embedder and reranker a name stands for, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from anabranch import KnowledgeBase, ModelMismatchError, RemoteError
from anabranch.errors import ConfigurationError
from anabranch.manifest import read_manifest
from anabranch.models.cross_encoder import CrossEncoder
from anabranch.models.http_reranker import HttpReranker
from anabranch.models.onnx_embedder import OnnxEmbedder
from anabranch.named_models import choose_embedder, choose_reranker, full_name
from anabranch.settings import Settings, load_settings
from model_server import ModelServer, Reply
from tiny_models import make_cross_encoder, make_encoder

KEY = "sk-very-secret"
WORDS = ("tern", "gull", "nest", "nests", "island", "eats", "fish", "where", "does", "the", "on")
MORE_WORDS = (*WORDS, "?", ".")


def bag_of_words(request: Any) -> Reply:
    """A direction for each word of ``WORDS``, and one that every text has."""
    texts = [text.lower().replace("?", " ").replace(".", " ").split() for text in request["input"]]
    data = [
        {"index": index, "embedding": [1.0, *(float(words.count(word)) for word in WORDS)]}
        for index, words in enumerate(texts)
    ]
    return Reply({"object": "list", "data": data})


def written(folder: Path) -> Path:
    folder.mkdir()
    (folder / "tern.md").write_text("The tern nests on the island.", encoding="utf-8")
    (folder / "gull.md").write_text("The gull eats fish.", encoding="utf-8")
    return folder


def behind(url: str, **more: Any) -> Settings:
    return load_settings(
        embedder="openai:small", embedder_url=url, embedder_key=KEY, remote_timeout=5.0, **more
    )


# -------------------------------------------------------------------------------------- embedders


async def test_bundled_is_the_encoder_of_the_package() -> None:
    embedder = await choose_embedder("bundled", settings=load_settings(), personal=None)
    assert embedder.fingerprint.startswith("minilm@")
    assert embedder.languages == {"en"}
    await embedder.close()


async def test_a_folder_is_the_encoder_in_it(tmp_path: Path) -> None:
    folder = make_encoder(tmp_path / "tiny", WORDS, languages=["de"])
    embedder = await choose_embedder(str(folder), settings=load_settings(), personal=None)
    assert isinstance(embedder, OnnxEmbedder)
    assert embedder.folder == folder
    assert embedder.languages == {"de"}
    await embedder.close()


async def test_the_width_of_a_remote_embedder_is_asked_for_once_and_not_where_it_is_known() -> None:
    with ModelServer(bag_of_words) as server:
        asked = await choose_embedder("openai:small", settings=behind(server.url), personal=None)
        known = await choose_embedder(
            "openai:small", settings=behind(server.url), dimensions=12, personal=None
        )
        assert asked.dimensions == known.dimensions == len(WORDS) + 1
        assert asked.fingerprint == known.fingerprint
        assert len(server.requests) == 1
        assert server.paths == ["/v1/model/embeddings"]
        for embedder in (asked, known):
            await embedder.close()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("bundeld", "'bundeld' is neither"),
        ("bundled:small", "'bundled:small' is neither"),
        ("multilingual:", "'multilingual:' is neither"),
        ("openai:small", "ANABRANCH_EMBEDDER_URL"),
        ("openai:", "ANABRANCH_EMBEDDER_URL"),
        ("openai", "ANABRANCH_EMBEDDER_URL"),
        ("multilingual", "anabranch models add multilingual"),
    ],
)
async def test_a_name_that_means_nothing_here_is_refused(
    name: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=told):
        await choose_embedder(name, settings=load_settings(models_dir=tmp_path), personal=None)


def test_a_folder_is_remembered_by_its_whole_path_and_a_name_as_it_is(tmp_path: Path) -> None:
    names = ["bundled", "multilingual", "openai:some/model", "fastembed:some/model"]
    assert [full_name(name) for name in names] == names
    assert full_name(str(tmp_path)) == str(tmp_path)
    assert full_name("models/tiny") == str(Path.cwd() / "models" / "tiny")
    assert full_name("~/tiny") == os.path.expanduser("~/tiny")


# -------------------------------------------------------------------------------------- rerankers


def test_without_a_setting_there_is_no_reranker() -> None:
    assert choose_reranker(load_settings(), personal=None) is None


async def test_a_reranker_is_a_folder_or_behind_an_address(tmp_path: Path) -> None:
    folder = make_cross_encoder(tmp_path / "tiny", {"tern": 1.0})
    local = choose_reranker(load_settings(reranker=str(folder)), personal=None)
    remote = choose_reranker(
        load_settings(reranker="http:", reranker_url="http://127.0.0.1:9"), personal=None
    )
    assert isinstance(local, CrossEncoder)
    assert isinstance(remote, HttpReranker)
    await local.close()
    await remote.close()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"reranker": "small"}, "reranker = 'small' is neither"),
        ({"reranker": "http:small"}, "ANABRANCH_RERANKER_URL"),
        ({"reranker": "http:small", "reranker_url": "host/rerank"}, "not an address"),
    ],
)
def test_a_reranker_that_cannot_be_is_refused_when_the_knowledge_base_is_opened(
    settings: dict[str, str], told: str, tmp_path: Path
) -> None:
    with (
        pytest.raises(ConfigurationError, match=told),
        KnowledgeBase.open(tmp_path / "kb", settings=load_settings(**settings)) as base,
    ):
        base.add(written(tmp_path / "docs"))
    assert read_manifest(tmp_path / "kb") is None


@pytest.mark.parametrize("name", ["embedder_key", "reranker_key", "embeder_key"])
def test_a_key_is_in_no_message_about_settings(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(f'{name} = ["{KEY}"]\n', encoding="utf-8")
    monkeypatch.setenv("ANABRANCH_CONFIG", str(file))
    with pytest.raises(ConfigurationError, match=f"{name} = \\(hidden\\)") as refused:
        load_settings()
    assert KEY not in str(refused.value)


# ------------------------------------------------------------------------- behind a knowledge base


def test_a_knowledge_base_over_a_remote_embedder_is_searched_by_its_vectors(
    tmp_path: Path,
) -> None:
    with (
        ModelServer(bag_of_words) as server,
        KnowledgeBase.open(tmp_path / "kb", settings=behind(server.url)) as base,
    ):
        base.add(written(tmp_path / "docs"))
        outcome = base.retrieve("Where does the tern nest?", effort="minimal")
    assert [item.title for item in outcome.evidence][:1] == ["tern"]
    assert outcome.failures == ()
    assert all(headers["Authorization"] == f"Bearer {KEY}" for headers in server.headers)
    made = read_manifest(tmp_path / "kb")
    assert made is not None
    assert (made.embedder_name, made.dimensions) == ("openai:small", len(WORDS) + 1)
    assert KEY not in (tmp_path / "kb" / "manifest.json").read_text()


def test_it_opens_without_its_server_and_searches_the_words_while_that_is_away(
    tmp_path: Path,
) -> None:
    with ModelServer(bag_of_words) as server:
        url = server.url
        with KnowledgeBase.open(tmp_path / "kb", settings=behind(url)) as base:
            base.add(written(tmp_path / "docs"))
    # What it was made with is remembered; only the address is a setting.
    later = load_settings(embedder_url=url, embedder_key=KEY)
    with KnowledgeBase.open(tmp_path / "kb", settings=later) as base:
        outcome = base.retrieve("Where does the tern nest?", effort="minimal")
    assert [item.title for item in outcome.evidence][:1] == ["tern"]
    assert {failure.kind for failure in outcome.failures} == {"RemoteError"}
    assert all(KEY not in failure.detail for failure in outcome.failures)
    assert outcome.status != "failed"


def test_without_its_server_none_is_made(tmp_path: Path) -> None:
    with ModelServer(bag_of_words) as server:
        url = server.url
    with (
        KnowledgeBase.open(tmp_path / "kb", settings=behind(url)) as base,
        pytest.raises(RemoteError, match="cannot be reached"),
    ):
        base.add(written(tmp_path / "docs"))
    assert read_manifest(tmp_path / "kb") is None


def test_another_remote_model_is_refused_with_the_command_that_changes_to_it(
    tmp_path: Path,
) -> None:
    with ModelServer(bag_of_words) as server:
        with KnowledgeBase.open(tmp_path / "kb", settings=behind(server.url)) as base:
            base.add(written(tmp_path / "docs"))
        other = load_settings(embedder="openai:large", embedder_url=server.url)
        with (
            pytest.raises(ModelMismatchError, match="anabranch reindex --model openai:large"),
            KnowledgeBase.open(tmp_path / "kb", settings=other) as base,
        ):
            base.sources()


def test_a_knowledge_base_over_a_folder_finds_it_again_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_encoder(tmp_path / "models" / "tiny", MORE_WORDS)
    documents = written(tmp_path / "docs")
    monkeypatch.chdir(tmp_path)
    made = load_settings(embedder="models/tiny")
    with KnowledgeBase.open(tmp_path / "kb", settings=made) as base:
        base.add(documents)
    monkeypatch.chdir(documents)
    with KnowledgeBase.open(tmp_path / "kb") as base:
        outcome = base.retrieve("Where does the tern nest?", effort="minimal")
    assert [item.title for item in outcome.evidence][:1] == ["tern"]
    assert outcome.failures == ()
