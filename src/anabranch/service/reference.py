"""``/docs``: the API's own description as one page, made here; nothing in it runs or comes from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin: 2.5rem 0 .5rem; }
h2::first-letter { text-transform: uppercase; }
details { border: 1px solid #8886; border-radius: .4rem; margin: .4rem 0; padding: .4rem .8rem; }
summary { cursor: pointer; }
code, pre { font: .9em/1.45 ui-monospace, monospace; }
pre { overflow: auto; background: #8881; border-radius: .3rem; padding: .6rem; }
table { border-collapse: collapse; margin: .5rem 0; }
td, th { text-align: left; vertical-align: top; padding: .15rem 1rem .15rem 0; }
.method { display: inline-block; min-width: 4.2rem; font-weight: 600; }
"""
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
# Nothing is loaded, run, framed or sent, whatever a description says.
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = {"Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff"}
_METHODS = ("get", "post", "put", "patch", "delete")
_CODE = re.compile(r"`([^`\n]+)`")

Described = Mapping[str, Any]


def install(app: FastAPI) -> None:
    """Adds ``/docs`` to ``app``, which is made without FastAPI's: those load scripts from elsewhere."""

    async def docs(request: Request) -> Response:
        root = str(request.scope.get("root_path", "")).rstrip("/")
        return HTMLResponse(page(app.openapi(), root=root), headers=_HEADERS)

    app.add_route("/docs", docs, include_in_schema=False)


def page(api: Described, *, root: str = "") -> str:
    """The page of an OpenAPI description; ``root`` is what the service's addresses begin with."""
    info = api["info"]
    body = "\n".join(_groups(api))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])} API</title><style>{_STYLE}</style></head><body>"
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1>"
        f"<p>{_prose(info.get('description', ''))}</p>"
        f'<p>For machines: <a href="{escape(root)}/openapi.json">openapi.json</a></p>\n'
        f"{body}\n</body></html>\n"
    )


def _groups(api: Described) -> Iterator[str]:
    grouped: dict[str, list[str]] = {}
    for path, operations in api["paths"].items():
        for method in _METHODS:
            if (operation := operations.get(method)) is not None:
                tag = next(iter(operation.get("tags", ())), "more")
                grouped.setdefault(tag, []).append(_operation(api, method, path, operation))
    for tag, shown in grouped.items():
        yield f"<h2>{escape(tag)}</h2>\n" + "\n".join(shown)


def _operation(api: Described, method: str, path: str, operation: Described) -> str:
    # What is said of it first says more than its name in words.
    first, *rest = operation.get("description", "").split("\n\n")
    parts = [
        f'<summary><span class="method">{method.upper()}</span> <code>{escape(path)}</code> '
        f"{_prose(first or operation.get('summary', ''))}</summary>",
        *(f"<p>{_prose(text)}</p>" for text in rest),
        "<p>Takes a key, where keys are in force.</p>" if operation.get("security") else "",
        _table("Parameters", _parameters(operation)),
        *_body(api, operation),
        _table("Replies", _replies(operation)),
    ]
    return f"<details>{''.join(part for part in parts if part)}</details>"


def _parameters(operation: Described) -> list[tuple[str, str]]:
    return [
        (
            f"<code>{escape(given['name'])}</code>",
            f"in the {escape(given['in'])}{', needed' if given.get('required') else ''}. "
            + _prose(given.get("description", "")),
        )
        for given in operation.get("parameters", ())
    ]


def _replies(operation: Described) -> list[tuple[str, str]]:
    return [
        (
            escape(status),
            f"{_prose(reply.get('description', ''))} {escape(', '.join(reply.get('content', ())))}",
        )
        for status, reply in operation.get("responses", {}).items()
    ]


def _body(api: Described, operation: Described) -> Iterator[str]:
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        schema = _resolved(api, content.get("schema", {}))
        yield f"<h4>Body: {escape(kind)}</h4>"
        yield _table("", _fields(api, schema))
        for example in _examples(content, schema):
            shown = json.dumps(example, indent=2, ensure_ascii=False)
            yield f"<pre>{escape(shown)}</pre>"


def _fields(api: Described, schema: Described) -> list[tuple[str, str]]:
    needed = schema.get("required", ())
    return [
        (
            f"<code>{escape(name)}</code>",
            f"{escape(_kind(api, field))}{', needed' if name in needed else ''}. "
            + _prose(field.get("description", "")),
        )
        for name, field in schema.get("properties", {}).items()
    ]


def _examples(content: Described, schema: Described) -> Sequence[Any]:
    named = [example["value"] for example in content.get("examples", {}).values()]
    alone = [content["example"]] if "example" in content else []
    return named or alone or schema.get("examples", ())


def _kind(api: Described, field: Described) -> str:
    """What a field takes, in a word or two."""
    if choices := field.get("anyOf") or field.get("oneOf"):
        kinds = (_kind(api, choice) for choice in choices)
        return " or ".join(dict.fromkeys(kind for kind in kinds if kind != "null"))
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if values := field.get("enum"):
        return " or ".join(json.dumps(value, ensure_ascii=False) for value in values)
    if "const" in field:
        return json.dumps(field["const"], ensure_ascii=False)
    kind = str(field.get("type", "anything"))
    return f"list of {_kind(api, field.get('items', {}))}" if kind == "array" else kind


def _resolved(api: Described, schema: Described) -> Described:
    if "$ref" not in schema:
        return schema
    name = str(schema["$ref"]).rpartition("/")[2]
    found: Described = api["components"]["schemas"][name]
    return found


def _table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    if not rows:
        return ""
    lines = "".join(f"<tr><th>{name}</th><td>{told}</td></tr>" for name, told in rows)
    return (f"<h4>{title}</h4>" if title else "") + f"<table>{lines}</table>"


def _prose(text: str) -> str:
    """Text with its ``code`` as code; nothing else of it is markup."""
    return _CODE.sub(r"<code>\1</code>", escape(" ".join(text.split())))
