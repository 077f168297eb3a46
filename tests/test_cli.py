from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from anabranch import cli
from anabranch.errors import (
    AnabranchError,
    ConfigurationError,
    QuestionError,
    RunError,
    StorageError,
)
from anabranch.rendering import clean
from anabranch.types import (
    AddReport,
    Answer,
    EvidenceGrade,
    Failure,
    FileReport,
    QueryReport,
    SubQuestionReport,
)
from scripted_base import (
    ScriptedBase,
    asks_back,
    evidence,
    failed,
    no_knowledge,
    outcome,
    record,
)
from scripted_model import Line, ScriptedModel
from tiny_models import make_encoder

pytestmark = pytest.mark.usefixtures("isolated")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> ScriptedBase:
    scripted = ScriptedBase(replies=[outcome()])
    monkeypatch.setattr(cli, "open_knowledge_base", lambda kb: scripted)
    return scripted


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as exit_:
            cli.main(arguments)
        captured = capsys.readouterr()
        return int(exit_.value.code or 0), captured.out, captured.err

    return call


# ------------------------------------------------------------------------------------------ asking


def test_ask_prints_status_answer_source_and_page(base: ScriptedBase, run: Run) -> None:
    code, out, err = run("ask", "How much leave is there?")
    assert code == 0
    assert "status: answerable" in out.splitlines()
    assert "30 days [1]." in out
    assert "[1] handbook/leave.md, page 3 (found by q1, s2)" in out
    assert "Annual leave is 30 days." in out
    assert err == ""
    assert base.closed


def test_options_reach_the_knowledge_base(base: ScriptedBase, run: Run) -> None:
    run(
        "ask", "q", "--collection", "a", "--collection", "b", "--effort", "thorough", "--top-k", "3",
        "--variants", "0", "--timeout", "2.5", "--no-interactive",
    )  # fmt: skip
    assert base.calls == [
        (
            "stream",
            {
                "question": "q", "history": (), "collections": ("a", "b"), "effort": "thorough", "top_k": 3,
                "variants": 0, "timeout": 2.5, "interactive": False, "answer": True,
            },
        )
    ]  # fmt: skip


def test_no_collection_means_every_collection(base: ScriptedBase, run: Run) -> None:
    run("ask", "q")
    assert base.calls[0][1]["collections"] is None
    assert base.calls[0][1]["interactive"] is True


def test_retrieve_asks_for_no_answer_and_shows_the_whole_text(base: ScriptedBase, run: Run) -> None:
    long = "word " * 200 + "the end"
    base.replies = [outcome(answer=None, evidence=(evidence(long),))]
    code, out, _ = run("retrieve", "q")
    assert code == 0
    assert base.calls[0][1]["answer"] is False
    assert "the end" in out


