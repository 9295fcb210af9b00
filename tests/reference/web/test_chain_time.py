"""Chains as witnesses of the time: at a start, after a jump, and what they cannot say (decision 0043)."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from reference.web.chain_time import AWAY_SECONDS, MARK, STILL_SECONDS, ChainTime, Newest
from reference.web.clock import STEADY_SECONDS, WpClock

START = 1_800_000_000
HOURS = 3 * 3600


@dataclass
class Marks:
    """Where the time is kept."""

    kept: dict[str, str] = field(default_factory=dict)

    async def get(self, name: str) -> str | None:
        """Return a mark."""
        return self.kept.get(name)

    async def replace(self, name: str, value: str) -> None:
        """Keep a mark."""
        self.kept[name] = value


@dataclass
class World:
    """A machine, and chains whose time is right unless they lag; a chain without `lag` has a node that is down."""

    wall_set_by: float = 0
    passed: float = 0
    lag: dict[str, int | None] = field(default_factory=lambda: {"one": 2})
    still: bool = False
    marks: Marks = field(default_factory=Marks)

    def service(self, *, strict: bool = False) -> tuple[WpClock, ChainTime]:
        """Start a service's clock."""
        clock = WpClock(None, lambda: START + self.passed + self.wall_set_by, lambda: self.passed)
        return clock, ChainTime(clock, self.chains, self.marks, strict=strict, monotonic=lambda: self.passed)

    def chains(self) -> dict[str, Newest]:
        """Return the witnesses."""
        return {key: self._newest(key) for key in self.lag}

    def _newest(self, key: str) -> Newest:
        async def newest() -> tuple[int, int] | None:
            lag = self.lag[key]
            passed = 0 if self.still else int(self.passed)
            return None if lag is None else (1000 + passed, START + passed - lag)

        return newest

    async def tend(self, chain_time: ChainTime, seconds: int) -> None:
        """Let seconds pass, in each of which the chains are asked."""
        for _ in range(seconds):
            self.passed += 1
            await chain_time.tend()


def in_doubt(clock: WpClock) -> bool:
    """Return whether a clock is in doubt now."""
    return clock.doubt is not None


@pytest.mark.parametrize("wrong", [HOURS, -HOURS, 100, -100])
async def test_a_wrong_wall_is_not_believed_at_a_start(wrong: int) -> None:
    """A service that starts on a wrong clock lets nothing end, until the clock is set right and the chains agree."""
    world = World(wall_set_by=wrong, marks=Marks({MARK: str(START - 5)}))
    clock, chain_time = world.service(strict=abs(wrong) < AWAY_SECONDS)
    await chain_time.begin()
    assert clock.lapsed_until() == 0
    await world.tend(chain_time, 1000)
    assert clock.lapsed_until() == 0
    world.wall_set_by = 0
    await world.tend(chain_time, 1)
    assert clock.lapsed_until() == START + 1001


async def test_a_first_start_on_a_wrong_clock_is_seen() -> None:
    """Nothing is kept yet, and the chain alone speaks against the wall."""
    world = World(wall_set_by=HOURS)
    clock, chain_time = world.service(strict=True)
    await chain_time.begin()
    assert in_doubt(clock)
    await world.tend(chain_time, 1000)
    assert in_doubt(clock)


async def test_a_chain_for_tests_may_have_a_time_of_its_own() -> None:
    """Where no money is at stake and the database does not speak against the wall, it delays the start."""
    world = World(lag={"one": -HOURS})
    clock, chain_time = world.service()
    await chain_time.begin()
    await world.tend(chain_time, int(STEADY_SECONDS) - 1)
    assert in_doubt(clock)
    await world.tend(chain_time, 1)
    assert not in_doubt(clock)


async def test_a_right_wall_is_believed_at_once() -> None:
    """After a long absence one look at a chain is enough; one that lags behind does not outweigh it."""
    world = World(lag={"behind": 7200, "away": None, "good": 3}, marks=Marks({MARK: str(START - 10 * HOURS)}))
    clock, chain_time = world.service(strict=True)
    await chain_time.begin()
    assert clock.lapsed_until() == START


