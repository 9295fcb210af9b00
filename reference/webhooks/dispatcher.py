"""The dispatcher: delivers what is due in the outbox, on any number of workers (P-WH-08, P-WH-11).

Each destination is served separately, so that one that hangs does not hold up the others. A worker claims attempts
before it makes them. If it dies in between, its claims stay. Any worker that sees a claim for longer than an attempt
may take, by its own monotonic clock, records it as interrupted and makes the delivery due again (decision 0022).
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
# Attempts at once for one destination: enough for a fast one, and a bound for each of a thousand that hang.
WIDTH = 16
# Claims are collected up to this number. A claim is one transaction, of one attempt or of several.
_TOGETHER = 8
ALTOGETHER = 128
_OPENED_SECRETS = 256
# An event is announced before its transaction commits, which takes up to the time limit of a statement.
_COMMIT_SECONDS = 10.0
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Pace:
    """The intervals of a dispatcher, in seconds of monotonic time.

    Attributes:
        poll: Between two queries of the outbox while deliveries are expected.
        idle: The same while none are, so that only another worker could have added one.
        lease: How old a claim may get until it is taken back.
        grace: How long attempts under way may take when the dispatcher is stopped.
    """

    poll: float = 0.2
    idle: float = 0.2
    lease: float = 10.0
    grace: float = 1.0


@dataclass(slots=True)
class _ForeignClaims:
    """Claims of other workers, and since when each has been seen."""

    since: dict[tuple[str, int], float] = field(default_factory=dict)

    def find_lost(self, claims: Sequence[AttemptInFlight], *, now: float, lease: float) -> list[AttemptInFlight]:
        """Return the claims that have been seen for as long as a lease."""
        # The time since the first sight counts, on this worker's monotonic clock. The stored time of the claim is of
        # another machine's clock, which may be wrong.
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
            seal: Decrypts secrets.
            clock: The clock by which deliveries are due.
            schedule: Seconds after each failed attempt but the last.
            pace: Its intervals.
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
        self._next_take_back = 0.0
        self._next_due = 0.0

    async def run_until_cancelled(self) -> None:
        """Deliver until cancelled. A fault is logged, and the round is repeated."""
        fault = ""
        try:
            while True:
                fault = await self._try_look(fault)
                await self._deliveries.activity.wait(self._choose_pause())
        finally:
            await self._stop()

    def _choose_pause(self) -> float:
        """Return the seconds until the next look, if no event of this process comes before."""
        # A clock that a test moves makes deliveries due at any moment.
        is_expecting = self._feeders or self._clock.is_moved or self._deliveries.activity.is_recent(_COMMIT_SECONDS)
        return self._pace.poll if is_expecting else max(self._pace.poll, min(self._pace.idle, self._next_due))

    async def look(self) -> None:
        """Serve the destinations with due deliveries, and take back claims of dead workers.

        Raises:
            DatabaseUnavailable: The database does not answer.
        """
        # A signature with a wrong time is refused by receivers (P-WH-04). So nothing is sent while the clock is in
        # doubt.
        now_ms, ahead_ms = self._clock.now_ms(), int(self._pace.idle * 1000)
        due = [] if self._clock.doubt else await self._deliveries.due_destinations(now_ms=now_ms + ahead_ms)
        self._next_due = min([due_ms - now_ms for _, due_ms in due if due_ms > now_ms], default=ahead_ms) / 1000
        for destination_id, due_ms in due:
            if due_ms <= now_ms and destination_id not in self._feeders:
                feeder = asyncio.create_task(_log_faults(self._feed(destination_id), "webhook_feeding_failed"))
                self._feeders[destination_id] = feeder
                feeder.add_done_callback(lambda _, key=destination_id: self._feeders.pop(key, None))  # type: ignore[misc]
        if time.monotonic() >= self._next_take_back:
            self._next_take_back = time.monotonic() + self._pace.lease / 4
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

    # Attempts of one destination.

    async def _feed(self, destination_id: str) -> None:
        """Start the due attempts of a destination, up to the bound for one, until none is due."""
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
                # A cancellation ends this loop at once. The claim in progress finishes, because it is a transaction
                # whose result must be known.
                has_more = await asyncio.shield(claim_task) == most
            if not attempts:
                return
            done_attempts, attempts = await asyncio.wait(
                attempts, timeout=self._pace.poll, return_when=asyncio.FIRST_COMPLETED
            )
            is_quiet = not done_attempts and len(attempts) < WIDTH  # the open ones are slow, so no claim waits for them

    async def _room(self, most: int) -> int:
        """Take one of the places for all destinations, and further free ones up to `most`. Return how many."""
        await self._slots.acquire()
        room = 1
        while room < most and not self._slots.locked():
            await self._slots.acquire()  # at once
            room += 1
        return room

    # Claims.

    async def _take(self, destination_id: str, most: int, attempts: set[asyncio.Task[None]]) -> int:
        """Claim up to `most` attempts, for which places are taken, and start them. Their tasks are added to `attempts`.

        Returns:
            The number of claimed attempts.
        """
        now_ms, count = self._clock.now_ms(), 0
        try:
            claims = await self._deliveries.claim(destination_id, now_ms=now_ms, most=most)
            count = len(claims)
        finally:  # if a claim was committed although it failed here, it is taken back like that of a dead worker
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

    # A single attempt.

    async def _attempt(self, claim: ClaimedAttempt) -> None:
        try:
            await self._finish(claim, await self._send(claim, claim.sealed_secret))
        except asyncio.CancelledError:
            raise  # `_stop` gives the claim back
        except Exception:
            del self._own_claims[claim.id, claim.number]  # it is taken back like that of a dead worker
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

    # Claims of dead workers.

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
        """Let running attempts finish within the grace time, and give back the others."""
        feeders = list(self._feeders.values())
        for feeder in feeders:
            feeder.cancel()
        await asyncio.gather(*feeders, return_exceptions=True)
        ends = time.monotonic() + self._pace.grace
        while (open_tasks := self._claim_tasks | self._attempts) and (left_seconds := ends - time.monotonic()) > 0:
            await asyncio.wait(open_tasks, timeout=left_seconds)  # a finished claim starts attempts
        # Claims that are still committed now are recorded in order to be given back, and are not attempted.
        self._is_stopped = True
        for attempt in self._attempts:
            attempt.cancel()
        await asyncio.gather(*open_tasks, return_exceptions=True)
        for own_claim in list(self._own_claims.values()):
            claim = AttemptInFlight(own_claim.id, own_claim.number, own_claim.started_ms, own_claim.failures)
            await _log_faults(self._record_interruption(claim), "webhook_not_given_back")


async def _log_faults(work: Coroutine[Any, Any, _Result], event: str) -> _Result | None:
    """Return the result of a coroutine, or log its fault and return None."""
    try:
        return await work
    except DatabaseUnavailable as away:
        _log.error(event, fault=f"DatabaseUnavailable: {away}")
    except Exception as unplanned:  # noqa: BLE001 - no caller awaits these tasks
        _log.exception(event, fault=type(unplanned).__name__)
    return None
