"""What the terminal shows of names and steps."""

from anabranch.live import step_line
from anabranch.rendering import one_line
from anabranch.types import TraceEvent


def test_a_line_break_in_a_name_is_shown_and_not_obeyed() -> None:
    assert one_line("a\nb\tc\x1b[31m.txt") == "a\\nb\\tc.txt"


def test_the_hits_of_each_leg_are_told_in_words() -> None:
    detail = {"status": "ok", "hits": {"dense": 100, "text": 12}}
    step = TraceEvent(id="q1", type="query", label="leave", detail=detail, elapsed_ms=3.0)
    assert step_line(step, ended=True).plain == (
        "✓ query  leave  status ok, hits 100 dense + 12 text, 3 ms"
    )
