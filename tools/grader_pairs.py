"""Questions with what a quick retrieval finds for them, to fit the local grader on.

Reads BEIR folders below ``ANABRANCH_DATA`` (else ``../shared/data`` beside the checkout). Each set
is cut to a few hundred passages around a sample of its questions, because the encoder reads about
twenty passages a second; vectors are cached by content.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import os
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from anabranch import language
from anabranch.lexicon import Lexicon
from anabranch.types import Chunk, Passage

Kind = Literal["answerable", "off_topic", "unanswerable"]
Row = dict[str, Any]

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("ANABRANCH_DATA", ROOT.parent / "shared" / "data"))
MODEL = Path(os.environ.get("ANABRANCH_MODEL", ROOT.parent / "shared" / "models" / "minilm"))
CACHE = Path(tempfile.gettempdir()) / "anabranch-fit-vectors.npz"

# Sets whose questions could well be answered by the other's documents are never crossed.
_SAME_FIELD = ({"scifact", "med"},)


@dataclass(frozen=True, slots=True)
class Pair:
    """One question, the passages found for it in one collection, and whether they answer it."""

    question_set: str
    corpus_set: str
    kind: Kind
    question: str
    passages: tuple[Passage, ...]
    lexicon: Lexicon
    shortened: bool = False


@dataclass(slots=True)
class Collection:
    """The cut corpus of one set, ready to be searched."""

    name: str
    chunks: list[Chunk]
    document_ids: list[str]
    lexicon: Lexicon
    vectors: npt.NDArray[np.float32] | None
    postings: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    lengths: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def index(self) -> None:
        lengths = []
        for number, chunk in enumerate(self.chunks):
            counts = Counter(language.terms(f"{chunk.title}\n{chunk.text}"))
            lengths.append(sum(counts.values()))
            for term, count in counts.items():
                self.postings.setdefault(term, []).append((number, count))
        self.lengths = np.asarray(lengths, dtype=np.float64)

    def text_scores(self, question: str) -> npt.NDArray[np.float64]:
        """BM25 with the usual k1 = 1.2, b = 0.75 (Robertson and Zaragoza 2009, section 3)."""
        scores = np.zeros(len(self.chunks))
        mean = max(float(self.lengths.mean()), 1.0)
        for term in language.question_terms(question):
            found = self.postings.get(term, [])
            rarity = math.log(1 + (len(self.chunks) - len(found) + 0.5) / (len(found) + 0.5))
            for number, count in found:
                norm = 1.2 * (0.25 + 0.75 * self.lengths[number] / mean)
                scores[number] += rarity * count * 2.2 / (count + norm)
        return scores

    def search(
        self, question: str, vector: npt.NDArray[np.float32] | None, *, only: set[int] | None = None
    ) -> tuple[Passage, ...]:
        """The best eight by the normalised sum of both legs."""
        text = self.text_scores(question)
        cosine = None
        fused = _scaled(text)
        if vector is not None and self.vectors is not None:
            cosine = self.vectors @ vector
            fused = (fused + _scaled(cosine.astype(np.float64))) / 2
        order = [int(i) for i in np.argsort(-fused, kind="stable") if only is None or i in only]
        return tuple(
            Passage(
                chunk=self.chunks[number],
                score=float(fused[number]),
                similarity=None if cosine is None else float(cosine[number]),
            )
            for number in order[:8]
            if cosine is not None or text[number] > 0
        )


def _scaled(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    low, high = float(scores.min()), float(scores.max())
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)


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


def leaves(text: str, *, limit: int = 600) -> list[tuple[int, int]]:
    """Whole sentences packed into spans of at most ``limit`` characters, like leaf chunks."""
    spans: list[tuple[int, int]] = []
    for start, end in language.sentence_spans(text):
        if spans and end - spans[-1][0] <= limit:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans


def _chunks(row: Row) -> list[Chunk]:
    text, source = row["text"], str(row["_id"])
    return [
        Chunk(
            chunk_id=f"{source}:{number}", source_id=source, collection="default", source=source,
            title=row.get("title") or "", text=text[start:end], start=start, end=end,
            chunk_index=number, level=3, content_hash="",
        )
        for number, (start, end) in enumerate(leaves(text))
    ]  # fmt: skip


def count_words(texts: Sequence[str]) -> Lexicon:
    """A lexicon of document counts alone: words, and the pairs of every CJK run."""
    counts: Counter[str] = Counter()
    for text in texts:
        found = set(language.words(text)) | set(language.cjk_bigrams(text))
        counts.update(found)
    return Lexicon(document_count=len(texts), words=dict(counts))


@dataclass(frozen=True, slots=True)
class Sample:
    """Questions of one set, and the documents kept for them."""

    name: str
    questions: list[Row]
    gold: dict[str, list[str]]
    documents: list[Row]


def sample(name: str, *, questions: int, documents: int, seed: int) -> Sample:
    """At most ``questions`` of a set, their relevant documents, and others up to ``documents``."""
    folder, random_order = DATA / name, random.Random(seed)
    corpus = {str(row["_id"]): row for row in read_jsonl(folder / "corpus.jsonl.gz")}
    gold = _relevant(folder)
    rows = list(read_jsonl(folder / "queries.jsonl.gz"))
    usable = [
        row
        for row in rows
        if row["metadata"].get("candidates")
        or (row["metadata"].get("answerable") and gold.get(str(row["_id"])))
        or row["metadata"].get("near_miss_doc") in corpus
    ]
    random_order.shuffle(usable)
    chosen = usable[:questions]
    kept: list[str] = []
    for row in chosen:
        kept.extend(row["metadata"].get("candidates") or gold.get(str(row["_id"]), [])[:3])
        if row["metadata"].get("near_miss_doc"):
            kept.append(row["metadata"]["near_miss_doc"])
    others = sorted(corpus)
    random_order.shuffle(others)
    ids = list(dict.fromkeys([i for i in kept if i in corpus] + others))
    limit = max(documents, len(dict.fromkeys(kept)))
    taken = [corpus[i] for i in ids[:limit] if corpus[i]["text"].strip()]
    return Sample(name, chosen + _shortened(chosen, taken), gold, taken)


def _shortened(rows: Sequence[Row], documents: Sequence[Row]) -> list[Row]:
    """Every third answerable question again as its three to five rarest words, as people type them.

    The sets ask in long sentences; without these the model learns that few matches are no answer.
    """
    lexicon = count_words([row["text"] for row in documents])
    made = []
    for number, row in enumerate(row for row in rows if row["metadata"].get("answerable")):
        words = language.words(row["text"])
        if number % 3 or language.has_cjk(row["text"]) or len(words) < 7:
            continue
        content = [word for word in words if language.terms(word)]
        rarest = sorted(content, key=lambda word: (lexicon.words.get(word, 0), word))
        kept = set(rarest[: 3 + number % 9 // 3])
        text = " ".join(word for word in content if word in kept)
        made.append({**row, "text": text, "shortened": True})
    return made


def build_collection(taken: Sample, *, dense: bool) -> Collection:
    chunks = [chunk for row in taken.documents for chunk in _chunks(row)]
    texts = [f"{chunk.title}\n{chunk.text}".strip() for chunk in chunks]
    made = Collection(
        name=taken.name,
        chunks=chunks,
        document_ids=[chunk.source for chunk in chunks],
        lexicon=count_words(
            [f"{row.get('title') or ''}\n{row['text']}" for row in taken.documents]
        ),
        vectors=embed(texts) if dense else None,
    )
    made.index()
    return made


def own_pairs(taken: Sample, corpus: Collection, *, dense: bool) -> Iterator[Pair]:
    """The set's own questions asked of its own documents."""
    vectors = embed([row["text"] for row in taken.questions]) if dense else None
    for number, row in enumerate(taken.questions):
        only = None
        if row["metadata"].get("candidates"):
            candidates = set(row["metadata"]["candidates"])
            only = {i for i, name in enumerate(corpus.document_ids) if name in candidates}
        vector = None if vectors is None else vectors[number]
        passages = corpus.search(row["text"], vector, only=only)
        kind: Kind = "answerable" if row["metadata"].get("answerable") else "unanswerable"
        yield Pair(
            taken.name, taken.name, kind, row["text"], passages, corpus.lexicon, "shortened" in row
        )


