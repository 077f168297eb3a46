"""The options that several commands share."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from anabranch.types import Effort


def _positive(value: float | None) -> float | None:
    if value is not None and not (0 < value < math.inf):
        raise typer.BadParameter(f"{value!r} is not a number of seconds above 0.")
    return value


KbOption = Annotated[
    Path | None,
    typer.Option("--kb", metavar="DIR", help="Folder of the knowledge base.", show_default=False),
]
CollectionOption = Annotated[
    str, typer.Option("--collection", metavar="NAME", help="Collection the documents belong to.")
]
CollectionsOption = Annotated[
    list[str] | None,
    typer.Option("--collection", metavar="NAME", help="Only this collection; repeatable."),
]
VariantsOption = Annotated[
    int | None,
    typer.Option("--variants", min=0, max=16, help="Queries besides the original; by effort."),
]
EffortOption = Annotated[
    Effort | None, typer.Option("--effort", help="How hard to search.", show_default=False)
]
TopKOption = Annotated[
    int | None, typer.Option("--top-k", min=1, max=100, help="Evidence items (default 8).")
]
TimeoutOption = Annotated[
    float | None,
    typer.Option("--timeout", metavar="SECONDS", callback=_positive, help="Time for a request."),
]
NoInteractiveOption = Annotated[
    bool, typer.Option("--no-interactive", help="Never ask back: best effort, and what is missing.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
