"""What the command line prints: tables and panels on a terminal, the same content as plain text off it.

Text from documents, models and file names goes through ``clean`` and is never read as markup, so
that nothing in it reaches the terminal as a command.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anabranch.decoding import CONTROL_SEQUENCES
from anabranch.errors import SourceNotFoundError
from anabranch.types import (
    FOREIGN,
    AddReport,
    Clarification,
    Evidence,
    Outcome,
    SourceRecord,
    Usage,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from anabranch.doctor import Examination
    from anabranch.ingest import IngestProgress

EXCERPT_CHARACTERS = 220
# Columns of a terminal from which a table with five of them is easier to read than lines.
TABLE_WIDTH = 80

# Escape sequences go whole, those of two characters too; then every other control character but
# newline and tab, the directional overrides that reorder what is read, and lone surrogates, which no
# encoding takes.
_SEQUENCES = re.compile(CONTROL_SEQUENCES + r"|\x1b[ -/]*[0-~]")
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)

_STATUS_STYLE = {
    "answerable": "green", "partial": "yellow", "needs_clarification": "cyan",
    "needs_scope_selection": "cyan", "no_knowledge": "yellow", "failed": "red",
    "added": "green", "updated": "green", "unchanged": "dim", "empty": "yellow",
    "ok": "green", "note": "yellow", "problem": "red", "timed_out": "red",
}  # fmt: skip


def clean(text: str) -> str:
    """``text`` without anything that a terminal would obey instead of show."""
    return _UNSAFE.sub("", _SEQUENCES.sub("", text))


def excerpt(text: str, *, limit: int = EXCERPT_CHARACTERS) -> str:
    """``text`` on one line, cut at ``limit`` characters."""
    line = " ".join(clean(text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def one_line(name: str) -> str:
    """A name whole and on one line: a file name may hold line breaks, and a row must not."""
    return clean(name.replace("\n", "\\n").replace("\t", "\\t"))


def console(*, stderr: bool = False) -> Console:
    """A console that reads neither markup nor emoji codes; NO_COLOR is rich's own business."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


