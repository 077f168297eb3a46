"""The folder in which several workers count together, for as long as their service lives.

A service that is killed leaves its folder behind; the next one that starts removes it. Whether a
service lives is told by a lock, which the system takes back from whoever ends: a process id may be
another process's by then, or that of another container.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

try:
    import fcntl
except ImportError:  # on Windows, which removes no file that is open
    fcntl = None  # type: ignore[assignment]

PREFIX = "anabranch-metrics-"
_LOCK = "in-use"


@contextmanager
def counters_folder() -> Iterator[str]:
    """A new folder, removed behind the block, after those that nobody counts in any more."""
    _remove_left()
    with TemporaryDirectory(prefix=PREFIX) as folder:
        lock = Path(folder, _LOCK)
        held = _locked(lock.with_name(f".{_LOCK}"))
        lock.with_name(f".{_LOCK}").rename(lock)  # nobody sees it before it is held
        try:
            yield folder
        finally:
            os.close(held)


def hold(folder: str) -> None:
    """Keep ``folder`` until this process ends: a worker may outlive the one that started it."""
    _locked(Path(folder, _LOCK))


def _locked(lock: Path) -> int:
    opened = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
    if fcntl is not None:
        fcntl.flock(opened, fcntl.LOCK_SH)
    return opened


def _remove_left() -> None:
    """Remove the folders of services of this user that were killed."""
    for lock in Path(gettempdir()).glob(f"{PREFIX}*/{_LOCK}") if fcntl is not None else ():
        try:
            if lock.parent.lstat().st_uid != os.getuid():
                continue  # whoever made it may have put anything in the place of the lock
            opened = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:  # it was removed meanwhile
            continue
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # its service lives
            continue
        else:
            shutil.rmtree(lock.parent, ignore_errors=True)
        finally:
            os.close(opened)
