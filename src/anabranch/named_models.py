"""The models that settings name: embedders, rerankers, language models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.errors import ConfigurationError
from anabranch.ports import Embedder, Reranker
from anabranch.settings import Settings

if TYPE_CHECKING:
    from anabranch.models.chat_check import RoleCheck
    from anabranch.models.embedding_cache import EmbeddingCache
    from anabranch.models.endpoint import Endpoint
    from anabranch.privacy.personal_data import PersonalData

BUNDLED_NAME = "bundled"
# Names that stand for themselves, and kinds that a model's name follows.
_ALONE = ("bundled", "multilingual")
_WITH_MODEL = ("openai", "fastembed")


def full_name(name: str) -> str:
    """``name`` as it can be kept: a folder by its whole path, wherever it is opened from later."""
    if name in _ALONE or name.partition(":")[0] in _WITH_MODEL:
        return name
    return str(Path(name).expanduser().absolute())


async def choose_embedder(
    name: str, *, settings: Settings, cache: EmbeddingCache | None = None,
    dimensions: int | None = None, personal: PersonalData | None,
) -> Embedder:  # fmt: skip
    """The embedder called ``name``; ``dimensions`` is what an index of it has, where there is one.

    One behind a server does not see what is ``personal``.

    Raises ConfigurationError for a name that means nothing here, RemoteError where a server has
    to be asked for the width of its vectors and cannot be.
    """
    from anabranch.models.onnx_embedder import OnnxEmbedder

    kind, colon, model = name.partition(":")
    match name if kind in _ALONE and colon else kind:  # "bundled:…" is no embedder
        case "bundled":
            return OnnxEmbedder.bundled(threads=settings.threads, cache=cache)
        case "multilingual":
            from anabranch.models.multilingual import multilingual_folder

            folder = multilingual_folder(settings.models_dir)
            return OnnxEmbedder(folder, threads=settings.threads, cache=cache)
        case "openai":
            from anabranch.models.remote_embedder import RemoteEmbedder

            endpoint = _endpoint(
                settings.embedder_url, settings, setting="embedder_url", ending="embeddings",
                model=model, key=settings.embedder_key.get_secret_value(),
                timeout=settings.remote_timeout,
            )  # fmt: skip
            remote = RemoteEmbedder(endpoint, model=model, dimensions=dimensions, cache=cache)
            await remote.prepare()
            if personal is None:
                return remote
            from anabranch.privacy.guarded import AnonymizingEmbedder

            return AnonymizingEmbedder(remote, personal)
        case "fastembed":
            from anabranch.models.fastembed_models import FastembedEmbedder

            return FastembedEmbedder(model, cache=cache)
        case _:
            return OnnxEmbedder(
                _folder(name, setting="embedder"), threads=settings.threads, cache=cache
            )


def choose_reranker(settings: Settings, *, personal: PersonalData | None) -> Reranker | None:
    """The reranker that is set, or none; one behind a server does not see what is ``personal``.

    Raises ConfigurationError for one that cannot be.
    """
    if settings.reranker is None:
        return None
    kind, _, model = settings.reranker.partition(":")
    match kind:
        case "http":
            from anabranch.models.http_reranker import HttpReranker

            endpoint = _endpoint(
                settings.reranker_url, settings, setting="reranker_url", ending="rerank",
                model=model or "http:", key=settings.reranker_key.get_secret_value(),
                timeout=settings.reranker_timeout,
            )  # fmt: skip
            remote = HttpReranker(endpoint, model=model)
            if personal is None:
                return remote
            from anabranch.privacy.guarded import AnonymizingReranker

            return AnonymizingReranker(remote, personal)
        case "fastembed":
            from anabranch.models.fastembed_models import FastembedReranker

            return FastembedReranker(model)
        case _:
            from anabranch.models.cross_encoder import CrossEncoder

            folder = _folder(settings.reranker, setting="reranker")
            return CrossEncoder(folder, threads=settings.threads)


def _endpoint(
    url: str | None, settings: Settings, *,
    setting: str, model: str, ending: str, key: str, timeout: float,
) -> Endpoint:  # fmt: skip
    from anabranch.models.endpoint import Endpoint

    if not url or not model:
        raise ConfigurationError(
            f"A model behind a server needs its name and its address: the name is {model!r}, the "
            f"address {'set' if url else 'missing'}. Set ANABRANCH_{setting.upper()}, and the name "
            "behind the colon."
        )
    return Endpoint(
        url, ending=ending, key=key, timeout=timeout, concurrency=settings.remote_concurrency
    )


def _folder(name: str, *, setting: str) -> Path:
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise ConfigurationError(
            f"{setting} = {name!r} is neither a kind of model that is known nor a folder; "
            "docs/models.md lists the kinds."
        )
    return folder.absolute()


async def check_language_models(settings: Settings) -> list[RoleCheck]:
    """What the language model of each role does when it is asked; nothing where none is set.

    A provider that is busy is told of, not waited for.
    """
    from anabranch.models.chat_check import check_models
    from anabranch.models.chat_models import ChatModels
    from anabranch.reasoning.structured_reply import read_reply

    models = ChatModels(settings, tries_again=False)
    try:
        return await check_models(models, seconds=settings.model_timeout, read=read_reply)
    finally:
        await models.close()


@dataclass(frozen=True, slots=True)
class ModelHere:
    """An embedding model that runs on this machine: ``folder`` is None until it is made."""

    name: str
    languages: str
    dimensions: int
    megabytes: int
    folder: str | None


def models_here(settings: Settings) -> list[ModelHere]:
    """The embedding models that are here or can be made here."""
    from anabranch.models.multilingual import MEGABYTES, NAME, default_models_folder, is_made
    from anabranch.models.onnx_embedder import BUNDLED

    models = settings.models_dir or default_models_folder()
    made = str(models / NAME) if is_made(models) else None
    return [
        ModelHere("bundled", "English", 384, 23, str(BUNDLED)),
        ModelHere("multilingual", "Chinese and some ninety others", 384, MEGABYTES, made),
    ]


def make_model(settings: Settings, *, file: Path | None, say: Callable[[str], None]) -> Path:
    """Make the multilingual model (``models/multilingual.py``), or find it made; its folder."""
    from anabranch.models.multilingual import make_multilingual

    return make_multilingual(settings.models_dir, file=file, say=say)
