"""The WP clock: the machine's time, compared with its monotonic clock, plus a test offset (P-CV-08).

The machine's clock (the wall) may be wrong and may jump, but payments depend on the time. So the service's time runs by
the monotonic clock, with the offset at which the wall was believed. Small steps of the wall are followed, gradually and
never backwards. After a large step the clock is in doubt until a chain confirms the wall or the wall returns. While it
is in doubt, nothing is issued, expired or deleted by age (decision 0043).
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from reference.web.errors import Refused
from reference.web.logs import get_logger

_log = get_logger()
_MOST_BYTES = 4096
# A step of the wall of up to this many seconds, as NTP makes them, is followed at half a second a second. A larger one
# is a jump.
STEP_SECONDS = 2.0
_FOLLOW_RATE = 0.5
# Two readings differ by less than this although neither clock was changed.
_NOTHING = 0.001
# A wall that no chain can confirm is believed when it has kept pace with the monotonic clock for so many seconds.
STEADY_SECONDS = 60.0
_RETRY_SECONDS = 5


# Seconds that no setting of the machine's clock changes. Boot time also counts while the machine is suspended, so that
# waking up is not a jump.
boot_time: Callable[[], float] = (
    partial(time.clock_gettime, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
)


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why the clock is in doubt.

    Attributes:
        reason: For people.
        distance: Seconds from the monotonic clock to the doubted wall.
        since: Time since which the wall keeps that distance, by the monotonic clock.
        returns: Whether the doubt is over when the wall comes back to where it was believed.
    """

    reason: str
    distance: float
    since: float
    returns: bool


