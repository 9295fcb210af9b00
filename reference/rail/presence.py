"""Which lanes can be paid on now: their nodes are asked from time to time, and one slow answer changes nothing.

A lane whose node does not answer, is of another network (live mode, P-NW-06) or is far behind its chain is away: no
challenge offers it, for who pays there could not be served. It comes back by itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from reference.lanes.lane import ChainUnavailable, Lane
from reference.rail.settings import RailSettings
from reference.store.absences import Absences
from reference.store.database import DatabaseUnavailable
from reference.web.clock import WpClock
from reference.web.logs import get_logger

_log = get_logger()
_MISSES = 3
_HITS = 2


@dataclass(slots=True)
class _Watched:
    """What is known of one lane's node.

    Attributes:
        lane: The lane.
        here: Whether it is offered.
        in_a_row: Looks that spoke against that, one after the other.
        well_at: Unix seconds of the last look that found it well, by the rail's clock.
        due: When it is looked at next, in monotonic seconds.
        why: What is wrong with it.
        absence: Id of the absence that is written down, once it is.
    """

    lane: Lane
    here: bool
    well_at: int
    in_a_row: int = 0
    due: float = 0.0
    why: str = ""
    absence: str = field(default="", repr=False)


async def refuse_behind(lane: Lane, seconds: int) -> None:
    """Refuse to take a node's word that something does not exist while its chain stands far behind; 0 is never.

    Blocks bear the world's time, so the world's clock is what they are held against.

    Raises:
        ChainUnavailable: The newest block is older than so many seconds, or cannot be asked for.
    """
    if seconds:
        newest = (await lane.finder.head()).time
        if newest is not None and time.time() - newest > seconds:
            raise ChainUnavailable("the node is behind its chain")


class Presence:
    """The lanes of one worker, by network key."""

    def __init__(
        self,
        settings: RailSettings,
        lanes: Mapping[str, Lane],
        clock: WpClock,
        absences: Absences | None = None,
        *,
        unchecked: Sequence[str] = (),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the lanes.

        Args:
            settings: How often is looked, and how far behind a node may be.
            lanes: The lanes, in the order in which they are offered.
            clock: Tells when absences began and ended.
            absences: Where they are written down.
            unchecked: Lanes whose nodes did not answer yet; they are away until they were checked.
            monotonic: Tells when the next look is due.
        """
        self._settings = settings
        self._clock = clock
        self._absences = absences
        self._monotonic = monotonic
        now = clock.now()
        self._watched = {key: _Watched(lane, key not in unchecked, now) for key, lane in lanes.items()}
        self._here = self._now_here()

    @property
    def here(self) -> frozenset[str]:
        """The lanes that are offered now."""
        return self._here

    @property
    def away(self) -> list[str]:
        """The lanes that are not."""
        return [key for key, one in self._watched.items() if not one.here]

    def refuse_unchecked(self, network: str) -> None:
        """Refuse to ask a node that came back in live mode before it was seen to be of its network (P-NW-06).

        Raises:
            ChainUnavailable: It was not.
        """
        one = self._watched.get(network)
        if self._settings.mode == "live" and one is not None and not one.here:
            raise ChainUnavailable("the node was not checked yet")

    async def tend(self) -> None:
        """Look at the nodes whose turn it is, and write down for how long each is away."""
        now = self._monotonic()
        await asyncio.gather(*(self._look(key, one) for key, one in self._watched.items() if one.due <= now))
        for key, one in self._watched.items():
            if not one.here:
                await self._note(key, one)

    async def _look(self, key: str, one: _Watched) -> None:
        why = await self._wrong_with(one.lane)
        if one.here and not why:
            one.well_at = self._clock.now()
        is_other = one.here is bool(why)
        one.in_a_row = one.in_a_row + 1 if is_other else 0
        if why and why != one.why:
            _log.warning("node_not_well", network=key, reason=why)
        one.why = why
        if one.in_a_row >= (_MISSES if one.here else _HITS):
            await self._turn(key, one)
        pause = self._settings.rail_node_look_seconds
        one.due = self._monotonic() + (pause if one.here else min(1.0, pause))

    async def _wrong_with(self, lane: Lane) -> str:
        """Return what speaks against a lane's node, the empty string when nothing does."""
        try:
            if not await lane.check_node() and self._settings.mode == "live":
                return "its node is of another network"
            await refuse_behind(lane, self._settings.rail_node_behind_seconds)
        except ChainUnavailable as fault:
            return f"its node does not answer as one should ({fault})"
        return ""

    async def _turn(self, key: str, one: _Watched) -> None:
        if not one.here:
            await self._note(key, one)
        one.here, one.in_a_row, one.absence = not one.here, 0, ""
        self._here = self._now_here()
        if one.here:
            one.well_at = self._clock.now()
            _log.warning("lane_offered_again", network=key)
        else:
            _log.error("lane_not_offered", network=key, reason=one.why)

    async def _note(self, key: str, one: _Watched) -> None:
        """Write down that a lane is away until now; a database that is away is told the next time."""
        if self._absences is None:
            return
        now = self._clock.now()
        try:
            if one.absence:
                await self._absences.go_on(one.absence, until=now)
            else:
                one.absence = await self._absences.begin(key, since=one.well_at, until=now)
        except DatabaseUnavailable:
            _log.warning("absence_not_noted", network=key)

    def _now_here(self) -> frozenset[str]:
        return frozenset(key for key, one in self._watched.items() if one.here)
