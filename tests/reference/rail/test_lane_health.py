"""When a lane is offered: three looks in a row take it away, two bring it back, and nothing less does."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reference.lanes.base.lane import BaseLane
from reference.lanes.lane import ChainUnavailable
from reference.lanes.payment_search import Head
from reference.protocol.networks import NETWORKS
from reference.rail.availability.lane_health import LaneHealth
from reference.rail.availability.worker_downtime import Uptime
from reference.rail.settings import RailSettings
from reference.store.database import DatabaseUnavailable
from reference.store.database_url import open_database, sqlite_dsn
from reference.store.redemptions import Redemptions
from reference.store.service_outages import ALL_LANES, Outages
from reference.web.clock import WpClock

LANE = "algorand_mainnet"


@dataclass
class Node:
    """A node by its answers: whether it answers, is of its network, and how old its newest block is."""

    answers: bool = True
    right: bool = True
    age: int = 0
    looks: int = 0

    @property
    def finder(self) -> Node:
        return self

    async def check_node(self) -> bool:
        self.looks += 1
        if not self.answers:
            raise ChainUnavailable("refused")
        return self.right

    async def read_head(self) -> Head:
        return Head(1, 1, int(time.time()) - self.age)


@dataclass
class Bench:
    """A presence of one lane whose time is moved by hand."""

    node: Node
    absences: Outages
    lane_health: LaneHealth
    now: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(wall=1_000_000.0, monotonic=0.0))
    wall: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(ahead=0.0))

    async def look(self, *answers: bool, seconds: float = 10.0) -> list[bool]:
        """Look once an answer, so many seconds apart, and return whether the lane is offered after each."""
        matches = []
        for answer in answers:
            self.now.wall += seconds
            self.now.monotonic += seconds
            self.node.answers = answer
            await self.lane_health.tend()
            matches.append(LANE in self.lane_health.available_lanes)
        return matches


async def bench_of(folder: Path, *, unchecked: bool = False, lane: Any = None, **settings: Any) -> AsyncIterator[Bench]:
    database = open_database(sqlite_dsn(folder / "rail.sqlite3"))
    await Redemptions(database).prepare()
    node, absences = Node(), Outages(database)
    now = SimpleNamespace(wall=1_000_000.0, monotonic=0.0)
    wall = SimpleNamespace(ahead=0.0)
    lanes: Any = {LANE: lane or node}
    lane_health = LaneHealth(
        RailSettings(**settings),
        lanes,
        WpClock(wall_clock=lambda: now.wall),
        absences,
        unchecked_lanes=[LANE] if unchecked else [],
        monotonic=lambda: now.monotonic,
        wall=lambda: time.time() + wall.ahead,
    )
    yield Bench(node, absences, lane_health, now, wall)
    await database.close()


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    """A lane that is there."""
    async for made in bench_of(tmp_path):
        yield made


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[Bench]:
    """A lane in live mode whose node did not answer at the start."""
    async for made in bench_of(tmp_path, unchecked=True, mode="live"):
        yield made


async def test_one_or_two_bad_looks_change_nothing(bench: Bench) -> None:
    """Neither way: a node that answers every other time stays what it is."""
    assert await bench.look(True, False, False, True, False, False, True) == [True] * 7
    assert await bench.look(False, False, False) == [True, True, False]
    assert await bench.look(True, False, True, False) == [False] * 4
    assert await bench.look(True, True) == [False, True]


async def test_an_absence_is_from_the_last_good_look_to_the_return(bench: Bench) -> None:
    """By the rail's clock; what came to nothing is written nowhere."""
    await bench.look(True)
    well = int(bench.now.wall)
    await bench.look(False, False, True)
    assert await bench.absences.list_after(LANE, 0) == []
    well = int(bench.now.wall)
    await bench.look(False, False, False)
    assert await bench.absences.list_after(LANE, 0) == [(well, well + 30)]
    await bench.look(False, True, seconds=1000)
    assert await bench.absences.list_after(LANE, 0) == [(well, well + 2030)]
    await bench.look(True, seconds=1000)
    assert await bench.absences.list_after(LANE, 0) == [(well, well + 3030)]
    await bench.look(True, True, seconds=1000)
    assert await bench.absences.list_after(LANE, 0) == [(well, well + 3030)]


