"""``anabranch demo``: the sample documents, and one question of every kind that they can be asked."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.asking import Asking
from anabranch.errors import StorageError
from anabranch.rendering import console, ingest_progress, print_add_report
from anabranch.types import Outcome

if TYPE_CHECKING:
    from anabranch.knowledge_base import KnowledgeBase


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question, what it shows, and the reply to what it asks back."""

    shows: str
    question: str
    reply: str | None = None


QUESTIONS = (
    DemoQuestion("a simple question", "May I bring my dog to work in Berlin?"),
    DemoQuestion("a short form that no document spells out", "What is fs?"),
    DemoQuestion("a complex question", "How does annual leave differ between Berlin and Boston?"),
    DemoQuestion("an ambiguous question", "How long is the warranty?", reply="the Plover"),
    DemoQuestion("a question without an answer here", "What is the boiling point of tungsten?"),
)


def sample_documents() -> Path:
    """The folder of the sample documents: in the installed package, or in the checkout."""
    package = Path(__file__).resolve().parent
    for folder in (
        package / "examples" / "documents",
        package.parents[1] / "examples" / "documents",
    ):
        if folder.is_dir():
            return folder
    raise StorageError(
        f"The sample documents are not beside {str(package)!r}. Install Anabranch again, or run the "
        "demo from a checkout."
    )


def run_demo(
    open_base: Callable[[Path | None], KnowledgeBase], *, kb: Path | None, quiet: bool = False
) -> list[Outcome]:
    """Adds the samples to ``kb`` (or a folder that is gone afterwards) and asks each question."""
    documents = sample_documents()
    with ExitStack() as stack:
        folder = kb or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="anabranch-")))
        base = stack.enter_context(open_base(folder))
        with ingest_progress() as on_progress:
            report = base.add(documents, on_progress=on_progress)
        if not quiet:
            print_add_report(report)
        return [_ask(base, item, quiet=quiet) for item in QUESTIONS]


def _ask(base: KnowledgeBase, item: DemoQuestion, *, quiet: bool) -> Outcome:
    """The outcome; where it asks back and there is a reply, the outcome after that."""
    asking = Asking(quiet=quiet)
    _announce(f"\n{item.shows}: {item.question}", quiet=quiet)
    outcome = asking.run(base, item.question)
    if item.reply is not None and outcome.resume is not None:
        _announce(f"reply: {item.reply}", quiet=quiet)
        outcome = asking.go_on(base, outcome.resume, item.reply)
    return outcome


def _announce(line: str, *, quiet: bool) -> None:
    if not quiet:
        console().print(line, style="bold", soft_wrap=True)
