"""Other providers' HTTP APIs for ``ScriptedModel``: Anthropic's, Ollama's and Google's.

Each turns its requests into OpenAI's form, which scripts read, and lines into its own replies.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from scripted_model import Dialect, Line, tool_of, words_of


def _event(name: str, **data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()


def _text(content: Any) -> str:
    """The text of a message's content, which may come in blocks."""
    if isinstance(content, str) or content is None:
        return content or ""
    return "".join(block.get("text", "") for block in content)


def _object(line: Line) -> Any:
    """What a tool is called with: an object, or nothing where the model says something else."""
    try:
        return json.loads(line.text)
    except ValueError:
        return {}


class Anthropic(Dialect):
    """``POST /v1/messages``."""

    root = ""

    def read(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        messages = [{"role": m["role"], "content": _text(m["content"])} for m in body["messages"]]
        if system := _text(body.get("system")):
            messages.insert(0, {"role": "system", "content": system})
        tools = [{"function": {"name": tool["name"]}} for tool in body.get("tools", ())]
        form = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
        return {
            "path": path, "messages": messages, "stream": bool(body.get("stream")), "tools": tools,
            "temperature": body.get("temperature"),
            "response_format": {"type": form.get("type"), "schema": form.get("schema")},
        }  # fmt: skip

    def whole(self, request: Mapping[str, Any], line: Line) -> dict[str, Any]:
        block: dict[str, Any] = {"type": "text", "text": line.text}
        if name := tool_of(request):
            block = {"type": "tool_use", "id": "call-1", "name": name, "input": _object(line)}
        return {
            **self._message(request), "content": [block],
            "stop_reason": "tool_use" if name else "end_turn",
            "usage": {**self._read(request), "output_tokens": len(line.text.split())},
        }  # fmt: skip

    def begin(self, request: Mapping[str, Any], line: Line) -> list[bytes]:
        usage = {**self._read(request), "output_tokens": 0}
        message = {**self._message(request), "content": [], "stop_reason": None, "usage": usage}
        return [
            _event("message_start", message=message),
            _event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        ]

    def piece(self, request: Mapping[str, Any], text: str) -> bytes:
        return _event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})

    def end(self, request: Mapping[str, Any], line: Line) -> list[bytes]:
        return [
            _event("content_block_stop", index=0),
            _event(
                "message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None},
                usage={"output_tokens": len(line.text.split())},
            ),
            _event("message_stop"),
        ]  # fmt: skip

    def error(self, status: int, message: str) -> dict[str, Any]:
        kind = "rate_limit_error" if status == 429 else "api_error"
        return {"type": "error", "error": {"type": kind, "message": message}}

    def _message(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return {"id": "msg-1", "type": "message", "role": "assistant", "model": "scripted",
                "stop_sequence": None}  # fmt: skip

    def _read(self, request: Mapping[str, Any]) -> dict[str, int]:
        return {"input_tokens": words_of(request)}


class Ollama(Dialect):
    """``POST /api/chat``: a JSON object a line."""

    root = ""
    stream_type = "application/x-ndjson"

    def read(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        schema = body.get("format")
        return {
            **body, "path": path, "stream": bool(body.get("stream", True)),
            "temperature": (body.get("options") or {}).get("temperature"),
            "response_format": {"type": "json_schema" if schema else None, "schema": schema},
        }  # fmt: skip

    def whole(self, request: Mapping[str, Any], line: Line) -> dict[str, Any]:
        return {**self._said(line.text), **self._done(request, line)}

    def piece(self, request: Mapping[str, Any], text: str) -> bytes:
        return self._line({**self._said(text), "done": False})

    def end(self, request: Mapping[str, Any], line: Line) -> list[bytes]:
        return [self._line({**self._said(""), **self._done(request, line)})]

    def error(self, status: int, message: str) -> dict[str, Any]:
        return {"error": message}

    def _said(self, text: str) -> dict[str, Any]:
        return {
            "model": "scripted", "created_at": "2026-11-30T00:00:00Z",
            "message": {"role": "assistant", "content": text},
        }  # fmt: skip

    def _done(self, request: Mapping[str, Any], line: Line) -> dict[str, Any]:
        return {
            "done": True, "done_reason": line.finish, "prompt_eval_count": words_of(request),
            "eval_count": len(line.text.split()),
        }  # fmt: skip

    def _line(self, data: Mapping[str, Any]) -> bytes:
        return json.dumps(data).encode() + b"\n"


class Google(Dialect):
    """``POST /v1beta/models/NAME:generateContent`` and ``:streamGenerateContent``."""

    root = ""

    def read(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        messages = [
            {
                "role": "assistant" if c.get("role") == "model" else "user",
                "content": _text(c["parts"]),
            }
            for c in body["contents"]
        ]
        if system := _text((body.get("systemInstruction") or {}).get("parts")):
            messages.insert(0, {"role": "system", "content": system})
        tools = [
            {"function": {"name": function["name"]}}
            for tool in body.get("tools", ())
            for function in tool.get("functionDeclarations", ())
        ]
        config = body.get("generationConfig") or {}
        schema = config.get("responseJsonSchema") or config.get("responseSchema")
        return {
            "path": path, "messages": messages, "stream": ":streamGenerateContent" in path,
            "tools": tools, "temperature": config.get("temperature"),
            "response_format": {"type": "json_schema" if schema else None, "schema": schema},
        }  # fmt: skip

    def whole(self, request: Mapping[str, Any], line: Line) -> dict[str, Any]:
        part: dict[str, Any] = {"text": line.text}
        if name := tool_of(request):
            part = {"functionCall": {"name": name, "args": _object(line)}}
        return {**self._candidate(part, "STOP"), "usageMetadata": self._usage(request, line)}

    def piece(self, request: Mapping[str, Any], text: str) -> bytes:
        return self._data(self._candidate({"text": text}, None))

    def end(self, request: Mapping[str, Any], line: Line) -> list[bytes]:
        last = self._candidate({"text": ""}, "STOP")
        return [self._data({**last, "usageMetadata": self._usage(request, line)})]

    def error(self, status: int, message: str) -> dict[str, Any]:
        kind = "RESOURCE_EXHAUSTED" if status == 429 else "INTERNAL"
        return {"error": {"code": status, "message": message, "status": kind}}

    def _candidate(self, part: Mapping[str, Any], finish: str | None) -> dict[str, Any]:
        candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": [part]}}
        if finish:
            candidate["finishReason"] = finish
        return {"candidates": [candidate], "modelVersion": "scripted", "responseId": "reply-1"}

    def _usage(self, request: Mapping[str, Any], line: Line) -> dict[str, int]:
        asked, said = words_of(request), len(line.text.split())
        return {"promptTokenCount": asked, "candidatesTokenCount": said,
                "totalTokenCount": asked + said}  # fmt: skip

    def _data(self, data: Mapping[str, Any]) -> bytes:
        return f"data: {json.dumps(data)}\n\n".encode()
