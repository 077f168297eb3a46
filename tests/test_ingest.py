"""Adding: what is under way at once, what is stored when, and what an end before the end leaves."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from anabranch.errors import ReadingError, RunError, StorageError
from anabranch.ingest import (
    BATCH_LEAVES,
    BYTES_AT_ONCE,
    FILES_AT_ONCE,
    Ingestion,
    IngestProgress,
)
from anabranch.ports import IndexedDocument, PassageText, PassageVectors
from anabranch.source_files import SourceFile, SourceText
from anabranch.stores.memory import MemoryStore
from anabranch.types import Document, Scope
from store_samples import DIMENSIONS, vector_of

MANY = 3 * BATCH_LEAVES


def document(name: str, text: str = "") -> Document:
    text = text or f"What {name} says, and nothing else."
    return Document(name, name, text, content_hash=f"hash of {text}", media_type="text/plain")


def texts(count: int) -> list[SourceText]:
    """Documents of one leaf each."""
    return [SourceText(document(f"{number:04}.txt")) for number in range(count)]


class Counter:
    """A number that can be waited for."""

    def __init__(self) -> None:
        self.value = 0
        self._more = asyncio.Condition()

    async def add(self, number: int) -> None:
        async with self._more:
            self.value += number
            self._more.notify_all()

    async def until(self, value: int) -> None:
        async with self._more:
            await self._more.wait_for(lambda: self.value >= value)


class Embedder:
    """Vectors of words; ``asked`` counts the passages."""

    fingerprint, dimensions, languages = "words", DIMENSIONS, None

    def __init__(self, *, fails_after: int | None = None) -> None:
        self.asked = Counter()
        self.fails_after = fails_after

    async def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        raise NotImplementedError

    async def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
        await self.asked.add(len(passages))
        if self.fails_after is not None and self.asked.value > self.fails_after:
            raise RunError("The embedder is gone.")
        none = np.zeros((0, DIMENSIONS), dtype=np.int8)
        return [PassageVectors(vector_of(passage.text), none) for passage in passages]

    async def close(self) -> None: ...


class GatedStore(MemoryStore):
    """A commit waits for ``gate``, then raises ``error`` if there is one."""

    def __init__(self, *, open_gate: bool = True, error: Exception | None = None) -> None:
        super().__init__(dimensions=DIMENSIONS)
        self.gate, self.begun = asyncio.Event(), asyncio.Event()
        self.error = error
        self.calls: list[list[str]] = []
        self.at_once = self.most_at_once = 0
        if open_gate:
            self.gate.set()

    async def replace(self, documents: Sequence[IndexedDocument]) -> None:
        self.calls.append([item.record.source for item in documents])
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.begun.set()
        await self.gate.wait()
        self.at_once -= 1
        if self.error is not None:
            raise self.error
        await super().replace(documents)

    async def stored(self) -> list[str]:
        return [record.source for record in await self.sources(Scope())]


class Reader:
    """Reads what ``found`` has; ``held`` files wait for ``gate``."""

    def __init__(self, *, held: Sequence[str] = ()) -> None:
        self.gate = asyncio.Event()
        self.begun: list[str] = []
        self.count = Counter()
        self._held = held

    async def read(self, path: Path, *, source: str) -> Document:
        self.begun.append(source)
        await self.count.add(1)
        if source in self._held:
            await self.gate.wait()
        if path.suffix == ".broken":
            raise ReadingError(f"{source!r} is damaged.")
        return document(source)


def ingestion(store: MemoryStore, embedder: Embedder | None = None, **options) -> Ingestion:
    reader = options.pop("reader", Reader())
    return Ingestion(store, embedder or Embedder(), reader, collection="default", **options)


def files(folder: Path, *names: str, size: int = 0) -> list[SourceFile]:
    for name in names:
        (folder / name).touch()
        os.truncate(folder / name, size)  # takes no room on the disk
    return [SourceFile(folder / name, name, name) for name in names]


def nothing_else_runs() -> bool:
    return asyncio.all_tasks() == {asyncio.current_task()}


async def test_documents_are_prepared_while_a_commit_waits() -> None:
    store, embedder = GatedStore(open_gate=False), Embedder()
    run = asyncio.create_task(ingestion(store, embedder).run(texts(MANY)))
    await store.begun.wait()
    # A whole batch beyond the one that is being stored.
    await embedder.asked.until(len(store.calls[0]) + BATCH_LEAVES)
    assert len(store.calls) == 1
    store.gate.set()
    report = await run
    assert report.count("added") == MANY
    assert nothing_else_runs()


async def test_batches_are_stored_one_after_another_in_the_given_order() -> None:
    store, given = GatedStore(), texts(MANY)
    report = await ingestion(store).run(given)
    names = [source.source for source in given]
    assert [name for call in store.calls for name in call] == names
    assert [file.source for file in report.files] == names
    assert store.most_at_once == 1
    assert all(len(call) >= BATCH_LEAVES for call in store.calls[:-1])


async def test_the_same_documents_give_the_same_index_however_they_were_grouped() -> None:
    together, alone = GatedStore(), GatedStore()
    await ingestion(together).run(texts(20))
    for source in texts(20):
        await ingestion(alone).run([source])
    assert await together.fingerprint(Scope()) == await alone.fingerprint(Scope())


async def test_what_is_told_to_be_added_is_stored() -> None:
    store, told = GatedStore(), []

    def tell(progress: IngestProgress) -> None:
        if progress.stage == "added":
            told.append((progress.done, progress.source, len(store._documents)))

    await ingestion(store, on_progress=tell).run(texts(MANY))
    assert [done for done, _, _ in told] == list(range(1, MANY + 1))
    assert all(done <= stored for done, _, stored in told)


async def test_a_store_that_refuses_ends_the_run_with_its_error() -> None:
    refused = StorageError("The disk is full.")
    store, embedder = GatedStore(open_gate=False, error=refused), Embedder()
    run = asyncio.create_task(ingestion(store, embedder).run(texts(MANY)))
    await store.begun.wait()
    await embedder.asked.until(len(store.calls[0]) + 1)
    store.gate.set()
    with pytest.raises(StorageError, match="The disk is full"):
        await run
    assert len(store.calls) == 1
    assert nothing_else_runs()


async def test_a_store_that_refuses_the_last_batch_ends_the_run_with_its_error() -> None:
    store = GatedStore(error=StorageError("The disk is full."))
    with pytest.raises(StorageError, match="The disk is full"):
        await ingestion(store).run(texts(3))


async def test_a_cancelled_run_ends_its_commit_and_nothing_more() -> None:
    store = GatedStore(open_gate=False)
    run = asyncio.create_task(ingestion(store).run(texts(MANY)))
    await store.begun.wait()
    run.cancel()
    await asyncio.sleep(0)
    store.gate.set()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert await store.stored() == store.calls[0]
    assert len(store.calls) == 1
    assert nothing_else_runs()


async def test_an_embedder_that_fails_costs_nothing_that_a_commit_has_begun_with() -> None:
    store = GatedStore(open_gate=False)
    embedder = Embedder()
    run = asyncio.create_task(ingestion(store, embedder).run(texts(MANY)))
    await store.begun.wait()
    embedder.fails_after = embedder.asked.value
    store.gate.set()
    with pytest.raises(RunError, match="embedder is gone"):
        await run
    assert await store.stored() == [name for call in store.calls for name in call]
    assert nothing_else_runs()


async def test_the_next_run_goes_on_where_one_was_ended() -> None:
    store = GatedStore()
    with pytest.raises(RunError):
        await ingestion(store, Embedder(fails_after=2 * BATCH_LEAVES)).run(texts(MANY))
    there = len(await store.stored())
    report = await ingestion(store).run(texts(MANY))
    assert there > 0
    assert (report.count("unchanged"), report.count("added")) == (there, MANY - there)


async def test_unchanged_documents_are_not_embedded() -> None:
    store = GatedStore()
    await ingestion(store).run(texts(200))
    embedder = Embedder()
    report = await ingestion(store, embedder).run(texts(200))
    assert report.count("unchanged") == 200
    assert embedder.asked.value == 0


async def test_of_two_versions_at_once_the_later_stays() -> None:
    store = GatedStore()
    both = [SourceText(document("a.txt", f"Version {number}.")) for number in (1, 2)]
    await ingestion(store).run([both[0], *texts(300), both[1]])
    [record] = [r for r in await store.sources(Scope()) if r.source == "a.txt"]
    assert await store.source_text(record.source_id, Scope()) == "Version 2."


async def test_a_file_that_is_read_slowly_keeps_its_place(tmp_path: Path) -> None:
    reader, names = Reader(held=["0.txt"]), ["0.txt", "1.broken", "2.txt", "3.txt"]
    store = GatedStore()
    run = asyncio.create_task(ingestion(store, reader=reader).run(files(tmp_path, *names)))
    await reader.count.until(len(names))
    reader.gate.set()
    report = await run
    assert [file.source for file in report.files] == names
    assert [file.status for file in report.files] == ["added", "failed", "added", "added"]
    assert store.calls == [["0.txt", "2.txt", "3.txt"]]


async def test_what_was_read_is_embedded_while_a_later_file_is_still_read(tmp_path: Path) -> None:
    reader, embedder = Reader(held=["1.txt"]), Embedder()
    run = asyncio.create_task(
        ingestion(GatedStore(), embedder, reader=reader).run(files(tmp_path, "0.txt", "1.txt"))
    )
    await embedder.asked.until(1)
    reader.gate.set()
    assert (await run).count("added") == 2


@pytest.mark.parametrize(
    ("size", "at_once"),
    [(100, FILES_AT_ONCE), (BYTES_AT_ONCE // 4, 4), (2 * BYTES_AT_ONCE, 2)],
    ids=["small", "larger", "largest"],
)
async def test_the_larger_the_files_the_fewer_are_read_at_once(
    tmp_path: Path, size: int, at_once: int
) -> None:
    names = [f"{number:03}.txt" for number in range(2 * FILES_AT_ONCE)]
    reader = Reader(held=names)
    run = asyncio.create_task(
        ingestion(GatedStore(), reader=reader).run(files(tmp_path, *names, size=size))
    )
    await reader.count.until(at_once)
    for _ in range(20):
        await asyncio.sleep(0)
    assert reader.begun == names[:at_once]
    reader.gate.set()
    assert (await run).count("added") == len(names)
