"""A service over fakes, and one over the sample documents, both on a real server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from anabranch.knowledge_base import KnowledgeBase
from anabranch.service.app import create_app
from anabranch.settings import Settings
from fakes import World, hits
from service.servers import serving

Q = "How much leave is there?"
EXAMPLES = Path(__file__).parents[2] / "examples" / "documents"


@pytest.fixture
def world() -> World:
    world = World()
    world.store.found = {Q: hits("Annual leave is 30 days."), f"{Q} Berlin": hits("Berlin: 30.")}
    return world


@pytest.fixture
def client(world: World, tmp_path: Path) -> Iterator[httpx.Client]:
    """Of a service whose knowledge base is made of fakes."""
    settings = Settings(kb=tmp_path)
    with (
        world.knowledge_base(path=tmp_path) as opened,
        serving(create_app(settings, knowledge_base=opened)) as address,
        httpx.Client(base_url=address, timeout=30) as client,
    ):
        world.store.forget_calls()  # those that made it ready
        yield client


@pytest.fixture(scope="session")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """The sample documents, indexed for real."""
    folder = tmp_path_factory.mktemp("examples") / "kb"
    with KnowledgeBase.open(folder, settings=Settings(kb=folder)) as opened:
        opened.add(EXAMPLES)
        yield opened
