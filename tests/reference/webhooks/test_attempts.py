"""One attempt as a receiver sees it, and what each answer makes of it (P-WH-03 to P-WH-09)."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from reference.protocol.webhook_delivery import DeliveryState, Outcome
from tests.reference.webhooks.conftest import START, Desk
from tests.reference.webhooks.receiver import SIGNATURE, Answer, Receiver, status
from tests.reserved_port import reserved_port


async def test_a_delivery_is_a_signed_post_of_the_events_bytes(desk: Desk, receiver: Receiver) -> None:
    """Path and query as configured, media type, User-Agent, Host, one signature that verifies."""
    destination = await desk.destination(receiver.url)
    event = await desk.event(label="Käse")
    await desk.start()
    delivery = await desk.until_attempts(1)
    (request,) = receiver.got
    assert (request.method, request.path, request.body) == ("POST", "/hook?a=%20b", event.body)
    expected_values = {
        "Content-Type": "application/json",
        "User-Agent": "Weldproof/1",
        "Host": f"127.0.0.1:{receiver.port}",
    }
    assert expected_values == {name: request.headers[name] for name in expected_values}
    assert request.is_signed_by(desk.secrets[destination.id])
    assert request.time == START
    assert not request.is_signed_by("weldw_other")
    assert ",v2=" not in request.headers[SIGNATURE]
    assert (delivery.state, delivery.delivered_at, delivery.due_ms) == (DeliveryState.DELIVERED, START, None)
    assert [(one.number, one.outcome, one.status) for one in delivery.attempts] == [(1, Outcome.DELIVERED, 200)]


async def test_v2_follows_when_it_is_switched_on(desk: Desk, receiver: Receiver) -> None:
    """Behind v1, in the same header."""
    await desk.destination(receiver.url)
    await desk.event()
    await desk.start(v2=True)
    (request,) = await receiver.until(1)
    assert ",v2=" in request.headers[SIGNATURE]


async def test_stripes_verifier_accepts_a_delivery_and_refuses_a_changed_one(desk: Desk, receiver: Receiver) -> None:
    """The same form, covered string and key as a common provider's; one byte more and it is no longer signed."""
    import stripe

    destination = await desk.destination(receiver.url)
    await desk.event(object="event")
    await desk.start()
    (request,) = await receiver.until(1)
    secret, header = desk.secrets[destination.id], request.headers[SIGNATURE]
    assert stripe.WebhookSignature.verify_header(request.body.decode(), header, secret)
    for body, key in ((request.body + b" ", secret), (request.body, secret + "x")):
        with pytest.raises(stripe.SignatureVerificationError):
            stripe.WebhookSignature.verify_header(body.decode(), header, key)


@pytest.mark.parametrize("code", [201, 204, 299])
async def test_every_2xx_delivers(desk: Desk, receiver: Receiver, code: int) -> None:
    """Not 200 alone."""
    receiver.answer = status(code)
    await desk.destination(receiver.url)
    await desk.event()
    await desk.start()
    assert (await desk.until_attempts(1)).state is DeliveryState.DELIVERED


async def no_body(request: web.Request) -> web.StreamResponse:
    """Close without an answer."""
    assert request.transport is not None
    request.transport.close()
    return web.Response()


FAILURES: dict[str, tuple[Answer, Outcome, int | None]] = {
    **{str(code): (status(code), Outcome.STATUS, code) for code in (304, 400, 404, 410, 429, 500, 503)},
    "closed": (no_body, Outcome.CONNECTION, None),
}


