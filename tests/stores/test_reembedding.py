"""Documents embedded by another model, table to table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from anabranch.errors import RemoteError
from anabranch.ports import PassageVectors
from anabranch.stores.lance import LanceStore
from anabranch.stores.reembedding import carry_over, copy_reembedded
from anabranch.types import Scope
from store_samples import DIMENSIONS, indexed

WIDTH = DIMENSIONS + 3


class WiderEmbedder:
    """Vectors of another width, from the length of a text; ``fails_after`` texts it raises."""

    fingerprint = "wider@1"
    dimensions = WIDTH
    languages = None

    def __init__(self, *, fails_after: int | None = None) -> None:
        self.texts: list[str] = []
        self._fails_after = fails_after

    async def embed_passages(self, passages):
        if self._fails_after is not None and len(self.texts) >= self._fails_after:
            raise RemoteError("the server went away")
        self.texts += [passage.text for passage in passages]
        return [PassageVectors(*self._vectors(passage.text)) for passage in passages]

    def _vectors(self, text):
        vector = np.ones(WIDTH, dtype=np.float32)
        vector[0] = len(text)
        return vector / np.linalg.norm(vector), np.full((2, WIDTH), 7, dtype=np.int8)

    async def embed_queries(self, texts):
        return np.array([self._vectors(text)[0] for text in texts])

    async def close(self) -> None:
        pass


@pytest.fixture
async def stores(tmp_path: Path):
    source = await LanceStore.open(tmp_path / "a", dimensions=DIMENSIONS)
    target = await LanceStore.open(tmp_path / "b", dimensions=WIDTH)
    yield source, target
    await source.close()
    await target.close()


def quiet(done: int, total: int) -> None:
    pass


async def test_everything_but_the_vectors_stays_what_it_was(stores):
    source, target = stores
    await source.replace(
        [indexed("a.md", "one leaf", "another one"), indexed("b.md", "of b", collection="other")]
    )
    copied = await copy_reembedded(source, target, WiderEmbedder(), on_progress=quiet)
    assert copied.count == 2
    assert copied.states == await source.states()
    assert await target.sources(Scope()) == await source.sources(Scope())
    assert await target.fingerprint(Scope()) == await source.fingerprint(Scope())
    for record in await source.sources(Scope()):
        before = await source.source_text(record.source_id, Scope())
        assert await target.source_text(record.source_id, Scope()) == before


async def test_the_new_vectors_and_windows_are_found(stores):
    source, target = stores
    await source.replace([indexed("a.md", "one leaf", "another one")])
    embedder = WiderEmbedder()
    await copy_reembedded(source, target, embedder, on_progress=quiet)
    [hits] = await target.search_dense(
        await embedder.embed_queries([embedder.texts[0]]), limit=10, scope=Scope()
    )
    assert hits[0].score == pytest.approx(1.0, abs=1e-5)
    windows = await target.windows([hits[0].chunk.chunk_id], Scope())
    assert windows[hits[0].chunk.chunk_id].shape == (2, WIDTH)


async def test_a_run_that_was_ended_goes_on_where_it_was(stores):
    source, target = stores
    await source.replace([indexed(f"{number:02}.md", f"leaf {number}") for number in range(40)])
    with pytest.raises(RemoteError):
        await copy_reembedded(source, target, WiderEmbedder(fails_after=1), on_progress=quiet)
    there = len(await target.sources(Scope()))
    assert 0 < there < 40
    again = WiderEmbedder()
    copied = await copy_reembedded(source, target, again, on_progress=quiet)
    assert copied.count == 40 - there
    assert len(await target.sources(Scope())) == 40


async def test_what_changes_meanwhile_is_copied_and_what_goes_is_removed(stores):
    source, target = stores
    await source.replace([indexed("a.md", "one leaf", "another one"), indexed("b.md", "of b")])
    await copy_reembedded(source, target, WiderEmbedder(), on_progress=quiet)
    removed = next(r for r in await source.sources(Scope()) if r.source == "b.md")
    await source.remove([removed.source_id])
    await source.replace([indexed("c.md", "of c")])
    copied = await copy_reembedded(source, target, WiderEmbedder(), on_progress=quiet)
    assert copied.count == 1
    assert [r.source for r in await target.sources(Scope())] == ["a.md", "c.md"]


async def test_what_came_late_is_carried_over_and_what_the_new_table_got_stays(stores):
    source, target = stores
    embedder = WiderEmbedder()
    await source.replace([indexed("a.md", "one leaf"), indexed("b.md", "of b")])
    copied = await copy_reembedded(source, target, embedder, on_progress=quiet)
    await source.replace([indexed("late.md", "written to the old table")])
    gone = next(r for r in await target.sources(Scope()) if r.source == "b.md")
    await target.remove([gone.source_id])
    assert await carry_over(source, target, embedder, since=copied.states) == 1
    assert [r.source for r in await target.sources(Scope())] == ["a.md", "late.md"]
