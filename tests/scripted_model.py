"""A scripted language model behind a real server on loopback: OpenAI-compatible, or another dialect.

``python tests/scripted_model.py SCRIPT.json`` serves one by hand: the file maps roles (``plan``,
``grade``, ``rewrite``, ``answer``) to what is said, a text or an object.

A script gives a ``Line`` for each request: by role, by a list that is used up in order (its last line
stays), or by a function of the request. Requests, headers and how many were under way at once are
remembered.
"""

from __future__ import annotations

import json
import re
import select
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

# How each prompt of reasoning/prompts.py begins.
ROLES = {
    "You plan": "plan",
    "You judge": "grade",
    "A search in": "rewrite",
    "You answer": "answer",
    "You talk": "agent",
    "You compare": "conflicts",
}

# Roles that a script need not have: most tests are not about them.
NOTHING_TO_SAY: Mapping[str, Any] = {"conflicts": {"conflicts": []}}


# What a request may use; a model without one of them refuses it with a 400.
OPTIONS = ("json_schema", "tools", "temperature", "stream_options", "system role")


@dataclass
class Line:
    """What the model says, or how it fails.

    ``say``: a text, or an object that is said as JSON. ``body``: sent as it is in place of a reply.
    ``hold``: waited for before anything is sent. ``stall_after``: pieces of a stream after which
    nothing more comes until ``release``. ``drop_after``: pieces after which the connection breaks (0:
    before the first byte of the reply).
    """

    say: Any = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    hold: threading.Event | None = None
    stall_after: int | None = None
    release: threading.Event = field(default_factory=threading.Event)
    drop_after: int | None = None
    finish: str = "stop"
    usage: bool = True

    @property
    def text(self) -> str:
        return self.say if isinstance(self.say, str) else json.dumps(self.say, ensure_ascii=False)


Said = Line | str | Mapping[str, Any]
Script = Mapping[str, Said | Sequence[Said]] | Callable[[Mapping[str, Any]], Said]


def role_of(request: Mapping[str, Any]) -> str:
    """Which role of ours asks; "" for a request of somebody else."""
    first = str(request["messages"][0]["content"])
    return next((role for start, role in ROLES.items() if first.startswith(start)), "")


def question_of(request: Mapping[str, Any]) -> str:
    """The question in a prompt of ours: the text between the fences of that name."""
    text = next(m["content"] for m in request["messages"] if m["role"] == "user")
    found = re.search(r"^BEGIN (\w+) question\n(.*?)\nEND \1$", text, re.DOTALL | re.MULTILINE)
    return found[2] if found else ""


