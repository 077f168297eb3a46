"""What a service keeps beside the documents: sessions, messages, open questions, jobs.

Times are ISO 8601 in UTC. All are frozen, like the nouns in ``types.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

MessageRole = Literal["user", "assistant"]
QuestionState = Literal["open", "answered", "closed"]
JobStatus = Literal["queued", "running", "finished", "failed", "cancelled"]
JobFileStatus = Literal[
    "queued", "reading", "embedding", "added", "updated", "unchanged", "empty", "failed",
    "cancelled",
]  # fmt: skip
# Nothing more happens to a file, or to a job, that is one of these.
FILE_ENDINGS: tuple[JobFileStatus, ...] = (
    "added", "updated", "unchanged", "empty", "failed", "cancelled",
)  # fmt: skip
JOB_ENDINGS: tuple[JobStatus, ...] = ("finished", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation. ``collections`` narrows what its questions search; None: all.

    ``within`` and ``principals`` are what its owner might see when it began, as in
    ``request.CallerScope``: all that is in it was found within that. ``note`` condenses the messages
    up to position ``noted``.
    """

    id: str
    owner: str
    title: str
    collections: tuple[str, ...] | None
    within: tuple[str, ...] | None
    principals: tuple[str, ...] | None
    created_at: str
    updated_at: str
    note: str = ""
    noted: int = 0


@dataclass(frozen=True, slots=True)
class Message:
    """A turn of a session; positions count from 1. ``outcome`` is what the answer came with."""

    id: str
    session_id: str
    position: int
    role: MessageRole
    text: str
    created_at: str
    outcome: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question that a run asked back, as it is kept until the reply (a row of ``pending_hitl``).

    ``clarification_id`` is the outcome's. ``replies`` are the answers so far, ``message_id`` the
    message that asked, ``answered_by`` the one that answered.
    """

    id: str
    session_id: str
    clarification_id: str
    message_id: str
    question: str
    prompt: str
    options: tuple[str, ...]
    route: str
    status: str
    replies: tuple[str, ...]
    snapshot: Mapping[str, Any]
    state: QuestionState
    expired: bool
    created_at: str
    expires_at: str
    answered_by: str | None = None


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message that is about to be kept."""

    role: MessageRole
    text: str
    outcome: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class JobFile:
    """A file of a job: ``path`` is what the source will be called."""

    id: str
    path: str
    size: int
    status: JobFileStatus
    reason: str = ""
    pages: int | None = None
    chunks: int = 0


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job that is about to be kept, under an id that its files lie under already.

    ``principals`` are those of whoever sent it: what they may not see it does not replace.
    """

    id: str
    collection: str
    files: tuple[JobFile, ...]
    allowed: tuple[str, ...] = ()
    principals: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """Files that are added in the background.

    ``attempts`` counts how often it was begun; ``error`` says why it failed as a whole.
    """

    id: str
    owner: str
    collection: str
    allowed: tuple[str, ...]
    status: JobStatus
    attempts: int
    cancelling: bool
    error: str
    created_at: str
    updated_at: str
    files: tuple[JobFile, ...] = ()
    principals: tuple[str, ...] | None = None