def test_json_is_one_document_equal_to_the_outcome(base: ScriptedBase, run: Run) -> None:
    code, out, err = run("ask", "q", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == json.loads(json.dumps(outcome().to_dict()))


def test_no_knowledge_is_an_outcome_and_shows_what_came_closest(
    base: ScriptedBase, run: Run
) -> None:
    looked = (
        QueryReport("q1", "how much leave", "original", None, "empty", 0),
        QueryReport("q2", "annual leave", "variant", "q1", "ok", 4),
    )
    reason = EvidenceGrade("none", "none", reason="Nothing was found on 'leave'.")
    base.replies = [replace(no_knowledge(), queries=looked, grade=reason)]
    code, out, _ = run("ask", "q")
    assert code == 0
    assert "status: no_knowledge" in out.splitlines()
    assert "why: Nothing was found on 'leave'." in out
    assert "q1 original, 0 hits: how much leave" in out
    assert "q2 variant, 4 hits: annual leave" in out
    assert "closest, but not evidence" in out
    assert "handbook/canteen.md: The canteen opens at noon." in out


def test_failures_and_uncovered_parts_are_visible(base: ScriptedBase, run: Run) -> None:
    base.replies = [
        outcome(
            status="partial",
            failures=(Failure("s2.dense", "timeout", "no reply in 10 s"),),
            sub_questions=(
                SubQuestionReport("s1", "Leave in Berlin?", "answerable"),
                SubQuestionReport("s2", "Leave in Boston?", "timed_out", "took too long"),
            ),
        )
    ]
    _, out, _ = run("ask", "q")
    assert "s2.dense (timeout): no reply in 10 s" in out
    assert "s2 timed_out: Leave in Boston? (took too long)" in out


def test_a_failed_run_exits_with_5_and_still_prints_its_outcome(
    base: ScriptedBase, run: Run
) -> None:
    base.replies = [failed()]
    code, out, _ = run("ask", "q", "--json")
    assert code == 5
    assert json.loads(out)["failures"][0]["detail"] == "the index is gone"


def test_off_a_terminal_a_clarification_is_printed_not_prompted(
    base: ScriptedBase, run: Run
) -> None:
    base.replies = [asks_back()]
    code, out, _ = run("ask", "q")
    assert code == 0
    assert "Which office?" in out
    assert "  2. Boston" in out
    assert "anabranch resume REPLY --snapshot FILE" in out


@pytest.mark.parametrize(
    "command", [["ask"], ["retrieve"], ["resume", "Berlin"], ["add"], ["nope"]]
)
def test_what_is_missing_or_unknown_is_a_usage_error(
    base: ScriptedBase, run: Run, command: list[str]
) -> None:
    code, out, err = run(*command)
    assert (code, out) == (2, "")
    assert "Usage:" in err


@pytest.mark.parametrize(
    "option",
    [
        ["--top-k", "0"],
        ["--variants", "-1"],
        ["--timeout", "0"],
        ["--timeout", "nan"],
        ["--effort", "huge"],
    ],
)
def test_an_option_out_of_range_is_a_usage_error(
    base: ScriptedBase, run: Run, option: list[str]
) -> None:
    assert run("ask", "q", *option)[0] == 2


# ------------------------------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (QuestionError("The question is blank."), 3),
        (ConfigurationError("A setting does not fit."), 3),
        (StorageError("The disk is full."), 3),
        (RunError("Nothing came of it."), 5),
        (ValueError("a bug"), 5),
        (KeyboardInterrupt(), 130),
    ],
)
def test_an_error_is_a_message_and_an_exit_code(
    base: ScriptedBase, run: Run, error: BaseException, expected: int
) -> None:
    base.replies = [error]
    code, out, err = run("ask", "q", "--json")
    assert code == expected
    assert out == ""
    assert "Traceback" not in err
    assert str(error) in err
    assert err.startswith("anabranch: ")
    assert base.closed


def test_debug_shows_the_traceback_and_keeps_the_exit_code(base: ScriptedBase, run: Run) -> None:
    base.replies = [StorageError("The disk is full.")]
    code, _, err = run("ask", "q", "--debug")
    assert code == 3
    assert "Traceback" in err


def test_a_wrong_setting_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANABRANCH_TOP_K", "many")
    code, out, err = run("sources")
    assert (code, out) == (3, "")
    assert "top_k = 'many'" in err


# ------------------------------------------------------------------------------------------ resume


@pytest.mark.parametrize("whole", [True, False])
def test_resume_takes_an_outcome_or_its_snapshot(
    base: ScriptedBase, run: Run, isolated: Path, whole: bool
) -> None:
    pending = asks_back().to_dict()
    file = isolated / "pending.json"
    file.write_text(json.dumps(pending if whole else pending["resume"]), encoding="utf-8")
    code, out, _ = run("resume", "Berlin", "--snapshot", str(file))
    assert code == 0
    assert "30 days" in out
    name, call = base.calls[0]
    assert (name, call["reply"], call["snapshot"]) == ("stream_resume", "Berlin", pending["resume"])


