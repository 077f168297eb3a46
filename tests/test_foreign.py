"""Foreign retrievers: what may be given, and how their code is kept away from everybody else."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda

from anabranch import ConfigurationError, ForeignRetriever, KnowledgeBase, RunError
from anabranch.foreign import MOST_CALLS, MOST_THREADS, ForeignSystem, open_retrievers

SOURCE = Path(__file__).parents[1] / "src"


class Asked:
    """A retriever of which only what is given here is there."""

    def __init__(
        self,
        invoke: Callable[[str], Any] | None = None,
        ainvoke: Callable[[str], Any] | None = None,
    ) -> None:
        if invoke is not None:
            self.invoke = invoke
        if ainvoke is not None:
            self.ainvoke = ainvoke


class Blocking(BaseRetriever):
    """As most LangChain retrievers are written: blocking only."""

    call: Any

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        found: list[Document] = self.call(query)
        return found


def one(text: str = "Leave is 30 days.") -> list[Document]:
    return [Document(page_content=text, metadata={"source": "web page"})]


@contextmanager
def system(retriever: Any, **options: Any) -> Iterator[ForeignSystem]:
    [made] = open_retrievers([ForeignRetriever(retriever, **{"name": "web", **options})])
    try:
        yield made
    finally:
        made.close()


async def texts_of(made: ForeignSystem, question: str = "leave") -> list[str]:
    return [hit.chunk.text for hit in (await made.search(question)).hits]


# -------------------------------------------------------------------------------- what may be given


@pytest.mark.parametrize(
    "options",
    [
        {"name": "a:b"}, {"name": " web"}, {"name": "w\neb"}, {"name": "x" * 61}, {"name": 3},
        {"weight": 0}, {"weight": 1.5}, {"weight": float("nan")}, {"weight": True}, {"weight": "1"},
        {"timeout": 0}, {"timeout": -1}, {"timeout": float("inf")}, {"limit": 0}, {"limit": 51},
        {"limit": 2.0}, {"limit": True},
    ],
    ids=str,
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_name(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=f"^{next(iter(options))}="):
        ForeignRetriever(Asked(invoke=one), **options)


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="cannot be asked"):
        KnowledgeBase.open("kb", retrievers=[object()])


def test_two_of_one_name_are_refused(isolated: Path) -> None:
    first, second = Asked(invoke=one), Asked(invoke=one)
    with pytest.raises(ConfigurationError, match="2 retrievers are called 'Asked'"):
        KnowledgeBase.open("kb", retrievers=[first, second])
    named = [first, ForeignRetriever(second, name="other")]
    assert KnowledgeBase.open("kb", retrievers=named).retriever_names == ("Asked", "other")


# ------------------------------------------------------------------------------------ how it is asked


async def ready(value: Any) -> Any:
    return value


@pytest.mark.parametrize(
    "retriever",
    [
        Asked(invoke=lambda question: one(question)),
        Asked(ainvoke=lambda question: ready(one(question))),
        Blocking(call=one),
        RunnableLambda(one),
    ],
    ids=["blocking", "async", "langchain", "runnable"],
)
async def test_it_is_asked_however_it_can_be(retriever: Any) -> None:
    with system(retriever) as made:
        assert await texts_of(made, "how many days?") == ["how many days?"]


async def test_it_can_be_asked_again_after_it_was_closed() -> None:
    with system(Asked(ainvoke=lambda question: ready(one()))) as made:
        assert await texts_of(made)
        made.close()
        assert await texts_of(made)


async def cancels_itself(question: str) -> Any:
    raise asyncio.CancelledError


def ends_the_program(question: str) -> Any:
    sys.exit(3)


def stops_iterating(question: str) -> Any:
    return next(iter(()))


@pytest.mark.parametrize(
    "retriever",
    [
        Asked(ainvoke=cancels_itself), Asked(invoke=ends_the_program), Asked(invoke=stops_iterating),
        Blocking(call=ends_the_program),
    ],
    ids=["cancelled", "exit", "stop iteration", "exit in langchain"],
)  # fmt: skip
async def test_what_would_end_more_than_its_own_search_is_an_error(retriever: Any) -> None:
    with system(retriever) as made:
        with pytest.raises(RunError):
            await made.search("leave")
        assert not asyncio.current_task().cancelling()  # type: ignore[union-attr]


async def test_it_does_not_see_the_context_that_it_is_asked_from() -> None:
    from contextvars import ContextVar

    secret: ContextVar[str] = ContextVar("secret", default="nothing")
    secret.set("a run of somebody")
    with system(Asked(ainvoke=lambda question: ready(one(secret.get())))) as made:
        assert await texts_of(made) == ["nothing"]


# ------------------------------------------------------------------------------------ what hangs


@contextmanager
def hanging() -> Iterator[tuple[Callable[[str], Any], threading.Semaphore]]:
    """A blocking call that hangs until the test ends, and what counts its beginnings."""
    begun, release = threading.Semaphore(0), threading.Event()

    def hang(question: str) -> Any:
        begun.release()
        release.wait()
        return one()

    try:
        yield hang, begun
    finally:
        release.set()


@pytest.mark.parametrize("way", ["invoke", "langchain", "blocking async"])
async def test_one_that_hangs_is_given_up_and_closing_does_not_wait(way: str) -> None:
    with hanging() as (hang, begun):

        async def hang_in_the_loop(question: str) -> Any:
            return hang(question)

        retriever = {
            "invoke": Asked(invoke=hang),
            "langchain": Blocking(call=hang),
            "blocking async": Asked(ainvoke=hang_in_the_loop),
        }[way]
        with system(retriever) as made:
            search = asyncio.create_task(made.search("leave"))
            await asyncio.to_thread(begun.acquire)
            search.cancel()
            with pytest.raises(asyncio.CancelledError):
                await search
        # Reached while the call still hangs: neither giving up nor closing waited for it.


async def test_calls_that_never_come_back_do_not_pile_up() -> None:
    with hanging() as (hang, begun), system(Asked(invoke=hang)) as made:
        for _ in range(MOST_THREADS):
            search = asyncio.create_task(made.search("leave"))
            await asyncio.to_thread(begun.acquire)
            search.cancel()
        with pytest.raises(RunError, match=f"{MOST_THREADS} earlier calls"):
            await made.search("leave")


async def test_only_so_many_searches_of_one_system_run_at_once() -> None:
    running = most = 0

    async def count(question: str) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await asyncio.sleep(0)
        running -= 1
        return one()

    with system(Asked(ainvoke=count)) as made:
        found = await asyncio.gather(*(made.search("leave") for _ in range(5 * MOST_CALLS)))
    assert all(leg.hits for leg in found)
    assert most == MOST_CALLS


def test_a_program_ends_while_a_retriever_hangs(isolated: Path) -> None:
    program = """
