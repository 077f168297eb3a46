"""The keys of a knowledge base: who may ask a service about it, and what they may see.

They are rows of a small SQLite file in its folder: every program that serves the folder sees a new
key, or a revoked one, with its next request, whichever database the sessions are in. A row holds
the SHA-256 of the secret. A slow hash would add nothing: those are for passwords, which can be
guessed; the secret is 256 random bits, and no one tries 2^255 of them, however fast.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

from anabranch.errors import InputError, StorageError
from anabranch.private_files import begin_private
from anabranch.request import checked_principals

KEYS = "keys.sqlite"
PREFIX = "anabranch"
# Whoever has the folder; who asks where no key was ever made.
OWNER_NAME = "owner"
SECRET_BYTES = 32
SECONDS_TO_WAIT = 10.0

Role = Literal["reader", "editor", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)

_TABLE = """CREATE TABLE IF NOT EXISTS keys (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, collections TEXT,
  principals TEXT NOT NULL, digest BLOB NOT NULL, created TEXT NOT NULL, revoked TEXT
)"""
_COLUMNS = "id, name, role, collections, principals, created, revoked"


@dataclass(frozen=True, slots=True)
class Key:
    """What is known of a key; never the key itself.

    ``name`` is who it stands for: sessions belong to that name. ``collections`` None: all of them.
    """

    id: str
    name: str
    role: Role
    collections: tuple[str, ...] | None
    principals: tuple[str, ...]
    created: str
    revoked: str | None = None


class KeyBook:
    """The keys of the knowledge base in ``folder``; all methods block for a moment."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / KEYS

    @property
    def in_use(self) -> bool:
        """Whether a key was ever made here. Revoking the last one opens nothing to everybody."""
        return self._file.exists()

    def create(
        self,
        name: str,
        *,
        role: Role = "reader",
        collections: Sequence[str] | None = None,
        principals: Sequence[str] = (),
    ) -> tuple[str, Key]:
        """A new key, as the one time that it is shown, and what is kept of it.

        Raises InputError for a name that a key in force has, or a role that there is not.
        """
        if not name.strip() or len(name) > 200 or not name.isprintable():
            raise InputError(f"name={name[:50]!r}: 1 to 200 printable characters.")
        if name == OWNER_NAME:
            raise InputError(
                f"name={name!r}: that is who asks where there are no keys, and has sessions of its "
                "own. Give another name."
            )
        if role not in ROLES:
            raise InputError(f"role={role!r}: it is one of {', '.join(ROLES)}.")
        principals = checked_principals(principals)
        named = None if collections is None else json.dumps(list(collections))
        key_id, secret = secrets.token_hex(4), secrets.token_urlsafe(SECRET_BYTES)
        row = (
            key_id, name, role, named, json.dumps(list(principals)), _digest(secret), _now(),
        )  # fmt: skip
        with self._opened(create=True) as connection, connection:
            connection.execute("BEGIN IMMEDIATE")
            taken = "SELECT 1 FROM keys WHERE name = ? AND revoked IS NULL"
            if connection.execute(taken, (name,)).fetchone():
                raise InputError(
                    f"There is a key for {name!r} already. Revoke it first, or give another name."
                )
            connection.execute("INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, NULL)", row)
        return f"{PREFIX}_{key_id}_{secret}", self._by_id(key_id)

    def all(self) -> list[Key]:
        """All keys, also revoked ones, oldest first."""
        if not self.in_use:
            return []
        with self._opened() as connection:
            rows = connection.execute(f"SELECT {_COLUMNS} FROM keys ORDER BY created, id")  # noqa: S608
            return [_key(row) for row in rows]

    def revoke(self, name_or_id: str) -> Key:
        """The key that is no longer valid from now on. Raises InputError where there is none."""
        found = [key for key in self.all() if name_or_id in (key.id, key.name) and not key.revoked]
        if not found:
            raise InputError(
                f"There is no key {name_or_id!r} in force. `anabranch keys list` shows them."
            )
        with self._opened() as connection, connection:
            revoke = "UPDATE keys SET revoked = ? WHERE id = ? AND revoked IS NULL"
            connection.execute(revoke, (_now(), found[0].id))
        return self._by_id(found[0].id)

    def find(self, given: str) -> Key | None:
        """The key that ``given`` is, if it is in force."""
        prefix, _, rest = given.partition("_")
        key_id, _, secret = rest.partition("_")
        if prefix != PREFIX or not self.in_use:
            return None
        with self._opened() as connection:
            query = f"SELECT digest, {_COLUMNS} FROM keys WHERE id = ? AND revoked IS NULL"  # noqa: S608
            row = connection.execute(query, (key_id,)).fetchone()
        # The id is no secret; what is compared takes as long whether there is such a key or not.
        matches = hmac.compare_digest(row[0] if row else bytes(32), _digest(secret))
        return _key(row[1:]) if row and matches else None

    def _by_id(self, key_id: str) -> Key:
        return next(key for key in self.all() if key.id == key_id)

    @contextmanager
    def _opened(self, *, create: bool = False) -> Iterator[sqlite3.Connection]:
        try:
            if create:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                begin_private(self._file)
            address = f"{self._file.absolute().as_uri()}?mode={'rw' if create else 'ro'}"
            if not create and os.access(self._file, os.W_OK):
                address = address.replace("mode=ro", "mode=rw")
            with closing(
                sqlite3.connect(address, uri=True, timeout=SECONDS_TO_WAIT, isolation_level=None)
            ) as connection:
                if create:
                    connection.execute(_TABLE)
                yield connection
        except (OSError, sqlite3.Error) as error:
            raise StorageError(
                f"The keys in {str(self._file)!r} cannot be used: {error}. Check the permissions of "
                "the folder; nobody is let in meanwhile."
            ) from error


def _key(row: Sequence[str | None]) -> Key:
    key_id, name, role, collections, principals, created, revoked = row
    return Key(
        id=str(key_id),
        name=str(name),
        role=next(known for known in ROLES if known == role),
        collections=None if collections is None else tuple(json.loads(collections)),
        principals=tuple(json.loads(str(principals))),
        created=str(created),
        revoked=revoked,
    )


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
