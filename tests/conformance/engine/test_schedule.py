"""In what company checks run, at any number of workers."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.engine import clock
from conformance.engine.check import Case, Check
from conformance.engine.check_loading import load_checks
from conformance.engine.exclusive import Exclusive
from conformance.engine.runner import Plan, Run
from conformance.ledger import load
from conformance.ledger.typical_seconds import typical_seconds
from conformance.log.events import EventLog
from conformance.target import Claims, Profile, Surface, clock_file
from conformance.target.chains import Chains
from conformance.target.gateway import Gateway
from conformance.target.lanes.base import BaseChain
from conformance.target.payer import PayerProgram
from conformance.target.profile import Clock, LimitedService

NOBODY = "http://127.0.0.1:9"
ROW = "X-ROB-01"
SURFACES = ("rail", "gateway", "agent", "control_plane")
Body = Callable[[Case], Awaitable[None]]


def check(
    name: str,
    body: Body,
    surface: str = "gateway",
    exclusive: Exclusive = Exclusive.NOTHING,
    lane: str | None = None,
    *,
    self_contained: bool = False,
    pays_rail: bool = False,
) -> Check:
    return Check(name, (ROW,), surface, lane, exclusive, "", body, self_contained, pays_rail=pays_rail)


async def run_schedule(
    *checks: Check, workers: int, clock_file: Path | None = None, lanes: tuple[str, ...] = (), **nodes: Any
) -> EventLog:
    """Run checks, none of which may break off, against `nodes`, and return the log."""
    profile = Profile(
        surfaces={name: Surface(url=NOBODY) for name in SURFACES},
        claims=Claims(surfaces=SURFACES, lanes=lanes),
        clock=Clock(offset_file=clock_file),
        **nodes,
    )
    log = EventLog()
    await Run(Plan((load()[ROW],), checks, seed=1, workers=workers), profile, log).execute()
    assert {event["outcome"] for event in log.of("check.finished")} == {"done"}, log.of("check.finished")
    assert sorted(event["check"] for event in log.of("check.finished")) == sorted(check.id for check in checks)
    return log


class Notes:
    """Who is inside, and whom each check met there."""

    def __init__(self) -> None:
        self.inside: set[str] = set()
        self.met: dict[str, set[str]] = {}

    def body(self, name: str) -> Body:
        async def stays(_: Case) -> None:
            self.inside.add(name)
            for check in self.inside:
                self.met.setdefault(check, set()).update(self.inside - {check})
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
    chain = [check(f"chain{n}", notes.body(f"chain{n}"), exclusive=Exclusive.CHAIN, lane="solana") for n in range(2)]
    other_check = check("chain_other", notes.body("chain_other"), exclusive=Exclusive.CHAIN, lane="base")
    surface = check("surface", notes.body("surface"), "control_plane", Exclusive.SURFACE)
    limits = check("limits", notes.body("limits"), exclusive=Exclusive.LIMITS)
    clock_checks = check("moving", notes.body("moving"), exclusive=Exclusive.CLOCK)
    again = check("again", notes.body("again"), exclusive=Exclusive.RESTART)
    last = check("last", notes.body("last"), exclusive=Exclusive.CHAIN_AND_CLOCK, lane="solana")
    await run_schedule(
        last,
        clock_checks,
        again,
        limits,
        surface,
        other_check,
        *chain,
        *own,
        *hubs,
        *without_chain,
        *ordinary,
        workers=workers,
    )

    def names(checks: list[Check]) -> set[str]:
        return {one.id for one in checks}

    all_names = names([*ordinary, *without_chain, *hubs, *chain, other_check, surface, limits])
    for one in [*chain, other_check]:
        assert not notes.met[one.id] & names(ordinary)
    assert "chain1" not in notes.met["chain0"]
    assert not notes.met["surface"] & names([*ordinary, *hubs])
    assert not notes.met["limits"] & (all_names | {"moving"})
    assert not notes.met["moving"] & all_names
    assert not notes.met["again"] & (all_names | {"moving"})
    assert not notes.met["last"] & (all_names | {"moving", "again"})


async def test_limits_of_a_service_of_its_own_are_tried_in_turn_beside_all_the_rest() -> None:
    """But for what disturbs the nodes of checkouts, which it asks as well; the target's own limits are tried alone."""
    notes = Notes()
    limits = [check(f"limits{n}", notes.body(f"limits{n}"), exclusive=Exclusive.LIMITS) for n in range(3)]
    ordinary = [check(f"ordinary{n}", notes.body(f"ordinary{n}")) for n in range(6)]
    disturbing_checks = [check("disturbs", notes.body("disturbs"), exclusive=Exclusive.CHAIN, lane="solana")]
    names = {one.id for one in limits}

    await run_schedule(
        *limits, *ordinary, *disturbing_checks, workers=2, limited={"gateway": LimitedService(url=NOBODY)}
    )
    for name in names:
        assert not notes.met[name] & names
        assert notes.met[name] & {one.id for one in ordinary}
        assert "disturbs" not in notes.met[name]

    notes.met.clear()
    await run_schedule(*limits, *ordinary, *disturbing_checks, workers=2)
    assert {one: notes.met[one] for one in names} == {one: set() for one in names}


