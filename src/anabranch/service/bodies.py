"""What requests may hold. Everything from outside is checked here, then handed on as our values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from anabranch.access import Caller
from anabranch.request import AskOptions
from anabranch.types import Effort, Turn

Name = Annotated[str, Field(min_length=1, max_length=4_096)]
Collections = Annotated[list[Name], Field(max_length=1_000)] | None
# A request that may take longer should be a job; proxies would have closed it.
LONGEST_TIMEOUT = 600


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TurnBody(Body):
    """One earlier turn of the conversation."""

    role: Literal["user", "assistant"]
    text: Annotated[str, Field(max_length=100_000)]


class RunOptions(Body):
    """How a question is searched; what is left out comes from the settings of the service."""

    effort: Effort | None = None
    top_k: Annotated[int, Field(ge=1, le=100)] | None = None
    variants: Annotated[int, Field(ge=0, le=16)] | None = None
    timeout: Annotated[float, Field(gt=0, le=LONGEST_TIMEOUT)] | None = Field(
        None, description="Seconds that the run may take."
    )
    interactive: bool = Field(True, description="False: never ask back, give the best there is.")

    def options(self, caller: Caller, *, collections: Sequence[str] | None = None) -> AskOptions:
        """As the knowledge base takes them, within what the caller may see of ``collections``."""
        return AskOptions(
            collections=collections,
            within=caller.collections,
            principals=caller.principals,
            effort=self.effort,
            top_k=self.top_k,
            variants=self.variants,
            timeout=self.timeout,
            interactive=self.interactive,
        )


class ScopedOptions(RunOptions):
    """As ``RunOptions``, and where it is searched."""

    collections: Collections = Field(
        None, description="Only these; all that the caller may see when left out."
    )
    sources: Annotated[list[Name], Field(max_length=10_000)] | None = Field(
        None, description="Only these sources, by name or id."
    )

    def scoped(self, caller: Caller) -> AskOptions:
        options = self.options(caller, collections=self.collections)
        return AskOptions(**options, sources=self.sources)


class AskBody(ScopedOptions):
    """A question."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"question": "How much annual leave is there?"},
                {
                    "question": "And in Boston?",
                    "collections": ["handbook"],
                    "effort": "thorough",
                    "history": [{"role": "user", "text": "How much leave is there in Berlin?"}],
                },
            ]
        }
    )

    question: str
    history: Annotated[list[TurnBody], Field(max_length=200)] = Field(
        [], description="Earlier turns, oldest first."
    )

    def scoped(self, caller: Caller) -> AskOptions:
        turns = tuple(Turn(turn.role, turn.text) for turn in self.history)
        return AskOptions(**super().scoped(caller), history=turns)


class ResumeBody(ScopedOptions):
    """The reply to a question that was asked back."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"reply": "the Berlin office", "snapshot": {"schema": "anabranch.resume/1"}}
            ]
        }
    )

    reply: str
    snapshot: dict[str, Any] = Field(
        description="The `resume` value of the outcome that asked.",
        validation_alias=AliasChoices("snapshot", "resume"),
    )
    answer: bool = Field(True, description="False: evidence alone, as /v1/retrieve gives.")


class SessionBody(Body):
    """A new session."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{}, {"title": "Moving to Berlin", "collections": ["handbook"]}]
        }
    )

    title: Annotated[str, Field(max_length=200)] = Field(
        "", description="The first question when left out."
    )
    collections: Collections = Field(
        None, description="What its questions search; all that the caller may see when left out."
    )


class MessageBody(RunOptions):
    """What the user says: a question, or the reply to one that was asked back."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": "How long is the warranty?"},
                {"text": "the Plover", "clarification_id": "9f86d081884c7d65"},
                {"text": "How much leave is there?", "new_question": True},
            ]
        }
    )

    text: Annotated[str, Field(max_length=100_000)] = Field(
        validation_alias=AliasChoices("text", "content", "message", "question", "reply")
    )
    clarification_id: Annotated[str, Field(max_length=64)] | None = Field(
        None,
        description="The question back that this replies to; not needed where only one is open.",
    )
    new_question: bool = Field(
        False, description="This is not the reply to the one question back that is open."
    )
