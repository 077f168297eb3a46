"""What the runs of a data set add up to, and how it is shown. Only what the labels allow is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.evaluation import labels, metrics
from anabranch.evaluation.datasets import Dataset
from anabranch.evaluation.index import Indexing
from anabranch.evaluation.runs import Asked
from anabranch.types import Effort, to_plain

_ANSWERED = ("answerable", "partial")
_PLAIN_WIDTH = 200

Figures = dict[str, dict[str, float]]


def per_query(dataset: Dataset, asked: Sequence[Asked], *, timed: bool) -> Figures:
    """Every figure that one query has by itself, by query and name: what two runs are compared by.

    ``decision`` is 1 where answering or declining was right, ``routing`` where simple or complex
    was. The time is one of them where it was ``timed`` alone.
    """
    figures: Figures = {item.query.id: {} for item in asked}
    if dataset.corpus is not None and dataset.qrels:
        rankings = {item.query.id: item.documents for item in asked}
        for query, values in metrics.ranking_metrics(rankings, dataset.qrels).items():
            figures[query].update(values)
    for item in asked:
        own = figures[item.query.id]
        if dataset.corpus is not None:
            if (answerable := labels.answerable(item.query)) is not None:
                right = _ANSWERED if answerable else ("no_knowledge",)
                own["decision"] = float(item.status in right)
            if item.contains_gold is not None:
                own["contains_gold"] = float(item.contains_gold)
            if timed:
                own["latency_ms"] = item.elapsed_ms
        if (complexity := labels.complexity(item.query)) is not None:
            own["routing"] = float(item.complexity == complexity)
    return figures


def summarise(
    dataset: Dataset,
    asked: Sequence[Asked],
    figures: Figures,
    *,
    effort: Effort,
    indexing: Indexing,
) -> dict[str, Any]:
    """The report, in the shape of the contract; sections that the labels do not allow are absent."""
    report: dict[str, Any] = {
        "dataset": dataset.name,
        "split": dataset.split,
        "effort": effort,
        "documents": indexing.documents if dataset.corpus else 0,
        "queries": len(asked),
    }
    means = metrics.mean_by_metric(figures)
    names = (*metrics.RANKING_METRICS, metrics.ALL_EVIDENCE)
    sections: dict[str, Any] = {
        "metrics": {name: means[name] for name in names if name in means},
        "answerability": _answerability(asked) if dataset.corpus else None,
        "routing": _routing(asked, figures, means),
        "clarification": _clarification(asked),
        "answers": _answers(figures, means),
    }
    report.update({name: section for name, section in sections.items() if section})
    if dataset.qrels and dataset.corpus:
        report["judged_queries"] = len(dataset.qrels)
    if dataset.corpus is not None:
        report |= _costs(asked, indexing)
    report["statuses"] = _counted([item.status for item in asked])
    if failures := _counted([failure for item in asked for failure in item.failures]):
        report["failures"] = failures
    rounded: dict[str, Any] = to_plain(report)
    return rounded


def _answerability(asked: Sequence[Asked]) -> dict[str, Any] | None:
    labelled = [
        (item, label) for item in asked if (label := labels.answerable(item.query)) is not None
    ]
    if not labelled:
        return None
    known = [label for _, label in labelled]
    declined = [item.status == "no_knowledge" for item, _ in labelled]
    answered = [item.status in _ANSWERED for item, _ in labelled]
    confidences = [item.confidence for item, _ in labelled]
    return {
        "auroc": metrics.auroc(confidences, known),
        "auroc_interval": metrics.auroc_interval(confidences, known),
        "no_knowledge": metrics.precision_recall(declined, [not value for value in known]),
        "answerable": metrics.precision_recall(answered, known),
        "n": len(labelled),
    }


def _routing(
    asked: Sequence[Asked], figures: Figures, means: Mapping[str, float]
) -> dict[str, Any] | None:
    if "routing" not in means:
        return None
    by_source: dict[str, list[float]] = {}
    for item in asked:
        right = figures[item.query.id].get("routing")
        source = item.query.metadata.get("source")
        if right is not None and isinstance(source, str):
            by_source.setdefault(source, []).append(right)
    return {
        "accuracy": means["routing"],
        "by_source": {name: sum(by_source[name]) / len(by_source[name]) for name in sorted(by_source)},
        "n": sum("routing" in own for own in figures.values()),
    }  # fmt: skip


def _clarification(asked: Sequence[Asked]) -> dict[str, Any] | None:
    scored = [
        (item.clarification, labels.needs_clarification(item.query) is True)
        for item in asked
        if item.clarification is not None
    ]
    if not scored:
        return None
    area = metrics.auroc([score for score, _ in scored], [needed for _, needed in scored])
    return {"auroc": area, "n": len(scored)}


def _answers(figures: Figures, means: Mapping[str, float]) -> dict[str, Any] | None:
    if "contains_gold" not in means:
        return None
    count = sum("contains_gold" in own for own in figures.values())
    return {"contains_gold": means["contains_gold"], "n": count}


def _costs(asked: Sequence[Asked], indexing: Indexing) -> dict[str, Any]:
    times = [item.elapsed_ms for item in asked if item.elapsed_ms]
    latency = {
        "p50": metrics.quantile(times, 0.5),
        "p95": metrics.quantile(times, 0.95),
    } if times else None  # fmt: skip
    return {
        "latency_ms": latency,
        "indexing": {
            "seconds": indexing.seconds,
            "documents_per_second": indexing.documents_per_second,
            "cached": indexing.cached,
            "empty": indexing.empty,
        },
    }


def _counted(names: Sequence[str]) -> dict[str, int]:
    return {name: names.count(name) for name in sorted(set(names))}


def print_report(report: Mapping[str, Any]) -> None:
    """The report as a table on stdout."""
    from rich.table import Table

    from anabranch.rendering import clean, console

    table = Table.grid(padding=(0, 3))
    table.add_column()
    table.add_column(justify="right")
    for name, value in _flat({key: v for key, v in report.items() if key != "comparison"}):
        table.add_row(clean(name), clean(value))
    screen = console()
    # Off a terminal the width is a guess; nothing is to be cut to it.
    width = None if screen.is_terminal else _PLAIN_WIDTH
    screen.print(table, width=width, crop=False)
    if comparison := report.get("comparison"):
        screen.print()
        screen.print(_comparison_table(comparison), width=width, crop=False)


def _comparison_table(comparison: Mapping[str, Any]) -> Any:
    from rich.table import Table

    from anabranch.rendering import clean

    table = Table(
        title=f"compared with {clean(str(comparison['with']))}", title_justify="left", box=None
    )
    for heading in ("", "before", "now", "change", "from", "to", "p", "n"):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for name, row in comparison["metrics"].items():
        low, high = row["interval"]
        table.add_row(
            clean(name), _shown(row["before"]), _shown(row["after"]), f"{row['difference']:+.4f}",
            f"{low:+.4f}", f"{high:+.4f}", f"{row['p']:.4f}", str(row["n"]),
        )  # fmt: skip
    return table


def _flat(section: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    for name, value in section.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping):
            lines.extend(_flat(value, f"{path} · "))
        elif value is not None:
            lines.append((path, _shown(value)))
    return lines


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return " to ".join(map(_shown, value))
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) <= 1 else f"{value:,.1f}"
    return str(value)
