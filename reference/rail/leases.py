"""When a lease has run out: its counter stood still, by the monotonic time of the one who looks (P-ST-06)."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from reference.store.redemptions import Redemption

_KEPT_LOOKS = 10_000


class LeaseWatch:
    """Remembers between calls since when a row's counter stands still, for a lease is longer than a call may wait."""

    def __init__(self, seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._monotonic = monotonic
        self._looks: OrderedDict[str, tuple[str | None, int, float]] = OrderedDict()

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
