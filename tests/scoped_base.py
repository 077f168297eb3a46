"""A knowledge base in which not everybody may see everything, each part with a word of its own.

No secret word stands in what another caller may see, so that a test can look for it in any reply.
"""

from __future__ import annotations

from pathlib import Path

from anabranch.knowledge_base import KnowledgeBase
from anabranch.settings import Settings

# collection, file, who may see it, text
DOCUMENTS = (
    ("handbook", "leave.md", (), "# Leave\n\nEvery employee has 27 days of annual leave a year."),
    (
        "handbook",
        "salaries.md",
        ("hr",),
        "# Salaries\n\nThe salary of the director, Quillfeather, is 190000 euros a year.",
    ),
    (
        "board",
        "minutes.md",
        (),
        "# Minutes\n\nThe board will sell the shipyard Marrowgate to a bank in March.",
    ),
    (
        "board",
        "merger.md",
        ("chair",),
        "# Merger\n\nThe merger with Oxtwistle costs 40 million euros and is kept quiet.",
    ),
)


def make(folder: Path) -> KnowledgeBase:
    """The documents in a knowledge base in ``folder``, open."""
    base = KnowledgeBase.open(folder / "kb", settings=Settings(threads=1))
    for collection, name, allowed, text in DOCUMENTS:
        file = folder / collection / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        base.add(file, collection=collection, allowed=allowed)
    return base
