"""The listener over HTTP: what it takes, what it refuses and why, and how it forwards."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from conformance.webhook_receiver.forwarding import Forwarder
from conformance.webhook_receiver.raw_receiver import Receiver, bind_sockets
from conformance.webhook_receiver.verifying_listener import ArrivalReport, Listener, Terms

NEW, OLD = "weldw_the-new-secret", "weldw_the-old-secret"
HEADER = "X-Weldproof-Signature"
TERMS = Terms(HEADER, (NEW, OLD))
BODY = b'{"id":"evt_1","type":"payment.confirmed","data":{}}'


def signature(body: bytes = BODY, *, secret: str = NEW, away: int = 0) -> str:
    """Return the header of a genuine delivery, made with the standard library."""
    t = int(time.time()) + away
    return f"t={t},v1={hmac.new(secret.encode(), f'{t}.'.encode() + body, hashlib.sha256).hexdigest()}"


@dataclass
class Running:
    """A listener that runs, and its output."""

    url: str
    told: list[ArrivalReport]
    session: aiohttp.ClientSession
    listener: Listener
    heard: asyncio.Event

    async def post(self, body: bytes = BODY, **fields: str | None) -> tuple[int, dict[str, Any]]:
        """Deliver a body, genuinely signed unless a `signature` is given, and return status and JSON."""
        value = fields.get("signature", signature(body))
        headers = {} if value is None else {HEADER: value}
        async with self.session.post(self.url + "/hooks", data=body, headers=headers) as answer:
            text = await answer.read()
            return answer.status, json.loads(text) if text.startswith(b"{") else {}

    async def effects(self, event_id: str) -> str:
        """Return what the listener says of an event's effects."""
        async with self.session.get(f"{self.url}/effects/{event_id}") as answer:
            return await answer.text()


@asynccontextmanager
async def run_listener(forward: str | None = None, seconds: float = 30.0, **options: Any) -> AsyncIterator[Running]:
    """Run a listener on a free port, which an address to forward to may name as OWN_PORT."""
    report_list: list[ArrivalReport] = []
    heard_event = asyncio.Event()

    def tell(report: ArrivalReport) -> None:
        report_list.append(report)
        heard_event.set()

    sockets = bind_sockets("127.0.0.1", 0)
    port = str(sockets[0].getsockname()[1])
    forwarder = None if forward is None else Forwarder(forward.replace("OWN_PORT", port), seconds=seconds)
    limit = options.pop("limit", 65_536)
    listener = Listener(options.pop("terms", TERMS), tell, forwarder=forwarder, **options)
    async with aiohttp.ClientSession() as session, Receiver(listener.plan, limit, keep=0) as receiver:
        receiver.listen(listener.report_incomplete)
        await receiver.start(sockets)
        if forwarder is not None:
            await forwarder.__aenter__()
        try:
            yield Running(f"http://127.0.0.1:{receiver.port}", report_list, session, listener, heard_event)
        finally:
            await listener.close()
            if forwarder is not None:
                await forwarder.__aexit__()


@dataclass
class Application:
    """A developer's own application behind the listener."""

    answers: list[Callable[[], Awaitable[web.Response]]] = field(default_factory=list)
    got: list[tuple[bytes, dict[str, str]]] = field(default_factory=list)

    async def take(self, request: web.Request) -> web.Response:
        """Keep the request, and answer as planned, then with 202."""
        self.got.append((await request.read(), {name.lower(): value for name, value in request.headers.items()}))
        if self.answers:
            return await self.answers.pop(0)()
        return web.Response(
            status=202, body=gzip.compress(b"taken"), headers={"Content-Encoding": "gzip", "X-App": "1"}
        )

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        """Serve it on a free port."""
        app = web.Application()
        app.router.add_post("/in", self.take)
        async with TestServer(app) as server:
            yield str(server.make_url("/in"))


def status(code: int) -> Callable[[], Awaitable[web.Response]]:
    """Return an answer with this status."""

    async def answer() -> web.Response:
        return web.Response(status=code, text="mine", headers={"Location": "http://127.0.0.1:9/"})

    return answer


