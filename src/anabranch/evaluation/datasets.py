"""A data set in the BEIR layout (Thakur et al. 2021): documents, queries, relevance judgments.

``corpus.jsonl`` and ``queries.jsonl`` have an object a line (``_id``, ``title``, ``text``,
``metadata``), ``qrels/SPLIT.tsv`` has ``query-id``, ``corpus-id`` and ``score``. All may be gzipped.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch.errors import InputError
from anabranch.types import EMPTY

DEFAULT_SPLIT = "test"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

Qrels = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Condition:
    """``key=value``: holds where the metadata has that value, alone or in a list."""

    key: str
    value: str

    def holds(self, metadata: Mapping[str, Any]) -> bool:
        found = metadata.get(self.key)
        values = found if isinstance(found, list) else [found]
        return any(_written(value) == self.value for value in values)


@dataclass(frozen=True, slots=True)
class CorpusDocument:
    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class EvalQuery:
    """A question of a data set; ``metadata`` may carry labels (``labels.py``)."""

    id: str
    text: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Dataset:
    """What will be measured: the chosen queries with the judgments of one split.

    ``corpus`` is None, or ``split`` is, where the folder has no documents or no judgments.
    """

    name: str
    queries: tuple[EvalQuery, ...]
    qrels: Qrels
    split: str | None
    corpus: Path | None
    corpus_where: tuple[Condition, ...] = ()

    def documents(self) -> Iterator[CorpusDocument]:
        """The documents that ``corpus_where`` lets through, in file order, read as they come.

        One without a text has its title as text. Raises InputError naming the line that cannot
        be used.
        """
        if self.corpus is None:
            return
        seen: set[str] = set()
        for row, place in _rows(self.corpus):
            document_id = _unique_id(row, place, seen)
            if _passes(row, self.corpus_where, place):
                title = _string(row, "title", place)
                text = _string(row, "text", place)
                yield CorpusDocument(document_id, title, text if text.strip() else title)


def load_dataset(
    folder: Path,
    *,
    split: str | None = None,
    limit: int | None = None,
    where: Sequence[str] = (),
    corpus_where: Sequence[str] = (),
) -> Dataset:
    """The data set in ``folder``, with the queries to ask in file order.

    A query that only another split judges is left out; one that no split judges stays, since its
    labels may say that nothing answers it. ``split`` defaults to ``test``, else the only one.
    Raises InputError for a folder, split or line that cannot be used.
    """
    if not folder.is_dir():
        raise InputError(
            f"There is no folder {str(folder)!r}. Give a BEIR folder: queries.jsonl, corpus.jsonl "
            "and qrels/*.tsv, the last two optional."
        )
    file = _existing(folder, "queries.jsonl")
    if file is None:
        raise InputError(f"{str(folder)!r} has no queries.jsonl or queries.jsonl.gz.")
    judgments = {name: read_qrels(path) for name, path in _splits(folder).items()}
    chosen = _chosen_split(folder, judgments, split)
    qrels = judgments[chosen] if chosen else {}
    elsewhere = {query for name in judgments if name != chosen for query in judgments[name]}
    conditions = parse_conditions(where)
    queries = [
        query
        for query in _queries(file, conditions)
        if query.id in qrels or query.id not in elsewhere
    ][:limit]
    if not queries:
        raise InputError(
            f"No query of {str(file)!r} is left to ask. Loosen --where, or choose another --split."
        )
    return Dataset(
        name=folder.resolve().name,
        queries=tuple(queries),
        qrels={query.id: qrels[query.id] for query in queries if query.id in qrels},
        split=chosen,
        corpus=_existing(folder, "corpus.jsonl"),
        corpus_where=parse_conditions(corpus_where),
    )


def parse_conditions(written: Sequence[str]) -> tuple[Condition, ...]:
    """Conditions from ``key=value``, all of which must hold. Raises InputError."""
    conditions = []
    for text in written:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise InputError(f"{text!r} is not a condition. Write key=value, as in lang=zh.")
        conditions.append(Condition(key.strip(), value.strip()))
    return tuple(conditions)


def read_qrels(file: Path) -> dict[str, dict[str, int]]:
    """Relevance grades by query and document. Raises InputError naming the line that is broken."""
    judgments: dict[str, dict[str, int]] = {}
    for number, line in enumerate(_lines(file), start=1):
        cells = line.rstrip("\r\n").split("\t")
        if number == 1 and len(cells) == 3 and not _is_grade(cells[2]):
            continue  # the header
        if not line.strip():
            continue
        if len(cells) != 3 or not _is_grade(cells[2]):
            raise InputError(
                f"{_place(file, number)}: {line.strip()[:80]!r} is not query-id, corpus-id and a "
                "whole number, separated by tabs."
            )
        judgments.setdefault(cells[0], {})[cells[1]] = int(cells[2])
    return judgments


# ------------------------------------------------------------------------------------------ inside


def _splits(folder: Path) -> dict[str, Path]:
    files = sorted((folder / "qrels").glob("*.tsv*"))
    return {file.name.split(".tsv")[0]: file for file in files if file.suffix in (".tsv", ".gz")}


def _chosen_split(folder: Path, judgments: Mapping[str, Any], split: str | None) -> str | None:
    there = ", ".join(repr(name) for name in judgments)
    if split is not None:
        if split not in judgments:
            found = f"There are: {there}." if there else "The folder has no qrels/*.tsv at all."
            raise InputError(f"{str(folder)!r} has no split {split!r}. {found}")
        return split
    if not judgments:
        return None
    if DEFAULT_SPLIT in judgments:
        return DEFAULT_SPLIT
    if len(judgments) == 1:
        return next(iter(judgments))
    raise InputError(f"{str(folder)!r} has several splits: {there}. Choose one by --split.")


def _queries(file: Path, conditions: Sequence[Condition]) -> Iterator[EvalQuery]:
    seen: set[str] = set()
    for row, place in _rows(file):
        query_id = _unique_id(row, place, seen)
        if _passes(row, conditions, place):
            yield EvalQuery(query_id, _string(row, "text", place), row.get("metadata") or EMPTY)


def _existing(folder: Path, name: str) -> Path | None:
    return next((file for file in (folder / name, folder / f"{name}.gz") if file.is_file()), None)


def _lines(file: Path) -> Iterator[str]:
    try:
        opened = gzip.open if file.suffix == ".gz" else open
        with opened(file, "rt", encoding="utf-8-sig") as stream:
            # A line ends at a line feed: splitlines would also cut inside strings, at U+2028.
            yield from stream
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"{str(file)!r} cannot be read: {error}.") from None


def _rows(file: Path) -> Iterator[tuple[Mapping[str, Any], str]]:
    for number, line in enumerate(_lines(file), start=1):
        if not line.strip():
            continue
        place = _place(file, number)
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{place} is not JSON ({error}).") from None
        if not isinstance(row, dict):
            raise InputError(f"{place} is not a JSON object: {line.strip()[:80]!r}.")
        yield row, place


def _unique_id(row: Mapping[str, Any], place: str, seen: set[str]) -> str:
    found = row.get("_id")
    usable = isinstance(found, (str, int)) and not isinstance(found, bool) and found != ""
    # Half of a character (a lone surrogate) can be in JSON, but in no file that is written of it.
    if not usable or _LONE_SURROGATE.search(str(found)):
        raise InputError(f"{place} has no usable '_id': {found!r}. It is a string of its own.")
    if str(found) in seen:
        raise InputError(f"{place} has the '_id' {found!r} of an earlier line. Ids are unique.")
    seen.add(str(found))
    return str(found)


def _string(row: Mapping[str, Any], key: str, place: str) -> str:
    found = row.get(key)
    if found is None and key == "title":
        return ""
    if not isinstance(found, str):
        raise InputError(f"{place} has no usable {key!r}: {str(found)[:80]!r}. It is a string.")
    return found


def _passes(row: Mapping[str, Any], conditions: Sequence[Condition], place: str) -> bool:
    metadata = row.get("metadata") or EMPTY
    if not isinstance(metadata, Mapping):
        raise InputError(f"{place}: 'metadata' is {metadata!r}, not an object.")
    return all(condition.holds(metadata) for condition in conditions)


def _written(value: Any) -> str:
    """As the command line would have it: strings bare, the rest in JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _is_grade(cell: str) -> bool:
    return cell.strip().removeprefix("-").isdecimal()


def _place(file: Path, number: int) -> str:
    return f"{str(file)!r}, line {number}"
