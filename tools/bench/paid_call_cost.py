"""What a paid call costs the rail on each lane, against the simulated chains: for information, not for a goal."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable

from conformance.discovery.rail import Operation
from conformance.engine.check import Case, Check
from conformance.engine.exclusive import Exclusive
from conformance.engine.session import Session
from conformance.http.client import Client, Counter, Names
from conformance.http.transport import HttpTransport
from conformance.log.events import EventLog
from conformance.processes.own_stack import start_own_stack
from conformance.surfaces.rail.purchase import purchase
from conformance.target import Profile
from tools.bench.process_cpu_time import process_seconds, service_pid

_ROLE = "compliance-receipt"
_RAIL = "reference.rail"
_MICRO = 1_000_000
_IDLE_SECONDS = 5.0


class NothingMeasured(Exception):
    """The process that was measured did nothing, so it cannot be the one that was paid."""


async def measure(payments: int, say: Callable[[str], None]) -> dict[str, float]:
    """Return CPU microseconds of the rail's process a paid call, by lane.

    Args:
        payments: How many payments a lane, one after the other.
        say: Called with a line for each step.

    Raises:
        LookupError: Its rail has no process, or more than one.
        NothingMeasured: The process did nothing.
        StackFault: Our own stack did not come up.
        Inconclusive: A payment was not served.
    """
    async with start_own_stack(["--surface", "rail"]) as stack:
        profile = stack.profile
        transport = HttpTransport(seconds=profile.budgets.request, requests_per_second=0, connections=4)
        async with transport:
            names, log = Names(), EventLog()
            client = Client(transport, log, "bench", names, Counter())
            session = Session(profile, client, names, seed=0)
            try:
                await session.open(rehearse=False)
                operation = session.catalog.find_service(_ROLE)
                rail, costs = service_pid(os.getpid(), _RAIL), {}
                say(f"lanes: the rail takes {await _idle(rail):.0f} us a second while nothing is paid, not taken off")
                for lane in profile.claims.lanes:
                    say(f"lanes: {payments} payments on {lane}")
                    costs[lane] = await _cost(_case(lane, profile, client, log, session), operation, payments, rail)
            finally:
                await session.close()
    return costs


def _case(lane: str, profile: Profile, client: Client, log: EventLog, session: Session) -> Case:
    check = Check("bench", (), "rail", lane, exclusive=Exclusive.NOTHING, fix="", function=_judge_nothing)
    return Case(check, profile, client, log, random.SystemRandom(), session)


async def _judge_nothing(case: Case) -> None:
    """Judge nothing: a measured payment is not judged."""


async def _cost(case: Case, operation: Operation, payments: int, rail: int) -> float:
    await purchase(case, operation, case.lane)  # opens the payer and warms the rail up
    before = process_seconds(rail)
    for _ in range(payments):
        await purchase(case, operation, case.lane)
    return cost_of(payments, process_seconds(rail) - before)


def cost_of(payments: int, seconds: float) -> float:
    """Return the CPU microseconds of one of so many payments that took so many seconds together.

    Raises:
        NothingMeasured: They took none.
    """
    if seconds <= 0:
        raise NothingMeasured(f"{payments} payments took {seconds} s of CPU time: the process is not the rail's")
    return seconds / payments * _MICRO


async def _idle(rail: int) -> float:
    """Return CPU microseconds of the rail per second without calls."""
    before, began = process_seconds(rail), time.monotonic()
    await asyncio.sleep(_IDLE_SECONDS)
    return (process_seconds(rail) - before) / (time.monotonic() - began) * _MICRO
