"""Anthropic, Ollama and Google by LangChain's own clients, against servers that speak their HTTP APIs:
each role is asked as OpenAI's are, and a fault ends in what is done here instead."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from anabranch import KnowledgeBase, Outcome
from anabranch.named_models import check_language_models
from anabranch.settings import load_settings
from anabranch.trace import RunEvent
from scripted_dialects import Anthropic, Google, Ollama
from scripted_model import GOOD, SIMPLE, WEAK, Dialect, Line, ScriptedModel, role_of

# What Google's client does with aiohttp warns, and so does a reply that it refuses and never reads.
# Here a warning is an error.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

KEY = "sk-secret-0123456789"
COMPLEX = "How does the annual leave in Berlin differ from the annual leave in Boston?"
PARTS = ["How much annual leave is there in Berlin?", "How much annual leave is there in Boston?"]
PLAN = {**SIMPLE, "complexity": "complex", "reason": "two offices", "sub_questions": PARTS}
ANSWER = "In Berlin it is 30 days [1]."
SCRIPT: Mapping[str, Any] = {"plan": PLAN, "grade": GOOD, "answer": ANSWER}
PROVIDERS: Mapping[str, tuple[str, type[Dialect]]] = {
    "anthropic": ("langchain_anthropic", Anthropic),
    "google_genai": ("langchain_google_genai", Google),
    "ollama": ("langchain_ollama", Ollama),
}


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    package = PROVIDERS[name][0]
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed: .ci/providers runs this with it")
    return name


@pytest.fixture(autouse=True)
def leavings() -> Iterator[None]:
    """What a client left behind is collected here, where it may be, and not in a test behind."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("providers")
    documents = root / "documents"
    documents.mkdir()
    (documents / "berlin.md").write_text("# Berlin\n\nAnnual leave in Berlin is 30 days a year.\n")
    (documents / "boston.md").write_text("# Boston\n\nAnnual leave in Boston is 20 days a year.\n")
    with KnowledgeBase.open(root / "kb", settings=load_settings()) as base:
        base.add(documents)
    return root / "kb"


def served(provider: str, script: Any) -> ScriptedModel:
    return ScriptedModel(script, dialect=PROVIDERS[provider][1]())


def options(provider: str, server: ScriptedModel) -> dict[str, Any]:
    # Ollama asks for no key; its client takes none.
    key = {} if provider == "ollama" else {"model_api_key": KEY}
    return {"model": f"{provider}:scripted", "model_base_url": server.url, **key}


def asked(folder: Path, provider: str, script: Any, question: str = COMPLEX) -> tuple[Any, ...]:
    with served(provider, script) as server:
        settings = load_settings(**options(provider, server))
        with KnowledgeBase.open(folder, settings=settings) as base:
            return base.ask(question), server


def failed(outcome: Outcome) -> set[tuple[str, str]]:
    return {(failure.where, failure.kind) for failure in outcome.failures}


def test_it_plans_grades_and_answers(provider: str, folder: Path) -> None:
    outcome, server = asked(folder, provider, SCRIPT)
    assert failed(outcome) == set()
    assert [sub.question for sub in outcome.sub_questions] == PARTS
    assert (outcome.answer.text, outcome.answer.mode) == (ANSWER, "llm")
    roles = sorted(role for r in server.requests if (role := role_of(r)) != "conflicts")
    assert roles == ["answer", "grade", "grade", "grade", "plan"]
    assert outcome.usage.by_role["plan"].output_tokens > 0
    sent = server.calls("plan")[0]
    assert sent["response_format"]["schema"] or sent["tools"]  # bound to it, not only told


def test_it_rewrites(provider: str, folder: Path) -> None:
    rewrite = {"method": "step_back", "query": "rules on leave", "reason": "wider"}
    script = {"plan": SIMPLE, "grade": [WEAK, GOOD], "rewrite": rewrite, "answer": ANSWER}
    outcome, server = asked(folder, provider, script, "What are the rules for the leave in Berlin?")
    assert len(server.calls("rewrite")) == 1
    assert failed(outcome) == set()
    assert outcome.rewrite.query == "rules on leave"