class WpClock:
    """The service's time. It decides everything that expires; waits inside a call use monotonic time."""

    def __init__(
        self,
        offset_file: Path | None = None,
        wall_clock: Callable[[], float] | None = None,
        monotonic: Callable[[], float] | None = None,
    ) -> None:
        """Take the sources.

        Args:
            offset_file: Holds seconds by which a test wants the service's time ahead of the machine's.
            wall_clock: The wall, in unix seconds; the machine's unless given.
            monotonic: The clock with which the wall is compared, in seconds; the machine's unless given. A wall that is
                given without it is never doubted.
        """
        self._offset_file = offset_file
        self._wall_clock = wall_clock or time.time
        self._monotonic = (
            monotonic if monotonic is not None else (boot_time if wall_clock is None else self._wall_clock)
        )
        self._offset = 0.0
        self._latest = 0.0
        self._read_at, self._distance = self._read_clocks()
        self._doubt: Doubt | None = None
        self._is_witnessed = False

    def seconds(self) -> float:
        """Return unix seconds; a reading is smaller than the one before only where a doubt has ended in between."""
        self._follow()
        # P-CV-08: never smaller than before, also if a step of the wall is followed backwards.
        self._latest = max(self._latest, self._read_at + self._distance + self._read_offset())
        return self._latest

    def now(self) -> int:
        """Return whole unix seconds."""
        return int(self.seconds())

    def now_ms(self) -> int:
        """Return whole unix milliseconds."""
        return int(self.seconds() * 1000)

    def lapsed_until(self) -> int:
        """Return the unix second up to which things have expired: now, or 0 while the clock is in doubt."""
        now = self.now()
        return now if self._doubt is None else 0

    @property
    def doubt(self) -> Doubt | None:
        """Why nothing may be issued, expired or deleted by age now; None when all of it may."""
        self._follow()
        return self._doubt

    def refuse_in_doubt(self) -> None:
        """Refuse what needs the right time while it is in doubt.

        Raises:
            Refused: 503 `build_doubt_refusal`.
        """
        doubt = self.doubt
        if doubt is not None:
            raise build_doubt_refusal(doubt.reason)

    def refuse_unfounded(self) -> None:
        """Refuse a call that records its time, if no wall was believed since the start.

        After a jump the time continues by the monotonic clock. If the wall was in doubt from the start, there is no
        time to continue from, and answers are kept from the recorded time on.

        Raises:
            Refused: 503 `build_doubt_refusal`.
        """
        doubt = self.doubt
        if doubt is not None and not doubt.returns:
            raise build_doubt_refusal(doubt.reason)

    @property
    def is_moved(self) -> bool:
        """Whether a test sets the time, so that the time of other machines is not comparable."""
        return self._offset_file is not None or self._wall_clock is not time.time

    # For witnesses that know the time from another source.

    def require_witnesses(self) -> None:
        """Note that there are witnesses of the time, which must confirm the wall: a steady wall is not enough."""
        self._is_witnessed = True

    def wall(self) -> tuple[float, float]:
        """Return the machine's time, and the same with the offset, in unix seconds."""
        wall = self._wall_clock()
        return wall, wall + self._read_offset()

    def question(self, reason: str) -> None:
        """Doubt the wall until it is confirmed. What is doubted for a jump already stays so."""
        self._follow()
        if self._doubt is None:
            self._begin(reason, self._read_clocks()[1], returns=False)

    def confirm(self) -> None:
        """Believe the wall as it is now; the service's time goes there at once, also backwards."""
        self._read_at, distance = self._read_clocks()
        self._believe(distance)

    @property
    def steady_for(self) -> float:
        """Seconds for which a doubted wall has kept pace with the monotonic clock; 0 when none is doubted."""
        doubt = self.doubt
        return 0.0 if doubt is None else self._read_at - doubt.since

    # How the wall is followed.

    def _follow(self) -> None:
        before, steady = self._read_at, self._monotonic()
        distance = self._wall_clock() - steady
        apart = distance - self._distance
        self._read_at = steady
        # Tests give one clock for both, which can never be doubted.
        if self._monotonic is self._wall_clock or (self._doubt is None and -_NOTHING < apart < _NOTHING):
            return  # the plain case, for every call
        # Read once more with care: a pause of this process between two readings looks like a jump.
        if abs(apart) > STEP_SECONDS:
            self._read_at, distance = self._read_clocks()
            apart = distance - self._distance
        self._consider(distance, apart, self._read_at - before)

    def _consider(self, distance: float, apart: float, seconds: float) -> None:
        if abs(apart) <= STEP_SECONDS:
            if self._doubt is not None and self._doubt.returns:
                _log.warning("clock_came_back", apart=round(apart, 3))
                self._doubt = None
            if self._doubt is None:
                # Gradually: a time that ran ahead slows down instead of going back.
                most = _FOLLOW_RATE * max(0.0, seconds)
                self._distance += max(-most, min(most, apart))
        elif self._doubt is None:
            reason = f"the machine's clock moved by {apart:+.0f} s while {seconds:.0f} s passed on its monotonic clock"
            self._begin(reason, distance, returns=True)
        self._weigh(distance)

    def _read_clocks(self) -> tuple[float, float]:
        """Return the monotonic clock, and how far the wall is from it; a pause between the two readings is no jump."""
        while True:
            steady = self._monotonic()
            distance = self._wall_clock() - steady
            if self._monotonic() - steady < STEP_SECONDS / 2:
                return steady, distance

    def _begin(self, reason: str, distance: float, *, returns: bool) -> None:
        self._doubt = Doubt(reason, distance, self._read_at, returns)
        _log.error("clock_in_doubt", reason=reason)

    def _weigh(self, distance: float) -> None:
        """Determine whether a doubted wall keeps its offset, and for how long."""
        doubt = self._doubt
        if doubt is None:
            return
        if abs(distance - doubt.distance) > STEP_SECONDS:
            self._doubt = Doubt(doubt.reason, distance, self._read_at, doubt.returns)
        # Without chains to ask, a wall that keeps pace for a minute was set on purpose and is the better guess.
        elif not self._is_witnessed and self._read_at - doubt.since >= STEADY_SECONDS:
            self._believe(distance)

    def _believe(self, distance: float) -> None:
        if self._doubt is None:
            return
        change = distance - self._distance
        self._distance, self._doubt = distance, None
        # The only place where time may go back: a clock held at a wrong height would refuse every payer until real time
        # reaches it (decision 0043).
        self._latest = self._read_at + distance + self._read_offset()
        _log.warning("clock_believed", moved=round(change, 3))

    def _read_offset(self) -> float:
        if self._offset_file is None:
            return 0.0
        try:
            offset = float(_read_head(self._offset_file).strip() or b"0")
        except (OSError, ValueError):
            return self._offset
        # A test may only move time forward; an offset that falls would bring expired things back.
        if not math.isfinite(offset) or offset < self._offset:
            _log.warning("clock_offset_ignored", wanted=offset, used=self._offset)
        else:
            self._offset = offset
        return self._offset


def build_doubt_refusal(reason: str) -> Refused:
    """Return the refusal of a call that needs the right time while that is in doubt; it costs the payer nothing."""
    return Refused(
        503,
        "clock_in_doubt",
        f"the service's clock is in doubt ({reason}); do not pay again, send the same proof later",
        {"Retry-After": str(_RETRY_SECONDS)},
    )


def _read_head(path: Path) -> bytes:
    """Return the first bytes of a file, which hold any number; it is read for every request, so plainly."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _MOST_BYTES)
    finally:
        os.close(descriptor)