async def test_a_node_that_is_behind_is_away(bench: Bench) -> None:
    """Until it has caught up. Its word on what does not exist does not count meanwhile, so two looks bring it back."""
    bench.node.age = 400
    assert await bench.look(True, True, True) == [False] * 3
    assert list(bench.lane_health.unavailable_lanes) == [LANE]
    bench.node.age = 20
    assert await bench.look(True, True) == [False, True]


async def test_a_chain_that_trails_is_not_offered_at_once(bench: Bench) -> None:
    """One look decides both ways, since a single payment could be too old; the reason is reported, no absence is."""
    bench.node.age = 58
    assert await bench.look(True, True, True) == [True] * 3
    bench.node.age = 70
    assert await bench.look(True, True) == [False] * 2
    assert "s old" in bench.lane_health.unavailable_lanes[LANE]
    assert await bench.absences.list_after(LANE, 0) == []
    bench.node.age = 2
    assert await bench.look(True, seconds=1) == [True]
    assert bench.lane_health.unavailable_lanes == {}


async def test_a_lane_is_offered_only_while_its_newest_block_is_known_to_be_recent(tmp_path: Path) -> None:
    """It is asked for between two looks as well; if no answer comes, what is known gets too old."""
    async for bench in bench_of(tmp_path, rail_node_look_seconds=60):
        bench.node.age = 30
        assert await bench.look(True, seconds=10) == [True]
        bench.wall.ahead += 25
        assert LANE in bench.lane_health.available_lanes
        bench.wall.ahead += 10
        assert LANE not in bench.lane_health.available_lanes
        looks = bench.node.looks
        bench.node.age = -40
        assert await bench.look(True, seconds=6) == [True]
        assert bench.node.looks == looks


@pytest.mark.parametrize(("seconds", "age", "offered"), [(0, 10**6, True), (30, 40, False), (30, 20, True)])
async def test_the_allowance_is_a_setting(tmp_path: Path, seconds: int, age: int, *, offered: bool) -> None:
    """Never more than the tolerance of the weld; 0 is for chains that make a block, of the present time, on demand."""
    async for bench in bench_of(tmp_path, rail_node_behind_seconds=seconds):
        bench.node.age = age
        assert await bench.look(True) == [offered]


async def test_where_the_rail_settles_a_short_delay_costs_no_payer_anything(tmp_path: Path) -> None:
    """No money moves before the rail sends the authorization, so such a lane is offered up to the longer allowance."""
    lane = BaseLane(NETWORKS["base_mainnet"], None, 1)  # type: ignore[arg-type]
    async for bench in bench_of(tmp_path, lane=lane):
        lane.finder = bench.node  # type: ignore[assignment]
        lane.check_node = bench.node.check_node  # type: ignore[method-assign]
        bench.node.age = 200
        assert await bench.look(True, True, True) == [True] * 3
        bench.node.age = 400
        assert await bench.look(True, True, True) == [True, True, False]


async def test_another_network_s_node_is_never_offered_in_live_mode(live: Bench) -> None:
    """A lane that was not checked at the start is offered once it was, and not asked before."""
    live.node.right = False
    assert await live.look(False, True, True, True) == [False] * 4
    with pytest.raises(ChainUnavailable):
        live.lane_health.refuse_unchecked(LANE)
    live.node.right = True
    assert await live.look(True, True) == [False, True]
    live.lane_health.refuse_unchecked(LANE)


async def test_in_test_mode_the_network_is_not_looked_at(bench: Bench) -> None:
    """As at the start (P-NW-06)."""
    bench.node.right = False
    assert await bench.look(True, True, True) == [True] * 3


