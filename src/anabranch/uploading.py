"""Uploads: files are put aside, then added in the background by whoever claims the job.

A job outlives the process: its files lie in the knowledge base folder, its rows in the database.
What a server that died had begun is taken over when its lease ends; files that were done stay so.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from uuid import uuid4

from anabranch import originals
from anabranch.errors import AnabranchError, InputError, NothingToRetryError, StorageError
from anabranch.file_kinds import supported_extensions
from anabranch.ingest import IngestProgress
from anabranch.knowledge_base import KnowledgeBase
from anabranch.ports import JobStore
from anabranch.private_files import private_folder, private_opener
from anabranch.records import FILE_ENDINGS, JOB_ENDINGS, Job, JobFile, JobFileStatus, NewJob
from anabranch.request import checked_collection_name, checked_principals, names_of
from anabranch.settings import Settings
from anabranch.source_files import SourceFile, source_id_of
from anabranch.types import AddReport, SourceRecord

logger = logging.getLogger(__name__)

FOLDER = "uploads"
LONGEST_PATH = 1_024
# A job whose server died this often is taken to be what kills it.
ATTEMPTS = 3
# A failed file can be tried again for so long.
DAYS_KEPT = 7
# What progress tells of a file before its report does. That one failed comes with its reason.
_SHOWN: Mapping[str, JobFileStatus] = {
    "reading": "reading", "embedding": "embedding", "added": "added", "updated": "updated",
    "unchanged": "unchanged",
}  # fmt: skip
# Before the location of a source that is not identified by its path. No path of a file begins so.
_ELSEWHERE = "upload:/"
_STORED: tuple[JobFileStatus, ...] = ("added", "updated", "unchanged")
_LOOKS_FOR_JOBS_EVERY = 5.0
_LOOKS_FOR_CANCELLING_EVERY = 1.0


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that came with a request: what the source will be called, and its bytes."""

    path: str
    size: int
    content: BinaryIO


