"""``make bench-peers``: Anabranch and other libraries on the same passages with the same encoder.

    .venv/bin/python benchmarks/peers/run.py --cache FOLDER --indexes FOLDER --scale FOLDER
        [--peers ours txtai …] [--measure quality latency ingestion robustness]
        [--sets med …] [--sizes 5000 …] [--again ours …]

``--indexes`` is the cache of ``anabranch eval``, whose passages and vectors all systems get;
``--scale`` is the corpus of ``scale_corpus.py``. Each piece (one system, one set or size) is a
process of its own, nothing runs beside it, and it is kept in ``--cache``: a run that was stopped
goes on where it was, and ``--again`` measures the named systems anew and leaves the others. What is
there of the named sets is joined into one dated JSON; ``benchmarks/plots.py`` draws it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# This folder has modules that are called as the libraries they wrap.
sys.path[0] = str(ROOT)

from benchmarks.peers import ours, results  # noqa: E402
from benchmarks.peers.environments import environment  # noqa: E402
from benchmarks.peers.exchange import read_qrels  # noqa: E402
from benchmarks.peers.export import SETS, export  # noqa: E402
from benchmarks.peers.worker import PEERS  # noqa: E402
from benchmarks.record import RESULTS, provenance  # noqa: E402

from anabranch import __version__  # noqa: E402

SYSTEMS = ("ours", *PEERS)
MEASURES = ("quality", "latency", "ingestion", "robustness")
SIZES = (5_000, 20_000, 100_000)


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing to measure of one system. ``part`` is a data set, an effort and set, or a size."""

    measure: str
    system: str
    part: str = ""

    @property
    def file_name(self) -> str:
        return "-".join(word for word in (self.measure, self.system, self.part) if word) + ".json"


