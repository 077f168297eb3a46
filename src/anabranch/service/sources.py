"""Documents: what there is, adding, removing; and who is asking."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.datastructures import FormData, UploadFile

from anabranch.access import Caller
from anabranch.errors import InputError, NotAllowedError
from anabranch.service.caller import Editor, Reader
from anabranch.service.jobs import shown_job
from anabranch.service.problems import documented
from anabranch.service.state import Shared
from anabranch.types import DEFAULT_COLLECTION, SourceRecord, to_plain
from anabranch.uploading import Upload

router = APIRouter(prefix="/v1", tags=["documents"])

MOST_FILES = 1_000
_NAMES = {"type": "array", "items": {"type": "string"}}
_FORM = {
    "schema": {
        "type": "object",
        "required": ["files"],
        "properties": {
            "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
            "path": {
                **_NAMES,
                "description": "What the sources are called; the file names if not.",
            },
            "collection": {"type": "string", "default": DEFAULT_COLLECTION},
            "allowed": {**_NAMES, "description": "Principals that may see them; everyone if none."},
        },
    }
}
Collections = Annotated[
    list[str] | None, Query(alias="collection", description="Only these; repeatable.")
]


@router.get("/sources", responses=documented(404, 422))
async def sources(
    caller: Reader, service: Shared, collection: Collections = None
) -> list[dict[str, Any]]:
    """Every source that the caller may see, ordered by collection and name."""
    records = await service.knowledge_base.asources(collections=collection, **caller.scope)
    return [_shown(record, caller) for record in records]


def _shown(record: SourceRecord, caller: Caller) -> dict[str, Any]:
    """Where a file lies on the server is nothing for who only reads it."""
    shown: dict[str, Any] = to_plain(record)
    if caller.role != "admin":
        del shown["location"]
    return shown


@router.post(
    "/sources",
    status_code=202,
    responses=documented(403, 413, 422),
    openapi_extra={"requestBody": {"required": True, "content": {"multipart/form-data": _FORM}}},
)
async def upload(
    request: Request, response: Response, caller: Editor, service: Shared
) -> dict[str, Any]:
    """Add files in the background; the job says how far they are.

    A source that has the path of a file already, and that the caller may see, gets a new version.
    """
    async with request.form(max_files=MOST_FILES, max_fields=MOST_FILES) as form:
        collection, *more = _texts(form, "collection") or [DEFAULT_COLLECTION]
        if more:
            raise InputError("The request names several collections. Send one for each.")
        collection = collection or DEFAULT_COLLECTION
        files = _uploads(form)
        if not caller.may_name(collection):
            raise NotAllowedError(f"{caller.name!r} may not add to the collection {collection!r}.")
        job = await service.uploads.accept(
            caller.name, files, collection=collection, principals=caller.principals,
            allowed=_texts(form, "allowed"),
        )  # fmt: skip
    response.headers["Location"] = f"/v1/jobs/{job.id}"
    return shown_job(job)


def _uploads(form: FormData) -> list[Upload]:
    """Every file of a form, whatever its field is called; ``path`` fields name them in order."""
    files = [value for _, value in form.multi_items() if isinstance(value, UploadFile)]
    paths = _texts(form, "path") or [file.filename or "" for file in files]
    if len(paths) != len(files):
        raise InputError(f"The request has {len(files)} files and {len(paths)} paths.")
    return [
        Upload(path, file.size or 0, file.file) for path, file in zip(paths, files, strict=True)
    ]


def _texts(form: FormData, name: str) -> list[str]:
    """The fields called ``name``. Raises InputError for one that comes as a file."""
    values = form.getlist(name)
    if any(isinstance(value, UploadFile) for value in values):
        raise InputError(
            f"The field {name!r} is a text, and came as a file. Send it without a name."
        )
    return [str(value) for value in values]


@router.delete("/sources/{source_id}", responses=documented(403, 404, 422))
async def remove_source(source_id: str, caller: Editor, service: Shared) -> dict[str, Any]:
    """Remove a source and everything that was indexed from it."""
    removed = await service.knowledge_base.aremove(source_id, **caller.scope)
    return {"source": source_id, "removed": removed}


@router.get("/collections")
async def collections(caller: Reader, service: Shared) -> list[dict[str, Any]]:
    """The collections that the caller may see, with the number of their sources."""
    records = await service.knowledge_base.asources(**caller.scope)
    names = sorted({record.collection for record in records})
    return [
        {"name": name, "sources": sum(record.collection == name for record in records)}
        for name in names
    ]


@router.get("/me")
async def me(caller: Reader) -> dict[str, Any]:
    """Who the service takes the caller for, and what they may."""
    return to_plain(caller)  # type: ignore[no-any-return]
