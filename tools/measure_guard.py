"""How often the citation guard and the finders of personal data are right, on passages of open sets.

For each passage one of its sentences is cited to it as it stands (to be passed), to another passage
(to be flagged), and with one of its numbers changed (to be flagged, unless the passage happens to
have the other number too). Then what of the passages passes for personal data, and in what time.

    ANABRANCH_DATA=… python tools/measure_guard.py squad2_dev cmrc2018 scifact
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from anabranch.citations import guard
from anabranch.language import sentence_spans
from anabranch.privacy.findings import merged
from anabranch.privacy.patterns import PatternFinder
from anabranch.types import Answer, Evidence

ROOT = Path(__file__).resolve().parents[1]
PASSAGES = 800
LEAST_CHARACTERS = 25
SEED = 1


def main(names: list[str]) -> None:
    data = Path(os.environ.get("ANABRANCH_DATA", ROOT.parent / "shared" / "data"))
    finder = PatternFinder(("US", "GB", "DE", "CN"))
    for name in names:
        texts = list(islice(passages(data / name), PASSAGES))
        print(name, *(f"{what} {count}" for what, count in guarded(texts).items()), sep=", ")
        started = time.perf_counter()
        kinds = Counter(one.kind for text in texts for one in merged(text, finder.find(text)))
        each = (time.perf_counter() - started) * 1000 / max(len(texts), 1)
        print(f"  personal data in {len(texts)} passages: {dict(kinds)}, {each:.1f} ms each")


def passages(folder: Path) -> Iterator[str]:
    file = next(folder.glob("corpus.jsonl*"))
    opener = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield str(json.loads(line).get("text", ""))[:2_000]


def guarded(texts: list[str]) -> Counter[str]:
    chance = random.Random(SEED)
    counts: Counter[str] = Counter()
    for index, text in enumerate(texts):
        spans = sentence_spans(text)
        start, end = chance.choice(spans) if spans else (0, 0)
        sentence = text[start:end].rstrip(".。!?！？ ")
        if len(sentence) < LEAST_CHARACTERS or "\n" in sentence:
            continue
        counts["sentences"] += 1
        counts["flagged as they stand"] += is_flagged(sentence, text)
        counts["flagged of another passage"] += is_flagged(
            sentence, texts[(7 * index + 13) % len(texts)]
        )
        if numbers := re.findall(r"\d+", sentence):
            number = chance.choice(numbers)
            other = str(int(number) + chance.choice([1, 2, 7]))
            counts["with a number"] += 1
            counts["flagged with it changed"] += is_flagged(
                sentence.replace(number, other, 1), text
            )
    return counts


def is_flagged(sentence: str, passage: str) -> bool:
    item = Evidence(
        id="e1", chunk_id="c", chunk_index=0, collection="default", source_id="s", text=passage,
        source="a.md", title="", page=None, start=0, end=len(passage), level=3, score=1.0,
        relevance=1.0,
    )  # fmt: skip
    return bool(guard(Answer(f"{sentence} [1].", "llm"), [item]).unsupported)


if __name__ == "__main__":
    main(sys.argv[1:])