async def test_a_genuine_delivery_has_one_effect() -> None:
    """It is printed once, answered 200, repeated deliveries too, and its effect can be asked for."""
    async with run_listener() as listener:
        assert await listener.post() == (200, {"id": "evt_1", "effect": "done"})
        assert await listener.post() == (200, {"id": "evt_1", "effect": "repeated"})
        assert [told.outcome for told in listener.told] == ["delivered", "repeated"]
        assert [await listener.effects("evt_1"), await listener.effects("evt_2")] == ["1", "0"]


async def test_ten_at_once_have_one_effect() -> None:
    """Deliveries that arrive together are all accepted, and printed as one delivery and nine repeats."""
    async with run_listener() as listener:
        answers = await asyncio.gather(*(listener.post() for _ in range(10)))
        assert {200} == {code for code, _ in answers}
        assert (listener.listener.counts["delivered"], listener.listener.counts["repeated"]) == (1, 9)


@pytest.mark.parametrize("place", [1, 2])
async def test_during_a_rotation_both_secrets_are_taken(place: int) -> None:
    """A signature by the old secret is as good as one by the new, and the output says which it was."""
    async with run_listener() as listener:
        assert (await listener.post(signature=signature(secret=(NEW, OLD)[place - 1])))[0] == 200
        event = listener.told[0].event
        assert event is not None
        assert event.secret == place


@pytest.mark.parametrize("away", [-290, 290])
async def test_inside_the_tolerance_a_time_is_fresh(away: int) -> None:
    """Clocks may differ by up to the tolerance to either side."""
    async with run_listener() as listener:
        assert (await listener.post(signature=signature(away=away)))[0] == 200


@pytest.mark.parametrize(
    ("body", "value", "reason"),  # a mapping: signed genuinely but for this
    [
        (BODY, None, "signature_missing"),
        (BODY, "", "signature_malformed"),
        (BODY, "v1=" + "0" * 64, "signature_malformed"),
        (BODY, "t=now,v1=" + "0" * 64, "signature_malformed"),
        (BODY, "t=1,t=2,v1=" + "0" * 64, "signature_malformed"),
        (BODY, "t=1,v1=é", "signature_malformed"),
        (BODY, "t=1,v1=" + "0" * 64, "signature_wrong"),
        (BODY, {"secret": "weldw_a-third"}, "signature_wrong"),
        (BODY + b" ", {"body": BODY}, "signature_wrong"),
        (BODY, {"away": -310}, "timestamp_stale"),
        (BODY, {"away": 310}, "timestamp_stale"),
        (b"", {}, "not_json"),
        (b"{", {}, "not_json"),
        (b'{"id":NaN}', {}, "not_json"),
        (b"\xff", {}, "not_json"),
        (b"[" * 60_000, {}, "not_json"),
        (b"[]", {}, "no_event_id"),
        (b'{"id":7}', {}, "no_event_id"),
        (b'{"id":""}', {}, "no_event_id"),
        (b'{"id":"\\u001b[2J"}', {}, "no_event_id"),
        (b'{"id":"\\ud800"}', {}, "no_event_id"),
        (b'{"id":"' + b"x" * 256 + b'"}', {}, "no_event_id"),
    ],
)
async def test_each_refusal_has_its_reason(body: bytes, value: str | dict[str, Any] | None, reason: str) -> None:
    """What is wrong with a delivery is answered 400 with a code of its own, and has no effect."""
    async with run_listener() as listener:
        header_value = signature(**{"body": body, **value}) if isinstance(value, dict) else value
        code, answer = await listener.post(body, signature=header_value)
        assert (400, reason) == (code, answer["error"])
        assert [("refused", reason)] == [(told.outcome, told.reason) for told in listener.told]
        assert await listener.effects("evt_1") == "0"


async def test_two_signature_headers_are_malformed() -> None:
    """Which of two headers counts is not guessed."""
    async with run_listener() as listener:
        headers = [(HEADER, signature()), (HEADER, signature())]
        async with listener.session.post(listener.url, data=BODY, headers=headers) as answer:
            assert (answer.status, (await answer.json())["error"]) == (400, "signature_malformed")


async def test_a_body_beyond_the_limit_is_not_read() -> None:
    """It is answered 413 and printed."""
    async with run_listener(limit=100) as listener:
        assert (await listener.post(b'{"id":"' + b"x" * 1000))[0] == 413
        assert [told.reason for told in listener.told] == ["too_large"]


async def test_other_methods_are_refused() -> None:
    """Events come with POST; whatever else is asked is answered 405."""
    async with run_listener() as listener, listener.session.put(listener.url, data=BODY) as answer:
        assert (answer.status, answer.headers["Allow"]) == (405, "POST")


