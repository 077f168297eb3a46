"""Errors as RFC 9457 problem documents: ``application/problem+json``."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from anabranch.errors import (
    AccessError,
    AnabranchError,
    AnsweredError,
    ClarificationError,
    CollectionNotFoundError,
    ConfigurationError,
    ExpiredError,
    InputError,
    KeyRefusedError,
    NothingToRetryError,
    PictureError,
    RateLimitError,
    RunError,
    SessionNotFoundError,
    SourceNotFoundError,
    StorageError,
)
from anabranch.service.problem_documents import MEDIA_TYPE, problem, problem_response

logger = logging.getLogger(__name__)

# The first that fits counts: special ones before their bases.
_STATUS: tuple[tuple[type[AnabranchError], HTTPStatus], ...] = (
    (KeyRefusedError, HTTPStatus.UNAUTHORIZED),
    (RateLimitError, HTTPStatus.TOO_MANY_REQUESTS),
    (AccessError, HTTPStatus.FORBIDDEN),
    (PictureError, HTTPStatus.NOT_FOUND),
    (SourceNotFoundError, HTTPStatus.NOT_FOUND),
    (CollectionNotFoundError, HTTPStatus.NOT_FOUND),
    (SessionNotFoundError, HTTPStatus.NOT_FOUND),
    (AnsweredError, HTTPStatus.CONFLICT),
    (NothingToRetryError, HTTPStatus.CONFLICT),
    (ExpiredError, HTTPStatus.GONE),
    (InputError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (ConfigurationError, HTTPStatus.SERVICE_UNAVAILABLE),
    (StorageError, HTTPStatus.SERVICE_UNAVAILABLE),
    (RunError, HTTPStatus.BAD_GATEWAY),
    (AnabranchError, HTTPStatus.INTERNAL_SERVER_ERROR),
)


class FieldProblem(BaseModel):
    """One part of a request that does not fit."""

    field: str = Field(examples=["body.top_k"])
    message: str = Field(examples=["Input should be greater than or equal to 1"])


class Problem(BaseModel):
    """What went wrong (RFC 9457). ``type`` ends with the name of the error in docs/errors.md."""

    type: str = Field("about:blank", examples=["urn:anabranch:error:QuestionError"])
    title: str = Field(examples=["Unprocessable Content"])
    status: int = Field(examples=[422])
    detail: str = Field("", examples=["The question is blank. Ask something of the documents."])
    errors: list[FieldProblem] | None = None


def problem_of(error: AnabranchError) -> dict[str, Any]:
    """The problem document of an error that was raised on purpose."""
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    return {
        "type": f"urn:anabranch:error:{type(error).__name__}",
        "title": status.phrase,
        "status": status.value,
        "detail": str(error),
        **(error.details if isinstance(error, ClarificationError) else {}),
    }


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What a route declares for OpenAPI: the statuses that come as problem documents."""
    schema = {"schema": {"$ref": "#/components/schemas/Problem"}}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: schema}}
        for status in statuses
    }


def install(app: FastAPI) -> None:
    """Every error that leaves ``app`` is a problem document, unexpected ones without details."""

    @app.exception_handler(AnabranchError)
    async def _on_purpose(request: Request, error: AnabranchError) -> JSONResponse:
        return problem_response(problem_of(error), headers=headers_of(error))

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        errors = [
            {"field": ".".join(map(str, item["loc"])), "message": item["msg"]}
            for item in error.errors()
        ]
        return problem_response(problem(422, _summary(errors), errors=errors))

    @app.exception_handler(HTTPException)
    async def _of_the_framework(request: Request, error: HTTPException) -> JSONResponse:
        headers = dict(error.headers) if error.headers else None
        return problem_response(problem(error.status_code, str(error.detail)), headers=headers)

    @app.exception_handler(Exception)
    async def _unexpected(request: Request, error: Exception) -> JSONResponse:
        logger.error("unexpected error in %s %s", request.method, request.url.path, exc_info=error)
        detail = f"An unexpected {type(error).__name__}; the log of the service has the details."
        return problem_response(problem(500, detail))


def headers_of(error: AnabranchError) -> dict[str, str] | None:
    if isinstance(error, RateLimitError):
        return {"Retry-After": str(math.ceil(error.retry_after))}
    return {"WWW-Authenticate": "Bearer"} if isinstance(error, KeyRefusedError) else None


def _summary(errors: Sequence[dict[str, str]]) -> str:
    return "; ".join(f"{item['field']}: {item['message']}" for item in errors)
