"""An outbox on a database of its own, a clock that a test moves, receivers on loopback."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest

from reference.protocol.service_word import ServiceWord
from reference.protocol.webhook_delivery import DEFAULT_SCHEDULE, EventType
from reference.store.database import Database
from reference.store.database_url import open_database
from reference.store.deliveries import Deliveries, Delivery, Event
from reference.store.destinations import Destination, Destinations
from reference.web.clock import WpClock
from reference.web.destination_dns import AddressCheck
from reference.web.sealing import Seal, webhook_place
from reference.webhooks.checked_session import open_session
from reference.webhooks.dispatcher import Dispatcher, Pace
from reference.webhooks.sender import Sender
from tests.reference.webhooks.receiver import Receiver

START = 1_800_000_000
TENANT = str(uuid.UUID(int=7))
SEAL = Seal(bytes(32))
QUICK = Pace(poll=0.01, lease=30, grace=0.2)


@dataclass
class Desk:
    """A tenant's outbox and those who empty it."""

    dsn: str
    database: Database
    exits: AsyncExitStack
    now: float = START
    secrets: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.clock = WpClock(wall_clock=lambda: self.now)
        self.deliveries = Deliveries(self.database)
        self.destinations = Destinations(self.database)

    async def destination(self, url: str, *types: EventType) -> Destination:
        """Add a destination; its secret is in `secrets`."""
        destination = Destination(str(uuid.uuid4()), TENANT, url, START, None, types or (EventType.PAYMENT_CONFIRMED,))
        self.secrets[destination.id] = f"weldw_{destination.id}"
        sealed_secret = SEAL.seal(self.secrets[destination.id].encode(), webhook_place(destination.id))
        assert await self.destinations.add(destination, sealed_secret)
        return destination

    async def event(self, **members: Any) -> Event:
        """Write an event."""
        event_id = f"evt_{uuid.uuid4()}"
        body = orjson.dumps({"id": event_id, **members})
        event = Event(event_id, TENANT, str(uuid.uuid4()), EventType.PAYMENT_CONFIRMED, int(self.now), body)
        await self.database.change_all(*self.deliveries.build_event(event))
        return event

    async def sender(self, check: AddressCheck | None = None, *, seconds: float = 30, v2: bool = False) -> Sender:
        """Return what sends."""
        address_check = check or AddressCheck(allow_loopback=True)
        session = await self.exits.enter_async_context(open_session(ServiceWord(), address_check))
        return Sender(session, address_check, self.clock, ServiceWord(), seconds=seconds, with_v2=v2)

    async def worker(self, pace: Pace = QUICK, database: Database | None = None, **options: Any) -> Dispatcher:
        """Return a worker that does not run yet."""
        sender = options.pop("sender", None) or await self.sender(**options)
        outbox = self.deliveries if database is None else Deliveries(database)
        return Dispatcher(outbox, sender, SEAL, self.clock, DEFAULT_SCHEDULE, pace)

    async def start_worker(self, worker: Dispatcher) -> asyncio.Task[None]:
        """Let a worker run until the test is over."""
        task = asyncio.create_task(worker.run_until_cancelled())

        async def end() -> None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

        self.exits.push_async_callback(end)
        return task

    async def start(self, **options: Any) -> asyncio.Task[None]:
        """Let a new worker run until the test is over."""
        return await self.start_worker(await self.worker(**options))

    def open_another(self) -> Database:
        """Return the database as another process sees it."""
        new_database = open_database(self.dsn)
        self.exits.push_async_callback(new_database.close)
        return new_database

    async def until(self, holds: Callable[[list[Delivery]], bool], seconds: float = 120) -> list[Delivery]:
        """Return the deliveries, once they are as they should be."""
        entries: list[Delivery] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while True:
                    entries = list(await self.deliveries.of_tenant(TENANT))
                    if holds(entries):
                        return entries
                    await asyncio.sleep(0.01)
        raise AssertionError(f"it did not come to that: {entries}")

    async def until_attempts(self, attempts: int) -> Delivery:
        """Return the only delivery, once so many of its attempts are over and none is under way."""

        def over(found: list[Delivery]) -> bool:
            return len(found) == 1 and len(found[0].attempts) == attempts and found[0].state != "sending"

        return (await self.until(over))[0]


@pytest.fixture
async def desk(database: Database, dsn: str) -> AsyncIterator[Desk]:
    """An outbox with its tables."""
    async with AsyncExitStack() as exits:
        new_desk = Desk(dsn, database, exits)
        await new_desk.destinations.prepare()
        yield new_desk


@pytest.fixture
def dsn(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """The address of an empty database: SQLite, or the kind that the test names."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return f"sqlite:///{tmp_path / 'gateway.sqlite3'}"
    address: str = request.getfixturevalue("postgres_database")
    return address


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    """That database."""
    new_database = open_database(dsn)
    yield new_database
    await new_database.close()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """A receiver that answers 200."""
    new_receiver = await Receiver().open()
    yield new_receiver
    await new_receiver.close()
