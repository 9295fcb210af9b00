"""Limits that workers share in Valkey: as exact as those of one process, and no caller waits for a server that is away.

The server is a real one: the machine's, or that of PyPI in the project's cache (`programs.valkey`). Without either the
tests fail and say what to install.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from programs.missing import Missing
from reference.web.clock import WpClock
from reference.web.http import rate_store
from reference.web.http.rate import AddressLimit, Limit, RateLimit, WindowLimit
from reference.web.http.rate_store import Share, open_rate_store
from reference.web.settings import CommonSettings, Misconfigured
from tests.reference.valkey_server import ValkeyServer, valkey_server
from tests.reference.web.test_rate_limits import Hand


@pytest.fixture(autouse=True)
def _wait_patiently(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a server on a busy machine take its time; the test of the wait sets its length itself."""
    monkeypatch.setattr(rate_store, "WAIT_SECONDS", 60.0)
    monkeypatch.setattr(rate_store, "_START_SECONDS", 60.0)


@pytest.fixture(scope="module")
def running_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyServer]:
    """A server that no test stops."""
    try:
        with valkey_server(tmp_path_factory.mktemp("valkey")) as server:
            yield server
    except Missing as missing:
        pytest.fail(str(missing))


@pytest.fixture
def common_server(running_server: ValkeyServer) -> ValkeyServer:
    """The same server without counts."""
    running_server.ask(b"FLUSHALL")
    return running_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ValkeyServer]:
    """A server of the test's own."""
    try:
        with valkey_server(tmp_path) as server:
            yield server
    except Missing as missing:
        pytest.fail(str(missing))


@asynccontextmanager
async def two_workers(address: str) -> AsyncIterator[tuple[Share, Share]]:
    """Open the store twice, as two workers do."""
    settings = CommonSettings(rate_store=SecretStr(address))
    async with open_rate_store(settings) as first, open_rate_store(settings) as second:
        yield first, second


def bucket(share: Share, clock: WpClock) -> Limit:
    """Return a rule that is a bucket."""
    return RateLimit(120, clock, depth=5, shared=share("bucket"))


def window(share: Share, clock: WpClock) -> Limit:
    """Return a rule that is a window."""
    return WindowLimit(5, clock, shared=share("window"))


RULES = [bucket, window]


async def count_allowed(*limits: Limit, times: int, key: str = "a") -> int:
    """Call by turns, and return how many calls are allowed."""
    allowances = [await limits[place % len(limits)].charge(key) for place in range(times)]
    return sum(one is not None and one.is_allowed for one in allowances)


@pytest.mark.parametrize("build", RULES)
async def test_two_workers_allow_as_much_as_one(common_server: ValkeyServer, build: Callable[..., Limit]) -> None:
    """By turns, at once and by key; a rule of another name has its own counts."""
    clock = WpClock(wall_clock=Hand())
    async with two_workers(common_server.url) as (first, second):
        limits = build(first, clock), build(second, clock)
        assert await count_allowed(*limits, times=20, key="by turns") == 5
        together = await asyncio.gather(*(limits[n % 2].charge("at once") for n in range(300)))
        assert sum(one is not None and one.is_allowed for one in together) == 5
        other = RateLimit(120, clock, depth=5, shared=second("another rule"))
        assert await count_allowed(other, times=20, key="by turns") == 5


@pytest.mark.parametrize("build", RULES)
@given(waits=st.lists(st.floats(0, 40), max_size=30))
@example(waits=[1.9, 0.0])  # seconds of a clock have no exact sum
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_shared_counts_are_those_of_one_process(
    common_server: ValkeyServer, build: Callable[..., Limit], waits: list[float]
) -> None:
    """Whatever the times of the calls: the same decisions and the same headers."""

    async def compare() -> None:
        hand = Hand()
        clock = WpClock(wall_clock=hand)
        key = str(time.monotonic_ns())
        async with two_workers(common_server.url) as shares:
            limits = [build(share, clock) for share in shares]
            local_limit = build(lambda _: None, clock)
            for place, wait in enumerate(waits):
                hand.seconds += wait
                for _ in range(3):
                    assert await limits[place % 2].charge(key) == local_limit.take(key)

    asyncio.run(compare())


