"""How often a key was used, by however many processes: none of it is given twice."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sqlalchemy import update

from anabranch.sessions.database import Database, now
from anabranch.sessions.rates import SqlRates
from anabranch.sessions.tables import key_rates


async def take(rates: SqlRates, uses: int = 1, key: str = "ann", per_minute: int = 6) -> float:
    return await rates.take(key, uses=uses, per_minute=per_minute)


async def test_a_minutes_worth_is_there_at_once_and_no_more(database: Database) -> None:
    rates = SqlRates(database)
    assert [await take(rates) for _ in range(6)] == [0.0] * 6
    assert 0 < await take(rates) <= 10  # the next one is there in ten seconds
    assert await take(rates, key="bob") == 0.0


async def test_what_is_refused_is_not_taken(database: Database) -> None:
    rates = SqlRates(database)
    assert await take(rates, uses=4) == 0.0
    assert await take(rates, uses=3) > 0
    assert await take(rates, uses=2) == 0.0


async def test_the_allowance_comes_back_and_never_beyond_a_minutes_worth(
    database: Database,
) -> None:
    rates = SqlRates(database)
    assert await take(rates, uses=6) == 0.0
    for passed, there in ((10, 1), (3_600, 6)):  # seconds that the clock goes on
        async with database.changing() as connection:
            await connection.execute(update(key_rates).values(full_at=now() + 60 - passed))
        assert await take(rates, uses=there) == 0.0
        assert await take(rates) > 0


async def test_processes_that_ask_at_once_get_no_more_than_one(
    address: str, database: Database, tmp_path: Path
) -> None:
    other = await Database.open(address, folder=tmp_path)
    try:
        asked = [take(SqlRates(db), per_minute=20) for db in (database, other) * 20]
        given = await asyncio.gather(*asked)
    finally:
        await other.close()
    assert given.count(0.0) == 20
