"""What a knowledge base folder says of itself: its format, its model, and its signing key.

```
.anabranch/
  manifest.json      format, embedder, dimensions, when it was made
  signing.key        32 random bytes, readable by the owner only
  store/             documents, chunks, vectors, text index
  embeddings.sqlite  vectors by model and content, so that nothing is embedded twice
```
"""

from __future__ import annotations

import json
import os
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anabranch.errors import ConfigurationError, IndexVersionError, ModelMismatchError, StorageError

FORMAT_VERSION = 1
MANIFEST = "manifest.json"
SIGNING_KEY = "signing.key"
KEY_BYTES = 32
STORE = "store"
EMBEDDINGS = "embeddings.sqlite"


class Manifest(BaseModel):
    """The contents of ``manifest.json``."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    format_version: Annotated[int, Field(ge=1)]
    embedder: str
    dimensions: Annotated[int, Field(ge=1)]
    created: str


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


def ensure_manifest(folder: Path, *, embedder: str, dimensions: int) -> Manifest:
    """The manifest of a knowledge base, made with its folder and key where there is none.

    Two processes may do this at once: the first one to place the file wins, both read it.
    """
    manifest = Manifest(
        format_version=FORMAT_VERSION,
        embedder=embedder,
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


def check_model(manifest: Manifest, folder: Path, embedder: str) -> None:
    """Refuses another embedder than the index was made with: its vectors would mean nothing."""
    if manifest.embedder != embedder:
        raise ModelMismatchError(
            f"The knowledge base in {str(folder)!r} was made with the model "
            f"{manifest.embedder!r}, but {embedder!r} is configured. Set the model it was made "
            "with, or add the documents to a new knowledge base: anabranch add PATH --kb NEW"
        )


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
