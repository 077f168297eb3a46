"""The snapshot that a run leaves when it ends with a question to the user, and its way back.

It holds what a resumed run cannot find out again (question, route, counters, plan, scope), never
documents, and a signature by a key kept with the knowledge base: whoever carries it between the
two turns (a session, a file, a chat message) can neither read more from it nor widen its scope.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anabranch.errors import SnapshotError
from anabranch.replies import meant
from anabranch.types import RESUME_SCHEMA, Scope

MAX_REPLY_CHARACTERS = 2_000
MAX_PROMPT_CHARACTERS = 4_000
# Of JSON; the longest question and as many options as fit into a prompt stay below it.
MAX_SNAPSHOT_BYTES = 1_000_000
# A path can be this long on the systems in use.
MAX_NAME_CHARACTERS = 4_096
_Name = Annotated[str, Field(max_length=MAX_NAME_CHARACTERS)]
# Fields that the first snapshots did not have.
_LATER = ("standalone", "scope_fingerprint")


class SnapshotScope(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    collections: tuple[_Name, ...] | None = None
    sources: tuple[_Name, ...] | None = None

    def to_scope(self) -> Scope:
        return Scope(self.collections, self.sources)


class Snapshot(BaseModel):
    """A validated snapshot. ``replies`` are the answers given so far, oldest first.

    ``standalone`` is the question with what the conversation supplied; empty: as asked.
    ``scope_fingerprint`` tells who may see what in the scope, and tells it to nobody else.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_: Literal["anabranch.resume/1"] = Field(RESUME_SCHEMA, alias="schema")
    id: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    question: Annotated[str, Field(min_length=1, max_length=100_000)]
    standalone: Annotated[str, Field(max_length=200_000)] = ""
    replies: tuple[_Name, ...] = ()
    route: Literal["clarify", "scope_select"]
    status: Literal["needs_clarification", "needs_scope_selection"]
    prompt: Annotated[str, Field(max_length=MAX_PROMPT_CHARACTERS)]
    options: tuple[_Name, ...] = ()
    rewrite_count: Annotated[int, Field(ge=0, le=10)] = 0
    asked: Annotated[int, Field(ge=1, le=100)] = 1
    complexity: Literal["simple", "complex"] = "simple"
    complexity_reason: _Name = ""
    plan: tuple[_Name, ...] = ()
    scope: SnapshotScope = SnapshotScope()
    index_fingerprint: Annotated[str, Field(max_length=200)]
    settings_fingerprint: Annotated[str, Field(max_length=200)]
    scope_fingerprint: Annotated[str, Field(max_length=200)] = ""

    def refined_question(self) -> str:
        """The question with every reply behind it; what is searched and graded."""
        return join_question(self.standalone or self.question, self.replies)

    def meaning_of(self, reply: str) -> str | None:
        """What ``reply`` adds to the question; None where it chooses nothing.

        The number of an option is read as that option. Raises SnapshotError for a reply that is
        blank or too long.
        """
        if not reply.strip():
            raise SnapshotError("The reply is blank. Answer the question, or ask a new one.")
        if len(reply) > MAX_REPLY_CHARACTERS:
            raise SnapshotError(
                f"The reply has {len(reply)} characters; at most {MAX_REPLY_CHARACTERS} are read."
            )
        return meant(reply, self.options)

    def with_reply(self, meaning: str | None) -> Snapshot:
        """The snapshot with what a reply means behind the replies so far."""
        return self if meaning is None else self.model_copy(
            update={"replies": (*self.replies, meaning)}
        )  # fmt: skip

    def reach_of(self, scope: Scope) -> Scope:
        """What a reply with ``scope`` is searched in: of the question's, what it may see.

        Raises SnapshotError where that is nothing: nothing would be searched, and an outcome would
        say that the documents do not know.
        """
        asked_in = self.scope.to_scope()
        both = scope.intersect(asked_in)
        if _is_empty(both) and not _is_empty(asked_in):
            raise SnapshotError(
                "The scope of this reply has nothing of what the question was asked in. Reply with "
                "the same collections and sources as then, or ask the question again."
            )
        return both

    def was_asked_in(self, scope: Scope, key: bytes) -> bool:
        """Whether the question was asked in ``scope``; also true where the snapshot does not say."""
        return self.scope_fingerprint in ("", scope_fingerprint(scope, key))

    def to_plain(self) -> dict[str, Any]:
        """As JSON values. Empty fields that came later are left out: snapshots from before there
        were any keep their signature."""
        plain = self.model_dump(mode="json", by_alias=True)
        return {name: value for name, value in plain.items() if name not in _LATER or value}


