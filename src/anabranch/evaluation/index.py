"""The index of a data set, in a cache of its own, so that asking again costs no indexing.

The folder is named after the content of the corpus: a changed corpus gets another index, a moved
one keeps its own. Indexes of different models stand side by side, for comparing models.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from anabranch.decoding import normalise
from anabranch.errors import IndexVersionError, ModelMismatchError, StorageError
from anabranch.evaluation.datasets import CorpusDocument, Dataset
from anabranch.evaluation.progress import say
from anabranch.knowledge_base import KnowledgeBase
from anabranch.manifest import STORE, read_manifest
from anabranch.named_models import BUNDLED_NAME
from anabranch.rendering import ingest_progress
from anabranch.settings import Settings
from anabranch.types import Document

FIGURES = "indexing.json"
# Where there is no corpus the same path is run over a document that is about nothing, so that
# planning and asking back can be measured.
_NO_CORPUS = CorpusDocument("no-corpus", "", "This page was left blank on purpose.")


@dataclass(frozen=True, slots=True)
class Indexing:
    """What indexing took when it was done; ``cached`` when that was in an earlier evaluation."""

    documents: int
    empty: int
    added: int
    seconds: float
    cached: bool = False

    @property
    def documents_per_second(self) -> float | None:
        return self.added / self.seconds if self.added and self.seconds else None


def default_cache() -> Path:
    return Path.home() / ".cache" / "anabranch" / "eval"


def open_index(
    dataset: Dataset, cache: Path, *, settings: Settings, fresh: bool = False
) -> tuple[KnowledgeBase, Indexing]:
    """The knowledge base with the documents of ``dataset``, indexed on the first call only.

    ``fresh`` indexes again (after a change to how documents are cut, say), with the embeddings
    that are known. Raises InputError for a corpus that cannot be read, StorageError when the disk
    refuses.
    """
    root = cache.absolute() / f"{_file_name(dataset.name)}-{_corpus_digest(dataset)}"
    # A knowledge base keeps the model that it was made with. Here the first one in the cache would
    # decide then, which an earlier evaluation with another model may have made.
    settings = settings.model_copy(update={"embedder": settings.embedder or BUNDLED_NAME})
    base = _matching(root, settings)
    try:
        if fresh and base.path.is_dir():
            base.close()
            _forget(base.path)
        known = _read_figures(base.path / FIGURES)
        return base, known or _index(base, dataset)
    except BaseException:
        base.close()
        raise


def _matching(root: Path, settings: Settings) -> KnowledgeBase:
    """The first index below ``root`` that was made with the model in force, or a new one."""
    for number in itertools.count(1):
        folder = root / f"index-{number}"
        try:
            base = KnowledgeBase.open(folder, settings=settings)
            if read_manifest(folder) is not None:
                try:
                    base.describe()
                except BaseException:
                    base.close()
                    raise
            return base
        except (ModelMismatchError, IndexVersionError):
            continue
    raise AssertionError("unreachable")


def _index(base: KnowledgeBase, dataset: Dataset) -> Indexing:
    rows = list(dataset.documents()) if dataset.corpus else [_NO_CORPUS]
    documents = [
        _document(row, text) for row in rows if (text := normalise(row.text)).strip()
    ]  # fmt: skip
    say(f"indexing {len(documents):,} documents of {dataset.name} in {base.path}")
    started = time.perf_counter()
    with ingest_progress() as on_progress:
        report = base.add_documents(documents, on_progress=on_progress)
    indexing = Indexing(
        documents=len(documents),
        empty=len(rows) - len(documents),
        added=report.count("added") + report.count("updated"),
        seconds=time.perf_counter() - started,
    )
    _write_figures(base.path / FIGURES, indexing)
    return indexing


def _document(row: CorpusDocument, text: str) -> Document:
    title = " ".join(normalise(row.title).split())
    content = f"{title}\0{text}".encode("utf-8", "surrogatepass")
    return Document(
        source=row.id,
        title=title,
        text=text,
        content_hash=hashlib.sha256(content).hexdigest(),
        media_type="text/plain",
    )


def _corpus_digest(dataset: Dataset) -> str:
    digest = hashlib.blake2b(digest_size=8)
    if dataset.corpus is not None:
        try:
            with dataset.corpus.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
        except OSError as error:
            raise StorageError(f"{str(dataset.corpus)!r} cannot be read: {error}.") from error
        for condition in sorted((c.key, c.value) for c in dataset.corpus_where):
            digest.update("\0".join(condition).encode() + b"\1")
    return digest.hexdigest()


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name)[:60] or "dataset"


def _forget(folder: Path) -> None:
    """Removes an index, but for the vectors that were computed for it and what names its model."""
    (folder / FIGURES).unlink(missing_ok=True)
    shutil.rmtree(folder / STORE, ignore_errors=True)


def _read_figures(file: Path) -> Indexing | None:
    try:
        return Indexing(**{**json.loads(file.read_text(encoding="utf-8")), "cached": True})
    except (OSError, ValueError, TypeError):
        return None  # never finished: what is there already costs nothing to go over again


def _write_figures(file: Path, indexing: Indexing) -> None:
    try:
        file.write_text(json.dumps(asdict(indexing)), encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{str(file)!r} cannot be written: {error}. Give --cache.") from error
