"""What the routes of one service share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request

from anabranch.access import Gate
from anabranch.knowledge_base import KnowledgeBase
from anabranch.settings import Settings


@dataclass(frozen=True, slots=True)
class Service:
    """Open while the app runs."""

    settings: Settings
    knowledge_base: KnowledgeBase
    gate: Gate


def _service(request: Request) -> Service:
    return cast(Service, request.app.state.service)


Shared = Annotated[Service, Depends(_service)]
