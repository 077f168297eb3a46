"""One retrieval: queries searched together, failures kept apart, hits brought together."""

from __future__ import annotations

from typing import Any

import pytest

from anabranch.fanout import attempt, child_graph, retrieve
from anabranch.ports import Weights
from anabranch.types import Chunk, Failure, Hit, Query, Retrieval, Scope, Variant
from fakes import HANG, FakeReranker, World, chunk, hits

QUESTION = Query("q1", "leave", "original")
VARIANTS = (Variant("holiday"), Variant("vacation"))


async def search(world: World, *variants: Variant, **changes: Any) -> Retrieval:
    context = world.context(**changes)
    return await retrieve(
        QUESTION, context, trace=context.trace(), parent="here", variants=variants
    )


def texts(retrieval: Retrieval) -> set[str]:
    return {item.chunk.text for item in retrieval.passages}


def statuses(retrieval: Retrieval) -> dict[str, str]:
    return {result.query.id: result.status for result in retrieval.results}


def failures(retrieval: Retrieval) -> dict[str, str]:
    return {f.where: f.kind for result in retrieval.results for f in result.failures}


async def test_a_question_and_its_variants_are_fanned_in_with_their_finders() -> None:
    world = World()
    world.store.found = {
        "leave": hits("a", "b"), "holiday": hits("b", "c"), "vacation": hits("a"),
    }  # fmt: skip
    retrieval = await search(world, *VARIANTS)
    found_by = {item.chunk.text: item.found_by for item in retrieval.passages}
    assert found_by == {"a": ("q1", "q3"), "b": ("q1", "q2"), "c": ("q2",)}
    assert list(retrieval.rankings) == ["q1", "q2", "q3"]


async def test_the_dense_legs_of_all_queries_are_one_call() -> None:
    world = World()
    await search(world, *VARIANTS)
    assert world.store.dense_calls == [("leave", "holiday", "vacation")]
    assert sorted(world.store.text_calls) == ["holiday", "leave", "vacation"]


@pytest.mark.parametrize(("broken", "other"), [("dense", "text"), ("text", "dense")])
@pytest.mark.parametrize("line", [ValueError("broken"), HANG])
async def test_one_leg_goes_on_when_the_other_fails(broken: str, other: str, line: Any) -> None:
    world = World()
    setattr(world.store, broken, {"leave": line})
    setattr(world.store, other, {"leave": hits("a", "b")})
    retrieval = await search(world, query_timeout=0.05)
    assert texts(retrieval) == {"a", "b"}
    assert statuses(retrieval) == {"q1": "ok"}
    assert failures(retrieval) == {f"q1.{broken}": "timeout" if line is HANG else "ValueError"}


async def test_text_search_goes_on_when_the_question_cannot_be_embedded() -> None:
    world = World()
    world.store.found = {"leave": hits("a"), "holiday": hits("b")}
    world.embedder.script = {"leave": RuntimeError("no model")}
    retrieval = await search(world, Variant("holiday"))
    assert texts(retrieval) == {"a", "b"}
    assert failures(retrieval) == {"q1.dense": "RuntimeError"}
    assert world.store.dense_calls == [("holiday",)]


async def test_a_query_that_raises_one_that_hangs_and_one_that_is_empty_are_told_apart() -> None:
    world = World()
    world.store.dense = {"leave": hits("a"), "holiday": ValueError("x"), "vacation": HANG}
    world.store.text = {"leave": hits("a"), "holiday": ValueError("x"), "vacation": HANG}
    variants = (*VARIANTS, Variant("nothing"))
    world.embedder.script = {"vacation": HANG}
    retrieval = await search(world, *variants, query_timeout=0.05)
    assert statuses(retrieval) == {"q1": "ok", "q2": "failed", "q3": "timed_out", "q4": "empty"}
    assert texts(retrieval) == {"a"}
    assert not retrieval.failed