async def test_an_address_of_ipv6_shares_the_counts_of_its_network(common_server: ValkeyServer) -> None:
    """Each /64 has its allowance, and all of a /48 four times as much, over all workers (P-CV-19)."""
    clock = WpClock(wall_clock=Hand())
    async with two_workers(common_server.url) as shares:
        first, second = [AddressLimit.bucket(60, clock, depth=3, shared=share("net")) for share in shares]
        allowed = []
        for net in range(5):
            calls = [await limit.charge(f"2001:db8:1:{net}::/64") for limit in (first, second) * 4]
            allowed.append(sum(one is not None and one.is_allowed for one in calls))
    assert allowed == [3, 3, 3, 3, 0]


async def test_the_time_is_that_of_the_server(common_server: ValkeyServer) -> None:
    """A worker whose clock is an hour ahead gives no caller more calls, and reports times of its own clock."""
    ahead = WpClock()
    ahead.seconds = lambda: time.time() + 3600  # type: ignore[method-assign]
    async with two_workers(common_server.url) as (first, second):
        limits = (
            RateLimit(1, WpClock(), depth=5, shared=first("server time")),
            RateLimit(1, ahead, depth=5, shared=second("server time")),
        )
        assert await count_allowed(*limits, times=20) == 5
        allowance = await limits[1].charge("a")
        assert allowance is not None
        assert allowance.reset - time.time() > 3600


async def test_a_clock_that_was_set_back_leaves_no_caller_without_calls(common_server: ValkeyServer) -> None:
    """Counts of a time that is not yet are dropped; a reading that is a little older is not such a time."""
    hand = Hand()
    clock = WpClock(wall_clock=hand)
    async with two_workers(common_server.url) as (share, _):
        for build in RULES:
            hand.seconds = 2_000.0
            limit = build(share, clock)
            assert await count_allowed(limit, times=9, key="set back") == 5
            clock._latest = 0.0
            hand.seconds -= 0.5
            assert await count_allowed(limit, times=9, key="set back") == 0
            clock._latest = 0.0
            hand.seconds -= 500
            assert await count_allowed(limit, times=9, key="set back") == 5


async def test_the_server_keeps_no_key_and_nothing_for_ever(common_server: ValkeyServer) -> None:
    """A key may be the token of a checkout; each count ends when it is as good as new."""
    async with two_workers(common_server.url) as (share, _):
        for build in RULES:
            await build(share, WpClock()).charge("tok_secret")
    keys = [line for line in common_server.ask(b"KEYS *").split(b"\r\n") if line.startswith(b"weldproof:")]
    assert keys
    assert b"tok_secret" not in b"".join(keys)
    for key in keys:
        assert 0 < int(common_server.ask(b"PTTL " + key)[1:]) <= 3_700_000, key


# A server that is away.


