"""One effect per event id, also when deliveries of it arrive together (P-WH-13)."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from conformance.webhook_receiver.raw_receiver import Reply

MOST_REMEMBERED = 50_000


class EffectsFull(Exception):
    """As many ids are remembered as there is room for, and none is old enough to be forgotten."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an attempt at an event's effect.

    Attributes:
        reply: The answer to every delivery that waits for it.
        done: Whether the event had its effect; if not, a later delivery of it is a first one again.
    """

    reply: Reply
    has_effect: bool


@dataclass(slots=True)
class _EventRecord:
    effects: int
    last: float


class Effects:
    """Event ids that had their effect, and those that are having it.

    Ids are forgotten in the order in which they were last delivered, when room is needed, and never within `window`
    seconds of that: a delivery that can still be repeated is still known.
    """

    def __init__(
        self, window: float, *, most: int = MOST_REMEMBERED, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._window = window
        self._most = most
        self._monotonic = monotonic
        self._done: OrderedDict[str, _EventRecord] = OrderedDict()
        self._running: dict[str, asyncio.Task[Outcome]] = {}

    def count(self, event_id: str) -> int:
        """Return how many effects an event had, as far as it is remembered."""
        return self._done[event_id].effects if event_id in self._done else 0

    async def run_once(self, event_id: str, effect: Callable[[], Awaitable[Outcome]]) -> Outcome | None:
        """Give an event its effect, unless it had it.

        A delivery of an event whose effect is already running waits for that effect and gets its outcome. The effect
        continues even if the delivery is cancelled.

        Returns:
            Its outcome; None if the event had its effect before.

        Raises:
            Full: Nothing more can be remembered; the event had no effect.
        """
        if event_id in self._done:
            self._done[event_id].last = self._monotonic()
            self._done.move_to_end(event_id)
            return None
        if event_id not in self._running:
            self._make_room()
            self._running[event_id] = asyncio.create_task(self._perform(event_id, effect))
        return await asyncio.shield(self._running[event_id])

    async def close(self) -> None:
        """End the effects that are under way."""
        tasks = tuple(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _perform(self, event_id: str, effect: Callable[[], Awaitable[Outcome]]) -> Outcome:
        try:
            outcome = await effect()
            if outcome.has_effect:
                entry = self._done.setdefault(event_id, _EventRecord(0, 0.0))
                entry.effects += 1
                entry.last = self._monotonic()
            return outcome
        finally:
            del self._running[event_id]

    def _make_room(self) -> None:
        """Forget the id that was delivered longest ago, if there is no room for another one.

        Raises:
            Full: It may still be repeated.
        """
        if len(self._done) + len(self._running) < self._most:
            return
        oldest = next(iter(self._done), None)
        if oldest is None or self._monotonic() - self._done[oldest].last <= self._window:
            raise EffectsFull
        del self._done[oldest]