async def test_a_batched_dense_call_that_fails_is_tried_again_for_each_query() -> None:
    world = World()
    world.store.together = ValueError("too many")
    world.store.dense = {"leave": hits("a"), "holiday": hits("b")}
    retrieval = await search(world, Variant("holiday"))
    assert world.store.dense_calls == [("leave", "holiday"), ("leave",), ("holiday",)]
    assert texts(retrieval) == {"a", "b"}
    assert failures(retrieval) == {}


async def test_a_batched_dense_call_that_hangs_is_not_tried_again() -> None:
    world = World()
    world.store.together = HANG
    retrieval = await search(world, Variant("holiday"), query_timeout=0.05)
    assert len(world.store.dense_calls) == 1
    assert failures(retrieval) == {"q1.dense": "timeout", "q2.dense": "timeout"}


async def test_every_query_failing_is_failed_and_never_just_empty() -> None:
    world = World()
    world.store.dense = world.store.text = {"leave": OSError("disk"), "holiday": OSError("disk")}
    retrieval = await search(world, Variant("holiday"))
    assert retrieval.failed
    assert statuses(retrieval) == {"q1": "failed", "q2": "failed"}
    assert not (await search(World())).failed


async def test_a_leg_that_hangs_is_cut_off_before_the_request_is() -> None:
    world = World()
    world.store.dense = {"leave": HANG}
    world.store.text = {"leave": hits("a")}
    retrieval = await search(world, seconds=0.4)
    assert texts(retrieval) == {"a"}
    assert world.store.cancelled.is_set()


async def test_a_repaired_spelling_stands_in_for_the_question() -> None:
    retrieval = await search(World(), Variant("leaf", "spelling", 1.0))
    weights = {result.query.id: result.query.weight for result in retrieval.results}
    assert weights["q2"] == 1.0
    assert weights["q1"] <= 0.5


async def test_passages_are_compared_with_the_repaired_question() -> None:
    world = World()
    world.store.found = dict.fromkeys(("leave", "leaf"), hits("a", "b"))
    await search(world, Variant("leaf", "spelling", 1.0))
    assert world.embedder.texts[:2] == ["leave", "leaf"]  # searched
    assert set(world.embedder.texts[2:]) == {"leaf"}  # compared


async def weights_with(*weights: float, most: float = 0.8) -> list[float]:
    variants = (Variant(f"wording {number}", weight=w) for number, w in enumerate(weights))
    retrieval = await search(World(), *variants, weights=Weights(variant=most))
    return [result.query.weight for result in retrieval.results]


async def test_a_variant_counts_at_most_what_is_set() -> None:
    assert await weights_with(0.9, most=0.2) == [1.0, 0.2]
    assert await weights_with(0.1, most=0.2) == [1.0, 0.1]


async def test_light_variants_count_together_as_much_as_the_heaviest_of_them() -> None:
    question, telling, *light = await weights_with(0.3, 0.15, 0.05)
    assert (question, telling) == (1.0, 0.3)
    assert sum(light) == pytest.approx(0.15)
    assert light[0] == pytest.approx(3 * light[1])


async def test_earlier_results_take_part_in_the_fan_in() -> None:
    world = World()
    world.store.found = {"leave": hits("a"), "absence": hits("b")}
    context = world.context()
    trace = context.trace()
    first = await retrieve(QUESTION, context, trace=trace, parent="one")
    rewrite = Query("r1", "absence", "step_back", 0.5, "q1")
    both = await retrieve(rewrite, context, trace=trace, parent="two", earlier=first)
    assert texts(both) == {"a", "b"}
    assert [result.query.id for result in both.results] == ["q1", "r1"]
    assert texts(first) == {"a"}


async def test_the_scope_is_part_of_every_search() -> None:
    world = World()
    world.store.found = {"leave": family_hits()}
    scope = Scope(collections=("handbook",), principals=("ann",))
    await search(world, *VARIANTS, scope=scope)
    assert set(world.store.scopes) == {scope}
    # three text legs, one dense call, the parents, the windows for the ranking
    assert len(world.store.scopes) == 6