def test_resume_reads_the_snapshot_from_standard_input(
    base: ScriptedBase, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = json.dumps(asks_back().to_dict()).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    assert run("resume", "Berlin", "--snapshot", "-")[0] == 0
    assert base.calls[0][1]["snapshot"] == asks_back().resume


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "no resume snapshot"),
        (b"{}", "no resume snapshot"),
        (
            b'{"schema": "anabranch.outcome/1", "status": "answerable", "resume": null}',
            "'answerable'",
        ),
        (None, "cannot be read"),
    ],
)
def test_a_snapshot_that_is_none_says_why(
    base: ScriptedBase, run: Run, isolated: Path, content: bytes | None, says: str
) -> None:
    file = isolated / "pending.json"
    if content is not None:
        file.write_bytes(content)
    code, _, err = run("resume", "Berlin", "--snapshot", str(file))
    assert code == 3
    assert says in err
    assert base.calls == []


# --------------------------------------------------------------------------------------- documents


def test_add_reports_every_file(base: ScriptedBase, run: Run) -> None:
    base.report = AddReport(
        (
            FileReport("a.pdf", "added", pages=3, chunks=7),
            FileReport("b.md", "empty", "no text in it"),
        )
    )
    code, out, _ = run("add", "a.pdf", "b.md", "--collection", "handbook")
    assert code == 0
    assert "a.pdf: 3 pages, 7 chunks" in out
    assert "b.md: no text in it" in out
    assert "1 added, 1 empty" in out
    assert base.calls == [("add", {"paths": ("a.pdf", "b.md"), "collection": "handbook"})]


def test_add_exits_with_4_when_a_file_failed(base: ScriptedBase, run: Run) -> None:
    base.report = AddReport((FileReport("a.md", "added"), FileReport("b.pdf", "failed", "damaged")))
    code, out, _ = run("add", "a.md", "b.pdf", "--json")
    assert code == 4
    assert json.loads(out) == base.report.to_dict()


def test_sources_lists_them_and_shows_one(base: ScriptedBase, run: Run) -> None:
    base.records = [record("a/readme.md"), record("b/readme.md")]
    assert run("sources")[1].count("readme.md") == 2
    assert [item["source"] for item in json.loads(run("sources", "b/readme.md", "--json")[1])] == [
        "b/readme.md"
    ]


def test_the_text_of_a_source_is_printed_as_it_is(base: ScriptedBase, run: Run) -> None:
    assert run("sources", "handbook/leave.md", "--text")[1] == base.text + "\n"


@pytest.mark.parametrize("command", [["sources", "gone.md"], ["sources", "gone.md", "--text"]])
def test_an_unknown_source_is_bad_input(base: ScriptedBase, run: Run, command: list[str]) -> None:
    code, out, err = run(*command)
    assert (code, out) == (3, "")
    assert "'gone.md'" in err


def test_text_without_a_source_is_a_usage_error(base: ScriptedBase, run: Run) -> None:
    assert run("sources", "--text")[0] == 2


def test_remove_says_what_is_gone(base: ScriptedBase, run: Run) -> None:
    code, out, _ = run("remove", "a.md", "--collection", "handbook", "--json")
    assert code == 0
    assert json.loads(out) == {"source": "a.md", "removed": 1}
    assert base.calls == [("remove", {"source": "a.md", "collection": "handbook"})]


# ---------------------------------------------------------------------------------- demo and doctor


def test_demo_shows_every_status_and_resumes_the_ambiguous_question(
    base: ScriptedBase, run: Run
) -> None:
    base.replies = [outcome(), outcome(), outcome(), asks_back(), outcome(), no_knowledge()]
    code, out, _ = run("demo")
    assert code == 0
    statuses = [line for line in out.splitlines() if line.startswith("status: ")]
    assert [line.split()[1] for line in statuses] == [
        "answerable", "answerable", "answerable", "needs_clarification", "answerable", "no_knowledge",
    ]  # fmt: skip
    assert [name for name, _ in base.calls].count("stream_resume") == 1


def test_demo_fails_when_a_run_fails(base: ScriptedBase, run: Run) -> None:
    base.replies = [outcome(), failed(), outcome(), outcome(), outcome()]
    assert run("demo")[0] == 5


