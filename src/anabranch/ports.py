"""The seams: what each replaceable part promises, and which implementation of each was chosen.

Everything that waits is async. A part raises; the caller at the edge of a branch turns that into
a ``Failure``. Nothing here imports an implementation.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from anabranch.ledger import Ledger, ModelCall
from anabranch.lexicon import DocumentLexicon, Lexicon
from anabranch.records import (
    Job,
    JobFile,
    JobStatus,
    Message,
    NewJob,
    NewMessage,
    OpenQuestion,
    Session,
)
from anabranch.trace import RunSink, Trace, ignore_event
from anabranch.types import (
    Answer,
    Background,
    Chunk,
    Conflict,
    Document,
    Effort,
    Evidence,
    EvidenceGrade,
    Hit,
    LegName,
    LegResult,
    Passage,
    Plan,
    Rewrite,
    Role,
    Scope,
    SourceRecord,
    SubQuestion,
    Turn,
    Variant,
)

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

Vectors = npt.NDArray[np.float32]
# Directions of window vectors: only the cosine with them is used, so that a byte a dimension with
# any scale is enough (the cosine is off by less than .004).
Windows = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class PassageText:
    """A passage to embed; ``context`` (title, headings, column names) is read before it."""

    text: str
    context: str = ""


@dataclass(frozen=True, slots=True)
class PassageVectors:
    """``passage``: one unit vector, context included, shape (dimensions,).

    ``windows``: a row for each span of ``language.window_spans(text)``, shape (windows,
    dimensions); no rows where the model gives no vectors below the whole text.
    """

    passage: Vectors
    windows: Windows


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """A document ready to be stored: its record, its text, all chunk levels, leaf vectors.

    ``vectors`` has a row for each level-3 chunk, in their order, unit length; ``windows`` an array
    for each, or nothing at all where the embedder has none.
    """

    record: SourceRecord
    document: Document
    chunks: tuple[Chunk, ...]
    vectors: Vectors
    lexicon: DocumentLexicon
    windows: tuple[Windows, ...] = ()


@runtime_checkable
class Store(Protocol):
    """Documents, their chunks and vectors, searchable within a scope.

    The scope is part of every query, never applied to its result. A write is atomic: a reader
    sees a document's old version or its new one, whole. Every method raises ``StorageError``
    where the disk refuses.
    """

    async def replace(self, documents: Sequence[IndexedDocument]) -> None:
        """Store documents, each in place of every earlier version of the same source_id."""

    async def remove(self, source_ids: Sequence[str]) -> int:
        """Remove sources from every index at once; the number that were there."""

    async def sources(self, scope: Scope) -> list[SourceRecord]:
        """Every source in scope, ordered by collection, then source, then id."""

    async def collections(self, scope: Scope) -> list[str]:
        """Names of the collections that hold a source in scope, sorted."""

    async def source_text(self, source_id: str, scope: Scope) -> str | None:
        """The extracted text of a source; None if it is not in scope."""

    async def search_dense(
        self, vectors: Vectors, *, limit: int, scope: Scope
    ) -> list[tuple[Hit, ...]]:
        """For each row of ``vectors`` its nearest leaves: score is the cosine, best first.

        Ties are broken by chunk id.
        """

    async def search_text(self, query: str, *, limit: int, scope: Scope) -> tuple[Hit, ...]:
        """Leaves by BM25, best first, none with a score of zero. Any string is a valid query."""

    async def chunks(self, chunk_ids: Sequence[str], scope: Scope) -> dict[str, Chunk]:
        """Chunks of any level by id; ids that are not in scope are left out."""

    async def windows(self, chunk_ids: Sequence[str], scope: Scope) -> dict[str, Windows]:
        """Window vectors of leaves by chunk id; without those out of scope or without windows."""

    async def lexicon(self, scope: Scope) -> Lexicon:
        """Vocabulary and short forms of exactly the documents in scope."""

    async def fingerprint(self, scope: Scope) -> str:
        """Changes whenever what is in scope changes, and with nothing else; equal content of one
        store gives equal values."""

    async def as_of_now(self) -> Store:
        """What one request reads from: all that was written before this call, and of what is
        written later the same at each step, where the store can. Valid as long as the store is."""

    async def optimize(self) -> None:
        """Bring indexes up to date where that pays; safe at any time."""

    async def close(self) -> None: ...


class Embedder(Protocol):
    """Texts -> unit vectors, the same text always the same bits."""

    @property
    def fingerprint(self) -> str:
        """Name and content hash of the model: the index remembers it."""

    @property
    def dimensions(self) -> int: ...

    @property
    def languages(self) -> frozenset[str] | None:
        """Codes of the languages that it reads (``languages.NAMES``); None: more than can be named.

        Text in another script is searched by its words alone.
        """

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """One unit vector per text, shape (len(texts), dimensions)."""

    async def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
        """The vectors of each passage, in order."""

    async def close(self) -> None: ...


class Reranker(Protocol):
    async def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        """One score per text, higher is better; only their order is used."""

    async def close(self) -> None: ...


class Retriever(Protocol):
    """A foreign retrieval system that joins the fan-out with a leg of its own."""

    @property
    def name(self) -> str:
        """What it is called in outcomes; its collection is ``foreign:NAME``."""

    @property
    def weight(self) -> float | None:
        """How far it is trusted, above 0 to 1; None: as the settings say."""

    @property
    def timeout(self) -> float | None:
        """Seconds that one search may take; None: as long as any other leg."""

    @property
    def allowed(self) -> tuple[str, ...]:
        """Principals it is asked for, beside the owner; ``*`` is everyone."""

    async def search(self, question: str) -> LegResult:
        """A ``foreign`` leg: passages best first, with standard scores (``foreign_passages``)."""

    def close(self) -> None:
        """Stop waiting for what still runs; never blocks."""


class Planner(Protocol):
    async def plan(self, question: str, *, history: Sequence[Turn], lexicon: Lexicon) -> Plan:
        """Whether the question is simple or complex, why, and its sub-questions (2 to 4)."""

    async def variants(self, question: str, *, lexicon: Lexicon, limit: int) -> tuple[Variant, ...]:
        """At most ``limit`` other phrasings, the most useful first; a ``spelling`` one first."""


class Grader(Protocol):
    async def grade(
        self,
        question: str,
        passages: Sequence[Passage],
        *,
        history: Sequence[Turn],
        lexicon: Lexicon,
        background: Background | None = None,
    ) -> EvidenceGrade:
        """How well the passages answer; proposes a route, decides nothing.

        ``background`` is what the searched collection gives to this question anyway.
        """


class Rewriter(Protocol):
    async def rewrite(
        self, question: str, passages: Sequence[Passage], grade: EvidenceGrade, *, lexicon: Lexicon
    ) -> Rewrite | None:
        """A broader or fuller query for weak evidence; None when there is nothing to change."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a language model is asked: rules of ours, then the task; ``exchange`` follows them.

    Each turn of ``exchange`` is by ``ai`` or ``human``.
    """

    system: str
    user: str
    exchange: tuple[tuple[Literal["ai", "human"], str], ...] = ()


class ChatModel(Protocol):
    """A language model in one role, for one request. Its calls are counted there.

    Both methods raise RemoteError, and ConfigurationError where the model cannot be used at all.
    """

    async def complete(self, prompt: Prompt, *, schema: Mapping[str, Any] | None = None) -> str:
        """The text of the reply. ``schema`` is a JSON schema that it keeps to as far as it can."""

    async def write(self, prompt: Prompt, say: Callable[[str], None]) -> str:
        """The text of the reply, each piece handed to ``say`` as it comes."""


class Anonymizer(Protocol):
    """What one request hides before anything of it leaves the machine, and the way back."""

    def hide(self, text: str, *, cut: bool = False) -> str:
        """``text`` with a placeholder in place of each piece of personal data.

        ``cut``: it was cut off somewhere; a value that the cut goes through is left out.
        """

    def restore(self, text: str, *, as_json: bool = False) -> str:
        """``text`` with the values in place of the placeholders; ``as_json``: within its strings."""


class Answerer(Protocol):
    async def answer(
        self, question: str, evidence: Sequence[Evidence], *, sub_questions: Sequence[SubQuestion]
    ) -> Answer:
        """An answer from the evidence alone, every sentence cited."""


class ConflictFinder(Protocol):
    async def find(
        self, question: str, evidence: Sequence[Evidence], known: Sequence[Conflict]
    ) -> tuple[Conflict, ...]:
        """``known`` conflicts, found by rule, and further ones whose values stand in the evidence."""


class AgentModel(Protocol):
    """A language model that LangChain calls, within our limits and counted."""

    name: str

    async def chat_model(self) -> BaseChatModel: ...

    def counted(
        self, tokens: int, *, role: Role, ledger: Ledger
    ) -> AbstractAsyncContextManager[ModelCall]:
        """A turn at the provider for one call; whoever sends it fills in what it spent."""


@dataclass(frozen=True, slots=True)
class Talk:
    """What an agent made of a message: ``reply`` is its own, empty where it ``searched``."""

    reply: str
    searched: bool


class Agent(Protocol):
    """Decides whether a message needs a search of the documents."""

    async def talk(
        self, text: str, *, history: Sequence[Turn], search: Callable[[], Awaitable[str]]
    ) -> Talk:
        """Calls ``search`` at most once. Raises RemoteError, perhaps after it."""


class SessionStore(Protocol):
    """Conversations and what they wait for. Everything raises StorageError where it is refused."""

    async def create_session(
        self,
        owner: str,
        *,
        title: str = "",
        collections: Sequence[str] | None = None,
        within: Sequence[str] | None = None,
        principals: Sequence[str] | None = None,
    ) -> Session: ...

    async def sessions(self, owner: str, *, limit: int = 100, offset: int = 0) -> list[Session]:
        """Those of ``owner``, the one that was used last first."""

    async def session(self, owner: str, session_id: str) -> Session:
        """Raises SessionNotFoundError for one that is not there, or is somebody else's."""

    async def delete_session(self, owner: str, session_id: str) -> None:
        """With all that belongs to it. Raises SessionNotFoundError."""

    async def messages(self, session_id: str, *, after: int = 0) -> list[Message]:
        """The messages behind position ``after``, in order."""

    async def message(self, message_id: str) -> Message | None: ...

    async def keep(
        self, session_id: str, *new: NewMessage, title: str = "", hours: float = 0
    ) -> list[Message]:
        """``new`` at the end of the session, in one step; a session without a title gets ``title``.

        What an outcome among them asks back is kept open for ``hours``. Raises SessionNotFoundError.
        """

    async def note(self, session_id: str, text: str, *, upto: int) -> None:
        """``text`` condenses the messages up to position ``upto``; never goes back to fewer."""

    async def open_questions(self, session_id: str) -> list[OpenQuestion]:
        """Those that wait for a reply, oldest first; expired ones are among them."""

    async def question(self, session_id: str, clarification_id: str) -> OpenQuestion | None:
        """The last one with that id, an open one before others."""

    async def claim(self, question: OpenQuestion, *, seconds: float) -> str | None:
        """The right to answer for so long; None where it is answered, or somebody else has it."""

    async def extend(self, question: OpenQuestion, claim: str, *, seconds: float) -> bool:
        """Whether the claim was still held; then it is for another ``seconds``."""

    async def release(self, question: OpenQuestion, claim: str) -> None:
        """Gives a claim back: whoever comes next may answer."""

    async def answer(
        self, question: OpenQuestion, claim: str, *new: NewMessage, hours: float
    ) -> list[Message] | None:
        """``keep`` and the end of ``question`` in one step; None, and nothing kept, where the claim
        went to somebody else."""

    async def close_question(self, question: OpenQuestion) -> None:
        """It waits no longer for a reply."""


