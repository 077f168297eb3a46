"""How often a key was used, in the database: one count for all processes over it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import case, select
from sqlalchemy.dialects import postgresql, sqlite

from anabranch.sessions.database import Database, now
from anabranch.sessions.tables import key_rates

# A full allowance is a minute's worth.
_SECONDS = 60.0


class SqlRates:
    """``ports.RateStore`` over a database.

    A row says when the key has its whole allowance again; a use moves that on by what one costs, and
    is refused where it would lie more than a minute ahead (the generic cell rate algorithm, ITU-T
    I.371). One statement looks and takes, so that no two processes take the same.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def take(self, key_id: str, *, uses: int, per_minute: int) -> float:
        cost = uses * _SECONDS / per_minute
        async with self._database.changing() as connection:
            insert: Any = (
                postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
            )
            full_at = case((key_rates.c.full_at > now(), key_rates.c.full_at), else_=now()) + cost
            first = insert(key_rates).values(key_id=key_id, full_at=now() + cost)
            taken = first.on_conflict_do_update(
                index_elements=[key_rates.c.key_id], set_={"full_at": full_at},
                where=full_at <= now() + _SECONDS,
            ).returning(key_rates.c.key_id)  # fmt: skip
            if (await connection.execute(taken)).first() is not None:
                return 0.0
            left = select(key_rates.c.full_at + cost - now() - _SECONDS)
            found = await connection.execute(left.where(key_rates.c.key_id == key_id))
            # It may have become free between the two statements, in PostgreSQL.
            return max(float(found.scalar_one()), 0.001)
