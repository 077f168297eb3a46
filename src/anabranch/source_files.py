"""What is added: a file or a text, how it is called and what identifies it."""

from __future__ import annotations

import asyncio
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from anabranch.types import Document


class DocumentReader(Protocol):
    """Turns a file into a document; raises ReadingError for one that it cannot."""

    async def read(self, path: Path, *, source: str) -> Document: ...


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to add: where it is, what it will be called, and what identifies it.

    ``location`` is stable: the same file has the same one from whichever folder it is added.
    """

    path: Path
    source: str
    location: str

    @property
    def size(self) -> int:
        """In bytes; 0 where the file is not there any more, which reading it will tell."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    async def content_hash(self) -> str:
        return await asyncio.to_thread(hash_file, self.path)

    async def read(self, reader: DocumentReader) -> Document:
        return await reader.read(self.path, source=self.source)


@dataclass(frozen=True, slots=True)
class SourceText:
    """A document that is at hand already; its ``source`` names and identifies it."""

    document: Document

    @property
    def source(self) -> str:
        return self.document.source

    @property
    def location(self) -> str:
        # No path looks like this, so that a text never takes the place of a file.
        return f"text:{self.document.source}"

    @property
    def size(self) -> int:
        return len(self.document.text)

    async def content_hash(self) -> str:
        return self.document.content_hash

    async def read(self, reader: DocumentReader) -> Document:
        return self.document


Source = SourceFile | SourceText


def source_id_of(collection: str, location: str) -> str:
    """The id of a source: its collection and where it is, never its name alone."""
    name = f"{collection}\0{location}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(name, digest_size=12).hexdigest()


def name_source(path: Path, anchor: Path) -> SourceFile:
    """How a file is called and identified.

    It is called as a person standing in the current folder would, else from ``anchor`` (the
    folder that holds the knowledge base), else by its whole path. It is identified by its path
    from ``anchor`` where it lies below it, so that both can move together.
    """
    absolute = Path(os.path.abspath(path))
    location = _below(absolute, anchor) or absolute.as_posix()
    source = _below(absolute, Path.cwd()) or location
    return SourceFile(path, source, location)


def _below(path: Path, folder: Path) -> str | None:
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else None


def hash_file(path: Path) -> str:
    """SHA-256 of the bytes of a file, as hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
