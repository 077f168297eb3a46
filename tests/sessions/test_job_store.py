"""Jobs: whoever claims one runs it, and what a dead server had begun is taken over."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from anabranch.errors import SessionNotFoundError
from anabranch.records import Job, JobFile, NewJob
from anabranch.sessions.database import Database, new_id
from anabranch.sessions.job_store import SqlJobStore

ATTEMPTS = 3


@pytest.fixture
def store(database: Database) -> SqlJobStore:
    return SqlJobStore(database)


async def queued(store: SqlJobStore, *paths: str, owner: str = "me") -> Job:
    files = tuple(JobFile(new_id(), path, 1, "queued") for path in paths or ("a.md", "b.md"))
    return await store.create_job(owner, NewJob(new_id(), "default", files, ("you",)))


async def claimed(store: SqlJobStore, seconds: float = 60) -> tuple[Job, str]:
    found = await store.claim_job(seconds=seconds, attempts=ATTEMPTS)
    assert found is not None
    return found


async def test_a_job_comes_back_as_it_was_made(store: SqlJobStore) -> None:
    job = await queued(store)
    assert (job.status, job.attempts, job.allowed, job.collection) == (
        "queued",
        0,
        ("you",),
        "default",
    )
    assert [(file.path, file.status) for file in job.files] == [
        ("a.md", "queued"),
        ("b.md", "queued"),
    ]
    assert await store.job("me", job.id) == await store.job(None, job.id) == job


async def test_a_job_is_its_owners(store: SqlJobStore) -> None:
    job = await queued(store)
    assert await store.jobs("you") == []
    assert await store.jobs(None) == [job]
    with pytest.raises(SessionNotFoundError):
        await store.job("you", job.id)


async def test_what_no_id_can_be_is_a_job_that_is_not_there(store: SqlJobStore) -> None:
    for none in ("\0", "a\0b", "x" * 5_000, "é"):
        with pytest.raises(SessionNotFoundError):
            await store.job("me", none)


async def test_a_job_is_seen_within_its_collection(store: SqlJobStore) -> None:
    job = await queued(store)
    assert await store.jobs(None, within=["default", "other"]) == [job]
    assert await store.jobs(None, within=["other"]) == []
    assert await store.jobs(None, within=[]) == []
    with pytest.raises(SessionNotFoundError):
        await store.job(None, job.id, within=["other"])


async def test_of_many_servers_one_runs_a_job(store: SqlJobStore) -> None:
    for number in range(5):
        await queued(store, f"{number}.md")
    given = await asyncio.gather(
        *(store.claim_job(seconds=60, attempts=ATTEMPTS) for _ in range(12))
    )
    ran = [found[0].id for found in given if found]
    assert len(ran) == len(set(ran)) == 5


async def test_jobs_run_in_the_order_they_came(store: SqlJobStore) -> None:
    made = [(await queued(store, f"{number}.md")).id for number in range(3)]
    assert [(await claimed(store))[0].id for _ in range(3)] == made


async def test_a_newer_version_of_a_path_waits_for_the_older_one(store: SqlJobStore) -> None:
    older = await queued(store, "a.md", "b.md")
    newer = await queued(store, "b.md", "c.md")
    others = [await queued(store, "d.md"), await queued(store, "b.md", owner="you")]
    running, claim = await claimed(store)
    assert running.id == older.id
    assert [(await claimed(store))[0].id for _ in others] == [other.id for other in others]
    assert await store.claim_job(seconds=60, attempts=ATTEMPTS) is None
    await store.end_job(running, claim, "finished")
    assert (await claimed(store))[0].id == newer.id


async def test_what_a_dead_server_had_begun_is_taken_over(store: SqlJobStore) -> None:
    job = await queued(store)
    _, dead = await claimed(store, seconds=-1)
    again, alive = await claimed(store)
    assert (again.id, again.attempts) == (job.id, 2)
    assert await store.extend_job(job, dead, seconds=60) == "lost"
    assert not await store.end_job(job, dead, "finished")
    assert await store.extend_job(job, alive, seconds=60) == "held"


async def test_a_job_that_kills_its_servers_fails(store: SqlJobStore) -> None:
    job = await queued(store)
    for _ in range(ATTEMPTS):
        await claimed(store, seconds=-1)
    assert await store.claim_job(seconds=60, attempts=ATTEMPTS) is None
    failed = await store.job("me", job.id)
    assert failed.status == "failed"
    assert f"{ATTEMPTS} times" in failed.error
    assert {file.status for file in failed.files} == {"failed"}


async def test_a_job_that_is_given_back_waits_without_counting_the_attempt(
    store: SqlJobStore,
) -> None:
    job, claim = (await queued(store), (await claimed(store))[1])
    await store.release_job(job, claim)
    found = await store.job("me", job.id)
    assert (found.status, found.attempts) == ("queued", 0)


async def test_how_far_a_file_is_is_kept_by_the_one_who_runs_the_job(store: SqlJobStore) -> None:
    await queued(store)
    job, claim = await claimed(store)
    done = replace(job.files[0], status="added", pages=2, chunks=7)
    await store.update_file(job, claim, done)
    await store.update_file(job, "somebody else's", replace(job.files[1], status="failed"))
    assert (await store.job("me", job.id)).files == (done, job.files[1])


async def test_a_job_that_waits_is_cancelled_at_once(store: SqlJobStore) -> None:
    job = await queued(store)
    await store.cancel_job(job)
    found = await store.job("me", job.id)
    assert (found.status, {file.status for file in found.files}) == ("cancelled", {"cancelled"})
    assert await store.claim_job(seconds=60, attempts=ATTEMPTS) is None


async def test_the_server_of_a_running_job_is_told_to_cancel_it(store: SqlJobStore) -> None:
    await queued(store)
    job, claim = await claimed(store)
    await store.cancel_job(job)
    assert await store.extend_job(job, claim, seconds=60) == "cancelling"
    assert await store.end_job(job, claim, "cancelled")
    assert (await store.job("me", job.id)).status == "cancelled"


async def test_a_retry_begins_again_with_what_failed(store: SqlJobStore) -> None:
    await queued(store)
    job, claim = await claimed(store)
    await store.update_file(job, claim, replace(job.files[0], status="added"))
    await store.update_file(job, claim, replace(job.files[1], status="failed", reason="torn"))
    await store.end_job(job, claim, "finished")
    assert await store.retry_job(job, principals=None)
    again, _ = await claimed(store)
    assert [(file.status, file.reason) for file in again.files] == [("added", ""), ("queued", "")]


async def test_a_job_that_runs_is_not_begun_again_by_a_retry(store: SqlJobStore) -> None:
    await queued(store)
    job, claim = await claimed(store)
    assert not await store.retry_job(job, principals=None)
    assert await store.extend_job(job, claim, seconds=60) == "held"
    assert await store.claim_job(seconds=60, attempts=ATTEMPTS) is None


async def test_a_job_in_which_nothing_failed_is_not_begun_again(store: SqlJobStore) -> None:
    await queued(store)
    job, claim = await claimed(store)
    for file in job.files:
        await store.update_file(job, claim, replace(file, status="added"))
    await store.end_job(job, claim, "finished")
    assert not await store.retry_job(job, principals=None)
    assert (await store.job(None, job.id)).status == "finished"


async def test_a_job_that_failed_after_its_last_file_is_begun_again(store: SqlJobStore) -> None:
    await queued(store, "a.md")
    job, claim = await claimed(store)
    await store.update_file(job, claim, replace(job.files[0], status="added"))
    await store.end_job(job, claim, "failed", error="the database was away")
    assert await store.retry_job(job, principals=None)


async def test_a_cancelled_job_that_ended_stays_as_it_is(store: SqlJobStore) -> None:
    await queued(store)
    job, claim = await claimed(store)
    await store.end_job(job, claim, "finished")
    await store.cancel_job(job)
    assert (await store.job("me", job.id)).status == "finished"


async def test_old_jobs_are_found_and_forgotten(store: SqlJobStore) -> None:
    job = await queued(store)
    running = await queued(store)
    await store.cancel_job(job)
    assert [old.id for old in await store.ended_jobs(days=-1)] == [job.id]
    assert await store.ended_jobs(days=1) == []
    await store.delete_job(job)
    assert [left.id for left in await store.jobs("me")] == [running.id]
