"""The nouns, in the order a question meets them: documents, queries, hits, evidence, outcome.

All of them are frozen: a step returns new values. Field names are those of the JSON contract
(``docs/outcome.md``), so serialising is one generic walk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from types import MappingProxyType, NoneType
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

OUTCOME_SCHEMA = "anabranch.outcome/1"
RESUME_SCHEMA: Final = "anabranch.resume/1"
DEFAULT_COLLECTION = "default"
# Key of a chunk's metadata: [page, start, end] for each page that it goes over, if several.
PAGE_SPANS = "page_spans"
# The collection of what a foreign retriever gave is this and its name; no stored one is called so.
FOREIGN = "foreign:"
# What OpenAI's clients call all collections that the caller may see; none of them is called so.
ALL_COLLECTIONS = "anabranch"

Effort = Literal["minimal", "standard", "thorough"]
Complexity = Literal["simple", "complex"]
Status = Literal[
    "answerable",
    "partial",
    "needs_clarification",
    "needs_scope_selection",
    "no_knowledge",
    "failed",
]
FinalRoute = Literal["answer", "clarify", "scope_select", "no_knowledge"]
GradeRoute = Literal["answer", "rewrite", "clarify", "scope_select", "no_knowledge"]
BranchStatus = Literal[
    "answerable", "partial", "no_knowledge", "needs_clarification", "failed", "timed_out"
]
QueryStatus = Literal["ok", "empty", "failed", "timed_out"]
QueryKind = Literal[
    "original", "variant", "spelling", "feedback", "sub_question", "bridge",
    "step_back", "hyde", "clarified", "foreign",
]  # fmt: skip
LegName = Literal["dense", "text", "foreign"]
# What a language model is asked to do.
Role = Literal["plan", "grade", "rewrite", "answer", "agent"]
FileStatus = Literal["added", "unchanged", "updated", "empty", "failed"]
Level = Literal[1, 2, 3]

EMPTY: Mapping[str, Any] = MappingProxyType({})


# ---------------------------------------------------------------------------------- documents in


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a document: ``text[start:end]`` of the extracted text; numbers count from 1."""

    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of the document at ``text[start:end]``; ``depth`` counts from 1."""

    depth: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """Extracted, normalised text of one source, with what is known about its places.

    ``text`` is NFC without control or invisible characters; every offset anywhere counts
    characters of it. ``pages`` is empty where the format has none; otherwise pages are in order
    and do not overlap. ``content_hash`` is of the bytes that were read.
    """

    source: str
    title: str
    text: str
    content_hash: str
    media_type: str
    pages: tuple[Page, ...] = ()
    headings: tuple[Heading, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span of a document: ``text == document.text[start:end]``.

    Level 1 is the largest (about 2,400 characters), 3 the leaf that is embedded (about 600).
    ``chunk_index`` counts within source and level. ``context`` is what travels with the chunk for
    search but is not part of it (title, headings, column names). ``allowed`` lists the principals
    that may see it; empty means everyone who may see the collection.
    """

    chunk_id: str
    source_id: str
    collection: str
    source: str
    title: str
    text: str
    start: int
    end: int
    chunk_index: int
    level: Level
    content_hash: str
    page: int | None = None
    context: str = ""
    parent_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """What the store knows of one source. ``location`` is where it was read from."""

    source_id: str
    collection: str
    source: str
    location: str
    title: str
    media_type: str
    content_hash: str
    characters: int
    page_count: int | None
    chunk_count: int
    added_at: str
    metadata: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileReport:
    """One line of an ingestion report: what happened to one file, and why."""

    source: str
    status: FileStatus
    reason: str = ""
    pages: int | None = None
    chunks: int = 0


@dataclass(frozen=True, slots=True)
class AddReport:
    """What happened to every file that was given to ``add``."""

    files: tuple[FileReport, ...]
    elapsed_ms: float = 0.0
    notices: tuple[str, ...] = ()

    def count(self, status: FileStatus) -> int:
        return sum(file.status == status for file in self.files)

    def to_dict(self) -> dict[str, Any]:
        statuses: tuple[FileStatus, ...] = ("added", "unchanged", "updated", "empty", "failed")
        return {
            **{status: self.count(status) for status in statuses},
            "chunks": sum(file.chunks for file in self.files),
            "elapsed_ms": round(self.elapsed_ms, 1),
            "notices": list(self.notices),
            "files": [to_plain(file) for file in self.files],
        }


