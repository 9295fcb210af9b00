"""The suite's webhook receiver records what arrives and does about it what its plan says."""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from conformance.webhook_receiver.raw_receiver import (
    HANG_UP,
    SILENCE,
    Arrival,
    CannotListen,
    Plan,
    Receiver,
    Reply,
    accept,
    bind_sockets,
    redirect,
)

_SECONDS = 600


@asynccontextmanager
async def run_receiver(plan: Plan = accept, limit: int = 1000) -> AsyncIterator[tuple[Receiver, str]]:
    async with Receiver(plan, limit) as receiver:
        await receiver.start(bind_sockets("127.0.0.1", 0))
        yield receiver, f"http://127.0.0.1:{receiver.port}"


async def post(url: str, body: bytes = b"{}", **headers: str) -> int:
    timeout = aiohttp.ClientTimeout(total=_SECONDS)
    async with (
        aiohttp.ClientSession(timeout=timeout) as session,
        session.post(url, data=body, headers=headers, allow_redirects=False) as response,
    ):
        return response.status


async def raw(receiver: Receiver, raw_bytes: bytes, *, end: bool = False) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
    writer.write(raw_bytes)
    if end:
        writer.write_eof()
    try:
        return await asyncio.wait_for(reader.read(-1 if end else 400), _SECONDS)
    finally:
        writer.close()


async def test_an_arrival_is_recorded_as_it_was_sent() -> None:
    """Method, target, header names in their case and order, repeats, raw body and times are kept."""
    async with run_receiver() as (receiver, _):
        before = time.time()
        request_bytes = (
            b"POST /hook/a?b=%20c HTTP/1.1\r\nHost: me\r\nX-ONE: 1\r\nx-one: 2\r\n"
            b'Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"a": 1 }'
        )
        answer = await raw(receiver, request_bytes)
        assert answer.startswith(b"HTTP/1.1 204 ")
        (arrival,) = receiver.arrivals
        assert (arrival.number, arrival.method, arrival.target, arrival.path) == (
            1,
            "POST",
            "/hook/a?b=%20c",
            "/hook/a",
        )
        assert arrival.headers[:3] == (("Host", "me"), ("X-ONE", "1"), ("x-one", "2"))
        assert arrival.values("X-One") == ("1", "2")
        assert arrival.body == b'{"a": 1 }'
        assert arrival.whole
        assert before <= arrival.at <= time.time()
        assert arrival.peer.startswith("127.0.0.1:")
        assert arrival.reply == Reply(204)
        assert arrival.answered_at is not None
        assert arrival.answered_at >= arrival.monotonic


async def test_a_compressed_body_is_kept_as_it_was_sent() -> None:
    """The raw bytes are what a signature covers, so nothing is unpacked."""
    packed_body = gzip.compress(b"{}")
    async with run_receiver() as (receiver, url):
        await post(url, packed_body, **{"Content-Encoding": "gzip"})
        assert receiver.arrivals[0].body == packed_body


@pytest.mark.parametrize("status", [200, 202, 400, 404, 500, 503])
async def test_the_plan_chooses_the_status(status: int) -> None:
    """The answer has the status that the plan gives for this arrival."""
    async with run_receiver(lambda arrival: Reply(status if arrival.path == "/this" else 299)) as (_, url):
        assert await post(url + "/this") == status
        assert await post(url + "/that") == 299


async def test_a_plan_may_be_awaited_and_replaced() -> None:
    """A coroutine decides as well, and another plan holds from the next arrival on."""

    async def later(_: Arrival) -> Reply:
        await asyncio.sleep(0)
        return Reply(418, (("X-Why", "tea"),), b"short and stout")

    async with run_receiver(later) as (receiver, url):
        assert await post(url) == 418
        receiver.plan = accept
        assert await post(url) == 204


async def test_a_redirect_names_where_to_go() -> None:
    """A redirect has its Location."""
    async with run_receiver(lambda _: redirect("http://127.0.0.1:1/x", 302)) as (receiver, _):
        answer = await raw(receiver, b"POST / HTTP/1.1\r\nHost: me\r\nContent-Length: 0\r\n\r\n")
        assert b" 302 " in answer
        assert b"Location: http://127.0.0.1:1/x\r\n" in answer


async def test_an_answer_can_be_late() -> None:
    """A delayed answer comes after its delay, and others are answered meanwhile."""
    async with run_receiver(lambda arrival: Reply(delay=2.0 if arrival.path == "/late" else 0)) as (receiver, url):
        late = asyncio.create_task(post(url + "/late"))
        await receiver.next(seconds=_SECONDS)
        assert await post(url + "/soon") == 204
        assert not late.done()
        assert await late == 204
        first = receiver.arrivals[0]
        assert first.answered_at is not None
        assert first.answered_at - first.monotonic >= 2.0


async def test_silence_lasts_until_the_sender_or_the_receiver_ends() -> None:
    """A sender that is not answered sees nothing until the receiver closes, which does not wait for it."""
    async with run_receiver(lambda _: SILENCE) as (receiver, url):
        waiting_task = asyncio.create_task(post(url))
        (arrival,) = await receiver.next(seconds=_SECONDS)
        assert not waiting_task.done()
        await asyncio.wait_for(receiver.close(), _SECONDS)
        with pytest.raises(aiohttp.ClientError):
            await waiting_task
        assert arrival.reply == SILENCE
        assert arrival.answered_at is None


