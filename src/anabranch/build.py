"""Settings -> parts: which implementation stands behind each port."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch import manifest
from anabranch.errors import AnabranchError, MissingExtraError
from anabranch.language import has_cjk
from anabranch.ledger import Ledger
from anabranch.named_models import BUNDLED_NAME, choose_embedder, choose_reranker, full_name
from anabranch.ports import (
    Agent,
    Anonymizer,
    Answerer,
    Budgets,
    ConflictFinder,
    JobStore,
    Parts,
    RateStore,
    SessionStore,
)
from anabranch.reading import Reader
from anabranch.settings import Settings
from anabranch.types import Effort, Role

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from anabranch.models.chat_models import ChatModels
    from anabranch.ports import ChatModel
    from anabranch.privacy.personal_data import PersonalData
    from anabranch.sessions.database import Database


logger = logging.getLogger(__name__)

# Of the time that a request has left. A plan or a rewrite, with its second try: less than the step
# around it may take, so that the part that takes over still fits. A grade: one call of two.
SHARE_OF_A_PLAN = 0.33
SHARE_OF_A_GRADE = 0.3
SHARE_OF_AN_ANSWER = 0.8


@dataclass(frozen=True, slots=True)
class Built:
    """An open knowledge base: its parts, what reads files for it, and its signing key.

    ``parts`` reason here; those of a request (``parts_for``) by the language models that are set.
    ``personal`` is there if anonymising is on: then nothing that is personal leaves the machine.
    """

    parts: Parts
    reader: Reader
    signing_key: bytes
    models: ChatModels
    format_version: int = manifest.FORMAT_VERSION
    signature: tuple[int, int, int] | None = None
    personal: PersonalData | None = None
    has_remote_parts: bool = False

    def anonymizer(self) -> Anonymizer | None:
        """What one request hides; None where anonymising is off."""
        return None if self.personal is None else self.personal.begin()

    def notices(self, question: str, *, foreign: bool) -> tuple[str, ...]:
        """What is to be said of anonymising where something leaves the machine, in the language of
        ``question``; ``foreign``: there are foreign retrievers."""
        if self.personal is None or not (self.has_remote_parts or foreign):
            return ()
        return (self.personal.notice(chinese=has_cjk(question)),)

    def ledger(self) -> Ledger:
        """An empty ledger for one request."""
        return self.models.ledger()

    async def prepare(self, budgets: Budgets) -> None:
        """Loads what the parts of a request will want, so that none of them is late for it."""
        if budgets.effort != "minimal":
            await self.models.load()

    def parts_for(
        self, budgets: Budgets, *, deadline: float, ledger: Ledger,
        anonymizer: Anonymizer | None,
    ) -> Parts:  # fmt: skip
        """The parts of one request: by a model where there is one, by ours where that fails.

        ``deadline`` is a reading of ``time.perf_counter()``.
        """
        if budgets.effort == "minimal" or not self.models:
            return self.parts
        from anabranch.reasoning.degrading import (
            DegradingGrader,
            DegradingPlanner,
            DegradingRewriter,
        )
        from anabranch.reasoning.llm_grading import LlmGrader
        from anabranch.reasoning.llm_planning import LlmPlanner
        from anabranch.reasoning.llm_rewriting import LlmRewriter

        parts, key = self.parts, self.signing_key

        def model(role: Role, seconds: Callable[[], float]) -> ChatModel | None:
            return _anonymous(self.models.in_role(role, ledger, seconds), anonymizer)

        def within(share: float, *, together: bool = False) -> Callable[[], float]:
            return _call_seconds(
                share, deadline=deadline, most=budgets.model_timeout, together=together
            )

        if plans := model("plan", within(SHARE_OF_A_PLAN, together=True)):
            preferred = LlmPlanner(plans, parts.planner, variants=budgets.variants, key=key)
            parts = replace(parts, planner=DegradingPlanner(preferred, parts.planner, ledger))
        if grades := model("grade", within(SHARE_OF_A_GRADE)):
            grader = LlmGrader(grades, parts.grader, context_tokens=budgets.context_tokens, key=key)
            parts = replace(parts, grader=DegradingGrader(grader, parts.grader, ledger))
        if rewrites := model("rewrite", within(SHARE_OF_A_PLAN, together=True)):
            rewriter = LlmRewriter(rewrites, key=key)
            parts = replace(parts, rewriter=DegradingRewriter(rewriter, parts.rewriter, ledger))
        return parts

    def answerer_for(
        self, effort: Effort, *, ledger: Ledger, seconds: float, say: Callable[[str], None],
        anonymizer: Anonymizer | None,
    ) -> Answerer:  # fmt: skip
        """The answerer of one request, which has ``seconds``; ``say`` gets the answer as it comes."""
        asked = self.models.in_role("answer", ledger, lambda: SHARE_OF_AN_ANSWER * seconds)
        model = _anonymous(asked, anonymizer)
        if model is None or effort == "minimal":
            return self.parts.answerer
        from anabranch.reasoning.degrading import DegradingAnswerer
        from anabranch.reasoning.llm_answering import LlmAnswerer

        preferred = LlmAnswerer(model, say, key=self.signing_key)
        return DegradingAnswerer(preferred, self.parts.answerer, ledger)

    def conflict_finder_for(
        self, effort: Effort, *, ledger: Ledger, seconds: float, anonymizer: Anonymizer | None
    ) -> ConflictFinder:
        """What finds contradictions in the evidence of one request while its answer is written."""
        from anabranch.reasoning.conflict_finding import LocalConflictFinder

        local = LocalConflictFinder()
        asked = self.models.in_role("grade", ledger, lambda: SHARE_OF_A_GRADE * seconds)
        model = _anonymous(asked, anonymizer)
        if model is None or effort == "minimal":
            return local
        from anabranch.reasoning.degrading import DegradingConflictFinder
        from anabranch.reasoning.llm_conflicts import LlmConflictFinder

        preferred = LlmConflictFinder(model, effort=effort, key=self.signing_key)
        return DegradingConflictFinder(preferred, local, ledger)

    def agent(
        self, ledger: Ledger, *, seconds: float, tools: Sequence[BaseTool] = ()
    ) -> Agent | None:
        """Who leads a conversation; None without a model.

        With anonymising there is none either: it would be told what the user says as it is.
        """
        client = self.models.agent
        if client is None or self.personal is not None:
            return None
        from anabranch.reasoning.agent import LlmAgent

        return LlmAgent(client, ledger, seconds=seconds, key=self.signing_key, tools=tools)

    async def close(self) -> None:
        await self.models.close()
        await self.reader.close()
        if self.parts.reranker is not None:
            await self.parts.reranker.close()
        await self.parts.embedder.close()
        await self.parts.store.close()


def _anonymous(model: ChatModel | None, anonymizer: Anonymizer | None) -> ChatModel | None:
    if model is None or anonymizer is None:
        return model
    from anabranch.privacy.guarded import AnonymizingChatModel

    return AnonymizingChatModel(model, anonymizer)


def personal_data(settings: Settings) -> PersonalData | None:
    """What is personal, as it is set; None where anonymising is off.

    Raises ConfigurationError for a list, region or model that cannot be used, MissingExtraError
    where the libraries are not installed: nothing goes out as it is because something is missing.
    """
    if not settings.anonymize:
        return None
    from anabranch.privacy.personal_data import PersonalData

    return PersonalData.by_settings(
        regions=settings.anonymize_regions,
        listed=settings.anonymize_list,
        models=settings.anonymize_ner,
    )


def _call_seconds(
    share: float, *, deadline: float, most: float, together: bool
) -> Callable[[], float]:
    """What a call that begins now may take, of the time until ``deadline``.

    ``together``: every call has what is left of the first one's share.
    """
    ends: list[float] = []

    def seconds() -> float:
        now = time.perf_counter()
        if not ends or not together:
            ends[:] = [now + share * (deadline - now)]
        return max(0.0, min(most, ends[0] - now))

    return seconds


async def build(folder: Path, settings: Settings, *, create: bool) -> Built | None:
    """The parts over the knowledge base in ``folder``.

    None where there is none and ``create`` is false. Raises what ``manifest`` raises for a folder
    that does not fit.
    """
    from anabranch.models.chat_models import ChatModels
    from anabranch.models.embedding_cache import EmbeddingCache
    from anabranch.reasoning.answering import LocalAnswerer
    from anabranch.reasoning.grading import LocalGrader
    from anabranch.reasoning.planning import LocalPlanner
    from anabranch.reasoning.rewriting import LocalRewriter
    from anabranch.stores.lance import LanceStore
    from anabranch.stores.mirror import MirroredStore

    signature = manifest.signature(folder)  # before what it is of: a later change is noticed
    found = manifest.read_manifest(folder)
    if found is None and not create:
        return None
    personal, models = personal_data(settings), ChatModels(settings)
    reranker = choose_reranker(settings, personal=personal)
    name = full_name(settings.embedder or (found.embedder_name if found else BUNDLED_NAME))
    embedder = await choose_embedder(
        name, settings=settings, cache=EmbeddingCache(folder / manifest.EMBEDDINGS),
        dimensions=found.dimensions if found else None, personal=personal,
    )  # fmt: skip
    if found is None:
        found = manifest.ensure_manifest(
            folder, embedder=embedder.fingerprint, embedder_name=name,
            dimensions=embedder.dimensions,
        )  # fmt: skip
        signature = manifest.signature(folder)
    manifest.check_model(found, folder, embedder.fingerprint, name=name)
    await asyncio.to_thread(manifest.remove_retired, folder, found)
    stored = await LanceStore.open(folder / found.store, dimensions=found.dimensions)
    parts = Parts(
        store=MirroredStore(stored, most_leaves=settings.memory_leaves),
        embedder=embedder,
        planner=LocalPlanner(),
        grader=LocalGrader(embedder=name),
        rewriter=LocalRewriter(),
        answerer=LocalAnswerer(),
        reranker=reranker,
    )
    reader = Reader(
        max_file_mb=settings.max_file_mb,
        timeout=settings.read_timeout,
        passwords=settings.pdf_passwords,
    )
    key = manifest.read_signing_key(folder)
    has_remote_parts = (
        bool(models)
        or name.partition(":")[0] == "openai"
        or (settings.reranker or "").partition(":")[0] == "http"
    )
    return Built(
        parts, reader, key, models, found.format_version, signature, personal, has_remote_parts
    )


@dataclass(frozen=True, slots=True)
class Stores:
    """What a service keeps beside the documents, in one database."""

    sessions: SessionStore
    jobs: JobStore
    rates: RateStore
    database: Database

    async def close(self) -> None:
        await self.database.close()


@asynccontextmanager
async def shared_rates(settings: Settings, *, folder: Path) -> AsyncIterator[RateStore | None]:
    """Where the service counts how often keys are used, for another front over the same folder.

    None where there is no limit, and where no database is named and the service's own cannot be
    opened: whoever gets it counts alone. Raises as ``open_stores`` for a database that is named, and
    MissingExtraError where the packages for it are not installed.
    """
    async with AsyncExitStack() as closing:
        rates: RateStore | None = None
        if settings.rate_limit:
            try:
                stores = await open_stores(settings, folder=folder)
                closing.push_async_callback(stores.close)
                rates = stores.rates
            except (ModuleNotFoundError, AnabranchError) as error:
                if settings.database_url.get_secret_value():
                    raise _cannot_open(error) from None
                logger.warning("the rates of keys are counted here alone: %s", error)
        yield rates


def _cannot_open(error: ModuleNotFoundError | AnabranchError) -> AnabranchError:
    if isinstance(error, AnabranchError):
        return error
    return MissingExtraError(
        f"ANABRANCH_DATABASE_URL needs {error.name!r}, which is not installed: "
        "pip install 'anabranch[service]'"
    )


async def open_stores(settings: Settings, *, folder: Path) -> Stores:
    """The stores in the database that is set, or else in SQLite in ``folder``; up to date.

    Raises ConfigurationError for an address that cannot be used, StorageError where the database
    cannot be reached.
    """
    from anabranch.sessions.database import Database
    from anabranch.sessions.job_store import SqlJobStore
    from anabranch.sessions.rates import SqlRates
    from anabranch.sessions.session_store import SqlSessionStore

    address = settings.database_url.get_secret_value()
    database = await Database.open(address, folder=folder)
    return Stores(SqlSessionStore(database), SqlJobStore(database), SqlRates(database), database)
