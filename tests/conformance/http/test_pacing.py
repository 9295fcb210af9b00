"""The pace of each operation: as the profile says, and slower once the target says that it is too fast."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.http.client import Client, Counter, Names
from conformance.http.pacing import Pacer
from conformance.log.events import EventLog
from conformance.surfaces import rate_limit_measurement
from conformance.surfaces.rate_limit_measurement import measure_limit
from conformance.target import parse

VERIFY = "http://gateway.test/v1/receipt/verify"
LINKS = "http://gateway.test/v1/payment-links"


class Minute:
    """A clock that a test moves."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def take_turns(pacer: Pacer, clock: Minute, url: str, calls: int, *, apart: float = 0.0) -> list[float]:
    """Take so many turns one after the other and return how long each had to be waited for."""
    waits = []
    for _ in range(calls):
        waits.append(pacer.take_turn("POST", url))
        clock.now += waits[-1] + apart
        pacer.record_answer("POST", url)
    return waits


def test_nothing_is_slowed_that_nobody_limits() -> None:
    """Every turn comes at once."""
    clock = Minute()
    assert set(take_turns(Pacer(now=clock), clock, VERIFY, 500)) == {0.0}


def test_a_429_teaches_the_pace_that_the_target_keeps() -> None:
    """120 were let through in 12 seconds, the next in 48: from then on no minute has more than 120."""
    clock = Minute()
    pacer = Pacer(now=clock)
    take_turns(pacer, clock, VERIFY, 120, apart=0.1)
    pacer.slow_down("POST", VERIFY, 48.0)
    began = clock.now
    waits = take_turns(pacer, clock, VERIFY, 241)
    assert waits[0] == 48.0
    assert 120 <= clock.now - began - 48.0 < 140


def test_a_small_bucket_does_not_make_minutes_of_seconds() -> None:
    """Five at once and one a second later: the pace is no slower than a third of a second."""
    clock = Minute()
    pacer = Pacer(now=clock)
    take_turns(pacer, clock, VERIFY, 5)
    pacer.slow_down("POST", VERIFY, 1.0)
    assert max(take_turns(pacer, clock, VERIFY, 20)[1:]) < 0.34


def test_other_operations_keep_their_pace() -> None:
    """One that is limited says nothing of another; tokens in a path make no operations of their own."""
    clock = Minute()
    pacer = Pacer(now=clock)
    pacer.slow_down("POST", VERIFY, 30.0)
    assert pacer.take_turn("POST", LINKS) == 0.0
    assert pacer.take_turn("GET", VERIFY) == 0.0
    pacer.slow_down("POST", f"{LINKS}/abcdefghijklmnopqrstuv", 30.0)
    assert pacer.take_turn("POST", f"{LINKS}/zyxwvutsrqponmlkjihgfe") > 0


def test_a_profile_gives_limits() -> None:
    """`[pace.limits]` spaces the calls of an operation from the first on."""
    profile = parse('[pace.limits]\n"POST /v1/receipt/verify" = 120\n')
    clock = Minute()
    waits = take_turns(Pacer(profile.pace.limits, clock), clock, VERIFY, 3)
    assert waits[0] == 0.0
    assert all(0.5 <= wait < 0.6 for wait in waits[1:])


def test_what_was_learnt_is_what_a_profile_gives() -> None:
    """The calls a minute that were let through, of operations that were slowed alone."""
    clock = Minute()
    pacer = Pacer(now=clock)
    take_turns(pacer, clock, LINKS, 10)
    take_turns(pacer, clock, VERIFY, 120, apart=0.1)
    pacer.slow_down("POST", VERIFY, 48.0)
    assert pacer.list_limits() == {"POST /v1/receipt/verify": 120}


async def test_a_limit_is_measured_by_meeting_it() -> None:
    """The profile gets the number of calls before the first 429; a target without a limit gets nothing."""

    class Limited:
        def __init__(self, limit: int) -> None:
            self.limit, self.asked = limit, 0

        async def send(
            self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
        ) -> tuple[int, CIMultiDictProxy[str], bytes]:
            del method, url, headers, body
            self.asked += 1
            over = self.asked > self.limit
            fields = {"Retry-After": "60"} if over else {}
            return 429 if over else 422, CIMultiDictProxy(CIMultiDict(fields)), b"{}"

    name = "POST /v1/receipt/verify"
    for limit, learnt in ((120, {name: 120}), (240, {name: 240}), (600, {name: 600}), (10_000, {})):
        target, clock = Limited(limit), Minute()
        pacer = Pacer(now=clock)
        await measure_limit(Client(target, EventLog(), "init", Names(), Counter()), pacer, VERIFY, {})
        assert pacer.list_limits() == learnt
        assert target.asked <= 620


async def test_a_burst_is_no_limit_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that accepts 240 at once and then four a second gets about 240 a minute, not what its burst suggests."""
    monkeypatch.setattr(rate_limit_measurement, "_REFILL_SECONDS", 3.0)

    class Bucket:
        def __init__(self) -> None:
            self.room, self.filled = 240.0, time.monotonic()

        async def send(
            self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
        ) -> tuple[int, CIMultiDictProxy[str], bytes]:
            del method, url, headers, body
            now = time.monotonic()
            self.room, self.filled = min(240.0, self.room + 4 * (now - self.filled)), now
            if self.room < 1:
                return 429, CIMultiDictProxy(CIMultiDict({"Retry-After": "1"})), b"{}"
            self.room -= 1
            return 422, CIMultiDictProxy(CIMultiDict()), b"{}"

    pacer = Pacer()
    await measure_limit(Client(Bucket(), EventLog(), "init", Names(), Counter()), pacer, VERIFY, {})
    # A busy machine may be late for a part of the refills, and never early.
    assert 20 <= pacer.list_limits()["POST /v1/receipt/verify"] <= 400
