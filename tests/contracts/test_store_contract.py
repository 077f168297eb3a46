"""What every implementation of the Store port promises."""

from __future__ import annotations

import asyncio
import math
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.errors import ModelMismatchError, StorageError
from anabranch.lexicon import combine
from anabranch.ports import Store
from anabranch.stores.lance import LanceStore
from anabranch.stores.memory import MemoryStore
from anabranch.stores.mirror import MirroredStore
from anabranch.types import Scope
from store_samples import DIMENSIONS, indexed, vector_of, vectors_of

EVERYTHING = Scope()


async def open_memory(folder: Path) -> Store:
    return MemoryStore(dimensions=DIMENSIONS)


async def open_words(folder: Path) -> Store:
    """Words in memory, vectors and texts on disk, as for an index that is too large for memory."""
    return MirroredStore(await LanceStore.open(folder, dimensions=DIMENSIONS), most_leaves=0)


async def open_mirror(folder: Path) -> Store:
    return MirroredStore(await LanceStore.open(folder, dimensions=DIMENSIONS))


# A new implementation is one line here.
IMPLEMENTATIONS: dict[str, Callable[[Path], Awaitable[Store]]] = {
    "memory": open_memory,
    "words": open_words,
    "mirror": open_mirror,
}


@asynccontextmanager
async def opened(name: str, folder: Path) -> AsyncIterator[Store]:
    store = await IMPLEMENTATIONS[name](folder)
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture(params=list(IMPLEMENTATIONS))
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(request.param, tmp_path / "index") as made:
        yield made


async def found(store: Store, query: str, scope: Scope = EVERYTHING, limit: int = 10) -> list[str]:
    return [hit.chunk.text for hit in await store.search_text(query, limit=limit, scope=scope)]


async def nearest(store: Store, text: str, scope: Scope = EVERYTHING, limit: int = 10) -> list[str]:
    (hits,) = await store.search_dense(vectors_of(text), limit=limit, scope=scope)
    return [hit.chunk.text for hit in hits]


async def everything_about(store: Store, source_id: str) -> list[object]:
    """Whatever any method still gives of a source."""
    (dense,) = await store.search_dense(vectors_of("anything"), limit=1000, scope=EVERYTHING)
    text = await store.search_text("anything", limit=1000, scope=EVERYTHING)
    ids = [f"{source_id}#{level}-{index}" for level in (1, 2, 3) for index in range(9)]
    return [
        *(hit for hit in (*dense, *text) if hit.chunk.source_id == source_id),
        *(await store.chunks(ids, EVERYTHING)).values(),
        *(item for item in await store.sources(EVERYTHING) if item.source_id == source_id),
        *filter(None, [await store.source_text(source_id, EVERYTHING)]),
    ]


# ------------------------------------------------------------------------------ what comes back


async def test_a_chunk_comes_back_with_every_field_it_was_stored_with(store: Store) -> None:
    document = indexed(
        "guide/leave.md", "Leave is thirty days.", title="Leave", context="Leave > Berlin",
        allowed=("ann", "bob"), metadata={"language": "en", "tags": ["a", "b"], "year": 2026},
    )  # fmt: skip
    await store.replace([document])
    leaf = document.chunks[-1]
    assert (await store.search_text("leave", limit=1, scope=EVERYTHING))[0].chunk == leaf
    (dense,) = await store.search_dense(vectors_of("leave"), limit=1, scope=EVERYTHING)
    assert dense[0].chunk == leaf
    assert (await store.chunks([leaf.chunk_id], EVERYTHING))[leaf.chunk_id] == leaf


async def test_a_record_and_a_text_come_back_as_they_were_stored(store: Store) -> None:
    document = indexed("notes.txt", "First 第一.", "Second.", metadata={"k": "v"}, allowed=("ann",))
    await store.replace([document])
    assert await store.sources(EVERYTHING) == [document.record]
    assert await store.source_text(document.record.source_id, EVERYTHING) == "First 第一.\nSecond."
    assert await store.source_text("no such source", EVERYTHING) is None


async def test_a_document_without_text_is_listed_and_never_found(store: Store) -> None:
    await store.replace([indexed("empty.txt"), indexed("full.txt", "Some words.")])
    assert [item.source for item in await store.sources(EVERYTHING)] == ["empty.txt", "full.txt"]
    assert await nearest(store, "words") == ["Some words."]


