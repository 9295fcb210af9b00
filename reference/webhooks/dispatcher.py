"""Takes what is due from the outbox, on any number of workers (P-WH-08, P-WH-11).

Each destination is served on its own, so that one that hangs holds nobody else up. A worker claims attempts before it
makes them, as many together as it makes at once; one that dies in between leaves claims that stand still. Whoever sees
one stand still for longer than an attempt may take, by his own monotonic time, notes it as interrupted and lets the
delivery be due again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

from reference.protocol.webhook_delivery import DeliveryMove, Outcome, decide_next
from reference.store.database import DatabaseUnavailable
from reference.store.deliveries import Attempt, AttemptInFlight, ClaimedAttempt, Deliveries
from reference.web.clock import WpClock
from reference.web.logs import get_logger
from reference.web.sealing import Seal, SealBroken, webhook_place
from reference.webhooks.sender import Sender, SendResult

_log = get_logger()
# At once where one destination waits for nothing, and still a pool that a thousand hanging ones do not exhaust.
WIDTH = 16
# So many are claimed at once, where so many wait: a claim is a transaction, whether of one attempt or of several.
_TOGETHER = 8
ALTOGETHER = 128
_OPENED_SECRETS = 256
_Result = TypeVar("_Result")


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
class _ForeignClaims:
    """Claims of others, and since when each has been seen."""

    since: dict[tuple[str, int], float] = field(default_factory=dict)

    def find_lost(self, claims: Sequence[AttemptInFlight], *, now: float, lease: float) -> list[AttemptInFlight]:
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
        self._secret = lru_cache(_OPENED_SECRETS)(lambda sealed, place: seal.open(sealed, place).decode())
        self._clock = clock
        self._schedule = tuple(schedule)
        self._pace = pace or Pace()
        self._slots = asyncio.Semaphore(ALTOGETHER)
        self._feeders: dict[str, asyncio.Task[None]] = {}
        self._claim_tasks: set[asyncio.Task[int | None]] = set()
        self._attempts: set[asyncio.Task[None]] = set()
        self._own_claims: dict[tuple[str, int], ClaimedAttempt] = {}
        self._is_stopped = False
        self._foreign_claims = _ForeignClaims()

    async def run(self) -> None:
        """Deliver until cancelled; what goes wrong is logged and tried again."""
        fault = ""
        try:
            while True:
                fault = await self._try_look(fault)
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
                feeder = asyncio.create_task(_log_faults(self._feed(destination_id), "webhook_feeding_failed"))
                self._feeders[destination_id] = feeder
                feeder.add_done_callback(lambda _, key=destination_id: self._feeders.pop(key, None))  # type: ignore[misc]
        await self._take_back()

    async def _try_look(self, last: str) -> str:
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
        attempts: set[asyncio.Task[None]] = set()
        is_quiet, has_more = False, True
        while True:
            has_more = has_more or await self._deliveries.is_due(destination_id, now_ms=self._clock.now_ms())
            while has_more and not self._clock.doubt and (len(attempts) <= WIDTH - _TOGETHER or is_quiet):
                is_quiet = False
                most = await self._room(WIDTH - len(attempts))
                claim_task = asyncio.create_task(
                    _log_faults(self._take(destination_id, most, attempts), "webhook_claiming_failed")
                )
                self._claim_tasks.add(claim_task)
                claim_task.add_done_callback(self._claim_tasks.discard)
                # Whoever stops us stops feeding at once, and lets what is being claimed come to its end.
                has_more = await asyncio.shield(claim_task) == most
            if not attempts:
                return
            done_attempts, attempts = await asyncio.wait(
                attempts, timeout=self._pace.poll, return_when=asyncio.FIRST_COMPLETED
            )
            is_quiet = not done_attempts and len(attempts) < WIDTH  # the rest take their time: nobody waits for them

    async def _room(self, most: int) -> int:
        """Take a place of those for all destinations, and further ones up to `most` that are free; return how many."""
        await self._slots.acquire()
        room = 1
        while room < most and not self._slots.locked():
            await self._slots.acquire()  # at once
            room += 1
        return room

    # Several attempts.

    async def _take(self, destination_id: str, most: int, attempts: set[asyncio.Task[None]]) -> int:
        """Claim up to so many attempts, a place is taken for each, and make them; their tasks come into `attempts`.

        Returns:
            How many there were.
        """
        now_ms, count = self._clock.now_ms(), 0
        try:
            claims = await self._deliveries.claim(destination_id, now_ms=now_ms, most=most)
            count = len(claims)
        finally:  # what was claimed all the same is taken back like a dead worker's
            for _ in range(most - count):
                self._slots.release()
        self._own_claims |= {(one.id, one.number): one for one in claims}
        if not self._is_stopped:
            attempts.update(map(self._start, claims))
        if not count:
            await self._deliveries.drop(destination_id, now_ms=now_ms)
        return count

    def _start(self, claim: ClaimedAttempt) -> asyncio.Task[None]:
        task = asyncio.create_task(_log_faults(self._attempt(claim), "webhook_attempt_failed"))
        self._attempts.add(task)
        task.add_done_callback(self._end_attempt)
        return task

    def _end_attempt(self, attempt: asyncio.Task[None]) -> None:
        self._attempts.discard(attempt)
        self._slots.release()

    # One attempt.

    async def _attempt(self, claim: ClaimedAttempt) -> None:
        try:
            await self._finish(claim, await self._send(claim, claim.sealed_secret))
        except asyncio.CancelledError:
            raise  # whoever stops us gives back what was claimed
        except Exception:
            del self._own_claims[claim.id, claim.number]  # it is taken back like a dead worker's
            raise
        del self._own_claims[claim.id, claim.number]

    async def _send(self, claim: ClaimedAttempt, sealed_secret: bytes) -> SendResult:
        try:
            secret = self._secret(sealed_secret, webhook_place(claim.destination_id))
        except SealBroken:
            _log.error("webhook_secret_unreadable", destination=claim.destination_id)
            return SendResult(Outcome.UNSIGNED)
        return await self._sender.send(claim.url, secret, claim.body)

    async def _finish(self, claim: ClaimedAttempt, result: SendResult) -> None:
        ended_ms = self._clock.now_ms()
        after = decide_next(
            result.outcome, failures=claim.failures, delivered_before=claim.delivered_before, schedule=self._schedule
        )
        next_ms = None if after.delay is None else ended_ms + after.delay * 1000
        attempt = Attempt(claim.number, claim.started_ms, ended_ms, result.outcome, result.status)
        await self._deliveries.finish(claim.id, attempt, move=after.move, failures=after.failures, due_ms=next_ms)
        if after.move is DeliveryMove.GIVEN_UP:
            _log.warning("webhook_dead_letter", delivery=claim.id, outcome=result.outcome.value, status=result.status)

    # Claims of workers that are gone.

    async def _take_back(self) -> None:
        in_flight = await self._deliveries.in_flight()
        claims = [one for one in in_flight if (one.delivery_id, one.number) not in self._own_claims]
        for claim in self._foreign_claims.find_lost(claims, now=time.monotonic(), lease=self._pace.lease):
            await self._record_interruption(claim)

    async def _record_interruption(self, claim: AttemptInFlight) -> None:
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
        while (open_tasks := self._claim_tasks | self._attempts) and (left_seconds := ends - time.monotonic()) > 0:
            await asyncio.wait(open_tasks, timeout=left_seconds)  # who claims lets attempts follow
        self._is_stopped = True  # what is still being claimed has to be known, to be given back, and is not attempted
        for attempt in self._attempts:
            attempt.cancel()
        await asyncio.gather(*open_tasks, return_exceptions=True)
        for own_claim in list(self._own_claims.values()):
            claim = AttemptInFlight(own_claim.id, own_claim.number, own_claim.started_ms, own_claim.failures)
            await _log_faults(self._record_interruption(claim), "webhook_not_given_back")


async def _log_faults(work: Coroutine[Any, Any, _Result], event: str) -> _Result | None:
    """Return what comes of something; a fault ends it and is logged."""
    try:
        return await work
    except DatabaseUnavailable as away:
        _log.error(event, fault=f"DatabaseUnavailable: {away}")
    except Exception as unplanned:  # noqa: BLE001 - a task of ours is nobody's to await
        _log.exception(event, fault=type(unplanned).__name__)
    return None
