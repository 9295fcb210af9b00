"""When any worker of this rail ran: whoever could not present in time because none did has that time afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable

from reference.rail.settings import RailSettings
from reference.store.outages import ALL_LANES, Outages
from reference.web.clock import WpClock

_BEAT_SECONDS = 5.0
# An absence is of no use any more when every challenge that met it has ended; this is far beyond that.
_KEPT_SECONDS = 30 * 86_400


class Uptime:
    """Beats while the worker runs, and writes down how long none did before."""

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
        """Write down the time in which no worker ran, if there was any; later, where the time is in doubt now.

        Raises:
            DatabaseUnavailable: The database cannot be asked.
        """
        if self._clock.doubt is not None:
            return
        last, now = await self._absences.last_beat(), self._clock.now()
        if last is not None and now - last > _BEAT_SECONDS:
            await self._absences.begin(ALL_LANES, since=last, until=now)
        await self._absences.beat(now=now)
        self._is_running = True

    async def tend(self) -> None:
        """Beat when it is time.

        Whoever is in doubt over the time, or without a database, serves as little as one who is away.

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
        self._is_running = False  # while the database takes nothing, no claim can be written either
        await self._absences.beat(now=now)
        self._is_running = True
        await self._absences.forget(before=now - self._kept_seconds)