# ------------------------------------------------------------------------------------- fan-in


def family() -> tuple[Chunk, list[Chunk]]:
    parent = chunk("a" * 90, level=2, chunk_id="parent")
    leaves = [
        chunk("a" * 30 + str(i), start=i * 30, end=i * 30 + 31, chunk_index=i, parent_id="parent")
        for i in range(3)
    ]
    return parent, leaves


def family_hits() -> tuple[Hit, ...]:
    return hits(*family()[1])


async def test_leaves_that_make_up_their_parent_become_it() -> None:
    world = World()
    world.store.found = {"leave": family_hits()}
    world.store.parents = {"parent": family()[0]}
    [found] = (await search(world)).passages
    assert found.chunk.chunk_id == "parent"
    assert set(found.merged_from) == {leaf.chunk_id for leaf in family()[1]}


@pytest.mark.parametrize(
    ("parents", "kind"), [({}, "missing_parent"), (OSError("disk"), "OSError"), (HANG, "timeout")]
)
async def test_a_parent_that_cannot_be_had_keeps_the_leaves_and_warns(
    parents: Any, kind: str
) -> None:
    world = World()
    world.store.found = {"leave": family_hits()}
    world.store.parents = parents
    retrieval = await search(world, query_timeout=0.05)
    assert len(retrieval.passages) == 3
    assert [(failure.where, failure.kind) for failure in retrieval.failures] == [("merge", kind)]


async def test_the_same_text_in_two_files_is_one_passage_with_both_places() -> None:
    world = World()
    world.store.found = {"leave": hits(chunk(source="a.md"), chunk(source="b.md"))}
    [found] = (await search(world)).passages
    assert {place.source for place in found.provenance} == {"a.md", "b.md"}


async def test_hits_without_an_id_are_told_apart_by_their_content() -> None:
    world = World()
    bare = [chunk(text, f"{text}.md", chunk_id="") for text in ("one", "two")]
    world.store.found = {"leave": hits(*bare)}
    assert texts(await search(world)) == {"one", "two"}


async def test_the_order_in_which_queries_finish_changes_nothing() -> None:
    outcomes = []
    for turns in ({"leave": 9}, {"holiday": 7, "vacation": 3}, {}):
        world = World()
        found = {"leave": hits("a", "b"), "holiday": hits("c", "a"), "vacation": hits("d", "b")}
        world.store.found, world.store.turns, world.embedder.turns = found, turns, turns
        retrieval = await search(world, *VARIANTS)
        outcomes.append((retrieval.passages, retrieval.rankings))
    assert outcomes[0] == outcomes[1] == outcomes[2]


# ------------------------------------------------------------------------------------ reranking


async def reranked(script: Any, **changes: Any) -> Retrieval:
    world = World(reranker=FakeReranker(script=script))
    world.store.found = {"leave": hits("a", "b", "c")}
    return await search(world, effort="thorough", query_timeout=0.05, **changes)


def order(retrieval: Retrieval) -> list[str]:
    return [item.chunk.text for item in retrieval.passages]


async def test_a_reranker_orders_the_passages_of_a_thorough_request() -> None:
    retrieval = await reranked({"c": 3.0, "a": 2.0})
    assert order(retrieval) == ["c", "a", "b"]
    scores = [item.score for item in retrieval.passages]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (OSError("down"), "OSError"),
        (HANG, "timeout"),
        ([1.0], "ValueError"),
        ([1.0, float("nan"), 2.0], "ValueError"),
    ],
)
async def test_a_reranker_that_fails_leaves_the_order_and_says_so(script: Any, kind: str) -> None:
    retrieval = await reranked(script)
    assert order(retrieval) == ["a", "b", "c"]
    assert [(f.where, f.kind) for f in retrieval.failures] == [("q1.rerank", kind)]


