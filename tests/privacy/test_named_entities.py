"""Names by an installed NER model: real components, made here, nothing downloaded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anabranch.errors import ConfigurationError, MissingExtraError
from anabranch.knowledge_base import KnowledgeBase
from anabranch.privacy.named_entities import NamedEntities
from anabranch.settings import load_settings
from scripted_model import GOOD, SIMPLE, ScriptedModel

try:
    import presidio_analyzer  # noqa: F401 - only whether it is there
    import spacy
except ImportError:
    spacy = None

installed = pytest.mark.skipif(spacy is None, reason="the extra `ner` is not installed")


def model(folder: Path, language: str, **names: str) -> str:
    """A pipeline that recognises ``names`` (label to text), saved where it can be loaded from."""
    pipeline = spacy.blank(language)
    ruler = pipeline.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": label, "pattern": text} for label, text in names.items()])
    pipeline.to_disk(folder / language)
    return str(folder / language)


@installed
def test_names_are_found_by_the_model_of_their_language(tmp_path: Path) -> None:
    english = model(tmp_path, "en", PERSON="Ann Berg", GPE="Berlin")
    chinese = model(tmp_path, "zh", PERSON="张伟")
    finder = NamedEntities([english, chinese])
    for text, expected in [
        ("Ask Ann Berg in Berlin.", [("NAME", "Ann Berg"), ("PLACE", "Berlin")]),
        ("请问张伟在哪里", [("NAME", "张伟")]),
    ]:
        found = [(one.kind, text[one.start : one.end]) for one in finder.find(text)]
        assert found == expected


@installed
@pytest.mark.parametrize(
    ("question", "passage", "name"),
    [
        (
            "How is Ann Berg reached in the office today?",
            "Ann Berg is reached at the desk.",
            "Ann Berg",
        ),
        ("办公室的张伟在哪里可以找到，怎么联系？", "张伟在办公室的前台可以找到。", "张伟"),
    ],
)
def test_what_the_model_recognises_does_not_leave_and_comes_back(
    question: str, passage: str, name: str, tmp_path: Path
) -> None:
    models = [model(tmp_path, "en", PERSON="Ann Berg"), model(tmp_path, "zh", PERSON="张伟")]
    (tmp_path / "staff.md").write_text(f"{passage}\n", encoding="utf-8")
    script = {"plan": SIMPLE, "grade": GOOD, "answer": "NAME_1 [1]."}
    with ScriptedModel(script) as server:
        settings = load_settings(
            model="openai:scripted", model_base_url=server.url, anonymize="on",
            anonymize_ner=models,
        )  # fmt: skip
        with KnowledgeBase.open(tmp_path / "kb", settings=settings) as base:
            base.add(tmp_path / "staff.md")
            outcome = base.ask(question)
    assert server.calls("answer")
    assert name not in json.dumps(server.requests, ensure_ascii=False)
    assert outcome.answer is not None
    assert outcome.answer.text == f"{name} [1]."
    assert outcome.evidence[0].text == passage


@installed
def test_a_model_that_is_not_there_is_refused_and_not_downloaded() -> None:
    with pytest.raises(ConfigurationError, match="'no_such_model'"):
        NamedEntities(["no_such_model"])


@pytest.mark.skipif(spacy is not None, reason="the extra `ner` is installed")
def test_without_the_extra_the_command_that_installs_it_is_said() -> None:
    with pytest.raises(MissingExtraError, match=r"anabranch\[ner\]"):
        NamedEntities(["en_core_web_sm"])
