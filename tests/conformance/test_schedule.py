"""In what company checks run, at any number of workers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from conformance import clock
from conformance.check import Case, Check, Exclusive
from conformance.events import EventLog
from conformance.ledger import load
from conformance.runner import Plan, Run
from conformance.target import Claims, Profile, Surface
from conformance.target.profile import Clock

NOBODY = "http://127.0.0.1:9"
ROW = "X-ROB-01"
SURFACES = ("gateway", "agent", "control_plane")
Body = Callable[[Case], Awaitable[None]]


def check(
    name: str,
    body: Body,
    surface: str = "gateway",
    exclusive: Exclusive = False,
    lane: str | None = None,
    *,
    self_contained: bool = False,
) -> Check:
    return Check(name, (ROW,), surface, lane, exclusive, "", body, self_contained)


async def run(*checks: Check, workers: int, clock_file: Path | None = None) -> None:
    """Run checks; none of them may break off."""
    profile = Profile(
        surfaces={name: Surface(url=NOBODY) for name in SURFACES},
        claims=Claims(surfaces=SURFACES),
        clock=Clock(offset_file=clock_file),
    )
    log = EventLog()
    await Run(Plan((load()[ROW],), checks, seed=1, workers=workers), profile, log).execute()
    assert {event["outcome"] for event in log.of("check.finished")} == {"done"}, log.of("check.finished")
    assert sorted(event["check"] for event in log.of("check.finished")) == sorted(one.id for one in checks)


class Notes:
    """Who is inside, and whom each check met there."""

    def __init__(self) -> None:
        self.inside: set[str] = set()
        self.met: dict[str, set[str]] = {}

    def body(self, name: str) -> Body:
        async def stays(_: Case) -> None:
            self.inside.add(name)
            for one in self.inside:
                self.met.setdefault(one, set()).update(self.inside - {one})
                self.met.setdefault(name, set())
            for _turn in range(200):
                await asyncio.sleep(0)
            self.inside.remove(name)

        return stays


@pytest.mark.parametrize("workers", [1, 2, 8])
async def test_who_disturbs_others_never_meets_them(workers: int) -> None:
    notes = Notes()
    ordinary = [check(f"ordinary{n}", notes.body(f"ordinary{n}")) for n in range(6)]
    without_chain = [check(f"agent{n}", notes.body(f"agent{n}"), "agent") for n in range(3)]
    hubs = [check(f"hub{n}", notes.body(f"hub{n}"), "control_plane") for n in range(3)]
    own = [check(f"own{n}", notes.body(f"own{n}"), "control_plane", self_contained=True) for n in range(6)]
    chain = [check(f"chain{n}", notes.body(f"chain{n}"), exclusive="chain", lane="solana") for n in range(2)]
    other = check("chain_other", notes.body("chain_other"), exclusive="chain", lane="base")
    surface = check("surface", notes.body("surface"), "control_plane", "surface")
    limits = check("limits", notes.body("limits"), exclusive="limits")
    moving = check("moving", notes.body("moving"), exclusive=True)
    await run(moving, limits, surface, other, *chain, *own, *hubs, *without_chain, *ordinary, workers=workers)

    def names(checks: list[Check]) -> set[str]:
        return {one.id for one in checks}

    everything = names([*ordinary, *without_chain, *hubs, *chain, other, surface, limits])
    for one in [*chain, other]:
        assert not notes.met[one.id] & names(ordinary)
    assert "chain1" not in notes.met["chain0"]
    assert not notes.met["surface"] & names([*ordinary, *hubs])
    assert not notes.met["limits"] & (everything | {"moving"})
    assert not notes.met["moving"] & everything


async def test_what_nothing_disturbs_goes_on_while_others_are_alone() -> None:
    began, seen = asyncio.Event(), asyncio.Event()

    async def lasts(_: Case) -> None:
        began.set()
        await asyncio.wait_for(seen.wait(), 600)

    async def alone(_: Case) -> None:
        await asyncio.wait_for(began.wait(), 600)
        seen.set()

    own = check("own", lasts, "control_plane", self_contained=True)
    await run(own, check("moving", alone, exclusive=True), workers=1)


@pytest.mark.parametrize("workers", [1, 2, 8])
async def test_the_clock_moves_once_for_those_that_wait_for_the_same(workers: int, tmp_path: Path) -> None:
    """And for nobody who is still in the middle of something."""
    file = tmp_path / "clock"
    moments: list[tuple[float, float]] = []

    async def waits(case: Case) -> None:
        for _ in range(100):
            await asyncio.sleep(0)
        before = clock.offset_of(file)
        await clock.pass_time(case, 360)
        for _ in range(100):
            await asyncio.sleep(0)
        moments.append((before, clock.offset_of(file)))

    checks = [check(f"waits{n}", waits, exclusive=True) for n in range(4)]
    await run(*checks, workers=workers, clock_file=file)
    moves = -(-4 // workers)
    assert {after - before for before, after in moments} == {360.0}
    assert clock.offset_of(file) == 360.0 * moves
