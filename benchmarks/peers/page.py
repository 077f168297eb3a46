"""``docs/benchmarks.md`` from a document of results: tables and the words around them; pure.

Every figure on the page comes from the document; the words hold whatever the figures are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

OURS = "anabranch"
# As people write them, in the order of all tables and plots.
NAMES = {
    "anabranch": "Anabranch",
    "baseline": "NumPy + bm25s",
    "txtai": "txtai",
    "langchain": "LangChain",
    "llamaindex": "LlamaIndex",
    "haystack": "Haystack",
}
CERTAIN = 0.05
NOT_MEASURED = "–"
# Of fewer times the 95th percentile is the longest one, or less.
LEAST_FOR_P95 = 20

HOW = """\
## How it is measured

- **The same passages and vectors.** Passages are the leaves that Anabranch cuts, title first, with the vectors of its
  bundled encoder. Nobody embeds again, and every library searches with this encoder, one text a call. A document ranks
  by its best passage, for everybody.
- **Passages, not whole documents, for BM25 too.** With whole documents in its BM25 the NumPy baseline had .011 nDCG@10 more
  on scifact, and between .004 less and .004 more on hotpotqa_mix, multihop_rag_500 and squad2_dev.
- **The same candidates.** 100 of each leg. All vector searches are exact in the quality runs. In the timed ones txtai
  does what it does by itself, an inverted file beyond 5,000 rows.
- **The same variants.** Where a mode takes several wordings they are those of Anabranch's planner without a model, at
  most three besides the question.
- **The best mode counts.** The fusion modes of each library, with several weights where it has weights, are run on all
  sets, with and without variants. "Best mode" is the one with the highest mean: a choice that its users could make,
  having seen these sets.
  LangChain's BM25 splits at blanks and keeps the case; it is also run on lower-case words. Its MultiQueryRetriever unites
  lists in their order, so it takes 10 of each leg; with 100 the variants would never reach the first ten.
- **Anabranch** runs as it comes, by `anabranch eval`: minimal (one query, no second hop), standard (the default) and
  thorough. Its defaults were chosen with these open sets in sight, so the margin on documents of your own may differ;
  `anabranch eval` measures it.
- **p** is the two-sided paired randomisation test over the queries, 10,000 rounds, not corrected for the number of
  comparisons.
- **Timed runs** use recombined real passages (see `benchmarks/scale_corpus.py`), every wording new, encoder included,
  one process at a time. A library that is slow is asked fewer times: three seconds for each figure, twice at least,
  and eight wordings only where four take less than two seconds. CPU is that of all threads.
- **At once**: threads (in Anabranch tasks) that ask four-way fan-outs in one process, the peers at 5,000 passages.
- Each environment is made from the exact versions in `benchmarks/peers/constraints`.

## To run it

```
anabranch eval DATA/med --cache INDEXES                            # and so on: the indexes of the sets
.venv/bin/python benchmarks/scale_corpus.py --indexes INDEXES --cache SCALE
make bench-peers PEERS_OPTIONS='--indexes INDEXES --scale SCALE'
```

`--peers`, `--measure`, `--sets` and `--sizes` narrow a run, `--again ours` measures only Anabranch anew and joins it
with what is there. Quality takes about an hour, the rest a quarter of one; nothing else should run on the machine
while times are taken. The JSON in `benchmarks/results` has every mode, and the figures of every query.
"""


def page(results: Mapping[str, Any]) -> str:
    """The whole page. Sections that were not measured are left out."""
    sections: Iterable[tuple[str, Callable[[Mapping[str, Any]], str]]] = (
        ("quality", _quality), ("latency", _latency), ("ingestion", _ingestion),
        ("robustness", _robustness),
    )  # fmt: skip
    parts = [
        "# Benchmarks: beside other libraries",
        "Written by `benchmarks/plots.py` from a run of `benchmarks/peers/run.py`; do not edit it by hand. "
        f"Measured {_when(results)}, {results['machine']['cores']} cores, no GPU."
        f"{_quality_of_another_run(results)}",
        *(write(results) for key, write in sections if results.get(key)),
        HOW.strip(),
        _versions(results["versions"]),
    ]
    return "\n\n".join(parts) + "\n"


def with_quality(results: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """``results`` with the rankings of another run, which the page then names."""
    when = {name: other[name] for name in ("commit", "changed_since", "date")}
    return {**results, "quality": other["quality"], "quality_of": when}


def _when(run: Mapping[str, Any]) -> str:
    changed = " with changes since" if run.get("changed_since") else ""
    return f"{run['date'][:10]} at commit `{run['commit']}`{changed}"


def _quality_of_another_run(results: Mapping[str, Any]) -> str:
    if "quality_of" not in results:
        return ""
    return (
        f" Quality is of another run, {_when(results['quality_of'])}, all systems on one machine. "
        "Between machines such figures move by some thousandths."
    )


def systems_of(found: Iterable[str]) -> list[str]:
    """The systems among ``found``, in the order of the tables."""
    there = set(found)
    return [name for name in NAMES if name in there]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table: the first column left, the others right."""
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def picture(name: str, description: str) -> str:
    """One plot, in the version for the reader's colours."""
    return (
        "<picture>\n"
        f'<source media="(prefers-color-scheme: dark)" srcset="images/{name}-dark.svg">\n'
        f'<img alt="{description}" src="images/{name}-light.svg">\n'
        "</picture>"
    )