async def test_a_lane_that_is_well_is_not_looked_at_all_the_time(bench: Bench) -> None:
    """Every few seconds, so that an outage of some seconds takes no lane away; more often while it is away."""
    await bench.look(*[True] * 10, *[False] * 15, seconds=1)
    assert (bench.node.looks, LANE in bench.lane_health.available_lanes) == (9, False)
    await bench.look(*[False] * 10, seconds=1)
    assert bench.node.looks == 9 + 10


async def test_the_time_without_a_worker_is_an_absence_of_all_lanes(bench: Bench) -> None:
    """Between the last heartbeat of any worker and the next start; a restart within a heartbeat is no absence."""
    now, clock = bench.now, WpClock(wall_clock=lambda: bench.now.wall)
    first = Uptime(RailSettings(), clock, bench.absences, monotonic=lambda: now.monotonic)
    await first.begin()
    for seconds in (6, 6):
        now.wall, now.monotonic = now.wall + seconds, now.monotonic + seconds
        await first.tend()
    ended = int(now.wall)
    now.wall += 4
    await Uptime(RailSettings(), clock, bench.absences).begin()
    assert await bench.absences.list_after(ALL_LANES, 0) == []
    now.wall += 5000
    await Uptime(RailSettings(), clock, bench.absences).begin()
    assert await bench.absences.list_after(LANE, 0) == [(ended + 4, ended + 5004)]


class Stuck(Outages):
    """Absences in a database that takes nothing for a while."""

    is_locked = False

    async def begin(self, network: str, *, since: int, until: int) -> str:
        if self.is_locked:
            raise DatabaseUnavailable("locked")
        return await super().begin(network, since=since, until=until)

    async def beat(self, *, now: int) -> None:
        if self.is_locked:
            raise DatabaseUnavailable("locked")
        await super().beat(now=now)


async def test_the_time_without_a_database_is_an_absence_of_all_lanes(bench: Bench, tmp_path: Path) -> None:
    """No claim could be written meanwhile, so a payer that paid in time has that time afterwards."""
    now = bench.now
    database = open_database(sqlite_dsn(tmp_path / "locked.sqlite3"))
    await Redemptions(database).prepare()
    stuck = Stuck(database)
    ours = Uptime(RailSettings(), WpClock(wall_clock=lambda: now.wall), stuck, monotonic=lambda: now.monotonic)
    await ours.begin()
    last = int(now.wall)
    stuck.is_locked = True
    for _ in range(100):
        now.wall, now.monotonic = now.wall + 60, now.monotonic + 60
        with pytest.raises(DatabaseUnavailable):
            await ours.tend()
    stuck.is_locked = False
    await ours.tend()
    assert await stuck.list_after(LANE, 0) == [(last, last + 6000)]
    await database.close()


async def test_the_time_in_doubt_is_an_absence_of_all_lanes(bench: Bench) -> None:
    """No call was refused or served by age meanwhile; the absence is recorded when the time is known again."""
    now = bench.now
    clock = WpClock(wall_clock=lambda: now.wall, monotonic=lambda: now.monotonic)
    ours = Uptime(RailSettings(), clock, bench.absences, monotonic=lambda: now.monotonic)
    await ours.begin()
    last = int(now.wall)
    now.wall += 50_000
    for _ in range(5):
        now.wall, now.monotonic = now.wall + 6, now.monotonic + 6
        assert clock.doubt is not None
        await ours.tend()
    assert await bench.absences.list_after(LANE, 0) == []
    now.wall -= 50_000
    for _ in range(10):
        now.wall, now.monotonic = now.wall + 6, now.monotonic + 6
        await ours.tend()
    assert clock.doubt is None
    [(since, until)] = await bench.absences.list_after(LANE, 0)
    assert (since, until >= last + 30) == (last, True)
