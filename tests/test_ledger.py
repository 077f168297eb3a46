"""What a request's model calls come to, by role, with their price where it is known."""

from __future__ import annotations

import pytest

from anabranch.ledger import Ledger
from anabranch.types import RoleUsage, Usage


def spent(ledger: Ledger, role: str, model: str, tokens: tuple[int, int]) -> None:
    call = ledger.begin(role, model)  # type: ignore[arg-type]
    call.input_tokens, call.output_tokens = tokens


def test_calls_and_tokens_are_counted_by_role() -> None:
    ledger = Ledger()
    spent(ledger, "plan", "small", (100, 10))
    spent(ledger, "grade", "small", (200, 20))
    spent(ledger, "grade", "small", (300, 30))
    usage = ledger.usage()
    assert (usage.model_calls, usage.input_tokens, usage.output_tokens) == (3, 600, 60)
    assert usage.by_role == {"plan": RoleUsage(1, 100, 10), "grade": RoleUsage(2, 500, 50)}
    assert usage.cost is None


def test_a_call_counts_before_it_is_answered() -> None:
    ledger = Ledger()
    ledger.begin("plan", "small")
    assert ledger.usage().model_calls == 1


def test_a_price_is_of_a_million_tokens() -> None:
    ledger = Ledger({"small": (1.0, 2.0), "large": (10.0, 20.0)})
    spent(ledger, "plan", "small", (1_000_000, 500_000))
    spent(ledger, "answer", "large", (100_000, 100_000))
    assert ledger.usage().cost == pytest.approx(1 + 1 + 1 + 2)


def test_a_model_without_a_price_leaves_the_cost_open() -> None:
    ledger = Ledger({"small": (1.0, 2.0)})
    spent(ledger, "plan", "small", (10, 10))
    spent(ledger, "answer", "large", (10, 10))
    assert ledger.usage().cost is None


def test_usage_adds_up() -> None:
    first = Usage(1, 10, 1, {"plan": RoleUsage(1, 10, 1)}, cached=1, cost=0.5)
    second = Usage(2, 20, 2, {"plan": RoleUsage(1, 5, 1), "answer": RoleUsage(1, 15, 1)}, cost=0.25)
    assert first + second == Usage(
        3, 30, 3, {"plan": RoleUsage(2, 15, 2), "answer": RoleUsage(1, 15, 1)}, cached=1, cost=0.75
    )
    assert (first + Usage()).cost == 0.5
    assert (first + Usage(1)).cost is None
    assert (Usage() + Usage()).cost is None
