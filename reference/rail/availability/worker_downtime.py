"""Times in which a worker of this rail ran. A payer gets the time back in which none did (P-ST-01)."""

from __future__ import annotations

import time
from collections.abc import Callable

from reference.rail.settings import RailSettings
from reference.store.service_outages import ALL_LANES, Outages
from reference.web.clock import WpClock

_BEAT_SECONDS = 5.0
# An absence has no effect after every challenge that it overlaps has ended; this is far longer.
_KEPT_SECONDS = 30 * 86_400


class Uptime:
    """Records a beat while the worker runs, and the time before its start in which no worker ran."""

    def __init__(
        self,
        settings: RailSettings,
        clock: WpClock,
        absences: Outages,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kept_seconds = _KEPT_SECONDS + 2 * (settings.challenge_ttl + settings.rail_settle_window)
        self._clock = clock
        self._absences = absences
        self._monotonic = monotonic
        self._due = 0.0
        self._is_running = False

    async def begin(self) -> None:
        """Record the time in which no worker ran, if there was any; not yet, if the time is in doubt now.

        Raises:
            DatabaseUnavailable: The database cannot be asked.
        """
        if self._clock.doubt is not None:
            return
        last, now = await self._absences.last_beat(), self._clock.now()
        # One missed beat is the shortest outage that can be seen. A restart within it costs payers at most those five
        # seconds.
        if last is not None and now - last > _BEAT_SECONDS:
            await self._absences.begin(ALL_LANES, since=last, until=now)
        await self._absences.beat(now=now)
        self._is_running = True

    async def tend(self) -> None:
        """Record a beat when it is due.

        A worker that doubts its clock, or has no database, serves as little as a worker that does not run.

        Raises:
            DatabaseUnavailable: The database cannot be asked.
        """
        if self._monotonic() < self._due:
            return
        if self._clock.doubt is not None:
            self._is_running = False
        elif self._is_running:
            await self._beat()
        else:
            await self.begin()
        self._due = self._monotonic() + _BEAT_SECONDS

    async def _beat(self) -> None:
        now = self._clock.now()
        # If the beat fails, no claim can be written either, so that time counts as an outage when it works again.
        self._is_running = False
        await self._absences.beat(now=now)
        self._is_running = True
        await self._absences.forget(before=now - self._kept_seconds)