async def test_sources_are_ordered_by_collection_then_source_then_id(store: Store) -> None:
    documents = [
        indexed("b.txt", "x", source_id="1", collection="one"),
        indexed("a.txt", "x", source_id="3", collection="two"),
        indexed("a.txt", "x", source_id="2", collection="two"),
        indexed("c.txt", "x", source_id="4", collection="one"),
    ]
    await store.replace(documents)
    assert [item.source_id for item in await store.sources(EVERYTHING)] == ["1", "4", "2", "3"]
    assert await store.collections(EVERYTHING) == ["one", "two"]


async def test_chunks_of_every_level_are_found_by_id_and_unknown_ids_left_out(store: Store) -> None:
    document = indexed("a.txt", "One.", "Two.")
    await store.replace([document])
    ids = [chunk.chunk_id for chunk in document.chunks]
    chunks = await store.chunks([*ids, "unknown"], EVERYTHING)
    assert list(chunks) == ids
    assert {chunk.level for chunk in chunks.values()} == {1, 2, 3}
    assert await store.chunks([], EVERYTHING) == {}


async def test_parents_are_never_search_results(store: Store) -> None:
    await store.replace([indexed("a.txt", "alpha beta", "alpha gamma")])
    assert sorted(await found(store, "alpha")) == ["alpha beta", "alpha gamma"]
    assert sorted(await nearest(store, "alpha")) == ["alpha beta", "alpha gamma"]


async def test_an_empty_store_answers_everything_with_nothing(store: Store) -> None:
    assert await found(store, "word") == []
    assert await nearest(store, "word") == []
    assert await store.sources(EVERYTHING) == []
    assert await store.collections(EVERYTHING) == []
    assert await store.chunks(["x"], EVERYTHING) == {}
    assert (await store.lexicon(EVERYTHING)).document_count == 0
    assert await store.remove(["x"]) == 0
    await store.replace([])
    await store.optimize()


# --------------------------------------------------------------------------------------- writing


async def test_a_shorter_version_leaves_nothing_of_the_longer_one(store: Store) -> None:
    await store.replace([indexed("a.txt", "alpha one", "alpha two", "alpha three")])
    await store.replace([indexed("a.txt", "alpha four")])
    assert await found(store, "alpha") == ["alpha four"]
    assert await nearest(store, "alpha") == ["alpha four"]
    assert await found(store, "three") == []
    assert [item.chunk_count for item in await store.sources(EVERYTHING)] == [1]
    assert await store.chunks(["default:a.txt#3-2"], EVERYTHING) == {}


async def test_replacing_leaves_other_documents_alone(store: Store) -> None:
    await store.replace([indexed("a.txt", "alpha old"), indexed("b.txt", "alpha kept")])
    await store.replace([indexed("a.txt", "alpha new"), indexed("c.txt", "alpha more")])
    assert sorted(await found(store, "alpha")) == ["alpha kept", "alpha more", "alpha new"]


async def test_the_last_version_of_a_source_in_one_batch_stays(store: Store) -> None:
    await store.replace(
        [indexed("a.txt", "alpha one", "alpha two"), indexed("a.txt", "alpha last")]
    )
    assert await found(store, "alpha") == ["alpha last"]


async def test_a_removed_source_is_gone_from_every_index(store: Store) -> None:
    gone, kept = indexed("gone.txt", "anything goes", "anything"), indexed("kept.txt", "anything")
    await store.replace([gone, kept])
    assert await everything_about(store, gone.record.source_id)
    assert await store.remove([gone.record.source_id, "never there"]) == 1
    assert await everything_about(store, gone.record.source_id) == []
    assert await found(store, "anything") == ["anything"]
    assert "goes" not in (await store.lexicon(EVERYTHING)).words
    assert await store.remove([gone.record.source_id]) == 0


async def test_equal_names_in_two_folders_or_collections_are_two_documents(store: Store) -> None:
    await store.replace(
        [
            indexed("a/readme.md", "alpha", collection="one"),
            indexed("b/readme.md", "alpha", collection="one"),
            indexed("a/readme.md", "alpha", collection="two"),
        ]
    )
    hits = await store.search_text("alpha", limit=10, scope=EVERYTHING)
    assert {(hit.chunk.collection, hit.chunk.source) for hit in hits} == {
        ("one", "a/readme.md"), ("one", "b/readme.md"), ("two", "a/readme.md"),
    }  # fmt: skip
    await store.remove(["one:a/readme.md"])
    assert len(await found(store, "alpha")) == 2