async def test_a_jump_that_the_chains_confirm_is_followed() -> None:
    """The machine's clock was wrong and is set right while the service runs."""
    world = World(wall_set_by=-20)
    clock, chain_time = world.service()
    await chain_time.begin()
    assert not in_doubt(clock)
    world.wall_set_by = 0
    assert in_doubt(clock)
    await world.tend(chain_time, 1)
    assert not in_doubt(clock)
    assert clock.now() == START + 1


async def test_a_jump_that_the_chains_contradict_is_not() -> None:
    """However long it lasts; it ends when the wall comes back."""
    world = World()
    clock, chain_time = world.service()
    await chain_time.begin()
    world.wall_set_by = HOURS
    await world.tend(chain_time, 1000)
    assert in_doubt(clock)
    assert clock.now() == START + 1000
    world.wall_set_by = 0
    assert not in_doubt(clock)


@pytest.mark.parametrize(("lag", "still"), [(None, False), (7200, True)], ids=["away", "still"])
async def test_chains_that_say_nothing_are_waited_for_a_while(lag: int | None, still: bool) -> None:
    """A service that was away for hours, and whose nodes are away or make no blocks, believes a steady wall."""
    world = World(lag={"one": lag}, still=still, marks=Marks({MARK: str(START - HOURS)}))
    clock, chain_time = world.service()
    await chain_time.begin()
    await world.tend(chain_time, int(STEADY_SECONDS) - 1)
    assert clock.lapsed_until() == 0
    await world.tend(chain_time, 1)
    assert clock.lapsed_until() == START + int(STEADY_SECONDS)


async def test_a_chain_on_demand_holds_nobody_up() -> None:
    """A local chain that makes blocks when it has something to do is asked for a few seconds, after a short restart."""
    world = World(lag={"one": 7200}, still=True, marks=Marks({MARK: str(START - AWAY_SECONDS)}))
    clock, chain_time = world.service()
    await chain_time.begin()
    assert in_doubt(clock)
    await world.tend(chain_time, int(STILL_SECONDS))
    assert not in_doubt(clock)


async def test_in_live_mode_chains_that_say_nothing_are_waited_for() -> None:
    """Where money is at stake a steady wall is not enough, as long as there is a chain to ask."""
    world = World(lag={"one": None}, marks=Marks({MARK: str(START - HOURS)}))
    clock, chain_time = world.service(strict=True)
    await chain_time.begin()
    await world.tend(chain_time, 1000)
    assert in_doubt(clock)
    world.lag = {"one": 2}
    await world.tend(chain_time, 1)
    assert not in_doubt(clock)


async def test_the_time_is_kept_only_while_it_is_believed() -> None:
    """What a wrong clock says is never what the next start goes by."""
    world = World()
    clock, chain_time = world.service()
    await chain_time.begin()
    await world.tend(chain_time, 100)
    kept_time = int(world.marks.kept[MARK])
    assert START + 85 <= kept_time <= START + 100
    world.wall_set_by = HOURS
    await world.tend(chain_time, 100)
    assert int(world.marks.kept[MARK]) == kept_time
    assert in_doubt(clock)


@pytest.mark.parametrize("wrong", [HOURS, -100])
async def test_a_chain_that_was_asked_once_does_not_stand_still(wrong: int) -> None:
    """A wall that jumped is not believed just because there was no time for a second question."""
    world = World()
    clock, chain_time = world.service()
    await chain_time.begin()
    world.wall_set_by = wrong
    assert in_doubt(clock)
    world.passed += 500  # the service stood still, and the chain did not
    await world.tend(chain_time, 1)
    assert in_doubt(clock)
    await world.tend(chain_time, 1000)
    assert in_doubt(clock)
    world.wall_set_by = 0
    await world.tend(chain_time, 1)
    assert not in_doubt(clock)


async def test_a_block_is_held_against_the_time_at_which_it_was_told() -> None:
    """One chain's answer is not judged by the time at which a slower chain's came."""
    world = World(lag={"one": 2, "slow": 2})
    clock = WpClock(None, lambda: START + world.passed + world.wall_set_by, lambda: world.passed)

    async def hangs() -> tuple[int, int] | None:
        world.passed += 100
        return await world.chains()["slow"]()

    request_headers: dict[str, Newest] = {"one": world.chains()["one"], "slow": hangs}
    chain_time = ChainTime(clock, lambda: request_headers, world.marks, monotonic=lambda: world.passed)
    world.wall_set_by = -100
    assert in_doubt(clock)
    await chain_time.tend()
    assert in_doubt(clock)
