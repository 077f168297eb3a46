"""What the routes of one service share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, cast

from fastapi import Depends, Request

from anabranch.access import Gate
from anabranch.build import open_stores
from anabranch.conversation import Conversation
from anabranch.keys import KeyBook
from anabranch.knowledge_base import KnowledgeBase
from anabranch.ports import JobStore, SessionStore
from anabranch.settings import Settings
from anabranch.uploading import Uploads

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool


@dataclass(frozen=True, slots=True)
class Service:
    """Open while the app runs."""

    settings: Settings
    knowledge_base: KnowledgeBase
    gate: Gate
    sessions: SessionStore
    jobs: JobStore
    conversation: Conversation
    uploads: Uploads


@asynccontextmanager
async def open_service(
    settings: Settings, knowledge_base: KnowledgeBase | None, tools: Sequence[BaseTool] = ()
) -> AsyncIterator[Service]:
    """Everything open and the jobs running; stopped and closed, in the other order, behind it.

    A knowledge base that is given stays open.
    """
    async with AsyncExitStack() as closing:
        opened = knowledge_base or KnowledgeBase.open(settings=settings)
        if knowledge_base is None:
            closing.push_async_callback(asyncio.to_thread, opened.close)
        await opened.aprepare()
        stores = await open_stores(settings, folder=opened.path)
        closing.push_async_callback(stores.close)
        uploads = Uploads(opened, stores.jobs, settings)
        running = asyncio.create_task(uploads.run())
        closing.push_async_callback(_ended, running)
        yield Service(
            settings=settings,
            knowledge_base=opened,
            gate=Gate(KeyBook(opened.path), per_minute=settings.rate_limit, rates=stores.rates),
            sessions=stores.sessions,
            jobs=stores.jobs,
            conversation=Conversation(opened, stores.sessions, settings, tools=tools),
            uploads=uploads,
        )


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _service(request: Request) -> Service:
    return cast(Service, request.app.state.service)


Shared = Annotated[Service, Depends(_service)]
