"""Vectors that were computed once, kept on disk in one SQLite file.

An entry is the unit vector of a text in 32-bit floats, then its window directions in bytes.

A cache may be lost at any time and must never be the reason that something fails: whatever goes
wrong is one warning, and the caller computes again.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import Literal, TypeVar

import numpy as np

from anabranch.ports import PassageVectors
from anabranch.private_files import begin_private

logger = logging.getLogger(__name__)

TextKind = Literal["query", "passage"]
Result = TypeVar("Result")

# 16 bytes: at a billion texts the chance of one collision is about 1e-21.
_DIGEST_BYTES = 16
# SQLite built without options of its own takes 999 parameters a statement; two are used already.
_KEYS_PER_STATEMENT = 900
# With the default 4 KB only two vectors of 384 dimensions fit a page; five fit 8 KB, with less
# left over: 1.7 KB a vector instead of 2.1.
_PAGE_BYTES = 8192
_BUSY_SECONDS = 10.0
# Vectors are of unit length to 1e-6. What is further off was damaged where SQLite does not look:
# it has no checksums of the content.
_LENGTH_TOLERANCE = 1e-3

_SCHEMA = """
CREATE TABLE IF NOT EXISTS spaces (
    id INTEGER PRIMARY KEY, model TEXT NOT NULL, kind TEXT NOT NULL, UNIQUE (model, kind)
);
CREATE TABLE IF NOT EXISTS vectors (
    space INTEGER NOT NULL, text_digest BLOB NOT NULL, vector BLOB NOT NULL,
    UNIQUE (space, text_digest)
);
"""
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


class EmbeddingCache:
    """Unit vectors by model fingerprint, kind of text and content of text.

    Several threads and several processes may use one file at once; a process that is killed loses
    at most the call it was in. A damaged file is set aside as ``NAME.damaged`` and begun anew.
    Where the disk refuses, reading finds nothing and writing does nothing, after one warning.
    An entry of 384 dimensions takes about 1.7 KB, and 0.4 KB more for each window.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._lock = Lock()
        self._warned = False
        self._readable = True
        self._writable = True

    def get_many(
        self, texts: Sequence[str], *, model: str, kind: TextKind, dimensions: int
    ) -> dict[str, PassageVectors]:
        """The vectors that are known, by text; read-only arrays."""
        digests = {_digest(text): text for text in texts}

        def read(connection: sqlite3.Connection) -> dict[str, PassageVectors]:
            found: dict[str, PassageVectors] = {}
            for batch in _batches(list(digests)):
                for digest, blob in _select(connection, batch, model=model, kind=kind):
                    vectors = _unpack(blob, dimensions)
                    if vectors is not None:
                        found[digests[digest]] = vectors
            return found

        if not digests or not self._readable:
            return {}
        return self._try(read, doing="read") or {}

    def put_many(
        self, vectors: Mapping[str, PassageVectors], *, model: str, kind: TextKind
    ) -> None:
        """Keep vectors by text, all of them or none. They are on disk when this returns."""
        rows = [(model, kind, _digest(text), _pack(value)) for text, value in vectors.items()]

        def write(connection: sqlite3.Connection) -> None:
            # The transaction begins as a writing one: one that turns from reading to writing could
            # be refused at once, without waiting, when another process wrote in between.
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(
                    "INSERT OR IGNORE INTO spaces (model, kind) VALUES (?, ?)", (model, kind)
                )
                # REPLACE, not IGNORE: a vector is written again only if it was not readable.
                connection.executemany(
                    "INSERT OR REPLACE INTO vectors (space, text_digest, vector) VALUES "
                    "((SELECT id FROM spaces WHERE model = ? AND kind = ?), ?, ?)",
                    rows,
                )

        if rows and self._writable:
            self._try(write, doing="write")

    def close(self) -> None:
        """Release the file; a later call opens it again."""
        with self._lock:
            self._disconnect()

    def _try(self, action: Callable[[sqlite3.Connection], Result], *, doing: str) -> Result | None:
        """What ``action`` gives; None after a warning if the disk or the file does not allow it."""
        with self._lock:
            for attempt in range(3):
                try:
                    return action(self._connect())
                except (sqlite3.Error, OSError) as error:
                    code = _primary_code(error)
                    if code in _BUSY:
                        self._warn(f"it is in use by another process for too long ({error})")
                        return None
                    if code not in _DAMAGED:
                        self._give_up(doing, error)
                        return None
                    self._disconnect()
                    # Another process may have put a new file in place already, which a fresh
                    # connection then sees: only what fails twice is set aside.
                    if attempt == 1:
                        self._set_aside(error)
                    elif attempt == 2:
                        self._give_up(doing, error)
            return None

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            begin_private(self.path)  # its journals get the permissions of the file
            connection = sqlite3.connect(
                self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                _prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _set_aside(self, reason: Exception) -> None:
        """Move the damaged file out of the way; if that fails, the next attempt gives up."""
        aside = _free_name(self.path)
        try:
            # Journals of a damaged file would be replayed into the new one.
            for suffix in ("-wal", "-shm"):
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)
            self.path.rename(aside)
        except OSError:
            return
        logger.warning(
            "The embedding cache %r is damaged (%s): it was set aside as %r and begun anew.",
            str(self.path),
            reason,
            aside.name,
        )

    def _give_up(self, doing: str, error: Exception) -> None:
        self._writable = False
        if doing == "read":
            self._readable = False
        self._warn(f"it cannot be used to {doing} ({error})")

    def _warn(self, reason: str) -> None:
        if not self._warned:
            self._warned = True
            logger.warning(
                "The embedding cache %r is left out: %s. Vectors are computed again; give it a "
                "folder that can be written, with space left, to keep them.",
                str(self.path),
                reason,
            )


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
    try:
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
    except sqlite3.OperationalError as error:
        # Turning a file to WAL does not wait for others. Whoever holds it has turned it already,
        # and the mode stays with the file.
        if _primary_code(error) not in _BUSY:
            raise
    # Without a flush to the disk for each commit: kill -9 loses nothing, a power cut the last few
    # commits, and neither harms the file.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.executescript(_SCHEMA)


