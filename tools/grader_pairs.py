"""Questions with what the product's own retrieval finds for them, to fit the local grader on.

Reads BEIR folders below ``ANABRANCH_DATA`` (else ``../shared/data`` beside the checkout). Indexes are
those of ``anabranch eval --cache``, so that a set is embedded once. A set whose embedding would
take too long is cut to some hundred documents around a sample of its questions.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import pickle
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from anabranch import language
from anabranch.background import background_of
from anabranch.build import Built, build
from anabranch.evaluation.datasets import load_dataset
from anabranch.evaluation.index import open_index
from anabranch.fanout import retrieve
from anabranch.lexicon import Lexicon
from anabranch.ports import Budgets, RequestContext
from anabranch.settings import Settings, load_settings
from anabranch.trace import Trace, ignore_event
from anabranch.types import Background, Passage, Query, Scope

Kind = Literal["answerable", "off_topic", "unanswerable"]
Row = dict[str, Any]

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("ANABRANCH_DATA", ROOT.parent / "shared" / "data"))
SEED = 7
# What the grader is shown, and a little more, so that a change to it needs no new retrieval.
KEPT_PASSAGES = 12
GRADED = 10
# A user's own collection is often this small, in documents; cosines of a small one are lower at
# every rank, and so is what comes close by chance.
SMALL = (10, 30, 100, 300)


@dataclass(frozen=True, slots=True)
class SetSize:
    """How much of a set is taken; ``documents`` is None for a whole corpus.

    ``language`` is the metadata value of a multilingual set, and ``asked_in`` that of its questions
    where they are in another.
    """

    name: str
    answerable: int
    unanswerable: int
    documents: int | None = None
    language: str | None = None
    asked_in: str | None = None

    @property
    def label(self) -> str:
        languages = (name for name in (self.asked_in, self.language) if name)
        return ".".join((self.name, *languages))


ENGLISH = (
    SetSize("squad2_dev", 600, 600),
    SetSize("nomiracl_en", 250, 250),
    SetSize("multihop_rag_500", 213, 34, documents=800),
    SetSize("nq_open_oracle", 120, 0),
    SetSize("scifact", 100, 0, documents=400),
    SetSize("cranfield", 90, 0),
    SetSize("med", 30, 0),
    SetSize("cacm", 52, 0, documents=700),
    SetSize("hotpotqa_mix", 80, 0),
    SetSize("musique_100", 100, 0),
)
CHINESE = (
    SetSize("nomiracl_zh", 109, 128, documents=1),
    SetSize("cmrc2018", 100, 0, documents=250),
    SetSize("rgb_zh", 100, 0, documents=300),
    SetSize("xquad_12lang", 100, 0, language="zh"),
)
# The multilingual model takes twice as long for a passage.
MULTILINGUAL = (
    SetSize("squad2_dev", 250, 250, documents=250),
    SetSize("scifact", 60, 0, documents=200),
    SetSize("nomiracl_en", 150, 150, documents=1),
    SetSize("nomiracl_zh", 109, 128, documents=1),
    SetSize("cmrc2018", 100, 0, documents=250),
    SetSize("rgb_zh", 100, 0, documents=300),
    SetSize("xquad_12lang", 100, 0, language="zh"),
    SetSize("xquad_12lang", 100, 0, language="en", asked_in="zh"),
)
# Asked and measured in full: every pair of these has a bar.
CROSSED_MORE = frozenset(("scifact", "squad2_dev", "cranfield", "med", "cacm", "multihop_rag_500"))
# Sets whose questions could well be answered by the other's documents are never crossed.
_SAME_FIELD = (
    {"pubmedqa", "scifact"}, {"pubmedqa", "med"}, {"hotpotqa_mix", "musique_100"},
    {"musique_100", "squad2_dev"}, {"xquad_12lang.zh", "squad2_dev"},
    {"xquad_12lang.zh.en", "squad2_dev"}, {"xquad_12lang.zh.en", "xquad_12lang.zh"},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pair:
    """One question, what was found for it in one collection, and whether that answers it."""

    question_set: str
    corpus_set: str
    kind: Kind
    question: str
    passages: tuple[Passage, ...]
    background: Background
    lexicon: Lexicon
    shortened: bool = False
    small: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """Questions of one set, and the documents kept for them."""

    name: str
    questions: list[Row]
    gold: dict[str, list[str]]
    documents: list[Row]


def read_jsonl(path: Path) -> Iterator[Row]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    # Not splitlines(): the texts hold other line separators.
    for line in text.decode().split("\n"):
        if line:
            yield json.loads(line)


def _relevant(folder: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for file in sorted((folder / "qrels").glob("*.tsv")):
        for line in file.read_text().splitlines()[1:]:
            question, document, grade = line.split("\t")
            if float(grade) > 0:
                found.setdefault(question, []).append(document)
    return found


def sample(size: SetSize) -> Sample:
    """Questions of a set, their relevant documents, and others up to ``size.documents``."""
    folder, random_order = DATA / size.name, random.Random(SEED)

    def spoken(row: Row, language: str | None) -> bool:
        return language is None or row["metadata"].get("lang") == language

    corpus = {
        str(row["_id"]): row
        for row in read_jsonl(folder / "corpus.jsonl.gz")
        if spoken(row, size.language) and row["text"].strip()
    }
    gold = _relevant(folder)
    asked_in = size.asked_in or size.language
    rows = [row for row in read_jsonl(folder / "queries.jsonl.gz") if spoken(row, asked_in)]
    random_order.shuffle(rows)
    answered = [row for row in rows if row["metadata"].get("answerable") and _has_gold(row, gold)]
    unanswered = [row for row in rows if row["metadata"].get("answerable") is False]
    chosen = answered[: size.answerable] + unanswered[: size.unanswerable]
    kept = [name for row in chosen for name in _needed(row, gold) if name in corpus]
    others = sorted(corpus)
    random_order.shuffle(others)
    limit = max(size.documents or len(corpus), len(set(kept)))
    taken = [corpus[name] for name in list(dict.fromkeys(kept + others))[:limit]]
    return Sample(size.label, chosen + _shortened(chosen, taken), gold, taken)


def _has_gold(row: Row, gold: dict[str, list[str]]) -> bool:
    return bool(row["metadata"].get("candidates") or gold.get(str(row["_id"])))


def _needed(row: Row, gold: dict[str, list[str]]) -> list[str]:
    metadata = row["metadata"]
    near = [metadata["near_miss_doc"]] if metadata.get("near_miss_doc") else []
    return [*(metadata.get("candidates") or gold.get(str(row["_id"]), [])[:4]), *near]


def _shortened(rows: Sequence[Row], documents: Sequence[Row]) -> list[Row]:
    """Every third answerable question again as its three to five rarest words, as people type them.

    The sets ask in long sentences; without these the model learns that few matches are no answer.
    """
    counts: Counter[str] = Counter()
    for row in documents:
        counts.update(set(language.words(row["text"])))
    made = []
    for number, row in enumerate(row for row in rows if row["metadata"].get("answerable")):
        words = language.words(row["text"])
        if number % 3 or language.has_cjk(row["text"]) or len(words) < 7:
            continue
        content = [word for word in words if language.terms(word)]
        rarest = sorted(content, key=lambda word: (counts[word], word))
        kept = set(rarest[: 3 + number % 9 // 3])
        text = " ".join(word for word in content if word in kept)
        made.append({**row, "text": text, "shortened": True})
    return made


# ------------------------------------------------------------------------------------- retrieving


def index(size: SetSize, taken: Sample, cache: Path, *, settings: Settings) -> Path:
    """The folder of a knowledge base with the documents of ``taken``, made on the first call only."""
    folder = DATA / size.name
    where = [f"lang={size.language}"] if size.language and size.documents is None else []
    if size.documents is not None:
        folder = cache / "samples" / size.label
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows in (("corpus", taken.documents), ("queries", taken.questions[:1])):
            lines = (json.dumps(row, ensure_ascii=False) for row in rows)
            (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    splits = sorted(file.stem for file in (folder / "qrels").glob("*.tsv"))
    dataset = load_dataset(folder, split=next(iter(splits), None), corpus_where=where)
    base, figures = open_index(dataset, cache, settings=settings)
    base.close()
    print(size.label, figures.documents, "documents in", base.path.parent.name)
    return base.path


async def find(built: Built, question: str, scope: Scope) -> tuple[tuple[Passage, ...], Background]:
    """What the workflow's own retrieval gives the grader for ``question``, variants and all."""
    now = time.perf_counter()
    budgets = Budgets()
    context = RequestContext(
        built.parts, scope, budgets, now, now + 60, index_fingerprint="", signing_key=b""
    )
    lexicon = await built.parts.store.lexicon(scope)
    variants = await built.parts.planner.variants(question, lexicon=lexicon, limit=budgets.variants)
    docs = await retrieve(
        Query("q1", question, "original"), context,
        trace=Trace(ignore_event, now), parent="fit", variants=variants,
    )  # fmt: skip
    kept = docs.passages[:KEPT_PASSAGES]
    return tuple(_bare(passage) for passage in kept), background_of(docs)


