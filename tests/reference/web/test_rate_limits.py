"""The token bucket and the window (1.1, P-RL-02, P-RL-05)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.web.clock import WpClock
from reference.web.errors import Refused
from reference.web.http.rate import AddressLimit, RateLimit, WindowLimit, build_too_many


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


def limit(per_minute: int = 120) -> tuple[Hand, RateLimit]:
    hand = Hand()
    return hand, RateLimit(per_minute, WpClock(wall_clock=hand))


def take_times(bucket: RateLimit, key: str, times: int) -> int:
    allowances = [bucket.take(key) for _ in range(times)]
    return sum(one is not None and one.is_allowed for one in allowances)


def test_sixty_at_once_then_two_a_second() -> None:
    """From rest the depth is 60; at 120 a minute two come back each second."""
    hand, bucket = limit()
    assert take_times(bucket, "a", 100) == 60
    hand.seconds += 0.4
    assert take_times(bucket, "a", 1) == 0
    hand.seconds += 0.6
    assert take_times(bucket, "a", 5) == 2
    hand.seconds += 3_600
    assert take_times(bucket, "a", 100) == 60


def test_keys_are_counted_apart() -> None:
    """One caller's calls take nothing from another's."""
    _, bucket = limit()
    assert (take_times(bucket, "a", 80), take_times(bucket, "b", 80)) == (60, 60)


def test_a_large_rate_is_as_deep_as_its_second() -> None:
    """Depth 60, or one second's worth if that is more."""
    _, bucket = limit(1_000_000)
    assert take_times(bucket, "a", 20_000) == 16_666


@pytest.mark.parametrize("per_minute", [1, 60, 120, 300, 1_000_000])
def test_what_is_left_is_left_of_the_limit_that_is_told(per_minute: int) -> None:
    """After the first call the headers show one fewer than the limit."""
    _, bucket = limit(per_minute)
    first = bucket.take("a")
    assert first is not None
    assert first.limit - 1 == first.calls_left


def test_what_is_told_under_a_limit() -> None:
    """Limit, what is left, when the bucket is full again, and how long to wait: at least one second."""
    hand, bucket = limit()
    first = bucket.take("a")
    assert first is not None
    assert first.headers() == {
        "X-RateLimit-Limit": "60",
        "X-RateLimit-Remaining": "59",
        "X-RateLimit-Reset": "1000",
    }
    take_times(bucket, "a", 59)
    allowance = bucket.take("a")
    assert allowance is not None
    refusal = build_too_many(allowance)
    assert (allowance.is_allowed, allowance.calls_left, allowance.reset) == (False, 0, 1_030)
    assert (refusal.status, refusal.code, refusal.headers["Retry-After"]) == (429, "rate_limited", "1")
    hand.seconds += allowance.retry_after
    assert take_times(bucket, "a", 1) == 1


def test_switched_off_it_says_nothing() -> None:
    """No allowance, so no headers and no refusal."""
    assert RateLimit(1, WpClock(), on=False).take("a") is None


@given(st.lists(st.floats(0, 120), min_size=1, max_size=200), st.integers(1, 600))
def test_never_more_than_depth_and_rate(waits: list[float], per_minute: int) -> None:
    """Over any time, no more calls pass than the depth and what the time brought."""
    hand, bucket = limit(per_minute)
    started_at, seconds_passed = hand.seconds, 0
    for wait in waits:
        hand.seconds += wait
        seconds_passed += take_times(bucket, "a", 3)
    assert seconds_passed <= max(60, per_minute / 60) + (hand.seconds - started_at) * per_minute / 60 + 1e-6


def test_a_refusal_is_an_exception_with_a_body() -> None:
    """What is raised is what is sent."""
    refusal = Refused(429, "rate_limited", "wait", {"Retry-After": "1"})
    assert refusal.body("req_1") == {"error": "rate_limited", "message": "wait", "request_id": "req_1"}
    with pytest.raises(Refused):
        raise refusal


def test_a_bucket_is_as_deep_as_it_is_told() -> None:
    """The depth is a setting of its own where the profile says so (P-RL-03)."""
    hand = Hand()
    bucket = RateLimit(120, WpClock(wall_clock=hand), depth=30)
    assert take_times(bucket, "a", 50) == 30
    hand.seconds += 3_600
    assert take_times(bucket, "a", 50) == 30


@given(st.lists(st.floats(min_value=0, max_value=50), max_size=80))
def test_no_sixty_seconds_hold_more_calls_than_the_window_allows(waits: list[float]) -> None:
    """Whatever the times of the calls; and a client that waits as `Retry-After` says is served (P-RL-02)."""
    hand = Hand()
    window = WindowLimit(5, WpClock(wall_clock=hand))
    answers: list[float] = []
    for wait in waits:
        hand.seconds += wait
        allowance = window.take("a")
        assert allowance is not None
        if allowance.is_allowed:
            answers.append(hand.seconds)
        else:
            assert 1 <= allowance.retry_after <= 60
            hand.seconds += allowance.retry_after
            again = window.take("a")
            assert again is not None
            assert again.is_allowed
            answers.append(hand.seconds)
    assert all(later - first >= 60 for first, later in zip(answers, answers[5:], strict=False))


def test_a_window_counts_keys_apart_and_can_be_off() -> None:
    """One caller's calls take nothing from another's."""
    window = WindowLimit(5, WpClock(wall_clock=Hand()))
    calls_left = [allowance.calls_left for allowance in (window.take(key) for key in "aab") if allowance is not None]
    assert calls_left == [4, 3, 4]
    assert WindowLimit(5, WpClock(wall_clock=Hand()), on=False).take("a") is None


@pytest.mark.parametrize("make", [AddressLimit.bucket, AddressLimit.window])
async def test_a_wide_network_has_four_times_as_much(make: Callable[..., AddressLimit]) -> None:
    """Each /64 its own share, all of a /48 together four; a /64 beyond its share takes nothing from the others."""
    limit = make(60, WpClock(wall_clock=Hand()))
    allowance = [
        sum(
            [bool(one and one.is_allowed) for one in [await limit.charge(f"2001:db8:1:{net}::/64") for _ in range(300)]]
        )
        for net in range(5)
    ]
    next_allowance = await limit.charge("2001:db8:1:9::/64")

    assert allowance == [60, 60, 60, 60, 0]
    assert next_allowance is not None
    assert (next_allowance.is_allowed, next_allowance.limit, next_allowance.retry_after > 0) == (False, 60, True)
    assert await limit.charge("2001:db8:2:9::/64") is not None
    others = [await limit.charge(address) for address in ("2001:db8:2:1::/64", "192.0.2.1")]
    assert all(one and one.is_allowed for one in others)


@pytest.mark.parametrize("limit", [RateLimit, WindowLimit])
def test_a_time_that_was_wrong_leaves_nobody_without_calls(limit: type[RateLimit | WindowLimit]) -> None:
    """When a doubt ends the time may be earlier than calls that were counted: limits go on from there."""
    wall, steady = [1_000_000.0], [0.0]
    clock = WpClock(wall_clock=lambda: wall[0] + steady[0], monotonic=lambda: steady[0])
    bucket = limit(2, clock)
    assert True in [_is_refused(bucket) for _ in range(200)]
    wall[0] -= 500_000
    steady[0] += 1
    assert clock.doubt is not None
    clock.confirm()
    steady[0] += 60
    assert not _is_refused(bucket)


def _is_refused(limit: RateLimit | WindowLimit) -> bool:
    allowance = limit.take("a")
    assert allowance is not None
    return not allowance.is_allowed