async def test_hanging_up_closes_the_connection_without_an_answer() -> None:
    """The sender sees a closed connection, and the receiver goes on."""
    async with run_receiver(lambda arrival: HANG_UP if arrival.number == 1 else Reply()) as (receiver, url):
        with pytest.raises(aiohttp.ClientError):
            await post(url)
        assert await post(url) == 204
        assert [one.answered_at is None for one in receiver.arrivals] == [True, False]


async def test_the_next_arrivals_that_match_are_awaited() -> None:
    """Waiting ends with the last one wanted, or with what came when the time is over."""
    async with run_receiver() as (receiver, url):
        wanted_task = asyncio.create_task(receiver.next(lambda one: one.path == "/b", seconds=_SECONDS, count=2))
        anything_task = asyncio.create_task(receiver.next(seconds=_SECONDS, count=4))
        for path in ("/a", "/b", "/c", "/b"):
            await post(url + path)
        assert [one.number for one in await wanted_task] == [2, 4]
        assert [one.number for one in await anything_task] == [1, 2, 3, 4]
        assert [one.number for one in await receiver.next(seconds=0, count=9, after=2)] == [3, 4]
        assert await receiver.next(lambda one: one.path == "/d", seconds=0.01) == ()


async def test_a_listener_hears_of_each_arrival_with_what_is_done_about_it() -> None:
    """A listener is called before the answer is given."""
    lines: list[str] = []
    async with run_receiver(lambda arrival: Reply(200 + arrival.number)) as (receiver, url):
        receiver.listen(lambda one: lines.append("" if one.reply is None else one.reply.description))
        await post(url)
        await post(url)
    assert lines == ["201", "202"]


async def test_a_body_beyond_the_limit_is_refused() -> None:
    """Too long a body is answered with 413, kept in part, and marked as not whole."""
    async with run_receiver() as (receiver, url):
        assert await post(url, b"x" * 1000) == 204
        assert await post(url, b"x" * 1001) == 413
        assert [(len(one.body), one.whole) for one in receiver.arrivals] == [(1000, True), (1000, False)]


@pytest.mark.parametrize(
    "raw_bytes",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello in TLS\r\n\r\n",
        b"GET\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: me\r\nContent-Length: many\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: me\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST / HTTP/1.1\r\nHost: me\r\nContent-Length: 10\r\n\r\nabc",
        b"POST / HTTP/1.1\r\nHost: me\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
        b"",
    ],
)
async def test_what_is_no_request_does_no_harm(raw_bytes: bytes) -> None:
    """Bytes that are no HTTP, or break off, get a 400 or a closed connection, and the next delivery is received."""
    async with run_receiver() as (receiver, url):
        answer = await raw(receiver, raw_bytes, end=True)
        assert answer == b"" or answer.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4"))
        assert await post(url) == 204


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
async def test_other_methods_are_arrivals_too(method: str) -> None:
    """Whatever the method, it is recorded and answered; the checks judge it."""
    async with run_receiver() as (receiver, url):
        async with aiohttp.ClientSession() as session, session.request(method, url) as response:
            assert response.status == 204
        assert receiver.arrivals[0].method == method


async def test_a_plan_that_fails_is_answered_with_500() -> None:
    """The fault of a plan takes nothing down."""

    def faulty(arrival: Arrival) -> Reply:
        raise KeyError(arrival.number)

    async with run_receiver(faulty) as (receiver, url):
        assert await post(url) == 500
        receiver.plan = accept
        assert await post(url) == 204


async def test_many_arrive_at_the_same_time() -> None:
    """Each of many deliveries at once is recorded, with a number of its own."""
    async with run_receiver() as (receiver, url):
        assert await asyncio.gather(*(post(url) for _ in range(40))) == [204] * 40
        assert [one.number for one in receiver.arrivals] == list(range(1, 41))


async def test_an_address_that_is_taken_is_told() -> None:
    """What cannot be bound is said with its address."""
    async with run_receiver() as (receiver, _):
        with pytest.raises(CannotListen, match=f"127.0.0.1:{receiver.port}"):
            bind_sockets("127.0.0.1", receiver.port)
    with pytest.raises(CannotListen, match=r"no-such-host\.invalid"):
        bind_sockets("no-such-host.invalid", 0)


async def test_an_address_is_free_again_after_closing() -> None:
    """A receiver gives its port back."""
    async with run_receiver() as (receiver, url):
        port = receiver.port
        await post(url)
    for listening_socket in bind_sockets("127.0.0.1", port):
        listening_socket.close()


async def test_localhost_is_received_at_under_each_of_its_addresses() -> None:
    """A sender may take either address of a name; the port is the same."""
    sockets = bind_sockets("localhost", 0)
    async with Receiver() as receiver:
        await receiver.start(sockets)
        for listening_socket in sockets:
            host, port = listening_socket.getsockname()[:2]
            assert port == receiver.port
            assert await post(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}") == 204


@pytest.mark.parametrize(
    "head",
    [
        b"POST / HTTP/1.1\nHost: me\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: me\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\nHost: me\nContent-Length: 2\n\n",
        b"post / HTTP/1.1\r\nHost: me\r\nContent-Length: 2\r\n\r\n",
        b"Post / HTTP/1.1\r\nHost: me\r\nContent-Length: 2\r\n\r\n",
    ],
)
async def test_a_bare_line_feed_and_a_method_in_lower_case_are_no_arrival(head: bytes) -> None:
    """A delivery is judged only as HTTP/1.1 has it: a line ends with CR LF, and a method's case counts."""
    async with run_receiver() as (receiver, _):
        assert (await raw(receiver, head + b"{}")).startswith(b"HTTP/1.0 400 ")
        assert receiver.arrivals == ()
