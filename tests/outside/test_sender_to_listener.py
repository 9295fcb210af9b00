"""The reference's sender and the suite's listener, which share no code, over HTTP: one signs, the other verifies."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from conformance.oracles import webhook_signature
from conformance.webhook_receiver.raw_receiver import Arrival, Receiver, Reply, bind_sockets
from conformance.webhook_receiver.verifying_listener import ArrivalReport, Listener, Terms
from reference.protocol.service_word import ServiceWord
from reference.protocol.webhook_delivery import Outcome
from reference.web.clock import WpClock
from reference.web.destination_dns import AddressCheck
from reference.webhooks.checked_session import open_session
from reference.webhooks.sender import Sender

SECRET = "weldw_sender-to-listener"
WORD = ServiceWord("Acme")
BODY = '{"id":"evt_1","type":"payment.confirmed","data":{"tenant_label":"Käse"}}'.encode()


@asynccontextmanager
async def run_listener(
    reports: list[ArrivalReport], arrivals: list[Arrival], *, fail_first: int = 0
) -> AsyncIterator[str]:
    """Run a listener that expects what the sender's word and the profile say, and yield its URL."""
    listener = Listener(Terms("X-Acme-Signature", (SECRET,)), reports.append, fail_first=fail_first)

    async def plan(arrival: Arrival) -> Reply:
        arrivals.append(arrival)
        return await listener.plan(arrival)

    async with Receiver(plan, keep=0) as receiver:
        await receiver.start(bind_sockets("127.0.0.1", 0))
        yield f"http://127.0.0.1:{receiver.port}/hooks"
        await listener.close()


@asynccontextmanager
async def run_sender(*, with_v2: bool = False) -> AsyncIterator[Sender]:
    """Yield the reference's sender on the system's clock."""
    check = AddressCheck(allow_loopback=True)
    async with open_session(WORD, check) as session:
        yield Sender(session, check, WpClock(), WORD, seconds=60, with_v2=with_v2)


@pytest.mark.parametrize("with_v2", [False, True])
async def test_what_one_signs_the_other_verifies(with_v2: bool) -> None:
    """A delivery is accepted and reported once; the next attempt is a repeat; v2 next to v1 is right and harmless."""
    reports: list[ArrivalReport] = []
    arrivals: list[Arrival] = []
    async with run_listener(reports, arrivals) as url, run_sender(with_v2=with_v2) as sender:
        outcomes = [(await sender.send(url, SECRET, BODY)).outcome for _ in range(2)]
    assert outcomes == [Outcome.DELIVERED, Outcome.DELIVERED]
    assert [one.outcome for one in reports] == ["delivered", "repeated"]
    (value,) = arrivals[0].values("X-Acme-Signature")
    header = webhook_signature.read(value)
    assert header.faults == ()
    fits = webhook_signature.verify_v2(header, [SECRET], "Acme", "{t}.{body}", BODY)
    assert fits == (0 if with_v2 else None)


async def test_another_secret_is_a_failed_attempt() -> None:
    """The listener refuses, the sender will try again."""
    reports: list[ArrivalReport] = []
    async with run_listener(reports, []) as url, run_sender() as sender:
        delivery = await sender.send(url, SECRET + "x", BODY)
    assert (delivery.status, [one.reason for one in reports]) == (400, ["signature_wrong"])
    assert delivery.outcome is not Outcome.DELIVERED


async def test_a_failed_delivery_is_taken_when_it_comes_again() -> None:
    """The listener fails the first on demand; the second attempt is the first that has an effect."""
    reports: list[ArrivalReport] = []
    async with run_listener(reports, [], fail_first=1) as url, run_sender() as sender:
        statuses = [(await sender.send(url, SECRET, BODY)).status for _ in range(3)]
    assert statuses == [500, 200, 200]
    assert [one.outcome for one in reports] == ["failed", "delivered", "repeated"]
