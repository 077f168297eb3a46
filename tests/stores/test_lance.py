"""What only the embedded store promises: files, processes, crashes, indexes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anabranch.errors import IndexVersionError, ModelMismatchError, StorageError
from anabranch.ports import Vectors
from anabranch.stores import rows
from anabranch.stores.lance import LanceStore
from anabranch.stores.mirror import MirroredStore
from anabranch.types import Scope
from store_samples import DIMENSIONS, indexed, vectors_of
from store_writer import version_of

EVERYTHING = Scope()
WRITER = Path(__file__).parents[1] / "store_writer.py"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[LanceStore]:
    made = await LanceStore.open(tmp_path / "index", dimensions=DIMENSIONS)
    yield made
    await made.close()


async def found(store: LanceStore, query: str, scope: Scope = EVERYTHING) -> list[str]:
    hits = await MirroredStore(store).search_text(query, limit=100, scope=scope)
    return [hit.chunk.text for hit in hits]


def start_writer(folder: Path, writer: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(WRITER), str(folder), writer, str(count)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


# ------------------------------------------------------------------------------------- processes


async def test_what_was_stored_is_there_when_opened_again(tmp_path: Path) -> None:
    first = await LanceStore.open(tmp_path, dimensions=DIMENSIONS)
    await first.replace([indexed("a.txt", "apple", allowed=("ann",))])
    fingerprint = await first.fingerprint(EVERYTHING)
    await first.close()
    second = await LanceStore.open(tmp_path, dimensions=DIMENSIONS)
    assert await found(second, "apple") == ["apple"]
    assert await second.fingerprint(EVERYTHING) == fingerprint
    await second.close()


async def test_a_write_through_another_handle_is_seen_at_once(
    store: LanceStore, tmp_path: Path
) -> None:
    other = await LanceStore.open(tmp_path / "index", dimensions=DIMENSIONS)
    before = await store.fingerprint(EVERYTHING), await store.lexicon(EVERYTHING)
    await other.replace([indexed("a.txt", "apple")])
    assert await found(store, "apple") == ["apple"]
    assert await store.fingerprint(EVERYTHING) != before[0]
    assert await store.lexicon(EVERYTHING) != before[1]
    await other.remove(["default:a.txt"])
    assert await found(store, "apple") == []
    assert await store.fingerprint(EVERYTHING) == before[0]
    await other.close()


async def test_two_processes_that_make_and_fill_one_store_lose_nothing(tmp_path: Path) -> None:
    count = 12
    writers = [start_writer(tmp_path / "index", name, count) for name in ("left", "right")]
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    store = await LanceStore.open(tmp_path / "index", dimensions=DIMENSIONS)
    sources = [record.source for record in await store.sources(EVERYTHING)]
    own = [f"{name}{number}.txt" for name in ("left", "right") for number in range(5)]
    assert sources == sorted([*own, "shared.txt"])
    assert len(await found(store, "pear")) == 10
    # Of the source that both wrote one whole version stays, not some of each.
    last = [sorted(version_of("shared.txt", name, count - 1)) for name in ("left", "right")]
    assert sorted(await found(store, "apple")) in last
    await store.close()


async def test_a_killed_writer_leaves_the_last_acknowledged_version_whole(tmp_path: Path) -> None:
    writer = start_writer(tmp_path / "index", "left", 100_000)
    assert writer.stdout
    for acknowledged in writer.stdout:
        if int(acknowledged) >= 9:
            break
    writer.kill()
    last = [int(line) for line in writer.stdout if line.strip()]
    writer.wait()
    writer.stdout.close()
    acknowledged_last = last[-1] if last else 9
    store = await LanceStore.open(tmp_path / "index", dimensions=DIMENSIONS)
    # The write that was under way may have been committed without having been acknowledged.
    possible = [
        sorted(version_of("shared.txt", "left", number))
        for number in (acknowledged_last, acknowledged_last + 1)
    ]
    texts = sorted(await found(store, "apple"))
    assert texts in possible
    (dense,) = await store.search_dense(vectors_of("apple"), limit=100, scope=EVERYTHING)
    assert sorted(h.chunk.text for h in dense if h.chunk.source == "shared.txt") == texts
    assert [r.chunk_count for r in await store.sources(Scope(sources=("shared.txt",)))] == [
        len(texts)
    ]
    await store.replace([indexed("shared.txt", "apple next")])
    assert await found(store, "apple") == ["apple next"]
    await store.close()


async def test_a_table_whose_maker_died_before_it_had_a_key_is_completed(tmp_path: Path) -> None:
    import lancedb

    connection = await lancedb.connect_async(tmp_path)
    table = await connection.create_table("chunks", schema=rows.table_schema(DIMENSIONS))
    store = await LanceStore.open(tmp_path, dimensions=DIMENSIONS)
    await store.replace([indexed("a.txt", "written in C++", "written in C")])
    assert await found(store, "C++") == ["written in C++"]
    await table.checkout_latest()
    assert any(b"primary-key" in key for key in (await table.schema()).field("id").metadata or {})
    await store.close()


async def test_the_text_index_of_an_earlier_version_goes_when_it_is_optimized(
    store: LanceStore,
) -> None:
    from lancedb.index import FTS

    await store.replace([indexed("a.txt", "apple")])
    await store._table.create_index("terms", config=FTS(), name="terms_idx")
    await store.optimize()
    assert await store._table.list_indices() == []
    assert await found(store, "apple") == ["apple"]


# ---------------------------------------------------------------------------------------- refusals


async def test_a_store_of_other_dimensions_is_refused(store: LanceStore, tmp_path: Path) -> None:
    with pytest.raises(ModelMismatchError, match="16 dimensions, the embedder makes 8"):
        await LanceStore.open(tmp_path / "index", dimensions=8)


async def test_a_store_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    import lancedb

    schema = rows.table_schema(DIMENSIONS).with_metadata({rows.FORMAT_KEY: b"99"})
    connection = await lancedb.connect_async(tmp_path)
    await connection.create_table("chunks", schema=schema)
    with pytest.raises(IndexVersionError, match="format 99"):
        await LanceStore.open(tmp_path, dimensions=DIMENSIONS)


async def test_a_file_in_the_place_of_the_folder_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "index"
    path.write_text("I am a file")
    with pytest.raises(StorageError, match=r"index' could not be opened"):
        await LanceStore.open(path, dimensions=DIMENSIONS)


async def test_a_refused_write_loses_nothing_and_works_when_repeated(
    store: LanceStore, tmp_path: Path
) -> None:
    await store.replace([indexed("a.txt", "apple old")])
    # A file where the engine needs a folder: refused for every user, also for root.
    transactions = tmp_path / "index" / "chunks.lance" / "_transactions"
    transactions.rename(tmp_path / "aside")
    transactions.write_text("in the way")
    with pytest.raises(StorageError, match="could not be written"):
        await store.replace([indexed("a.txt", "apple new"), indexed("b.txt", "apple more")])
    with pytest.raises(StorageError, match="could not be removed from"):
        await store.remove(["default:a.txt"])
    assert await found(store, "apple") == ["apple old"]
    transactions.unlink()
    (tmp_path / "aside").rename(transactions)
    await store.replace([indexed("a.txt", "apple new"), indexed("b.txt", "apple more")])
    assert sorted(await found(store, "apple")) == ["apple more", "apple new"]


async def test_a_read_only_folder_can_be_opened_and_searched(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    writer = await LanceStore.open(folder, dimensions=DIMENSIONS)
    await writer.replace([indexed("a.txt", "apple")])
    await writer.close()
    parts = [folder, *folder.rglob("*")]
    before = {part: part.stat().st_mtime_ns for part in parts}
    for part in parts:
        part.chmod(part.stat().st_mode & ~0o222)
    try:
        reader = await LanceStore.open(folder, dimensions=DIMENSIONS)
        assert await found(reader, "apple") == ["apple"]
        assert len((await reader.search_dense(vectors_of("x"), limit=1, scope=EVERYTHING))[0]) == 1
        assert (await reader.lexicon(EVERYTHING)).document_count == 1
        await reader.close()
        # Root may write all the same: what counts is that nothing tried to.
        assert {part: part.stat().st_mtime_ns for part in [folder, *folder.rglob("*")]} == before
    finally:
        for part in parts:
            part.chmod(part.stat().st_mode | 0o200)


# ---------------------------------------------------------------------------------------- indexes


def _clustered(count: int) -> Vectors:
    random = np.random.default_rng(7)
    centres = random.normal(size=(12, DIMENSIONS))
    points = centres[random.integers(12, size=count)] + 0.3 * random.normal(
        size=(count, DIMENSIONS)
    )
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)


async def _filled(tmp_path: Path, count: int) -> tuple[LanceStore, Vectors]:
    store = await LanceStore.open(tmp_path, dimensions=DIMENSIONS, exact_leaves=1000)
    vectors = _clustered(count)
    documents = []
    for start in range(0, count, 100):
        document = indexed(
            f"{start}.txt",
            *(f"word{n}" for n in range(start, min(start + 100, count))),
            collection="rare" if start == 0 else "usual",
        )
        documents.append(replace(document, vectors=vectors[start : start + 100]))
    await store.replace(documents)
    await store.optimize()
    return store, vectors


async def test_many_leaves_get_a_vector_index_that_finds_new_rows_and_small_scopes(
    tmp_path: Path,
) -> None:
    store, vectors = await _filled(tmp_path, 3000)
    indexes = [index.columns for index in await store._table.list_indices()]
    assert ["vector"] in indexes
    queries = vectors[[5, 1500, 2900]]
    hits = await store.search_dense(queries, limit=3, scope=EVERYTHING)
    assert [hit[0].chunk.text for hit in hits] == ["word5", "word1500", "word2900"]
    assert [hit[0].score for hit in hits] == pytest.approx([1, 1, 1], abs=1e-5)
    # A filter that leaves one row in thirty is compared whole: nothing is missed.
    (rare,) = await store.search_dense(queries[1:2], limit=100, scope=Scope(collections=("rare",)))
    assert [hit.chunk.text for hit in rare] == [
        f"word{n}" for n in np.argsort(-(vectors[:100] @ queries[1]), kind="stable")
    ]
    await store.replace([indexed("new.txt", "zeppelin")])
    (new,) = await store.search_dense(vectors_of("zeppelin"), limit=1, scope=EVERYTHING)
    assert new[0].chunk.text == "zeppelin"
    await store.remove(["usual:1500.txt"])
    (gone,) = await store.search_dense(queries[1:2], limit=100, scope=EVERYTHING)
    assert "word1500" not in [hit.chunk.text for hit in gone]
    await store.close()


async def test_the_vector_index_is_made_anew_when_the_store_has_grown_fourfold(
    tmp_path: Path,
) -> None:
    store, _ = await _filled(tmp_path, 1000)
    (before,) = [i.name for i in await store._table.list_indices() if i.columns == ["vector"]]
    await store.optimize()
    (same,) = [i.name for i in await store._table.list_indices() if i.columns == ["vector"]]
    await store.close()
    grown, _ = await _filled(tmp_path, 6000)
    (after,) = [i.name for i in await grown._table.list_indices() if i.columns == ["vector"]]
    assert (before == same, before == after) == (True, False)
    await grown.close()


async def test_optimizing_joins_files_and_keeps_versions_that_a_reader_may_hold(
    store: LanceStore,
) -> None:
    for number in range(25):
        await store.replace([indexed(f"{number}.txt", f"apple {number}")])
    old_version = await store._table.version()
    await store.optimize()
    assert await store._table.version() > old_version
    statistics: Any = await store._table.stats()
    assert statistics["fragment_stats"]["num_small_fragments"] == 1
    versions = [item["version"] for item in await store._table.list_versions()]
    assert old_version in versions


async def test_a_lexicon_is_kept_until_the_content_changes(store: LanceStore) -> None:
    await store.replace([indexed("a.txt", "apple")])
    first = await store.lexicon(EVERYTHING)
    assert await store.lexicon(EVERYTHING) is first
    await store.optimize()
    assert await store.lexicon(EVERYTHING) is first
    await store.replace([indexed("b.txt", "pear")])
    assert (await store.lexicon(EVERYTHING)).document_count == 2


async def test_a_long_document_among_short_ones_can_be_optimized(tmp_path: Path) -> None:
    # Its text is one value among thousands of rows, which once was repeated for each of them.
    store = await LanceStore.open(tmp_path / "store", dimensions=DIMENSIONS)
    passages = [f"sentence {number} of a long book about rivers " * 20 for number in range(2_600)]
    book = indexed("book.txt", *passages)
    await store.replace([book])
    for number in range(25):
        await store.replace([indexed(f"{number}.txt", f"short {number}")])
    await store.optimize()
    assert await store.source_text(book.record.source_id, Scope()) == book.document.text
    await store.close()


async def test_a_table_that_was_begun_and_never_written_is_begun_anew(tmp_path: Path) -> None:
    # What a process leaves that is killed before the first version of the table is written.
    (tmp_path / "store" / "chunks.lance" / "_transactions").mkdir(parents=True)
    store = await LanceStore.open(tmp_path / "store", dimensions=DIMENSIONS)
    await store.replace([indexed("a.txt", "apple")])
    assert [record.source for record in await store.sources(Scope())] == ["a.txt"]
    await store.close()
