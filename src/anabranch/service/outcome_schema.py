"""The shape of an outcome for OpenAPI, taken from the dataclass itself."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, Literal, get_type_hints

from pydantic import BaseModel, Field, create_model

from anabranch.service.streaming import EVENT_STREAM
from anabranch.types import Outcome

_HINTS = get_type_hints(Outcome)
_FIELDS: dict[str, Any] = (
    {"schema_": (Literal["anabranch.outcome/1"], Field(alias="schema"))}
    | {
        field.name: (_HINTS[field.name], ... if field.default is MISSING else field.default)
        for field in fields(Outcome)
        if field.default_factory is MISSING
    }
    | {
        field.name: (_HINTS[field.name], Field(default_factory=field.default_factory))
        for field in fields(Outcome)
        if field.default_factory is not MISSING
    }
)

OutcomeBody: type[BaseModel] = create_model(
    "OutcomeBody",
    __doc__="What a question came to: docs/outcome.md.",
    **_FIELDS,
)

_EVENTS = (
    "The same run as server-sent events: `run.started`, `step`, `answer.delta`, `evidence`, then "
    "one of `run.finished`, `run.needs_input`, `run.failed` with the outcome."
)
RUN_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "model": OutcomeBody,
        "content": {EVENT_STREAM: {"schema": {"type": "string", "description": _EVENTS}}},
        "description": "The outcome.",
    }
}
