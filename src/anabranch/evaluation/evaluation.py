"""One evaluation from start to end: what ``anabranch eval`` calls."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from anabranch.errors import InputError
from anabranch.evaluation.comparison import compare, read_run, save_run, write_text
from anabranch.evaluation.datasets import Dataset, load_dataset
from anabranch.evaluation.index import default_cache, open_index
from anabranch.evaluation.metrics import require_ir_measures
from anabranch.evaluation.progress import say
from anabranch.evaluation.report import per_query, summarise
from anabranch.evaluation.runs import Asked, Way, ask_all
from anabranch.settings import Settings
from anabranch.types import to_plain


@dataclass(frozen=True, slots=True)
class Request:
    """What to evaluate, and what to keep of it."""

    folder: Path
    split: str | None = None
    limit: int | None = None
    where: tuple[str, ...] = ()
    corpus_where: tuple[str, ...] = ()
    way: Way = field(default_factory=Way)
    cache: Path | None = None
    fresh: bool = False
    run_file: Path | None = None
    save: Path | None = None
    compare: Path | None = None


def evaluate(request: Request, *, settings: Settings) -> dict[str, Any]:
    """The report on the data set in ``request.folder``; files asked for are written.

    Raises InputError for what cannot be read or written, MissingExtraError where judgments are
    there and ir-measures is not.
    """
    dataset = load_dataset(
        request.folder, split=request.split, limit=request.limit, where=request.where,
        corpus_where=request.corpus_where,
    )  # fmt: skip
    if dataset.qrels and dataset.corpus:
        require_ir_measures()
    earlier = read_run(request.compare) if request.compare else None
    for file in (request.run_file, request.save):
        # Minutes of asking are not to end in a folder that is not there.
        if file is not None and not file.absolute().parent.is_dir():
            raise InputError(f"There is no folder for {str(file)!r}. Make it first.")
    if request.run_file is not None:
        _check_ids(dataset)
    if earlier is not None:
        _tell_if_of_another(earlier[0], dataset)
    base, indexing = open_index(
        dataset, request.cache or default_cache(), settings=settings, fresh=request.fresh
    )
    with base:
        asked = asyncio.run(ask_all(base, dataset, request.way))
    figures = per_query(dataset, asked, timed=request.way.jobs == 1)
    effort = request.way.effort or settings.effort
    report = summarise(dataset, asked, figures, effort=effort, indexing=indexing)
    if earlier is not None:
        report["comparison"] = {
            "with": str(request.compare),
            "metrics": {
                name: to_plain(asdict(found))
                for name, found in compare(earlier[1], figures).items()
            },
        }
    if request.run_file is not None:
        write_text(request.run_file, trec_run(asked, tag=f"anabranch-{effort}"))
    if request.save is not None:
        save_run(request.save, report, figures)
    return report


def _check_ids(dataset: Dataset) -> None:
    ids = itertools.chain(
        (query.id for query in dataset.queries), (d.id for d in dataset.documents())
    )
    for name in ids:
        if name.split() != [name]:
            raise InputError(
                f"The id {name!r} has a blank, which a TREC run cannot hold. Rename it, or leave out "
                "--run-file."
            )


def _tell_if_of_another(report: Mapping[str, Any], dataset: Dataset) -> None:
    name, split = report.get("dataset"), report.get("split")
    if (name, split) != (dataset.name, dataset.split):
        say(
            f"note: the saved run is of {name!r} ({split}), this one of {dataset.name!r} "
            f"({dataset.split}); queries of one id are taken for the same"
        )


def trec_run(asked: Sequence[Asked], *, tag: str) -> str:
    """The rankings as a TREC run file; scores fall with the rank and mean nothing else."""
    return "".join(
        f"{item.query.id} Q0 {document} {rank} {1 / rank:.8f} {tag}\n"
        for item in asked
        for rank, document in enumerate(item.documents, start=1)
    )
