"""One address of a model server: JSON out, JSON in, within limits.

What comes back is untrusted: its size is bounded, and its shape is checked by who asked. The key
is sent and nothing else: it stands in no message, no log and no ``repr``, also where the server
repeats it or it is part of the address.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit, urlunsplit

from anabranch.errors import ConfigurationError, RemoteError

if TYPE_CHECKING:
    import httpx

MOST_BYTES = 64 * 1024 * 1024
# A reply that says more than this about its error says it in vain.
_DETAIL_CHARACTERS = 200
_TRY_AGAIN = frozenset({429, 500, 502, 503, 504})
# Seconds before the second try where the server names none: long enough for a hiccup, and spread
# so that many askers do not come back at once.
_PAUSE = 0.25
_LONGEST_PAUSE = 10.0


class Endpoint:
    """POSTs to ``url``, at most ``concurrency`` at a time, each within ``timeout`` seconds.

    The time runs from when a call has its turn, so that many calls at once only wait longer; who
    has to be done by then sets a deadline around the call. 429 and 5xx are tried once more, after
    what ``Retry-After`` asks for if the time allows it. Redirects are not followed: they could
    carry the key elsewhere. ``url`` may lack the ``ending`` of its path, as a "base URL" does;
    ``self.url`` has it, and no query: it is for messages.
    """

    def __init__(
        self, url: str, *, ending: str = "", key: str = "", timeout: float = 30.0,
        concurrency: int = 4, most_bytes: int = MOST_BYTES,
    ) -> None:  # fmt: skip
        parts = checked_address(url)
        path = parts.path.rstrip("/")
        if ending and path.rpartition("/")[2] != ending:
            path = f"{path}/{ending}"
        self.url = urlunsplit(parts._replace(path=path, query="", fragment=""))
        self.concurrency = concurrency
        self._address = urlunsplit(parts._replace(path=path, fragment=""))
        self._key = key.strip()
        if not (self._key.isascii() and self._key.isprintable()):
            raise ConfigurationError(
                f"The key for {self.url!r} has characters that cannot be sent. Copy it again."
            )
        self._timeout = timeout
        self._most_bytes = most_bytes
        self._slots = asyncio.Semaphore(concurrency)
        self._client: httpx.AsyncClient | None = None

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r})"

    async def post(self, body: Mapping[str, Any]) -> Any:
        """The parsed reply; RemoteError where there is none that can be parsed."""
        async with self._slots:
            try:
                async with asyncio.timeout(self._timeout) as deadline:
                    return await self._post(body, deadline)
            except TimeoutError:
                raise RemoteError(
                    f"{self.url!r} gave no reply within {self._timeout:.3g} s."
                ) from None

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _post(self, body: Mapping[str, Any], deadline: asyncio.Timeout) -> Any:
        import httpx

        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        for again in (True, False):
            try:
                status, headers, reply = await self._send(content)
            except httpx.HTTPError as error:
                if not again:
                    raise RemoteError(
                        f"{self.url!r} cannot be reached: {type(error).__name__}."
                    ) from None
                status, headers, reply = 0, {}, b""
            if status == 200:
                return self._parsed(reply)
            if not again or (status and status not in _TRY_AGAIN):
                break
            await asyncio.sleep(self._pause(headers.get("retry-after"), deadline))
        raise RemoteError(f"{self.url!r} answered with {status}{self._told(reply)}", status=status)

    async def _send(self, content: bytes) -> tuple[int, Mapping[str, str], bytes]:
        async with self._connected().stream("POST", self._address, content=content) as response:
            received = bytearray()
            async for block in response.aiter_bytes():
                received += block
                if len(received) > self._most_bytes:
                    raise RemoteError(
                        f"{self.url!r} sent more than {self._most_bytes // 2**20} MB; its reply "
                        "was not read to the end."
                    )
            return response.status_code, response.headers, bytes(received)

    def _connected(self) -> httpx.AsyncClient:
        if self._client is None:
            import httpx

            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            if self._key:
                headers["Authorization"] = f"Bearer {self._key}"
            self._client = httpx.AsyncClient(headers=headers, timeout=self._timeout)
        return self._client

    def _parsed(self, reply: bytes) -> Any:
        try:
            return json.loads(reply)
        except (ValueError, RecursionError):
            raise RemoteError(
                f"{self.url!r} answered with something other than JSON{self._told(reply)}"
            ) from None

    def _pause(self, retry_after: str | None, deadline: asyncio.Timeout) -> float:
        wanted = seconds_to_wait(retry_after)
        if wanted is None:
            return _PAUSE * (1 + random.random())  # noqa: S311 - spreads load, hides nothing
        ends = deadline.when()
        left = _LONGEST_PAUSE if ends is None else ends - asyncio.get_running_loop().time()
        if wanted > min(left, _LONGEST_PAUSE):
            raise RemoteError(f"{self.url!r} asks to come back in {wanted:g} s, too late.")
        return wanted

    def _told(self, reply: bytes) -> str:
        said = " ".join(reply[: 4 * _DETAIL_CHARACTERS].decode("utf-8", "replace").split())
        if self._key:  # servers do repeat the key that they refuse
            said = said.replace(self._key, "(key)")
        return f": {said[:_DETAIL_CHARACTERS]!r}." if said else "."


def checked_address(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # brackets without an address in them, a port beyond 65535
        fits = False
    if not fits:
        raise ConfigurationError(
            f"{url!r} is not an address of a model server: it begins with http:// or https:// and "
            "a host."
        )
    if parts.username or parts.password:
        raise ConfigurationError(
            f"The address of the model server at {parts.hostname!r} has a password in it. Give it "
            "as the key instead."
        )
    return parts


def seconds_to_wait(retry_after: str | None) -> float | None:
    """Seconds that a Retry-After header asks for (RFC 9110, section 10.2.3)."""
    if retry_after is None:
        return None
    if retry_after.strip().isdigit():
        return float(retry_after)
    try:
        from datetime import UTC, datetime

        when = parsedate_to_datetime(retry_after)
        return max(0.0, (when - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None
