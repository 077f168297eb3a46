"""``anabranch doctor``: is everything there, what state is it in, which settings are in force."""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from anabranch.errors import AnabranchError
from anabranch.settings import Settings, load_settings, setting_origins

if TYPE_CHECKING:
    from anabranch.knowledge_base import KnowledgeBase

# What an offline knowledge base cannot do without; the names are those of the distributions.
DEPENDENCIES = (
    "kreuzberg", "lancedb", "langgraph", "numpy", "onnxruntime", "pydantic-settings",
    "pypdfium2", "PyStemmer", "rich", "tokenizers", "typer",
)  # fmt: skip


_DOES = {"plan": "plans", "grade": "grades", "rewrite": "rewrites", "answer": "answers"}


@dataclass(frozen=True, slots=True)
class Check:
    """``note`` is worth knowing, ``problem`` keeps Anabranch from working."""

    name: str
    status: Literal["ok", "note", "problem"]
    detail: str


@dataclass(frozen=True, slots=True)
class SettingInForce:
    name: str
    value: Any
    origin: str


@dataclass(frozen=True, slots=True)
class Examination:
    version: str
    checks: tuple[Check, ...]
    settings: tuple[SettingInForce, ...]

    @property
    def ok(self) -> bool:
        return all(check.status != "problem" for check in self.checks)


def examine(
    open_base: Callable[[Path | None], KnowledgeBase], *, kb: Path | None, model: bool = False
) -> Examination:
    """Every check, none of which stops the next; a knowledge base that is not there is not made.

    ``model``: the language models that are set are called as well, once for each role.
    """
    from anabranch import __version__

    checks = [_python(), *map(_dependency, DEPENDENCIES), *_model()]
    settings: tuple[SettingInForce, ...] = ()
    try:
        in_force = load_settings(kb=kb)
    except AnabranchError as error:
        checks.append(Check("settings", "problem", str(error)))
    else:
        settings = _settings_in_force(in_force, kb=kb)
        checks.extend(_privacy(in_force))
        checks.extend(_knowledge_base(open_base, in_force.kb))
        if model:
            checks.extend(_language_models(in_force))
    return Examination(__version__, tuple(checks), settings)


def _python() -> Check:
    return Check(
        "python", "ok", f"{platform.python_version()} ({platform.system()} {platform.machine()})"
    )


def _dependency(name: str) -> Check:
    try:
        return Check(name, "ok", metadata.version(name))
    except metadata.PackageNotFoundError:
        return Check(name, "problem", f"is not installed; `pip install {name}` installs it.")


def _model() -> list[Check]:
    """The bundled encoder's files with their hashes: what a bug report about vectors needs."""
    folder = Path(__file__).resolve().parent / "models" / "minilm"
    files = sorted(file for file in folder.glob("*.*") if file.suffix in (".onnx", ".json"))
    if not any(file.suffix == ".onnx" for file in files):
        return [
            Check("model", "problem", f"No encoder in {str(folder)!r}; install Anabranch again.")
        ]
    return [Check(f"model {file.name}", "ok", _described(file)) for file in files]


def _described(file: Path) -> str:
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return f"sha256 {digest[:16]}, {_size(file.stat().st_size)}"


def _knowledge_base(open_base: Callable[[Path | None], KnowledgeBase], folder: Path) -> list[Check]:
    def check(status: Literal["ok", "note", "problem"], detail: str) -> list[Check]:
        return [Check("knowledge base", status, detail)]

    if not folder.is_dir():
        if folder.exists():
            return check("problem", f"{str(folder)!r} is not a folder.")
        return check("note", f"None in {str(folder)!r} yet; `anabranch add PATH` makes it.")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return check("problem", f"{str(folder)!r} cannot be written; check its owner.")
    try:
        with open_base(folder) as base:
            about = base.describe()
    except AnabranchError as error:
        return check("problem", str(error))
    collections = ", ".join(about.collections) or "none yet"
    described = (
        f"{str(about.path)!r}, format {about.format_version}, model {about.model}, collections: "
        f"{collections}; {about.source_count} sources, {about.chunk_count} chunks, "
        f"{_size(about.size_bytes)}, writable"
    )
    return [
        *check("ok", described),
        *(Check("languages", "note", notice) for notice in about.notices),
    ]


def _language_models(settings: Settings) -> list[Check]:
    from anabranch.named_models import check_language_models

    try:
        found = asyncio.run(check_language_models(settings))
    except AnabranchError as error:
        return [Check("language models", "problem", str(error))]
    if not found:
        return [
            Check(
                "language models",
                "note",
                "None is set: everything is done here. ANABRANCH_MODEL=provider:name sets one.",
            )
        ]
    return [
        Check(
            f"language model that {_DOES[check.role]}",
            "ok" if check.ok else "problem",
            check.detail,
        )
        for check in found
    ]


def _privacy(settings: Settings) -> list[Check]:
    """What of personal data leaves the machine, where anything does."""
    from anabranch.build import personal_data

    servers = [
        name
        for name, there in (
            ("the language model", settings.model),
            ("the embedder", (settings.embedder or "").startswith("openai:")),
            ("the reranker", (settings.reranker or "").startswith("http:")),
        )
        if there
    ]
    try:
        personal = personal_data(settings)
    except AnabranchError as error:
        return [Check("privacy", "problem", str(error))]
    if personal is not None:
        return [Check("privacy", "ok", personal.notice(chinese=False))]
    if not servers:
        return []
    sees = " and ".join(servers)
    return [
        Check(
            "privacy", "note",
            f"What is sent to {sees} has the names, addresses and numbers of your documents; "
            "ANABRANCH_ANONYMIZE=on replaces those that can be recognised (docs/privacy.md).",
        )
    ]  # fmt: skip


def _settings_in_force(settings: Settings, *, kb: Path | None) -> tuple[SettingInForce, ...]:
    origins = setting_origins(kb=kb)
    return tuple(
        SettingInForce(name, _shown(getattr(settings, name), secret=not field.repr), origins[name])
        for name, field in Settings.model_fields.items()
    )


def _shown(value: Any, *, secret: bool) -> Any:
    if secret:
        return "(hidden)" if value else "(none)"
    return str(value) if isinstance(value, Path) else value


def _size(count: int) -> str:
    return f"{count / 1_000_000:.1f} MB"