async def test_a_batch_with_a_bad_document_stores_nothing(store: Store) -> None:
    good, bad = indexed("good.txt", "alpha"), indexed("bad.txt", "alpha", "beta")
    with pytest.raises(StorageError, match=r"'bad\.txt' has 2 leaf chunks but 1 vectors"):
        await store.replace([good, replace(bad, vectors=bad.vectors[:1])])
    with pytest.raises(StorageError, match="not finite"):
        await store.replace([good, replace(bad, vectors=bad.vectors * np.float32("nan"))])
    with pytest.raises(ModelMismatchError, match=str(DIMENSIONS)):
        await store.replace([good, replace(bad, vectors=bad.vectors[:, :4])])
    assert await store.sources(EVERYTHING) == []


async def test_the_record_decides_who_owns_and_sees_a_chunk(store: Store) -> None:
    document = indexed("a.txt", "alpha")
    record = replace(document.record, allowed=("ann",), collection="secret")
    await store.replace([replace(document, record=record)])
    (hit,) = await store.search_text("alpha", limit=1, scope=EVERYTHING)
    assert (hit.chunk.allowed, hit.chunk.collection) == (("ann",), "secret")
    assert await found(store, "alpha", Scope(principals=("bob",))) == []


async def test_the_fingerprint_follows_the_content(store: Store) -> None:
    empty = await store.fingerprint(EVERYTHING)
    await store.replace([indexed("a.txt", "alpha")])
    first = await store.fingerprint(EVERYTHING)
    await store.replace([indexed("a.txt", "alpha", added_at="2027-07-07T00:00:00+00:00")])
    assert await store.fingerprint(EVERYTHING) == first
    await store.replace([indexed("a.txt", "alpha", allowed=("ann",))])
    restricted = await store.fingerprint(EVERYTHING)
    await store.replace([indexed("a.txt", "beta")])
    changed = await store.fingerprint(EVERYTHING)
    assert len({empty, first, restricted, changed}) == 4
    await store.remove(["default:a.txt"])
    assert await store.fingerprint(EVERYTHING) == empty


async def test_optimizing_changes_no_result(store: Store) -> None:
    for number in range(25):
        await store.replace(
            [indexed(f"{number}.txt", f"alpha {number} word{number}", "alpha beta")]
        )

    async def answers() -> list[object]:
        text = await store.search_text("word7 alpha", limit=30, scope=EVERYTHING)
        (dense,) = await store.search_dense(vectors_of("word7"), limit=30, scope=EVERYTHING)
        return [[hit.chunk for hit in text], dense, await store.fingerprint(EVERYTHING)]

    before = await answers()
    await store.optimize()
    assert await answers() == before


# ---------------------------------------------------------------------------------- dense search


async def test_dense_scores_are_cosines_best_first(store: Store) -> None:
    passages = ("red apple", "green apple", "blue car")
    await store.replace([indexed("a.txt", *passages)])
    (hits,) = await store.search_dense(vectors_of("red apple"), limit=3, scope=EVERYTHING)
    query = vector_of("red apple")
    expected = sorted(((float(vector_of(text) @ query), text) for text in passages), reverse=True)
    assert [hit.chunk.text for hit in hits] == [text for _, text in expected]
    assert [hit.score for hit in hits] == pytest.approx([s for s, _ in expected], abs=1e-5)
    assert hits[0].score == pytest.approx(1, abs=1e-5)


async def test_each_dense_query_gets_its_own_hits_in_order(store: Store) -> None:
    await store.replace([indexed("a.txt", "apple", "car", "moon")])
    queries = vectors_of("moon", "apple", "car", "apple")
    many = await store.search_dense(queries, limit=1, scope=EVERYTHING)
    assert [hits[0].chunk.text for hits in many] == ["moon", "apple", "car", "apple"]
    assert await store.search_dense(queries[:0], limit=1, scope=EVERYTHING) == []


async def test_query_vectors_of_another_size_are_refused(store: Store) -> None:
    with pytest.raises(ModelMismatchError, match=r"\(1, 3\)"):
        await store.search_dense(np.ones((1, 3), np.float32), limit=1, scope=EVERYTHING)


