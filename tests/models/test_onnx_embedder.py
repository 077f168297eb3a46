"""The bundled encoder: the same text the same bits, whatever else is going on."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from anabranch.errors import ConfigurationError
from anabranch.language import window_spans
from anabranch.models.embedding_cache import EmbeddingCache
from anabranch.models.onnx_embedder import BUNDLED, OnnxEmbedder
from anabranch.ports import PassageText, PassageVectors

LEAVE = "How many days of annual leave do employees get?"
# The first numbers of that text's vector. Another processor may round int8 products otherwise, so
# it is compared loosely; a wrong pooling, prefix or tokenizer is off by far more.
LEAVE_VECTOR = (0.0692, 0.0318, 0.0283, 0.0620, 0.0343, 0.0489, -0.0137, -0.0715)


@pytest.fixture
async def embedder():
    opened = OnnxEmbedder.bundled(threads=2)
    yield opened
    await opened.close()


def copy_of_the_model(folder: Path, **config: object) -> Path:
    folder.mkdir()
    for name in ("model.onnx", "tokenizer.json"):
        (folder / name).symlink_to(BUNDLED / name)
    if config:
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


async def test_a_known_text_has_its_known_vector(embedder):
    [vector] = await embedder.embed_queries([LEAVE])
    assert vector.shape == (384,)
    assert vector.dtype == np.float32
    np.testing.assert_allclose(vector[:8], LEAVE_VECTOR, atol=0.015)


async def passage_rows(embedder, texts):
    """The vectors of whole passages as the rows of one matrix."""
    embedded = await embedder.embed_passages([PassageText(text) for text in texts])
    return np.array([item.passage for item in embedded], dtype=np.float32).reshape(-1, 384)


async def test_a_related_passage_is_nearer_than_an_unrelated_one(embedder):
    [question] = await embedder.embed_queries([LEAVE])
    related, unrelated = await passage_rows(
        embedder,
        [
            "Staff are entitled to 28 days of paid vacation each year.",
            "The turbine blades were cast from a nickel alloy.",
        ],
    )
    assert question @ related > 0.5
    assert question @ unrelated < 0.2


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t ",
        "x" * 50_000,
        "word " * 10_000,
        "年假有几天？" * 8_000,
        "\ud800 half a pair",
        "\u202e\u200b\x00",
        "👩‍👩‍👧" * 300,
        "[CLS] [SEP] [MASK] [PAD]",
    ],
    ids=[
        "empty",
        "blank",
        "one-word",
        "long",
        "chinese",
        "surrogate",
        "invisible",
        "emoji",
        "special",
    ],
)
async def test_any_text_has_a_unit_vector(embedder, text):
    vectors = np.concatenate(
        [await embedder.embed_queries([text]), await passage_rows(embedder, [text])]
    )
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


async def test_no_texts_give_no_rows(embedder):
    assert (await embedder.embed_queries([])).shape == (0, 384)
    assert (await passage_rows(embedder, [])).shape == (0, 384)


async def test_a_vector_is_the_same_alone_and_in_a_crowd(embedder):
    questions = [f"What does rule {number} say about overtime?" for number in range(32)]
    passages = [f"Paragraph {number}: overtime is paid at one and a half." for number in range(48)]
    alone = {}
    for question in questions:
        [alone[question]] = await embedder.embed_queries([question])

    crowd = OnnxEmbedder.bundled(threads=4)
    ingestion = asyncio.create_task(passage_rows(crowd, passages))
    answers = await asyncio.gather(
        *(crowd.embed_queries([question, questions[0]]) for question in questions)
    )
    stored = await ingestion
    await crowd.close()

    for question, answer in zip(questions, answers, strict=True):
        assert answer[0].tobytes() == alone[question].tobytes()
        assert answer[1].tobytes() == alone[questions[0]].tobytes()
    for passage, vector in zip(passages, stored, strict=True):
        assert (await passage_rows(embedder, [passage]))[0].tobytes() == vector.tobytes()


async def test_equal_texts_run_the_model_once(embedder):
    await asyncio.gather(*(embedder.embed_queries([LEAVE, LEAVE]) for _ in range(16)))
    await passage_rows(embedder, ["one", "two", "one", "two"])
    assert embedder.model_runs == 3


async def test_a_question_that_was_asked_before_needs_no_model(embedder):
    first = await embedder.embed_queries([LEAVE])
    again = await embedder.embed_queries([LEAVE])
    assert embedder.model_runs == 1
    assert first.tobytes() == again.tobytes()


async def test_what_a_caller_does_to_its_rows_reaches_nobody_else(embedder):
    first = await embedder.embed_queries([LEAVE])
    before = first.copy()
    first *= 0
    assert (await embedder.embed_queries([LEAVE])).tobytes() == before.tobytes()


async def test_one_cancelled_asker_does_not_take_the_others_with_it(embedder):
    askers = [asyncio.create_task(embedder.embed_queries([LEAVE])) for _ in range(6)]
    await asyncio.sleep(0)
    askers[0].cancel()
    outcomes = await asyncio.gather(*askers, return_exceptions=True)
    assert isinstance(outcomes[0], asyncio.CancelledError)
    assert all(isinstance(vectors, np.ndarray) for vectors in outcomes[1:])


def test_it_works_in_one_event_loop_after_another():
    embedder = OnnxEmbedder.bundled(threads=1)
    first, second = (asyncio.run(passage_rows(embedder, [LEAVE])) for _ in range(2))
    asyncio.run(embedder.close())
    assert first.tobytes() == second.tobytes()


async def test_passages_come_from_the_cache_the_next_time(tmp_path):
    passages = [f"Paragraph {number} on travel costs." for number in range(70)]
    path = tmp_path / "embeddings.sqlite"
    first = OnnxEmbedder.bundled(cache=EmbeddingCache(path))
    computed = await passage_rows(first, passages)
    await first.close()

    second = OnnxEmbedder.bundled(cache=EmbeddingCache(path))
    kept = await passage_rows(second, [*passages, "a new one"])
    await second.close()
    assert first.model_runs == 70
    assert second.model_runs == 1
    assert kept[:70].tobytes() == computed.tobytes()


async def test_a_cache_that_cannot_be_used_changes_no_vector(tmp_path, embedder):
    (tmp_path / "file").write_text("in the way")
    unlucky = OnnxEmbedder.bundled(cache=EmbeddingCache(tmp_path / "file" / "embeddings.sqlite"))
    vectors = await passage_rows(unlucky, [LEAVE])
    await unlucky.close()
    assert vectors.tobytes() == (await passage_rows(embedder, [LEAVE])).tobytes()


async def test_prefixes_of_a_folder_are_put_before_the_texts(tmp_path, embedder):
    folder = copy_of_the_model(tmp_path / "e5", query_prefix="query: ", passage_prefix="passage: ")
    prefixed = OnnxEmbedder(folder)
    query = await prefixed.embed_queries(["leave"])
    passage = await passage_rows(prefixed, ["leave"])
    await prefixed.close()
    plain = await passage_rows(embedder, ["query: leave", "passage: leave"])
    assert query[0].tobytes() == plain[0].tobytes()
    assert passage[0].tobytes() == plain[1].tobytes()


async def test_text_beyond_the_token_limit_of_a_folder_is_not_read(tmp_path):
    short = OnnxEmbedder(copy_of_the_model(tmp_path / "short", max_length=8))
    vectors = await passage_rows(short, ["a b c d e f", "a b c d e f and something else"])
    await short.close()
    assert vectors[0].tobytes() == vectors[1].tobytes()


def test_the_fingerprint_names_the_folder_and_changes_with_its_content(tmp_path):
    plain = OnnxEmbedder(copy_of_the_model(tmp_path / "plain")).fingerprint
    prefixed = OnnxEmbedder(
        copy_of_the_model(tmp_path / "prefixed", query_prefix="q: ")
    ).fingerprint
    assert plain.startswith("plain@")
    assert plain.split("@")[1] == OnnxEmbedder.bundled().fingerprint.split("@")[1]
    assert plain.split("@")[1] != prefixed.split("@")[1]


async def test_a_folder_without_a_model_says_what_is_missing(tmp_path):
    embedder = OnnxEmbedder(tmp_path / "nothing")
    with pytest.raises(ConfigurationError, match=r"nothing/model\.onnx"):
        await embedder.embed_queries([LEAVE])
    await embedder.close()


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
async def test_a_damaged_model_is_a_configuration_error(tmp_path, name):
    folder = copy_of_the_model(tmp_path / "broken")
    (folder / name).unlink()
    (folder / name).write_bytes(b"\x00damaged")
    embedder = OnnxEmbedder(folder)
    with pytest.raises(ConfigurationError, match="cannot be loaded"):
        await embedder.embed_queries([LEAVE])
    await embedder.close()


async def test_a_config_that_does_not_fit_is_named(tmp_path):
    embedder = OnnxEmbedder(copy_of_the_model(tmp_path / "odd", max_length="many"))
    with pytest.raises(ConfigurationError, match="max_length"):
        await embedder.embed_queries([LEAVE])
    await embedder.close()


def test_making_an_embedder_loads_neither_the_runtime_nor_the_model():
    code = (
        "import sys; from anabranch.models.onnx_embedder import OnnxEmbedder; "
        "OnnxEmbedder.bundled(); print(sorted({'onnxruntime', 'tokenizers'} & set(sys.modules)))"
    )
    sources = str(Path(__file__).parents[2] / "src")
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": sources},
    )
    assert result.stdout.strip() == "[]"


async def test_the_window_that_answers_is_nearer_than_the_passage_around_it(embedder):
    answer = "Every employee may take 28 days of paid vacation a year."
    text = (
        "The canteen is on the ground floor. It serves soup at noon. "
        f"{answer} The lift is tested in March. Bicycles stand in the yard. Doors close at eight."
    )
    [embedded] = await embedder.embed_passages([PassageText(text, "Handbook > Berlin")])
    [question] = await embedder.embed_queries([LEAVE])
    spans = window_spans(text)
    assert len(embedded.windows) == len(spans)
    directions = embedded.windows.astype(np.float32)
    cosines = directions @ question / np.linalg.norm(directions, axis=1)
    start, end = spans[int(np.argmax(cosines))]
    assert answer in text[start:end]
    assert cosines.max() > embedded.passage @ question


async def test_the_context_moves_the_passage_and_keeps_the_windows_in_place(embedder):
    text = "It is 28 days. Ask the front desk. Bring the form."
    bare, placed = await embedder.embed_passages(
        [PassageText(text), PassageText(text, "Annual leave in Berlin")]
    )
    [question] = await embedder.embed_queries(["How many days of annual leave in Berlin?"])
    assert placed.passage @ question > bare.passage @ question
    assert bare.windows.shape == placed.windows.shape == (2, 384)


async def test_a_window_that_the_model_did_not_read_is_zero(tmp_path):
    short = OnnxEmbedder(copy_of_the_model(tmp_path / "short", max_length=8))
    [embedded] = await short.embed_passages([PassageText("One two three. Four. Five six. Seven.")])
    await short.close()
    assert embedded.windows[0].any()
    assert not embedded.windows[-1].any()


async def test_windows_come_from_the_cache_as_they_were_computed(tmp_path):
    passage = PassageText("One thing is said. Then another. And a third.", "Title")
    found = []
    for _ in range(2):
        embedder = OnnxEmbedder.bundled(cache=EmbeddingCache(tmp_path / "embeddings.sqlite"))
        found.extend(await embedder.embed_passages([passage]))
        await embedder.close()
    assert embedder.model_runs == 0
    assert found[0].windows.tobytes() == found[1].windows.tobytes()
    assert found[0].windows.shape == (2, 384)


async def test_vectors_that_were_kept_without_windows_are_computed_again(tmp_path):
    text = "Staff get 28 days of leave. It is paid."
    first = OnnxEmbedder.bundled(threads=1, cache=EmbeddingCache(tmp_path / "kept.sqlite"))
    [whole] = await first.embed_passages([PassageText(text)])
    half = PassageVectors(whole.passage, whole.windows[:0])
    earlier = EmbeddingCache(tmp_path / "earlier.sqlite")
    earlier.put_many({text: half}, model=first.fingerprint, kind="passage")
    await first.close()
    later = OnnxEmbedder.bundled(threads=1, cache=earlier)
    [found] = await later.embed_passages([PassageText(text)])
    assert later.model_runs == 1
    np.testing.assert_array_equal(found.windows, whole.windows)
    await later.embed_passages([PassageText(text)])
    assert later.model_runs == 1
    await later.close()