async def test_a_server_that_hangs_is_waited_for_once(server: ValkeyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that wait go on together, later ones do not wait, and each worker counts for itself meanwhile."""
    wait = 3.0
    clock = WpClock(wall_clock=Hand())
    async with two_workers(server.url) as (first, second):
        limits = bucket(first, clock), bucket(second, clock)
        assert await count_allowed(*limits, times=20) == 5
        monkeypatch.setattr(rate_store, "WAIT_SECONDS", wait)
        server.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        # More than are sent together: one wait is for all of them.
        allowances = await asyncio.gather(*(limits[0].charge("a") for _ in range(300)))
        assert wait - 0.1 < time.monotonic() - begun < 2 * wait
        assert sum(one is not None and one.is_allowed for one in allowances) == 5
        begun = time.monotonic()
        assert await count_allowed(limits[0], times=100) == 0
        assert time.monotonic() - begun < 10 * wait
        assert await count_allowed(limits[1], times=20) == 5
        server.send_signal(signal.SIGCONT)
        await await_shared(limits)


async def test_a_worker_that_was_delayed_reads_the_answer(
    common_server: ValkeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server answers in time, and the worker has no processor until the wait is over: the shared count decides."""
    async with two_workers(common_server.url) as (share, _):
        shared = share("calls")
        assert shared is not None
        terms, clock = ("bucket", 5.0, 1.0), WpClock(wall_clock=Hand())
        assert await shared.take("a", terms, clock) is not None
        monkeypatch.setattr(rate_store, "WAIT_SECONDS", 0.2)
        decision = asyncio.create_task(shared.take("a", terms, clock))
        for _ in range(4):  # the call is sent
            await asyncio.sleep(0)
        time.sleep(0.5)  # noqa: ASYNC251 - the loop is to be late
        assert await decision is not None
        assert not shared.store.is_away


async def test_a_server_that_was_restarted_is_used_again(server: ValkeyServer) -> None:
    """It has lost counts and script: the script is sent again, and the counts begin again."""
    clock = WpClock(wall_clock=Hand())
    async with two_workers(server.url) as (first, second):
        limits = bucket(first, clock), bucket(second, clock)
        assert await count_allowed(*limits, times=20) == 5
        server.stop()
        assert await count_allowed(limits[0], times=20) == 5
        server.start()
        await await_shared(limits)


async def test_a_server_that_decides_nothing_is_away(server: ValkeyServer) -> None:
    """A replica, as the former primary is after a failover, answers and refuses to write."""
    clock = WpClock(wall_clock=Hand())
    async with two_workers(server.url) as (first, second):
        limits = bucket(first, clock), bucket(second, clock)
        assert await count_allowed(*limits, times=20) == 5
        server.ask(b"REPLICAOF 127.0.0.1 9")
        assert await count_allowed(limits[0], times=20) == 5
        server.ask(b"REPLICAOF NO ONE")
        await await_shared(limits)


async def test_a_worker_starts_without_its_store(server: ValkeyServer) -> None:
    """It counts for itself until the store is there."""
    server.stop()
    clock = WpClock(wall_clock=Hand())
    async with two_workers(server.url) as (first, second):
        limits = bucket(first, clock), bucket(second, clock)
        assert await count_allowed(limits[0], times=20) == 5
        server.start()
        await await_shared(limits)


async def await_shared(limits: tuple[Limit, Limit]) -> None:
    """Wait until two workers share their counts again."""
    for attempt in range(600):
        if await count_allowed(*limits, times=20, key=f"again {attempt}") == 5:
            return
        await asyncio.sleep(0.1)
    raise AssertionError("each still counts for itself")


async def test_a_password_is_read_from_its_file(server: ValkeyServer, tmp_path: Path) -> None:
    """And without it the server does not serve, so that each worker counts for itself."""
    server.stop()
    server.start("--requirepass", "word")
    (tmp_path / "password").write_text("word\n", "utf-8")
    settings = CommonSettings(rate_store=SecretStr(server.url), rate_store_password_file=tmp_path / "password")
    async with open_rate_store(settings) as first, open_rate_store(settings) as second:
        assert await count_allowed(bucket(first, WpClock()), bucket(second, WpClock()), times=20) <= 6
    async with two_workers(server.url) as (share, _):
        assert await count_allowed(bucket(share, WpClock()), times=20) >= 5


# Settings.


@pytest.mark.parametrize("address", ["http://127.0.0.1", "valkey", "valkey:///0", "memory://x"])
def test_an_address_of_another_kind_is_refused(address: str) -> None:
    """Without repeating it, as it may contain a password."""
    with pytest.raises(ValidationError) as refused:
        CommonSettings(rate_store=SecretStr(address))
    assert "give valkey://" in str(refused.value)


async def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client is an extra."""
    monkeypatch.setitem(sys.modules, "valkey", None)
    with pytest.raises(Misconfigured, match=r"WP_RATE_STORE: .*weldproof\[valkey\]"):
        async with open_rate_store(CommonSettings(rate_store=SecretStr("valkey://127.0.0.1"))):
            pass


async def test_a_malformed_port_names_the_setting() -> None:
    """And not the address."""
    with pytest.raises(Misconfigured, match=r"^WP_RATE_STORE: give valkey://host:port/number$"):
        async with open_rate_store(CommonSettings(rate_store=SecretStr("valkey://:word@127.0.0.1:port"))):
            pass