async def test_unknown_members_and_newer_versions_do_no_harm() -> None:
    """What the listener does not know it shows and leaves alone."""
    async with run_listener() as listener:
        body = b'{"id":"evt_9","type":"x.y","api_version":"2099","data":[{"deep":[null]}],"more":{"a":1e400}}'
        assert (await listener.post(body))[0] == 200
        assert listener.told[0].event is not None
        assert listener.told[0].event.members["more"] == {"a": float("inf")}


async def test_the_first_n_are_failed_as_wanted() -> None:
    """Good deliveries are answered 500 as often as wanted, without effect; bad ones do not count."""
    async with run_listener(fail_first=2) as listener:
        codes = [(await listener.post())[0], (await listener.post(signature=None))[0], (await listener.post())[0]]
        assert codes == [500, 400, 500]
        assert await listener.effects("evt_1") == "0"
        assert (await listener.post())[0] == 200
        assert await listener.effects("evt_1") == "1"


async def test_a_delayed_answer_has_had_its_effect() -> None:
    """The effect is done at once; a sender that does not wait for the answer delivers a repeat."""
    async with run_listener(delay=30.0) as listener:
        waiting_task = asyncio.create_task(listener.post())
        await listener.heard.wait()
        assert await listener.effects("evt_1") == "1"
        assert not waiting_task.done()
        waiting_task.cancel()


async def test_a_full_memory_asks_the_sender_to_come_again() -> None:
    """When no id can be forgotten yet, a new event is answered 503 and has no effect."""
    async with run_listener(most=1) as listener:
        assert (await listener.post())[0] == 200
        code, answer = await listener.post(b'{"id":"evt_2"}')
        assert (code, answer["error"]) == (503, "too_many_events")
        assert (await listener.post())[0] == 200


async def test_forwarding_passes_the_bytes_on_and_the_answer_back() -> None:
    """The application gets the very bytes and header fields, the sender its very answer; a repeat is not forwarded."""
    application = Application()
    async with application.serve() as url, run_listener(url) as listener:
        value = signature()
        headers = {HEADER: value, "Content-Type": "application/json", "User-Agent": "Weldproof/1", "X-Odd": "grüß"}
        async with listener.session.post(listener.url, data=BODY, headers=headers) as answer:
            assert (answer.status, await answer.read(), answer.headers["X-App"]) == (202, b"taken", "1")
        body, fields = application.got[0]
        assert body == BODY
        assert {name.lower(): fields.get(name.lower()) for name in headers} == {
            k.lower(): v for k, v in headers.items()
        }
        assert fields["host"] in url
        assert (await listener.post())[0] == 200
        assert (len(application.got), await listener.effects("evt_1")) == (1, "1")


async def test_what_is_for_one_hop_is_not_passed_on() -> None:
    """What Connection names stays here with it, in any case and however it is spaced (RFC 9110, 7.6.1)."""
    application = Application()
    async with application.serve() as url, run_listener(url) as listener:
        headers = {HEADER: signature(), "Connection": "close, X-Hop,x-other-hop", "X-Hop": "a", "X-Other-Hop": "b"}
        async with listener.session.post(listener.url, data=BODY, headers={**headers, "X-Kept": "c"}) as answer:
            assert answer.status == 202
    _, fields = application.got[0]
    assert fields["x-kept"] == "c"
    assert {"x-hop", "x-other-hop"}.isdisjoint(name.lower() for name in fields)


@pytest.mark.parametrize("code", [500, 404, 302])
async def test_a_refused_forwarding_is_passed_back_and_may_come_again(code: int) -> None:
    """An answer other than 2xx goes back as it is; the event had no effect, and is forwarded again."""
    application = Application([status(code)])
    async with application.serve() as url, run_listener(url) as listener:
        async with listener.session.post(
            listener.url, data=BODY, headers={HEADER: signature()}, allow_redirects=False
        ) as answer:
            assert (code, "mine") == (answer.status, await answer.text())
        assert await listener.effects("evt_1") == "0"
        assert (await listener.post())[0] == 202
        assert [told.outcome for told in listener.told] == ["failed", "delivered"]


