"""Webhook deliveries: an attempt alone, and the whole way out of the outbox, beside a bare loop of POSTs (G7)."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import aiohttp

from reference.protocol.networks import NETWORKS
from reference.protocol.service_word import ServiceWord
from reference.protocol.webhook_delivery import DEFAULT_SCHEDULE, DEFAULT_TYPES, EventType, Outcome
from reference.protocol.webhook_event import EventLink, LinkPayment, event_body
from reference.protocol.webhook_signature import header_name, header_value
from reference.store.database_url import open_database, sqlite_dsn
from reference.store.deliveries import Attempt, Deliveries, Event
from reference.store.destinations import Destination, Destinations
from reference.web.clock import WpClock
from reference.web.destination_dns import AddressCheck
from reference.web.sealing import Seal, webhook_place
from reference.webhooks.checked_session import open_session
from reference.webhooks.dispatcher import WIDTH, Dispatcher
from reference.webhooks.sender import Sender
from tools.bench.reference.jobs import Contenders, must, together
from tools.bench.reference.rounds import Contender
from tools.bench.reference.webhook_sink import receiver

_AT_ONCE = 32
_SECRET = "weldw_" + "s" * 43
_WORD = ServiceWord()
_SEAL = Seal(bytes(32))
_OK = 200
_ATTEMPT_SECONDS = 5.0

Headers = dict[str, str]


@asynccontextmanager
async def delivery(folder: Path) -> AsyncIterator[Contenders]:
    """Post events to one receiver in another process, 32 under way at a time.

    An attempt is what a worker does between claiming a delivery and noting what came of it: judge the address, sign,
    post within 5 s, read up to 4 KiB of the answer. `from the outbox` is all that a worker does: look for what is due,
    claim it, open the secret, attempt, note what came of it; two durable transactions each. The bare loop posts
    the same bytes with a header made once.
    """
    async with AsyncExitStack() as exits:
        url = exits.enter_context(receiver())
        check = AddressCheck(allow_loopback=True, seconds=_ATTEMPT_SECONDS)
        session = await exits.enter_async_context(open_session(_WORD, check))
        sender = Sender(session, check, WpClock(), _WORD, seconds=_ATTEMPT_SECONDS, with_v2=False)
        contenders = [
            Contender("weldproof, an attempt", "ours", _attempts(sender, url), _bodies),
            await _outbox(exits, folder / "outbox.sqlite3", sender, url),
            Contender("bare aiohttp POST loop", "floor", await _aiohttp(exits, url), _bodies),
        ]
        with suppress(ImportError):  # it comes with the tests, not with the product
            contenders.append(Contender("httpx, signing", "peer", await _httpx(exits, url), _bodies))
        yield contenders


def _body() -> tuple[str, bytes]:
    event_id = f"evt_{uuid.uuid4()}"
    sale = EventLink(NETWORKS["algorand_testnet"], "t" * 22, "Order 7", 8_410_000)
    payment = LinkPayment("T" * 52, "A" * 58, 8_410_000)
    return event_id, event_body(event_id, EventType.PAYMENT_CONFIRMED, sale, payment, created=int(time.time()))


async def _bodies(count: int) -> list[bytes]:
    return [_body()[1] for _ in range(count)]


def _attempts(sender: Sender, url: str) -> Callable[[Sequence[bytes]], Awaitable[None]]:
    async def attempt(body: bytes) -> None:
        attempt_result = await sender.send(url, _SECRET, body)
        must(attempt_result.outcome is Outcome.DELIVERED, f"an attempt ended as {attempt_result.outcome}")

    return _run_together(attempt)


def _run_together(job: Callable[[bytes], Awaitable[None]]) -> Callable[[Sequence[bytes]], Awaitable[None]]:
    async def run(bodies: Sequence[bytes]) -> None:
        await together(job, bodies)

    return run


async def _aiohttp(exits: AsyncExitStack, url: str) -> Callable[[Sequence[bytes]], Awaitable[None]]:
    session = await exits.enter_async_context(aiohttp.ClientSession())
    headers = _sign_body(_body()[1])

    async def post(body: bytes) -> None:
        async with session.post(url, data=body, headers=headers) as response:
            await response.read()
            must(response.status == _OK, "a POST was not answered")

    return _run_together(post)


async def _httpx(exits: AsyncExitStack, url: str) -> Callable[[Sequence[bytes]], Awaitable[None]]:
    import httpx  # noqa: PLC0415 - may be absent

    limits = httpx.Limits(max_connections=_AT_ONCE, max_keepalive_connections=_AT_ONCE)
    client = await exits.enter_async_context(httpx.AsyncClient(limits=limits, timeout=_ATTEMPT_SECONDS))

    async def post(body: bytes) -> None:
        answer = await client.post(url, content=body, headers=_sign_body(body))
        must(answer.status_code == _OK, "a POST was not answered")

    return _run_together(post)


def _sign_body(body: bytes) -> Headers:
    signature = header_value(_SECRET, body, t=int(time.time()))
    return {"User-Agent": "Weldproof/1", "Content-Type": "application/json", header_name(_WORD): signature}


class _Counting(Deliveries):
    """An outbox that tells when so many attempts are noted."""

    left = 0
    done = asyncio.Event()

    def expect(self, count: int) -> None:
        """Count down from here."""
        self.left, self.done = count, asyncio.Event()

    async def finish(self, delivery_id: str, attempt: Attempt, **after: Any) -> None:
        """Note what came of an attempt."""
        await super().finish(delivery_id, attempt, **after)
        must(attempt.outcome is Outcome.DELIVERED, f"an attempt ended as {attempt.outcome}")
        self.left -= 1
        if self.left == 0:
            self.done.set()


async def _outbox(exits: AsyncExitStack, path: Path, sender: Sender, url: str) -> Contender:
    """Return the contender that empties an outbox on SQLite: of two tenants, so that 32 deliveries are under way."""
    database = open_database(sqlite_dsn(path))
    exits.push_async_callback(database.close)
    outbox, places = _Counting(database), Destinations(database)
    await places.prepare()
    tenants = [str(uuid.uuid4()) for _ in range(_AT_ONCE // WIDTH)]
    for tenant in tenants:
        destination = Destination(str(uuid.uuid4()), tenant, url, 0, None, DEFAULT_TYPES)
        must(
            await places.add(destination, _SEAL.seal(_SECRET.encode(), webhook_place(destination.id))), "no destination"
        )

    async def events(count: int) -> int:
        for tenant in islice(cycle(tenants), count):
            event_id, body = _body()
            event = Event(event_id, tenant, str(uuid.uuid4()), EventType.PAYMENT_CONFIRMED, int(time.time()), body)
            await database.change_all(*outbox.build_event(event))
        return count

    async def empty(count: int) -> None:
        outbox.expect(count)
        worker = asyncio.create_task(
            Dispatcher(outbox, sender, _SEAL, WpClock(), DEFAULT_SCHEDULE).run_until_cancelled()
        )
        await outbox.done.wait()
        worker.cancel()
        with suppress(asyncio.CancelledError):
            await worker

    return Contender("weldproof, from the outbox", "ours", empty, events)