def _select(
    connection: sqlite3.Connection, digests: Sequence[bytes], *, model: str, kind: TextKind
) -> list[tuple[bytes, bytes]]:
    places = ", ".join("?" * len(digests))
    space = "(SELECT id FROM spaces WHERE model = ? AND kind = ?)"
    # Nothing but question marks is put into the statement.
    query = f"SELECT text_digest, vector FROM vectors WHERE space = {space} AND text_digest IN ({places})"  # noqa: S608
    with closing(connection.execute(query, (model, kind, *digests))) as cursor:
        return cursor.fetchall()


def _pack(vectors: PassageVectors) -> bytes:
    return vectors.passage.astype("<f4").tobytes() + vectors.windows.tobytes()


def _unpack(blob: object, dimensions: int) -> PassageVectors | None:
    passage_bytes = 4 * dimensions
    if not isinstance(blob, bytes) or len(blob) < passage_bytes or len(blob) % dimensions:
        return None
    vector = np.frombuffer(blob[:passage_bytes], dtype="<f4").astype(np.float32, copy=False)
    windows = np.frombuffer(blob[passage_bytes:], dtype=np.int8).reshape(-1, dimensions)
    length = float(np.linalg.norm(vector))
    # Written so that a NaN, which compares as false, is turned away as well.
    return PassageVectors(vector, windows) if abs(length - 1.0) < _LENGTH_TOLERANCE else None


def _digest(text: str) -> bytes:
    # Lone surrogates are legal in a str and cannot be UTF-8.
    encoded = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(encoded, digest_size=_DIGEST_BYTES).digest()


def _batches(digests: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(digests), _KEYS_PER_STATEMENT):
        yield digests[start : start + _KEYS_PER_STATEMENT]


def _primary_code(error: Exception) -> int | None:
    """SQLite's result code without its extension, which stands above the lowest byte."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _free_name(path: Path) -> Path:
    names = (
        path.with_name(f"{path.name}.damaged{f'-{number}' if number else ''}")
        for number in itertools.count()
    )
    return next(name for name in names if not name.exists())
