"""Recency of networks: whether the newest block of a network is recent enough to ask for payments (0083).

A link ends by its chain's time, or a minute after its end if the chain's time does not get there (3.5). A payment that
is made while the chain stands still, or while the node does not show its newest blocks, may therefore come to light
after its link has ended. Such a payment is listed for the tenant, who has to give it back. So the page does not ask for
money meanwhile. What arrives nevertheless is treated as ever: it pays the link, or it is listed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from reference.lanes.lane import ChainUnavailable, Lane
from reference.lanes.newest_block import read_newest_time
from reference.web.logs import get_logger

_log = get_logger()
# The limit is 60 s by default, so a check every five seconds notices a chain that stands still soon enough.
_LOOK_SECONDS = 5.0
# A trailing network is checked this often, so that its pages can be paid again soon.
_TRAILING_LOOK_SECONDS = 1.0


@dataclass(slots=True)
class _Newest:
    """The state of one network.

    Attributes:
        time: Time of the newest block that its node has shown, in unix seconds.
        due: When that is asked for next, in monotonic seconds.
        trails: Whether the last look found it too old.
    """

    time: int | None = None
    due: float = 0.0
    trails: bool = False


class NetworkRecency:
    """The newest blocks of the networks of one worker, by network key."""

    def __init__(
        self,
        lanes: Mapping[str, Lane],
        seconds: int,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Take the networks.

        Args:
            lanes: Networks that have a node; one that is added later is followed from then on.
            seconds: By how much the newest block may be older than the machine's clock; 0 is without a limit.
            monotonic: The clock that decides when a check is due.
            wall: The machine's clock in unix seconds, not the service's, which tests move.
        """
        self._lanes = lanes
        self._seconds = seconds
        self._monotonic = monotonic
        self._wall = wall
        self._newest: dict[str, _Newest] = {}

    async def refresh(self) -> None:
        """Check the nodes that are due, or none if there is no limit."""
        if not self._seconds:
            return
        now = self._monotonic()
        newest_by_network = {key: self._newest.setdefault(key, _Newest()) for key in list(self._lanes)}
        await asyncio.gather(*(self._look(key, one) for key, one in newest_by_network.items() if one.due <= now))

    async def _look(self, network: str, newest: _Newest) -> None:
        with suppress(ChainUnavailable):  # the known block gets older, which is what decides
            block_time = await read_newest_time(self._lanes[network])
            newest.time = newest.time if block_time is None else block_time
        # Only changes are logged. A network may trail for hours, and is checked every second then.
        if self.trails(network) is not newest.trails:
            newest.trails = not newest.trails
            _log.warning("network_trails" if newest.trails else "network_is_current", network=network)
        newest.due = self._monotonic() + (_TRAILING_LOOK_SECONDS if newest.trails else _LOOK_SECONDS)

    def trails(self, network: str) -> bool:
        """Return whether the newest block of a network is too old for its links to be paid now."""
        age = self._age(network)
        return age is not None and 0 < self._seconds < age

    def lags(self) -> dict[str, float]:
        """Return by how many seconds the newest known block of each network is behind the clock, where one is known."""
        ages = {network: self._age(network) for network in self._newest}
        return {network: max(0.0, age) for network, age in ages.items() if age is not None}

    def faults(self) -> list[str]:
        """Return a sentence for each network that trails, for operators."""
        return [
            f"{network}: its newest block is {self._age(network):.0f} s old, so its links cannot be paid now "
            f"(WP_GATEWAY_NODE_BEHIND_SECONDS is {self._seconds})"
            for network in self._newest
            if self.trails(network)
        ]

    def _age(self, network: str) -> float | None:
        newest = self._newest.get(network)
        # Without a known block there is no age, and a network without an age does not trail.
        return None if newest is None or newest.time is None else self._wall() - newest.time
