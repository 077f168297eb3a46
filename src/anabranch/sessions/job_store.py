"""Jobs in a lease table: whoever claims one runs it, for as long as the lease is renewed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from sqlalchemy import ColumnElement, RowMapping, Select, and_, delete, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from anabranch.errors import SessionNotFoundError
from anabranch.records import FILE_ENDINGS, JOB_ENDINGS, Job, JobFile, JobStatus, NewJob
from anabranch.sessions.database import Database, as_time, new_id, now
from anabranch.sessions.tables import job_files, jobs

SECONDS_IN_A_DAY = 86_400
# A retry begins again with these.
_REPEATED = ("failed", "cancelled")


class SqlJobStore:
    """``ports.JobStore`` over a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create_job(self, owner: str, new: NewJob) -> Job:
        made = insert(jobs).values(
            id=new.id, owner=owner, collection=new.collection, allowed=list(new.allowed),
            principals=None if new.principals is None else list(new.principals),
            state="queued", attempts=0, cancelling=False, error="", created_at=now(),
            updated_at=now(),
        )  # fmt: skip
        files = [
            {
                "id": file.id, "job_id": new.id, "position": position, "path": file.path,
                "size": file.size, "status": file.status, "reason": file.reason,
                "pages": file.pages, "chunks": file.chunks,
            }
            for position, file in enumerate(new.files)
        ]  # fmt: skip
        async with self._database.changing() as connection:
            await connection.execute(made)
            await connection.execute(insert(job_files), files)
        return await self.job(owner, new.id)

    async def jobs(
        self, owner: str | None, *, within: Sequence[str] | None = None, limit: int = 100
    ) -> list[Job]:
        wanted = select(jobs).order_by(jobs.c.created_at.desc(), jobs.c.id).limit(limit)
        return await self._read(_seen(wanted, owner, within))

    async def job(
        self, owner: str | None, job_id: str, *, within: Sequence[str] | None = None
    ) -> Job:
        found = await self._read(_seen(select(jobs).where(jobs.c.id == job_id), owner, within))
        if not found:
            raise SessionNotFoundError(
                f"There is no job {job_id!r}. GET /v1/jobs lists those that there are."
            )
        return found[0]

    async def claim_job(self, *, seconds: float, attempts: int) -> tuple[Job, str] | None:
        claim = new_id()
        abandoned = and_(jobs.c.state == "running", jobs.c.leased_until < now())
        worn_out = update(jobs).where(abandoned, jobs.c.attempts >= attempts)
        error = f"The server that ran it ended {attempts} times before it was done."
        oldest = (
            select(jobs.c.id)
            .where(or_(jobs.c.state == "queued", abandoned), ~_follows_another())
            .order_by(jobs.c.created_at)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        taken = (
            update(jobs)
            .where(jobs.c.id == oldest.scalar_subquery())
            .values(
                state="running", claim=claim, leased_until=now() + seconds,
                attempts=jobs.c.attempts + 1, updated_at=now(),
            )
            .returning(jobs.c.id)
        )  # fmt: skip
        async with self._database.changing() as connection:
            ended = worn_out.values(_end("failed", error)).returning(jobs.c.id)
            for job_id in (await connection.execute(ended)).scalars().all():
                await _end_files(connection, job_id, "failed", error)
            job_id = (await connection.execute(taken)).scalar_one_or_none()
        return (await self.job(None, job_id), claim) if job_id else None

    async def extend_job(
        self, job: Job, claim: str, *, seconds: float
    ) -> Literal["held", "cancelling", "lost"]:
        extended = (
            _held(job, claim).values(leased_until=now() + seconds).returning(jobs.c.cancelling)
        )
        async with self._database.changing() as connection:
            cancelling = (await connection.execute(extended)).scalar_one_or_none()
        if cancelling is None:
            return "lost"
        return "cancelling" if cancelling else "held"

    async def update_file(self, job: Job, claim: str, file: JobFile) -> None:
        changed = (
            update(job_files)
            .where(
                job_files.c.id == file.id,
                select(jobs.c.id).where(jobs.c.id == job.id, jobs.c.claim == claim).exists(),
            )
            .values(status=file.status, reason=file.reason, pages=file.pages, chunks=file.chunks)
        )
        async with self._database.changing() as connection:
            await connection.execute(changed)

    async def end_job(self, job: Job, claim: str, status: JobStatus, *, error: str = "") -> bool:
        ended = _held(job, claim).values(_end(status, error)).returning(jobs.c.id)
        async with self._database.changing() as connection:
            if (await connection.execute(ended)).scalar_one_or_none() is None:
                return False
            await _end_files(connection, job.id, status, error)
        return True

    async def release_job(self, job: Job, claim: str) -> None:
        # The attempt does not count: nothing went wrong.
        waiting = _held(job, claim).values(
            state="queued", attempts=jobs.c.attempts - 1, claim=None, leased_until=None
        )
        async with self._database.changing() as connection:
            await connection.execute(waiting)

    async def cancel_job(self, job: Job) -> None:
        waiting = update(jobs).where(jobs.c.id == job.id, jobs.c.state == "queued")
        running = update(jobs).where(jobs.c.id == job.id, jobs.c.state == "running")
        async with self._database.changing() as connection:
            ended = waiting.values(_end("cancelled", "")).returning(jobs.c.id)
            if (await connection.execute(ended)).scalar_one_or_none() is not None:
                await _end_files(connection, job.id, "cancelled", "")
            await connection.execute(running.values(cancelling=True, updated_at=now()))

    async def retry_job(self, job: Job, *, principals: tuple[str, ...] | None) -> bool:
        ours = and_(job_files.c.job_id == job.id, job_files.c.status.in_(_REPEATED))
        # It may fail behind its last file, which then has nothing left but to be ended.
        wanted = or_(jobs.c.state == "failed", select(job_files.c.id).where(ours).exists())
        again = (
            update(jobs)
            .where(jobs.c.id == job.id, jobs.c.state.in_(JOB_ENDINGS), wanted)
            .values(
                state="queued", attempts=0, cancelling=False, error="", updated_at=now(),
                claim=None, leased_until=None,
                principals=None if principals is None else list(principals),
            )
            .returning(jobs.c.id)
        )  # fmt: skip
        files = update(job_files).where(ours).values(status="queued", reason="")
        async with self._database.changing() as connection:
            if (await connection.execute(again)).scalar_one_or_none() is None:
                return False
            await connection.execute(files)
        return True

    async def ended_jobs(self, *, days: float) -> list[Job]:
        old = jobs.c.updated_at < now() - days * SECONDS_IN_A_DAY
        return await self._read(select(jobs).where(jobs.c.state.in_(JOB_ENDINGS), old))

    async def delete_job(self, job: Job) -> None:
        async with self._database.changing() as connection:
            await connection.execute(delete(jobs).where(jobs.c.id == job.id))

    async def _read(self, wanted: Select[Any]) -> list[Job]:
        async with self._database.reading() as connection:
            rows = (await connection.execute(wanted)).mappings().all()
            of_those = (
                select(job_files)
                .where(job_files.c.job_id.in_([row["id"] for row in rows]))
                .order_by(job_files.c.job_id, job_files.c.position)
            )
            files = (await connection.execute(of_those)).mappings().all()
        return [_job(row, [file for file in files if file["job_id"] == row["id"]]) for row in rows]


def _seen(wanted: Select[Any], owner: str | None, within: Sequence[str] | None) -> Select[Any]:
    if owner is not None:
        wanted = wanted.where(jobs.c.owner == owner)
    return wanted if within is None else wanted.where(jobs.c.collection.in_(within))


def _held(job: Job, claim: str) -> Any:
    return update(jobs).where(jobs.c.id == job.id, jobs.c.claim == claim, jobs.c.state == "running")


def _follows_another() -> ColumnElement[bool]:
    """Whether a job has a path in common with one that its owner sent earlier and has not ended.

    Side by side the older version of a file could be added last, and stay.
    """
    earlier, theirs, own = jobs.alias(), job_files.alias(), job_files.alias()
    came_before = or_(
        earlier.c.created_at < jobs.c.created_at,
        and_(earlier.c.created_at == jobs.c.created_at, earlier.c.id < jobs.c.id),
    )
    return (
        select(theirs.c.id)
        .join(earlier, earlier.c.id == theirs.c.job_id)
        .join(own, own.c.path == theirs.c.path)
        .where(
            own.c.job_id == jobs.c.id, earlier.c.owner == jobs.c.owner, came_before,
            earlier.c.collection == jobs.c.collection, earlier.c.state.not_in(JOB_ENDINGS),
        )
        .exists()
    )  # fmt: skip


def _end(status: JobStatus, error: str) -> dict[str, Any]:
    return {
        "state": status, "error": error, "claim": None, "leased_until": None, "updated_at": now(),
        "cancelling": False,
    }  # fmt: skip


async def _end_files(
    connection: AsyncConnection, job_id: str, status: JobStatus, error: str
) -> None:
    """Files that have not ended end with their job."""
    unfinished = update(job_files).where(
        job_files.c.job_id == job_id, job_files.c.status.not_in(FILE_ENDINGS)
    )
    ended = "failed" if status == "failed" else "cancelled"
    await connection.execute(unfinished.values(status=ended, reason=error))


def _job(row: RowMapping, files: list[RowMapping]) -> Job:
    return Job(
        id=row["id"], owner=row["owner"], collection=row["collection"],
        allowed=tuple(row["allowed"]),
        principals=None if row["principals"] is None else tuple(row["principals"]),
        status=row["state"], attempts=row["attempts"], cancelling=row["cancelling"], error=row["error"], created_at=as_time(row["created_at"]),
        updated_at=as_time(row["updated_at"]),
        files=tuple(
            JobFile(
                id=file["id"], path=file["path"], size=file["size"], status=file["status"],
                reason=file["reason"], pages=file["pages"], chunks=file["chunks"],
            )
            for file in files
        ),
    )  # fmt: skip
