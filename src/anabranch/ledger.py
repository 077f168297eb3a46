"""What the model calls of one request cost, and what failed where a local part then took over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.errors import AnabranchError, RemoteError
from anabranch.types import EMPTY, Failure, Role, RoleUsage, Usage

# Of a million tokens in, and of a million tokens out, as providers print their prices.
Price = tuple[float, float]
_MILLION = 1_000_000


def failure_of(where: str, error: Exception) -> Failure:
    """``error`` as a failure of the request, which goes on without what raised it."""
    kind = error.kind if isinstance(error, RemoteError) else type(error).__name__
    said = str(error) if isinstance(error, AnabranchError) else f"{type(error).__name__}: {error}"
    return Failure(where, kind, said[:300])


@dataclass(slots=True)
class ModelCall:
    """One call that was sent; its tokens are known when it has been answered."""

    role: Role
    model: str
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(slots=True)
class Ledger:
    """Kept by one request and nobody else; ``prices`` are by the model's name as it was set."""

    prices: Mapping[str, Price] = field(default_factory=lambda: EMPTY)
    calls: list[ModelCall] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    cached: int = 0

    def begin(self, role: Role, model: str) -> ModelCall:
        """A call that is sent now: it counts whatever becomes of it."""
        call = ModelCall(role, model)
        self.calls.append(call)
        return call

    def usage(self) -> Usage:
        """All calls so far; ``cost`` only where every model that was called has a price."""
        by_role: dict[str, RoleUsage] = {}
        for call in self.calls:
            spent = RoleUsage(1, call.input_tokens, call.output_tokens)
            by_role[call.role] = by_role.get(call.role, RoleUsage()) + spent
        return Usage(
            model_calls=len(self.calls),
            input_tokens=sum(call.input_tokens for call in self.calls),
            output_tokens=sum(call.output_tokens for call in self.calls),
            by_role=by_role,
            cached=self.cached,
            cost=self._cost(),
        )

    def _cost(self) -> float | None:
        if not self.calls or any(call.model not in self.prices for call in self.calls):
            return None
        return sum(
            call.input_tokens * self.prices[call.model][0] / _MILLION
            + call.output_tokens * self.prices[call.model][1] / _MILLION
            for call in self.calls
        )
