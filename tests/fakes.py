"""Scripted parts: what the engine is tested against where the real ones would blur the cause.

A script says what a part gives for a question: a value, an exception to raise, or ``HANG``, which
waits for an event that never comes and notes it when it is cancelled.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from anabranch.foreign_passages import read_passages
from anabranch.knowledge_base import KnowledgeBase
from anabranch.ledger import Ledger
from anabranch.lexicon import Lexicon
from anabranch.ports import (
    Answerer,
    Budgets,
    ConflictFinder,
    IndexedDocument,
    Parts,
    PassageText,
    PassageVectors,
    RequestContext,
    Vectors,
    Windows,
)
from anabranch.reasoning.conflict_finding import LocalConflictFinder
from anabranch.resume import Snapshot, validate
from anabranch.settings import Settings
from anabranch.trace import RunEvent
from anabranch.types import (
    Answer,
    Background,
    Chunk,
    Citation,
    Evidence,
    EvidenceGrade,
    Hit,
    LegResult,
    Outcome,
    Passage,
    Place,
    Plan,
    Rewrite,
    Scope,
    SourceRecord,
    SubQuestion,
    Turn,
    Variant,
)

HANG: Final = object()
KEY = b"k" * 32


def replied(snapshot: Any, reply: str) -> Snapshot:
    """A snapshot that validates, with what ``reply`` means."""
    known = validate(snapshot, KEY)
    return known.with_reply(known.meaning_of(reply))


# ------------------------------------------------------------------------------------ the nouns


def digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def chunk(
    text: str = "Annual leave is 30 days.", source: str = "leave.md", **changes: Any
) -> Chunk:
    """A leaf at the start of ``source``; its id is its source, level and place."""
    start = changes.get("start", 0)
    values: dict[str, Any] = {
        "source_id": f"id-{source}", "collection": "default", "source": source, "title": source,
        "text": text, "start": start, "end": start + len(text), "chunk_index": 0, "level": 3,
        "content_hash": digest(text), "page": 1, **changes,
    }  # fmt: skip
    place = f"{values['source']}#{values['level']}@{values['start']}"
    return Chunk(**{"chunk_id": place, **values})


def hits(*chunks: Chunk | str, best: float = 0.9) -> tuple[Hit, ...]:
    """Hits in falling order of score; a string is a document of its own."""
    made = [c if isinstance(c, Chunk) else chunk(c, source=f"{digest(c)}.md") for c in chunks]
    return tuple(Hit(item, best - 0.1 * rank) for rank, item in enumerate(made))


def passage(
    text: str = "Annual leave is 30 days.", source: str = "leave.md", **changes: Any
) -> Passage:
    made = changes.pop("chunk", None) or chunk(text, source)
    values: dict[str, Any] = {
        "chunk": made, "score": 0.5, "found_by": ("q1",),
        "provenance": (Place(made.source, made.page, made.start, made.end, made.source_id, made.collection),),
    }  # fmt: skip
    return Passage(**{**values, **changes})


def evidence(text: str = "Annual leave is 30 days.", number: int = 1, **changes: Any) -> Evidence:
    values: dict[str, Any] = {
        "id": f"e{number}", "chunk_id": f"c{number}", "chunk_index": 0, "collection": "default",
        "source_id": "s", "text": text, "source": "leave.md", "title": "Leave", "page": 1,
        "start": 0, "end": len(text), "level": 3, "score": 0.5, "relevance": 0.9,
    }  # fmt: skip
    return Evidence(**{**values, **changes})


STRONG = EvidenceGrade("strong", "sufficient", confidence=0.9, reason="it says so", route="answer")
PARTIAL = EvidenceGrade("weak", "partial", confidence=0.4, reason="some of it", route="rewrite")
MISSING = replace(PARTIAL, missing_slots=("Boston",))
NOTHING = EvidenceGrade("none", "none", confidence=0.05, reason="nothing fits")
SLOT = EvidenceGrade(
    "strong", "sufficient", "missing_slot", 0.7, reason="which office?", route="clarify",
    hitl_prompt="Which office?", hitl_options=("Berlin", "Boston"),
)  # fmt: skip
CANDIDATES = EvidenceGrade(
    "strong", "sufficient", "multiple_candidates", 0.7, reason="several", route="scope_select",
    hitl_prompt="Which handbook?", hitl_options=("2025", "2026"),
)  # fmt: skip


def complex_plan(*questions: str, **changes: Any) -> Plan:
    subs = tuple(SubQuestion(f"s{i}", text) for i, text in enumerate(questions, start=1))
    return replace(Plan("complex", "it has parts", sub_questions=subs), **changes)


# ------------------------------------------------------------------------------------- the parts


@dataclass
class Script:
    """Plays what was scripted; ``turns`` lets a call wait for that many turns of the loop."""

    cancelled: threading.Event = field(default_factory=threading.Event)
    hanging: threading.Event = field(default_factory=threading.Event)
    turns: Mapping[str, int] = field(default_factory=dict)

    async def play(self, line: Any, name: str = "") -> Any:
        for _ in range(self.turns.get(name, 0)):
            await asyncio.sleep(0)
        if line is HANG:
            self.hanging.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        if isinstance(line, BaseException):
            raise line
        return line


@dataclass
class FakeEmbedder(Script):
    languages: frozenset[str] | None = None
    """A vector holds the number of its text, so that the fake store knows what was asked."""

    script: Mapping[str, Any] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    fingerprint: str = "fake-model"
    dimensions: int = 2

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        for text in texts:
            await self.play(self.script.get(text), text)
        first = len(self.texts)
        self.texts.extend(texts)
        return np.array([[first + i, 1.0] for i in range(len(texts))], dtype=np.float32)

    async def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
        vectors = await self.embed_queries([passage.text for passage in passages])
        return [PassageVectors(vector, np.zeros((0, 2), dtype=np.int8)) for vector in vectors]

    async def close(self) -> None: ...


@dataclass
class FakeStore(Script):
    """Finds ``found`` for a question in both legs, unless ``dense`` or ``text`` says otherwise.

    ``together`` is what a dense call for several queries at once does, if scripted.
    """

    embedder: FakeEmbedder = field(default_factory=FakeEmbedder)
    found: Mapping[str, Any] = field(default_factory=dict)
    dense: Mapping[str, Any] = field(default_factory=dict)
    text: Mapping[str, Any] = field(default_factory=dict)
    parents: Any = field(default_factory=dict)
    together: Any = None
    words: Any = field(default_factory=Lexicon)
    records: tuple[SourceRecord, ...] = ()
    names: tuple[str, ...] = ("default", "handbook")
    version: Any = "version-1"
    scopes: list[Scope] = field(default_factory=list)
    dense_calls: list[tuple[str, ...]] = field(default_factory=list)
    text_calls: list[str] = field(default_factory=list)
    closed: int = 0

    def forget_calls(self) -> None:
        for calls in (self.scopes, self.dense_calls, self.text_calls):
            calls.clear()

    async def search_dense(
        self, vectors: Vectors, *, limit: int, scope: Scope
    ) -> list[tuple[Hit, ...]]:
        asked = tuple(self.embedder.texts[int(vector[0])] for vector in vectors)
        self.dense_calls.append(asked)
        self.scopes.append(scope)
        if len(asked) > 1:
            await self.play(self.together)
        return [await self.play(self.dense.get(q, self.found.get(q, ())), q) for q in asked]

    async def search_text(self, query: str, *, limit: int, scope: Scope) -> tuple[Hit, ...]:
        self.text_calls.append(query)
        self.scopes.append(scope)
        found: tuple[Hit, ...] = await self.play(
            self.text.get(query, self.found.get(query, ())), query
        )
        return found

    async def chunks(self, chunk_ids: Sequence[str], scope: Scope) -> dict[str, Chunk]:
        self.scopes.append(scope)
        parents = await self.play(self.parents)
        return {name: parents[name] for name in chunk_ids if name in parents}

    async def windows(self, chunk_ids: Sequence[str], scope: Scope) -> dict[str, Windows]:
        self.scopes.append(scope)
        return {}

    async def lexicon(self, scope: Scope) -> Lexicon:
        self.scopes.append(scope)
        words: Lexicon = await self.play(self.words)
        return words

    async def as_of_now(self) -> FakeStore:
        return self

    async def replace(self, documents: Sequence[IndexedDocument]) -> None:
        raise NotImplementedError

    async def remove(self, source_ids: Sequence[str]) -> int:
        kept = tuple(record for record in self.records if record.source_id not in source_ids)
        removed, self.records = len(self.records) - len(kept), kept
        return removed

    async def sources(self, scope: Scope) -> list[SourceRecord]:
        return [
            record
            for record in self.records
            if (scope.sources is None or record.source in scope.sources)
            and (scope.collections is None or record.collection in scope.collections)
        ]

    async def collections(self, scope: Scope) -> list[str]:
        return sorted(self.names)

    async def source_text(self, source_id: str, scope: Scope) -> str | None:
        return f"text of {source_id}"

    async def fingerprint(self, scope: Scope) -> str:
        version: str = await self.play(self.version)
        return version

    async def optimize(self) -> None: ...

    async def close(self) -> None:
        self.closed += 1


@dataclass
class FakePlanner(Script):
    """``script`` is a plan for every question, or one by question."""

    script: Any = field(default_factory=lambda: Plan("simple", "one fact"))
    other: Any = ()
    planned: list[str] = field(default_factory=list)
    varied: list[str] = field(default_factory=list)
    histories: list[Sequence[Turn]] = field(default_factory=list)

    async def plan(self, question: str, *, history: Sequence[Turn], lexicon: Lexicon) -> Plan:
        self.planned.append(question)
        self.histories.append(history)
        by_question = isinstance(self.script, Mapping)
        plan: Plan = await self.play(self.script[question] if by_question else self.script)
        return plan

    async def variants(self, question: str, *, lexicon: Lexicon, limit: int) -> tuple[Variant, ...]:
        self.varied.append(question)
        variants: tuple[Variant, ...] = await self.play(self.other)
        return variants[:limit]


@dataclass
class FakeGrader(Script):
    """Grades by question; a list is used up in order. Unscripted: strong if there is anything."""

    script: Mapping[str, Any] = field(default_factory=dict)
    calls: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    histories: list[Sequence[Turn]] = field(default_factory=list)

    async def grade(
        self,
        question: str,
        passages: Sequence[Passage],
        *,
        history: Sequence[Turn],
        lexicon: Lexicon,
        background: Background | None = None,
    ) -> EvidenceGrade:
        self.calls.append((question, tuple(p.chunk.text for p in passages)))
        self.histories.append(history)
        line = self.script.get(question, STRONG if passages else NOTHING)
        if isinstance(line, list):
            line = line.pop(0)
        grade: EvidenceGrade = await self.play(line, question)
        relevance = tuple(round(0.9 - 0.01 * rank, 4) for rank in range(len(passages)))
        return replace(grade, passage_relevance=relevance)


@dataclass
class FakeRewriter(Script):
    script: Any = None
    calls: list[str] = field(default_factory=list)

    async def rewrite(
        self,
        question: str,
        passages: Sequence[Passage],
        grade: EvidenceGrade,
        *,
        lexicon: Lexicon,
    ) -> Rewrite | None:
        self.calls.append(question)
        rewrite: Rewrite | None = await self.play(self.script)
        return rewrite


@dataclass
class FakeAnswerer(Script):
    """Cites the first piece of evidence whole, unless scripted."""

    script: Any = None
    calls: list[str] = field(default_factory=list)

    async def answer(
        self,
        question: str,
        evidence: Sequence[Evidence],
        *,
        sub_questions: Sequence[SubQuestion],
    ) -> Answer:
        self.calls.append(question)
        line = await self.play(self.script)
        if isinstance(line, Answer):
            return line
        text = evidence[0].text
        return Answer(f"{text} [1]", "extractive", (Citation(1, evidence[0].id, text),))


@dataclass
class FakeReranker(Script):
    """Scores by text."""

    script: Any = field(default_factory=dict)

    async def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        line = await self.play(self.script)
        return line if isinstance(line, list) else [line.get(text, 0.0) for text in texts]


@dataclass
class FakeRetriever(Script):
    """A foreign system that gives the texts ``found`` for a question, best first."""

    name: str = "web"
    found: Mapping[str, Any] = field(default_factory=dict)
    weight: float | None = None
    timeout: float | None = None
    allowed: tuple[str, ...] = ()
    calls: list[str] = field(default_factory=list)
    closed: int = 0

    async def search(self, question: str) -> LegResult:
        self.calls.append(question)
        given = await self.play(self.found.get(question, ()), question)
        return read_passages(
            [FakeDocument(text) if isinstance(text, str) else text for text in given],
            question, name=self.name, limit=10,
        )  # fmt: skip

    def close(self) -> None:
        self.closed += 1


@dataclass
class FakeDocument:
    """What is read of a LangChain document."""

    page_content: Any
    metadata: Any = field(default_factory=lambda: {"source": "a web page"})
    id: Any = None


@dataclass
class World:
    """The fakes of one test, and the contexts and knowledge bases made of them."""

    store: FakeStore = field(default_factory=FakeStore)
    planner: FakePlanner = field(default_factory=FakePlanner)
    grader: FakeGrader = field(default_factory=FakeGrader)
    rewriter: FakeRewriter = field(default_factory=FakeRewriter)
    answerer: FakeAnswerer = field(default_factory=FakeAnswerer)
    reranker: FakeReranker | None = None
    events: list[RunEvent] = field(default_factory=list)

    @property
    def embedder(self) -> FakeEmbedder:
        return self.store.embedder

    @property
    def parts(self) -> Parts:
        return Parts(
            self.store, self.embedder, self.planner, self.grader, self.rewriter, self.answerer,
            self.reranker,
        )  # fmt: skip

    def context(self, *, seconds: float = 20.0, **changes: Any) -> RequestContext:
        """A request context; names of ``Budgets`` fields go to the budgets."""
        budget_names = Budgets.__dataclass_fields__
        budgets = {name: changes.pop(name) for name in list(changes) if name in budget_names}
        now = time.perf_counter()
        values: dict[str, Any] = {
            "parts": self.parts, "scope": Scope(), "budgets": Budgets(**budgets), "started": now,
            "deadline": now + seconds, "index_fingerprint": "version-1", "signing_key": KEY,
            "sink": self.events.append,
        }  # fmt: skip
        return RequestContext(**{**values, **changes})

    def knowledge_base(
        self,
        *,
        key: bytes = KEY,
        retrievers: Sequence[Any] = (),
        path: Path = Path("fake-kb"),
        **settings: Any,
    ) -> KnowledgeBase:
        built = FakeBuilt(self.parts, key)

        async def opener(create: bool) -> Any:
            return built

        return KnowledgeBase(
            opener, settings=Settings(**settings), path=path, retrievers=retrievers
        )


@dataclass
class FakeBuilt:
    """What ``build.Built`` is to a knowledge base, over fakes."""

    parts: Parts
    signing_key: bytes = KEY
    format_version: int = 1
    signature: None = None

    def ledger(self) -> Ledger:
        return Ledger()

    def anonymizer(self) -> None:
        return None

    def notices(self, question: str, *, foreign: bool) -> tuple[str, ...]:
        return ()

    async def prepare(self, budgets: Budgets) -> None: ...

    def parts_for(
        self, budgets: Budgets, *, deadline: float, ledger: Ledger, anonymizer: None
    ) -> Parts:
        return self.parts

    def answerer_for(
        self,
        effort: str,
        *,
        ledger: Ledger,
        seconds: float,
        say: Callable[[str], None],
        anonymizer: None,
    ) -> Answerer:
        return self.parts.answerer

    def conflict_finder_for(
        self, effort: str, *, ledger: Ledger, seconds: float, anonymizer: None
    ) -> ConflictFinder:
        return LocalConflictFinder()

    def agent(self, ledger: Ledger, *, seconds: float, tools: Sequence[Any] = ()) -> None:
        return None

    async def close(self) -> None:
        await self.parts.store.close()


# ----------------------------------------------------------------------------------- comparing


def without_times(outcome: Outcome) -> dict[str, Any]:
    """The outcome as plain values without what the clock put into it."""

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: strip(v) for k, v in value.items() if k not in ("elapsed_ms", "started_ms")}
        return [strip(item) for item in value] if isinstance(value, list) else value

    stripped: dict[str, Any] = strip(outcome.to_dict())
    return stripped
