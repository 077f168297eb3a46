"""Vectors on disk: they survive, several processes share them, and no damage is fatal."""

import logging
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from anabranch.models.embedding_cache import EmbeddingCache
from anabranch.ports import PassageVectors

WIDTH = 384
MODEL = "minilm@0123456789ab"
SOURCES = Path(__file__).parents[2] / "src"

WRITER = """
import sys
from pathlib import Path
import numpy as np
sys.path.insert(0, {sources!r})
from anabranch.models.embedding_cache import EmbeddingCache
from anabranch.ports import PassageVectors

cache = EmbeddingCache(Path(sys.argv[1]))
name, count = sys.argv[2], int(sys.argv[3])
for index in range(count):
    vector = np.zeros(384, dtype=np.float32)
    vector[index % 384] = 1
    embedded = PassageVectors(vector, np.zeros((0, 384), dtype=np.int8))
    cache.put_many({{f"{{name}} {{index}}": embedded}}, model={model!r}, kind="passage")
    print(index, flush=True)
cache.close()
"""


def unit_vectors(texts, *, seed=0):
    random = np.random.default_rng(seed)
    rows = random.standard_normal((len(texts), WIDTH)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return dict(zip(texts, rows, strict=True))


def put(cache, vectors, *, model=MODEL, kind="passage"):
    none = np.zeros((0, WIDTH), dtype=np.int8)
    embedded = {text: PassageVectors(vector, none) for text, vector in vectors.items()}
    cache.put_many(embedded, model=model, kind=kind)


def get(cache, texts, *, model=MODEL, kind="passage", dimensions=WIDTH):
    found = cache.get_many(texts, model=model, kind=kind, dimensions=dimensions)
    return {text: embedded.passage for text, embedded in found.items()}


def writer(path, name, count):
    code = WRITER.format(sources=str(SOURCES), model=MODEL)
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path), name, str(count)],
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache" / "embeddings.sqlite"


@pytest.fixture
def cache(path):
    with closing(EmbeddingCache(path)) as opened:
        yield opened


def test_vectors_come_back_bit_for_bit_after_reopening(cache, path):
    vectors = unit_vectors(["one", "二", "\ud800", ""])
    put(cache, vectors)
    cache.close()
    with closing(EmbeddingCache(path)) as reopened:
        found = get(reopened, [*vectors, "unknown"])
    assert set(found) == set(vectors)
    for text, vector in vectors.items():
        assert found[text].tobytes() == vector.tobytes()


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_only_the_owner_reads_the_file_and_its_journals(cache, path):
    put(cache, unit_vectors(["one"]))
    files = sorted(path.parent.iterdir())
    assert len(files) == 3
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_more_texts_than_one_statement_takes_are_found(cache):
    vectors = unit_vectors([f"text {number}" for number in range(2_000)])
    put(cache, vectors)
    assert len(get(cache, list(vectors))) == 2_000


def test_another_model_and_another_kind_are_other_vectors(cache):
    passage, query, newer = (unit_vectors(["same"], seed=seed)["same"] for seed in range(3))
    put(cache, {"same": passage})
    put(cache, {"same": query}, kind="query")
    put(cache, {"same": newer}, model="minilm@ffffffffffff")
    assert np.array_equal(get(cache, ["same"])["same"], passage)
    assert np.array_equal(get(cache, ["same"], kind="query")["same"], query)
    assert np.array_equal(get(cache, ["same"], model="minilm@ffffffffffff")["same"], newer)
    assert get(cache, ["same"], model="never seen") == {}


def test_an_entry_takes_less_than_two_kilobytes(cache, path):
    put(cache, unit_vectors([f"text {number}" for number in range(2_000)]))
    cache.close()  # the last connection folds the journal into the file
    assert path.stat().st_size / 2_000 < 2_000


def test_two_processes_write_at_once_and_nothing_is_lost(cache, path):
    writers = [writer(path, name, 150) for name in ("left", "right")]
    assert [process.communicate(timeout=60)[0].count("\n") for process in writers] == [150, 150]
    texts = [f"{name} {index}" for name in ("left", "right") for index in range(150)]
    assert len(get(cache, texts)) == 300


