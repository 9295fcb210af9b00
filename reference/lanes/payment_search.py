"""Payment search: one search for each payout address, for any number of links that wait there (3.5, detection).

A finder lists transactions that may pay a link; the lane then reads what they do. A finder never misses a payment: what
a search did not reach, or what may still change, lies after the position it returns, and is searched again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

# By how much the times of a chain's blocks may differ from this machine's clock.
BLOCK_SKEW_SECONDS = 120
# Blocks before the head that are always searched: their times may be equal, or wrong by the skew above.
LEAST_LOOK_BACK = 50


@dataclass(frozen=True, slots=True)
class Head:
    """The newest block of a chain, in its own count: round, block or slot.

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
    """The result of one search.

    Attributes:
        candidates: Oldest first.
        searched_to: The next search may begin after this block: up to it, every payment was found.
        is_complete: Whether the search reached the head.
    """

    candidates: tuple[Candidate, ...]
    searched_to: int
    is_complete: bool


class Finder(Protocol):
    """Searches one network. Every method raises ChainUnavailable when the node could not be asked."""

    async def read_head(self) -> Head:
        """Return the chain's newest block."""

    async def find_start(self, since: int, head: Head) -> int:
        """Return a block after which all blocks lie that are as young as `since`, in unix seconds."""

    async def find(self, address: str, after: int, head: Head) -> SearchResult:
        """Return the transactions that moved the network's USDC to an address, in blocks after `after`."""

    async def list_pool(self, address: str) -> tuple[str, ...]:
        """Return transactions to an address that wait in the node's pool, as far as the node lists them."""

    async def find_strays(self, address: str, after: int, head: Head) -> SearchResult:
        """Return transactions that moved other assets to an address, in blocks after `after`, as far as is cheap.

        They pay no link and are only listed (decision 0071). A search looks back a bounded way, however long ago
        `after` is, and reads a bounded number of pages, because any account can send its own asset to any address.
        """


TimeOf = Callable[[int], Awaitable[int | None]]


async def find_last_before(since: int, newest: int, time_of: TimeOf) -> int:
    """Return the newest known block that is older than `since`, or 0.

    Args:
        since: Unix seconds.
        newest: The newest block.
        time_of: Returns a block's time, or None for one that the node no longer has, which counts as older.
    """

    async def is_older(position: int) -> bool:
        time = await time_of(position)
        return time is None or time < since

    # Steps that double, then a binary search: a few dozen questions to the node, however long ago `since` is.
    low, high, step = newest, newest, 1
    while low > 0 and not await is_older(low):
        high, low, step = low, max(0, low - step), step * 2
    # Between them the boundary is found by halving, since block times never decrease.
    while high - low > 1:
        middle = (low + high) // 2
        if await is_older(middle):
            low = middle
        else:
            high = middle
    return max(0, low)
