"""The folder in which workers count: there while their service lives, and gone after it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from anabranch.service.counters import PREFIX, counters_folder, hold
from service.processes import serve_process

pytestmark = pytest.mark.skipif(os.name != "posix", reason="locks are POSIX's")


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary ones: this test's alone."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_it_is_removed_with_the_service(temporary: Path) -> None:
    with counters_folder() as folder:
        assert [str(found) for found in temporary.iterdir()] == [folder]
    assert list(temporary.iterdir()) == []


def test_one_that_a_killed_service_left_is_removed_by_the_next_and_none_that_is_in_use(
    temporary: Path,
) -> None:
    left, orphaned, foreign = (temporary / f"{PREFIX}{name}" for name in ("a", "b", "c"))
    for folder in (left, orphaned, foreign):
        folder.mkdir()
        (folder / "counter_1.db").touch()
    (left / "in-use").touch()  # nobody holds it
    hold(str(orphaned))  # a worker whose service was killed
    with counters_folder() as first, counters_folder() as second:
        assert set(temporary.iterdir()) == {orphaned, foreign, Path(first), Path(second)}
        assert (foreign / "counter_1.db").exists()


def test_a_link_to_elsewhere_is_not_followed(temporary: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "in-use").touch()
    (temporary / f"{PREFIX}link").symlink_to(elsewhere)
    with counters_folder():
        assert (elsewhere / "in-use").exists()


@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_killed_leaves_at_most_what_the_next_one_removes(
    isolated: Path, temporary: Path, workers: int
) -> None:
    options = {"TMPDIR": str(temporary), "ANABRANCH_WORKERS": str(workers)}
    with serve_process(isolated / "kb", **options) as killed:
        killed.kill()
    assert len(list(temporary.glob(f"{PREFIX}*"))) == workers - 1
    with serve_process(isolated / "kb", **options) as later:
        assert len(list(temporary.glob(f"{PREFIX}*"))) == workers - 1
        later.interrupt()
    assert list(temporary.glob(f"{PREFIX}*")) == []
