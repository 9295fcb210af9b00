"""Rate limits on the service clock: buckets and windows; each decision is one atomic step (1.1).

`take` counts in this process, and `charge` in the rate store that all workers share, if there is one. While that does
not answer, each worker counts for itself: N workers then allow N times the limit, and no caller is refused for it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from dataclasses import dataclass, replace

from reference.web.clock import WpClock
from reference.web.errors import Refused
from reference.web.http.peers import wider_network
from reference.web.http.rate_store import Count, SharedRule

# Bounds the memory that clients with many addresses can take; the bucket that was unused longest is dropped.
_KEPT_BUCKETS = 100_000
_KEPT_WINDOWS = 10_000
_WINDOW_SECONDS = 60
WIDER = 4


@dataclass(slots=True)
class _Bucket:
    level: float
    at: float


@dataclass(frozen=True, slots=True)
class Allowance:
    """A limit's decision about one call; its headers are sent with every answer.

    Attributes:
        is_allowed: Whether the call is let through.
        limit: Calls at once from rest; `calls_left` is counted down from it, and is it again at `reset`.
        calls_left: Calls left now.
        reset: Unix seconds.
        retry_after: Seconds, of a call that is one too many.
    """

    is_allowed: bool
    limit: int
    calls_left: int
    reset: int
    retry_after: int

    def headers(self) -> dict[str, str]:
        """Return `X-RateLimit-*`."""
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.calls_left),
            "X-RateLimit-Reset": str(self.reset),
        }


class Limit(ABC):
    """A limit of the calls of each key."""

    _clock: WpClock
    _on: bool
    _shared: SharedRule | None

    @abstractmethod
    def take(self, key: str) -> Allowance | None:
        """Take one call for `key` from the counts of this process; None when limits are switched off."""

    @abstractmethod
    def _terms(self) -> tuple[str, float, float]:
        """Return the limit as the rate store takes it."""

    @abstractmethod
    def _allow(self, count: Count) -> Allowance:
        """Return the allowance that a count of the rate store is."""

    async def charge(self, key: str) -> Allowance | None:
        """Take one call for `key` from the counts that all workers share; None when limits are switched off."""
        if self._shared is None or not self._on:
            return self.take(key)
        count = await self._shared.take(key, self._terms(), self._clock)
        return self.take(key) if count is None else self._allow(count)


class RateLimit(Limit):
    """`per_minute` calls a minute and key, from a bucket."""

    def __init__(
        self,
        per_minute: int,
        clock: WpClock,
        *,
        depth: float | None = None,
        on: bool = True,
        shared: SharedRule | None = None,
    ) -> None:
        """Take the limit.

        Args:
            per_minute: Calls a minute.
            clock: The service's clock.
            depth: Calls at once from rest; left out, 60, or one second's worth if that is more (P-RL-05).
            on: Whether there is a limit at all.
            shared: The counts that all workers share.
        """
        self._rate = per_minute / 60
        self._depth = max(60.0, self._rate) if depth is None else float(depth)
        self._clock = clock
        self._on = on
        self._shared = shared
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    @property
    def depth(self) -> float:
        """Calls at once from rest."""
        return self._depth

    def take(self, key: str) -> Allowance | None:
        """Take one call for `key`; None when limits are switched off."""
        if not self._on:
            return None
        now = self._clock.seconds()
        bucket = self._buckets.pop(key, None)
        # A later time came from a clock in doubt: such a bucket would stay empty until then.
        if bucket is None or bucket.at > now:
            bucket = _Bucket(self._depth, now)
        bucket.level = min(self._depth, bucket.level + (now - bucket.at) * self._rate)
        bucket.at = now
        is_allowed = bucket.level >= 1
        bucket.level -= 1 if is_allowed else 0
        self._buckets[key] = bucket
        if len(self._buckets) > _KEPT_BUCKETS:
            self._buckets.popitem(last=False)
        return self._describe(is_allowed, bucket.level, now)

    def _terms(self) -> tuple[str, float, float]:
        return "bucket", self._depth, self._rate

    def _allow(self, count: Count) -> Allowance:
        return self._describe(count.is_allowed, count.left, self._clock.seconds())

    def _describe(self, is_allowed: bool, level: float, now: float) -> Allowance:
        # At least a second: Retry-After has whole seconds, and 0 would invite an immediate repetition.
        wait = 0 if is_allowed else max(1, math.ceil((1 - level) / self._rate))
        full = int(now + (self._depth - level) / self._rate)
        return Allowance(is_allowed, int(self._depth), int(level), full, wait)


class WindowLimit(Limit):
    """At most `per_minute` calls a key in any 60 seconds, however they fall (P-RL-02)."""

    def __init__(self, per_minute: int, clock: WpClock, *, on: bool = True, shared: SharedRule | None = None) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._on = on
        self._shared = shared
        self._calls: OrderedDict[str, deque[float]] = OrderedDict()

    def take(self, key: str) -> Allowance | None:
        """Take one call for `key`; None when limits are switched off."""
        if not self._on:
            return None
        now = self._clock.seconds()
        calls = self._calls.pop(key, None) or deque()
        # The lower bound drops calls of a time after now, which a clock in doubt has left.
        while calls and not 0 <= now - calls[0] < _WINDOW_SECONDS:
            calls.popleft()
        is_allowed = len(calls) < self._per_minute
        if is_allowed:
            calls.append(now)
        self._calls[key] = calls
        if len(self._calls) > _KEPT_WINDOWS:
            self._calls.popitem(last=False)
        return self._describe(is_allowed, len(calls), _WINDOW_SECONDS - (now - calls[0]), now)

    def _terms(self) -> tuple[str, float, float]:
        return "window", self._per_minute, _WINDOW_SECONDS

    def _allow(self, count: Count) -> Allowance:
        calls = self._per_minute - int(count.left)
        return self._describe(count.is_allowed, calls, _WINDOW_SECONDS - count.age, self._clock.seconds())

    def _describe(self, is_allowed: bool, calls: int, seconds_left: float, now: float) -> Allowance:
        wait = 0 if is_allowed else max(1, math.ceil(seconds_left))
        return Allowance(is_allowed, self._per_minute, self._per_minute - calls, math.ceil(now + seconds_left), wait)


class AddressLimit:
    """A limit for each address; of IPv6 for each /64, and `WIDER` times as much for each /48 (P-CV-19)."""

    def __init__(self, narrow: Limit, wide: Limit) -> None:
        """Take the limit of an address or a /64, and that of a /48."""
        self._narrow = narrow
        self._wide = wide

    @classmethod
    def bucket(
        cls,
        per_minute: int,
        clock: WpClock,
        *,
        depth: int | None = None,
        on: bool = True,
        shared: SharedRule | None = None,
    ) -> AddressLimit:
        """Return a limit from buckets; see `RateLimit`."""
        narrow = RateLimit(per_minute, clock, depth=depth, on=on, shared=shared)
        return cls(narrow, RateLimit(per_minute * WIDER, clock, depth=narrow.depth * WIDER, on=on, shared=shared))

    @classmethod
    def window(
        cls, per_minute: int, clock: WpClock, *, on: bool = True, shared: SharedRule | None = None
    ) -> AddressLimit:
        """Return a limit over windows; see `WindowLimit`."""
        wide = WindowLimit(per_minute * WIDER, clock, on=on, shared=shared)
        return cls(WindowLimit(per_minute, clock, on=on, shared=shared), wide)

    async def charge(self, address: str) -> Allowance | None:
        """Take one call for what `peers.client_address` says that it is counted under.

        A /64 that has used its own up takes nothing from its neighbours in the /48.
        """
        # The /64 first: one that has used up its allowance must take nothing from its neighbours in the /48.
        own = await self._narrow.charge(address)
        around = wider_network(address)
        if own is None or not own.is_allowed or around is None:
            return own
        wide_allowance = await self._wide.charge(around)
        if wide_allowance is None or wide_allowance.is_allowed:
            return own
        return replace(wide_allowance, limit=own.limit)


def build_too_many(allowance: Allowance) -> Refused:
    """Return the refusal of a call over its limit."""
    headers = {"Retry-After": str(allowance.retry_after), **allowance.headers()}
    sentence = f"too many calls; try again in {allowance.retry_after} s"
    return Refused(429, "rate_limited", sentence, headers, {"retry_after": allowance.retry_after})