def crossed_pairs(
    taken: Sample, corpus: Collection, *, dense: bool, limit: int, small: bool, seed: int
) -> Iterator[Pair]:
    """Questions of one set asked of another's documents; ``small`` keeps thirty of its passages."""
    if taken.name == corpus.name or any({taken.name, corpus.name} <= f for f in _SAME_FIELD):
        return
    answerable = [row for row in taken.questions if row["metadata"].get("answerable")]
    whole = [row for row in answerable if not row.get("shortened")][:limit]
    rows = whole + [row for row in answerable if row.get("shortened")][: limit // 3]
    vectors = embed([row["text"] for row in rows]) if dense else None
    order = random.Random(seed)
    for number, row in enumerate(rows):
        only = set(order.sample(range(len(corpus.chunks)), 30)) if small else None
        vector = None if vectors is None else vectors[number]
        passages = corpus.search(row["text"], vector, only=only)
        yield Pair(
            taken.name,
            corpus.name,
            "off_topic",
            row["text"],
            passages,
            corpus.lexicon,
            "shortened" in row,
        )


_known: dict[str, npt.NDArray[np.float32]] = {}


def embed(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """Unit vectors of ``texts``, one call a text: int8 activations depend on their batch."""
    if not _known and CACHE.exists():
        with np.load(CACHE) as stored:
            _known.update(zip(stored["keys"].tolist(), stored["vectors"], strict=True))
    keys = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in _known}
    if missing:
        _encode(missing)
        np.savez(CACHE, keys=np.array(list(_known)), vectors=np.stack(list(_known.values())))
    return np.stack([_known[key] for key in keys])


def _encode(missing: dict[str, str]) -> None:
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    tokenizer.enable_truncation(256)
    tokenizer.no_padding()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(str(MODEL / "model.onnx"), options)
    for key, text in missing.items():
        ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        _known[key] = session.run(["sentence_embedding"], feeds)[0][0]
