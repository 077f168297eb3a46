"""Suggestions come from documents that the caller may see, and from nothing else in the store."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anabranch.language import fold, has_cjk, words
from anabranch.lexicon import Lexicon, combine, mine
from anabranch.ports import IndexedDocument, Store
from anabranch.reasoning.phrasing import phrasings
from anabranch.stores.lance import LanceStore
from anabranch.stores.memory import MemoryStore
from anabranch.stores.mirror import MirroredStore
from anabranch.types import Scope, Variant
from store_samples import DIMENSIONS, indexed

# Each sentence has words that no other has, and something that a question below leads to.
SENTENCES = (
    "The warranty of the Kestrel heron agreement.",
    "The service level agreement (SLA) binds the falcon.",
    "# Scarlet Lantern Archive\nThe Scarlet Lantern Archive opened.",
    "Every VPN needs a token.",
    "The virtual private network (VPN) is new.",
    "Twelve storybook houses at Gorriarán.",
    "An analysis of World War II riverbeds.",
    "第二届会议由世界卫生组织召开。",
    "第二屆會議在第十二屆之後。",
    "The warren tea and the price of tokens.",
)
QUESTIONS = (
    "What is the warrenty of SLA?",
    "Who signs the virtual private network?",
    "Gorriaran's 12 story book houses",
    "the analyst after World War 2",
    "世卫第12屆會議和第二届会议在哪裡？",
    "How expensive is the falcom?",
)
# Where a word of a suggestion comes from the documents; what only moves words about adds none.
FROM_DOCUMENTS = ("read as", "short for", "written as", "noun for it")
# What a number or a common short form stands for is known without any document.
PRINCIPALS = ("ann", "bob")


@st.composite
def documents(draw: st.DrawFn) -> list[IndexedDocument]:
    chosen = draw(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=6))
    return [
        indexed(
            f"{number}.md", text,
            collection=draw(st.sampled_from(["one", "two"])),
            allowed=draw(st.sampled_from([(), ("ann",), ("bob",), PRINCIPALS])),
        )
        for number, text in enumerate(chosen)
    ]  # fmt: skip


scopes = st.builds(
    Scope,
    collections=st.sampled_from([None, ("one",), ("two",), ("one", "two"), ()]),
    principals=st.sampled_from([None, ("ann",), ("bob",), PRINCIPALS, ()]),
)


async def in_memory(folder: Path) -> Store:
    return MemoryStore(dimensions=DIMENSIONS)


async def mirrored(folder: Path) -> Store:
    return MirroredStore(await LanceStore.open(folder, dimensions=DIMENSIONS))


Opening = Callable[[Path], Awaitable[Store]]


async def lexicon_within(
    opening: Opening, folder: Path, stored: Sequence[IndexedDocument], scope: Scope
) -> tuple[Lexicon, list[str]]:
    """The lexicon of a scope, and the texts of the sources that the store shows in it."""
    store = await opening(folder)
    try:
        await store.replace(stored)
        visible = {record.source_id for record in await store.sources(scope)}
        texts = [d.document.text for d in stored if d.record.source_id in visible]
        return await store.lexicon(scope), texts
    finally:
        await store.close()


def suggestions(question: str, lexicon: Lexicon) -> list[Variant]:
    offered = phrasings(question, lexicon=lexicon, limit=16)
    return [v for v in offered if any(telling in v.reason for telling in FROM_DOCUMENTS)]


@pytest.mark.parametrize("opening", [in_memory, mirrored])
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(stored=documents(), scope=scopes, question=st.sampled_from(QUESTIONS))
def test_a_suggested_word_stands_in_a_document_that_the_caller_may_see(
    opening: Opening, stored: list[IndexedDocument], scope: Scope, question: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lexicon, texts = asyncio.run(lexicon_within(opening, Path(folder), stored, scope))
    assert lexicon == combine(mine(text) for text in texts)
    seen = "\n".join(map(fold, texts))
    for variant in suggestions(question, lexicon):
        for word in fold(variant.text).replace("-", " ").split():
            word = word.strip("?.'")
            if word in fold(question):
                continue
            if has_cjk(word):
                new = set(word) - set(fold(question))
                assert all(character in seen or character.isdigit() for character in new)
            else:
                assert word.removesuffix("'s") in seen, (variant, texts)


@settings(max_examples=100, deadline=None)
@given(stored=documents(), scope=scopes, question=st.sampled_from(QUESTIONS))
def test_what_is_out_of_scope_changes_no_phrasing(
    stored: list[IndexedDocument], scope: Scope, question: str
) -> None:
    folder = Path()
    lexicon, texts = asyncio.run(lexicon_within(in_memory, folder, stored, scope))
    alone = combine(mine(text) for text in texts)
    assert phrasings(question, lexicon=lexicon, limit=16) == phrasings(
        question, lexicon=alone, limit=16
    )


@given(st.text(alphabet=st.sampled_from("aB1_ '.,&+#-\n\t"), max_size=40))
def test_words_are_the_same_beside_a_letter_that_is_not_in_ascii(text: str) -> None:
    # English in ASCII is cut by a rule of its own, which is faster.
    assert [*words(text), "é"] == words(f"{text}\né")
