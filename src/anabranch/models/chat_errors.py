"""What went wrong at a language model, in one form: every provider's client has errors of its own.

Nothing of a key gets out: neither one that was set, nor what a provider repeats of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from anabranch.errors import AnabranchError, ConfigurationError, RemoteError
from anabranch.models.endpoint import seconds_to_wait

_DETAIL_CHARACTERS = 200
_TRY_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_KINDS = {401: "unauthorized", 403: "unauthorized", 429: "rate_limited"}
# Statuses by which servers say that they do not know an option.
_NOT_UNDERSTOOD = frozenset({400, 404, 405, 415, 422, 501})
# By their names, since the libraries that define them may not be installed.
_NO_CONNECTION = ("Connect", "Network", "Protocol", "ReadError", "WriteError", "Transport")


@dataclass(frozen=True, slots=True)
class Fault:
    """A call that failed: what to raise, and what can be done first.

    ``again``: it may work in a moment, after ``retry_after`` seconds if the provider named them.
    ``said`` is its message in small letters, for looking up what it did not understand.
    """

    error: AnabranchError
    again: bool = False
    retry_after: float | None = None
    said: str = ""

    @property
    def status(self) -> int | None:
        return self.error.status if isinstance(self.error, RemoteError) else None

    @property
    def not_understood(self) -> bool:
        """Whether the provider may have refused how it was asked rather than what."""
        return self.status in _NOT_UNDERSTOOD


def read_fault(error: Exception, *, model: str, secrets: Sequence[str]) -> Fault:
    """The fault behind whatever a provider's client raised."""
    if isinstance(error, ConfigurationError):
        return Fault(error)
    status = _status(error)
    detail = _told(error, secrets)
    if status is not None:
        kind = _KINDS.get(status) or ("server_error" if status >= 500 else "refused")
        busy, wait = (" (rate limited)" if status == 429 else ""), _retry_after(error)
        message = f"The model {model!r} answered with {status}{busy}: {detail!r}."
        if wait:
            message += f" It asks to be left alone for {wait:.3g} s."
        return Fault(
            RemoteError(message, status=status, kind=kind),
            again=status in _TRY_AGAIN,
            retry_after=wait,
            said=detail.lower(),
        )
    if any("Timeout" in type(cause).__name__ for cause in _chain(error)):
        # Not again: a model that stalls costs its time once.
        return Fault(RemoteError(f"The model {model!r} stopped replying.", kind="timeout"))
    if _is_connection(error):
        message = f"The model {model!r} cannot be reached: {type(error).__name__}."
        return Fault(RemoteError(message, kind="unreachable"), again=True)
    if isinstance(error, (NotImplementedError, ImportError)):
        return Fault(RemoteError(f"{model!r}: {detail!r}.", kind="refused"), said=detail.lower())
    message = f"The reply of {model!r} cannot be read ({type(error).__name__}: {detail!r})."
    return Fault(RemoteError(message, kind="unusable_reply"))


def _status(error: Exception) -> int | None:
    """The status of the reply that ``error``, or what it was made of, is about.

    LangChain's clients raise errors of their own; some leave the status in the one behind.
    """
    for cause in _chain(error):
        response = getattr(cause, "response", None)
        for holder, name in (
            (cause, "status_code"), (cause, "code"), (cause, "status"), (response, "status_code"),
        ):  # fmt: skip
            value = getattr(holder, name, None)
            # A reply with status 200 that its client could not read is no refusal.
            if isinstance(value, int) and 300 <= value < 600:
                return value
    return None


def _retry_after(error: Exception) -> float | None:
    responses = (getattr(cause, "response", None) for cause in _chain(error))
    headers = next((found for r in responses if (found := getattr(r, "headers", None))), None)
    if headers is None:
        return None
    milliseconds = headers.get("retry-after-ms")
    if milliseconds is not None and str(milliseconds).strip().isdigit():
        return int(milliseconds) / 1000
    return seconds_to_wait(headers.get("retry-after"))


def _is_connection(error: Exception) -> bool:
    return any(
        isinstance(cause, OSError)
        # The pool of a client still has a connection that belonged to an earlier event loop.
        or (isinstance(cause, RuntimeError) and "event loop is closed" in str(cause).lower())
        or any(word in type(cause).__name__ for word in _NO_CONNECTION)
        for cause in _chain(error)
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in seen:
        yield cause
        seen.append(cause)
        cause = cause.__cause__ or cause.__context__


def _told(error: Exception, secrets: Sequence[str]) -> str:
    said = " ".join(str(error).split())
    for secret in secrets:
        said = said.replace(secret, "(key)")
    return said[:_DETAIL_CHARACTERS]
