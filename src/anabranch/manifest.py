"""What a knowledge base folder says of itself: its format, its model, and its signing key.

```
.anabranch/
  manifest.json      format, embedder, dimensions, when it was made
  signing.key        32 random bytes, readable by the owner only
  store/             documents, chunks, vectors, text index (store-… after another model was chosen)
  embeddings.sqlite  vectors by model and content, so that nothing is embedded twice
  reindex.lock       held by the program that embeds everything again; empty
```
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anabranch.errors import ConfigurationError, IndexVersionError, ModelMismatchError, StorageError

FORMAT_VERSION = 1
MANIFEST = "manifest.json"
SIGNING_KEY = "signing.key"
KEY_BYTES = 32
# Longer than any request may take, so that none loses what it reads.
SECONDS_OF_GRACE = 600
STORE = "store"
EMBEDDINGS = "embeddings.sqlite"
REINDEX_LOCK = "reindex.lock"
# Ends the fingerprint of an embedder that saw passages without personal data: a question without
# names does not find what was embedded with them.
ANONYMIZED = "+anonymized"


class Manifest(BaseModel):
    """The contents of ``manifest.json``."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    format_version: Annotated[int, Field(ge=1)]
    embedder: str
    # By which the embedder is chosen again (``named_models.choose_embedder``); the fingerprint is its proof.
    embedder_name: str = "bundled"
    dimensions: Annotated[int, Field(ge=1)]
    created: str
    # The folder that holds the documents now, and those that held them before: a program that
    # opened the knowledge base earlier may still be reading there.
    store: Annotated[str, Field(pattern=r"^store[\w-]*$")] = STORE
    retired: tuple[Annotated[str, Field(pattern=r"^store[\w-]*$")], ...] = ()


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a knowledge base; None where there is none yet.

    Raises IndexVersionError for a newer format, ConfigurationError for a folder that is something
    else or damaged.
    """
    file = folder / MANIFEST
    try:
        plain = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        if folder.exists():
            raise ConfigurationError(
                f"{str(folder)!r} is a file; a knowledge base is a folder. Give another --kb."
            ) from None
        raise ConfigurationError(f"{str(folder)!r} lies below a file. Give another --kb.") from None
    except OSError as error:
        raise StorageError(f"{str(file)!r} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise _damaged(file, str(error)) from None
    version = plain.get("format_version") if isinstance(plain, dict) else None
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise IndexVersionError(
            f"The knowledge base in {str(folder)!r} has format {version}; this version of "
            f"Anabranch reads up to {FORMAT_VERSION}. Update it: pip install -U anabranch"
        )
    try:
        return Manifest.model_validate(plain)
    except ValidationError as error:
        raise _damaged(file, error.errors()[0]["msg"]) from None


def _damaged(file: Path, detail: str) -> ConfigurationError:
    return ConfigurationError(
        f"{str(file)!r} is damaged ({detail}). Restore it from a backup, or add the documents to "
        "a new knowledge base with another --kb."
    )


def ensure_manifest(
    folder: Path, *, embedder: str, dimensions: int, embedder_name: str = "bundled"
) -> Manifest:
    """The manifest of a knowledge base, made with its folder and key where there is none.

    Two processes may do this at once: the first one to place the file wins, both read it.
    """
    manifest = Manifest(
        format_version=FORMAT_VERSION,
        embedder=embedder,
        embedder_name=embedder_name,
        dimensions=dimensions,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _place(folder / SIGNING_KEY, secrets.token_bytes(KEY_BYTES), mode=0o600)
        _place(folder / MANIFEST, manifest.model_dump_json(indent=2).encode() + b"\n", mode=0o644)
    except OSError as error:
        raise StorageError(
            f"No knowledge base can be made in {str(folder)!r}: {error.strerror}. Give a folder "
            "that can be written with --kb."
        ) from error
    return read_manifest(folder) or manifest


def store_beside(folder: Path, manifest: Manifest, embedder: str) -> str:
    """The name of the folder for an index by another embedder: one begun earlier, or a new one."""
    stem = f"{STORE}-{hashlib.sha256(embedder.encode()).hexdigest()[:8]}"
    for number in itertools.count(1):
        name = f"{stem}-{number}"
        if name != manifest.store and name not in manifest.retired:
            return name
    raise AssertionError("unreachable: counting does not end")


def signature(folder: Path) -> tuple[int, int, int] | None:
    """Another one whenever the manifest was replaced: then what is open has to be opened again."""
    try:
        found = (folder / MANIFEST).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def replace_manifest(folder: Path, manifest: Manifest) -> None:
    """Put ``manifest`` in the place of the one that is there, in one step."""
    temporary = folder / f"{MANIFEST}.{os.getpid()}.{secrets.token_hex(4)}"
    try:
        with temporary.open("xb") as opened:
            opened.write(manifest.model_dump_json(indent=2).encode() + b"\n")
            opened.flush()
            os.fsync(opened.fileno())
        temporary.replace(folder / MANIFEST)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StorageError(
            f"{str(folder / MANIFEST)!r} cannot be replaced: {error.strerror}."
        ) from error


@contextmanager
def only_one_reindexing(folder: Path) -> Iterator[None]:
    """Within it no other program embeds the documents again; StorageError where one does.

    Two at once would each leave out what was written after the other's change. The lock is that of
    an empty SQLite file: it works on every system and ends with the program that holds it.
    """
    file = folder / REINDEX_LOCK
    with ExitStack() as stack:
        try:
            connection = stack.enter_context(closing(_connect(file)))
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            busy = error.sqlite_errorcode == sqlite3.SQLITE_BUSY
            raise StorageError(
                f"The documents in {str(folder)!r} are being embedded by another program right now. "
                "Wait until it has ended, or end it; what it did is not done twice."
                if busy
                else f"{str(file)!r} cannot be locked: {error}. Check the permissions of the folder."
            ) from error
        yield


def _connect(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(file, timeout=0, isolation_level=None, check_same_thread=False)


def remove_abandoned(folder: Path, manifest: Manifest) -> None:
    """Delete indexes that were begun for another model and never finished.

    Only within ``only_one_reindexing``: else one that somebody is making would go.
    """
    named = {manifest.store, *manifest.retired}
    for found in folder.glob(f"{STORE}-*"):
        if found.name not in named:
            shutil.rmtree(found, ignore_errors=True)


def remove_retired(folder: Path, manifest: Manifest) -> None:
    """Delete the folders of earlier models, once nobody can still be reading there.

    A program that has the knowledge base open sees the new manifest with its next request.
    """
    try:
        age = time.time() - (folder / MANIFEST).stat().st_mtime
    except OSError:
        return
    if age < SECONDS_OF_GRACE:
        return
    for name in manifest.retired:
        if name != manifest.store:
            shutil.rmtree(folder / name, ignore_errors=True)


def _place(file: Path, content: bytes, *, mode: int) -> None:
    """``content`` as ``file`` in one step, unless it is there already."""
    if file.exists():
        return
    temporary = file.with_name(f"{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        os.link(temporary, file)  # fails if another process was first: its file stays
    except FileExistsError:
        pass
    finally:
        temporary.unlink()


def check_model(manifest: Manifest, folder: Path, embedder: str, *, name: str = "bundled") -> None:
    """Refuses another embedder than the index was made with: its vectors would mean nothing.

    ``name`` is what ``embedder``, a fingerprint, was chosen by.
    """
    if manifest.embedder == embedder:
        return
    # The same name may stand for another file by now: then there is nothing to set.
    or_set = (
        ""
        if name == manifest.embedder_name
        else (f"Set the model it was made with (ANABRANCH_EMBEDDER={manifest.embedder_name}), or ")
    )
    if _plain(manifest.embedder) == _plain(embedder):
        was = "on" if manifest.embedder != _plain(manifest.embedder) else "off"
        or_set = f"Set ANABRANCH_ANONYMIZE={was} as it was then, or "
    remedy = f"{or_set}let its documents be embedded again: anabranch reindex --model {name}"
    raise ModelMismatchError(
        f"The knowledge base in {str(folder)!r} was made with the model {manifest.embedder!r}, but "
        f"{embedder!r} is configured. {remedy[0].upper()}{remedy[1:]}"
    )


def _plain(embedder: str) -> str:
    """A fingerprint without what says that passages were embedded without personal data."""
    return embedder.removesuffix(ANONYMIZED)


def read_signing_key(folder: Path) -> bytes:
    """The key that resume snapshots are signed with."""
    try:
        key = (folder / SIGNING_KEY).read_bytes()
    except OSError as error:
        raise StorageError(
            f"{str(folder / SIGNING_KEY)!r} cannot be read: {error.strerror}. Without it no "
            "question can be asked back; restore the file from a backup."
        ) from error
    if len(key) < KEY_BYTES:  # what is signed with less can be forged
        raise StorageError(
            f"{str(folder / SIGNING_KEY)!r} has {len(key)} bytes instead of {KEY_BYTES}: it is "
            "damaged. Restore it from a backup."
        )
    return key
