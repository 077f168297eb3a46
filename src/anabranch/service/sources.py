"""Documents: what there is, adding, removing; and who is asking."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from anabranch.service.caller import Editor, Reader
from anabranch.service.problems import documented
from anabranch.service.state import Shared
from anabranch.types import to_plain

router = APIRouter(prefix="/v1", tags=["documents"])

Collections = Annotated[
    list[str] | None, Query(alias="collection", description="Only these; repeatable.")
]


@router.get("/sources", responses=documented(404, 422))
async def sources(
    caller: Reader, service: Shared, collection: Collections = None
) -> list[dict[str, Any]]:
    """Every source that the caller may see, ordered by collection and name."""
    records = await service.knowledge_base.asources(collections=collection, **caller.scope)
    return [to_plain(record) for record in records]


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