@pytest.mark.parametrize("name", FAILURES)
async def test_every_other_answer_is_a_failed_attempt(desk: Desk, receiver: Receiver, name: str) -> None:
    """The next one is due 30 s after its end."""
    receiver.answer, outcome, code = FAILURES[name]
    await desk.destination(receiver.url)
    await desk.event()
    await desk.start()
    delivery = await desk.until_attempts(1)
    assert (delivery.attempts[0].outcome, delivery.attempts[0].status) == (outcome, code)
    assert (delivery.state, delivery.due_ms) == (DeliveryState.PENDING, delivery.attempts[0].ended_ms + 30_000)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(desk: Desk, receiver: Receiver, code: int) -> None:
    """It is a failed attempt, and no other server gets the event."""
    elsewhere = await Receiver().open()
    try:
        receiver.answer = status(code, Location=elsewhere.url)
        await desk.destination(receiver.url)
        await desk.event()
        await desk.start()
        delivery = await desk.until_attempts(1)
    finally:
        await elsewhere.close()
    assert (delivery.attempts[0].outcome, delivery.attempts[0].status) == (Outcome.STATUS, code)
    assert not elsewhere.got
    assert len(receiver.got) == 1


async def test_an_attempt_times_out(desk: Desk, receiver: Receiver) -> None:
    """A receiver that does not answer is a failed attempt after the time that one may take."""
    receiver.answer = receiver.hang
    await desk.destination(receiver.url)
    await desk.event()
    await desk.start(seconds=0.2)
    delivery = await desk.until_attempts(1)
    assert (delivery.attempts[0].outcome, delivery.state) == (Outcome.TIMEOUT, DeliveryState.PENDING)


async def test_a_port_where_nobody_listens_is_a_failed_attempt(desk: Desk) -> None:
    """The fault of the connection is recorded."""
    with reserved_port() as port:
        await desk.destination(f"http://127.0.0.1:{port}/")
        await desk.event()
        await desk.start()
        assert (await desk.until_attempts(1)).attempts[0].outcome is Outcome.CONNECTION


async def test_no_more_of_an_answer_is_read_than_4_kib(desk: Desk, receiver: Receiver) -> None:
    """A body without end delivers by its status, and its connection is closed."""
    written = 0

    async def endless(request: web.Request) -> web.StreamResponse:
        nonlocal written
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b"x" * 65536)
                written += 65536
        except ConnectionError:
            receiver.release.set()
            raise

    receiver.answer = endless
    await desk.destination(receiver.url)
    await desk.event()
    await desk.start()
    assert (await desk.until_attempts(1)).attempts[0].outcome is Outcome.DELIVERED
    await receiver.release.wait()
    assert written < 16 * 2**20  # what sockets hold, not what was offered


async def test_a_body_that_does_not_come_is_no_timeout(desk: Desk, receiver: Receiver) -> None:
    """The status was the answer."""

    async def stalls(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "5"})
        await response.prepare(request)
        await receiver.release.wait()
        return response

    receiver.answer = stalls
    await desk.destination(receiver.url)
    await desk.event()
    await desk.start(seconds=3)
    assert (await desk.until_attempts(1)).attempts[0].outcome is Outcome.DELIVERED


async def test_no_proxy_of_the_environment_is_used(
    desk: Desk, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the variables say (P-CV-21)."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    await desk.destination(receiver.url)
    await desk.event()
    await desk.start()
    assert (await desk.until_attempts(1)).state is DeliveryState.DELIVERED


async def test_a_secret_that_cannot_be_opened_sends_nothing(desk: Desk, receiver: Receiver) -> None:
    """Another seal key, or a secret sealed for another destination: the attempt failed, unsigned."""
    one, other_destination = await desk.destination(receiver.url), await desk.destination(receiver.url)
    (sealed_secret,) = await desk.database.rows(_sealed_secret(), destination=other_destination.id)
    await desk.destinations.rotate(one.tenant_id, one.id, bytes(sealed_secret[0]), now=START)
    await desk.destinations.delete(other_destination.tenant_id, other_destination.id)
    await desk.event()
    await desk.start()
    delivery = await desk.until_attempts(1)
    assert delivery.attempts[0].outcome is Outcome.UNSIGNED
    assert not receiver.got


def _sealed_secret() -> Any:
    from sqlalchemy import bindparam, select

    from reference.store.webhook_tables import destinations

    return select(destinations.c.sealed_secret).where(destinations.c.id == bindparam("destination"))