def _is_empty(scope: Scope) -> bool:
    return () in (scope.collections, scope.sources)


def join_question(question: str, replies: Sequence[str]) -> str:
    return " ".join((question.strip(), *(reply.strip() for reply in replies)))


def clarification_id(question: str, replies: Sequence[str], prompt: str) -> str:
    """The same question at the same point has the same id, in every process."""
    parts = json.dumps([question, list(replies), prompt], ensure_ascii=False)
    return hashlib.blake2b(parts.encode(), digest_size=8).hexdigest()


def scope_fingerprint(scope: Scope, key: bytes) -> str:
    """Another one when collections, sources or principals are others, in whatever order.

    Under the key of the knowledge base: whoever carries a snapshot cannot try out principals on it.
    """
    parts = (scope.collections, scope.sources, scope.principals)
    plain = [None if names is None else sorted(set(names)) for names in parts]
    return _signature(plain, key)[:32]


def sign(snapshot: Snapshot, key: bytes) -> dict[str, Any]:
    """The snapshot as JSON values with its signature (HMAC-SHA256 over canonical JSON)."""
    plain = snapshot.to_plain()
    return {**plain, "signature": _signature(plain, key)}


def _signature(plain: Mapping[str, Any] | Sequence[Any], key: bytes) -> str:
    canonical = json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hmac.new(key, canonical.encode(), hashlib.sha256).hexdigest()


def validate(snapshot: Mapping[str, Any] | None, key: bytes) -> Snapshot:
    """The snapshot, proven to be of this knowledge base and unchanged.

    Raises SnapshotError saying what is wrong and what to do.
    """
    if not snapshot:
        raise SnapshotError(
            "There is no open question to reply to: the run did not end with one. Ask first."
        )
    if not isinstance(snapshot, Mapping):
        raise SnapshotError(
            f"This is not a resume snapshot but a {type(snapshot).__name__}. Give the outcome's "
            "`resume` value."
        )
    plain = {name: value for name, value in dict(snapshot).items() if name != "signature"}
    if plain.get("schema") != RESUME_SCHEMA:
        raise SnapshotError(
            f"This is not a resume snapshot: its schema is {plain.get('schema')!r}, "
            f"not {RESUME_SCHEMA!r}. Give the outcome's `resume` value."
        )
    try:
        known = Snapshot.model_validate(plain)
    except ValidationError as error:
        field = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise SnapshotError(
            f"The snapshot is damaged: field {field!r} {error.errors()[0]['msg'].lower()}. "
            "Ask the question again."
        ) from None
    signature = snapshot.get("signature")
    if not isinstance(signature, str) or not hmac.compare_digest(
        signature.encode("utf-8", "replace"),
        _signature(known.to_plain(), key).encode(),
    ):
        raise SnapshotError(
            "The snapshot was changed, or was made by another knowledge base: its signature does "
            "not fit. Ask the question again."
        )
    return known


def to_token(snapshot: Mapping[str, Any]) -> str:
    """A snapshot as one word of letters, digits, ``-`` and ``_``, for where only text is carried."""
    plain = json.dumps(dict(snapshot), ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(zlib.compress(plain.encode(), 9)).decode().rstrip("=")


def from_token(token: str) -> dict[str, Any]:
    """The snapshot that ``to_token`` made a word of; not validated yet.

    Raises SnapshotError for any other word.
    """
    try:
        packed = base64.urlsafe_b64decode(token.strip() + "=" * (-len(token.strip()) % 4))
        unpacking = zlib.decompressobj()
        # A few bytes can unpack to gigabytes; no snapshot is that long.
        plain = unpacking.decompress(packed, MAX_SNAPSHOT_BYTES)
        snapshot = json.loads(plain) if unpacking.eof else None
    except (ValueError, zlib.error, RecursionError):
        snapshot = None
    if not isinstance(snapshot, dict):
        raise SnapshotError(
            "This is not the token of a question that was asked back, or not all of it. Give it as "
            "it was given, or ask the question again."
        )
    return snapshot
