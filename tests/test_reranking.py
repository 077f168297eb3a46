"""A reranker behind a knowledge base: applied after the fusion, and never the end of a question."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from anabranch import KnowledgeBase
from anabranch.settings import load_settings
from anabranch.types import Outcome
from model_server import ModelServer, Reply
from tiny_models import make_cross_encoder

QUESTION = "Which bird nests on the island?"
TEXTS = {
    "tern.md": "The tern is a bird that nests on the island in May.",
    "gull.md": "The gull is a bird that nests on the island in June, on the northern cliffs.",
    "crow.md": "The crow is a bird, and sometimes it nests on the island.",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("birds")
    (home / "docs").mkdir()
    for name, text in TEXTS.items():
        (home / "docs" / name).write_text(text, encoding="utf-8")
    with KnowledgeBase.open(home / "kb") as base:
        base.add(home / "docs")
    return home / "kb"


def asked(folder: Path, *, effort: str = "thorough", **settings: object) -> Outcome:
    with KnowledgeBase.open(folder, settings=load_settings(**settings)) as base:
        return base.retrieve(QUESTION, effort=effort, interactive=False)  # type: ignore[arg-type]


def names(outcome: Outcome) -> list[str]:
    return [item.source.rpartition("/")[2] for item in outcome.evidence]


def prefer(bird: str) -> Callable[[dict[str, list[str]]], Reply]:
    return lambda request: Reply(
        [{"index": i, "score": float(bird in text)} for i, text in enumerate(request["texts"])]
    )


@pytest.fixture
def crows() -> Iterator[ModelServer]:
    with ModelServer(prefer("crow")) as server:
        yield server


def test_its_order_is_the_order_of_the_evidence(folder: Path) -> None:
    plain = asked(folder)
    last = names(plain)[-1]
    with ModelServer(prefer(last.removesuffix(".md"))) as server:
        reranked = asked(folder, reranker="http:", reranker_url=server.url)
    assert names(plain)[0] != last
    assert names(reranked)[0] == last
    assert sorted(names(reranked)) == sorted(names(plain))
    assert "rerank" in [event.type for event in reranked.trace]


def test_a_folder_reranks_too(folder: Path, tmp_path: Path) -> None:
    model = make_cross_encoder(tmp_path / "m", {"crow": 3.0, "cliffs": 1.0})
    assert names(asked(folder, reranker=str(model)))[:2] == ["crow.md", "gull.md"]


def test_it_is_asked_once_and_at_thorough_effort_alone(folder: Path, crows: ModelServer) -> None:
    asked(folder, effort="standard", reranker="http:", reranker_url=crows.url)
    assert crows.requests == []
    asked(folder, reranker="http:", reranker_url=crows.url, reranker_limit=2)
    [request] = crows.requests
    assert request["query"] == QUESTION
    assert len(request["texts"]) == 2
    assert crows.paths == ["/v1/model/rerank"]


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (Reply({"error": "out of memory"}, 500, {"Retry-After": "0"}), "answered with 500"),
        (Reply(b"<html>"), "other than JSON"),
        (Reply([]), "0 scores for"),
        (Reply({}, 401), "answered with 401"),
    ],
)
def test_when_it_fails_the_fused_order_stands_and_the_outcome_says_so(
    folder: Path, reply: Reply, told: str
) -> None:
    plain = asked(folder)
    with ModelServer(lambda _: reply) as server:
        outcome = asked(
            folder, reranker="http:", reranker_url=server.url, reranker_key="sk-very-secret"
        )
    assert names(outcome) == names(plain)
    assert outcome.status == plain.status
    [failure] = outcome.failures
    assert failure.where.endswith("rerank")
    assert told in failure.detail
    assert "sk-very-secret" not in str(outcome.to_dict())


def test_one_that_hangs_costs_its_own_time_and_no_more(folder: Path) -> None:
    never = threading.Event()
    with ModelServer(lambda _: Reply([], hold=never)) as server:
        outcome = asked(folder, reranker="http:", reranker_url=server.url, reranker_timeout=0.3)
        never.set()
    assert names(outcome) == names(asked(folder))
    assert [failure.where.rpartition(".")[2] for failure in outcome.failures] == ["rerank"]
