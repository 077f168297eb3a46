"""Every error that Anabranch raises on purpose.

AnabranchError
├── InputError                what was given cannot be used (exit code 3)
│   ├── QuestionError         a question or reply that is blank, or too long
│   ├── ReadingError          a file that cannot be turned into text
│   ├── SourceNotFoundError   a path, source or document that does not exist in scope
│   ├── CollectionNotFoundError
│   ├── PictureError          there is no picture of a page, and why
│   ├── SnapshotError         a resume snapshot that is damaged, foreign or out of scope
│   ├── SessionNotFoundError  a session, message, open question or job that is not the caller's
│   ├── NothingToRetryError   a job that has not ended, or in which nothing failed
│   ├── ClarificationError    a reply that cannot be taken
│   │   ├── AnsweredError     the question was answered already, or is being answered
│   │   └── ExpiredError      it waits no longer, or what it was about is out of reach
│   └── AccessError           the caller may not do this
│       ├── KeyRefusedError   no key, or one that is not valid
│       ├── NotAllowedError   a key whose role does not reach that far
│       └── RateLimitError    a key that is used too often
├── ConfigurationError        a setting, a model or an extra that does not fit (exit code 3)
│   ├── MissingExtraError     an optional dependency is not installed
│   ├── ModelMismatchError    the index was made with another embedder
│   └── IndexVersionError     the index was made by a newer version
├── StorageError              the disk or the store refused (exit code 3)
└── RunError                  a run could not give an outcome (exit code 5)
    └── RemoteError           a model server could not be reached, or gave no usable reply
        └── UnusableReplyError    a language model's reply that could not be read

The message names the value with ``!r`` and says what to do.
"""

from collections.abc import Mapping
from typing import Any


class AnabranchError(Exception):
    """Base of all errors raised on purpose; ``str(error)`` is written for a person."""


class InputError(AnabranchError):
    """What was given cannot be used."""


class QuestionError(InputError):
    """A question or reply is blank or too long."""


class ReadingError(InputError):
    """A file cannot be turned into text.

    ``kind`` says which way it failed, so that a report can count without parsing words.
    """

    def __init__(self, message: str, *, kind: str = "unreadable", page: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.page = page


class SourceNotFoundError(InputError):
    """A path, source or document does not exist, or not in the caller's scope."""


class CollectionNotFoundError(InputError):
    """A collection does not exist, or not in the caller's scope."""


class PictureError(InputError):
    """There is no picture of this page; the message says why."""


class SnapshotError(InputError):
    """A resume snapshot is damaged, foreign, or about nothing in the scope of the reply."""


class SessionNotFoundError(InputError):
    """A session, an open question in it, or a job does not exist, or is not the caller's."""


class NothingToRetryError(InputError):
    """A job has not ended, or nothing in it failed or was cancelled."""


class ClarificationError(InputError):
    """A reply to a question that was asked back cannot be taken.

    ``details`` has what helps to go on, as JSON values.
    """

    def __init__(self, message: str, *, details: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.details = dict(details)


class AnsweredError(ClarificationError):
    """It was answered already (``details["answer"]`` is the message), or is being answered now."""


class ExpiredError(ClarificationError):
    """It waits no longer for a reply, or the caller may no longer search what it was about.

    ``details["ask_afresh"]`` is the question with the replies, to be asked as a new one.
    """


class AccessError(InputError):
    """The caller may not do this; its kinds say why."""


class KeyRefusedError(AccessError):
    """A key is needed, and there is none or it is not valid; the two are not told apart."""


class NotAllowedError(AccessError):
    """The key is valid, but its role does not reach that far."""


class RateLimitError(AccessError):
    """The key is used too often; ``retry_after`` says in how many seconds it may be used again."""

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ConfigurationError(AnabranchError):
    """A setting, a model or an installed extra does not fit."""


class MissingExtraError(ConfigurationError):
    """An optional dependency is not installed; the message has the install command."""


class ModelMismatchError(ConfigurationError):
    """The index was made with another embedder than the configured one."""


class IndexVersionError(ConfigurationError):
    """The index was made by a newer version of Anabranch."""


class StorageError(AnabranchError):
    """The disk or the store refused an operation; nothing acknowledged before is lost."""


class RunError(AnabranchError):
    """A run could not give an outcome."""


class RemoteError(RunError):
    """A model server could not be reached, refused, or gave a reply that cannot be used.

    ``status`` is the HTTP status of a refusal; None where there was no reply, or an unusable one.
    ``kind`` says in a word what went wrong, as ``Failure.kind`` does.
    """

    def __init__(
        self, message: str, *, status: int | None = None, kind: str = "RemoteError"
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


class UnusableReplyError(RemoteError):
    """A language model's reply could not be read as what was asked for."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="unusable_reply")
