"""Takes what is due from the outbox, on any number of workers (P-WH-08, P-WH-11).

Each destination is served on its own, so that one that hangs holds nobody else up. A worker claims attempts before it
makes them, as many together as it makes at once; one that dies in between leaves claims that stand still. Whoever sees
one stand still for longer than an attempt may take, by his own monotonic time, notes it as interrupted and lets the
delivery be due again.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from reference.protocol.webhook_delivery import DeliveryMove, Outcome, following
from reference.store.database import DatabaseUnavailable
from reference.store.deliveries import Attempt, Deliveries, Due, InFlight
from reference.web.clock import WpClock
from reference.web.logs import get_logger
from reference.web.sealing import Seal, SealBroken, webhook_place
from reference.webhooks.sending import Sender, Sent

_log = get_logger()
# At once where one destination waits for nothing, and still a pool that a thousand hanging ones do not exhaust.
WIDTH = 16
# So many are claimed at once, where so many wait: a claim is a transaction, whether of one attempt or of several.
_TOGETHER = 8
ALTOGETHER = 128


@dataclass(frozen=True, slots=True)
class Pace:
    """How a dispatcher looks and waits, in seconds of monotonic time.

    Attributes:
        poll: Between two looks at the outbox.
        lease: How long a claim may stand still until it is taken back.
        grace: How long attempts under way may take when the dispatcher is stopped.
    """

    poll: float = 0.2
    lease: float = 10.0
    grace: float = 1.0


@dataclass(slots=True)
class _Claimed:
    due: Due
    started_ms: int

    @property
    def key(self) -> tuple[str, int]:
        return self.due.id, self.due.attempt + 1

    def attempt(self, sent: Sent, ended_ms: int) -> Attempt:
        return Attempt(self.due.attempt + 1, self.started_ms, ended_ms, sent.outcome, sent.status)


@dataclass(slots=True)
class _Standing:
    """Claims of others, and since when each has been seen."""

    since: dict[tuple[str, int], float] = field(default_factory=dict)

    def lost(self, claims: Sequence[InFlight], *, now: float, lease: float) -> list[InFlight]:
        """Return the claims that have stood still for as long as a lease."""
        self.since = {key: self.since.get(key, now) for key in ((claim.delivery_id, claim.number) for claim in claims)}
        return [claim for claim in claims if now - self.since[claim.delivery_id, claim.number] >= lease]


class Dispatcher:
    """One worker."""

    def __init__(
        self,
        deliveries: Deliveries,
        sender: Sender,
        seal: Seal,
        clock: WpClock,
        schedule: Sequence[int],
        pace: Pace | None = None,
    ) -> None:
        """Take the parts.

        Args:
            deliveries: The outbox.
            sender: Makes attempts.
            seal: Opens secrets.
            clock: By which deliveries are due.
            schedule: Seconds after each failed attempt but the last.
            pace: How it looks and waits.
        """
        self._deliveries = deliveries
        self._sender = sender
        self._seal = seal
        self._clock = clock
        self._schedule = tuple(schedule)
        self._pace = pace or Pace()
        self._slots = asyncio.Semaphore(ALTOGETHER)
        self._feeders: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._in_hand: set[str] = set()
        self._claimed: dict[str, _Claimed] = {}
        self._standing = _Standing()

    async def run(self) -> None:
        """Deliver until cancelled; what goes wrong is logged and tried again."""
        fault = ""
        try:
            while True:
                fault = await self._looked(fault)
                await asyncio.sleep(self._pace.poll)
        finally:
            await self._stop()

    async def look(self) -> None:
        """Serve the destinations that something is due for, and take back claims of workers that are gone.

        Raises:
            DatabaseUnavailable: Nobody can be asked.
        """
        # What is signed at a wrong time is refused wherever it comes: it waits until the time is known.
        due = [] if self._clock.doubt else await self._deliveries.due_destinations(now_ms=self._clock.now_ms())
        for destination_id in due:
            if destination_id not in self._feeders:
                feeder = asyncio.create_task(_logged(self._feed(destination_id), "webhook_feeding_failed"))
                self._feeders[destination_id] = feeder
                feeder.add_done_callback(lambda _, key=destination_id: self._feeders.pop(key, None))  # type: ignore[misc]
        await self._take_back()

    async def _looked(self, last: str) -> str:
        try:
            await self.look()
        except DatabaseUnavailable as away:
            fault = f"DatabaseUnavailable: {away}"
        except Exception as unplanned:  # noqa: BLE001 - no fault may end the dispatching
            fault = repr(unplanned)
        else:
            return ""
        if fault != last:
            _log.error("webhook_dispatching_waits", fault=fault)
        return fault

    # One destination.

    async def _feed(self, destination_id: str) -> None:
        """Start what is due for a destination, as many at once as one may have, until nothing is left."""
        waiting: deque[Due] = deque()
        flying: set[asyncio.Task[None]] = set()
        quiet = False
        while True:
            if not waiting:
                waiting.extend(await self._fresh(destination_id))
            while waiting and (len(flying) <= WIDTH - _TOGETHER or quiet):
                quiet = False
                room = await self._room(min(len(waiting), WIDTH - len(flying)))
                batch = [waiting.popleft() for _ in range(room)]
                # Whoever stops us stops feeding at once, and lets what is being claimed come to its end.
                await asyncio.shield(self._kept(_logged(self._take(batch, flying), "webhook_claiming_failed")))
            if not flying:
                return
            over, flying = await asyncio.wait(flying, timeout=self._pace.poll, return_when=asyncio.FIRST_COMPLETED)
            quiet = not over and len(flying) < WIDTH  # the rest take their time: nobody waits for them

    async def _fresh(self, destination_id: str) -> list[Due]:
        if self._clock.doubt:
            return []
        now_ms = self._clock.now_ms()
        found = await self._deliveries.due(destination_id, now_ms=now_ms, most=2 * WIDTH)
        return [one for one in found if one.id not in self._in_hand]

    async def _room(self, most: int) -> int:
        """Take a place of those for all destinations, and further ones up to `most` that are free; return how many."""
        await self._slots.acquire()
        room = 1
        while room < most and not self._slots.locked():
            await self._slots.acquire()  # at once
            room += 1
        return room

    def _kept(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # Several attempts.

    async def _take(self, batch: Sequence[Due], flying: set[asyncio.Task[None]]) -> None:
        """Claim attempts, a place is taken for each, and make those that are ours; their tasks come into `flying`."""
        started_ms = self._clock.now_ms()
        for due in batch:
            self._in_hand.add(due.id)
            self._claimed[due.id] = _Claimed(due, started_ms)
        try:
            unwanted = [due for due in batch if due.sealed_secret is None]
            for due in unwanted:
                await self._deliveries.drop(due.id)
            wanted = [due for due in batch if due.sealed_secret is not None]
            ours = {due.id for due in await self._deliveries.claim(wanted, now_ms=started_ms)} if wanted else set()
        except asyncio.CancelledError:
            raise  # whoever stops us gives back what was claimed
        except Exception:
            for due in batch:
                self._let_go(due)  # what was claimed all the same is taken back like a dead worker's
            raise
        for due in batch:
            if due.id in ours:
                flying.add(self._start(self._claimed[due.id]))
            else:
                self._let_go(due)

    def _start(self, claimed: _Claimed) -> asyncio.Task[None]:
        task = self._kept(_logged(self._attempt(claimed), "webhook_attempt_failed"))
        task.add_done_callback(lambda _: self._over(claimed.due))
        return task

    def _let_go(self, due: Due) -> None:
        del self._claimed[due.id]
        self._over(due)

    def _over(self, due: Due) -> None:
        self._in_hand.discard(due.id)
        self._slots.release()

    # One attempt.

    async def _attempt(self, claimed: _Claimed) -> None:
        try:
            await self._finish(claimed, await self._sent(claimed.due, claimed.due.sealed_secret or b""))
        except asyncio.CancelledError:
            raise  # as above
        except Exception:
            del self._claimed[claimed.due.id]  # it is taken back like a dead worker's
            raise
        del self._claimed[claimed.due.id]

    async def _sent(self, due: Due, sealed_secret: bytes) -> Sent:
        try:
            secret = self._seal.open(sealed_secret, webhook_place(due.destination_id)).decode()
        except SealBroken:
            _log.error("webhook_secret_unreadable", destination=due.destination_id)
            return Sent(Outcome.UNSIGNED)
        return await self._sender.send(due.url, secret, due.body)

    async def _finish(self, claimed: _Claimed, sent: Sent) -> None:
        due, ended_ms = claimed.due, self._clock.now_ms()
        after = following(
            sent.outcome, failures=due.failures, delivered_before=due.delivered_before, schedule=self._schedule
        )
        next_ms = None if after.delay is None else ended_ms + after.delay * 1000
        attempt = claimed.attempt(sent, ended_ms)
        await self._deliveries.finish(due.id, attempt, move=after.move, failures=after.failures, due_ms=next_ms)
        if after.move is DeliveryMove.GIVEN_UP:
            _log.warning("webhook_dead_letter", delivery=due.id, outcome=sent.outcome.value, status=sent.status)

    # Claims of workers that are gone.

    async def _take_back(self) -> None:
        mine = {claimed.key for claimed in self._claimed.values()}
        claims = [one for one in await self._deliveries.in_flight() if (one.delivery_id, one.number) not in mine]
        for claim in self._standing.lost(claims, now=time.monotonic(), lease=self._pace.lease):
            await self._interrupted(claim)

    async def _interrupted(self, claim: InFlight) -> None:
        now_ms = self._clock.now_ms()
        attempt = Attempt(claim.number, claim.started_ms, now_ms, Outcome.INTERRUPTED, None)
        _log.warning("webhook_attempt_interrupted", delivery=claim.delivery_id, attempt=claim.number)
        await self._deliveries.finish(
            claim.delivery_id, attempt, move=DeliveryMove.FAILED, failures=claim.failures, due_ms=now_ms
        )

    async def _stop(self) -> None:
        """Let attempts under way come to their end for a moment, and give back what does not."""
        feeders = list(self._feeders.values())
        for feeder in feeders:
            feeder.cancel()
        await asyncio.gather(*feeders, return_exceptions=True)
        ends = time.monotonic() + self._pace.grace
        while self._tasks and (left_seconds := ends - time.monotonic()) > 0:
            await asyncio.wait(set(self._tasks), timeout=left_seconds)  # who claims lets attempts follow
        rest = list(self._tasks)
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        for left in list(self._claimed.values()):
            claim = InFlight(left.due.id, left.due.attempt + 1, left.started_ms, left.due.failures)
            await _logged(self._interrupted(claim), "webhook_not_given_back")


async def _logged(work: Coroutine[Any, Any, None], event: str) -> None:
    """Do something; a fault ends it and is logged."""
    try:
        await work
    except DatabaseUnavailable as away:
        _log.error(event, fault=f"DatabaseUnavailable: {away}")
    except Exception as unplanned:  # noqa: BLE001 - a task of ours is nobody's to await
        _log.exception(event, fault=type(unplanned).__name__)
