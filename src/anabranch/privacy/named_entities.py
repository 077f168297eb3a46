"""Names, places and organisations by an installed spaCy model, through Presidio.

Nothing is downloaded: a model that is not there is an error. Of Presidio only the recogniser that
reads the model's entities is used; its recogniser of e-mail addresses would ask the network for a
list of domains.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from anabranch import language
from anabranch.errors import ConfigurationError, MissingExtraError
from anabranch.privacy.findings import Finding

# What Presidio makes of the entities of spaCy's models.
_KINDS = {"PERSON": "NAME", "LOCATION": "PLACE", "ORGANIZATION": "ORG", "NRP": "WORD"}


class NamedEntities:
    """Recognises by ``models``: names of installed packages, or folders.

    A model for Chinese reads texts with Chinese characters, any other one the rest, where both are
    there.
    """

    def __init__(self, models: Sequence[str]) -> None:
        try:
            importlib.import_module("presidio_analyzer")
            util: Any = importlib.import_module("spacy.util")
        except ImportError as missing:
            raise MissingExtraError(
                f"anonymize_ner needs Presidio ({missing}). Install it: pip install 'anabranch[ner]'"
            ) from None
        for model in models:
            if not util.is_package(model) and not (Path(model) / "config.cfg").is_file():
                raise ConfigurationError(
                    f"anonymize_ner has {model!r}, which is neither an installed spaCy model nor a "
                    f"folder of one. Install it (python -m spacy download {model}); nothing is "
                    "downloaded from here."
                )
        self._models = tuple(models)

    @property
    def kinds(self) -> tuple[str, ...]:
        return (f"names, places and organisations that {', '.join(self._models)} recognises",)

    def find(self, text: str) -> Iterator[Finding]:
        for code, (engine, recogniser) in self._engines.items():
            chinese = language.has_cjk(text)
            if len(self._engines) > 1 and chinese != (code == "zh"):
                continue
            artifacts = engine.process_text(text, code)
            for one in recogniser.analyze(text, list(_KINDS), artifacts):
                key = " ".join(language.words(text[one.start : one.end]))
                yield Finding(one.start, one.end, _KINDS[one.entity_type], key)

    @cached_property
    def _engines(self) -> dict[str, tuple[Any, Any]]:
        """For each language the model and what reads its entities; loaded with the first text."""
        spacy: Any = importlib.import_module("spacy")
        engines: Any = importlib.import_module("presidio_analyzer.nlp_engine")
        recognisers: Any = importlib.import_module("presidio_analyzer.predefined_recognizers")
        found: dict[str, tuple[Any, Any]] = {}
        for model in self._models:
            loaded = spacy.load(model)
            engine = engines.SpacyNlpEngine(
                models=[{"lang_code": loaded.lang, "model_name": model}]
            )
            engine.nlp = {loaded.lang: loaded}  # `load` would download what it does not find
            recogniser = recognisers.SpacyRecognizer(supported_language=loaded.lang)
            found[loaded.lang] = (engine, recogniser)
        return found
