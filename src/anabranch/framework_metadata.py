"""Evidence as other frameworks' documents carry it: a text, and metadata in plain values; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from anabranch.errors import RunError
from anabranch.types import EMPTY, Evidence, Outcome, to_plain


class Retrieves(Protocol):
    """What is needed of a knowledge base."""

    def retrieve(self, question: str, **options: Any) -> Outcome: ...

    async def aretrieve(self, question: str, **options: Any) -> Outcome: ...


def best_effort(options: Mapping[str, Any], more: Mapping[str, Any] = EMPTY) -> dict[str, Any]:
    """Options of a request in which nobody can be asked back; what is None is left to ``options``."""
    given = {name: value for name, value in more.items() if value is not None}
    return {**options, **given, "interactive": False}


def evidence_of(outcome: Outcome) -> tuple[Evidence, ...]:
    """The evidence, which is empty where the documents do not know.

    Raises RunError for a run that failed: to a chain it must not look like one that found nothing.
    """
    if outcome.status == "failed":
        told = "; ".join(f"{f.where}: {f.kind} {f.detail}".rstrip() for f in outcome.failures[:3])
        raise RunError(f"{outcome.question!r:.200} could not be searched: {told or 'no result'}")
    return outcome.evidence


def metadata_of(item: Evidence, outcome: Outcome) -> dict[str, Any]:
    """What is known of a piece of evidence beside its text, as JSON values.

    All fields of the evidence (``source``, ``page``, ``start``, ``end``, ``score``, ``relevance``,
    ``provenance``, …), its id as ``evidence``, ``status`` and ``confidence`` of the whole outcome,
    and as ``trace`` the ids of the steps that found it.
    """
    plain: dict[str, Any] = to_plain(item)
    del plain["text"]
    steps = [event.id for event in outcome.trace if event.detail.get("query") in item.found_by]
    return {
        **plain,
        "evidence": plain.pop("id"),
        "status": outcome.status,
        "confidence": outcome.confidence,
        "trace": steps,
    }