@contextmanager
def ingest_progress() -> Iterator[Callable[[IngestProgress], None] | None]:
    """A progress bar on stderr while files are added; off a terminal there is none."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
        console=console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task("", total=None)

        def show(state: IngestProgress) -> None:
            progress.update(
                task,
                completed=state.done,
                total=state.total,
                description=f"{clean(state.stage)} {excerpt(state.source, limit=60)}",
            )

        yield show


@contextmanager
def count_progress(doing: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr that is told how many of how many are done; off a terminal there is none."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    with Progress(
        doing, BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn(),
        console=console(stderr=True), transient=True,
    ) as progress:  # fmt: skip
        task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


# ------------------------------------------------------------------------------------ an outcome


def print_outcome(outcome: Outcome, *, asked_here: bool = False) -> None:
    """The outcome on stdout. ``asked_here``: what is asked back follows as a prompt of its own."""
    screen = console()
    for line, status in _head(outcome):
        _line(screen, line, style=_STATUS_STYLE.get(status or "", ""))
    if outcome.answer:
        _print_answer(screen, clean(outcome.answer.text))
    if outcome.evidence:
        _print_evidence(screen, outcome.evidence, whole=outcome.answer is None)
    for title, lines, style in _lists(outcome):
        _line(screen, f"\n{title}", style="bold")
        for line in lines:
            _line(screen, f"  {line}", style=style)
    if outcome.clarification and not asked_here:
        print_question_back(outcome.clarification)
        _line(screen, "To go on: save this outcome with --json, then")
        _line(screen, "  anabranch resume REPLY --snapshot FILE")
    _line(screen, "")


def print_question_back(clarification: Clarification) -> None:
    """What the user is asked, with numbered options."""
    screen = console()
    _line(screen, f"\n{clean(clarification.prompt)}", style="bold cyan")
    for number, option in enumerate(clarification.options, start=1):
        _line(screen, f"  {number}. {clean(option)}")


def _head(outcome: Outcome) -> list[tuple[str, str | None]]:
    lines: list[tuple[str, str | None]] = [
        (f"status: {outcome.status}", outcome.status),
        (f"confidence: {outcome.confidence:.2f}", None),
        (f"question: {outcome.complexity} ({clean(outcome.complexity_reason)})", None),
    ]
    if outcome.effective_question != outcome.question:
        lines.append((f"read as: {clean(outcome.effective_question)}", None))
    if outcome.rewrite:
        lines.append(
            (f"rewritten ({outcome.rewrite.method}): {excerpt(outcome.rewrite.query)}", None)
        )
    if outcome.status == "no_knowledge" and outcome.grade:
        lines.append((f"why: {clean(outcome.grade.reason)}", None))
    return lines


def _print_answer(screen: Console, text: str) -> None:
    if screen.is_terminal:
        from rich.panel import Panel
        from rich.text import Text

        screen.print(Panel(Text(text), title="answer", border_style="green"))
    else:
        _line(screen, f"\n{text}")


def _print_evidence(screen: Console, evidence: Sequence[Evidence], *, whole: bool) -> None:
    """Numbered evidence: an excerpt beside an answer, the whole text where it is all there is."""
    as_table = screen.is_terminal and screen.width >= TABLE_WIDTH
    if not as_table:
        _line(screen, "\nevidence")
    table = _table("", "source", "page", "text", "found by", title="evidence")
    for number, item in enumerate(evidence, start=1):
        text = clean(item.text).strip() if whole else excerpt(_telling(item))
        if as_table:
            _row(table, f"{number}", _place(item), _page(item.page), text, ", ".join(item.found_by))
            continue
        place = ", ".join(filter(None, (_place(item), _page(item.page, prefix="page "))))
        _line(screen, f"[{number}] {place} (found by {', '.join(item.found_by) or '-'})")
        _line(screen, "\n".join(f"    {line}" for line in text.splitlines()))
    if as_table:
        screen.print(table)


def _telling(item: Evidence) -> str:
    """From where the text comes nearest to the question, or from its beginning."""
    if not item.windows:
        return item.text
    nearest = max(item.windows, key=lambda window: window.cosine)
    return item.text[max(nearest.start - item.start, 0) :]


def _place(item: Evidence) -> str:
    """Its source, and the others that hold the same text."""
    others = sorted({place.source for place in item.provenance} - {item.source})
    # A foreign source may be called like one of ours.
    origin = f" [{item.collection}]" if item.collection.startswith(FOREIGN) else ""
    also = f" (also {', '.join(others)})" if others else ""
    return one_line(item.source + origin + also)


def _page(page: int | None, *, prefix: str = "") -> str:
    return "" if page is None else f"{prefix}{page}"


def _lists(outcome: Outcome) -> list[tuple[str, list[str], str]]:
    """The parts of an outcome that are lists: title, lines, style; empty ones are left out."""
    sub_questions = []
    for sub in outcome.sub_questions:
        note = sub.clarification or sub.reason
        detail = f" ({clean(note)})" if note and sub.status != "answerable" else ""
        sub_questions.append(f"{sub.id} {sub.status}: {clean(sub.question)}{detail}")
    conflicts = [
        f"{clean(conflict.fact)}: "
        + " / ".join(f"{clean(value.value)} ({value.evidence})" for value in conflict.values)
        for conflict in outcome.conflicts
    ]
    nearest = [
        f"{one_line(item.source)}{_page(item.page, prefix=', page ')}: {excerpt(item.text, limit=160)}"
        for item in outcome.nearest
    ]
    searched = [
        f"{query.id} {query.kind}, {query.hits} hits: {excerpt(query.text, limit=160)}"
        for query in outcome.queries
        if outcome.status == "no_knowledge"
    ]
    failures = [
        f"{clean(failure.where)} ({clean(failure.kind)}): {excerpt(failure.detail)}"
        for failure in outcome.failures
    ]
    unsupported = (
        [excerpt(sentence) for sentence in outcome.answer.unsupported] if outcome.answer else []
    )
    lists = [
        ("sub-questions", sub_questions, ""),
        ("the documents disagree", conflicts, "yellow"),
        ("not supported by the evidence", unsupported, "yellow"),
        ("searched for", searched, "dim"),
        ("closest, but not evidence", nearest, "dim"),
        ("what failed on the way", failures, "red"),
    ]
    if outcome.usage.model_calls or outcome.usage.cached:
        lists.append(("language models", [_usage(outcome.usage)], "dim"))
    if outcome.notices:
        lists.append(("to know", [clean(notice) for notice in outcome.notices], "yellow"))
    return [item for item in lists if item[1]]


def _usage(usage: Usage) -> str:
    """ "5 calls (plan 1, grade 3, answer 1), 1,204 tokens in, 96 out, cost 0.0013"."""
    roles = ", ".join(f"{role} {spent.model_calls}" for role, spent in usage.by_role.items())
    told = [
        f"{usage.model_calls} calls ({roles})" if roles else "no call",
        f"{usage.input_tokens:,} tokens in",
        f"{usage.output_tokens:,} out",
    ]
    if usage.cached:
        told.append(f"{usage.cached} from the cache")
    if usage.cost is not None:
        told.append(f"cost {usage.cost:.4g}")
    return ", ".join(told)


# ------------------------------------------------------------------- reports, sources and checks


def print_add_report(report: AddReport) -> None:
    """A line for every file, then the sums."""
    screen = console()
    for file in report.files:
        pages = "" if file.pages is None else f"{file.pages} pages, "
        told = clean(file.reason) or f"{pages}{file.chunks} chunks"
        _line(
            screen,
            f"{file.status:<9} {one_line(file.source)}: {told}",
            style=_STATUS_STYLE.get(file.status, ""),
        )
    sums = ", ".join(
        f"{report.count(status)} {status}"
        for status in ("added", "updated", "unchanged", "empty", "failed")
        if report.count(status)
    )
    _line(screen, f"{sums or 'no files found'} in {report.elapsed_ms / 1000:.1f} s")
    for notice in report.notices:
        _line(screen, clean(notice), style="yellow")


def select_sources(records: Sequence[SourceRecord], source: str | None) -> list[SourceRecord]:
    """All records, or those of ``source`` by name or id.

    Raises SourceNotFoundError where there is none.
    """
    if source is None:
        return list(records)
    selected = [record for record in records if source in (record.source, record.source_id)]
    if not selected:
        raise SourceNotFoundError(
            f"There is no source {source!r}. `anabranch sources` lists those there are."
        )
    return selected


def print_sources(records: Sequence[SourceRecord]) -> None:
    screen = console()
    if not records:
        _line(screen, "no sources yet; `anabranch add PATH` adds some")
        return
    table = _table("source", "collection", "title", "pages", "chunks", "added")
    for record in records:
        cells = (
            one_line(record.source), one_line(record.collection), excerpt(record.title, limit=60),
            _page(record.page_count), f"{record.chunk_count}", record.added_at[:10],
        )  # fmt: skip
        if screen.is_terminal:
            _row(table, *cells)
        else:
            _line(screen, "\t".join(cells))
    if screen.is_terminal:
        screen.print(table)


def print_text(text: str) -> None:
    """The text alone, so that it can be piped; cleaned only where a terminal would obey it."""
    print(clean(text) if sys.stdout.isatty() else text)


def print_examination(examination: Examination) -> None:
    screen = console()
    for check in examination.checks:
        _line(
            screen,
            f"{check.status:<8} {check.name}: {clean(check.detail)}",
            style=_STATUS_STYLE[check.status],
        )
    _line(screen, "\nsettings in force", style="bold")
    for setting in examination.settings:
        _line(screen, f"  {setting.name} = {clean(str(setting.value))} ({setting.origin})")


def _line(screen: Console, text: str, *, style: str = "") -> None:
    # Off a terminal a line stays a line, however long: it is grepped, not looked at.
    from rich.text import Text

    screen.print(Text(text, style=style), soft_wrap=not screen.is_terminal)


def _table(*columns: str, title: str | None = None) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left", show_lines=title is not None)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _row(table: Table, *cells: str) -> None:
    from rich.text import Text

    table.add_row(*(Text(cell) for cell in cells))