class Uploads:
    """The jobs of one knowledge base: taking them in, and running them."""

    def __init__(self, knowledge_base: KnowledgeBase, store: JobStore, settings: Settings) -> None:
        self._knowledge_base = knowledge_base
        self._store = store
        self._settings = settings
        self._folder = knowledge_base.path / FOLDER
        self._woken = asyncio.Event()

    # ------------------------------------------------------------------------------- taking in

    async def accept(
        self, owner: str, files: Sequence[Upload], *, collection: str, allowed: Sequence[str] = (),
        principals: Sequence[str] | None = None,
    ) -> Job:  # fmt: skip
        """The job that will add ``files``; they are safe on disk when this returns.

        ``principals`` are those of ``owner``. Raises InputError for a path that cannot name a
        source, or too large a file.
        """
        collection = checked_collection_name(collection)
        named = [replace(file, path=checked_path(file.path)) for file in files]
        self._check(named)
        new = NewJob(
            id=uuid4().hex,
            collection=collection,
            allowed=checked_principals(allowed),
            principals=names_of(principals),
            files=tuple(JobFile(uuid4().hex, file.path, file.size, "queued") for file in named),
        )
        try:
            await asyncio.to_thread(self._put_aside, new, named)
            job = await self._store.create_job(owner, new)
        except BaseException:
            await asyncio.to_thread(self._clear, new.id)
            raise
        self._woken.set()
        return job

    def _check(self, files: Sequence[Upload]) -> None:
        if not files:
            raise InputError("The request has no file. Send them as multipart/form-data.")
        limit = self._settings.max_file_mb
        endings = tuple(self._settings.upload_types) or supported_extensions()
        known = {kind.removeprefix(".").lower() for kind in endings}
        for file in files:
            if PurePosixPath(file.path).suffix.removeprefix(".").lower() not in known:
                raise InputError(
                    f"{file.path!r} is not of a kind that may be uploaded: {', '.join(endings)}."
                )
            if file.size > limit * 1_000_000:
                raise InputError(
                    f"{file.path!r} has {file.size / 1_000_000:.1f} MB, more than the {limit:g} MB "
                    "that are read (ANABRANCH_MAX_FILE_MB)."
                )
        paths = [file.path for file in files]
        for path in paths:
            if paths.count(path) > 1:
                raise InputError(f"{path!r} comes twice. Give each file a path of its own.")

    def _put_aside(self, job: NewJob, files: Sequence[Upload]) -> None:
        try:
            for upload, file in zip(files, job.files, strict=True):
                target = self._lies_at(job.id, file)
                private_folder(target.parent)
                with open(target, "xb", opener=private_opener) as opened:
                    shutil.copyfileobj(upload.content, opened)
        except OSError as error:
            raise StorageError(
                f"{str(self._folder)!r} does not take the upload: {error.strerror}."
            ) from error

    def _lies_at(self, job_id: str, file: JobFile) -> Path:
        # The end of the name says what kind of file it is; file systems take 255 bytes. One that
        # begins with a dot would be taken for a file that is still being written.
        name = PurePosixPath(file.path).name[-60:]
        return self._folder / job_id / file.id / (f"_{name}" if name.startswith(".") else name)

    # --------------------------------------------------------------------------------- running

    async def run(self) -> None:
        """Runs jobs, one after the other, until cancelled; a job that runs then waits again."""
        while True:
            try:
                if await self._run_next():
                    continue
                await self._forget_old_jobs()
            except StorageError as error:  # the database is away: jobs wait for it
                logger.warning("jobs wait: %s", error)
            with suppress(TimeoutError):
                await asyncio.wait_for(
                    self._woken.wait(), min(_LOOKS_FOR_JOBS_EVERY, self._settings.lease_seconds)
                )
            self._woken.clear()

    async def _run_next(self) -> bool:
        claimed = await self._store.claim_job(
            seconds=self._settings.lease_seconds, attempts=ATTEMPTS
        )
        if claimed is None:
            return False
        job, claim = claimed
        work = asyncio.create_task(self._do(job, claim))
        try:
            await self._watch(job, claim, work)
        except asyncio.CancelledError:
            await self._stopped(work)
            await self._store.release_job(job, claim)
            raise
        return True

    async def _watch(self, job: Job, claim: str, work: asyncio.Task[None]) -> None:
        """Holds the lease until ``work`` is done, or the job is cancelled or taken over."""
        seconds = self._settings.lease_seconds
        while not work.done():
            await asyncio.wait({work}, timeout=min(_LOOKS_FOR_CANCELLING_EVERY, seconds / 3))
            try:
                held = await self._store.extend_job(job, claim, seconds=seconds)
            except StorageError as error:
                logger.warning("job %s: %s", job.id, error)
                continue
            if held != "held" and not work.done():
                await self._stopped(work)
            if held == "cancelling":
                await self._store.end_job(job, claim, "cancelled")

    async def _stopped(self, work: asyncio.Task[None]) -> None:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)

    async def _do(self, job: Job, claim: str) -> None:
        try:
            await self._add(job, claim)
            await self._store.end_job(job, claim, "finished")
            await self._clear_done(job)
        except AnabranchError as error:
            await self._store.end_job(job, claim, "failed", error=str(error))
        except Exception as error:  # the edge of the job: the next one must run
            logger.exception("job %s", job.id)
            reason = f"unexpected {type(error).__name__}: {error}"
            await self._store.end_job(job, claim, "failed", error=reason)

    async def _add(self, job: Job, claim: str) -> None:
        waiting = [file for file in job.files if file.status not in FILE_ENDINGS]
        progress: asyncio.Queue[IngestProgress] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def tell(told: IngestProgress) -> None:  # from the thread of the knowledge base
            loop.call_soon_threadsafe(progress.put_nowait, told)

        placed = await self._placed(job, waiting)
        writing = asyncio.create_task(self._write_progress(job, claim, progress, placed))
        try:
            report = await self._knowledge_base.aadd_files(
                list(placed.values()),
                collection=job.collection,
                allowed=job.allowed,
                on_progress=tell,
            )
        finally:
            await self._stopped(writing)
        await self._write_report(job, claim, waiting, report, placed)

    async def _placed(self, job: Job, files: Sequence[JobFile]) -> dict[str, SourceFile]:
        """Each file with the place of the source that it is a version of, by its path."""
        paths = [file.path for file in files]
        seen = await self._knowledge_base.asources(
            sources=[*paths, *(source_id_of(job.collection, path) for path in paths)],
            within=[job.collection],
            principals=job.principals,
        )
        return {
            file.path: SourceFile(
                self._lies_at(job.id, file), file.path, location_of(job, file, seen)
            )
            for file in files
        }

    async def _write_progress(
        self, job: Job, claim: str, progress: asyncio.Queue[IngestProgress],
        placed: Mapping[str, SourceFile],
    ) -> None:  # fmt: skip
        by_path = {file.path: file for file in job.files}
        while True:
            told = await progress.get()
            if told.stage in _SHOWN and told.source in by_path:
                file = replace(by_path[told.source], status=_SHOWN[told.stage])
                await self._keep_original(job, file, placed[file.path])
                await self._store.update_file(job, claim, file)

    async def _write_report(
        self, job: Job, claim: str, files: Sequence[JobFile], report: AddReport,
        placed: Mapping[str, SourceFile],
    ) -> None:  # fmt: skip
        for file, line in zip(files, report.files, strict=True):
            done = replace(
                file, status=line.status, reason=line.reason, pages=line.pages, chunks=line.chunks
            )
            await self._keep_original(job, done, placed[done.path])
            await self._store.update_file(job, claim, done)

    async def _keep_original(self, job: Job, file: JobFile, placed: SourceFile) -> None:
        if file.status in _STORED:
            source_id = source_id_of(job.collection, placed.location)
            folder = self._knowledge_base.path
            await asyncio.to_thread(originals.keep, folder, source_id, placed.path)

    # ------------------------------------------------------------------------------ afterwards

    async def cancel(self, job: Job) -> None:
        """Files that are in stay in; what waits is left out."""
        await self._store.cancel_job(job)

    async def retry(self, job: Job, *, principals: Sequence[str] | None) -> None:
        """Adds again what failed or was cancelled, for somebody with ``principals``.

        Raises NothingToRetryError where nothing did.
        """
        if not await self._store.retry_job(job, principals=names_of(principals)):
            now = await self._store.job(None, job.id)
            why = "nothing in it failed" if now.status in JOB_ENDINGS else "it has not ended"
            raise NothingToRetryError(
                f"The job {job.id!r} cannot be tried again: {why}. Its status is {now.status!r}."
            )
        self._woken.set()

    async def _clear_done(self, job: Job) -> None:
        """What nobody can want to try again needs no room."""
        done = await self._store.job(None, job.id)
        if all(file.status in _STORED for file in done.files):
            await asyncio.to_thread(self._clear, job.id)

    async def _forget_old_jobs(self) -> None:
        for job in await self._store.ended_jobs(days=DAYS_KEPT):
            await asyncio.to_thread(self._clear, job.id)
            await self._store.delete_job(job)

    def _clear(self, job_id: str) -> None:
        shutil.rmtree(self._folder / job_id, ignore_errors=True)


