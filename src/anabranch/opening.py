"""What is open of a knowledge base: opened when first needed, anew when its index was replaced."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.errors import CollectionNotFoundError, InputError
from anabranch.request import names_of
from anabranch.settings import Settings
from anabranch.types import FOREIGN, Scope

if TYPE_CHECKING:
    from anabranch.build import Built
    from anabranch.ports import Retriever

Opener = Callable[[bool], Awaitable["Built | None"]]


class Opening:
    """The parts of one knowledge base, and which of its documents a caller may name.

    ``opener`` builds the parts; given True it makes the folder where there is none. Everything is
    used from one event loop.
    """

    def __init__(
        self,
        opener: Opener,
        *,
        settings: Settings,
        path: Path,
        retrievers: Sequence[Retriever] = (),
    ) -> None:
        self.path = path
        self.settings = settings
        self.retrievers = tuple(retrievers)
        self._opener = opener
        self._built: Built | None = None
        self._replaced: list[Built] = []
        self._lock = asyncio.Lock()

    async def open(self, *, create: bool = False) -> Built:
        """The parts of the index as it is now. ``create`` makes a knowledge base where there is none.

        Raises InputError where there is none, ConfigurationError where it does not fit.
        """
        if self._built is None or self.is_replaced(self._built):
            async with self._lock:
                if self._built is not None and self.is_replaced(self._built):
                    # Requests under way go on with it; it is closed with the knowledge base.
                    self._replaced.append(self._built)
                    self._built = None
                if self._built is None:
                    self._built = await self._opener(create)
        if self._built is None:
            raise InputError(
                f"There is no knowledge base in {str(self.path)!r} yet. Add documents first: "
                "anabranch add PATH"
            )
        return self._built

    def is_replaced(self, built: Built) -> bool:
        """Whether the documents were embedded again since, by this process or another one."""
        from anabranch.manifest import signature

        return built.signature is not None and signature(self.path) != built.signature

    async def checked_scope(
        self, built: Built, wanted: Scope, within: Sequence[str] | None
    ) -> Scope:
        """What is wanted, of what may be seen.

        Raises CollectionNotFoundError for a collection that is not there. One that may not be seen
        is not there either: same error, same words.
        """
        if wanted.collections is None and within is None:
            return wanted
        known = await self.nameable(built, wanted, within)
        for name in wanted.collections or ():
            if name not in known:
                there = ", ".join(repr(other) for other in known) or "none yet"
                raise CollectionNotFoundError(
                    f"There is no collection {name!r}. Those that are there: {there}."
                )
        return replace(wanted, collections=tuple(known)) if wanted.collections is None else wanted

    async def nameable(
        self, built: Built, wanted: Scope, within: Sequence[str] | None
    ) -> list[str]:
        """The collections that the caller may name, those of foreign retrievers last."""
        from anabranch.foreign_legs import is_open_to

        principals, seen = wanted.principals, names_of(within)
        known = await built.parts.store.collections(Scope(principals=principals))
        foreign = [r.name for r in self.retrievers if is_open_to(r, principals)]
        known += [FOREIGN + name for name in foreign]
        return known if seen is None else [name for name in known if name in seen]

    async def close(self) -> None:
        """Close what is open; the next use opens it again."""
        for built in (*self._replaced, *filter(None, [self._built])):
            await built.close()
        self._replaced, self._built = [], None
        # A lock belongs to the loop that it was first waited for in, and that one ends now.
        self._lock = asyncio.Lock()
