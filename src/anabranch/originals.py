"""The files that were uploaded, as they came, for as long as their source is there.

A source that was added from a folder is not copied: its ``location`` says where it is.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Iterable
from pathlib import Path

from anabranch.private_files import private_folder, private_opener

FOLDER = "originals"
# Longer than anybody takes to copy one file.
SECONDS_TO_WRITE = 3_600


def keep(folder: Path, source_id: str, file: Path) -> None:
    """Makes ``file`` the original of a source as well, in the place of an earlier version."""
    home = folder / FOLDER / source_id
    private_folder(home)
    temporary = home / f".{os.getpid()}.{secrets.token_hex(4)}"
    try:
        os.link(file, temporary)
    except OSError:  # the file system has no links
        with file.open("rb") as source, open(temporary, "xb", opener=private_opener) as copy:
            shutil.copyfileobj(source, copy)
    temporary.replace(home / file.name)
    # Where both are links to one file, as the second time that it is kept, a rename does nothing.
    temporary.unlink(missing_ok=True)
    for earlier in home.iterdir():  # under another name, if the source had another one
        if earlier.name != file.name and _is_left(earlier):
            earlier.unlink(missing_ok=True)


def _is_left(file: Path) -> bool:
    """Whether nobody is writing ``file``.

    What a killed writer left may hold a text that was taken out since.
    """
    if not file.name.startswith("."):
        return True
    try:
        return time.time() - file.stat().st_ctime > SECONDS_TO_WRITE
    except FileNotFoundError:
        return False


def find(folder: Path, source_id: str) -> Path | None:
    """The original of a source of the knowledge base in ``folder``, if it was uploaded."""
    home = folder / FOLDER / source_id
    files = home.glob("[!.]*") if home.is_dir() else ()
    return next(iter(files), None)


def discard(folder: Path, source_id: str) -> None:
    shutil.rmtree(folder / FOLDER / source_id, ignore_errors=True)


def discard_all(folder: Path, source_ids: Iterable[str]) -> None:
    """For sources that are read from another place by now."""
    if (folder / FOLDER).is_dir():
        for source_id in source_ids:
            discard(folder, source_id)
