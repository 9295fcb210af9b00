"""Lane health: the lanes that can be offered now, decided by regular checks of their nodes.

A lane whose node does not answer, is of another network (live mode, P-NW-06) or is far behind its chain is away. No
challenge offers it, because a payer on it could not be served. It is offered again when its node is back.

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
from reference.lanes.newest_block import read_newest_time, refuse_age
from reference.protocol.weld import AGE_SKEW_SECONDS
from reference.rail.settings import RailSettings
from reference.store.database import DatabaseUnavailable
from reference.store.service_outages import Outages
from reference.web.clock import WpClock
from reference.web.logs import get_logger

_log = get_logger()
# Three failed checks take a lane away and two good ones bring it back (P-CH-03), so that one slow answer changes
# nothing.
_MISSES = 3
_HITS = 2
# The time of the newest block is read at least this often: a lane is offered only while that block is recent.
_NEWEST_SECONDS = 5.0


@dataclass(slots=True)
class _NodeHealth:
    """State of one lane's node.

    Attributes:
        lane: The lane.
        is_offered: Whether it is offered.
        in_a_row: Consecutive checks that contradict that.
        well_at: Unix seconds of the last check that it passed, by the rail's clock.
        due: Time of its next check, in monotonic seconds.
        why: Its fault.
        absence: Id of the absence in the database, if one is recorded.
        allowance: Seconds by which its newest block may be older than the clock.
        newest: Time of the newest block that its node has shown, in unix seconds.
        newest_due: Time at which that is read next, in monotonic seconds.
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
            settings: Interval of the checks, and how far behind a node may be.
            lanes: The lanes, in the order in which they are offered.
            clock: Time of the beginning and end of absences.
            absences: Table of absences.
            unchecked_lanes: Lanes whose nodes did not answer yet; they are away until they were checked.
            monotonic: Clock for the interval of checks.
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
        """Return by how many seconds a lane's chain may trail; without limit if the rail itself settles."""
        seconds = self._settings.rail_node_behind_seconds
        # On a lane that settles no money moves before the rail sends it, so a block cannot be too old for a challenge
        # (decision 0083).
        return math.inf if isinstance(lane, SettlingLane) or not seconds else min(seconds, AGE_SKEW_SECONDS)

    @property
    def available_lanes(self) -> frozenset[str]:
        """The lanes that are offered now; the same object for as long as they are the same."""
        # A request compares one number: `_decide` has computed until when the newest known blocks are recent enough.
        if self._wall() > self._until:
            self._decide()
        return self._available

    @property
    def unavailable_lanes(self) -> dict[str, str]:
        """The lanes that are not, each with the reason."""
        available = self.available_lanes
        return {key: self._explain_absence(node) for key, node in self._nodes.items() if key not in available}

    def lags(self) -> dict[str, float]:
        """Return by how many seconds the newest known block of each lane is behind the clock, where one is known."""
        return {
            key: max(0.0, self._wall() - node.newest) for key, node in self._nodes.items() if node.newest is not None
        }

    def refuse_unchecked(self, network: str) -> None:
        """Refuse to ask a node in live mode before a check has shown that it is of its network (P-NW-06).

        Raises:
            ChainUnavailable: It was not checked since it came back.
        """
        node = self._nodes.get(network)
        if self._settings.mode == "live" and node is not None and not node.is_offered:
            raise ChainUnavailable("the node was not checked yet")

    async def tend(self) -> None:
        """Check the nodes that are due, and record for how long each is away."""
        now = self._monotonic()
        # Side by side: a node that times out must not delay the checks of the others.
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
        # A node that is away is checked each second, since a lane that cannot be offered costs sales.
        pause = self._settings.rail_node_look_seconds
        node.due = self._monotonic() + (pause if node.is_offered else min(1.0, pause))
        self._plan_newest(node)

    async def _follow(self, node: _NodeHealth) -> None:
        """Read the newest block between two checks. Only the checks count a missing answer."""
        with suppress(ChainUnavailable):
            await node.see_newest()
        self._plan_newest(node)

    def _plan_newest(self, node: _NodeHealth) -> None:
        pause = min(_NEWEST_SECONDS, self._settings.rail_node_look_seconds)
        node.newest_due = self._monotonic() + (min(1.0, pause) if self._trails(node) else pause)

    async def _diagnose(self, node: _NodeHealth) -> str:
        """Return the fault of a lane's node, or the empty string."""
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
        """Record that a lane is away until now; if the database is away, the next round records it."""
        if self._absences is None:
            return
        now = self._clock.now()
        try:
            # P-ST-01: a token whose lifetime overlaps this absence may be presented later by the same time.
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
        # At this moment the first of the known blocks becomes too old, so the decision must be made again.
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