async def test_its_answer_is_streamed(provider: str, folder: Path) -> None:
    line = Line(ANSWER, stall_after=4)
    told: list[RunEvent] = []
    with served(provider, {**SCRIPT, "answer": line}) as server:
        settings = load_settings(**options(provider, server))
        with KnowledgeBase.open(folder, settings=settings) as base:
            async for event in base.stream(COMPLEX):
                told.append(event)
                if event.name == "answer.delta":  # nothing more comes before the model goes on
                    line.release.set()
    deltas = [event for event in told if event.name == "answer.delta"]
    assert len(deltas) > 1
    assert "".join(event.text for event in deltas) == ANSWER
    assert not any(event.restart for event in deltas)


@pytest.mark.parametrize(
    ("status", "kind"), [(429, "rate_limited"), (500, "server_error"), (401, "unauthorized")]
)
def test_a_fault_ends_in_what_is_done_here(
    provider: str, status: int, kind: str, folder: Path
) -> None:
    key = "" if provider == "ollama" else KEY  # what was never given cannot be known
    line = Line(status=status, say=f"no: {key}", headers={"Retry-After": "3600"})
    outcome, server = asked(folder, provider, lambda request: line)
    assert {found for _, found in failed(outcome)} == {kind}
    assert {"classify_complexity.model", "answer.model"} <= {where for where, _ in failed(outcome)}
    assert outcome.answer.mode == "extractive"
    assert KEY not in str(outcome.to_dict())
    # It asks to be left alone for an hour: nobody tries again, its own client included.
    assert len(server.calls("plan")) == 1


def test_what_is_only_busy_is_asked_again(provider: str, folder: Path) -> None:
    busy = Line(status=429, say="slow down", headers={"Retry-After": "0"})
    outcome, server = asked(folder, provider, {**SCRIPT, "plan": [busy, PLAN]})
    assert failed(outcome) == set()
    assert len(server.calls("plan")) == 2


def test_one_that_is_not_there_is_unreachable(provider: str, folder: Path) -> None:
    with served(provider, SCRIPT) as server:
        chosen = options(provider, server)
    with KnowledgeBase.open(folder, settings=load_settings(**chosen)) as base:
        outcome = base.ask(COMPLEX)
    assert {kind for _, kind in failed(outcome)} == {"unreachable"}
    assert outcome.answer is not None


async def test_doctor_tells_what_it_can(provider: str) -> None:
    def reply(request: Mapping[str, Any]) -> Any:
        return {"word": "ready"} if "JSON" in str(request["messages"]) else "one two three"

    with served(provider, reply) as server:
        checks = await check_language_models(load_settings(**options(provider, server)))
    assert [(check.role, check.ok) for check in checks] == [
        ("plan", True), ("grade", True), ("rewrite", True), ("answer", True),
    ]  # fmt: skip
    assert "streams (" in checks[-1].detail


def test_it_hangs_up_when_the_knowledge_base_is_closed(provider: str, folder: Path) -> None:
    """And nobody else's connections: another one at the same address goes on."""
    with served(provider, SCRIPT) as server:
        chosen = load_settings(**options(provider, server))
        with KnowledgeBase.open(folder, settings=chosen) as other:
            assert failed(other.ask(COMPLEX)) == set()
            with KnowledgeBase.open(folder, settings=chosen) as base:
                assert failed(base.ask(COMPLEX)) == set()
            assert server.connected
            assert failed(other.ask(COMPLEX)) == set()
        assert server.is_left_alone()
        with other:  # it opens again when it is used
            assert failed(other.ask(COMPLEX)) == set()


def test_its_key_goes_nowhere_else(provider: str, folder: Path) -> None:
    _, server = asked(folder, provider, SCRIPT)
    names = {name for headers in server.headers for name, value in headers.items() if KEY in value}
    # Anthropic's client sends it to an address that is not Anthropic's as gateways want it.
    wanted = {"anthropic": {"authorization"}, "google_genai": {"x-goog-api-key"}, "ollama": set()}
    assert names == wanted[provider]
