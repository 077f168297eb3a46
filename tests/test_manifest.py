"""The folder of a knowledge base: who may open it, and what is wrong when nobody may."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from anabranch import manifest
from anabranch.errors import (
    ConfigurationError,
    IndexVersionError,
    ModelMismatchError,
    StorageError,
)
from anabranch.manifest import (
    FORMAT_VERSION,
    MANIFEST,
    SIGNING_KEY,
    check_model,
    ensure_manifest,
    read_manifest,
    read_signing_key,
)


def make(folder: Path) -> None:
    ensure_manifest(folder, embedder="mini-1", dimensions=384)


def change(folder: Path, **values: object) -> None:
    file = folder / MANIFEST
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def test_a_folder_that_is_not_there_has_no_manifest(tmp_path: Path) -> None:
    assert read_manifest(tmp_path / "kb") is None
    assert not (tmp_path / "kb").exists()


def test_what_was_made_is_read_again(tmp_path: Path) -> None:
    made = ensure_manifest(tmp_path / "new" / "kb", embedder="mini-1", dimensions=384)
    assert read_manifest(tmp_path / "new" / "kb") == made
    assert (made.format_version, made.embedder) == (FORMAT_VERSION, "mini-1")


def test_making_it_again_changes_neither_manifest_nor_key(tmp_path: Path) -> None:
    make(tmp_path)
    before = (tmp_path / MANIFEST).read_bytes(), read_signing_key(tmp_path)
    ensure_manifest(tmp_path, embedder="another", dimensions=2)
    assert ((tmp_path / MANIFEST).read_bytes(), read_signing_key(tmp_path)) == before
    assert {file.name for file in tmp_path.iterdir()} == {MANIFEST, SIGNING_KEY}


def test_the_signing_key_is_random_and_the_owners_alone(tmp_path: Path) -> None:
    make(tmp_path / "a")
    make(tmp_path / "b")
    assert len(read_signing_key(tmp_path / "a")) == 32
    assert read_signing_key(tmp_path / "a") != read_signing_key(tmp_path / "b")
    assert stat.S_IMODE((tmp_path / "a" / SIGNING_KEY).stat().st_mode) == 0o600


def test_a_newer_format_is_refused_with_the_way_out(tmp_path: Path) -> None:
    make(tmp_path)
    change(tmp_path, format_version=FORMAT_VERSION + 1)
    with pytest.raises(IndexVersionError, match="pip install -U anabranch"):
        read_manifest(tmp_path)


def test_another_model_is_refused_naming_both(tmp_path: Path) -> None:
    make(tmp_path)
    made = read_manifest(tmp_path)
    assert made is not None
    check_model(made, tmp_path, "mini-1")
    wanted = r"'mini-1'.*'mini-2'.*ANABRANCH_EMBEDDER=bundled.*reindex --model other\Z"
    with pytest.raises(ModelMismatchError, match=wanted):
        check_model(made, tmp_path, "mini-2", name="other")


def test_a_model_that_changed_under_its_name_asks_for_nothing_to_be_set(tmp_path: Path) -> None:
    make(tmp_path)
    made = read_manifest(tmp_path)
    assert made is not None
    with pytest.raises(ModelMismatchError, match=r"configured\. Let its documents") as refused:
        check_model(made, tmp_path, "mini-2")
    assert "ANABRANCH_EMBEDDER" not in str(refused.value)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"format_version": 1}', b'{"format_version": "x"}'],
)
def test_a_damaged_manifest_is_said_to_be_damaged(tmp_path: Path, content: bytes) -> None:
    (tmp_path / MANIFEST).write_bytes(content)
    with pytest.raises(ConfigurationError, match="is damaged"):
        read_manifest(tmp_path)


def test_a_file_in_place_of_the_folder_is_said_to_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "kb").write_text("not a folder")
    with pytest.raises(ConfigurationError, match=r"kb' is a file; .*--kb"):
        read_manifest(tmp_path / "kb")


def test_a_folder_below_a_file_is_said_to_lie_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(ConfigurationError, match="lies below a file"):
        read_manifest(tmp_path / "file" / "kb")


def test_a_place_that_cannot_be_written_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StorageError, match="--kb"):
        make(tmp_path / "file" / "kb")


def test_a_lost_signing_key_is_said_to_be_lost(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / SIGNING_KEY).unlink()
    with pytest.raises(StorageError, match="backup"):
        read_signing_key(tmp_path)


MAKE = """
import sys
from pathlib import Path
from anabranch.manifest import ensure_manifest, read_signing_key

folder = Path(sys.argv[1])
sys.stdin.readline()
print(ensure_manifest(folder, embedder=sys.argv[2], dimensions=384).embedder)
print(read_signing_key(folder).hex())
"""


def test_processes_that_make_it_at_once_agree_on_manifest_and_key(tmp_path: Path) -> None:
    folder = tmp_path / "kb"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", MAKE, folder, f"mini-{number}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(Path(manifest.__file__).parents[1])},
        )
        for number in range(3)
    ]  # fmt: skip
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    made = {process.communicate(timeout=60)[0] for process in processes}
    assert len(made) == 1
    assert made.pop().splitlines()[1] == read_signing_key(folder).hex()
    assert {file.name for file in folder.iterdir()} == {MANIFEST, SIGNING_KEY}


# ------------------------------------------------------------------------ changing the model

HOLDS_THE_LOCK = """
import sys
from pathlib import Path
from anabranch.manifest import only_one_reindexing

with only_one_reindexing(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_only_one_program_at_a_time_embeds_everything_again(tmp_path: Path) -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", HOLDS_THE_LOCK, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with (
            pytest.raises(StorageError, match="another program"),
            manifest.only_one_reindexing(tmp_path),
        ):
            pass
    finally:
        other.kill()
        other.communicate()
    with manifest.only_one_reindexing(tmp_path):  # its lock ended with it
        pass


def test_what_goes_wrong_inside_is_not_taken_for_the_lock(tmp_path: Path) -> None:
    import sqlite3

    with (
        pytest.raises(sqlite3.OperationalError, match="of another kind"),
        manifest.only_one_reindexing(tmp_path),
    ):
        raise sqlite3.OperationalError("of another kind")


def test_indexes_that_were_never_finished_are_removed_and_no_others(tmp_path: Path) -> None:
    made = ensure_manifest(tmp_path, embedder="minilm@1", dimensions=4)
    in_use = made.model_copy(update={"store": "store-b-1", "retired": ("store", "store-a-1")})
    for name in ("store", "store-a-1", "store-b-1", "store-c-1"):
        (tmp_path / name / "data").mkdir(parents=True)
    manifest.remove_abandoned(tmp_path, in_use)
    assert sorted(p.name for p in tmp_path.glob("store*")) == ["store", "store-a-1", "store-b-1"]
