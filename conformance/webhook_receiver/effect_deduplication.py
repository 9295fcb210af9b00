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
    """The memory of event ids is full, and no id is old enough to be forgotten."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an attempt at an event's effect.

    Attributes:
        reply: The answer to every delivery that waits for the effect.
        has_effect: Whether the event had its effect; if not, a later delivery of it is a first one again.
    """

    reply: Reply
    has_effect: bool


@dataclass(slots=True)
class _EventRecord:
    effects: int
    last: float


class Effects:
    """Event ids whose effect is complete, and those whose effect is running.

    If the memory is full, the id that was delivered longest ago is forgotten, but never within `window` seconds of its
    last delivery. A delivery that a sender may still repeat is therefore still known.
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
        """Run the effect of an event, unless it already had its effect.

        A delivery of an event whose effect is already running waits for that effect and gets its outcome.

        Returns:
            Its outcome; None if the event had its effect before.

        Raises:
            EffectsFull: No further id can be remembered; the event had no effect.
        """
        if event_id in self._done:
            self._done[event_id].last = self._monotonic()
            self._done.move_to_end(event_id)
            return None
        # One task per event: deliveries of the same event that arrive together share its effect.
        if event_id not in self._running:
            self._make_room()
            self._running[event_id] = asyncio.create_task(self._perform(event_id, effect))
        # The sender may close the connection while the effect runs. Cancelling the effect then
        # could leave it half done, and a repetition would do it twice.
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
                # Counted even beyond one, so that a repeated effect is visible.
                entry.effects += 1
                entry.last = self._monotonic()
            return outcome
        finally:
            del self._running[event_id]

    def _make_room(self) -> None:
        """Forget the id that was delivered longest ago, if there is no room for another one.

        Raises:
            EffectsFull: A sender may still repeat it.
        """
        if len(self._done) + len(self._running) < self._most:
            return
        # The dictionary is ordered by the last delivery, so its first key is the oldest.
        oldest = next(iter(self._done), None)
        if oldest is None or self._monotonic() - self._done[oldest].last <= self._window:
            raise EffectsFull
        del self._done[oldest]