async def test_a_standard_request_does_not_rerank() -> None:
    world = World(reranker=FakeReranker(script={"c": 3.0}))
    world.store.found = {"leave": hits("a", "b", "c")}
    assert order(await search(world)) == ["a", "b", "c"]


# ----------------------------------------------------------------- what the encoder does not read

ENGLISH = frozenset({"en"})


async def test_a_question_that_the_encoder_does_not_read_is_searched_by_its_words_alone() -> None:
    world = World()
    world.embedder.languages = ENGLISH
    world.store.found = {"年假有多少天": hits("员工有二十天年假。"), "annual leave": hits("a")}
    context = world.context()
    retrieval = await retrieve(
        Query("q1", "年假有多少天", "original"), context,
        trace=context.trace(), parent="here", variants=[Variant("annual leave")],
    )  # fmt: skip
    assert world.store.dense_calls == [("annual leave",)]
    assert "年假有多少天" not in world.embedder.texts
    assert failures(retrieval) == {}
    assert statuses(retrieval) == {"q1": "ok", "q2": "ok"}
    assert retrieval.passages[0].similarity is None


async def test_a_passage_that_the_encoder_does_not_read_is_found_by_its_words_alone() -> None:
    world = World()
    world.embedder.languages = ENGLISH
    world.store.dense = {"leave": hits("The leave is long.", "“Leave” – twice.", "二十天年假")}
    world.store.text = {"leave": hits("leave 请假二十天年假的说明")}
    retrieval = await search(world)
    assert texts(retrieval) == {
        "The leave is long.", "“Leave” – twice.", "leave 请假二十天年假的说明",
    }  # fmt: skip
    world.embedder.languages = None
    assert "二十天年假" in texts(await search(world))


# -------------------------------------------------------------------------------------- the edge


async def test_an_attempt_gives_the_result_or_the_failure() -> None:
    world = World()
    assert await attempt("here", world.store.play("fine"), 5) == "fine"
    raised = await attempt("here", world.store.play(KeyError("gone")), 5)
    assert raised == Failure("here", "KeyError", "'gone'")
    hung = await attempt("here", world.store.play(HANG), 0.01)
    assert isinstance(hung, Failure)
    assert hung.kind == "timeout"


async def test_a_step_that_no_time_is_left_for_says_so() -> None:
    late = await attempt("here", World().store.play(HANG), 0)
    assert late == Failure("here", "timeout", "no time was left for it")


class _SpeechlessError(Exception):
    def __str__(self) -> str:
        raise ValueError("nothing to say")


async def test_an_error_that_cannot_be_written_is_a_failure_all_the_same() -> None:
    failed = await attempt("here", World().store.play(_SpeechlessError()), 5)
    assert failed == Failure("here", "_SpeechlessError", "(its message cannot be read)")


async def test_a_time_that_was_not_ours_is_not_told_as_our_deadline() -> None:
    failed = await attempt("here", World().store.play(TimeoutError("socket timed out")), 5)
    assert failed == Failure("here", "timeout", "socket timed out")


async def test_the_trace_names_every_query_and_the_merge_under_its_parent() -> None:
    world = World()
    world.store.found = {"leave": hits("a")}
    context = world.context()
    trace = context.trace()
    await retrieve(QUESTION, context, trace=trace, parent="here", variants=VARIANTS[:1])
    assert {(e.id, e.type, e.parent) for e in trace.events} == {
        ("here.q1", "query", "here"),
        ("here.q2", "query", "here"),
        ("here.merge", "merge", "here"),
    }
    by_id = {event.id: event.detail for event in trace.events}
    assert by_id["here.q1"]["hits"] == {"dense": 1, "text": 1}
    assert by_id["here.q2"]["status"] == "empty"


def test_the_child_graph_embeds_and_then_searches() -> None:
    edges = {(edge.source, edge.target) for edge in child_graph().get_graph().edges}
    assert edges == {("__start__", "embed"), ("embed", "search"), ("search", "__end__")}
