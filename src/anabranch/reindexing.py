"""The documents of a knowledge base embedded again, with another model, beside the live index."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from anabranch import manifest
from anabranch.build import personal_data
from anabranch.errors import InputError
from anabranch.named_models import choose_embedder, full_name
from anabranch.ports import Embedder
from anabranch.settings import Settings


async def reindex(
    folder: Path, settings: Settings, *, name: str, on_progress: Callable[[int, int], None]
) -> int:
    """Embed the documents in ``folder`` again, with the embedder called ``name``; sources done.

    It happens beside the live index, which answers meanwhile; at the end the manifest is replaced,
    and with it the index, in one step. An ended run is taken up again by the next one: what was
    embedded is not embedded twice. With the embedder that the index has, nothing happens.
    Raises InputError where there is no knowledge base, StorageError where another program is doing
    the same, and what ``choose_embedder`` raises.
    """
    from anabranch.models.embedding_cache import EmbeddingCache

    if manifest.read_manifest(folder) is None:
        raise InputError(f"There is no knowledge base in {str(folder)!r}.")
    name = full_name(name)
    embedder = await choose_embedder(
        name, settings=settings, cache=EmbeddingCache(folder / manifest.EMBEDDINGS),
        personal=personal_data(settings),
    )  # fmt: skip
    try:
        with manifest.only_one_reindexing(folder):
            # Read again: another program may have changed the model just before.
            found = manifest.read_manifest(folder)
            if found is None:
                raise InputError(f"The knowledge base in {str(folder)!r} was removed.")
            done = 0
            if embedder.fingerprint != found.embedder:
                found, done = await _replace_index(
                    folder, found, embedder, name=name, on_progress=on_progress
                )
            await asyncio.to_thread(manifest.remove_abandoned, folder, found)
            return done
    finally:
        await embedder.close()


async def _replace_index(
    folder: Path,
    found: manifest.Manifest,
    embedder: Embedder,
    *,
    name: str,
    on_progress: Callable[[int, int], None],
) -> tuple[manifest.Manifest, int]:
    """The manifest with an index by ``embedder`` in place of the one there was; sources embedded."""
    from anabranch.stores.lance import LanceStore
    from anabranch.stores.reembedding import carry_over, copy_reembedded

    width = embedder.dimensions
    target = manifest.store_beside(folder, found, embedder.fingerprint)
    live = await LanceStore.open(folder / found.store, dimensions=found.dimensions)
    beside = await LanceStore.open(folder / target, dimensions=width)
    try:
        made = await copy_reembedded(live, beside, embedder, on_progress=on_progress)
        await beside.optimize()
        # What was added while the index was made.
        last = await copy_reembedded(live, beside, embedder, on_progress=on_progress)
        changed = found.model_copy(
            update={
                "embedder": embedder.fingerprint, "embedder_name": name, "dimensions": width,
                "store": target, "retired": (*found.retired, found.store),
            }
        )  # fmt: skip
        await asyncio.to_thread(manifest.replace_manifest, folder, changed)
        # A writer that had the old index open until just now: its last documents.
        late = await carry_over(live, beside, embedder, since=last.states)
    finally:
        await beside.close()
        await live.close()
    return changed, made.count + last.count + late
