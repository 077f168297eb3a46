"""The app: its routes over one knowledge base, opened when it starts and closed when it ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.middleware import Middleware

from anabranch import __version__
from anabranch.knowledge_base import KnowledgeBase
from anabranch.service import (
    asking,
    chat,
    health,
    jobs,
    pages,
    problems,
    reference,
    sessions,
    sources,
)
from anabranch.service.limits import BodyLimit
from anabranch.service.metrics import Metrics
from anabranch.service.origins import OriginCheck
from anabranch.service.request_log import RequestLog, audit_run, observed
from anabranch.service.state import open_service
from anabranch.service.traces import JoinedTrace
from anabranch.settings import Settings, load_settings

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

_DESCRIPTION = (
    "Ask documents: an answer with its evidence, or an honest no. Errors are problem documents "
    "(RFC 9457). Runs come as one outcome, or with `Accept: text/event-stream` as events."
)


def create_app(
    settings: Settings | None = None,
    *,
    knowledge_base: KnowledgeBase | None = None,
    tools: Sequence[BaseTool] = (),
) -> FastAPI:
    """The service over ``knowledge_base``; opened from the settings, and closed, where none is given.

    ``tools`` are LangChain tools that the agent of a conversation has beside the documents.
    """
    settings = settings or load_settings()
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        audit = partial(audit_run, with_text=settings.log_text)
        async with open_service(settings, knowledge_base, tools) as service:
            app.state.service, app.state.metrics = service, metrics
            with observed(service.knowledge_base, metrics.run, audit):
                yield

    app = FastAPI(
        title="Anabranch",
        version=__version__,
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        middleware=_middleware(settings, metrics),
    )
    problems.install(app)
    reference.install(app)
    for routes in (asking, sessions, sources, pages, jobs, chat, health):
        app.include_router(routes.router)
    return app


def _middleware(settings: Settings, metrics: Metrics) -> list[Middleware]:
    """From the outside in: a request that is refused has its line in the log as well."""
    joined = [Middleware(JoinedTrace)] if settings.otel else []
    return [
        Middleware(RequestLog, observe=metrics.request),
        *joined,
        Middleware(OriginCheck, hosts=_hosts(settings)),
        Middleware(BodyLimit, upload_mb=settings.max_upload_mb),
    ]


def _hosts(settings: Settings) -> Sequence[str]:
    return (settings.host, *settings.allowed_hosts)
