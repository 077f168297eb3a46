"""What leaves the machine, as the servers that get it see it, over real HTTP."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from anabranch.errors import ModelMismatchError
from anabranch.knowledge_base import KnowledgeBase
from anabranch.settings import Settings, load_settings
from anabranch.types import Document, Outcome, Turn
from model_server import ModelServer, Reply
from rerank_servers import text_embeddings_inference
from scripted_model import ScriptedModel, question_of, role_of

STAFF = """# Staff of the Berlin office

Ann Berg leads the Berlin office. She is reached at ann.berg@example.com or +49 30 901820.
Her salary goes to DE89 3704 0044 0532 0130 00. The card of the office is 4111 1111 1111 1111.

张伟负责上海办公室，身份证号11010519491231002X，手机13812345678。

The printer of the Berlin office has the address 192.168.0.17 and stands at 12 Elm Street.
"""
VALUES = (
    "Ann Berg", "ann.berg@example.com", "+49 30 901820", "DE89 3704 0044 0532 0130 00",
    "4111 1111 1111 1111", "张伟", "11010519491231002X", "13812345678", "192.168.0.17", "12 Elm Street",
)  # fmt: skip


def embeddings(request: Any) -> Reply:
    """Words hashed into 64 places: equal words, near vectors."""
    data = []
    for index, text in enumerate(request["input"]):
        vector = [0.01] * 64
        for word in re.findall(r"\w+", text.lower()):
            vector[hashlib.sha256(word.encode()).digest()[0] % 64] += 1.0
        data.append({"index": index, "embedding": vector})
    return Reply({"data": data})


def model(request: Mapping[str, Any]) -> Any:
    """Answers with whatever stands for a number or an address in the evidence that it is shown."""
    prompt = request["messages"][1]["content"]
    match role_of(request):
        case "plan":
            return {"complexity": "simple", "reason": "one fact", "standalone": "",
                    "sub_questions": [], "variants": [f"contact {question_of(request)}"]}  # fmt: skip
        case "grade":
            return {"relevance": "strong", "answerability": "sufficient", "confidence": 0.9,
                    "passages": [1], "missing_slots": [], "ambiguity": "none", "hitl_prompt": "",
                    "hitl_options": [], "route": "answer", "reason": "it says so"}  # fmt: skip
        case "answer":
            found = re.search(r"reached at (\w+) or (\w+)", prompt)
            return f"Write to {found[1]} or call {found[2]} [1]." if found else "Nothing [1]."
    return ""


@dataclass
class Library:
    """A foreign retriever that remembers what it was asked."""

    asked: list[str] = field(default_factory=list)

    def invoke(self, question: str) -> list[Any]:
        self.asked.append(question)
        return []


@dataclass
class World:
    base: KnowledgeBase
    model: ScriptedModel
    embedder: ModelServer
    reranker: ModelServer
    library: Library

    def sent(self) -> str:
        """Everything that left, as text."""
        requests = [*self.model.requests, *self.embedder.requests, *self.reranker.requests]
        return json.dumps([*requests, *self.library.asked], ensure_ascii=False)


def settings(folder: Path, world: Mapping[str, str], **changes: Any) -> Settings:
    listed = folder / "names.txt"
    listed.write_text("Ann Berg\n张伟\naddress: 12 Elm Street\n", encoding="utf-8")
    return load_settings(
        **{
            "kb": folder / "kb", "anonymize": True, "anonymize_list": listed, "embedder": "openai:small",
            "reranker": "http:", "model": "openai:scripted", "model_api_key": "k", "effort": "thorough",
            **world, **changes,
        }
    )  # fmt: skip


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        chat = stack.enter_context(ScriptedModel(model))
        embedder = stack.enter_context(ModelServer(embeddings))
        reranker = stack.enter_context(ModelServer(text_embeddings_inference({"reached": 1.0})))
        library = Library()
        urls = {
            "model_base_url": chat.url,
            "embedder_url": embedder.url,
            "reranker_url": reranker.url,
        }
        base = KnowledgeBase.open(settings=settings(tmp_path, urls), retrievers=[library])
        stack.enter_context(base)
        base.add_documents([Document("staff.md", "Staff", STAFF, "h1", "text/markdown")])
        yield World(base, chat, embedder, reranker, library)


QUESTION = "How is Ann Berg (ann.berg@example.com) reached?"


def test_nothing_personal_leaves_and_the_answer_has_it(world: World) -> None:
    outcome = world.base.ask(QUESTION, history=[Turn("user", "Who is 张伟, 13812345678?")])
    assert [value for value in VALUES if value in world.sent()] == []
    assert outcome.answer is not None
    assert outcome.answer.text == "Write to ann.berg@example.com or call +49 30 901820 [1]."
    assert outcome.answer.unsupported == ()
    assert outcome.failures == ()
    # Each of the four was asked: what is not sent at all proves nothing.
    assert {role_of(request) for request in world.model.requests} >= {"plan", "grade", "answer"}
    assert world.embedder.requests
    assert world.reranker.requests
    assert world.library.asked == ["How is NAME_1 (EMAIL_1) reached?"]


def test_one_value_has_one_placeholder_in_every_call_of_a_request(world: World) -> None:
    world.base.ask(QUESTION)
    asked = {question_of(request) for request in world.model.requests}
    assert asked == {"How is NAME_1 (EMAIL_1) reached?"}


def test_the_local_index_is_searched_with_the_real_words(world: World) -> None:
    outcome = world.base.ask(QUESTION, history=[Turn("user", "Who leads the office?")])
    assert [query.text for query in outcome.queries if query.kind == "original"] == [QUESTION]
    variants = [query.text for query in outcome.queries if query.kind == "variant"]
    assert f"contact {QUESTION}" in variants
    assert outcome.evidence[0].source == "staff.md"


async def test_a_streamed_answer_has_the_values_put_back(world: World) -> None:
    told, last = "", None
    async for event in world.base.stream(QUESTION):
        if event.name == "answer.delta":
            told = event.text if event.restart else told + event.text
        last = event
    assert last is not None
    assert isinstance(last.outcome, Outcome)
    assert last.outcome.answer is not None
    assert told == last.outcome.answer.text
    assert "ann.berg@example.com" in told


@pytest.mark.parametrize(
    ("question", "said"),
    [(QUESTION, "Not covered: names"), ("张伟的手机号是多少？", "未覆盖：名单之外的姓名")],
)
def test_the_outcome_says_what_is_not_covered(world: World, question: str, said: str) -> None:
    assert any(said in notice for notice in world.base.retrieve(question).notices)


def test_without_anonymising_the_same_requests_carry_the_values(tmp_path: Path) -> None:
    with ScriptedModel(model) as chat, ModelServer(embeddings) as embedder:
        urls = {"model_base_url": chat.url, "embedder_url": embedder.url}
        plain = settings(tmp_path, urls, anonymize=False, reranker=None)
        with KnowledgeBase.open(settings=plain) as base:
            base.add_documents([Document("staff.md", "Staff", STAFF, "h1", "text/markdown")])
            outcome = base.ask(QUESTION)
        sent = json.dumps([*chat.requests, *embedder.requests], ensure_ascii=False)
    assert "ann.berg@example.com" in sent
    assert outcome.notices == ()


def test_an_index_remembers_whether_its_passages_were_anonymised(
    world: World, tmp_path: Path
) -> None:
    urls = {"embedder_url": world.embedder.url}
    changed = settings(tmp_path, urls, anonymize=False, reranker=None, model=None)
    with KnowledgeBase.open(settings=changed) as base:
        with pytest.raises(ModelMismatchError, match="ANABRANCH_ANONYMIZE=on as it was"):
            base.ask(QUESTION)
        assert base.reindex("openai:small") == 1
        assert base.ask(QUESTION).failures == ()
