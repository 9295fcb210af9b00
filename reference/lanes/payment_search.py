"""Finding payments: one search a payout address, whatever number of links waits there (3.5, detection).

A finder lists transactions that may pay a link; what they really do is told by the lane. It never lists less than there
is: what a search did not reach, or what may still change, stays behind the position it returns, and is searched again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

# By how much the clock of a chain's blocks may differ from ours.
BLOCK_SKEW_SECONDS = 120
# Blocks before the head that are searched in any case, whatever their times say.
LEAST_LOOK_BACK = 50


@dataclass(frozen=True, slots=True)
class Head:
    """Where a chain stands, in its own count: round, block or slot.

    Attributes:
        position: Its newest block.
        final: The newest block that the network's own rule no longer undoes.
        time: Time of the newest block in unix seconds, where it is cheaply known.
    """

    position: int
    final: int
    time: int | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A transaction that may pay a link.

    Attributes:
        tx_id: Its id, canonical.
        position: Its block.
    """

    tx_id: str
    position: int


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What one search found.

    Attributes:
        candidates: Oldest first.
        searched_to: The next search may begin after this block: nothing up to it will be found that was not found now.
        is_complete: Whether it reached the head.
    """

    candidates: tuple[Candidate, ...]
    searched_to: int
    is_complete: bool


class Finder(Protocol):
    """Searches one network. Every method raises ChainUnavailable when the node could not be asked."""

    async def read_head(self) -> Head:
        """Return where the chain stands."""

    async def find_start(self, since: int, head: Head) -> int:
        """Return a block after which everything that is as young as `since`, in unix seconds, is found."""

    async def find(self, address: str, after: int, head: Head) -> SearchResult:
        """Return the transactions that moved the network's USDC to an address, in blocks after `after`."""

    async def list_pool(self, address: str) -> tuple[str, ...]:
        """Return transactions to an address that wait in the node's pool, as far as the node tells."""

    async def find_strays(self, address: str, after: int, head: Head) -> SearchResult:
        """Return transactions that moved other assets to an address, in blocks after `after`, as far as is cheap.

        They pay nothing and are only listed. A search looks back a bounded way, however long ago `after` is, and asks
        for a bounded number of pages, because any account can send an asset of its own to any address.
        """


TimeOf = Callable[[int], Awaitable[int | None]]


async def find_last_before(since: int, newest: int, time_of: TimeOf) -> int:
    """Return a block older than `since`, as new as can be told; 0 when there is none.

    Args:
        since: Unix seconds.
        newest: The newest block.
        time_of: Returns a block's time, or None for one that the node has no more, which counts as older.
    """

    async def is_older(position: int) -> bool:
        time = await time_of(position)
        return time is None or time < since

    low, high, step = newest, newest, 1
    while low > 0 and not await is_older(low):
        high, low, step = low, max(0, low - step), step * 2
    while high - low > 1:
        middle = (low + high) // 2
        if await is_older(middle):
            low = middle
        else:
            high = middle
    return max(0, low)