import threading
from anabranch import ForeignRetriever
from anabranch.foreign import open_retrievers
import asyncio
begun = threading.Event()
class Hangs:
    def invoke(self, question):
        begun.set()
        threading.Event().wait()
async def main():
    [made] = open_retrievers([ForeignRetriever(Hangs(), name="x")])
    search = asyncio.create_task(made.search("leave"))
    await asyncio.to_thread(begun.wait)
    search.cancel()
asyncio.run(main())
print("ended")
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )  # fmt: skip
    assert ended.stdout == "ended\n", ended.stderr
    assert ended.returncode == 0


# ------------------------------------------------------------------------------- the whole engine

QUESTION = "When does the office in Lisbon open?"
LISBON = Document(
    page_content="The office in Lisbon opens at 8 and closes at 18.",
    metadata={"source": "wiki/lisbon", "title": "Lisbon office", "page": 2, "score": 0.9},
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A knowledge base that has nothing on Lisbon."""
    root = tmp_path_factory.mktemp("foreign")
    (root / "leave.md").write_text(
        "# Leave\n\nAnnual leave is 27 days for everyone.\n\n# Travel\n\nTrains are booked in second "
        "class.\n",
        encoding="utf-8",
    )
    with KnowledgeBase.open(root / "kb") as base:
        base.add(root / "leave.md")
        assert base.ask(QUESTION).status == "no_knowledge"
    return root / "kb"


@pytest.mark.parametrize("effort", ["minimal", "standard", "thorough"])
def test_what_only_a_foreign_passage_knows_is_answered_from_it(folder: Path, effort: Any) -> None:
    wiki = ForeignRetriever(Blocking(call=lambda question: [LISBON]), name="wiki")
    with KnowledgeBase.open(folder, retrievers=[wiki]) as base:
        outcome = base.ask(QUESTION, effort=effort)
    assert outcome.status == "answerable"
    assert outcome.answer is not None
    [citation, *_] = outcome.answer.citations
    cited = next(item for item in outcome.evidence if item.id == citation.evidence)
    assert (cited.source, cited.page, cited.collection) == ("wiki/lisbon", 2, "foreign:wiki")
    assert citation.quote in LISBON.page_content
    assert LISBON.page_content[cited.start : cited.end] == cited.text
    assert outcome.answer.unsupported == ()


def test_what_is_known_here_is_still_answered_from_here(folder: Path) -> None:
    wiki = ForeignRetriever(Blocking(call=lambda question: [LISBON]), name="wiki")
    with KnowledgeBase.open(folder, retrievers=[wiki]) as base:
        outcome = base.ask("How many days is annual leave?")
    assert outcome.evidence[0].collection == "default"
    assert outcome.answer is not None
    assert "27 days" in outcome.answer.text


def test_a_chinese_question_is_answered_from_a_chinese_foreign_passage(folder: Path) -> None:
    told = Document(
        page_content="里斯本办公室早上八点开门，下午六点关门。", metadata={"source": "维基"}
    )
    wiki = ForeignRetriever(Blocking(call=lambda question: [told]), name="维基")
    with KnowledgeBase.open(folder, retrievers=[wiki]) as base:
        outcome = base.ask("里斯本办公室几点开门？")
        alone = base.ask("里斯本办公室几点开门？", collections=["foreign:维基"])
    assert outcome.status == alone.status == "answerable"
    assert outcome.evidence[0].collection == "foreign:维基"


def test_one_that_hangs_costs_its_own_deadline_and_the_rest_is_answered(folder: Path) -> None:
    with hanging() as (hang, _):
        stuck = ForeignRetriever(Blocking(call=hang), name="stuck", timeout=0.2)
        with KnowledgeBase.open(folder, retrievers=[stuck]) as base:
            outcome = base.ask("How many days is annual leave?")
    assert outcome.status == "answerable"
    assert [(f.where, f.kind) for f in outcome.failures] == [("f1.foreign", "timeout")]
    assert [q.status for q in outcome.queries if q.retriever == "stuck"] == ["timed_out"]
