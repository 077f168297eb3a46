"""The second hop as part of a retrieval: when it runs, what it costs when it breaks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from anabranch.bridging import HIGHEST_SHARE
from anabranch.fanout import retrieve
from anabranch.hops import FOLLOW_UPS, LATER_SHARE, follow_hops
from anabranch.ports import RequestContext
from anabranch.types import (
    Effort,
    Hit,
    LegResult,
    Query,
    QueryKind,
    QueryResult,
    Retrieval,
    Scope,
    Variant,
)
from fakes import HANG, World, chunk, hits

QUESTION = "which city was the band that recorded brother formed in"
SONG = chunk("brother is a song recorded by the rock band Pearl Jam", "song.md", title="Brother")
OTHER = chunk("a brother is a sibling", "sibling.md", title="sibling")
BAND = chunk("Pearl Jam formed in the city of Seattle", "band.md", title="Pearl Jam")
CITY = chunk("Seattle is a port founded in 1851 by Arthur Denny", "city.md", title="Seattle")
FIRST = (Hit(SONG, 0.9), Hit(OTHER, 0.5))
BRIDGE = "Pearl Jam city formed"


def world() -> World:
    made = World()
    made.store.found = {QUESTION: FIRST, BRIDGE: (Hit(BAND, 0.8), Hit(OTHER, 0.1))}
    return made


async def search(
    world: World, *variants: Variant, kind: QueryKind = "original", group: str | None = None,
    multi_hop: bool = True, **changes: Any,
) -> Retrieval:  # fmt: skip
    context = world.context(**changes)
    query = Query("q1", QUESTION, kind, group=group)
    return await retrieve(
        query, context, trace=context.trace(), parent="here", variants=variants, multi_hop=multi_hop
    )


def bridges(retrieval: Retrieval) -> dict[str, Query]:
    return {r.query.text: r.query for r in retrieval.results if r.query.kind == "bridge"}


def texts(retrieval: Retrieval) -> list[str]:
    return [passage.chunk.text for passage in retrieval.passages]


async def test_what_the_first_hop_names_is_asked_for_and_what_it_leads_to_is_found() -> None:
    retrieval = await search(world())
    query = bridges(retrieval)[BRIDGE]
    assert (query.kind, query.parent) == ("bridge", "q1")
    assert texts(retrieval).index(BAND.text) < texts(retrieval).index(OTHER.text)
    assert texts(retrieval)[0] == SONG.text


async def test_the_names_of_a_simple_question_are_followed_by_their_words_alone() -> None:
    made = world()
    retrieval = await search(made, multi_hop=False)
    [result] = [r for r in retrieval.results if r.query.text == BRIDGE]
    assert [leg.leg for leg in result.legs] == ["text"]
    assert result.status == "ok"
    assert BAND.text in texts(retrieval)
    assert BRIDGE not in made.store.embedder.texts


async def test_bridges_are_steps_of_the_trace_and_say_what_found_a_passage() -> None:
    made = world()
    retrieval = await search(made)
    [found] = [item for item in retrieval.passages if item.chunk == BAND]
    assert found.found_by == (bridges(retrieval)[BRIDGE].id,)
    steps = {event.step.label for event in made.events if event.step}
    assert BRIDGE in steps


@pytest.mark.parametrize(("effort", "hops"), [("minimal", 0), ("standard", 1), ("thorough", 2)])
async def test_effort_decides_how_many_hops_are_made(effort: Effort, hops: int) -> None:
    made = world()
    await search(made, effort=effort)
    assert len(made.store.dense_calls) - 1 <= hops
    assert (BRIDGE in made.store.text_calls) == (hops > 0)


async def test_a_third_hop_starts_from_what_the_second_uncovered() -> None:
    made = world()
    made.store.found = {**made.store.found, "Seattle": hits("nothing more")}
    retrieval = await search(made, effort="thorough")
    from_the_band = bridges(retrieval)["Seattle"]
    assert from_the_band.parent == bridges(retrieval)[BRIDGE].id
    assert "Seattle" not in bridges(await search(made))


async def test_a_third_hop_stands_behind_the_second() -> None:
    made = world()
    made.store.found = {**made.store.found, "Seattle": hits(CITY)}
    followed = bridges(await search(made, effort="thorough"))
    assert 0 < followed["Seattle"].weight <= LATER_SHARE * followed[BRIDGE].weight


async def test_names_that_standard_effort_leaves_out_stand_behind_those_it_asks_for() -> None:
    made = world()
    known = [f"Band{letter}" for letter in "abcdefgh"]
    song = chunk(f"brother is a song recorded by {', '.join(known)}", "song.md", title="Brother")
    found = {f"{name} city formed": hits(chunk(f"{name} formed in a city", name)) for name in known}
    made.store.found = {QUESTION: (Hit(song, 0.9), Hit(OTHER, 0.5)), **found}
    weights = [query.weight for query in bridges(await search(made, effort="thorough")).values()]
    beyond = FOLLOW_UPS["standard"]
    assert len(weights) > beyond
    assert max(weights[:beyond]) == pytest.approx(HIGHEST_SHARE)
    assert max(weights[beyond:]) == pytest.approx(LATER_SHARE * HIGHEST_SHARE)


async def test_thorough_effort_ranks_what_standard_found_as_standard_did() -> None:
    made = world()
    notes = [chunk(f"a note, number {n}", f"{n}.md", title="note") for n in range(150)]
    found = (*FIRST, *(Hit(item, 0.4 - n / 1000) for n, item in enumerate(notes)))
    made.store.found[QUESTION] = found[:100]
    standard = texts(await search(made, candidates=100))
    made.store.found[QUESTION] = found
    thorough = texts(await search(made, candidates=200))
    assert len(thorough) > len(standard)
    assert thorough[: len(standard)] == standard


@pytest.mark.parametrize("kind", ["sub_question", "step_back", "hyde"])
async def test_only_the_question_itself_is_followed_up(kind: QueryKind) -> None:
    assert bridges(await search(world(), kind=kind)) == {}


async def test_bridges_of_a_group_carry_its_name() -> None:
    query = bridges(await search(world(), group="s1"))[BRIDGE]
    assert query.id.startswith("s1.b")
    assert query.group == "s1"


async def test_a_repaired_spelling_is_followed_up_in_place_of_the_question() -> None:
    made = world()
    repaired = QUESTION.replace("formed", "founded")
    made.store.found = {repaired: FIRST, QUESTION: FIRST}
    retrieval = await search(made, Variant(repaired, "spelling", 1.0))
    assert "Pearl Jam city founded" in bridges(retrieval)
    assert {query.parent for query in bridges(retrieval).values()} == {"q2"}


async def test_a_hop_stays_in_the_scope_of_the_question() -> None:
    made = world()
    scope = Scope(collections=("handbook",), principals=("ann",))
    retrieval = await search(made, scope=scope)
    assert bridges(retrieval)
    assert set(made.store.scopes) == {scope}


async def test_a_claim_is_not_followed_up() -> None:
    made = world()
    claim = "The band that recorded Brother was formed in a city."
    made.store.found = {claim: FIRST}
    context = made.context()
    query = Query("q1", claim, "original")
    found = await retrieve(query, context, trace=context.trace(), parent="here", multi_hop=True)
    assert bridges(found) == {}


async def test_a_follow_up_is_a_finder_only_of_what_it_found_first() -> None:
    made = world()
    further = [chunk(f"a note number {n}", f"{n}.md", title="note") for n in range(3)]
    made.store.found = {
        QUESTION: (*FIRST, *(Hit(item, 0.4) for item in further)),
        BRIDGE: (Hit(BAND, 0.8), Hit(OTHER, 0.7), *(Hit(item, 0.1) for item in further)),
    }
    finders = {passage.chunk.source: passage.found_by for passage in (await search(made)).passages}
    assert [name[0] for name in finders["band.md"]] == ["b"]
    assert all(name == "q1" for name in finders["2.md"])


async def test_a_first_hop_that_found_nothing_is_not_followed_up() -> None:
    made = World()
    assert bridges(await search(made)) == {}
    assert len(made.store.text_calls) == 1


@pytest.mark.parametrize("line", [ValueError("broken"), HANG])
async def test_a_bridge_that_breaks_is_a_failure_and_takes_nothing_with_it(line: Any) -> None:
    made = world()
    made.store.text = {BRIDGE: line}
    made.store.dense = {BRIDGE: line}
    retrieval = await search(made, query_timeout=0.05)
    [broken] = [r for r in retrieval.results if r.query.text == BRIDGE]
    assert broken.status in ("failed", "timed_out")
    assert {failure.where for failure in broken.failures} == {
        f"{broken.query.id}.dense", f"{broken.query.id}.text",
    }  # fmt: skip
    assert texts(retrieval)[0] == SONG.text


async def test_a_hop_that_hangs_is_cut_off_while_there_is_time_to_go_on() -> None:
    made = world()
    made.store.text = {BRIDGE: HANG}
    retrieval = await search(made, seconds=1.0)
    assert made.store.cancelled.is_set()
    assert BAND.text in texts(retrieval)


async def test_without_time_left_nothing_is_followed_up() -> None:
    context = world().context(seconds=-1.0)
    query = Query("q1", QUESTION, "original")
    first = QueryResult(query, (LegResult("text", FIRST),))

    async def search(queries: Sequence[Query], within: RequestContext) -> tuple[QueryResult, ...]:
        raise AssertionError(f"searched {[item.text for item in queries]}")

    assert (await follow_hops([query], [first], context, search=search))[0] == ()


async def test_a_lexicon_that_fails_leaves_the_first_hop() -> None:
    made = world()
    made.store.words = OSError("disk")
    retrieval = await search(made)
    assert bridges(retrieval) == {}
    assert texts(retrieval) == [SONG.text, OTHER.text]