def _bare(passage: Passage) -> Passage:
    """``passage`` without what grading does not read and a pickle cannot hold."""
    return replace(passage, chunk=replace(passage.chunk, metadata={}), provenance=())


async def pairs_of(
    corpus: Sample, folder: Path, others: Sequence[Sample], *, crossed: int, settings: Settings
) -> list[Pair]:
    """The set's own questions and those of ``others`` asked of its documents."""
    built = await build(folder, settings, create=False)
    if built is None:
        raise SystemExit(f"{str(folder)!r} has no knowledge base: run with 'index' first.")
    order, names = random.Random(SEED), [str(row["_id"]) for row in corpus.documents]
    found: list[Pair] = []
    for row in corpus.questions:
        scopes = [(Scope(sources=tuple(row["metadata"].get("candidates") or ())), False)]
        if not row["metadata"].get("candidates"):
            near = [name for name in _needed(row, corpus.gold) if name in set(names)]
            few = (*near, *order.sample(names, max(_small(order, names) - len(near), 0)))
            scopes = [(Scope(), False), (Scope(sources=few), True)]
        for scope, small in scopes:
            if small and order.random() > 0.35:
                continue
            kind: Kind = "answerable" if row["metadata"].get("answerable") else "unanswerable"
            found.append(await _pair(built, corpus.name, corpus.name, kind, row, scope, small))
    for other in others:
        if other.name == corpus.name or any({other.name, corpus.name} <= f for f in _SAME_FIELD):
            continue
        barred = {corpus.name, other.name} <= CROSSED_MORE
        number = 4 * crossed if barred else crossed
        whole = [r for r in other.questions if not r.get("shortened")]
        rows = whole[:number] + [r for r in other.questions if r.get("shortened")][: crossed // 4]
        for number, row in enumerate(rows):
            small = number % 3 == 2
            scope = (
                Scope(sources=tuple(order.sample(names, _small(order, names))))
                if small
                else Scope()
            )
            found.append(
                await _pair(built, other.name, corpus.name, "off_topic", row, scope, small)
            )
    await built.close()
    return found


def _small(order: random.Random, names: Sequence[str]) -> int:
    return order.choice([size for size in SMALL if size < len(names)])


async def _pair(
    built: Built,
    question_set: str,
    corpus_set: str,
    kind: Kind,
    row: Row,
    scope: Scope,
    small: bool,
) -> Pair:
    passages, background = await find(built, row["text"], scope)
    return Pair(
        question_set, corpus_set, kind, row["text"], passages, background,
        _needed_words(await built.parts.store.lexicon(scope), row["text"]),
        shortened="shortened" in row, small=small,
    )  # fmt: skip


def _needed_words(lexicon: Lexicon, question: str) -> Lexicon:
    """The lexicon cut to what grading looks up, so that a thousand pairs fit on the disk."""
    near = {word[:4] for word in (*language.words(question), *language.terms(question))}
    tokens = {language.fold(word) for word in language.words(question)}
    return Lexicon(
        document_count=lexicon.document_count,
        word_count=lexicon.word_count,
        words={word: count for word, count in lexicon.words.items() if word[:4] in near},
        short_forms={key: found for key, found in lexicon.short_forms.items() if key in tokens},
        phrases={key: found for key, found in lexicon.phrases.items() if key in tokens},
    )


def collect(
    sizes: Sequence[SetSize], cache: Path, *, crossed: int, models: Path | None = None
) -> list[Pair]:
    """All pairs of the sets, from the cache where they have been found before.

    ``models`` is where the multilingual model is: what is found is found with it.
    """
    name = "bundled" if models is None else "multilingual"
    settings = load_settings(embedder=name, models_dir=models)
    samples = [sample(size) for size in sizes]
    found: list[Pair] = []
    for size, corpus in zip(sizes, samples, strict=True):
        file = cache / "pairs" / name / f"{corpus.name}.pickle"
        if not file.exists():
            folder = index(size, corpus, cache, settings=settings)
            pairs = asyncio.run(
                pairs_of(corpus, folder, samples, crossed=crossed, settings=settings)
            )
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(pickle.dumps(pairs))
            print(corpus.name, len(pairs), "pairs")
        found.extend(pickle.loads(file.read_bytes()))
    return found