def location_of(job: Job, file: JobFile, seen: Sequence[SourceRecord]) -> str:
    """What identifies the source that ``file`` becomes a version of.

    Of the sources ``seen`` with its path that is the one for the same people, if there is one, and a
    new one where there is none. A new one of somebody who may not see everything has a place that
    nothing else can have, whether or not a hidden source has the path: docs/decisions/0012-hidden-paths.md.
    """
    same_path = [
        record
        for record in seen
        if record.location == file.path
        or (record.location.startswith(_ELSEWHERE) and record.source == file.path)
    ]
    if same_path:
        allowed = set(job.allowed)
        return min(
            same_path,
            key=lambda record: (
                set(record.allowed) != allowed, record.location != file.path, record.location,
            ),
        ).location  # fmt: skip
    return file.path if job.principals is None else f"{_ELSEWHERE}{file.id}/{file.path}"


def checked_path(path: str) -> str:
    """``path`` as the name of a source: relative, with ``/``, within nothing but itself.

    Raises InputError for one that cannot be.
    """
    parts = unicodedata.normalize("NFC", path).replace("\\", "/").split("/")
    named = [part for part in parts[:-1] if part not in ("", ".")] + parts[-1:]
    unreadable = any(unicodedata.category(character) in ("Cc", "Cs") for character in path)
    absolute = parts[0] == "" or named[0].endswith(":")
    if (
        absolute
        or unreadable
        or ".." in named
        or named[-1] in ("", ".")
        or len(path) > LONGEST_PATH
    ):
        raise InputError(
            f"{path[:200]!r} cannot be the path of a source: give a relative one with the name of "
            f"the file at its end, of at most {LONGEST_PATH} characters, such as 'handbook/leave.md'."
        )
    return "/".join(named)