@pytest.mark.parametrize("limit", [0, 1, 7, 40, 100])
async def test_equal_texts_all_stay_and_ties_are_cut_by_chunk_id(store: Store, limit: int) -> None:
    names = [f"{number * 7 % 50:02}.txt" for number in range(50)]
    await store.replace([indexed(name, "the same sentence") for name in names[:25]])
    await store.replace([indexed(name, "the same sentence") for name in names[25:]])
    expected = [f"default:{name}#3-0" for name in sorted(names)][:limit]
    (dense,) = await store.search_dense(vectors_of("sentence"), limit=limit, scope=EVERYTHING)
    text = await store.search_text("sentence", limit=limit, scope=EVERYTHING)
    assert [hit.chunk.chunk_id for hit in dense] == expected
    assert [hit.chunk.chunk_id for hit in text] == expected


# ----------------------------------------------------------------------------------- text search


async def test_text_search_ranks_the_rarer_word_and_the_shorter_text_first(store: Store) -> None:
    passages = ["apple tree", "apple pie", "apple zebra", "apple juice and some other words here"]
    await store.replace([indexed("a.txt", *passages)])
    assert (await found(store, "apple zebra"))[0] == "apple zebra"
    assert (await found(store, "apple"))[-1] == passages[-1]
    scores = [hit.score for hit in await store.search_text("apple", limit=9, scope=EVERYTHING)]
    assert scores == sorted(scores, reverse=True)
    assert min(scores) > 0


async def test_every_store_gives_the_same_scores(tmp_path: Path) -> None:
    documents = [indexed(f"{n}.txt", f"apple word{n % 5} " + "filler " * n) for n in range(12)]
    results = []
    for name in IMPLEMENTATIONS:
        async with opened(name, tmp_path / name) as store:
            await store.replace(documents)
            hits = await store.search_text("apple word3", limit=12, scope=EVERYTHING)
            results.append({hit.chunk.chunk_id: hit.score for hit in hits})
    assert results == [results[0]] * len(results)


async def test_words_are_found_in_any_form_and_stop_words_find_nothing(store: Store) -> None:
    await store.replace([indexed("a.txt", "Employees are RUNNING the policies.", "The of and is.")])
    assert await found(store, "what is the policy?") == ["Employees are RUNNING the policies."]
    assert await found(store, "employee runs") == ["Employees are RUNNING the policies."]


async def test_a_word_of_the_title_or_a_heading_finds_the_chunk(store: Store) -> None:
    await store.replace(
        [
            indexed("a.txt", "Thirty days.", title="Parental leave"),
            indexed("b.txt", "Five days.", context="Benefits > Sabbatical"),
        ]
    )
    assert await found(store, "parental") == ["Thirty days."]
    assert await found(store, "sabbatical") == ["Five days."]


@pytest.mark.parametrize(
    ("passage", "query"),
    [
        ("员工每年享有二十天带薪年假。", "带薪年假"),
        ("员工每年享有二十天带薪年假。", "年假有多少天?"),
        ("東京タワーは日本の観光名所です。", "観光名所"),
        ("東京タワーは日本の観光名所です。", "タワー"),
        ("서울특별시는대한민국의수도이다", "대한민국"),
        ("Der Zeppelin flog über Köln.", "köln"),
        ("版本号v2发布于北京市海淀区", "海淀区"),
    ],
)
async def test_words_inside_a_run_of_characters_are_found(
    store: Store, passage: str, query: str
) -> None:
    await store.replace([indexed("a.txt", passage, "An unrelated sentence.", "完全无关的句子。")])
    assert (await found(store, query))[0] == passage


async def test_a_text_without_any_word_of_the_query_is_no_hit(store: Store) -> None:
    await store.replace([indexed("a.txt", "apples and pears", "苹果和梨")])
    assert await found(store, "zeppelin") == []
    assert await found(store, "飞艇") == []
    assert await found(store, "apples") == ["apples and pears"]


@pytest.mark.parametrize(
    "query",
    [
        "", "   ", "?", "!!! --- ...", '"', "'", '"unclosed phrase', "it's", "AND", "OR NOT", "(", ")))",
        "title:apple", "apple~2", "apple^3", "+apple -pear", "ap*", "[a TO b]", "\\", "a\\'b", "%_", "{}",
        "\x00", "\ud800", "🙂", "的", "什么", "؟", "apple\napple", "a" * 5000, "apple " * 2000,
        "'; DROP TABLE chunks; --",
    ],
)  # fmt: skip
async def test_any_string_is_a_valid_query(store: Store, query: str) -> None:
    await store.replace([indexed("a.txt", "apple tree", "pear tree")])
    hits = await store.search_text(query, limit=5, scope=EVERYTHING)
    assert all(hit.score > 0 and math.isfinite(hit.score) for hit in hits)
    assert ("apple tree" in [hit.chunk.text for hit in hits]) == ("apple" in query)