async def test_a_service_is_started_again_before_a_clock_is_moved() -> None:
    """Real nodes do not follow the clock: what is paid after it was moved may be of another time."""
    order: list[str] = []

    def make_check_function(name: str) -> Callable[[Case], Awaitable[None]]:
        async def body(_: Case) -> None:
            order.append(name)

        return body

    clock_checks = check("moving", make_check_function("moving"), exclusive=Exclusive.CLOCK)
    again = check("again", make_check_function("again"), exclusive=Exclusive.RESTART)
    await run_schedule(clock_checks, again, check("ordinary", make_check_function("ordinary")), workers=2)
    assert order == ["ordinary", "again", "moving"]


async def test_a_lane_that_stays_behind_is_paid_on_before_the_clock_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A payment in a block of the past is too old once the clock has moved; a chain that follows is disturbed last."""
    order: list[str] = []

    def make_check_function(name: str) -> Callable[[Case], Awaitable[None]]:
        async def body(_: Case) -> None:
            order.append(name)

        return body

    async def stays_behind(_: object, lane: str) -> bool:
        return lane == "algorand"

    monkeypatch.setattr(clock, "stays_behind", stays_behind)
    alone = [
        check(f"all of {lane}", make_check_function(lane), exclusive=Exclusive.CHAIN_AND_CLOCK, lane=lane)
        for lane in ("base", "algorand")
    ]
    clock_checks = check("moving", make_check_function("moving"), exclusive=Exclusive.CLOCK)
    await run_schedule(*alone, clock_checks, workers=2, lanes=("algorand", "base"))
    assert order == ["algorand", "moving", "base"]


async def test_what_nothing_disturbs_goes_on_while_others_are_alone() -> None:
    began, events_seen = asyncio.Event(), asyncio.Event()

    async def lasts(_: Case) -> None:
        began.set()
        await asyncio.wait_for(events_seen.wait(), 600)

    async def alone(_: Case) -> None:
        await asyncio.wait_for(began.wait(), 600)
        events_seen.set()

    own = check("own", lasts, "control_plane", self_contained=True)
    await run_schedule(own, check("moving", alone, exclusive=Exclusive.CLOCK), workers=1)


@pytest.mark.parametrize("workers", [1, 2, 8])
async def test_the_clock_moves_once_for_those_that_wait_for_the_same(workers: int, tmp_path: Path) -> None:
    """And not for a check that is still at work."""
    file = tmp_path / "clock"
    moments: list[tuple[float, float]] = []

    async def waits(case: Case) -> None:
        for _ in range(100):
            await asyncio.sleep(0)
        before = clock_file.offset_of(file)
        await clock.pass_time(case, 360)
        for _ in range(100):
            await asyncio.sleep(0)
        moments.append((before, clock_file.offset_of(file)))

    checks = [check(f"waits{n}", waits, exclusive=Exclusive.CLOCK) for n in range(4)]
    await run_schedule(*checks, workers=workers, clock_file=file)
    moves = -(-4 // (2 * workers))
    assert {after - before for before, after in moments} == {360.0}
    assert clock_file.offset_of(file) == 360.0 * moves


async def test_the_clock_stands_still_while_the_next_check_begins(tmp_path: Path) -> None:
    """A check that waits for a later moment goes on waiting when a worker takes its next check."""
    file = tmp_path / "clock"
    events_seen = []

    async def others_go_on() -> None:
        for _turn in range(20):
            await asyncio.sleep(0)

    def waits(seconds: int) -> Body:
        async def body(case: Case) -> None:
            if seconds == 100:
                await others_go_on()
            await clock.pass_time(case, seconds)

        return body

    async def looks_on(_: Case) -> None:
        before = clock_file.offset_of(file)
        await others_go_on()
        events_seen.append((before, clock_file.offset_of(file)))

    bodies = {"a_sooner": waits(100), "b_later": waits(360), "c_looks_on": looks_on}
    await run_schedule(
        *(check(name, body, exclusive=Exclusive.CLOCK) for name, body in bodies.items()), workers=1, clock_file=file
    )

    assert events_seen == [(100.0, 100.0)]


async def test_what_takes_long_elsewhere_begins_first() -> None:
    """And the rest in the seed's order, which is not that of the plan."""
    body = Notes().body("any")
    seconds = typical_seconds()
    known_names = sorted(seconds, key=lambda one: seconds[one])
    plan = [check(name, body) for name in (*known_names[:20], *known_names[-20:])]
    log = await run_schedule(*plan, workers=1)
    began = [event["check"] for event in log.of("check.started")]
    assert [seconds[one] for one in began[:20]] == sorted((seconds[one] for one in known_names[-20:]), reverse=True)
    assert sorted(began[20:]) == sorted(known_names[:20])
    assert began[20:] != known_names[:20]