class Dialect:
    """How a provider's HTTP API is spoken: OpenAI's. ``scripted_dialects`` has others.

    Requests are handed to a script in OpenAI's form, whoever sends them.
    """

    root = "/v1"
    stream_type = "text/event-stream"

    def read(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """A request in OpenAI's form."""
        return body

    def whole(self, request: Mapping[str, Any], line: Line) -> dict[str, Any]:
        """A reply that is not streamed; the first tool that is offered is called with it."""
        message: dict[str, Any] = {"role": "assistant", "content": line.text}
        if name := tool_of(request):
            function = {"name": name, "arguments": line.text}
            call = {"id": "call-1", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": line.finish}
        reply = {**_about("chat.completion"), "choices": [choice]}
        if line.usage:
            reply["usage"] = _usage(request, line)
        return reply

    def begin(self, request: Mapping[str, Any], line: Line) -> list[bytes]:
        """What a stream has before its first piece."""
        return []

    def piece(self, request: Mapping[str, Any], text: str) -> bytes:
        delta = {"role": "assistant", "content": text}
        return _chunk(choices=[{"index": 0, "delta": delta, "finish_reason": None}])

    def end(self, request: Mapping[str, Any], line: Line) -> list[bytes]:
        """What a stream has behind its last piece."""
        last = [_chunk(choices=[{"index": 0, "delta": {}, "finish_reason": line.finish}])]
        if line.usage and request.get("stream_options"):
            last.append(_chunk(choices=[], usage=_usage(request, line)))
        return [*last, b"data: [DONE]\n\n"]

    def error(self, status: int, message: str) -> dict[str, Any]:
        return {"error": {"message": message, "type": "error", "code": None}}


class ScriptedModel:
    """Serves while its context is open. ``understands``: the options it does not refuse."""

    def __init__(
        self,
        script: Script,
        *,
        understands: Sequence[str] = OPTIONS,
        context_tokens: int | None = None,
        dialect: Dialect | None = None,
    ) -> None:
        self.script = script
        self.dialect = dialect or Dialect()
        self.understands = frozenset(understands)
        self.context_tokens = context_tokens
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.most_at_once = 0
        self.hung_up = threading.Event()  # somebody left before the reply was whole
        self.asked = threading.Event()
        self.connected = 0
        self._left = threading.Condition()
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._under_way = 0
        self._used: dict[str, int] = {}
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}{self.dialect.root}"

    def is_left_alone(self) -> bool:
        """Whether all have hung up, now or before long."""
        with self._left:
            return self._left.wait_for(lambda: self.connected == 0, timeout=10)

    def calls(self, role: str) -> list[dict[str, Any]]:
        return [request for request in self.requests if role_of(request) == role]

    def line_for(self, request: Mapping[str, Any]) -> Line:
        if callable(self.script):
            said: Any = self.script(request)
        else:
            role = role_of(request)
            said = self.script.get(role, NOTHING_TO_SAY.get(role))
            if said is None:
                said = Line(status=404, say=f"no line for {role!r}")
            if isinstance(said, Sequence) and not isinstance(said, str):
                used = self._used.get(role, 0)
                self._used[role] = used + 1
                said = said[min(used, len(said) - 1)]
        return said if isinstance(said, Line) else Line(said)

    def refused(self, request: Mapping[str, Any]) -> str | None:
        """The option of ``request`` that this model does not know, if there is one."""
        kind = (request.get("response_format") or {}).get("type")
        uses = {
            "json_schema": kind == "json_schema",
            "tools": bool(request.get("tools")),
            "temperature": request.get("temperature") is not None,
            "stream_options": "stream_options" in request,
            "system role": any(m["role"] == "system" for m in request["messages"]),
        }
        return next((o for o, used in uses.items() if used and o not in self.understands), None)

    def _handler(model) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - `self` is the handler's
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                with model._left:
                    model.connected += 1

            def finish(self) -> None:
                super().finish()
                with model._left:
                    model.connected -= 1
                    model._left.notify_all()

            def do_GET(self) -> None:
                about: dict[str, Any] = {"id": "scripted", "object": "model"}
                if model.context_tokens:
                    about["meta"] = {"n_ctx": model.context_tokens}
                self._send(200, json.dumps({"object": "list", "data": [about]}).encode())

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                request = model.dialect.read(self.path, body)
                with model._lock:
                    model.requests.append(request)
                    model.headers.append({k.lower(): v for k, v in self.headers.items()})
                    model._under_way += 1
                    model.most_at_once = max(model.most_at_once, model._under_way)
                    option = model.refused(request)
                    line = model.line_for(request) if option is None else None
                model.asked.set()
                try:
                    self._reply(request, line, option)
                except OSError:
                    model.hung_up.set()
                    self.close_connection = True
                finally:
                    with model._lock:
                        model._under_way -= 1

            def _reply(
                self, request: Mapping[str, Any], line: Line | None, option: str | None
            ) -> None:
                if line is None:
                    self._refuse(400, f"{option} is not supported by this model")
                    return
                if line.hold is not None:
                    self._wait_for(line.hold)
                if line.drop_after == 0:
                    self._break_off()
                elif line.status != 200:
                    self._refuse(line.status, line.text, line.headers)
                elif line.body is not None:
                    self._send(200, line.body, line.headers)
                elif request.get("stream"):
                    self._stream(request, line)
                else:
                    self._whole(request, line)

            def _whole(self, request: Mapping[str, Any], line: Line) -> None:
                content = json.dumps(model.dialect.whole(request, line)).encode()
                if line.drop_after is not None:
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content[: len(content) // 2])
                    self._break_off()
                else:
                    self._send(200, content, line.headers)

            def _stream(self, request: Mapping[str, Any], line: Line) -> None:
                self.send_response(200)
                self.send_header("Content-Type", model.dialect.stream_type)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for sent in model.dialect.begin(request, line):
                    self._write(sent)
                for number, piece in enumerate(re.findall(r"\S+\s*|\s+", line.text)):
                    if number == line.stall_after:
                        self._wait_for(line.release)
                    if number == line.drop_after:
                        self._break_off()
                        return
                    self._write(model.dialect.piece(request, piece))
                for sent in model.dialect.end(request, line):
                    self._write(sent)
                self.wfile.write(b"0\r\n\r\n")

            def _write(self, data: bytes) -> None:
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                self.wfile.flush()

            def _refuse(
                self, status: int, message: str, headers: Mapping[str, str] | None = None
            ) -> None:
                error = json.dumps(model.dialect.error(status, message)).encode()
                self._send(status, error, headers)

            def _send(
                self, status: int, content: bytes, headers: Mapping[str, str] | None = None
            ) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def _wait_for(self, event: threading.Event) -> None:
                """Until ``event``; ends as well when the other side hangs up or the server closes."""
                while not event.wait(0.01):
                    readable, _, _ = select.select([self.connection], [], [], 0)
                    if readable and not self.connection.recv(1, socket.MSG_PEEK):
                        raise ConnectionResetError
                    if model._closing.is_set():
                        raise ConnectionAbortedError

            def _break_off(self) -> None:
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def tool_of(request: Mapping[str, Any]) -> str | None:
    """The first tool that a request offers."""
    tools = request.get("tools")
    return str(tools[0]["function"]["name"]) if tools else None


def words_of(request: Mapping[str, Any]) -> int:
    return sum(len(str(message["content"]).split()) for message in request["messages"])


def _chunk(**more: Any) -> bytes:
    data = json.dumps({**_about("chat.completion.chunk"), **more})
    return f"data: {data}\n\n".encode()


def _about(kind: str) -> dict[str, Any]:
    return {"id": "reply-1", "object": kind, "created": 1, "model": "scripted"}


def _usage(request: Mapping[str, Any], line: Line) -> dict[str, int]:
    """Counts that a test can compute: words there and words back."""
    asked, said = words_of(request), len(line.text.split())
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}


# ------------------------------------------------------------------------------ what is often said

SIMPLE = {"complexity": "simple", "reason": "one fact", "standalone": "", "sub_questions": [],
          "variants": []}  # fmt: skip
GOOD = {"relevance": "strong", "answerability": "sufficient", "confidence": 0.9, "passages": [1],
        "missing_slots": [], "ambiguity": "none", "hitl_prompt": "", "hitl_options": [],
        "route": "answer", "reason": "it stands there"}  # fmt: skip
WEAK = {**GOOD, "relevance": "weak", "answerability": "partial", "confidence": 0.3,
        "route": "rewrite", "reason": "only near it"}  # fmt: skip


def main() -> None:
    script = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    with ScriptedModel(script) as model:
        print(model.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