class RateStore(Protocol):
    """How often each key was used, by whichever process."""

    async def take(self, key_id: str, *, uses: int, per_minute: int) -> float:
        """Takes ``uses`` at once of the allowance of a key, which refills by ``per_minute``.

        0.0 where it has them; else the seconds until it has, and nothing is taken. Raises
        StorageError.
        """
        ...


class JobStore(Protocol):
    """Files to add in the background. A job runs by whoever has its lease."""

    async def create_job(self, owner: str, new: NewJob) -> Job: ...

    async def jobs(
        self, owner: str | None, *, within: Sequence[str] | None = None, limit: int = 100
    ) -> list[Job]:
        """Those of ``owner`` (None: of everybody) in the collections ``within``, the newest first."""

    async def job(
        self, owner: str | None, job_id: str, *, within: Sequence[str] | None = None
    ) -> Job:
        """Raises SessionNotFoundError for one that is not there, or not among ``jobs``."""

    async def claim_job(self, *, seconds: float, attempts: int) -> tuple[Job, str] | None:
        """The oldest job that nobody runs, and the claim on it. One that was begun ``attempts``
        times and never ended is failed instead, and one with a path of an earlier job of its owner
        waits for that to end."""

    async def extend_job(
        self, job: Job, claim: str, *, seconds: float
    ) -> Literal["held", "cancelling", "lost"]:
        """Holds the lease for another ``seconds``, and says whether the job is to be cancelled."""

    async def update_file(self, job: Job, claim: str, file: JobFile) -> None:
        """Keeps how far a file is, if the claim still holds."""

    async def end_job(self, job: Job, claim: str, state: JobStatus, *, error: str = "") -> bool:
        """Ends the job; files that have not ended are cancelled. False where the claim was lost."""

    async def release_job(self, job: Job, claim: str) -> None:
        """Gives a job back that was begun and is not done: it waits again."""

    async def cancel_job(self, job: Job) -> None:
        """A job that waits is cancelled at once, one that runs as soon as its server notices."""

    async def retry_job(self, job: Job, *, principals: tuple[str, ...] | None) -> bool:
        """What failed or was cancelled waits again, with ``principals`` from now on. False where
        nothing was, or the job has not ended."""

    async def ended_jobs(self, *, days: float) -> list[Job]:
        """Jobs that ended longer than ``days`` ago."""

    async def delete_job(self, job: Job) -> None: ...