def test_what_was_written_before_a_kill_is_there(cache, path):
    process = writer(path, "killed", 100_000)
    assert process.stdout is not None
    written = [process.stdout.readline().strip() for _ in range(20)]
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert written[-1] == "19"
    assert len(get(cache, [f"killed {index}" for index in range(20)])) == 20
    put(cache, unit_vectors(["after"]))
    assert "after" in get(cache, ["after"])


def test_a_file_that_is_no_database_is_set_aside_and_begun_anew(cache, path, caplog):
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is not a database" * 1_000)
    assert get(cache, ["one"]) == {}
    put(cache, unit_vectors(["one"]))
    assert "one" in get(cache, ["one"])
    assert path.with_name("embeddings.sqlite.damaged").read_bytes().startswith(b"this is not")
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "damaged" in caplog.text


def test_a_database_damaged_in_the_middle_is_never_fatal(path, caplog):
    vectors = unit_vectors([f"text {number}" for number in range(200)])
    with closing(EmbeddingCache(path)) as first:
        put(first, vectors)
    damaged = bytearray(path.read_bytes())
    damaged[8_192:] = b"\xa5" * (len(damaged) - 8_192)
    path.write_bytes(damaged)
    with closing(EmbeddingCache(path)) as second:
        assert get(second, list(vectors)) == {}
        put(second, vectors)
        assert len(get(second, list(vectors))) == 200
    assert "set aside" in caplog.text


def test_an_earlier_damaged_file_is_not_overwritten(cache, path):
    path.parent.mkdir(parents=True)
    path.with_name("embeddings.sqlite.damaged").write_bytes(b"earlier")
    path.write_bytes(b"later" * 1_000)
    get(cache, ["one"])
    assert path.with_name("embeddings.sqlite.damaged").read_bytes() == b"earlier"
    assert path.with_name("embeddings.sqlite.damaged-1").read_bytes().startswith(b"later")


@pytest.mark.parametrize(
    "spoiled",
    [
        np.full(WIDTH, np.nan, dtype=np.float32),
        np.zeros(WIDTH, dtype=np.float32),
        np.ones(3, dtype=np.float32),
    ],
    ids=["not-a-number", "no-length", "too-short"],
)
def test_a_vector_that_cannot_be_one_counts_as_missing_and_is_replaced(cache, spoiled):
    put(cache, {"text": spoiled})
    assert get(cache, ["text"]) == {}
    good = unit_vectors(["text"])
    put(cache, good)
    assert np.array_equal(get(cache, ["text"])["text"], good["text"])


def test_a_place_where_no_file_can_be_is_one_warning_and_no_error(tmp_path, caplog):
    (tmp_path / "file").write_text("in the way")
    with closing(EmbeddingCache(tmp_path / "file" / "embeddings.sqlite")) as cache:
        for _ in range(3):
            put(cache, unit_vectors(["one"]))
            assert get(cache, ["one"]) == {}
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_a_disk_that_refuses_to_be_written_can_still_be_read(path, caplog):
    with closing(EmbeddingCache(path)) as first:
        put(first, unit_vectors(["old"]))
    with closing(sqlite3.connect(path)) as connection:
        # A full disk also refuses inserts only; this does so on any machine and for any user.
        connection.execute(
            "CREATE TRIGGER refuse BEFORE INSERT ON vectors "
            "BEGIN SELECT RAISE(ABORT, 'no space left'); END"
        )
    with closing(EmbeddingCache(path)) as second:
        for _ in range(3):
            put(second, unit_vectors(["new"]))
            assert set(get(second, ["old", "new"])) == {"old"}
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "no space left" in caplog.text


def test_windows_come_back_with_their_vector(cache):
    windows = np.arange(3 * WIDTH, dtype=np.int64).reshape(3, WIDTH).astype(np.int8)
    vector = unit_vectors(["text"])["text"]
    cache.put_many({"text": PassageVectors(vector, windows)}, model=MODEL, kind="passage")
    found = cache.get_many(["text"], model=MODEL, kind="passage", dimensions=WIDTH)["text"]
    assert found.windows.tobytes() == windows.tobytes()
    assert found.windows.shape == (3, WIDTH)