async def test_a_long_word_is_found_whole(store: Store) -> None:
    word = "x" * 300
    await store.replace([indexed("a.txt", f"key {word}", f"key {word[:-1]}y")])
    assert await found(store, word) == [f"key {word}"]


async def test_new_rows_are_found_at_once_after_optimizing(store: Store) -> None:
    await store.replace([indexed(f"{n}.txt", f"alpha {n}") for n in range(220)])
    await store.optimize()
    await store.replace([indexed("new.txt", "alpha zeppelin")])
    assert await found(store, "zeppelin") == ["alpha zeppelin"]
    assert await nearest(store, "alpha zeppelin", limit=1) == ["alpha zeppelin"]


# ----------------------------------------------------------------------------------------- scope


ODD_NAMES = [
    "it's",
    'a"b',
    "x'); --",
    "' OR '1'='1",
    "back\\slash",
    "a,b",
    "文件 一",
    "%",
    "",
    "NULL",
]


async def test_the_scope_is_part_of_the_search_not_of_its_result(store: Store) -> None:
    many = [indexed(f"{n:03}.txt", "apple apple", collection="big") for n in range(60)]
    await store.replace(
        [*many, indexed("one.txt", "apple and many other words", collection="small")]
    )
    small = Scope(collections=("small",))
    assert await found(store, "apple", small, limit=1) == ["apple and many other words"]
    assert await nearest(store, "apple", small, limit=1) == ["apple and many other words"]


@pytest.mark.parametrize("name", ODD_NAMES)
async def test_any_name_is_matched_as_it_is(store: Store, name: str) -> None:
    await store.replace(
        [
            indexed(
                name, "apple here", source_id=f"id {name}", collection=f"c{name}", allowed=(name,)
            ),
            indexed("other", "apple there", collection="other", allowed=("other",)),
        ]
    )
    scopes = [
        Scope(sources=(name,)),
        Scope(sources=(f"id {name}",)),
        Scope(collections=(f"c{name}", "none")),
        Scope(principals=(name,)),
    ]
    for scope in scopes:
        assert await found(store, "apple", scope) == ["apple here"]
        assert await nearest(store, "apple", scope) == ["apple here"]
        assert [item.source for item in await store.sources(scope)] == [name]
    assert await store.remove([f"id {name}"]) == 1
    assert await found(store, "apple") == ["apple there"]


@pytest.mark.parametrize(
    "scope",
    [
        Scope(collections=()),
        Scope(sources=()),
        Scope(collections=("nowhere",)),
        Scope(sources=("nothing",)),
        Scope(collections=("default",), sources=("nothing",)),
        Scope(collections=("\ud800",)),
    ],
)
async def test_a_scope_that_matches_nothing_gives_nothing(store: Store, scope: Scope) -> None:
    document = indexed("a.txt", "apple")
    await store.replace([document])
    assert await found(store, "apple", scope) == []
    assert await nearest(store, "apple", scope) == []
    assert await store.sources(scope) == []
    assert await store.collections(scope) == []
    assert await store.source_text(document.record.source_id, scope) is None
    assert await store.chunks([document.chunks[0].chunk_id], scope) == {}
    assert (await store.lexicon(scope)).document_count == 0


async def test_a_caller_without_principals_sees_only_what_is_open(store: Store) -> None:
    await store.replace(
        [indexed("open.txt", "apple open"), indexed("closed.txt", "apple closed", allowed=("ann",))]
    )
    assert await found(store, "apple", Scope(principals=())) == ["apple open"]
    assert sorted(await found(store, "apple", Scope(principals=("ann",)))) == [
        "apple closed", "apple open",
    ]  # fmt: skip
    assert len(await found(store, "apple", Scope(principals=None))) == 2


