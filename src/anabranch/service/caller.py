"""Who is asking, and what they may: every route takes a ``Caller`` and hands its scope on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Depends, Request

from anabranch.errors import AccessError, CollectionNotFoundError

Role = Literal["reader", "editor", "admin"]
# What a role may, the ones before it may not.
_RANKS: dict[Role, int] = {"reader": 0, "editor": 1, "admin": 2}


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever sent a request.

    ``name`` owns the sessions and jobs that are made. ``collections`` and ``principals`` are what
    may be seen, as in ``types.Scope``: None is no restriction, an empty tuple is nothing.
    """

    name: str
    role: Role
    collections: tuple[str, ...] | None = None
    principals: tuple[str, ...] | None = None

    def narrowed(self, collections: Sequence[str] | None) -> tuple[str, ...] | None:
        """The collections of a request: what it names, or else all that the caller may see.

        Raises CollectionNotFoundError for one that the caller may not see: as if it were not there.
        """
        if collections is None or self.collections is None:
            return self.collections if collections is None else tuple(collections)
        for name in collections:
            if name not in self.collections:
                there = ", ".join(repr(other) for other in self.collections) or "none"
                raise CollectionNotFoundError(
                    f"There is no collection {name!r}. Those that are there: {there}."
                )
        return tuple(collections)

    def require(self, role: Role) -> None:
        """Raises AccessError where the caller has less than ``role``."""
        if _RANKS[self.role] < _RANKS[role]:
            raise AccessError(f"This needs the role {role!r}; the key has {self.role!r}.")


OWNER = Caller("owner", "admin")


async def caller(request: Request) -> Caller:
    """Whoever sent the request; without any key that is the owner, on loopback."""
    return OWNER


def _at_least(role: Role) -> Callable[[Caller], Caller]:
    def check(caller: Annotated[Caller, Depends(caller)]) -> Caller:
        caller.require(role)
        return caller

    return check


Reader = Annotated[Caller, Depends(caller)]
Editor = Annotated[Caller, Depends(_at_least("editor"))]
