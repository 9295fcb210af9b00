"""Bound on the work of one worker: beyond it calls are refused at once, paid calls have their own places (P-CV-25)."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from reference.gateway.request_guard import presents_payment as presents_payment_at_gateway
from reference.rail.paid_endpoint import presents_payment
from reference.web.errors import Refused
from reference.web.http.asgi_envelope import Envelope
from reference.web.process.work_limit import WorkLimit
from tests.reference.web.five_services import SERVICES, five_services

PROOF = (b"x-payment", b"e30")


class Surface:
    """An app behind an envelope, whose calls wait until they are let go."""

    def __init__(self, calls: int, paid_calls: int) -> None:
        """Take how many calls without and with a payment may be at work."""
        self.gate = asyncio.Event()
        self.work = WorkLimit(calls, paid_calls)
        self.envelope = Envelope(self._serve, 1024, work=self.work, presents_payment=presents_payment)

    async def _serve(self, scope: object, receive: object, send: Any) -> None:
        del scope, receive
        await self.gate.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def call(self, path: str = "/x", headers: Sequence[tuple[bytes, bytes]] = (), body: bytes = b"") -> Answer:
        """Call it, and return the answer."""
        answer = Answer()
        scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": list(headers)}

        async def receive() -> MutableMapping[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        await self.envelope(scope, receive, answer.take)
        return answer


class Answer:
    """What an app sent."""

    status = 0

    async def take(self, message: MutableMapping[str, Any]) -> None:
        """Take a message."""
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], dict(message["headers"])


async def test_a_call_beyond_the_bound_is_refused_at_once() -> None:
    """Those at work go on; a place that was left is free again."""
    surface = Surface(2, 2)
    calls = [asyncio.create_task(surface.call()) for _ in range(5)]
    _, waiting = await asyncio.wait(calls, timeout=0.05)
    refused = [await call for call in calls if call.done()]
    assert (len(waiting), [answer.status for answer in refused]) == (2, [503] * 3)
    # The connection stays: the body was read, and the client comes back soon.
    assert all(answer.headers[b"retry-after"] == b"1" and b"connection" not in answer.headers for answer in refused)
    surface.gate.set()
    assert [(await call).status for call in waiting] == [200, 200]
    assert (surface.work.at_work, surface.work.refused) == ([0, 0], [3, 0])
    assert (await surface.call()).status == 200


async def test_paid_calls_have_their_own_places() -> None:
    """Whatever else is at work; health is never refused."""
    surface = Surface(1, 2)
    tasks = [asyncio.create_task(surface.call(headers=headers)) for headers in ((), (), [PROOF], [PROOF], [PROOF])]
    await asyncio.sleep(0.05)
    assert surface.work.at_work == [1, 2]
    assert surface.work.refused == [1, 1]
    health = asyncio.create_task(surface.call("/health"))
    surface.gate.set()
    assert (await health).status == 200
    assert sorted([(await task).status for task in tasks]) == [200, 200, 200, 503, 503]


async def test_calls_that_never_wait_are_bounded_as_well() -> None:
    """Calls that arrive together are counted before the first of them is answered."""
    surface = Surface(3, 3)
    surface.gate.set()
    answers = await asyncio.gather(*(surface.call() for _ in range(9)))
    assert sorted(answer.status for answer in answers) == [200] * 3 + [503] * 6


async def test_an_answer_that_streams_is_no_work() -> None:
    """A page that follows its link for minutes holds no place."""
    begun, gate = asyncio.Event(), asyncio.Event()

    async def stream(scope: object, receive: object, send: Any) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": []})
        begun.set()
        await gate.wait()

    surface = Surface(1, 1)
    surface.envelope = Envelope(stream, 1024, work=surface.work)
    task = asyncio.create_task(surface.call())
    await begun.wait()
    assert surface.work.at_work == [0, 0]
    gate.set()
    await task
    assert surface.work.at_work == [0, 0]


async def test_a_call_that_is_given_up_leaves_its_place() -> None:
    """The server cancels the task of a client that has gone."""
    surface = Surface(1, 1)
    task = asyncio.create_task(surface.call())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert surface.work.at_work == [0, 0]


def test_a_refusal_has_a_code_of_its_own() -> None:
    """`overloaded`, with when to come back."""
    with pytest.raises(Refused) as fault:
        WorkLimit(0, 0).begin(is_paid=True)
    assert (fault.value.status, fault.value.code, fault.value.headers) == (503, "overloaded", {"Retry-After": "1"})


@pytest.mark.parametrize(
    ("path", "headers", "body", "is_paid"),
    [
        ("/pay/v1/verify/receipt", [PROOF], b"{}", True),
        ("/pay/v1/verify/receipt", [], b'{"x402.payment.payload":1}', False),
        ("/a2a", [], b'{"metadata":{"x402.payment.payload":{}}}', True),
        ("/a2a", [PROOF], b"{}", False),
    ],
)
def test_what_presents_a_payment_at_a_rail(
    path: str, headers: list[tuple[bytes, bytes]], body: bytes, *, is_paid: bool
) -> None:
    """The header of a paid call, and the payload in a message of A2A."""
    assert presents_payment({"path": path, "headers": headers}, body) is is_paid


@pytest.mark.parametrize(
    ("method", "path", "is_paid"),
    [
        ("POST", "/checkout/abc/verify", True),
        ("GET", "/checkout/abc/verify", False),
        ("POST", "/checkout/abc/cancel", False),
        ("POST", "/v1/receipt/verify", False),
    ],
)
def test_what_presents_a_payment_at_a_gateway(method: str, path: str, *, is_paid: bool) -> None:
    """A payer who names the transaction that paid a link."""
    assert presents_payment_at_gateway({"method": method, "path": path}, b"") is is_paid


@pytest.mark.parametrize("server", ["hypercorn", "uvicorn"])
async def test_each_service_refuses_calls_that_arrive_together(tmp_path: Path, server: str) -> None:
    """With one place; the error has the form of the surface, and health and probes are answered."""
    with five_services(tmp_path, server, WP_WORK_LIMIT="1") as workers:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(trust_env=False, timeout=60, limits=limits) as http:
            for name in SERVICES:
                url, statuses = workers[name].url, set[int]()
                while 503 not in statuses:
                    answers = await asyncio.gather(*(http.get(f"{url}/openapi.json") for _ in range(20)))
                    statuses |= {answer.status_code for answer in answers}
                    refused = [answer for answer in answers if answer.status_code == 503]
                    assert all(answer.headers["Retry-After"] == "1" for answer in refused)
                    assert all("overloaded" in answer.text or "too much to do" in answer.text for answer in refused)
                probes = [f"{url}{path}" for path in ("/health/live", "/health/ready", "/health") for _ in range(9)]
                assert {(await probe).status_code for probe in [http.get(probe) for probe in probes]} == {200}
