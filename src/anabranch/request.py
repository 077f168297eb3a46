"""What a question may set, and the limits that follow from it and the settings; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import TYPE_CHECKING, TypedDict

from anabranch.errors import InputError, QuestionError
from anabranch.settings import Settings
from anabranch.types import ALL_COLLECTIONS, FOREIGN, Effort, Scope, Turn

if TYPE_CHECKING:
    from anabranch.ports import Budgets

# The first variant is the telling one (a repaired spelling, a short form spelt out, the noun that a
# table has); more of them only move words about, and each costs an embedding.
VARIANTS_BY_EFFORT: Mapping[Effort, int] = {"minimal": 0, "standard": 1, "thorough": 4}
CANDIDATES_BY_EFFORT: Mapping[Effort, int] = {"minimal": 100, "standard": 100, "thorough": 200}


class CallerScope(TypedDict, total=False):
    """What the one who asks may see at all; None, or left out, is the owner: everything.

    ``within`` are collections; of these, those that are not there are nothing. A document with
    ``allowed`` principals is seen by whoever has one of them among ``principals``.
    """

    within: Sequence[str] | None
    principals: Sequence[str] | None


class AskOptions(CallerScope, total=False):
    """What a question may set; what is left out, or None, comes from the settings.

    ``collections`` and ``sources`` narrow what is searched of what the caller may see. ``timeout``
    is in seconds. ``interactive=False`` forbids questions back: the outcome is then the best effort.
    """

    collections: Sequence[str] | None
    sources: Sequence[str] | None
    effort: Effort | None
    top_k: int | None
    variants: int | None
    timeout: float | None
    interactive: bool
    history: Sequence[Turn]


def checked_question(question: str, *, longest: int) -> str:
    """``question`` normalised, on one line. Raises QuestionError if it is blank or too long."""
    from anabranch.decoding import normalise

    if not isinstance(question, str):
        raise QuestionError(f"The question is {question!r}: it is a text.")
    # Before it is cleaned as well: that takes time with the length.
    _check_length(question.strip(), longest)
    cleaned = " ".join(normalise(question).split())
    if not cleaned:
        raise QuestionError("The question is blank. Ask something of the documents.")
    _check_length(cleaned, longest)
    return cleaned


def _check_length(question: str, longest: int) -> None:
    if len(question) > longest:
        raise QuestionError(
            f"The question has {len(question):,} characters; at most {longest:,} are read "
            "(ANABRANCH_MAX_QUESTION_CHARACTERS). Put long text into a file and add it."
        )


def checked_collection_name(name: str) -> str:
    """``name``, if a collection can be called that; raises InputError otherwise."""
    if not name.strip() or len(name) > 200 or any(ord(character) < 32 for character in name):
        raise InputError(
            f"{name[:50]!r} cannot be the name of a collection: 1 to 200 characters, no control "
            "characters."
        )
    if name.startswith(FOREIGN):
        raise InputError(
            f"{name[:50]!r} cannot be the name of a collection: {FOREIGN!r} is kept for retrievers "
            "that were given to KnowledgeBase.open."
        )
    if name == ALL_COLLECTIONS:
        raise InputError(
            f"A collection cannot be called {name!r}: OpenAI's clients ask all collections by that "
            "name. Give it another one; what an earlier version put there can still be asked and "
            "removed."
        )
    return name


def checked_principals(names: Sequence[str]) -> tuple[str, ...]:
    """``names``, if they can be those of principals; raises InputError for one that cannot.

    A form field that was left empty says neither that all may see a document nor that nobody may.
    """
    principals = names_of(names) or ()
    if any(not name.strip() for name in principals):
        raise InputError(
            "The name of a principal is blank. Leave `allowed` out for a document that everybody "
            "may see who may see its collection."
        )
    for name in principals:
        if len(name) > 200 or any(ord(character) < 32 for character in name):
            raise InputError(
                f"{name[:50]!r} cannot be the name of a principal: 1 to 200 characters, no control "
                "characters."
            )
    return principals


def names_of(names: Sequence[str] | None) -> tuple[str, ...] | None:
    if isinstance(names, str):  # a string is a sequence of its letters, which nobody means
        return (names,)
    return None if names is None else tuple(names)


def scope_of(options: AskOptions) -> Scope:
    return Scope(
        collections=names_of(options.get("collections")),
        sources=names_of(options.get("sources")),
        principals=names_of(options.get("principals")),
    )


def budgets_of(options: AskOptions, settings: Settings) -> Budgets:
    """What one request may spend; ``options`` were checked (``check_options``)."""
    from anabranch.ports import Budgets

    effort = options.get("effort") or settings.effort
    given = options.get("variants")
    variants = settings.variants if given is None else given
    if effort == "minimal":  # one query, whatever else is asked for
        variants = 0
    return Budgets(
        effort=effort,
        top_k=options.get("top_k") or settings.top_k,
        variants=VARIANTS_BY_EFFORT[effort] if variants is None else variants,
        candidates=CANDIDATES_BY_EFFORT[effort],
        context_tokens=settings.context_tokens,
        rewrites=0 if effort == "minimal" else 1,
        asks=settings.max_asks,
        query_timeout=settings.query_timeout,
        model_timeout=settings.model_timeout if calls_models(effort, settings) else 0.0,
        branch_timeout=settings.branch_timeout,
        reranked=settings.reranker_limit,
        rerank_timeout=settings.reranker_timeout,
    )


def calls_models(effort: Effort, settings: Settings) -> bool:
    """Whether language models take part in a request; without, nothing has to wait for one."""
    set_up = settings.model or settings.fast_model or settings.grade_model
    return effort != "minimal" and bool(set_up)


def check_options(options: AskOptions) -> None:
    """Raises InputError for an option that there is not, or a value that no request can have.

    A misspelt scope must not be taken for none: it would widen what is searched.
    """
    for name in options:
        if name not in AskOptions.__annotations__:
            known = ", ".join(AskOptions.__annotations__)
            raise InputError(f"There is no option {name!r}. The options are: {known}.")
    for name in ("top_k", "variants"):
        if not isinstance(options.get(name), (int, NoneType)):
            raise InputError(f"{name}={options.get(name)!r}: it is a whole number.")
    if not isinstance(options.get("timeout"), (int, float, NoneType)):
        raise InputError(f"timeout={options.get('timeout')!r}: it is a number of seconds.")
    if not all(isinstance(turn, Turn) for turn in options.get("history", ())):
        raise InputError("history: it is a list of anabranch.Turn values.")
    effort, timeout = options.get("effort"), options.get("timeout")
    top_k, variants = options.get("top_k"), options.get("variants")
    if effort is not None and effort not in VARIANTS_BY_EFFORT:
        raise InputError(f"effort={effort!r}: it is one of {', '.join(VARIANTS_BY_EFFORT)}.")
    if top_k is not None and top_k < 1:
        raise InputError(f"top_k={top_k!r}: at least 1 evidence item has to be allowed.")
    if variants is not None and variants < 0:
        raise InputError(f"variants={variants!r}: give 0 for none, or more.")
    if timeout is not None and not timeout > 0:
        raise InputError(f"timeout={timeout!r}: give the seconds that the request may take.")
