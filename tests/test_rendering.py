"""What the terminal shows of names and steps."""

import io
import sys

import pytest

from anabranch.live import LiveTree, step_line
from anabranch.rendering import one_line, print_outcome
from anabranch.trace import RunEvent
from anabranch.types import RoleUsage, TraceEvent, Usage
from scripted_base import outcome


def test_a_line_break_in_a_name_is_shown_and_not_obeyed() -> None:
    assert one_line("a\nb\tc\x1b[31m.txt") == "a\\nb\\tc.txt"


def test_the_hits_of_each_leg_are_told_in_words() -> None:
    detail = {"status": "ok", "hits": {"dense": 100, "text": 12}}
    step = TraceEvent(id="q1", type="query", label="leave", detail=detail, elapsed_ms=3.0)
    assert step_line(step, ended=True).plain == (
        "✓ query  leave  status ok, hits 100 dense + 12 text, 3 ms"
    )


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_an_answer_is_shown_as_it_comes_and_again_where_it_begins_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    with LiveTree("How much?") as tree:
        tree.take(RunEvent("answer.delta", text="It is \x1b[31mtwen"))
        tree.take(RunEvent("answer.delta", text="ty days."))
        tree.take(RunEvent("answer.delta", text="It is 30 ", restart=True))
        tree.take(RunEvent("answer.delta", text="days [1]."))
    last_picture = screen.getvalue().rpartition("How much?")[2]
    assert "It is 30 days [1]." in last_picture
    assert "twenty" not in last_picture


def test_what_models_were_called_for_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    usage = Usage(3, 1204, 96, {"plan": RoleUsage(1), "grade": RoleUsage(2)}, cached=1, cost=0.0013)
    print_outcome(outcome(usage=usage))
    shown = capsys.readouterr().out
    assert (
        "3 calls (plan 1, grade 2), 1,204 tokens in, 96 out, 1 from the cache, cost 0.0013" in shown
    )


def test_nothing_is_told_of_models_where_none_was_called(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_outcome(outcome())
    assert "language models" not in capsys.readouterr().out