def main() -> None:
    arguments = _arguments()
    pieces = arguments.cache / "pieces"
    pieces.mkdir(parents=True, exist_ok=True)
    for name in arguments.sets if "quality" in arguments.measure else ():
        export(
            _set(name), arguments.data, indexes=arguments.indexes, folder=_sets(arguments) / name
        )
    for piece in _wanted(arguments):
        file = pieces / piece.file_name
        if file.is_file() and piece.system not in arguments.again:
            continue
        print(f"{piece.measure} of {piece.system} {piece.part} …", file=sys.stderr)
        load = os.getloadavg()[0]
        try:
            _measure(piece, file, arguments)
        except (subprocess.SubprocessError, OSError) as error:
            # One library that fails must not keep the others from being measured.
            print(f"left out: {piece.file_name}: {error}", file=sys.stderr)
            continue
        _note(file, load)
    _write(_joined(pieces, arguments), arguments.output)
    environment("plots", arguments.cache / "venvs")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    data = Path(os.environ.get("ANABRANCH_DATA", ROOT.parent / "shared" / "data"))
    names = [chosen.name for chosen in SETS]
    parser.add_argument("--peers", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--measure", nargs="+", choices=MEASURES, default=list(MEASURES))
    parser.add_argument("--sets", nargs="+", choices=names, default=names)
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--again", nargs="+", choices=SYSTEMS, default=[])
    parser.add_argument("--data", type=Path, default=data)
    parser.add_argument("--cache", type=Path, required=True, help="environments and pieces")
    parser.add_argument("--indexes", type=Path, required=True, help="cache of anabranch eval")
    parser.add_argument("--scale", type=Path, required=True, help="corpus of scale_corpus.py")
    parser.add_argument("--output", type=Path, default=RESULTS)
    return parser.parse_args()


def _wanted(arguments: argparse.Namespace) -> Iterator[Piece]:
    for measure in arguments.measure:
        for part in _parts(measure, arguments):
            for system in arguments.peers:
                if measure == "quality" and system == "ours":
                    for effort in ours.EFFORTS:
                        yield Piece(measure, system, f"{effort}-{part}")
                else:
                    yield Piece(measure, system, part)


def _parts(measure: str, arguments: argparse.Namespace) -> list[str]:
    parts: dict[str, list[str]] = {
        "quality": arguments.sets,
        "latency": [str(size) for size in arguments.sizes],
    }
    return parts.get(measure, [""])


def _measure(piece: Piece, file: Path, arguments: argparse.Namespace) -> None:
    if piece.system == "ours":
        found = _ours(piece, arguments)
        written = file.with_suffix(".part")
        written.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
        written.rename(file)
        return
    python = environment(piece.system, arguments.cache / "venvs")
    command = [str(python), "-m", "benchmarks.peers.worker", piece.measure, piece.system]
    command += ["--output", str(file)]
    if piece.measure == "quality":
        command += ["--set", str(_sets(arguments) / piece.part)]
    if piece.measure in ("latency", "ingestion"):
        command += ["--scale", str(arguments.scale)]
    if piece.measure == "latency":
        command += ["--size", piece.part]
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


def _ours(piece: Piece, arguments: argparse.Namespace) -> dict[str, Any]:
    if piece.measure == "quality":
        effort, _, name = piece.part.partition("-")
        return ours.quality(_set(name), arguments.data, effort=effort, indexes=arguments.indexes)
    measures: dict[str, Callable[[], Any]] = {
        "latency": lambda: ours.latency(arguments.scale, int(piece.part)),
        "ingestion": lambda: ours.ingestion(arguments.scale),
        "robustness": ours.robustness,
    }
    return {"version": __version__, piece.measure: measures[piece.measure]()}


def _note(file: Path, load: float) -> None:
    """When and at what commit and load a piece was measured."""
    found = json.loads(file.read_text("utf-8"))
    found["measured"] = {
        **provenance(),
        "load": [load, os.getloadavg()[0]],
    }  # fmt: skip
    file.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")


# ------------------------------------------------------------------------------------- joining


def _joined(pieces: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    document: dict[str, Any] = {
        **provenance(),
        "machine": {
            "python": platform.python_version(), "processor": platform.machine(),
            "cores": len(os.sched_getaffinity(0)),
        },
        "versions": {},
    }  # fmt: skip
    figures, names = _figures(pieces, arguments)
    if figures:
        quality = results.quality_section(figures, names)
        document["quality"] = quality
        document["queries"] = results.compact_queries(figures, quality["best_mode"])
    for measure in ("latency", "ingestion", "robustness"):
        document[measure] = {}
        for file in sorted(pieces.glob(f"{measure}-*.json")):
            _, system, *part = file.stem.split("-")
            found = json.loads(file.read_text("utf-8"))
            name = results.OURS if system == "ours" else system
            document["versions"][name] = found.get("versions", found.get("version"))
            at = document[measure].setdefault(part[0], {}) if part else document[measure]
            at[name] = found[measure]
            if "measured" in found and measure in ("latency", "ingestion"):
                at[name]["measured"] = found["measured"]
    return document


def _figures(
    pieces: Path, arguments: argparse.Namespace
) -> tuple[results.Figures, list[str]]:  # fmt: skip
    """Figures of every system on the sets that are exported and measured."""
    figures: results.Figures = {}
    names = [name for name in arguments.sets if (_sets(arguments) / name).is_dir()]
    names = [name for name in names if any(pieces.glob(f"quality-*-{name}.json"))]
    for name in names:
        qrels = read_qrels(_sets(arguments) / name)
        for effort in ours.EFFORTS:
            if (file := pieces / f"quality-ours-{effort}-{name}.json").is_file():
                saved = json.loads(file.read_text("utf-8"))["queries"]
                own = figures.setdefault(results.OURS, {}).setdefault(effort, {})
                own[name] = results.chosen_figures(saved, list(qrels))
        for peer in PEERS:
            if (file := pieces / f"quality-{peer}-{name}.json").is_file():
                rankings = json.loads(file.read_text("utf-8"))["quality"]["rankings"]
                for mode, found in results.figures_of_rankings(rankings, qrels).items():
                    figures.setdefault(peer, {}).setdefault(mode, {})[name] = found
    return figures, names


def _write(document: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rounded = json.loads(json.dumps(document), parse_float=lambda text: round(float(text), 4))
    file = folder / f"{document['date'][:10]}-{document['commit'] or 'no-commit'}-peers.json"
    # The figures of the queries are most of it: a line each, the rest so that people can read it.
    queries = rounded.pop("queries", {})
    text = json.dumps(rounded, indent=1, ensure_ascii=False)
    packed = json.dumps(queries, ensure_ascii=False, separators=(",", ":"))
    file.write_text(f'{text[:-2]},\n "queries": {packed}\n}}\n', encoding="utf-8")
    print(f"written: {file}", file=sys.stderr)


def _set(name: str) -> Any:
    return next(chosen for chosen in SETS if chosen.name == name)


def _sets(arguments: argparse.Namespace) -> Path:
    folder: Path = arguments.cache / "sets"
    return folder


if __name__ == "__main__":
    main()