async def test_the_lexicon_has_the_words_of_exactly_the_documents_in_scope(store: Store) -> None:
    one = indexed("a.txt", "A service level agreement (SLA) binds.", collection="one")
    two = indexed("b.txt", "Zeppelins bind nobody.", collection="two", allowed=("ann",))
    await store.replace([one, two])
    assert await store.lexicon(EVERYTHING) == combine([one.lexicon, two.lexicon])
    assert await store.lexicon(Scope(collections=("one",))) == combine([one.lexicon])
    assert await store.lexicon(Scope(principals=())) == combine([one.lexicon])
    await store.replace([indexed("c.txt", "Giraffes.", collection="one")])
    assert "giraffes" in (await store.lexicon(Scope(collections=("one",)))).words


NAMES = st.sampled_from(["ann", "bob", "o'hara"])
PLACES = st.sampled_from(["one", "two"])


@pytest.mark.parametrize("name", list(IMPLEMENTATIONS))
@given(
    layout=st.lists(st.tuples(PLACES, st.lists(NAMES, max_size=2, unique=True)), max_size=5),
    principals=st.none() | st.lists(NAMES, max_size=2).map(tuple),
    collections=st.none() | st.lists(PLACES, max_size=2).map(tuple),
    chosen=st.none() | st.sets(st.integers(0, 4)),
)
@settings(max_examples=25, deadline=None)
def test_no_principal_ever_sees_what_it_may_not(
    name: str,
    layout: list[tuple[str, list[str]]],
    principals: tuple[str, ...] | None,
    collections: tuple[str, ...] | None,
    chosen: set[int] | None,
) -> None:
    documents = [
        indexed(
            f"{n}.txt", f"apple word{n}", source_id=str(n), collection=place, allowed=tuple(who)
        )
        for n, (place, who) in enumerate(layout)
    ]
    sources = None if chosen is None else tuple(f"{n}.txt" for n in sorted(chosen))
    scope = Scope(collections=collections, sources=sources, principals=principals)
    visible = {
        str(n)
        for n, (place, who) in enumerate(layout)
        if (collections is None or place in collections)
        and (chosen is None or n in chosen)
        and (principals is None or not who or any(person in principals for person in who))
    }

    async def check() -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with opened(name, Path(folder) / "index") as store:
                await store.replace(documents)
                text = await store.search_text("apple", limit=9, scope=scope)
                (dense,) = await store.search_dense(vectors_of("apple"), limit=9, scope=scope)
                ids = [chunk.chunk_id for document in documents for chunk in document.chunks]
                chunks = await store.chunks(ids, scope)
                lexicon = await store.lexicon(scope)
                numbers = [str(n) for n in range(len(layout))]
                readable = {n for n in numbers if await store.source_text(n, scope) is not None}
                assert {hit.chunk.source_id for hit in text} == visible
                assert {hit.chunk.source_id for hit in dense} == visible
                assert {chunk.source_id for chunk in chunks.values()} == visible
                assert {item.source_id for item in await store.sources(scope)} == visible
                assert readable == visible
                assert lexicon.document_count == len(visible)
                assert await store.collections(scope) == sorted(
                    {layout[int(n)][0] for n in visible}
                )

    asyncio.run(check())


WORDS = st.sampled_from(["apple", "pear", "plum", "zeppelin", "带薪年假", "NATO"])
PASSAGES = st.lists(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=3)


@pytest.mark.parametrize("name", list(IMPLEMENTATIONS))
@given(
    layout=st.lists(
        st.tuples(PASSAGES, PLACES, st.lists(NAMES, max_size=2, unique=True)), max_size=5
    ),
    principals=st.none() | st.lists(NAMES, max_size=2).map(tuple),
    collections=st.none() | st.lists(PLACES, max_size=2).map(tuple),
    query=st.lists(WORDS, min_size=1, max_size=4).map(" ".join),
    limit=st.integers(1, 6),
)
@settings(max_examples=25, deadline=None)
def test_documents_out_of_scope_change_no_score_and_no_order(
    name: str,
    layout: list[tuple[list[str], str, list[str]]],
    principals: tuple[str, ...] | None,
    collections: tuple[str, ...] | None,
    query: str,
    limit: int,
) -> None:
    documents = [
        replace(
            indexed(f"{n}.txt", *texts, collection=place, allowed=tuple(who)),
            windows=tuple(np.full((n + 1, DIMENSIONS), n, np.int8) for _ in texts),
        )
        for n, (texts, place, who) in enumerate(layout)
    ]
    scope = Scope(collections=collections, principals=principals)
    visible = [
        document
        for document, (_, place, who) in zip(documents, layout, strict=True)
        if (collections is None or place in collections)
        and (principals is None or not who or any(person in principals for person in who))
    ]
    ids = [chunk.chunk_id for document in documents for chunk in document.chunks]

    async def answers(store: Store) -> list[object]:
        windows = await store.windows(ids, scope)
        return [
            await store.search_text(query, limit=limit, scope=scope),
            await store.search_dense(vectors_of(query, "plum"), limit=limit, scope=scope),
            await store.chunks(ids, scope),
            {chunk_id: found.tolist() for chunk_id, found in windows.items()},
            await store.sources(scope),
            await store.collections(scope),
            await store.lexicon(scope),
            await store.fingerprint(scope),
        ]

    async def check() -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with (
                opened(name, Path(folder) / "all") as everything,
                opened(name, Path(folder) / "visible") as alone,
            ):
                await everything.replace(documents)
                await alone.replace(visible)
                assert await answers(everything) == await answers(alone)

    asyncio.run(check())