def test_doctor_names_settings_with_their_origin(
    base: ScriptedBase, run: Run, isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (isolated / "anabranch.toml").write_text("top_k = 5\npdf_passwords = ['secret']\n")
    monkeypatch.setenv("ANABRANCH_EFFORT", "thorough")
    (isolated / "kb").mkdir()
    _, out, _ = run("doctor", "--kb", "kb", "--json")
    settings = {item["name"]: item for item in json.loads(out)["settings"]}
    assert settings["top_k"] == {"name": "top_k", "value": 5, "origin": "file"}
    assert settings["effort"] == {"name": "effort", "value": "thorough", "origin": "environment"}
    assert settings["kb"] == {"name": "kb", "value": "kb", "origin": "argument"}
    assert settings["timeout"]["origin"] == "default"
    assert "secret" not in out


def test_doctor_describes_the_knowledge_base_and_makes_none(
    base: ScriptedBase, run: Run, isolated: Path
) -> None:
    assert "`anabranch add PATH` makes it" in run("doctor")[1]
    assert not (isolated / ".anabranch").exists()
    (isolated / ".anabranch").mkdir()
    assert "1 sources, 5 chunks" in run("doctor")[1]


def test_doctor_calls_each_role_of_a_language_model(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reply(request: Any) -> Any:
        return "one two three" if request.get("stream") else {"word": "ready"}

    with ScriptedModel(reply, context_tokens=4096) as server:
        monkeypatch.setenv("ANABRANCH_MODEL", "scripted")
        monkeypatch.setenv("ANABRANCH_MODEL_BASE_URL", server.url)
        monkeypatch.setenv("ANABRANCH_MODEL_API_KEY", "sk-secret-0123456789")
        code, out, _ = run("doctor", "--model", "--json")
        checks = {check["name"]: check for check in json.loads(out)["checks"]}
    assert code == 0
    assert "sk-secret" not in out
    for does in ("plans", "grades", "rewrites"):
        detail = checks[f"language model that {does}"]["detail"]
        assert "JSON by json_schema" in detail
        assert "reads 4,096 tokens" in detail
    assert "streams (3 pieces)" in checks["language model that answers"]["detail"]
    assert len(server.requests) == 4


def test_doctor_says_why_a_language_model_does_not_work(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedModel(lambda request: Line(status=401, say="no such key")) as server:
        monkeypatch.setenv("ANABRANCH_MODEL", "openai:scripted")
        monkeypatch.setenv("ANABRANCH_MODEL_BASE_URL", server.url)
        code, out, _ = run("doctor", "--model")
    assert code == 3
    assert (
        "problem  language model that plans: The model 'openai:scripted' answered with 401" in out
    )


def test_doctor_says_at_once_that_a_language_model_is_rate_limited(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = Line(status=429, say="three a day", headers={"Retry-After": "3"})
    with ScriptedModel(lambda request: line) as server:
        monkeypatch.setenv("ANABRANCH_MODEL", "openai:scripted")
        monkeypatch.setenv("ANABRANCH_MODEL_BASE_URL", server.url)
        code, out, _ = run("doctor", "--model", "--json")
        checks = [c for c in json.loads(out)["checks"] if c["name"].startswith("language model")]
    assert code == 3
    assert [check["detail"] for check in checks] == 4 * [checks[0]["detail"]]
    assert "429 (rate limited)" in checks[0]["detail"]
    assert "three a day" in checks[0]["detail"]
    assert "left alone for 3 s" in checks[0]["detail"]
    assert len(server.requests) == 4  # each role once: nothing was tried again


@pytest.mark.parametrize(
    "said", ["I am ready.", "Ready {or so I think.", '{"answer": "ready"}'],
    ids=["prose", "a brace", "another object"],
)  # fmt: skip
def test_doctor_says_that_a_model_does_not_reply_in_json(
    said: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedModel(lambda request: said) as server:
        monkeypatch.setenv("ANABRANCH_MODEL", "scripted")
        monkeypatch.setenv("ANABRANCH_MODEL_BASE_URL", server.url)
        code, out, _ = run("doctor", "--model", "--json")
        checks = {check["name"]: check for check in json.loads(out)["checks"]}
    assert code == 3
    for does in ("plans", "grades", "rewrites"):
        check = checks[f"language model that {does}"]
        assert check["status"] == "problem"
        assert "does not reply in JSON" in check["detail"]
    assert checks["language model that answers"]["status"] == "ok"


def test_doctor_calls_no_model_unless_it_is_told_to(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "everything is done here" in run("doctor", "--model")[1]
    with ScriptedModel(lambda request: Line(status=401)) as server:
        monkeypatch.setenv("ANABRANCH_MODEL", "openai:scripted")
        monkeypatch.setenv("ANABRANCH_MODEL_BASE_URL", server.url)
        assert run("doctor")[0] == 0
        assert server.requests == []


def test_doctor_reports_what_does_not_work(
    run: Run, isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(kb: Path | None) -> Any:
        raise ConfigurationError("The index was made by a newer version.")

    monkeypatch.setattr(cli, "open_knowledge_base", refuse)
    (isolated / ".anabranch").mkdir()
    code, out, _ = run("doctor", "--json")
    assert code == 3
    document = json.loads(out)
    assert document["ok"] is False
    assert {"name": "knowledge base", "status": "problem",
            "detail": "The index was made by a newer version."} in document["checks"]  # fmt: skip


# ------------------------------------------------------------------------------ what is not obeyed

HOSTILE = "\x1b[31mred\x1b[0m \x1b]0;title\x07\x1b]8;;x\x1b\\link \x9b2J\u202eabc [bold]b[/bold] :smile:\r\x00"


def test_clean_leaves_words_newlines_and_tabs() -> None:
    assert clean(HOSTILE) == "red link 2Jabc [bold]b[/bold] :smile:"
    assert clean("休假\t30 天\n") == "休假\t30 天\n"
    assert clean("\x1b\x1b[31mx") == "x"
    assert clean("a\udcffb") == "ab"


def test_nothing_in_a_document_reaches_the_terminal_as_a_command(
    base: ScriptedBase, run: Run
) -> None:
    base.replies = [
        outcome(answer=Answer(HOSTILE, "extractive"), evidence=(evidence(HOSTILE, source=HOSTILE),))
    ]
    _, out, _ = run("ask", "q")
    assert not {"\x1b", "\x9b", "\x07", "\u202e"} & set(out)
    assert "[bold]b[/bold] :smile:" in out


def test_a_question_that_no_encoding_takes_still_gives_json(base: ScriptedBase, run: Run) -> None:
    base.replies = [outcome(question="a\udcff")]
    assert json.loads(run("ask", "a\udcff", "--json")[1])["question"] == "a\udcff"


# ------------------------------------------------------------------------------------ on a terminal

ON_TERMINAL = """
    import sys
    from anabranch import cli
    from scripted_base import *
    base = ScriptedBase(replies=[{replies}])
    cli.open_knowledge_base = lambda kb: base
    try:
        cli.main(sys.argv[1:])
    finally:
        print("CALLS", [(name, call.get("reply")) for name, call in base.calls])
        print("HEARD", [[turn.text for turn in call.get("history", ())] for _, call in base.calls])
"""


COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-7]|9[0-7]|38;[\d;]+)m")


class Terminal:
    """A process on a terminal of its own: what it wrote, and what is typed to it."""

    def __init__(self, replies: str, *arguments: str, **environment: str) -> None:
        self.screen = ""
        self._side, other = pty.openpty()
        here = Path(__file__).parent
        self._process = subprocess.Popen(
            [sys.executable, "-c", dedent(ON_TERMINAL.format(replies=replies)), *arguments],
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
            env={
                **{name: value for name, value in os.environ.items() if name != "NO_COLOR"},
                "PYTHONPATH": os.pathsep.join([str(here), str(here.parent / "src")]),
                "TERM": "xterm-256color",
                "COLUMNS": "100",
                **environment,
            },
        )
        os.close(other)

    def read_until(self, words: str) -> None:
        seen = len(self.screen)
        while words not in self.screen[seen:]:
            if not select.select([self._side], [], [], 60)[0]:
                raise AssertionError(f"waited for {words!r}, got {self.screen!r}")
            if not self._read():
                raise AssertionError(f"ended before {words!r}: {self.screen!r}")

    def type(self, words: str) -> None:
        os.write(self._side, words.encode())

    def interrupt(self) -> None:
        # A signal that comes between readline's prompt and its wait is not seen until a key is
        # pressed: a person presses Ctrl-C again, and so does the test.
        for _ in range(6):
            self._process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(10)
                return

    def end(self) -> int:
        while self._read():
            pass
        return self._process.wait(60)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._side)

    def _read(self) -> str:
        try:
            text = os.read(self._side, 65_536).decode("utf-8", "replace")
        except OSError:  # Linux: the other side of the terminal is closed
            return ""
        self.screen += text
        return text


OnTerminal = Callable[..., Terminal]


@pytest.fixture
def on_terminal() -> Iterator[OnTerminal]:
    opened: list[Terminal] = []

    def start(replies: str, *arguments: str, **environment: str) -> Terminal:
        opened.append(Terminal(replies, *arguments, **environment))
        return opened[-1]

    # Tests that a shell runs in the background begin with Ctrl-C ignored, and so would the program.
    inherited = signal.getsignal(signal.SIGINT)
    if inherited is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield start
    for terminal in opened:
        terminal.close()
    signal.signal(signal.SIGINT, inherited)


def test_a_terminal_shows_the_tree_the_answer_and_a_table(on_terminal: OnTerminal) -> None:
    terminal = on_terminal("outcome()", "ask", "How much leave is there?")
    assert terminal.end() == 0
    for words in (
        "✓",
        "query",
        "leave",
        "hits 4",
        "╭",
        "answer",
        "30 days [1].",
        "handbook/leave.md",
    ):
        assert words in terminal.screen
    assert COLOUR.search(terminal.screen)


def test_no_color_is_honoured_on_a_terminal(on_terminal: OnTerminal) -> None:
    terminal = on_terminal("outcome()", "ask", "q", NO_COLOR="1")
    assert terminal.end() == 0
    assert "30 days [1]." in terminal.screen
    assert not COLOUR.search(terminal.screen)


def test_the_clarification_is_asked_in_place_until_it_is_answered(on_terminal: OnTerminal) -> None:
    terminal = on_terminal(
        "asks_back(), asks_back('Which year?', '2025', '2026'), outcome()", "ask", "q"
    )
    terminal.read_until("reply> ")
    assert "1. Berlin" in terminal.screen
    terminal.type("2\n")
    terminal.read_until("reply> ")
    terminal.type("this year\n")
    assert terminal.end() == 0
    assert "30 days [1]." in terminal.screen
    assert (
        "CALLS [('stream', None), ('stream_resume', 'Boston'), ('stream_resume', 'this year')]"
        in terminal.screen
    )


def test_no_interactive_never_prompts(on_terminal: OnTerminal) -> None:
    terminal = on_terminal("asks_back()", "ask", "q", "--no-interactive")
    assert terminal.end() == 0
    assert "Which office?" in terminal.screen
    assert "reply>" not in terminal.screen


def test_ask_without_a_question_prompts_until_a_blank_line(on_terminal: OnTerminal) -> None:
    terminal = on_terminal(
        "outcome(), QuestionError('too long'), no_knowledge()".replace(
            "QuestionError", "__import__('anabranch').QuestionError"
        ),
        "ask",
    )
    for _ in range(3):
        terminal.read_until("question> ")
        terminal.type("How much leave?\n")
    terminal.read_until("question> ")
    terminal.type("\n")
    assert terminal.end() == 0
    assert "too long" in terminal.screen
    assert "no_knowledge" in terminal.screen


def test_the_prompt_reads_each_question_with_those_before_it(on_terminal: OnTerminal) -> None:
    terminal = on_terminal(
        "asks_back(), outcome(effective_question='How much leave? Boston'), asks_back(), "
        "outcome(question='And sick days?', effective_question='Sick days in Boston?')",
        "ask",
    )
    for prompt, typed in (
        ("question> ", "How much leave?"),
        ("reply> ", "2"),
        ("question> ", "And notice?"),
        ("reply> ", ""),  # left open
        ("question> ", "And sick days?"),
        ("question> ", ""),
    ):
        terminal.read_until(prompt)
        terminal.type(f"{typed}\n")
    assert terminal.end() == 0
    first = ["How much leave? Boston", "30 days."]
    open_question = asks_back()
    assert open_question.clarification is not None
    second = [open_question.effective_question, open_question.clarification.prompt]
    heard: list[list[str]] = [[], [], first, [*first, *second]]
    assert f"HEARD {heard}" in terminal.screen


def test_the_end_of_input_ends_the_prompt(on_terminal: OnTerminal) -> None:
    terminal = on_terminal("", "ask")
    terminal.read_until("question> ")
    terminal.type("\x04")
    assert terminal.end() == 0


def test_ctrl_c_at_the_prompt_exits_with_130(on_terminal: OnTerminal) -> None:
    terminal = on_terminal("", "ask")
    terminal.read_until("question> ")
    terminal.interrupt()
    assert terminal.end() == 130
    assert "Traceback" not in terminal.screen


def test_hostile_text_is_shown_not_obeyed_on_a_terminal(on_terminal: OnTerminal) -> None:
    hostile = r"'\x1b]0;owned\x07[red]x[/red]\x9b2J'"
    terminal = on_terminal(
        f"outcome(evidence=(evidence({hostile}, source={hostile}),))", "ask", "q"
    )
    assert terminal.end() == 0
    assert "owned" not in terminal.screen
    assert "[red]x[/red]" in terminal.screen


def test_every_error_of_ours_has_an_exit_code() -> None:
    for kind in AnabranchError.__subclasses__():
        error = kind("x")
        with pytest.raises(cli.typer.Exit) as exit_, cli.reporting(debug=False):
            raise error
        assert exit_.value.exit_code in (3, 5)


# ----------------------------------------------------------------------------------------- models


def test_models_lists_what_is_here_and_how_to_get_the_rest(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANABRANCH_MODELS_DIR", str(tmp_path))
    code, out, _ = run("models")
    assert code == 0
    assert "multilingual" in out
    assert "anabranch models add multilingual" in out
    (tmp_path / "multilingual-e5-small").mkdir()
    (tmp_path / "multilingual-e5-small" / "model.onnx").write_bytes(b"made")
    code, out, _ = run("models", "--json")
    assert code == 0
    assert {model["name"]: bool(model["folder"]) for model in json.loads(out)} == {
        "bundled": True, "multilingual": True,
    }  # fmt: skip


def test_a_model_that_cannot_be_made_is_a_usage_error(run: Run) -> None:
    code, _, err = run("models", "add", "multilinguall")
    assert code == 2
    assert "multilinguall" in err


def test_reindex_says_what_it_did(run: Run, tmp_path: Path) -> None:
    (tmp_path / "ferry.md").write_text("The ferry leaves at noon.")
    model = make_encoder(tmp_path / "tiny", ("ferry", "leaves", "noon"))
    kb = ("--kb", str(tmp_path / "kb"))
    run("add", str(tmp_path / "ferry.md"), *kb)
    code, out, _ = run("reindex", "--model", str(model), *kb, "--json")
    assert (code, json.loads(out)) == (0, {"model": str(model), "sources": 1})
    code, out, _ = run("reindex", "--model", str(model), *kb)
    assert code == 0
    assert "nothing to do" in out
    code, _, err = run("reindex", "--model", "no-such-folder", *kb)
    assert code == 3
    assert "docs/models.md" in err
