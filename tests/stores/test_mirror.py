"""What only the store with a copy in memory promises: when it answers from which of the two."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from anabranch.errors import StorageError
from anabranch.ports import IndexedDocument, Store, Vectors
from anabranch.stores.lance import LanceStore
from anabranch.stores.mirror import MirroredStore
from anabranch.types import Hit, Scope
from store_samples import DIMENSIONS, indexed, vectors_of

if TYPE_CHECKING:
    import pyarrow

EVERYTHING = Scope()
WRITER = Path(__file__).parents[1] / "store_writer.py"


class WatchedStore(LanceStore):
    """An embedded store that writes down what is asked of it."""

    searches = 0
    looks = 0
    read: list[Sequence[str] | None]

    async def search_dense(
        self, vectors: Vectors, *, limit: int, scope: Scope
    ) -> list[tuple[Hit, ...]]:
        self.searches += 1
        return await super().search_dense(vectors, limit=limit, scope=scope)

    async def version(self) -> int:
        self.looks += 1
        return await super().version()

    async def halves(
        self,
        leaf_columns: Sequence[str],
        columns: Sequence[str],
        *,
        source_ids: Sequence[str] | None,
    ) -> tuple[pyarrow.Table, pyarrow.Table]:
        self.read = [*getattr(self, "read", []), source_ids]
        await self.before_reading()
        found = await super().halves(leaf_columns, columns, source_ids=source_ids)
        await self.after_reading()
        return found

    async def before_reading(self) -> None:
        """What a test wants to happen then."""

    async def after_reading(self) -> None:
        """What a test wants to happen then."""


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[WatchedStore]:
    made = await WatchedStore.open(tmp_path / "index", dimensions=DIMENSIONS)
    assert isinstance(made, WatchedStore)
    yield made
    await made.close()


@pytest.fixture
async def other(engine: WatchedStore, tmp_path: Path) -> AsyncIterator[LanceStore]:
    """Another handle on the same folder: its writes are not announced to the first."""
    made = await LanceStore.open(tmp_path / "index", dimensions=DIMENSIONS)
    yield made
    await made.close()


async def found(store: Store, query: str, scope: Scope = EVERYTHING) -> list[str]:
    return [hit.chunk.text for hit in await store.search_text(query, limit=100, scope=scope)]


# ------------------------------------------------------------------------------- the same answers


def _random_documents(count: int) -> list[IndexedDocument]:
    chance = random.Random(5)
    words = [f"word{n}" for n in range(40)]
    return [
        indexed(
            f"{number}.txt",
            *(
                " ".join(chance.choices(words, range(40, 0, -1), k=chance.randint(1, 30)))
                for _ in range(chance.randint(0, 6))
            ),
            collection=chance.choice(["one", "two"]),
            allowed=chance.choice([(), ("ann",), ("bob", "ann")]),
        )
        for number in range(count)
    ]


def _scores(hits: Sequence[Hit]) -> dict[str, float]:
    return {hit.chunk.chunk_id: hit.score for hit in hits}


async def test_both_sides_give_the_same_hits_in_the_same_order(engine: WatchedStore) -> None:
    documents = _random_documents(60)
    await engine.replace(documents)
    store, words = MirroredStore(engine), MirroredStore(engine, most_leaves=0)
    scopes = [
        EVERYTHING,
        Scope(collections=("one",)),
        Scope(principals=("bob",)),
        Scope(sources=("3.txt", "two:9.txt"), principals=()),
    ]
    ids = [chunk.chunk_id for document in documents for chunk in document.chunks]
    for scope in scopes:
        for query in ("word1 word7 word30", "word39", "word0 word0 nothing"):
            expected = await words.search_text(query, limit=1000, scope=scope)
            assert await store.search_text(query, limit=1000, scope=scope) == expected
            (near,) = await engine.search_dense(vectors_of(query), limit=20, scope=scope)
            (ours,) = await store.search_dense(vectors_of(query), limit=20, scope=scope)
            assert _scores(ours) == pytest.approx(_scores(near), abs=1e-5)
        assert await store.chunks(ids, scope) == await engine.chunks(ids, scope)
        assert await store.sources(scope) == await engine.sources(scope)
        assert await store.collections(scope) == await engine.collections(scope)
    assert await store.fingerprint(EVERYTHING) == await engine.fingerprint(EVERYTHING)


async def test_above_the_limit_vectors_are_compared_on_disk_and_words_in_memory(
    engine: WatchedStore,
) -> None:
    store = MirroredStore(engine, most_leaves=2)
    await store.replace([indexed("a.txt", "apple one", "apple two")])
    assert await found(store, "two") == ["apple two"]
    assert engine.searches == 0
    await store.replace([indexed("b.txt", "apple three")])
    assert await found(store, "three") == ["apple three"]
    await store.search_dense(vectors_of("apple"), limit=1, scope=EVERYTHING)
    assert engine.searches == 1
    await store.remove(["default:a.txt"])
    assert await found(store, "apple") == ["apple three"]
    await store.search_dense(vectors_of("apple"), limit=1, scope=EVERYTHING)
    assert engine.searches == 1


async def test_passages_written_anew_while_words_are_searched_are_searched_again(
    engine: WatchedStore, other: LanceStore
) -> None:
    await engine.replace([indexed("a.txt", "apple old", "apple")])
    store = MirroredStore(engine, most_leaves=0)

    async def write() -> None:
        if len(engine.read) == 1:
            await other.replace([indexed("a.txt", "apple new", "pear")])

    engine.after_reading = write  # type: ignore[method-assign]
    assert await found(store, "apple") == ["apple new"]


async def test_what_needs_no_search_makes_no_copy(engine: WatchedStore) -> None:
    document = indexed("a.txt", "apple")
    store = MirroredStore(engine)
    await store.replace([document])
    assert await store.sources(EVERYTHING) == [document.record]
    assert list(await store.chunks([document.chunks[0].chunk_id], EVERYTHING))
    assert not hasattr(engine, "read")


# ---------------------------------------------------------------------------------- never outdated


async def test_what_another_process_has_written_is_seen_by_the_next_search(
    engine: WatchedStore, tmp_path: Path
) -> None:
    store = MirroredStore(engine)
    assert await found(store, "apple") == []
    writer = await asyncio.create_subprocess_exec(
        sys.executable, str(WRITER), str(tmp_path / "index"), "left", "6",
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert writer.stdout
    async for line in writer.stdout:
        texts = await found(store, "apple")
        (version,) = {text.split()[2] for text in texts}
        number = int(version.removeprefix("version"))
        assert number >= int(line)
        assert len(texts) == 1 + number % 4
    assert await writer.wait() == 0
    assert number == 5


async def test_every_read_sees_what_another_handle_has_written(
    engine: WatchedStore, other: LanceStore
) -> None:
    store = MirroredStore(engine)
    leaf = "default:a.txt#3-0"
    for number in range(3):
        text = f"apple {number}"
        await found(store, "apple")
        await other.replace([indexed("a.txt", text)])
        assert (await store.chunks([leaf], EVERYTHING))[leaf].text == text
        assert await store.source_text("default:a.txt", EVERYTHING) == text
        assert str(number) in (await store.lexicon(EVERYTHING)).words
        assert await store.fingerprint(EVERYTHING) == await other.fingerprint(EVERYTHING)
        (dense,) = await store.search_dense(vectors_of("apple"), limit=9, scope=EVERYTHING)
        assert [hit.chunk.text for hit in dense] == [text]
    await other.remove(["default:a.txt"])
    assert await store.sources(EVERYTHING) == []
    assert await found(store, "apple") == []


async def test_only_changed_documents_are_read_again(
    engine: WatchedStore, other: LanceStore
) -> None:
    store = MirroredStore(engine)
    await store.replace([indexed("a.txt", "apple one"), indexed("b.txt", "apple two")])
    await found(store, "apple")
    await other.replace([indexed("b.txt", "apple three")])
    await other.remove(["default:a.txt"])
    assert await found(store, "apple") == ["apple three"]
    await other.optimize()
    later = indexed("b.txt", "apple three", added_at="2030-01-01T00:00:00+00:00")
    await other.replace([later])
    assert await found(store, "apple") == ["apple three"]
    assert await store.sources(EVERYTHING) == [later.record]
    assert engine.read == [None, ["default:b.txt"], ["default:b.txt"]]


async def test_a_write_between_the_reads_of_an_update_mixes_nothing(
    engine: WatchedStore, other: LanceStore
) -> None:
    store = MirroredStore(engine)
    await store.replace([indexed("a.txt", "apple old"), indexed("b.txt", "apple old")])
    await found(store, "apple")
    await other.replace([indexed("a.txt", "apple new")])

    async def write_both() -> None:
        if len(engine.read) == 2:
            await other.replace([indexed("a.txt", "apple last"), indexed("b.txt", "apple last")])

    engine.before_reading = write_both  # type: ignore[method-assign]
    assert await found(store, "apple") == ["apple last", "apple last"]
    assert engine.read == [None, ["default:a.txt"], None]


async def test_a_write_after_the_copy_was_read_is_seen_by_the_next_search(
    engine: WatchedStore, other: LanceStore
) -> None:
    store = MirroredStore(engine)
    await store.replace([indexed("a.txt", "apple old")])

    async def write() -> None:
        if len(engine.read) == 1:
            await other.replace([indexed("a.txt", "apple new")])

    engine.after_reading = write  # type: ignore[method-assign]
    assert await found(store, "apple") == ["apple old"]
    assert await found(store, "apple") == ["apple new"]


async def test_searches_while_another_handle_writes_see_whole_versions(
    engine: WatchedStore, other: LanceStore
) -> None:
    store = MirroredStore(engine)

    def version(number: int) -> list[str]:
        return [f"apple version{number} part{part}" for part in range(1 + number % 3)]

    await store.replace([indexed("a.txt", *version(0))])
    done = asyncio.Event()

    async def read() -> list[list[str]]:
        seen = []
        while not done.is_set():
            seen.append(sorted(await found(store, "apple")))
        return seen

    readers = [asyncio.create_task(read()) for _ in range(3)]
    for number in range(1, 8):
        await other.replace([indexed("a.txt", *version(number))])
        assert sorted(await found(store, "apple")) == version(number)
    done.set()
    for seen in await asyncio.gather(*readers):
        numbers = [next(n for n in range(8) if version(n) == texts) for texts in seen]
        assert numbers == sorted(numbers)


async def test_a_request_asks_once_what_is_new_and_reads_all_of_that(
    engine: WatchedStore, other: LanceStore
) -> None:
    store = MirroredStore(engine)
    await store.replace([indexed("a.txt", "apple old")])
    await found(store, "apple")
    await store.lexicon(EVERYTHING)
    seen = await store.as_of_now()
    await other.replace([indexed("a.txt", "apple new")])
    looks = engine.looks
    assert await found(seen, "apple") == ["apple old"]
    assert "old" in (await seen.lexicon(EVERYTHING)).words
    assert engine.looks == looks
    assert await found(await store.as_of_now(), "apple") == ["apple new"]


# ------------------------------------------------------------------------------- making the copy


async def test_searches_that_come_at_once_share_one_copy(engine: WatchedStore) -> None:
    await engine.replace([indexed("a.txt", "apple")])
    store = MirroredStore(engine)
    assert await asyncio.gather(*(found(store, "apple") for _ in range(5))) == [["apple"]] * 5
    assert engine.read == [None]


async def test_a_search_that_is_cut_off_leaves_the_copy_to_the_next(engine: WatchedStore) -> None:
    await engine.replace([indexed("a.txt", "apple")])
    reading, gate = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        reading.set()
        await gate.wait()

    engine.before_reading = wait  # type: ignore[method-assign]
    store = MirroredStore(engine)
    first = asyncio.create_task(found(store, "apple"))
    await reading.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    second = asyncio.create_task(found(store, "apple"))
    gate.set()
    assert await second == ["apple"]
    assert await found(store, "apple") == ["apple"]
    # The second was asked after the first copy had been begun, and may have known of a later write:
    # it looked for changes, and found none to read.
    assert engine.read == [None]


async def test_a_copy_that_cannot_be_read_is_an_error_and_is_made_by_the_next_search(
    engine: WatchedStore,
) -> None:
    await engine.replace([indexed("a.txt", "apple")])

    async def refuse() -> None:
        if len(engine.read) == 1:
            raise StorageError("The disk is gone. Plug it in.")

    engine.before_reading = refuse  # type: ignore[method-assign]
    store = MirroredStore(engine)
    with pytest.raises(StorageError, match="disk is gone"):
        await store.search_text("apple", limit=1, scope=EVERYTHING)
    assert await found(store, "apple") == ["apple"]