# ------------------------------------------------------------------------------------- quality


def _quality(results: Mapping[str, Any]) -> str:
    quality = results["quality"]
    means, best = quality["means"], quality["best_mode"]
    sets = list(quality["sets"])
    columns = [(OURS, effort) for effort in means.get(OURS, {})]
    columns += [(name, best[name]) for name in systems_of(means) if name != OURS and best[name]]
    head = ["", *(f"Anabranch {mode}" if s == OURS else NAMES[s] for s, mode in columns)]
    tables = {
        metric: table(
            head,
            [
                [_shown_set(name, quality), *(_mean(means, column, name, metric) for column in columns)]
                for name in (*sets, "mean")
            ],
        )
        for metric in ("nDCG@10", "AllEvidence@10", "R@10")
    }  # fmt: skip
    parts = [
        "## Quality",
        picture("quality", "nDCG@10 of each system on each data set"),
        f"nDCG@10, each library in its best mode over all sets ({_modes(best)}):",
        tables["nDCG@10"],
    ]
    if "against_ours" in quality:
        parts += [_against(quality, sets)]
    parts += [
        "Share of queries with all their evidence in the first ten:",
        tables["AllEvidence@10"],
        "R@10:",
        tables["R@10"],
        "The best that each library reaches on each set, with another mode wherever that is better (nDCG@10):",
        _best_per_set(quality, sets),
    ]
    return "\n\n".join(parts)


def _against(quality: Mapping[str, Any], sets: Sequence[str]) -> str:
    against = quality["against_ours"]
    systems = systems_of(against)
    rows = [
        [name, *(_signed(against[system].get(name)) for system in systems)] for name in sets
    ]  # fmt: skip
    own = quality.get("own_single")
    head = ["", *(NAMES[system] for system in systems)]
    if own:
        head.append("own single query")
        rows = [[*row, _signed(own.get(name))] for row, name in zip(rows, sets, strict=True)]
    return (
        "What Anabranch at standard effort has more, in nDCG@10, than each library's best mode and than its "
        f"own single query; a star where p < {CERTAIN}:\n\n" + table(head, rows)
    )


def _best_per_set(quality: Mapping[str, Any], sets: Sequence[str]) -> str:
    found = quality["best_per_set"]
    systems = systems_of(found)
    rows = [[name, *(_best_cell(found[system][name]) for system in systems)] for name in sets]
    return table(["", *(NAMES[system] for system in systems)], rows)


def _best_cell(found: Mapping[str, Any] | None) -> str:
    return NOT_MEASURED if found is None else f"{found['nDCG@10']:.3f} ({found['mode']})"


def _shown_set(name: str, quality: Mapping[str, Any]) -> str:
    return "**mean**" if name == "mean" else f"{name} ({quality['sets'][name]['queries']})"


def _mean(means: Mapping[str, Any], column: tuple[str, str], name: str, metric: str) -> str:
    system, mode = column
    found = means[system][mode].get(name)
    return NOT_MEASURED if found is None else f"{found[metric]:.3f}"