@dataclass(frozen=True, slots=True)
class Parts:
    """The chosen implementation of every seam."""

    store: Store
    embedder: Embedder
    planner: Planner
    grader: Grader
    rewriter: Rewriter
    answerer: Answerer
    reranker: Reranker | None = None


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each leg and each kind of query counts in the fusion, beside the original's 1."""

    dense: float = 0.5
    text: float = 0.5
    variant: float = 0.8
    foreign: float = 1.0

    @property
    def legs(self) -> dict[LegName, float]:
        return {"dense": self.dense, "text": self.text}


@dataclass(frozen=True, slots=True)
class Budgets:
    """What one request may spend. Times in seconds, context in (estimated) tokens."""

    effort: Effort = "standard"
    top_k: int = 8
    variants: int = 2
    candidates: int = 100
    context_tokens: int = 3_000
    reranked: int = 30
    rewrites: int = 1
    asks: int = 2
    query_timeout: float = 10.0
    model_timeout: float = 0.0
    branch_timeout: float = 15.0
    rerank_timeout: float = 5.0


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What belongs to one request: handed to every step, never global, never in the state.

    ``ledger`` has what the models of the request cost, and where a local part stepped in.
    ``anonymizer`` is there if anonymising is on. ``notices`` are for the outcome.
    ``deadline`` and ``started`` are readings of ``time.perf_counter()``. ``snapshot`` makes the
    signed resume snapshot of a run that ends with a question to the user; ``asked`` counts the
    questions that the user has been asked in a row before this one.
    """

    parts: Parts
    scope: Scope
    budgets: Budgets
    started: float
    deadline: float
    index_fingerprint: str
    signing_key: bytes
    weights: Weights = field(default_factory=Weights)
    interactive: bool = True
    history: tuple[Turn, ...] = ()
    user: str = "owner"
    asked: int = 0
    sink: RunSink = ignore_event
    retrievers: tuple[Retriever, ...] = ()
    ledger: Ledger = field(default_factory=Ledger)
    anonymizer: Anonymizer | None = None
    notices: tuple[str, ...] = ()

    def hidden(self, text: str) -> str:
        """``text`` as foreign systems may see it."""
        return text if self.anonymizer is None else self.anonymizer.hide(text)

    def remaining(self, limit: float, *, share: float = 1.0) -> float:
        """Seconds that a step with its own ``limit`` may still take; never negative.

        ``share`` is what the step may use of the time that the request has left. An inner step
        gets less than the one around it, so that what hangs is cut off while there is still time
        to go on without it.
        """
        return max(0.0, min(limit, share * (self.deadline - time.perf_counter())))

    def trace(self) -> Trace:
        """A trace of its own for one node, on the clock of the request."""
        return Trace(self.sink, self.started)
