"""Conflicts without a model: those that the rules found (``conflicts.find``)."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.types import Conflict, Evidence


class LocalConflictFinder:
    async def find(
        self, question: str, evidence: Sequence[Evidence], known: Sequence[Conflict]
    ) -> tuple[Conflict, ...]:
        """``known``: the outcome has them already, and no other rule is left."""
        return tuple(known)
