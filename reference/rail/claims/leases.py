"""Leases: holding one, and telling when another's has run out (P-ST-06).

A lease that is held has a counter that rises. It has run out when the counter stood still, by the monotonic time of the
one who looks.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from reference.store.redemption_rows import Redemption
from reference.store.redemptions import Redemptions

_KEPT_LOOKS = 10_000


class Lease:
    """A lease that is held for a block: renewed from time to time, and given back at its end whatever happens.

    Attributes:
        is_released: Whether the row is free again already, so that nobody has to give it back.
    """

    def __init__(self, ledger: Redemptions, row_id: int, worker: str, seconds: float) -> None:
        """Take the row and who holds it, for so many seconds; it is renewed three times as often."""
        self.is_released = False
        self._ledger, self._row_id, self._worker = ledger, row_id, worker
        self._interval = seconds / 3
        self._renewing: asyncio.Task[None] | None = None
        # Most leases are held for less than an interval: no task for those.
        self._start = asyncio.get_running_loop().call_later(self._interval, self._begin)

    def _begin(self) -> None:
        self._renewing = asyncio.create_task(self._renew_for_ever())

    async def _renew_for_ever(self) -> None:
        while True:
            await self._ledger.renew_lease(self._row_id, worker=self._worker)
            await asyncio.sleep(self._interval)

    async def __aenter__(self) -> Self:
        """Begin; the row is held since it was claimed."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Renew no more, and give the row back."""
        self._start.cancel()
        if self._renewing is not None:
            self._renewing.cancel()
            with suppress(asyncio.CancelledError):
                await self._renewing
        if not self.is_released:
            await self._ledger.release(self._row_id, worker=self._worker)


class LeaseWatch:
    """Remembers between calls since when a row's counter stands still, for a lease is longer than a call may wait."""

    def __init__(self, seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._monotonic = monotonic
        self._looks: OrderedDict[int, tuple[str | None, int, float]] = OrderedDict()

    def has_run_out(self, row: Redemption) -> bool:
        """Return whether the row is free: given back, or its holder did not raise the counter for a whole lease."""
        now = self._monotonic()
        holder, counter, since = self._looks.pop(row.id, (row.lease, row.lease_counter, now))
        if (holder, counter) != (row.lease, row.lease_counter):
            since = now
        self._looks[row.id] = (row.lease, row.lease_counter, since)
        if len(self._looks) > _KEPT_LOOKS:
            self._looks.popitem(last=False)
        return row.lease is None or now - since >= self._seconds
