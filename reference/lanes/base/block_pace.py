"""Block pace: when future blocks are due, estimated from the times at which earlier ones were seen."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

_KEPT_HEADS = 8
# In blocks. A question that comes a little late is asked once; one that comes too early is asked twice.
_MARGIN = 0.05


class Pace:
    """The block pace of one chain, from the newest blocks that its node reports."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._heads: deque[tuple[int, float]] = deque(maxlen=_KEPT_HEADS)

    def note_head(self, head: int) -> None:
        """Note that a block is the newest now."""
        if self._heads and head < self._heads[-1][0]:
            # A reorganisation removed blocks, so the old times say nothing about the new ones.
            self._heads.clear()
        if not self._heads or head > self._heads[-1][0]:
            self._heads.append((head, self._monotonic()))

    @property
    def newest(self) -> int | None:
        """The newest block that was seen."""
        return self._heads[-1][0] if self._heads else None

    def seconds_until(self, block: int | None, later: int) -> float | None:
        """Return in how many seconds a block is due, negative if it is overdue; None until two blocks were seen.

        Args:
            block: The one to count from; None for the next one.
            later: The number of blocks after that one.
        """
        if len(self._heads) < 2:
            return None
        (first, first_seen), (last, last_seen) = self._heads[0], self._heads[-1]
        seconds_per_block = (last_seen - first_seen) / (last - first)
        # Each block existed when it was seen, or before. So the one that was seen soonest gives the best estimate.
        zero = min(at - head * seconds_per_block for head, at in self._heads)
        target = (last + 1 if block is None else block) + later
        return zero + (target + _MARGIN) * seconds_per_block - self._monotonic()
