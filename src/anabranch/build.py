"""Settings -> parts. The only file that knows every implementation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anabranch import manifest
from anabranch.ports import Parts
from anabranch.reading import Reader
from anabranch.settings import Settings


@dataclass(frozen=True, slots=True)
class Built:
    """An open knowledge base: its parts, what reads files for it, and its signing key."""

    parts: Parts
    reader: Reader
    signing_key: bytes
    format_version: int = manifest.FORMAT_VERSION

    async def close(self) -> None:
        await self.reader.close()
        await self.parts.embedder.close()
        await self.parts.store.close()


async def build(folder: Path, settings: Settings, *, create: bool) -> Built | None:
    """The parts over the knowledge base in ``folder``.

    None where there is none and ``create`` is false. Raises what ``manifest`` raises for a folder
    that does not fit.
    """
    from anabranch.models.embedding_cache import EmbeddingCache
    from anabranch.models.onnx_embedder import OnnxEmbedder
    from anabranch.reasoning.answering import LocalAnswerer
    from anabranch.reasoning.grading import LocalGrader
    from anabranch.reasoning.planning import LocalPlanner
    from anabranch.reasoning.rewriting import LocalRewriter
    from anabranch.stores.lance import LanceStore
    from anabranch.stores.mirror import MirroredStore

    found = manifest.read_manifest(folder)
    if found is None and not create:
        return None
    cache = EmbeddingCache(folder / manifest.EMBEDDINGS)
    embedder = OnnxEmbedder.bundled(threads=settings.threads, cache=cache)
    if found is None:
        found = manifest.ensure_manifest(
            folder, embedder=embedder.fingerprint, dimensions=embedder.dimensions
        )
    manifest.check_model(found, folder, embedder.fingerprint)
    stored = await LanceStore.open(folder / manifest.STORE, dimensions=found.dimensions)
    parts = Parts(
        store=MirroredStore(stored),
        embedder=embedder,
        planner=LocalPlanner(),
        grader=LocalGrader(),
        rewriter=LocalRewriter(),
        answerer=LocalAnswerer(),
    )
    reader = Reader(
        max_file_mb=settings.max_file_mb,
        timeout=settings.read_timeout,
        passwords=settings.pdf_passwords,
    )
    return Built(parts, reader, manifest.read_signing_key(folder), found.format_version)
