"""The wiring against a real model server: shapes, not wisdom (the model has 135 million parameters).

``make test-model`` fetches the model and runs this; without LOCAL_MODEL it is skipped.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch import KnowledgeBase
from anabranch.ledger import Ledger
from anabranch.models.chat import ChatClient, RequestModel
from anabranch.models.chat_exchange import ChatSettings
from anabranch.models.limits import ProviderLimits
from anabranch.named_models import check_language_models
from anabranch.ports import Prompt
from anabranch.reasoning.llm_planning import PlanReply
from anabranch.reasoning.prompts import plan_prompt
from anabranch.reasoning.structured_reply import ask, schema_of
from anabranch.settings import Settings, load_settings

MODEL = os.environ.get("LOCAL_MODEL", "")
pytestmark = [
    pytest.mark.skipif(not MODEL, reason="LOCAL_MODEL names no model file: make test-model"),
    pytest.mark.timeout(900),
]

QUESTION = "How does the annual leave in Berlin differ from the annual leave in Boston?"
SECONDS = 300.0


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a server with the model."""
    script = Path(__file__).with_name("serve.py")
    with subprocess.Popen(
        [sys.executable, str(script), MODEL],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            yield f"{process.stdout.readline().strip()}/v1"
        finally:
            process.kill()


def settings(url: str, **more: object) -> Settings:
    values = {"model": "local", "model_base_url": url, "model_timeout": SECONDS, "timeout": 900.0,
              "answer_timeout": 400.0, "model_output_tokens": 160}  # fmt: skip
    return load_settings(**{**values, **more})


async def test_each_role_is_there(server: str) -> None:
    checks = await check_language_models(settings(server))
    assert [check.role for check in checks] == ["plan", "grade", "rewrite", "answer"]
    for check in checks:
        assert check.ok, check.detail
        assert "reads 4,096 tokens" in check.detail
    assert "by json_schema" in checks[0].detail
    assert "streams" in checks[-1].detail


@pytest.mark.parametrize("structured", ["json_schema", "function_calling", "prompt"])
async def test_it_is_asked_in_every_mode(server: str, structured: str) -> None:
    chat = ChatSettings(
        "local", base_url=server, timeout=SECONDS, output_tokens=60, structured=structured  # type: ignore[arg-type]
    )  # fmt: skip
    client, ledger = ChatClient(chat, ProviderLimits(concurrency=1)), Ledger()
    model = RequestModel(client, "plan", ledger, lambda: SECONDS)
    prompt = Prompt('Reply with JSON: {"complexity": "simple"}', "How long is the warranty?")
    reply = await model.complete(prompt, schema=schema_of(PlanReply))
    await client.close()
    assert reply
    if structured == "json_schema":  # a grammar holds the model to it
        assert '"complexity"' in reply
    usage = ledger.usage()
    assert usage.model_calls == 1
    assert usage.input_tokens > 10
    assert 0 < usage.output_tokens <= 60


async def test_a_plan_is_read(server: str) -> None:
    chat = ChatSettings("local", base_url=server, timeout=SECONDS, output_tokens=160)
    client = ChatClient(chat, ProviderLimits(concurrency=1))
    model = RequestModel(client, "plan", Ledger(), lambda: SECONDS)
    prompt, fences = plan_prompt(QUESTION, (), variants=1, key=b"k")
    plan = await ask(model, prompt, PlanReply, fences)
    await client.close()
    assert plan.complexity in ("simple", "complex")


async def test_a_question_is_asked_from_end_to_end(server: str, tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "berlin.md").write_text("Annual leave in Berlin is 30 days a year.\n")
    (documents / "boston.md").write_text("Annual leave in Boston is 20 days a year.\n")
    with KnowledgeBase.open(tmp_path / "kb", settings=settings(server)) as base:
        await base.aadd(documents)
        events = [event async for event in base.stream(QUESTION)]
    outcome = events[-1].outcome
    assert outcome is not None
    done = {failure.where for failure in outcome.failures}
    # Each part is the model's, or the outcome says that it is not: none is simply missing.
    assert {"plan", "grade"} <= set(outcome.usage.by_role)
    assert done <= {"classify_complexity.model", "grade_documents.model", "rewrite_question.model",
                    "answer.model"}  # fmt: skip
    assert outcome.status != "failed"
    assert outcome.usage.input_tokens > outcome.usage.output_tokens > 0
    if outcome.answer is not None:
        assert outcome.answer.mode == ("extractive" if "answer.model" in done else "llm")
        text = ""
        for event in events:
            if event.name == "answer.delta":
                text = event.text if event.restart else text + event.text
        assert text == outcome.answer.text
        assert outcome.answer.citations
