"""What a language model replied, read as what it was asked for, however it came.

Fenced, chatty, cut off, quoted the wrong way, wrapped in another object, with numbers as words or
lists as text: all that is read. What cannot be is asked for once more, with what was wrong with it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ValidationError

from anabranch.decoding import normalise
from anabranch.errors import UnusableReplyError
from anabranch.ports import ChatModel, Prompt
from anabranch.reasoning.fences import Fences

Shape = TypeVar("Shape", bound=BaseModel)

# A reply longer than this is no reply to anything that is asked here.
_MOST_CHARACTERS = 50_000
# Repairing takes time with the square of the length, and more on what is far from JSON.
_MOST_MENDED = 4_000
_MOST_CANDIDATES = 20
_MOST_LINES = 20
_SHOWN_CHARACTERS = 2_000
_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCED = re.compile(r"```[\w-]*\s*\n(.*?)(?:```|\Z)", re.DOTALL)
# "1. ", "2) ", "- ", "Q3: ", "（一）", "第二，" before a line of a list.
_NUMBERING = re.compile(
    r"^\s*(?:[-*•·–]\s+|[(（]?(?:\d{1,2}|[一二三四五六七八九十])\s*[.)）、:：](?!\d)\s*"
    r"|(?:Q|S|sub-?question|variant|query|子问题|问题)\s*\d{1,2}\s*[.):：]\s*|第[一二三四五六七八九十][，、:：]\s*)",
    re.IGNORECASE,
)
# "Here are the variants:", "以下是改写：" are said to a person.
_PREAMBLE = re.compile(
    r"^(?:(?:here (?:are|is)|sure|certainly|of course|the following|以下|好的)\b.*[:：。!]?|.*[:：])$",
    re.IGNORECASE,
)
_TEXT_KEYS = ("question", "text", "query", "value", "content", "name")
_WORDS_OF_CHANCE = {"none": 0.0, "low": 0.2, "medium": 0.5, "moderate": 0.5, "high": 0.9,
                    "低": 0.2, "中": 0.5, "高": 0.9}  # fmt: skip


async def ask(model: ChatModel, prompt: Prompt, shape: type[Shape], fences: Fences) -> Shape:
    """The model's reply as ``shape``; asked once more where the first one cannot be read.

    Raises UnusableReplyError where the second one cannot be either.
    """
    schema = schema_of(shape)
    reply = await model.complete(prompt, schema=schema)
    try:
        return read_reply(fences.restore(reply), shape)
    except UnusableReplyError as error:
        wrong = str(error)
    again = f"{wrong} Reply again with the JSON object alone: no other text, and not its schema."
    shown = reply[:_SHOWN_CHARACTERS] or "(nothing)"
    second = replace(prompt, exchange=(*prompt.exchange, ("ai", shown), ("human", again)))
    second_reply = await model.complete(second, schema=schema)
    return read_reply(fences.restore(second_reply), shape)


def read_reply(reply: str, shape: type[Shape]) -> Shape:
    """``reply`` as ``shape``. Raises UnusableReplyError saying what is wrong, and nothing else."""
    problem = "There is no JSON object in it."
    for candidate in _candidates(_THINKING.sub("", reply[:_MOST_CHARACTERS])):
        for value in _unwrapped(candidate):
            if _is_schema(value):
                problem = "It repeats the schema in place of values."
                continue
            try:
                return shape.model_validate(value)
            except ValidationError as error:
                problem = _problem(error)
    raise UnusableReplyError(f"The reply cannot be used. {problem}")


def schema_of(shape: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of ``shape`` as providers want it for strict replies: all is required."""
    schema = shape.model_json_schema()
    properties = {
        name: {key: value for key, value in field.items() if key not in ("default", "title")}
        for name, field in schema["properties"].items()
    }
    return {
        "title": shape.__name__,
        "description": " ".join((shape.__doc__ or shape.__name__).split()),
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


# ------------------------------------------------------------------------------------- finding it


def _candidates(text: str) -> Iterator[Any]:
    """Everything in ``text`` that may be the object, the most literal reading first."""
    stripped = text.strip()
    yield from _parsed(stripped)
    for block in _FENCED.finditer(text):
        yield from _parsed(block[1].strip())
    decoder = json.JSONDecoder(strict=False)
    at, found = text.find("{"), 0
    while at >= 0 and found < _MOST_CANDIDATES:
        found += 1
        try:
            value, length = decoder.raw_decode(text[at:])
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        yield value
        at = text.find("{", at + length)
    yield from _mended(text)


def _parsed(text: str) -> Iterator[Any]:
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return
    yield value
    if isinstance(value, str):  # JSON within JSON, as tool arguments sometimes are
        yield from _parsed(value)


def _mended(text: str) -> Iterator[Any]:
    """What a repair makes of broken JSON: cut off, single quotes, commas too many or too few."""
    from json_repair import repair_json

    start = text.find("{")
    if start < 0:
        return
    try:
        yield repair_json(
            text[start : start + _MOST_MENDED], return_objects=True, skip_json_loads=True
        )
    except (ValueError, RecursionError, IndexError, TypeError, KeyError):
        return  # a repair that fails has found nothing


def _unwrapped(value: Any, depth: int = 2) -> Iterator[Any]:
    """``value`` itself, then what it may be wrapped around: a list, {"plan": …}, {"properties": …}."""
    if isinstance(value, Mapping):
        yield value
        inner = [item for item in value.values() if isinstance(item, (Mapping, list))]
        if depth and (len(value) == 1 or "properties" in value or "arguments" in value):
            for item in inner:
                yield from _unwrapped(item, depth - 1)
        elif depth and "parameters" in value:
            yield from _unwrapped(value["parameters"], depth - 1)
    elif isinstance(value, list) and depth:
        for item in value[:_MOST_CANDIDATES]:
            yield from _unwrapped(item, depth - 1)


def _is_schema(value: Mapping[str, Any]) -> bool:
    fields = [item for item in value.values() if isinstance(item, Mapping)]
    return "$schema" in value or (
        bool(fields) and len(fields) == len(value) and all("type" in item for item in fields)
    )


def _problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "the object"
    return f"{where!r}: {first['msg']}."


# ------------------------------------------------------------------------------ what a field holds


def one_line(text: str, *, most: int = 500) -> str:
    """``text`` on one line without control characters, and no longer than ``most``."""
    whole = text[: 4 * most].encode("utf-8", "replace").decode("utf-8")
    return " ".join(normalise(whole).split())[:most].strip()


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        held = (value[key] for key in _TEXT_KEYS if isinstance(value.get(key), str))
        value = next(held, "")
    if isinstance(value, (list, tuple)):
        value = " ".join(item for item in value if isinstance(item, str))
    said = one_line(str(value), most=2_000) if isinstance(value, (str, int, float)) else ""
    # Small models give the dots of an example back.
    return said if re.search(r"\w", said) else ""


def _lines(value: Any) -> list[str]:
    """Each line once, without the numbering and the preamble that models like to give them."""
    if isinstance(value, str):
        parsed = next(_parsed(value.strip()), None) if value.strip()[:1] in "[{" else None
        value = value.splitlines() if parsed is None else parsed
    if isinstance(value, Mapping):
        value = list(value.values())
    if not isinstance(value, (list, tuple)):
        return []
    found: dict[str, str] = {}
    for item in value[:_MOST_LINES]:
        line = _bare(_text(item))
        if line and not _PREAMBLE.match(line):
            found.setdefault(line.casefold(), line)
    return list(found.values())


def _bare(line: str) -> str:
    bare = _NUMBERING.sub("", line).strip()
    quoted = len(bare) > 1 and (bare[0], bare[-1]) in (
        ('"', '"'),
        ("'", "'"),
        ("“", "”"),
        ("「", "」"),
    )
    return one_line(bare[1:-1] if quoted else bare)


def _chance(value: Any) -> float:
    """A number from 0 to 1: also "85%", "0,85", 85, "high", True; raises ValueError otherwise."""
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _WORDS_OF_CHANCE:
            return _WORDS_OF_CHANCE[word]
        number = re.search(r"-?\d+(?:[.,]\d+)?", word)
        if number is None:
            raise ValueError(f"{value[:40]!r} is no number from 0 to 1")
        found = float(number[0].replace(",", "."))
        if "%" in word:
            found /= 100
    elif isinstance(value, (bool, int, float)):
        found = float(value)
    else:
        raise ValueError("it is no number from 0 to 1")
    if not math.isfinite(found):
        raise ValueError("it is no number from 0 to 1")
    return min(1.0, max(0.0, found / 100 if 1 < found <= 100 else found))


def _numbers(value: Any) -> list[int]:
    """Whole numbers, also out of text ("1 and 3", "[2]", "e4"); what holds none is nothing."""
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        value = [value]
    if not isinstance(value, (list, tuple)):
        return []
    found: list[int] = []
    for item in value[:100]:
        if isinstance(item, Mapping):
            item = next((v for v in item.values() if isinstance(v, int)), "")
        if isinstance(item, (str, int, float)) and not isinstance(item, bool):
            found.extend(int(digits) for digits in re.findall(r"\d{1,4}", str(item)))
    return list(dict.fromkeys(found))


def _word(value: Any) -> Any:
    """A choice as it is written in the schema: "Missing-Slot." is missing_slot; None is none."""
    if value is None or value is False:
        return "none"
    if isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    if isinstance(value, str):
        return re.sub(r"[\s-]+", "_", value.strip(" \t\n.\"'`*").lower())
    return value


Text = Annotated[str, BeforeValidator(_text)]
Lines = Annotated[tuple[str, ...], BeforeValidator(_lines)]
Chance = Annotated[float, BeforeValidator(_chance)]
Numbers = Annotated[tuple[int, ...], BeforeValidator(_numbers)]
Complexity = Annotated[Literal["simple", "complex"], BeforeValidator(_word)]
Relevance = Annotated[Literal["none", "weak", "strong"], BeforeValidator(_word)]
Answerability = Annotated[Literal["none", "partial", "sufficient"], BeforeValidator(_word)]
Ambiguity = Annotated[
    Literal["none", "missing_slot", "multiple_candidates"], BeforeValidator(_word)
]
Method = Annotated[Literal["step_back", "hyde"], BeforeValidator(_word)]