async def test_the_longest_of_each_kind_begin_with_the_first() -> None:
    """The last check is waited for, even if it is of a surface without a chain."""
    longest = "generated_calls_of_the_control_plane"
    ordinary = [check(f"ordinary{n}", _turns) for n in range(6)]
    without_chain = [check(name, _turns, "control_plane") for name in (longest, "short")]
    own = [check(f"own{n}", _turns, "control_plane", self_contained=True) for n in range(2)]
    log = await run_schedule(*own, *without_chain, *ordinary, workers=3)
    began = [event["check"] for event in log.of("check.started")]
    assert longest in began[:3]
    assert not {"short", "own0", "own1"} & set(began[:6])


async def test_the_longest_wait_where_more_can_only_run_in_turn() -> None:
    """What everybody waits for then begins sooner."""
    longest = "generated_calls_of_the_control_plane"
    settlements = ("that_waits_and_fails", "that_is_taken_back", "whose_log_comes_late")
    disturbing_names = ("base_chain_that_cannot_be_asked", *(f"settlement_{one}" for one in settlements))
    chain = [check(name, _turns, "rail", Exclusive.CHAIN, "base") for name in disturbing_names]
    ordinary = [check(f"ordinary{n}", _turns, "rail") for n in range(6)]
    began = {}
    for control in (f"{NOBODY}/1", None):
        node: dict[str, Any] = {"chains": Chains.model_validate({"base": BaseChain(rpc=NOBODY, control=control)})}
        log = await run_schedule(
            *ordinary, *chain, check(longest, _turns, "control_plane"), workers=3, lanes=("base",), **node
        )
        began[control] = [event["check"] for event in log.of("check.started")].index(longest)
    assert began[f"{NOBODY}/1"] >= len(ordinary)
    assert began[None] < 3


