"""Who asks, what of a knowledge base they may see, and how often: the same for every front."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from anabranch.errors import KeyRefusedError, NotAllowedError, RateLimitError, StorageError
from anabranch.keys import OWNER_NAME, ROLES, Key, KeyBook, Role
from anabranch.ports import RateStore
from anabranch.request import CallerScope

logger = logging.getLogger(__name__)

# Keys of which the rate is remembered; the longest unused is forgotten, and has a full bucket again.
REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. ``None`` is no restriction of that kind: all collections, the owner's view.

    ``name`` is who sessions belong to. An administrator sees every document of the collections of
    the key; anybody else those that name one of ``principals``, or nobody.
    """

    name: str
    role: Role = "reader"
    collections: tuple[str, ...] | None = None
    principals: tuple[str, ...] | None = ()
    key_id: str | None = None

    def require(self, role: Role) -> None:
        """Raises NotAllowedError unless the caller has ``role`` or a higher one."""
        if ROLES.index(self.role) < ROLES.index(role):
            raise NotAllowedError(
                f"This takes a key with the role {role!r}; {self.name!r} has {self.role!r}."
            )

    def may_name(self, collection: str) -> bool:
        """Whether ``collection`` is among those of the key, be it there yet or not."""
        return self.collections is None or collection in self.collections

    @property
    def scope(self) -> CallerScope:
        """What the caller may see, for any method of a knowledge base."""
        return {"within": self.collections, "principals": self.principals}

    def covers(self, scope: CallerScope) -> bool:
        """Whether all that could be seen within ``scope`` may be seen by the caller."""
        return _covers(self.collections, scope.get("within")) and _covers(
            self.principals, scope.get("principals")
        )


def _covers(mine: Sequence[str] | None, theirs: Sequence[str] | None) -> bool:
    return mine is None or (theirs is not None and set(theirs) <= set(mine))


# Whoever has the folder has everything in it: the caller where no key was ever made.
OWNER = Caller(OWNER_NAME, "admin", principals=None)


def is_loopback(host: str) -> bool:
    """Whether ``host`` can only be reached from this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def caller_of(key: Key) -> Caller:
    principals = None if key.role == "admin" else key.principals
    return Caller(key.name, key.role, key.collections, principals, key.id)


class Gate:
    """Lets callers in by their key, each as often as ``per_minute`` allows (0: no limit).

    A full bucket holds a minute's worth. With ``rates`` all processes over them have one bucket for
    a key, out of which each takes a second's worth at a time: what one has taken the others do not
    get. Without, or while they cannot be reached, each counts for itself: the limit is there to share
    a service fairly, and keeping everybody out would not. ``clock`` counts seconds and never goes
    back.
    """

    def __init__(
        self, book: KeyBook, *, per_minute: int = 0, rates: RateStore | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._book = book
        self._per_minute = per_minute
        self._rates = rates
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}
        self._taken: dict[str, int] = {}

    @property
    def keyed(self) -> bool:
        """Whether a key is asked for."""
        return self._book.in_use

    async def admit(self, authorization: str | None) -> Caller:
        """The caller with this ``Authorization`` header. Raises KeyRefusedError, RateLimitError."""
        if not self.keyed:
            return OWNER
        scheme, _, given = (authorization or "").partition(" ")
        key = None
        if scheme.lower() == "bearer":
            key = await asyncio.to_thread(self._book.find, given.strip())
        if key is None:
            raise KeyRefusedError(
                "A valid key is needed: send `Authorization: Bearer KEY`. An administrator makes "
                "one with `anabranch keys create`."
            )
        if self._per_minute and (wait := await self._seconds_to_wait(key.id)):
            raise RateLimitError(
                f"This key may be used {self._per_minute} times a minute. Wait {math.ceil(wait)} s.",
                retry_after=wait,
            )
        return caller_of(key)

    async def _seconds_to_wait(self, key_id: str) -> float:
        """Spends one use of a key; the seconds until there is one again, where there is none."""
        if self._rates is None:
            return self._spend(key_id)
        if left := self._taken.get(key_id, 0):
            self._taken[key_id] = left - 1
            return 0.0
        try:
            # A write for every request would be felt; for each second's worth it is not.
            for uses in dict.fromkeys((max(1, self._per_minute // 60), 1)):
                wait = await self._rates.take(key_id, uses=uses, per_minute=self._per_minute)
                if not wait:
                    self._taken[key_id] = self._taken.get(key_id, 0) + uses - 1
                    break
        except StorageError as error:
            logger.warning("the rate of a key is counted here alone: %s", error)
            return self._spend(key_id)
        return wait

    def _spend(self, key_id: str) -> float:
        now, full = self._clock(), float(self._per_minute)
        tokens, then = self._buckets.pop(key_id, (full, now))
        tokens = min(full, tokens + (now - then) * full / 60)
        allowed = tokens >= 1
        self._buckets[key_id] = (tokens - 1 if allowed else tokens, now)
        if len(self._buckets) > REMEMBERED:
            self._buckets.pop(next(iter(self._buckets)))
        return 0.0 if allowed else (1 - tokens) * 60 / full
