"""Names by an installed NER model: real components, made here, nothing downloaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.errors import ConfigurationError, MissingExtraError
from anabranch.privacy.named_entities import NamedEntities

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
def test_a_model_that_is_not_there_is_refused_and_not_downloaded() -> None:
    with pytest.raises(ConfigurationError, match="'no_such_model'"):
        NamedEntities(["no_such_model"])


@pytest.mark.skipif(spacy is not None, reason="the extra `ner` is installed")
def test_without_the_extra_the_command_that_installs_it_is_said() -> None:
    with pytest.raises(MissingExtraError, match=r"anabranch\[ner\]"):
        NamedEntities(["en_core_web_sm"])