# ----------------------------------------------------------------------------------- concurrency


async def test_readers_see_the_old_version_or_the_new_one_whole(store: Store) -> None:
    def version(number: int) -> list[str]:
        return [f"apple version{number} part{part}" for part in range(1 + number % 3)]

    await store.replace([indexed("a.txt", *version(0))])
    allowed = [sorted(version(number)) for number in range(8)]
    done = asyncio.Event()

    async def read() -> list[list[str]]:
        seen = []
        while not done.is_set():
            seen.append(sorted(await found(store, "apple")))
            seen.append(sorted(await nearest(store, "apple")))
            await asyncio.sleep(0)
        return seen

    reader = asyncio.create_task(read())
    for number in range(1, 8):
        await store.replace([indexed("a.txt", *version(number))])
        await asyncio.sleep(0)
    done.set()
    seen = await reader
    assert seen
    assert [texts for texts in seen if texts not in allowed] == []


async def test_many_writes_and_searches_at_once_all_happen(store: Store) -> None:
    writes = [store.replace([indexed(f"{n}.txt", f"apple {n}")]) for n in range(8)]
    reads = [store.search_text("apple", limit=20, scope=EVERYTHING) for _ in range(8)]
    await asyncio.gather(*writes, *reads)
    assert len(await found(store, "apple", limit=20)) == 8


async def test_windows_are_found_by_leaf_and_only_in_scope(store: Store) -> None:
    document = indexed("a.txt", "apple one", "apple two", allowed=("ann",))
    windows = tuple(np.full((count, DIMENSIONS), count, dtype=np.int8) for count in (1, 3))
    await store.replace([replace(document, windows=windows)])
    leaves = [chunk.chunk_id for chunk in document.chunks if chunk.level == 3]
    found = await store.windows([*leaves, "unknown"], Scope(principals=("ann",)))
    assert {name: value.tolist() for name, value in found.items()} == {
        name: value.tolist() for name, value in zip(leaves, windows, strict=True)
    }
    assert await store.windows(leaves, Scope(principals=("bob",))) == {}
    assert await store.windows(leaves, Scope(collections=())) == {}
    assert await store.windows([], EVERYTHING) == {}


async def test_leaves_without_windows_have_none(store: Store) -> None:
    document = indexed("a.txt", "apple one")
    await store.replace([document])
    assert await store.windows([document.chunks[-1].chunk_id], EVERYTHING) == {}


async def test_windows_that_do_not_fit_the_leaves_are_refused(store: Store) -> None:
    document = indexed("a.txt", "apple one", "apple two")
    one = (np.zeros((1, DIMENSIONS), dtype=np.int8),)
    with pytest.raises(StorageError, match="windows"):
        await store.replace([replace(document, windows=one)])


async def test_a_request_reads_what_was_written_before_it(store: Store) -> None:
    await store.replace([indexed("a.txt", "apple old")])
    await found(store, "apple")
    await store.replace([indexed("a.txt", "apple new")])
    seen = await store.as_of_now()
    assert await found(seen, "apple") == await found(store, "apple") == ["apple new"]
    assert await seen.fingerprint(EVERYTHING) == await store.fingerprint(EVERYTHING)
    assert await seen.sources(EVERYTHING) == await store.sources(EVERYTHING)
    assert (await seen.lexicon(EVERYTHING)).words == (await store.lexicon(EVERYTHING)).words