async def test_all_who_have_services_started_again_do_so_side_by_side() -> None:
    notes = Notes()
    again = {"rail": "rail", "links": "gateway", "events": "webhooks"}
    checks = [check(name, notes.body(name), surface, Exclusive.RESTART) for name, surface in again.items()]
    await run_schedule(*checks, check("ordinary", notes.body("ordinary")), workers=2)
    assert notes.met == {"rail": {"links", "events"}, "links": {"rail", "events"}, "events": {"rail", "links"}} | {
        "ordinary": set()
    }


@pytest.mark.parametrize("apart", [True, False])
async def test_payers_go_on_while_the_rails_nodes_are_disturbed_if_theirs_are_others(*, apart: bool) -> None:
    """They begin after the checks for which phases wait. Otherwise the nodes are disturbed after the last payer."""
    notes = Notes()
    ordinary = [check(f"ordinary{n}", notes.body(f"ordinary{n}"), "rail") for n in range(6)]
    payers = [check(f"payer{n}", notes.body(f"payer{n}"), "payer", lane="base") for n in range(6)]
    disturbs = check("disturbs", notes.body("disturbs"), "rail", Exclusive.CHAIN, "base")
    nodes: dict[str, Any] = {"chains": Chains.model_validate({"base": BaseChain(rpc=NOBODY, control=f"{NOBODY}/1")})}
    own = Chains.model_validate({"base": BaseChain(rpc=f"{NOBODY}/2")} if apart else {})
    log = await run_schedule(
        disturbs, *ordinary, *payers, workers=2, lanes=("base",), payer=PayerProgram(chains=own), **nodes
    )
    assert bool(notes.met["disturbs"]) is apart
    began = [event["check"] for event in log.of("check.started")]
    last_ordinary = max(began.index(one.id) for one in ordinary)
    assert (last_ordinary < min(began.index(one.id) for one in payers)) is apart


@pytest.mark.parametrize("workers", [1, 2, 8])
async def test_payers_run_in_addition_to_the_checks_of_the_workers(workers: int) -> None:
    """One worker runs one check at a time, also if it is of a payer."""
    notes = Notes()
    payers = [check(f"payer{n}", notes.body(f"payer{n}"), "payer", lane="base") for n in range(6)]
    ordinary = [check(f"ordinary{n}", notes.body(f"ordinary{n}"), "rail") for n in range(20)]
    log = await run_schedule(*payers, *ordinary, workers=workers, lanes=("base",))
    began = [event["check"] for event in log.of("check.started")]
    first_payer = min(began.index(one.id) for one in payers)
    assert (first_payer < len(ordinary)) is (workers > 1)
    if workers == 1:
        assert not any(notes.met.values())


async def _turns(_: Case) -> None:
    for _turn in range(20):
        await asyncio.sleep(0)


def _nodes(rail: str, checkouts: str) -> dict[str, Any]:
    return {
        "chains": Chains.model_validate({"base": BaseChain(rpc=NOBODY, control=rail)}),
        "gateway": Gateway(chains=Chains.model_validate({"base": BaseChain(rpc=NOBODY, control=checkouts)})),
    }


def _beside_each_other(notes: Notes) -> list[Check]:
    return [check(one, notes.body(one), one, exclusive=Exclusive.CHAIN, lane="base") for one in ("rail", "gateway")]


async def test_nodes_of_one_lane_are_disturbed_side_by_side() -> None:
    notes = Notes()
    log = await run_schedule(*_beside_each_other(notes), workers=2, **_nodes(f"{NOBODY}/1", f"{NOBODY}/2"))
    assert notes.met == {"rail": {"gateway"}, "gateway": {"rail"}}
    (start_event,) = log.of("run.started")
    assert [company for _, company in start_event["checks"]] == ["chain base", "chain base of checkouts"]