async def test_an_application_that_hangs_is_given_up() -> None:
    """After the time-out the sender gets 504, and the event may come again."""

    async def hangs() -> web.Response:
        await asyncio.Event().wait()
        raise AssertionError

    application = Application([hangs])
    async with application.serve() as url, run_listener(url, seconds=2.0) as listener:
        code, answer = await listener.post()
        assert (code, answer["error"]) == (504, "forward_failed")
        assert (await listener.post())[0] == 202


async def test_an_application_that_is_not_there_is_told() -> None:
    """No connection is 502 with a reason, for all who wait for the same event."""
    async with run_listener("http://127.0.0.1:9/in") as listener:
        answers = await asyncio.gather(*(listener.post() for _ in range(3)))
        assert {502} == {code for code, _ in answers}
        assert {"forward_failed"} == {told.reason for told in listener.told}
        assert listener.listener.counts["failed"] == 3


async def test_a_listener_that_forwards_to_itself_stops() -> None:
    """It knows its own delivery again, which is answered 508; the event had no effect."""
    async with run_listener("http://127.0.0.1:OWN_PORT/") as listener:
        code, answer = await listener.post()
        assert (code, answer["error"]) == (508, "forwarding_loop")
        assert [told.reason for told in listener.told] == ["forwarding_loop", "forward_failed"]
        assert await listener.effects("evt_1") == "0"


async def test_a_loop_over_others_stops() -> None:
    """A delivery that comes back over another forwarder is known by its Via."""
    application = Application()
    async with application.serve() as url, run_listener(url) as listener:
        await listener.post()
        body = b'{"id":"evt_2"}'
        headers = {HEADER: signature(body), "Via": f"{application.got[0][1]['via']}, 1.1 other"}
        async with listener.session.post(listener.url, data=body, headers=headers) as answer:
            assert answer.status == 508
        assert len(application.got) == 1


async def test_other_terms_are_held_to() -> None:
    """Another header, another signed string and another tolerance are what deliveries are held against."""
    terms = Terms("X-Other-Signature", (NEW,), "{body}|{t}", 10.0)
    async with run_listener(terms=terms) as listener:
        for away, expected_status in ((0, 200), (-20, 400)):
            t = int(time.time()) + away
            v1 = hmac.new(NEW.encode(), BODY + f"|{t}".encode(), hashlib.sha256).hexdigest()
            headers = {"x-other-signature": f"t={t},v1={v1}"}
            async with listener.session.post(listener.url, data=BODY, headers=headers) as answer:
                assert answer.status == expected_status


def test_secrets_are_in_no_representation() -> None:
    """A printed `Terms` does not show its secrets."""
    assert NEW not in repr(TERMS)


# P-WH-06's own example.
EXAMPLE = Terms(HEADER, ("weldw_example",), tolerance=1e12, service_word="Weldproof")
V1 = "351a91345c67f9a889829ef89fe710f3574f763e7509536811ef6fbecb416a83"
V2 = "5ae0484b98daa4c95d9241be8c5f7784daa19a49d13421d90847da252bb170808665038e5f88fd8a729e41ff2bc83126"


@pytest.mark.parametrize(
    ("terms", "v2", "expected_status", "is_seen"),
    [
        (EXAMPLE, [V2], 200, True),
        (EXAMPLE, [], 200, None),
        (EXAMPLE, ["0" * 96], 400, None),
        (
            EXAMPLE,
            [
                "",
            ],
            400,
            None,
        ),
        (EXAMPLE, ["0" * 96, V2], 200, True),
        (replace(EXAMPLE, service_word="Acme"), [V2], 400, None),
        (replace(EXAMPLE, service_word=None), ["0" * 96], 200, None),
        (replace(EXAMPLE, secrets=("another", "weldw_example")), [V2], 200, True),
    ],
)
async def test_a_v2_that_came_is_verified(
    terms: Terms, v2: list[str], expected_status: int, is_seen: bool | None
) -> None:
    """One that does not verify is refused though v1 does; where the word of its key is not known it is left alone."""
    header = ",".join(["t=1767225600", f"v1={V1}", *(f"v2={one}" for one in v2)])
    async with run_listener(terms=terms) as listener:
        status, answer = await listener.post(b'{"id":"evt_1"}', signature=header)
        assert status == expected_status, answer
        event = listener.told[0].event
        assert (event and event.v2) is is_seen
        if expected_status == 400:
            assert (answer["error"], "v2 with none" in answer["message"]) == ("signature_wrong", True)