def _signed(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return NOT_MEASURED
    return f"{found['difference']:+.3f}{'*' if found['p'] < CERTAIN else ''}"


def _modes(best: Mapping[str, str | None]) -> str:
    return "; ".join(
        f"{NAMES[name]}: {best[name]}" for name in systems_of(best) if name != OURS and best[name]
    )


# --------------------------------------------------------------------------------------- speed


def _latency(results: Mapping[str, Any]) -> str:
    latency = results["latency"]
    sizes = sorted(latency, key=int)
    systems = systems_of(system for size in sizes for system in latency[size])
    rows, threads = [], []
    for size in sizes:
        for system in systems:
            found = latency[size].get(system)
            if found is None:
                continue
            ways = [_way(found["ways"].get(ways)) for ways in ("1", "4", "8")]
            memory = f"{found['resident_mb']['after']:,.0f}"
            built = f"{found['index_seconds']:.1f}" if "index_seconds" in found else NOT_MEASURED
            rows.append([f"{int(size):,} {NAMES[system]}", *ways, memory, built])
            if found["askers"]:
                cells = [_askers(found, at) for at in ("20", "32")]
                threads.append([f"{int(size):,} {NAMES[system]}", *cells])
    notes = sorted(
        {
            f"{NAMES[system]} in several threads: `{_code(error)}`. Its threads wait for each other instead."
            for size in sizes
            for system, found in latency[size].items()
            for at in found["askers"].values()
            if (error := at.get("raised_in_threads"))
        }
    )
    return "\n\n".join(
        [
            "## Speed",
            picture("latency", "Time and processor time of a fan-out by number of passages"),
            "Milliseconds, p50 / p95 (of 20 times or more) / CPU; memory of the process in MB; seconds to index vectors that are there "
            "(Anabranch opens its index from disk):",
            table(["", "one query", "four wordings", "eight wordings", "MB", "index s"], rows),
            "Four-way fan-outs a second when many ask at once (p95 in ms):",
            table(["", "20 at once", "32 at once"], threads),
            *notes,
        ]
    )


def _way(found: Mapping[str, float] | None) -> str:
    if found is None:
        return NOT_MEASURED
    shown = {key: f"{found[key]:,.0f}" for key in ("p50_ms", "p95_ms", "cpu_ms")}
    if found["n"] < LEAST_FOR_P95:
        shown["p95_ms"] = NOT_MEASURED
    return " / ".join(shown.values())


def _askers(found: Mapping[str, Any], askers: str) -> str:
    at = found["askers"].get(askers)
    if at is None:
        return NOT_MEASURED
    note = ", raises in threads" if "raised_in_threads" in at else ""
    return f"{at['fan_outs_per_second']:,.1f} ({at['p95_ms']:,.0f}{note})"


def _ingestion(results: Mapping[str, Any]) -> str:
    found = results["ingestion"]
    heads = ["1,000 passages", "seconds", "a second"]
    beside = all("encoder" in found[name] for name in systems_of(found))
    if beside:
        heads += ["encoder alone, a second", "share of it", "processor seconds beside it"]
    rows = []
    for name in systems_of(found):
        own = found[name]
        row = [NAMES[name], f"{own['seconds']:.1f}", f"{own['per_second']:.1f}"]
        if beside:
            alone = own["encoder"]
            row += [f"{alone['per_second']:.1f}", f"{own['of_encoder']:.2f}"]
            row += [f"{own['cpu_seconds'] - alone['cpu_seconds']:.1f}"]
        rows.append(row)
    more = (
        "What is imported and loaded once is in no figure, and the encoder alone was measured on the same texts in "
        "the same process just before. " if beside else ""
    )  # fmt: skip
    return (
        "## Ingestion\n\nFrom texts to a first answered search, encoder included, which is most of it and the same "
        f"for all, on all cores. {more}Anabranch also cuts, reads windows and vocabulary, and writes to disk:\n\n"
        + table(heads, rows)
    )


def _robustness(results: Mapping[str, Any]) -> str:
    found = results["robustness"]
    systems = systems_of(found)
    cases = list(found[systems[0]])
    rows = [[case, *(_happened(found[system][case]) for system in systems)] for case in cases]
    return (
        "## When something is odd\n\nOne of three wordings cannot be embedded; one text stands in two of six files; "
        "a question of words that nothing has; an index without documents:\n\n"
        + table(["", *(NAMES[system] for system in systems)], rows)
    )


def _happened(said: str) -> str:
    """An error by its name alone: the table has no room for messages, the results have them."""
    return _code(said.split(":")[0] if said.startswith("raises ") else said)


def _versions(versions: Mapping[str, Any]) -> str:
    shown = [
        f"{NAMES[name]}: " + (
            ", ".join(f"{package} {number}" for package, number in versions[name].items())
            if isinstance(versions[name], Mapping) else str(versions[name])
        )
        for name in systems_of(versions)
    ]  # fmt: skip
    return "Versions. " + "; ".join(shown) + "."


def _code(text: str) -> str:
    return text.replace("`", "'").rstrip(".")