async def test_a_node_that_is_the_same_is_disturbed_by_one_check_at_a_time() -> None:
    notes = Notes()
    log = await run_schedule(*_beside_each_other(notes), workers=2, **_nodes(f"{NOBODY}/1", f"{NOBODY}/1"))
    assert notes.met == {"rail": set(), "gateway": set()}
    (start_event,) = log.of("run.started")
    assert [company for _, company in start_event["checks"]] == ["chain base", "chain base"]


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("lanes", [("base",), ("base", "solana")])
async def test_checkouts_go_on_beside_the_rails_nodes_where_theirs_are_others(
    lanes: tuple[str, ...], *, apart: bool
) -> None:
    """But for those that pay the rail as well; the node of another lane, at which both are paid, waits for all."""
    notes = Notes()
    events_seen = asyncio.Event()

    async def disturbs(_: Case) -> None:
        notes.inside.add("disturbs")
        await asyncio.wait_for(events_seen.wait(), 600)
        notes.inside.remove("disturbs")

    async def pays_a_link(_: Case) -> None:
        notes.met["pays_a_link"] = {*notes.inside}
        events_seen.set()

    checks = [
        check("pays_a_call", notes.body("pays_a_call"), "rail"),
        check("pays_both", notes.body("pays_both"), pays_rail=True),
        check("disturbs", disturbs, "rail", Exclusive.CHAIN, "base"),
        check("disturbs_both", notes.body("disturbs_both"), "rail", Exclusive.CHAIN, "solana"),
        *(check(f"ordinary{n}", notes.body(f"ordinary{n}")) for n in range(8)),
        check("pays_a_link", pays_a_link),
    ]
    await run_schedule(*checks, workers=2, lanes=lanes, **_nodes(f"{NOBODY}/1", f"{NOBODY}/{2 if apart else 1}"))

    assert [one for one in ("pays_a_call", "pays_both") if "disturbs" in notes.met[one]] == []
    meeting_names = {name for name, others in notes.met.items() if "disturbs" in others} - {"disturbs_both"}
    assert bool(meeting_names) is apart
    assert notes.met["disturbs_both"] <= {"disturbs"}


def test_checks_of_checkouts_that_pay_at_nodes_of_the_rail_say_so() -> None:
    """Whose module asks for what the rail sells, or for a payer of it, pays there."""
    for check in load_checks():
        if check.surface in {"gateway", "webhooks"}:
            source = inspect.getsource(inspect.getmodule(check.function) or check.function)
            asks = any(name in source for name in ("session.catalog.operations", "session.payers.for_rail("))
            assert check.pays_rail is asks, check.id


@pytest.mark.parametrize(("workers", "ordinary_workers"), [(1, 1), (2, 1), (8, 5)])
async def test_workers_make_room_for_what_runs_in_turn(workers: int, ordinary_workers: int) -> None:
    """One of them goes on in any case."""
    end_event = asyncio.Event()
    inside: set[Check] = set()
    meetings: list[int] = []

    async def lasts(case: Case) -> None:
        inside.add(case.check)
        meetings.append(len(inside))
        for _ in range(50):
            await asyncio.sleep(0)
        inside.remove(case.check)
        if len(meetings) == 40 and not inside:
            end_event.set()

    async def disturbs(_: Case) -> None:
        await asyncio.wait_for(end_event.wait(), 600)

    own = [check(f"own{n}", lasts, "control_plane", self_contained=True) for n in range(40)]
    lanes = [check(lane, disturbs, exclusive=Exclusive.CHAIN, lane=lane) for lane in ("algorand", "base", "solana")]
    await run_schedule(*own, *lanes, workers=workers)
    # Those that began before any lane did have left by then.
    assert max(meetings[20:]) == ordinary_workers
