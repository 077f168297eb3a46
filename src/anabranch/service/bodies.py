"""What requests may hold. Everything from outside is checked here, then handed on as our values."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from anabranch.access import Caller
from anabranch.request import AskOptions
from anabranch.types import Effort, Turn

Name = Annotated[str, Field(min_length=1, max_length=4_096)]
# A request that may take longer should be a job; proxies would have closed it.
LONGEST_TIMEOUT = 600


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TurnBody(Body):
    """One earlier turn of the conversation."""

    role: Literal["user", "assistant"]
    text: Annotated[str, Field(max_length=100_000)]


class SearchOptions(Body):
    """What a question may set; what is left out comes from the settings of the service."""

    collections: Annotated[list[Name], Field(max_length=1_000)] | None = Field(
        None, description="Only these; all that the caller may see when left out."
    )
    sources: Annotated[list[Name], Field(max_length=10_000)] | None = Field(
        None, description="Only these sources, by name or id."
    )
    effort: Effort | None = None
    top_k: Annotated[int, Field(ge=1, le=100)] | None = None
    variants: Annotated[int, Field(ge=0, le=16)] | None = None
    timeout: Annotated[float, Field(gt=0, le=LONGEST_TIMEOUT)] | None = Field(
        None, description="Seconds that the run may take."
    )
    interactive: bool = Field(True, description="False: never ask back, give the best there is.")

    def options(self, caller: Caller) -> AskOptions:
        """As the knowledge base takes them, within what the caller may see."""
        return AskOptions(
            collections=self.collections,
            sources=self.sources,
            within=caller.collections,
            principals=caller.principals,
            effort=self.effort,
            top_k=self.top_k,
            variants=self.variants,
            timeout=self.timeout,
            interactive=self.interactive,
        )


class AskBody(SearchOptions):
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

    def options(self, caller: Caller) -> AskOptions:
        turns = tuple(Turn(turn.role, turn.text) for turn in self.history)
        return AskOptions(**super().options(caller), history=turns)


class ResumeBody(SearchOptions):
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
