"""An address of a model server: limits, second tries, and a key that shows nowhere."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from anabranch.errors import ConfigurationError, RemoteError
from anabranch.models.endpoint import Endpoint
from model_server import ModelServer, Reply

KEY = "sk-very-secret"


def in_turn(*replies):
    waiting = list(replies)
    return lambda _: waiting.pop(0)


async def posted(answer, **options):
    with ModelServer(answer) as server:
        endpoint = Endpoint(server.url, key=KEY, **options)
        try:
            return await endpoint.post({"a": "€"}), server
        finally:
            await endpoint.close()


async def test_the_key_and_the_body_arrive():
    reply, server = await posted(lambda request: Reply({"got": request["a"]}))
    assert reply == {"got": "€"}
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_busy_server_is_asked_once_more(status):
    reply, server = await posted(
        in_turn(Reply({}, status, {"Retry-After": "0"}), Reply({"ok": True}))
    )
    assert reply == {"ok": True}
    assert len(server.requests) == 2


async def test_a_date_in_retry_after_is_understood():
    past = format_datetime(datetime.now(UTC) - timedelta(seconds=5), usegmt=True)
    reply, _ = await posted(in_turn(Reply({}, 429, {"Retry-After": past}), Reply([1])))
    assert reply == [1]


async def test_a_server_that_wants_more_time_than_there_is_fails_at_once():
    with pytest.raises(RemoteError, match="asks to come back in 3600 s"):
        await posted(in_turn(Reply({}, 429, {"Retry-After": "3600"})), timeout=5)


async def test_it_gives_up_after_the_second_failure():
    with pytest.raises(RemoteError, match="answered with 500"):
        await posted(lambda _: Reply({}, 500, {"Retry-After": "0"}))


@pytest.mark.parametrize("status", [400, 401, 404, 301])
async def test_a_refusal_is_not_tried_again(status):
    with pytest.raises(RemoteError, match=f"answered with {status}: .*no such model"):
        await posted(in_turn(Reply({"error": "no such model"}, status, {"Location": "/other"})))


async def test_a_server_that_hangs_costs_no_more_than_the_timeout():
    never = threading.Event()
    try:
        with pytest.raises(RemoteError, match=r"no reply within 0\.2 s"):
            await posted(lambda _: Reply({}, hold=never), timeout=0.2)
    finally:
        never.set()


async def test_a_reply_that_is_no_json_is_named():
    with pytest.raises(RemoteError, match="other than JSON: '<html>busy"):
        await posted(lambda _: Reply(b"<html>busy</html>"))


async def test_an_endless_reply_is_cut_off():
    with pytest.raises(RemoteError, match="more than 1 MB"):
        await posted(lambda _: Reply(b"[" + b"0," * 2**20), most_bytes=2**20)


async def test_a_server_that_is_not_there_is_named():
    with ModelServer(lambda _: Reply({})) as server:
        url = server.url
    endpoint = Endpoint(url, key=KEY)
    with pytest.raises(RemoteError, match="cannot be reached") as failed:
        await endpoint.post({})
    await endpoint.close()
    assert KEY not in str(failed.value)
    assert KEY not in repr(endpoint)


@pytest.mark.parametrize(
    "url",
    ["ftp://host/x", "localhost:80", "", "http://", "http://[::1", "http://host:99999/v1"],
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ConfigurationError, match="not an address"):
        Endpoint(url)


def test_a_password_in_the_address_is_refused_and_not_repeated():
    with pytest.raises(ConfigurationError) as refused:
        Endpoint(f"https://me:{KEY}@host/v1")
    assert KEY not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "full"),
    [
        ("http://host/v1", "http://host/v1/rerank"),
        ("http://host/v1/", "http://host/v1/rerank"),
        ("http://host", "http://host/rerank"),
        ("http://host/v1/rerank", "http://host/v1/rerank"),
        ("http://host/v1/rerank/", "http://host/v1/rerank"),
        ("http://host/no-rerank?token=secret#there", "http://host/no-rerank/rerank"),
    ],
)
def test_the_end_of_an_address_may_be_left_out(url, full):
    assert Endpoint(url, ending="rerank").url == full


async def test_a_query_in_the_address_is_sent_and_not_shown():
    with ModelServer(lambda _: Reply({}, 404)) as server:
        endpoint = Endpoint(f"{server.url}?token=sk-in-the-address", ending="rerank")
        with pytest.raises(RemoteError) as refused:
            await endpoint.post({})
        await endpoint.close()
    assert server.paths == ["/v1/model/rerank?token=sk-in-the-address"]
    assert "sk-in-the-address" not in f"{refused.value}{endpoint!r}"


async def test_a_key_that_the_server_repeats_is_left_out():
    with pytest.raises(RemoteError) as refused:
        await posted(lambda _: Reply({"error": f"wrong key {KEY}, {KEY}"}, 401))
    assert "wrong key (key), (key)" in str(refused.value)
    assert KEY not in str(refused.value)
    assert refused.value.status == 401


async def test_the_line_end_of_a_key_from_a_file_is_no_part_of_it():
    with ModelServer(lambda _: Reply({})) as server:
        endpoint = Endpoint(server.url, key=f" {KEY}\n")
        await endpoint.post({})
        await endpoint.close()
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("key", ["sk-one\nsk-two", "sk-schlüssel", "sk\x00"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(key):
    with pytest.raises(ConfigurationError, match="characters that cannot be sent") as refused:
        Endpoint("http://host/v1", key=key)
    assert key not in str(refused.value)
    assert "sk-" not in str(refused.value)


async def test_no_more_calls_than_allowed_are_under_way_and_waiting_costs_no_time():
    running, most, lock = 0, 0, threading.Lock()

    def answer(request):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait(5)
        with lock:
            running -= 1
        return Reply({"n": request["n"]})

    # Two at a time meet here, or the test breaks: a third would not find a partner.
    together = threading.Barrier(2)
    with ModelServer(answer) as server:
        endpoint = Endpoint(server.url, concurrency=2)
        replies = await asyncio.gather(*(endpoint.post({"n": n}) for n in range(6)))
        await endpoint.close()
    assert [reply["n"] for reply in replies] == list(range(6))
    assert most == 2


async def test_the_time_of_a_call_begins_with_its_turn():
    let_go = threading.Event()

    def answer(request):
        return Reply({"n": request["n"]}, hold=None if request["n"] else let_go)

    with ModelServer(answer) as server:
        endpoint = Endpoint(server.url, concurrency=1, timeout=1.0)
        # Begun first, it has the only turn, whether or not its words ever reach the server.
        hanging = asyncio.ensure_future(endpoint.post({"n": 0}))
        waiting = [asyncio.ensure_future(endpoint.post({"n": n})) for n in (1, 2)]
        with pytest.raises(RemoteError, match="no reply within"):
            await hanging
        assert await asyncio.gather(*waiting) == [{"n": 1}, {"n": 2}]
        let_go.set()
        await endpoint.close()
