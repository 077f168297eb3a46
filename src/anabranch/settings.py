"""Settings: the only reader of the environment (prefix ``ANABRANCH_``) and of a configuration file.

The file is ``anabranch.toml`` in the current folder, or the one that ``ANABRANCH_CONFIG`` names.
Arguments win over the environment, the environment over the file.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from anabranch.errors import ConfigurationError
from anabranch.types import Effort


class Settings(BaseSettings):
    """What can be set. Each field is ``ANABRANCH_`` + its name in capitals."""

    model_config = SettingsConfigDict(env_prefix="ANABRANCH_", extra="forbid", frozen=True)

    kb: Path = Field(Path(".anabranch"), description="Folder of the knowledge base.")
    effort: Effort = Field("standard", description="minimal, standard or thorough.")
    top_k: int = Field(8, ge=1, le=100, description="Evidence items in an outcome.")
    variants: int | None = Field(
        None, ge=0, le=16, description="Queries besides the original; by effort when not set."
    )
    timeout: float = Field(30.0, gt=0, description="Seconds a request may take.")
    query_timeout: float = Field(10.0, gt=0, description="Seconds one leg of a query may take.")
    answer_timeout: float = Field(60.0, gt=0, description="Seconds writing the answer may take.")
    branch_timeout: float = Field(15.0, gt=0, description="Seconds a sub-question may take.")
    context_tokens: int = Field(
        3_000, ge=100, description="Size of the evidence handed to an answer, in estimated tokens."
    )
    dense_weight: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Share of the dense leg in the fusion; text search has the rest.",
    )
    variant_weight: float = Field(
        0.8, ge=0, le=1, description="Most that a variant counts beside the original question's 1."
    )
    foreign_weight: float = Field(
        1.0,
        gt=0,
        le=1,
        description="How far a foreign retriever is trusted beside the documents' 1.",
    )
    embedder: str | None = Field(
        None,
        description="bundled, multilingual, a folder, openai:MODEL or fastembed:NAME; the one "
        "that the knowledge base was made with when not set.",
    )
    models_dir: Path | None = Field(
        None, description="Where models that are made here are kept; ~/.cache/anabranch/models."
    )
    embedder_url: str | None = Field(
        None, description="Address of the server of openai:MODEL, with or without /embeddings."
    )
    embedder_key: SecretStr = Field(SecretStr(""), repr=False, description="Key for embedder_url.")
    reranker: str | None = Field(
        None,
        description="A folder, http:MODEL (http: alone where the server has one) or "
        "fastembed:NAME; used at thorough effort.",
    )
    reranker_url: str | None = Field(
        None, description="Address of the server of http:MODEL, with or without /rerank."
    )
    reranker_key: SecretStr = Field(SecretStr(""), repr=False, description="Key for reranker_url.")
    reranker_timeout: float = Field(
        5.0, gt=0, description="Seconds the reranker may take; the fused order stands after that."
    )
    reranker_limit: int = Field(
        30, ge=1, le=500, description="Passages that the reranker sees, the first of the ranking."
    )
    remote_timeout: float = Field(
        30.0, gt=0, description="Seconds one call of a remote embedder may take."
    )
    remote_concurrency: int = Field(
        4, ge=1, le=256, description="Calls to one model server at the same time."
    )
    model: str | None = Field(
        None,
        description="Language model that answers, and does all else that no other is set for: "
        "openai:…, anthropic:…, google_genai:…, ollama:…; none: everything is done here.",
    )
    model_base_url: str | None = Field(
        None, description="Address of an OpenAI-compatible server, or another one of the provider."
    )
    model_api_key: SecretStr = Field(
        SecretStr(""), repr=False, description="Key; the provider's own variable when not set."
    )
    fast_model: str | None = Field(
        None, description="Smaller model that plans and rewrites; model when not set."
    )
    grade_model: str | None = Field(
        None, description="Model that grades the evidence; model when not set."
    )
    model_timeout: float = Field(
        10.0, gt=0, description="Seconds one model call may take; of an answer, to its next word."
    )
    model_concurrency: int = Field(
        8, ge=1, le=1_000, description="Calls to one provider at the same time."
    )
    model_requests_per_minute: float | None = Field(
        None, gt=0, description="Calls to one provider in a minute."
    )
    model_tokens_per_minute: float | None = Field(
        None, gt=0, description="Tokens to and from one provider in a minute."
    )
    model_output_tokens: int = Field(
        2_000, ge=16, description="Most tokens of one reply, thinking included."
    )
    model_temperature: float | None = Field(
        0.0, ge=0, le=2, description="Not sent to models that refuse it."
    )
    model_structured: Literal["auto", "json_schema", "function_calling", "prompt"] = Field(
        "auto", description="How a model is made to reply in JSON; auto finds out."
    )
    model_cache: int = Field(
        0, ge=0, le=100_000, description="Model replies kept in memory; 0: none."
    )
    model_prices: dict[str, tuple[float, float]] | None = Field(
        None, description="By model: price of a million tokens in, and out."
    )
    max_asks: int = Field(2, ge=0, le=5, description="Times in a row the user may be asked back.")
    max_question_characters: int = Field(
        4_000, ge=1, description="Longest question that is accepted."
    )
    max_file_mb: float = Field(200.0, gt=0, description="Largest file that is read, in MB.")
    read_timeout: float = Field(120.0, gt=0, description="Seconds one file may take to read.")
    host: str = Field("127.0.0.1", description="Address that the service listens at.")
    port: int = Field(8000, ge=0, le=65_535, description="Port that the service listens at.")
    workers: int = Field(1, ge=1, le=64, description="Processes that serve.")
    allowed_hosts: tuple[str, ...] = Field(
        (), description="Names that the service goes by, besides localhost."
    )
    log_format: Literal["json", "text"] = Field(
        "json", description="How the service logs: json (an object a line) or text."
    )
    log_text: bool = Field(
        False, description="Whether questions may stand in the audit log and in traces."
    )
    audit_file: Path | None = Field(
        None, description="Where the audit log goes; with the other logs when not set."
    )
    otel: bool = Field(False, description="Send each run as an OpenTelemetry trace.")
    max_upload_mb: float = Field(
        1_000.0, gt=0, description="Most that one request may upload, in MB."
    )
    upload_types: tuple[str, ...] = Field(
        (), description="Endings of files that may be uploaded; all that are read when not set."
    )
    rate_limit: int = Field(
        600, ge=0, description="Requests a minute that one key may make; 0: no limit."
    )
    database_url: SecretStr = Field(
        SecretStr(""),
        repr=False,
        description="Where sessions and jobs are kept: postgresql://…; SQLite in kb when not set.",
    )
    lease_seconds: float = Field(
        30.0, gt=0, description="Seconds after which what a dead server had begun is taken over."
    )
    history_turns: int = Field(
        6, ge=0, le=50, description="Earlier turns of a session that a question is read with."
    )
    clarification_hours: float = Field(
        72.0, gt=0, description="Hours that a session waits for the reply to a question back."
    )
    threads: int = Field(0, ge=0, description="Threads that embed; 0: one for each core.")
    anonymize: bool = Field(
        False,
        description="Personal data is replaced by placeholders before anything leaves the machine.",
    )
    anonymize_list: Path | None = Field(
        None, description="Text file with a name, or `address: …`, on each line, to be hidden too."
    )
    anonymize_regions: tuple[str, ...] = Field(
        ("US", "GB", "DE", "CN"),
        description="Where phone numbers without a country code may be from.",
    )
    anonymize_ner: tuple[str, ...] = Field(
        (), description="Installed spaCy models, or their folders, that recognise names."
    )
    memory_leaves: int = Field(
        120_000,
        ge=0,
        description="Passages up to which all is searched in memory; beyond, only words are.",
    )
    pdf_passwords: tuple[str, ...] = Field(
        (), repr=False, description="Passwords to try on encrypted PDF files."
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        file = Path(os.environ.get("ANABRANCH_CONFIG", "anabranch.toml"))
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, file)


def load_settings(**overrides: Any) -> Settings:
    """The settings in force; ``overrides`` that are None are as if not given.

    Raises ConfigurationError naming each field that is wrong and the value it has.
    """
    named = os.environ.get("ANABRANCH_CONFIG")
    if named and not Path(named).is_file():
        raise ConfigurationError(f"ANABRANCH_CONFIG names {named!r}, which is not a file.")
    try:
        return Settings(**{key: value for key, value in overrides.items() if value is not None})
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, item['loc']))} = {_shown(item)}: {item['msg']}"
            for item in error.errors()
        )
        raise ConfigurationError(
            f"A setting does not fit: {problems}. Settings come from ANABRANCH_* variables and "
            "anabranch.toml; docs/settings.md lists them."
        ) from None
    except ValueError as error:  # a TOML file that does not parse
        raise ConfigurationError(f"The configuration file cannot be read: {error}") from None


def _shown(item: Any) -> str:
    # By the word, so that the value under a misspelled name is not shown either.
    name = str(item["loc"][0]) if item["loc"] else ""
    hidden = "key" in name.lower() or "password" in name.lower()
    return "(hidden)" if hidden else repr(item["input"])


def setting_origins(**overrides: Any) -> dict[str, str]:
    """Where the value of each setting comes from: argument, environment, file or default.

    For settings that ``load_settings(**overrides)`` accepts.
    """
    environment = {name.upper() for name in os.environ}
    in_file = _file_settings()

    def origin(name: str) -> str:
        if overrides.get(name) is not None:
            return "argument"
        if f"ANABRANCH_{name.upper()}" in environment:
            return "environment"
        return "file" if name in in_file else "default"

    return {name: origin(name) for name in Settings.model_fields}


def _file_settings() -> set[str]:
    file = Path(os.environ.get("ANABRANCH_CONFIG", "anabranch.toml"))
    return set(tomllib.loads(file.read_text(encoding="utf-8"))) if file.is_file() else set()
