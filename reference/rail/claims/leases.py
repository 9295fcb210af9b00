"""Leases of claims: holding one, and detecting that another worker's has run out (P-ST-06).

The holder raises a counter in the row. The lease has run out when the counter has not changed for a whole lease, by the
monotonic clock of the worker that looks. So no two wall clocks are compared, and a clock that jumps frees no lease.
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
    """A lease that is held for a block: renewed regularly, and released at the end in any case.

    Attributes:
        is_released: Whether the row is already free, so that leaving the block need not release it.
    """

    def __init__(self, ledger: Redemptions, row_id: int, worker: str, seconds: float) -> None:
        """Take the row, its holder and the seconds of the lease; it is renewed three times in that time."""
        self.is_released = False
        self._ledger, self._row_id, self._worker = ledger, row_id, worker
        self._interval = seconds / 3
        self._renewing: asyncio.Task[None] | None = None
        # Most leases are held for less than an interval, so the renewing task is started only after it.
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
        """Stop renewing, and release the row."""
        self._start.cancel()
        if self._renewing is not None:
            self._renewing.cancel()
            with suppress(asyncio.CancelledError):
                await self._renewing
        if not self.is_released:
            await self._ledger.release(self._row_id, worker=self._worker)


class LeaseWatch:
    """Remembers since when a row's counter has not changed, because a lease is longer than one call may wait."""

    def __init__(self, seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._monotonic = monotonic
        self._looks: OrderedDict[int, tuple[str | None, int, float]] = OrderedDict()

    def has_run_out(self, row: Redemption) -> bool:
        """Return whether the row is free: released, or its counter was not raised for a whole lease."""
        now = self._monotonic()
        holder, counter, since = self._looks.pop(row.id, (row.lease, row.lease_counter, now))
        if (holder, counter) != (row.lease, row.lease_counter):
            since = now
        self._looks[row.id] = (row.lease, row.lease_counter, since)
        if len(self._looks) > _KEPT_LOOKS:
            self._looks.popitem(last=False)
        return row.lease is None or now - since >= self._seconds
