"""No caller ever gets a byte of a document out of its scope, by any route of the service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi", reason="needs the extra service")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anabranch.keys import KeyBook, Role
from anabranch.knowledge_base import KnowledgeBase
from anabranch.manifest import read_signing_key
from anabranch.resume import Snapshot, SnapshotScope, sign, to_token
from anabranch.service.app import create_app
from anabranch.settings import Settings
from anabranch.types import SourceRecord
from pdf_files import pdf
from service.servers import serving

COLLECTIONS = ("alpha", "beta", "gamma")
PRINCIPALS = ("hr", "law")
QUESTIONS = (
    "What is the code of the project?",
    "Which project has which code, and which town?",
    "In which town is the project, and what is its code?",
    "项目的代码是什么？",
    "Who feeds the whales?",
)


@dataclass(frozen=True)
class Secret:
    """A document and the words that are in it, its name and its title alone."""

    collection: str
    allowed: tuple[str, ...]
    number: int

    @property
    def words(self) -> tuple[str, str, str]:
        return tuple(f"{kind}q{self.number:02d}z" for kind in ("code", "name", "town"))  # type: ignore[return-value]

    @property
    def file(self) -> str:
        return f"{self.words[1]}.{'pdf' if self.number % 3 == 0 else 'md'}"

    def content(self) -> bytes:
        code, _, town = self.words
        line = f"The code of the project in {town} is {code}."
        return pdf(line) if self.file.endswith("pdf") else f"# Project {town}\n\n{line}\n".encode()


SECRETS = tuple(
    Secret(collection, allowed, number)
    for number, (collection, allowed) in enumerate(
        (collection, allowed)
        for collection in COLLECTIONS
        for allowed in ((), ("hr",), ("law",), ("hr", "law"))
    )
)


@dataclass(frozen=True)
class Asker:
    role: Role
    collections: tuple[str, ...] | None
    principals: tuple[str, ...]

    def sees(self, secret: Secret) -> bool:
        inside = self.collections is None or secret.collection in self.collections
        allowed = not secret.allowed or set(secret.allowed) & set(self.principals)
        return inside and (self.role == "admin" or bool(allowed))


@dataclass
class Place:
    """The service, its documents, and what earlier callers of the same name left there."""

    client: httpx.Client
    book: KeyBook
    signing_key: bytes
    records: dict[int, SourceRecord]
    sent: list[str] = field(default_factory=list)

    def snapshot(self, question: str, collections: tuple[str, ...]) -> dict[str, Any]:
        """Of a question that the owner was asked back about: as if it had been carried away."""
        return sign(
            Snapshot(
                id="0" * 16, question=question, route="clarify", status="needs_clarification",
                prompt="Which?", scope=SnapshotScope(collections=collections),
                index_fingerprint="", settings_fingerprint="",
            ),
            self.signing_key,
        )  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("scopes")
    options = Settings(kb=folder / "kb", threads=1, rate_limit=0)
    with KnowledgeBase.open(settings=options) as base:
        for secret in SECRETS:
            file = folder / secret.file
            file.write_bytes(secret.content())
            base.add(file, collection=secret.collection, allowed=secret.allowed)
        names = {record.source: record for record in base.sources()}
        records = {
            secret.number: next(r for name, r in names.items() if name.endswith(secret.file))
            for secret in SECRETS
        }
        with (
            serving(create_app(options, knowledge_base=base)) as address,
            httpx.Client(base_url=address, timeout=120) as client,
        ):
            yield Place(client, KeyBook(base.path), read_signing_key(base.path), records)


askers = st.builds(
    Asker,
    role=st.sampled_from(["reader", "editor", "admin"]),
    collections=st.none() | st.lists(st.sampled_from(COLLECTIONS), unique=True).map(tuple),
    principals=st.lists(st.sampled_from(PRINCIPALS), unique=True).map(tuple),
)
Call = Callable[[], httpx.Response]


def calls(
    place: Place, asker: Asker, headers: dict[str, str], draw: st.DataObject
) -> Iterator[tuple[str, Call]]:
    """Every route of the service with what the asker could try there, in an order that makes sense."""
    client = place.client
    question = draw.draw(st.sampled_from(QUESTIONS))
    wanted = draw.draw(st.none() | st.lists(st.sampled_from(COLLECTIONS), max_size=2, unique=True))
    target = draw.draw(st.sampled_from(SECRETS))
    source = place.records[target.number].source_id
    # Drawn whatever earlier examples left behind: the same choices come in the same order.
    new_question, marked = draw.draw(st.booleans()), draw.draw(st.booleans())
    model = draw.draw(st.sampled_from(["anabranch", *COLLECTIONS]))
    stream = {"Accept": "text/event-stream"} if draw.draw(st.booleans()) else {}
    body = {"question": question, "effort": draw.draw(st.sampled_from(["minimal", "standard"]))}
    body |= {} if wanted is None else {"collections": wanted}
    snapshot = place.snapshot(QUESTIONS[0], COLLECTIONS)

    def post(path: str, json: Any, **more: str) -> Call:
        return lambda: client.post(path, json=json, headers={**headers, **more})

    def get(path: str, **params: Any) -> Call:
        return lambda: client.get(path, params=params, headers=headers)

    yield "get /v1/me", get("/v1/me")
    yield "get /v1/collections", get("/v1/collections")
    yield "get /v1/sources", get("/v1/sources", **({"collection": wanted} if wanted else {}))
    yield "post /v1/ask", post("/v1/ask", body, **stream)
    yield "post /v1/retrieve", post("/v1/retrieve", body, **stream)
    resumed = {"reply": "the town", "snapshot": snapshot}
    yield "post /v1/resume", post("/v1/resume", resumed, **stream)
    text = get(f"/v1/sources/{source}/text", start=0, end=10_000)
    yield "get /v1/sources/{source_id}/text", text
    picture = get(f"/v1/sources/{source}/pages/1.png", start=0, end=99)
    yield "get /v1/sources/{source_id}/pages/{page}.png", picture
    if not asker.sees(target):
        yield (
            "delete /v1/sources/{source_id}",
            lambda: client.delete(f"/v1/sources/{source}", headers=headers),
        )
    yield "get /v1/models", get("/v1/models")
    yield "get /v1/models/{model}", get(f"/v1/models/{target.collection}")
    marker = f"Which?\n\n[//]: # (anabranch:{to_token(snapshot)})"
    turns = [{"role": "user", "content": question}]
    if marked:
        turns += [{"role": "assistant", "content": marker}, {"role": "user", "content": "a town"}]
    chat = {"model": model, "messages": turns, "stream": bool(stream)}
    yield "post /v1/chat/completions", post("/v1/chat/completions", chat)
    yield "post /v1/sessions", post("/v1/sessions", {"collections": wanted} if wanted else {})
    yield "get /v1/sessions", get("/v1/sessions")
    # Sessions belong to the name: these were made under it, with other keys and other scopes.
    listed = client.get("/v1/sessions", headers=headers).json()
    for session in listed[:3]:
        path = f"/v1/sessions/{session['id']}"
        yield "get /v1/sessions/{session_id}", get(path)
        said = {"text": question, "new_question": new_question}
        yield "post /v1/sessions/{session_id}/messages", post(f"{path}/messages", said, **stream)
    # Those of others are looked up by whoever guesses an id: there are none in these replies.
    files = {"files": (target.file, b"# New\n\nNothing of note.", "text/markdown")}
    # Kept for nobody: what the caller uploads is not seen by the callers that come later.
    taken = {
        "path": place.records[target.number].source, "collection": target.collection,
        "allowed": "nobody",
    }  # fmt: skip
    if not asker.sees(target):
        yield (
            "post /v1/sources",
            lambda: client.post("/v1/sources", files=files, data=taken, headers=headers),
        )
    yield "get /v1/jobs", get("/v1/jobs")
    yield "get /metrics", get("/metrics")


@pytest.mark.timeout(900)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False)
@given(asker=askers, draw=st.data())
def test_no_caller_gets_a_byte_out_of_its_scope(
    place: Place, asker: Asker, draw: st.DataObject
) -> None:
    key, made = place.book.create(
        "ann", role=asker.role, collections=asker.collections, principals=asker.principals
    )
    headers = {"Authorization": f"Bearer {key}"}
    hidden = [secret for secret in SECRETS if not asker.sees(secret)]
    try:
        for route, call in calls(place, asker, headers, draw):
            reply = call()
            assert reply.status_code < 500, (route, reply.text)
            told = f"{reply.headers}\n{reply.text}"
            for secret in hidden:
                # What the caller names itself may be named to it, also in the list of its jobs.
                named = _sent(reply) + ("".join(place.sent) if route == "get /v1/jobs" else "")
                leaked = [word for word in secret.words if word in told and word not in named]
                assert not leaked, (route, asker, leaked)
            if route == "post /v1/sources":
                place.sent.append(_sent(reply))
            if reply.headers.get("content-type") == "image/png":
                assert asker.sees(_target(place, reply))
    finally:
        place.book.revoke(made.id)


def _sent(reply: httpx.Response) -> str:
    return f"{reply.request.url} {reply.request.read().decode('utf-8', 'replace')}"


def _target(place: Place, reply: httpx.Response) -> Secret:
    source_id = str(reply.request.url.path).split("/")[3]
    return next(s for s in SECRETS if place.records[s.number].source_id == source_id)


class _Choices:
    """Draws the first of everything, for the one look at which routes there are."""

    def draw(self, strategy: Any) -> Any:
        return next(iter(getattr(strategy, "elements", [None])), None)


# Of what a caller has of its own: jobs and sessions are found by its name alone.
OWN = {
    "delete /v1/sessions/{session_id}", "get /v1/jobs/{job_id}", "delete /v1/jobs/{job_id}",
    "post /v1/jobs/{job_id}/retry",
}  # fmt: skip
OPEN = {"get /healthz", "get /readyz"}


def test_every_route_is_tried(place: Place) -> None:
    """A route that is added and not listed above would go untested."""
    described = place.client.get("/openapi.json").json()["paths"]
    routes = {f"{method} {path}" for path, methods in described.items() for method in methods}
    key, made = place.book.create("bob", role="editor", collections=[])
    headers = {"Authorization": f"Bearer {key}"}
    place.client.post("/v1/sessions", json={}, headers=headers)
    tried = {
        route
        for route, _ in calls(place, Asker("editor", (), ()), headers, _Choices())  # type: ignore[arg-type]
    }
    place.book.revoke(made.id)
    assert routes - OWN - OPEN == tried


def test_every_document_is_found_by_whoever_may_see_it(place: Place) -> None:
    """Else the test above could not fail."""
    for asker in (Asker("reader", ("alpha",), ("hr",)), Asker("admin", ("gamma",), ())):
        key, made = place.book.create(
            "carol", role=asker.role, collections=asker.collections, principals=asker.principals
        )
        headers = {"Authorization": f"Bearer {key}"}
        for secret in SECRETS:
            code, _, town = secret.words
            asked = {"question": f"What is the code of the project in {town}?", "effort": "minimal"}
            told = place.client.post("/v1/retrieve", json=asked, headers=headers).text
            assert (code in told) == asker.sees(secret)
        place.book.revoke(made.id)
