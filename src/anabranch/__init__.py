"""Anabranch: ask documents, get an answer with its evidence, or be told that there is none.

Importing the package loads nothing heavy: each public name is fetched when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anabranch.documents import KnowledgeBaseInfo
    from anabranch.errors import (
        AccessError,
        AnabranchError,
        AnsweredError,
        ClarificationError,
        CollectionNotFoundError,
        ConfigurationError,
        ExpiredError,
        IndexVersionError,
        InputError,
        KeyRefusedError,
        MissingExtraError,
        ModelMismatchError,
        NotAllowedError,
        NothingToRetryError,
        PictureError,
        QuestionError,
        RateLimitError,
        ReadingError,
        RemoteError,
        RunError,
        SessionNotFoundError,
        SnapshotError,
        SourceNotFoundError,
        StorageError,
        UnusableReplyError,
    )
    from anabranch.foreign import ForeignRetriever
    from anabranch.knowledge_base import KnowledgeBase
    from anabranch.settings import Settings, load_settings
    from anabranch.trace import RunEvent
    from anabranch.types import (
        AddReport,
        Answer,
        Citation,
        Clarification,
        Evidence,
        EvidenceGrade,
        Failure,
        FileReport,
        Outcome,
        Scope,
        SourceRecord,
        TraceEvent,
        Turn,
    )

__version__ = "0.1.0"

_HOMES = {
    "anabranch.foreign": ("ForeignRetriever",),
    "anabranch.documents": ("KnowledgeBaseInfo",),
    "anabranch.knowledge_base": ("KnowledgeBase",),
    "anabranch.settings": ("Settings", "load_settings"),
    "anabranch.trace": ("RunEvent",),
    "anabranch.types": (
        "AddReport", "Answer", "Citation", "Clarification", "Evidence", "EvidenceGrade",
        "Failure", "FileReport", "Outcome", "Scope", "SourceRecord", "TraceEvent", "Turn",
    ),
    "anabranch.errors": (
        "AccessError", "AnabranchError", "AnsweredError", "ClarificationError",
        "CollectionNotFoundError", "ConfigurationError", "ExpiredError", "IndexVersionError",
        "InputError", "KeyRefusedError", "MissingExtraError", "ModelMismatchError",
        "NotAllowedError", "NothingToRetryError", "PictureError", "QuestionError",
        "RateLimitError", "ReadingError", "RemoteError", "RunError", "SessionNotFoundError",
        "SnapshotError", "SourceNotFoundError",
        "StorageError", "UnusableReplyError",
    ),
}  # fmt: skip
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "AccessError",
    "AddReport",
    "AnabranchError",
    "Answer",
    "AnsweredError",
    "Citation",
    "Clarification",
    "ClarificationError",
    "CollectionNotFoundError",
    "ConfigurationError",
    "Evidence",
    "EvidenceGrade",
    "ExpiredError",
    "Failure",
    "FileReport",
    "ForeignRetriever",
    "IndexVersionError",
    "InputError",
    "KeyRefusedError",
    "KnowledgeBase",
    "KnowledgeBaseInfo",
    "MissingExtraError",
    "ModelMismatchError",
    "NotAllowedError",
    "NothingToRetryError",
    "Outcome",
    "PictureError",
    "QuestionError",
    "RateLimitError",
    "ReadingError",
    "RemoteError",
    "RunError",
    "RunEvent",
    "Scope",
    "SessionNotFoundError",
    "Settings",
    "SnapshotError",
    "SourceNotFoundError",
    "SourceRecord",
    "StorageError",
    "TraceEvent",
    "Turn",
    "UnusableReplyError",
    "__version__",
    "load_settings",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
