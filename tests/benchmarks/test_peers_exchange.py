"""What every measured system is given: the files, the encoder, the way documents are counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.peers.encoder import Encoder
from benchmarks.peers.exchange import (
    Passage,
    Question,
    documents_in_order,
    read_qrels,
    read_set,
    write_set,
)

from anabranch.models.onnx_embedder import OnnxEmbedder
from anabranch.ports import PassageText

PASSAGES = (
    Passage("a", "The pier is closed."),
    Passage("a", "It opens in May."),
    Passage("b", "渡轮"),
)
QUESTIONS = (Question("q1", ("when does it open", "pier opening")), Question("q2", ("渡轮",)))
TEXTS = (
    "When is the harbour office open?",
    "[SEP] is text that someone wrote",
    "港口办公室什么时候开门？",
    "a lone surrogate \ud800 in it",
    "word " * 400,
)


def exchanged(folder: Path) -> None:
    write_set(
        folder, passages=PASSAGES, vectors=np.eye(3, 384), questions=QUESTIONS,
        wordings=np.eye(3, 384, k=3), qrels={"q1": {"a": 1}},
    )  # fmt: skip


async def test_the_encoder_of_the_peers_gives_the_vectors_of_ours_bit_by_bit() -> None:
    embedder = OnnxEmbedder.bundled()
    queries = await embedder.embed_queries(TEXTS)
    passages = await embedder.embed_passages([PassageText(text) for text in TEXTS])
    await embedder.close()
    theirs = Encoder().many(TEXTS)
    assert np.array_equal(theirs, queries)
    assert np.array_equal(theirs, np.array([found.passage for found in passages]))


def test_a_known_text_is_not_embedded_again() -> None:
    known = np.full(384, 0.5, dtype=np.float32)
    encoder = Encoder({"pier": known})
    assert np.array_equal(encoder.one("pier"), known)
    assert np.array_equal(encoder.many(["pier", "pier"]), np.array([known, known]))
    assert encoder.runs == 0


def test_what_is_written_is_read(tmp_path: Path) -> None:
    exchanged(tmp_path)
    found = read_set(tmp_path)
    assert (found.passages, found.questions) == (PASSAGES, QUESTIONS)
    assert read_qrels(tmp_path) == {"q1": {"a": 1}}
    assert np.argmax(found.known["It opens in May."]) == 1
    assert np.argmax(found.known["pier opening"]) == 4


def test_a_text_without_a_vector_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="each text needs one"):
        write_set(
            tmp_path, passages=PASSAGES, vectors=np.eye(2, 384), questions=QUESTIONS,
            wordings=np.eye(3, 384), qrels={},
        )  # fmt: skip


def test_a_document_stands_at_the_place_of_its_best_passage() -> None:
    assert documents_in_order(PASSAGES, [2, 1, 0]) == ["b", "a"]
