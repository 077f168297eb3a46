"""A question from the terminal: follow its run, show the outcome, ask back, go on with the reply."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.errors import InputError, RunError, SnapshotError
from anabranch.live import LiveTree
from anabranch.notes import plain_text, said
from anabranch.rendering import clean, print_outcome, print_question_back
from anabranch.replies import meant
from anabranch.trace import RunEvent
from anabranch.types import RESUME_SCHEMA, Clarification, Effort, Outcome, Turn

if TYPE_CHECKING:
    from anabranch.knowledge_base import KnowledgeBase


@dataclass(frozen=True, slots=True)
class Asking:
    """How the command line asks: what it passes on, and what it may do on the terminal.

    ``quiet``: nothing on standard output (the caller prints JSON). ``prompts``: there is someone
    to ask back.
    """

    collections: tuple[str, ...] | None = None
    effort: Effort | None = None
    variants: int | None = None
    top_k: int | None = None
    timeout: float | None = None
    interactive: bool = True
    quiet: bool = False
    prompts: bool = False

    def run(
        self,
        base: KnowledgeBase,
        question: str,
        *,
        answer: bool = True,
        history: Sequence[Turn] = (),
    ) -> Outcome:
        """The outcome of ``question``, shown, after whatever was asked back on the way."""
        events = base.stream(
            question,
            history=history,
            collections=self.collections,
            effort=self.effort,
            top_k=self.top_k,
            variants=self.variants,
            interactive=self.interactive,
            timeout=self.timeout,
            answer=answer,
        )
        return self._converse(base, self._show(question, events), answer=answer)

    def go_on(
        self, base: KnowledgeBase, snapshot: Mapping[str, Any], reply: str, *, answer: bool = True
    ) -> Outcome:
        """The outcome of a pending question with ``reply``, shown; it may ask back again."""
        return self._converse(
            base, self._resumed(base, snapshot, reply, answer=answer), answer=answer
        )

    def prompt_loop(self, base: KnowledgeBase) -> None:
        """Asks for questions until a blank line or the end of input.

        Each is read with those before it and their answers, as a session does.
        """
        history: list[Turn] = []
        with suppress(ImportError):  # not on every platform; gives input() line editing
            import readline  # noqa: F401
        while (question := _read_line("question> ")) is not None:
            try:
                outcome = self.run(base, question, history=tuple(history))
            except (InputError, RunError) as error:
                # One question that cannot be asked does not end the session.
                print(f"anabranch: {clean(str(error))}", file=sys.stderr)
                continue
            history = [*history, *turns_of(outcome)]
            history = history[max(0, len(history) - 2 * base.settings.history_turns) :]

    def _converse(self, base: KnowledgeBase, outcome: Outcome, *, answer: bool) -> Outcome:
        while self.prompts and outcome.clarification and outcome.resume is not None:
            print_question_back(outcome.clarification)
            line = _read_line("reply> ")
            if line is None:
                break
            reply = chosen(outcome.clarification, line)
            outcome = self._resumed(base, outcome.resume, reply, answer=answer)
        return outcome

    def _resumed(
        self, base: KnowledgeBase, snapshot: Mapping[str, Any], reply: str, *, answer: bool
    ) -> Outcome:
        events = base.stream_resume(
            snapshot,
            reply,
            collections=self.collections,
            effort=self.effort,
            top_k=self.top_k,
            variants=self.variants,
            interactive=self.interactive,
            timeout=self.timeout,
            answer=answer,
        )
        return self._show(reply, events)

    def _show(self, title: str, events: AsyncIterator[RunEvent]) -> Outcome:
        outcome = asyncio.run(follow(title, events))
        if not self.quiet:
            print_outcome(outcome, asked_here=self.prompts)
        return outcome


async def follow(title: str, events: AsyncIterator[RunEvent]) -> Outcome:
    """The outcome that the run's last event carries; its steps grow a tree on a terminal."""
    outcome: Outcome | None = None
    with LiveTree(title) as tree:
        async for event in events:
            tree.take(event)
            outcome = event.outcome or outcome
    if outcome is None:
        raise RunError("The run ended without an outcome. Run it again with --debug and report it.")
    return outcome


def turns_of(outcome: Outcome) -> tuple[Turn, Turn]:
    """A question as it was understood, replies included, and what was said to it.

    Of a question back that nobody replied to only the question is kept, without its options: what
    is typed next may reply to it.
    """
    asked = outcome.clarification
    answer = asked.prompt if asked is not None else plain_text(said(outcome))
    return Turn("user", outcome.effective_question), Turn("assistant", answer)


def chosen(clarification: Clarification, line: str) -> str:
    """The option that ``line`` is the number of, or ``line`` itself."""
    return meant(line, clarification.options) or line


def read_snapshot(file: str) -> Mapping[str, Any]:
    """The resume snapshot in ``file`` (``-``: standard input), alone or inside an outcome.

    Raises SnapshotError where there is none.
    """
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        document = json.loads(raw.decode("utf-8-sig"))
    except OSError as error:
        raise SnapshotError(
            f"The snapshot {file!r} cannot be read ({error.strerror}). Give the file that "
            "`anabranch ask QUESTION --json` was saved to."
        ) from None
    except (ValueError, RecursionError):
        raise SnapshotError(
            f"The snapshot {file!r} is not JSON. Save what `anabranch ask QUESTION --json` prints."
        ) from None
    if isinstance(document, dict) and document.get("schema") != RESUME_SCHEMA:
        if "resume" in document and document["resume"] is None:
            raise SnapshotError(
                f"The outcome in {file!r} has nothing to resume: its status is "
                f"{document.get('status')!r}. Ask the question again instead."
            )
        document = document.get("resume")
    if not isinstance(document, dict):
        raise SnapshotError(
            f"There is no resume snapshot in {file!r}. It is the `resume` object of an outcome "
            "whose status is needs_clarification or needs_scope_selection."
        )
    return document


def _read_line(prompt: str) -> str | None:
    """What was typed, trimmed; None for a blank line or the end of input."""
    try:
        return input(prompt).strip() or None
    except EOFError:
        print()
        return None
