"""Packing, whatever the passages: the budgets hold and no text is touched."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.citations import guard
from anabranch.evidence import estimate_tokens, pack
from anabranch.types import Answer, Citation
from fakes import evidence, passage

# Enough to meet every shape of list; a slow machine is no failure.
FAST = settings(max_examples=25, deadline=None)

TEXTS = st.lists(st.text(st.characters(codec="utf-8"), max_size=400), max_size=12)


@FAST
@given(TEXTS, st.integers(1, 10), st.integers(0, 300))
def test_evidence_fits_its_budgets_and_is_numbered_in_order(
    texts: list[str], top_k: int, context_tokens: int
) -> None:
    passages = [passage(text, f"{number}.md") for number, text in enumerate(texts)]
    kept, left_out = pack(passages, {}, top_k=top_k, context_tokens=context_tokens)
    assert len(kept) <= top_k
    assert bool(kept) == bool(passages)
    # The first item is exempt: one passage over the budget is better than none.
    costs = [estimate_tokens(item.text) for item in kept]
    assert len(kept) <= 1 or sum(costs) <= context_tokens
    assert [item.id for item in kept] == [f"e{n}" for n in range(1, len(kept) + 1)]
    assert not {item.chunk_id for item in kept} & {item.chunk_id for item in left_out}


@FAST
@given(TEXTS)
def test_texts_and_places_are_those_of_the_passages(texts: list[str]) -> None:
    passages = [passage(text, f"{number}.md") for number, text in enumerate(texts)]
    kept, _ = pack(passages, {}, top_k=99, context_tokens=10**9)
    assert [(e.text, e.source, e.start, e.end) for e in kept] == [
        (p.chunk.text, p.chunk.source, p.chunk.start, p.chunk.end) for p in passages
    ]


MARKED = st.lists(
    st.sampled_from(
        ["Leave is 30 days", "年假三十天", " [1]", "[2]", "[3] ", "[99]", ".", "。", "\n"]
    ),
    max_size=12,
).map("".join)


@FAST
@given(MARKED, st.lists(st.integers(0, 4), max_size=4))
def test_after_the_guard_every_marker_and_citation_resolves(text: str, markers: list[int]) -> None:
    items = [evidence("Leave is 30 days."), evidence("年假三十天。", 2)]
    cited = tuple(Citation(marker, f"e{marker}", "Leave") for marker in markers)
    answer = guard(Answer(text, "llm", cited), items)
    assert "[3]" not in answer.text
    assert "[99]" not in answer.text
    assert all(
        citation.quote in items[citation.marker - 1].text and 1 <= citation.marker <= 2
        for citation in answer.citations
    )
    assert guard(answer, items).text == answer.text