# ------------------------------------------------------------------------------------- the asking


@dataclass(frozen=True, slots=True)
class Scope:
    """What a request may see. ``None`` means no restriction of that kind; an empty tuple: nothing.

    ``principals`` are the identities of the caller: a document with ``allowed`` principals is seen
    only if one of them is among these. ``principals=None`` is the owner of the knowledge base.
    """

    collections: tuple[str, ...] | None = None
    sources: tuple[str, ...] | None = None
    principals: tuple[str, ...] | None = None

    def intersect(self, other: Scope) -> Scope:
        """The scope that both allow; principals are the caller's own (``self``)."""
        return Scope(
            collections=_both(self.collections, other.collections),
            sources=_both(self.sources, other.sources),
            principals=self.principals,
        )


def _both(mine: tuple[str, ...] | None, theirs: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if mine is None or theirs is None:
        return mine if theirs is None else theirs
    return tuple(name for name in mine if name in theirs)


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier turn of the conversation, oldest first where there are several."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Variant:
    """Another phrasing of a question. ``weight`` is relative to the original's 1."""

    text: str
    kind: QueryKind = "variant"
    weight: float = 0.3
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """A part of a complex question that stands alone."""

    id: str
    question: str
    reason: str = ""
    variants: tuple[Variant, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """How a question will be searched. ``sub_questions`` is empty when it is simple.

    ``standalone`` is the question as it stands on its own where the conversation supplies what it
    leaves out; empty: as asked. ``filled_in`` says in words what came from which turn. Variants and
    sub-questions are those of the standalone question.
    """

    complexity: Complexity
    reason: str
    variants: tuple[Variant, ...] = ()
    sub_questions: tuple[SubQuestion, ...] = ()
    standalone: str = ""
    filled_in: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """One search. ``id`` is unique in the request; ``group`` names the sub-question it serves.

    ``legs`` are the ways it is searched; a query without a dense leg is not embedded.
    ``retriever`` names the foreign retriever that it was put to; None: the store. ``is_clause``: of
    kind ``bridge``, and a clause of the question, not a name that a passage brought in.
    """

    id: str
    text: str
    kind: QueryKind
    weight: float = 1.0
    parent: str | None = None
    group: str | None = None
    legs: tuple[LegName, ...] = ("dense", "text")
    retriever: str | None = None
    is_clause: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that one leg of one query found, with that leg's own raw score.

    Raw scores of different legs or queries are never compared; those of a foreign leg are standard
    scores already. ``windows`` are known where the chunk was embedded for the question.
    """

    chunk: Chunk
    score: float
    windows: tuple[WindowScore, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that went wrong while the request went on."""

    where: str
    kind: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class LegResult:
    """What one leg of a query found, or how it failed; ``left_out`` is what was not read of it."""

    leg: LegName
    hits: tuple[Hit, ...] = ()
    failure: Failure | None = None
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryResult:
    """What one query found over its legs.

    ``lifts``: of a follow-up, how high it lifts what it found, by chunk id.
    """

    query: Query
    legs: tuple[LegResult, ...]
    elapsed_ms: float = 0.0
    lifts: Mapping[str, float] = field(default_factory=lambda: EMPTY)

    @property
    def status(self) -> QueryStatus:
        """Failed only if every leg failed; empty only if a leg worked and none found anything."""
        if any(leg.hits for leg in self.legs):
            return "ok"
        failures = [leg.failure for leg in self.legs if leg.failure]
        if failures and len(failures) == len(self.legs):
            return "timed_out" if all(f.kind == "timeout" for f in failures) else "failed"
        return "empty"

    @property
    def failures(self) -> tuple[Failure, ...]:
        return tuple(leg.failure for leg in self.legs if leg.failure)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text stands."""

    source: str
    page: int | None
    start: int
    end: int
    source_id: str = ""
    collection: str = ""


@dataclass(frozen=True, slots=True)
class WindowScore:
    """Cosine of a question with two neighbouring sentences at ``text[start:end]`` of a document."""

    start: int
    end: int
    cosine: float


@dataclass(frozen=True, slots=True)
class Passage:
    """A fused candidate: a chunk, how high it ranks, who found it, and everywhere it stands.

    ``score`` is the fused rank score in [0, 1]; it says nothing about relevance. ``similarity`` is
    the best cosine of the chunk with an original question, None where no dense leg saw it.
    """

    chunk: Chunk
    score: float
    found_by: tuple[str, ...] = ()
    similarity: float | None = None
    provenance: tuple[Place, ...] = ()
    merged_from: tuple[str, ...] = ()
    windows: tuple[WindowScore, ...] = ()


@dataclass(frozen=True, slots=True)
class Retrieval:
    """One fan-out, fanned in: passages best first, and what every query gave.

    ``rankings`` has, by query id, the fused scores of that query's legs by chunk id, best first.
    ``failures`` are those of the fan-in; those of the legs are in ``results``.
    """

    passages: tuple[Passage, ...] = ()
    results: tuple[QueryResult, ...] = ()
    rankings: Mapping[str, Mapping[str, float]] = field(default_factory=lambda: EMPTY)
    failures: tuple[Failure, ...] = ()

    @property
    def failed(self) -> bool:
        """Every query failed, so that nothing is known about what the documents hold.

        One that had nowhere to be searched (the scope is a foreign retriever's) does not count.
        """
        asked = [result for result in self.results if result.legs]
        return bool(asked) and all(result.status in ("failed", "timed_out") for result in asked)


@dataclass(frozen=True, slots=True)
class Background:
    """What a collection gives to a question anyway: the tail of its dense leg.

    ``mean`` and ``deviation`` are of the tail's cosines; ``mean`` is None where no dense leg found
    enough to have a tail. ``agreement`` says how far both legs found the same, 0 to 1.
    """

    mean: float | None = None
    deviation: float = 1.0
    agreement: float = 0.0


@dataclass(frozen=True, slots=True)
class EvidenceGrade:
    """How well passages answer a question. ``passage_relevance`` is aligned with the passages.

    ``settled`` is which of several things of a kind an earlier turn said; empty where that is not open.
    """

    relevance: Literal["none", "weak", "strong"]
    answerability: Literal["none", "partial", "sufficient"]
    ambiguity: Literal["none", "missing_slot", "multiple_candidates"] = "none"
    confidence: float = 0.0
    missing_slots: tuple[str, ...] = ()
    reason: str = ""
    route: GradeRoute = "no_knowledge"
    hitl_prompt: str = ""
    hitl_options: tuple[str, ...] = ()
    passage_relevance: tuple[float, ...] = ()
    features: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    settled: str = ""


@dataclass(frozen=True, slots=True)
class BranchResult:
    """What one branch of a complex question came to.

    ``sub_question`` is None for the branch of the original question. ``failure`` is set when the
    branch as a whole raised or ran out of time.
    """

    sub_question: SubQuestion | None
    status: BranchStatus
    retrieval: Retrieval = field(default_factory=Retrieval)
    grade: EvidenceGrade | None = None
    trace: tuple[TraceEvent, ...] = ()
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The one rewrite of a question whose evidence was weak."""

    method: Literal["step_back", "hyde"]
    query: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a run came to before it is packed into an outcome.

    ``relevance`` is by chunk id. ``prompt`` and ``options`` are what the user is asked, if so.
    """

    status: Status
    route: FinalRoute | None
    confidence: float
    passages: tuple[Passage, ...] = ()
    relevance: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    grade: EvidenceGrade | None = None
    prompt: str = ""
    options: tuple[str, ...] = ()


# ----------------------------------------------------------------------------------- the outcome


@dataclass(frozen=True, slots=True)
class Evidence:
    """A numbered passage that an answer may cite: ``text == extracted_text[start:end]``.

    ``merged_from`` are the ids of the chunks that it stands for: leaves that became their parent,
    neighbours that were joined, copies. Of neighbours ``chunk_id`` is one that no chunk has.
    """

    id: str
    chunk_id: str
    chunk_index: int
    collection: str
    source_id: str
    text: str
    source: str
    title: str
    page: int | None
    start: int
    end: int
    level: Level
    score: float
    relevance: float
    found_by: tuple[str, ...] = ()
    provenance: tuple[Place, ...] = ()
    context: str = ""
    windows: tuple[WindowScore, ...] = ()
    merged_from: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Citation:
    """Marker ``[marker]`` in the answer points at ``evidence``; ``quote`` stands in its text.

    ``page`` is that of the quote: evidence may go over several.
    """

    marker: int
    evidence: str
    quote: str
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    mode: Literal["extractive", "llm"]
    citations: tuple[Citation, ...] = ()
    unsupported: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryHit:
    chunk_id: str
    evidence: str | None
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class QueryReport:
    """What one query of the fan-out found, as the outcome shows it; ``score`` is fused, 0 to 1."""

    id: str
    text: str
    kind: QueryKind
    parent: str | None
    status: QueryStatus
    hits: int
    results: tuple[QueryHit, ...] = ()
    elapsed_ms: float = 0.0
    retriever: str | None = None


@dataclass(frozen=True, slots=True)
class SubQuestionReport:
    """Coverage of one sub-question."""

    id: str
    question: str
    status: BranchStatus
    reason: str = ""
    clarification: str | None = None
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Clarification:
    """What the user is asked. ``options`` may be empty: then any reply will do."""

    id: str
    kind: Literal["clarify", "scope_select"]
    prompt: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConflictValue:
    value: str
    evidence: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """Pieces of evidence that give different values for one fact."""

    fact: str
    values: tuple[ConflictValue, ...]


@dataclass(frozen=True, slots=True)
class Nearest:
    """A passage that came closest without being evidence; it cannot be cited."""

    text: str
    source: str
    page: int | None
    relevance: float


@dataclass(frozen=True, slots=True)
class LeftOut:
    chunk_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One step of a run. ``type`` is from the closed list in ``trace.py``."""

    id: str
    type: str
    label: str
    parent: str | None = None
    group: str | None = None
    detail: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    started_ms: float = 0.0
    elapsed_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class RoleUsage:
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: RoleUsage) -> RoleUsage:
        return RoleUsage(
            self.model_calls + other.model_calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls of language models and their tokens, by role as well; ``cached`` replies cost no call.

    ``cost`` is in the unit of the prices that are set; None where a model that was called has none.
    """

    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    by_role: Mapping[str, RoleUsage] = field(default_factory=lambda: EMPTY)
    cached: int = 0
    cost: float | None = None

    def __add__(self, other: Usage) -> Usage:
        roles = dict(self.by_role)
        for role, spent in other.by_role.items():
            roles[role] = roles.get(role, RoleUsage()) + spent
        called = [usage.cost for usage in (self, other) if usage.model_calls]
        known = [cost for cost in called if cost is not None]
        return Usage(
            model_calls=self.model_calls + other.model_calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            by_role=roles,
            cached=self.cached + other.cached,
            cost=sum(known) if known and len(known) == len(called) else None,
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a question came to. Evidence is empty unless the status is answerable or partial."""

    question: str
    effective_question: str
    status: Status
    route: FinalRoute | None
    complexity: Complexity
    complexity_reason: str
    confidence: float
    grade: EvidenceGrade | None = None
    rewrite: Rewrite | None = None
    context: str = ""
    answer: Answer | None = None
    evidence: tuple[Evidence, ...] = ()
    queries: tuple[QueryReport, ...] = ()
    sub_questions: tuple[SubQuestionReport, ...] = ()
    clarification: Clarification | None = None
    resume: Mapping[str, Any] | None = None
    failures: tuple[Failure, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    nearest: tuple[Nearest, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    trace: tuple[TraceEvent, ...] = ()
    usage: Usage = field(default_factory=Usage)
    elapsed_ms: float = 0.0
    notices: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain JSON values, in the shape of ``anabranch.outcome/1``."""
        return {"schema": OUTCOME_SCHEMA, **to_plain(self)}


# Aligned with passages that the outcome does not show in that form, or internal to a query.
_NOT_SHOWN = frozenset({"passage_relevance", "windows"})


def to_plain(value: Any) -> Any:
    """``value`` as JSON values: dataclasses become objects, tuples lists, floats are rounded."""
    # Thousands of values an outcome, most of them texts and numbers.
    if isinstance(value, (str, int, NoneType)):
        return value
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {name: to_plain(getattr(value, name)) for name in _shown_fields(type(value))}
    return value


@cache
def _shown_fields(kind: type[DataclassInstance]) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind) if f.name not in _NOT_SHOWN)
