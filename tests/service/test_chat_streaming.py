"""A streamed chat completion says what is settled while the rest is still being written."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest

from anabranch.errors import CollectionNotFoundError
from anabranch.knowledge_base import KnowledgeBase
from anabranch.service.app import create_app
from anabranch.service.settled import Settled
from anabranch.settings import Settings, load_settings
from anabranch.trace import RunEvent
from scripted_model import GOOD, SIMPLE, Line, ScriptedModel
from service.servers import serving

ASKED = "How much annual leave is there in Berlin and who approves it?"
FIRST = "Annual leave in Berlin is 30 days [1]."
SECOND = "The office approves it [1]."
STATEMENT = "that was really good of you"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("chat")
    (root / "berlin.md").write_text(
        "# Berlin\n\nAnnual leave in Berlin is 30 days a year. The office approves it.\n"
    )
    with KnowledgeBase.open(root / "kb", settings=load_settings()) as base:
        base.add(root / "berlin.md")
    return root / "kb"


@contextmanager
def chatting(folder: Path, script: Mapping[str, Any]) -> Iterator[openai.OpenAI]:
    with ScriptedModel({"plan": SIMPLE, "grade": GOOD, **script}) as model:
        settings = Settings(kb=folder, model="openai:scripted", model_base_url=model.url)
        with (
            serving(create_app(settings)) as address,
            openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client,
        ):
            yield client


def streamed(client: openai.OpenAI, text: str = ASKED) -> Iterator[Any]:
    asked: Any = [{"role": "user", "content": text}]
    yield from client.chat.completions.create(model="anabranch", messages=asked, stream=True)


def said(chunk: Any) -> str:
    return chunk.choices[0].delta.content or ""


def test_a_sentence_arrives_while_the_next_one_is_written(folder: Path) -> None:
    line = Line(f"{FIRST} {SECOND}", stall_after=len(FIRST.split()) + 2)
    told = ""
    with chatting(folder, {"answer": line}) as client:
        for chunk in streamed(client):
            told += said(chunk)
            if told == FIRST:  # nothing more comes before the model goes on
                line.release.set()
            last = chunk
    assert line.release.is_set()
    assert told == f"{FIRST} {SECOND}"
    assert len(last.choices[0].delta.annotations) == 2


def test_the_stream_begins_while_it_is_still_being_decided_what_to_do(folder: Path) -> None:
    hold = threading.Event()
    with chatting(folder, {"agent": Line(status=500, hold=hold), "answer": FIRST}) as client:
        chunks = streamed(client, STATEMENT)
        assert next(chunks).choices[0].delta.role == "assistant"
        hold.set()
        assert list(chunks)[-1].choices[0].finish_reason == "stop"


def test_an_answer_that_breaks_off_is_said_to_and_another_one_follows(folder: Path) -> None:
    line = Line(f"{FIRST} {SECOND}", drop_after=len(FIRST.split()) + 2)
    with chatting(folder, {"answer": line}) as client:
        chunks = list(streamed(client))
    told = "".join(map(said, chunks))
    sent, note, other = told.split("\n\n", 2)
    assert sent == FIRST
    assert note == "(The answer broke off here. In its place:)"
    assert "30 days a year" in other
    annotations = chunks[-1].choices[0].delta.annotations
    places = [a["url_citation"] for a in annotations]
    assert [told[p["start_index"] : p["end_index"]] for p in places] == ["[1]"] * len(places)
    assert places[0]["end_index"] < len(FIRST) < places[1]["start_index"]


def test_an_answer_that_cites_nothing_is_never_sent(folder: Path) -> None:
    with chatting(folder, {"answer": "It is 31 days. Everybody knows. Ask anyone."}) as client:
        told = "".join(map(said, streamed(client)))
    assert "31" not in told
    assert "broke off" not in told
    assert "30 days" in told


class Vanishing(KnowledgeBase):
    """Its documents are taken away between the look at a request and its run."""

    async def stream_turn(self, text: str, **options: Any) -> AsyncIterator[RunEvent]:
        raise CollectionNotFoundError(f"Nothing is left to ask {text!r} of.")
        yield RunEvent("run.started")


def test_what_fails_behind_the_beginning_is_an_error_in_the_stream(folder: Path) -> None:
    with (
        Vanishing.open(folder, settings=load_settings()) as base,
        serving(create_app(Settings(kb=folder), knowledge_base=base)) as address,
        openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client,
        pytest.raises(openai.APIError, match="Nothing is left"),
    ):
        list(streamed(client))


# ---------------------------------------------------------------------------------- what is settled


def heard(*deltas: str | RunEvent) -> list[str]:
    settled = Settled()
    events = (RunEvent("answer.delta", text=d) if isinstance(d, str) else d for d in deltas)
    return [settled.hear(event) for event in events]


def test_a_sentence_is_whole_when_the_next_one_has_begun() -> None:
    assert heard("It is 30", " days [1].", " It") == ["", "", "It is 30 days [1]."]


def test_markers_behind_a_sentence_are_its_own() -> None:
    assert heard("It is 30 days.", " [1]", " [2]", " And") == ["", "", "", "It is 30 days. [1] [2]"]


def test_what_is_not_cited_waits_for_what_is() -> None:
    assert heard("Well. It is. ", "30 days [1]. ", "Fine. ", "So") == [
        "", "", "Well. It is. 30 days [1].", "",
    ]  # fmt: skip


def test_chinese_sentences_are_sent_as_well() -> None:
    assert heard("年假为30天[1]。", "由办公室批准")[-1] == "年假为30天[1]。"


def test_after_a_new_beginning_nothing_is_sent_before_the_end() -> None:
    settled = Settled()
    for text in ("It is 30 days [1]. ", "And"):
        settled.hear(RunEvent("answer.delta", text=text))
    assert settled.hear(RunEvent("answer.delta", text="No. [1] Two.", restart=True)) == ""
    assert settled.broken_off("No. [1] Two.").startswith("It is 30 days [1].\n\n(The answer")
    assert settled.rest("No. [1] Two.").endswith("\n\nNo. [1] Two.")


def test_an_answer_in_chinese_breaks_off_in_chinese() -> None:
    settled = Settled()
    for text in ("年假为30天[1]。", "由办公室"):
        settled.hear(RunEvent("answer.delta", text=text))
    assert "以上回答中断了" in settled.rest("每年30天。[1]")


@pytest.mark.parametrize("width", [1, 2, 3, 7, 50])
def test_however_it_is_cut_the_pieces_are_the_answer(width: int) -> None:
    text = "Leave is 30 days [1]. It is paid. [2] 年假为30天[1]。\n\n- one [1]\n- two [3]\nEnd."
    settled = Settled()
    pieces = [
        settled.hear(RunEvent("answer.delta", text=text[at : at + width]))
        for at in range(0, len(text), width)
    ]
    assert "".join(pieces) + settled.rest(text) == text
    assert settled.broken_off(text) == ""
