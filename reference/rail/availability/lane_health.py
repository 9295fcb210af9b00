"""Which lanes can be paid on now: their nodes are asked from time to time, and one slow answer changes nothing.

A lane whose node does not answer, is of another network (live mode, P-NW-06) or is far behind its chain is away: no
challenge offers it, for who pays there could not be served. It comes back by itself.

A lane whose chain trails the clock is not offered either, although its node answers. A payment is refused as too old if
its block is more than `AGE_SKEW_SECONDS` older than its challenge. Block times never decrease. So if the newest block
is within that tolerance when a challenge is issued, no later block can be too old for it. This decides at each
challenge, and not after several looks. Payments for challenges that were issued before are served as ever.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from reference.lanes.lane import ChainUnavailable, Lane, SettlingLane
from reference.lanes.newest import read_newest_time, refuse_age
from reference.protocol.weld import AGE_SKEW_SECONDS
from reference.rail.settings import RailSettings
from reference.store.database import DatabaseUnavailable
from reference.store.outages import Outages
from reference.web.clock import WpClock
from reference.web.logs import get_logger

_log = get_logger()
_MISSES = 3
_HITS = 2
# The time of the newest block is asked for this often at least: a lane is offered only while it is known to be recent.
_NEWEST_SECONDS = 5.0


@dataclass(slots=True)
class _NodeHealth:
    """What is known of one lane's node.

    Attributes:
        lane: The lane.
        is_offered: Whether it is offered.
        in_a_row: Looks that spoke against that, one after the other.
        well_at: Unix seconds of the last look that found it well, by the rail's clock.
        due: When it is looked at next, in monotonic seconds.
        why: What is wrong with it.
        absence: Id of the absence that is written down, once it is.
        allowance: Seconds by which its newest block may be older than the clock.
        newest: Time of the newest block that its node has shown, in unix seconds.
        newest_due: When that is asked for next, in monotonic seconds.
    """

    lane: Lane
    is_offered: bool
    well_at: int
    allowance: float
    in_a_row: int = 0
    due: float = 0.0
    why: str = ""
    absence: str = field(default="", repr=False)
    newest: int | None = None
    newest_due: float = 0.0

    async def see_newest(self) -> int | None:
        """Ask for the time of the newest block, and note it.

        Raises:
            ChainUnavailable: It could not be asked for.
        """
        block_time = await read_newest_time(self.lane)
        if block_time is not None:
            self.newest = block_time
        return block_time


class LaneHealth:
    """The lanes of one worker, by network key."""

    def __init__(
        self,
        settings: RailSettings,
        lanes: Mapping[str, Lane],
        clock: WpClock,
        absences: Outages | None = None,
        *,
        unchecked_lanes: Sequence[str] = (),
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Take the lanes.

        Args:
            settings: How often is looked, and how far behind a node may be.
            lanes: The lanes, in the order in which they are offered.
            clock: Tells when absences began and ended.
            absences: Where they are written down.
            unchecked_lanes: Lanes whose nodes did not answer yet; they are away until they were checked.
            monotonic: Tells when the next look is due.
            wall: The machine's clock, in unix seconds. Block times are compared with it, not with the service's clock,
                which tests move.
        """
        self._settings = settings
        self._clock = clock
        self._absences = absences
        self._monotonic = monotonic
        self._wall = wall
        now = clock.now()
        self._nodes = {
            key: _NodeHealth(lane, key not in unchecked_lanes, now, self._choose_allowance(lane))
            for key, lane in lanes.items()
        }
        self._available = frozenset(key for key, node in self._nodes.items() if node.is_offered)
        self._until = math.inf

    def _choose_allowance(self, lane: Lane) -> float:
        """Return by how many seconds a lane's chain may trail. Where the rail settles, no payment is sent too early."""
        seconds = self._settings.rail_node_behind_seconds
        return math.inf if isinstance(lane, SettlingLane) or not seconds else min(seconds, AGE_SKEW_SECONDS)

    @property
    def available_lanes(self) -> frozenset[str]:
        """The lanes that are offered now; the same object for as long as they are the same."""
        if self._wall() > self._until:
            self._decide()
        return self._available

    @property
    def unavailable_lanes(self) -> dict[str, str]:
        """The lanes that are not, each with the reason."""
        available = self.available_lanes
        return {key: self._explain_absence(node) for key, node in self._nodes.items() if key not in available}

    def refuse_unchecked(self, network: str) -> None:
        """Refuse to ask a node that came back in live mode before it was seen to be of its network (P-NW-06).

        Raises:
            ChainUnavailable: It was not.
        """
        node = self._nodes.get(network)
        if self._settings.mode == "live" and node is not None and not node.is_offered:
            raise ChainUnavailable("the node was not checked yet")

    async def tend(self) -> None:
        """Look at the nodes whose turn it is, and write down for how long each is away."""
        now = self._monotonic()
        await asyncio.gather(
            *(self._look(key, node) for key, node in self._nodes.items() if node.due <= now),
            *(
                self._follow(node)
                for node in self._nodes.values()
                if node.is_offered and node.newest_due <= now < node.due
            ),
        )
        self._decide()
        for key, node in self._nodes.items():
            if not node.is_offered:
                await self._note(key, node)

    async def _look(self, key: str, node: _NodeHealth) -> None:
        why = await self._diagnose(node)
        if node.is_offered and not why:
            node.well_at = self._clock.now()
        is_other = node.is_offered is bool(why)
        node.in_a_row = node.in_a_row + 1 if is_other else 0
        if why and why != node.why:
            _log.warning("node_not_well", network=key, reason=why)
        node.why = why
        if node.in_a_row >= (_MISSES if node.is_offered else _HITS):
            await self._switch(key, node)
        pause = self._settings.rail_node_look_seconds
        node.due = self._monotonic() + (pause if node.is_offered else min(1.0, pause))
        self._plan_newest(node)

    async def _follow(self, node: _NodeHealth) -> None:
        """Ask for the newest block between two looks. An answer that does not come counts at the looks alone."""
        with suppress(ChainUnavailable):
            await node.see_newest()
        self._plan_newest(node)

    def _plan_newest(self, node: _NodeHealth) -> None:
        pause = min(_NEWEST_SECONDS, self._settings.rail_node_look_seconds)
        node.newest_due = self._monotonic() + (min(1.0, pause) if self._trails(node) else pause)

    async def _diagnose(self, node: _NodeHealth) -> str:
        """Return what speaks against a lane's node, the empty string when nothing does."""
        try:
            if not await node.lane.check_node() and self._settings.mode == "live":
                return "its node is of another network"
            refuse_age(await node.see_newest(), self._settings.rail_node_behind_seconds)
        except ChainUnavailable as fault:
            return f"its node does not answer as one should ({fault})"
        return ""

    async def _switch(self, key: str, node: _NodeHealth) -> None:
        if not node.is_offered:
            await self._note(key, node)
        node.is_offered, node.in_a_row, node.absence = not node.is_offered, 0, ""
        if node.is_offered:
            node.well_at = self._clock.now()

    async def _note(self, key: str, node: _NodeHealth) -> None:
        """Write down that a lane is away until now; a database that is away is told the next time."""
        if self._absences is None:
            return
        now = self._clock.now()
        try:
            if node.absence:
                await self._absences.prolong(node.absence, until=now)
            else:
                node.absence = await self._absences.begin(key, since=node.well_at, until=now)
        except DatabaseUnavailable:
            _log.warning("absence_not_noted", network=key)

    def _trails(self, node: _NodeHealth) -> bool:
        """Return whether a payment on a lane could be too old for a challenge that was issued now."""
        return node.newest is not None and self._wall() - node.newest > node.allowance

    def _explain_absence(self, node: _NodeHealth) -> str:
        """Return why a lane is not offered."""
        reasons = [] if node.is_offered else [node.why or "its node was not asked yet"]
        if node.newest is not None and self._trails(node):
            reasons.append(
                f"its newest block is {self._wall() - node.newest:.0f} s old, so a payment in the next block could be "
                f"refused as too old; the lane is offered again when that is at most {node.allowance:g} s"
            )
        return "; ".join(reasons)

    def _decide(self) -> None:
        """Decide which lanes are offered, and until when that holds if no newer block is seen."""
        available = {key: node for key, node in self._nodes.items() if node.is_offered and not self._trails(node)}
        self._until = min(
            (node.newest + node.allowance for node in available.values() if node.newest), default=math.inf
        )
        if available.keys() == self._available:
            return
        for key in sorted(self._available - available.keys()):
            _log.error("lane_not_offered", network=key, reason=self._explain_absence(self._nodes[key]))
        for key in sorted(available.keys() - self._available):
            _log.warning("lane_offered_again", network=key)
        self._available = frozenset(available)
