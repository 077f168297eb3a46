"""What the errors of the engine are turned into."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.errors import StorageError
from anabranch.stores.table import ConflictError, storage_errors

PLACE = "lance error: LanceError(IO): {}, src/dataset/write.rs:120:35"


@pytest.mark.parametrize(
    ("cause", "told"),
    [
        ("Generic LocalFileSystem error: No space left on device (os error 28)", "disk is full"),
        ("Permission denied (os error 13)", "Check the permissions"),
        ("Read-only file system (os error 30)", "Check the permissions"),
        ("Not a directory (os error 20)", "a file stands where"),
        ("Object at location data/1.lance not found", "a file of it is missing"),
        ("failed to decode page: invalid magic", "a file of it is damaged"),
        ("Input/output error (os error 5)", "the disk gave an error"),
    ],
)
def test_an_error_of_the_engine_says_what_to_do_and_shows_nothing_of_the_engine(
    cause: str, told: str
) -> None:
    with (
        pytest.raises(StorageError) as raised,
        storage_errors("written", Path("knowledge")),
    ):
        raise RuntimeError(PLACE.format(cause))
    message = str(raised.value)
    assert message.startswith("The index in 'knowledge' could not be written: ")
    assert told in message
    assert ".rs" not in message
    assert "lance" not in message.lower()
    assert cause in str(raised.value.__cause__)


def test_a_write_that_another_process_came_before_can_be_told_from_the_rest() -> None:
    with pytest.raises(ConflictError, match="another process"), storage_errors("written", Path()):
        raise OSError(PLACE.format("Commit conflict for version 7"))
