"""Files and folders that nobody but their owner may read, where the system knows such a thing."""

from __future__ import annotations

import os
from pathlib import Path

_FILE, _FOLDER = 0o600, 0o700


def private_folder(path: Path) -> None:
    """Makes ``path``, and what is missing above it; what is there stays as it is."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=_FOLDER, exist_ok=True)


def begin_private(path: Path) -> None:
    """Makes ``path`` an empty file if it is not there, before a library makes one that all can read."""
    try:
        os.close(private_opener(str(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return


def private_opener(path: str, flags: int) -> int:
    """For the ``opener`` of ``open``: a new file is its owner's alone."""
    return os.open(path, flags, _FILE)
