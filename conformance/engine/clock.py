"""Moving the target's test clock, where it has one, or waiting, where the operator allows it."""

from __future__ import annotations

import asyncio
import time

from conformance.engine.check import Case
from conformance.engine.session import Session
from conformance.outcome import Inconclusive, NodeCannotShow
from conformance.target.clock_file import advance_to, offset_of

_CATCH_UP_SECONDS = 60.0
_TOLERANCE = 5


async def pass_time(case: Case, seconds: int) -> None:
    """Let `seconds` pass for the target: by its clock file, else by waiting within the budget.

    The clock only moves forward, and the chains move with it: this returns when the newest block of every lane whose
    payer can tell bears the new time. Chains whose block times cannot be moved stay behind. Checks that let time pass
    side by side wait for each other, so that it passes for none of them while it is doing something else.

    Raises:
        NodeCannotShow: The chain of the check's own lane stays behind.
        Inconclusive: There is no clock file and the budget does not allow the wait, or the chain did not follow.
    """
    offset_file = case.profile.clock.offset_file
    if offset_file is not None:
        if case.check.lane is not None and await stays_behind(case.session, case.check.lane):
            raise NodeCannotShow(
                f"the block times of this {case.lane} node cannot follow the clock: it lacks the control verb "
                "block_time_offset, as the table of simulator control tells of real nodes (specification 9.1)"
            )
        target_offset = offset_of(offset_file) + seconds
        async with case.session.clock_barrier.wait_until(target_offset):
            advance_to(offset_file, target_offset)
        await _wait_for_chains(case, target_offset)
    elif seconds <= case.profile.budgets.wait_for_expiry:
        await asyncio.sleep(seconds)
    else:
        raise Inconclusive(
            f"needs {seconds} s to pass: give [clock] offset_file, a file whose seconds the target adds to its clock, "
            "and its chains as well (those of `weldproof up` follow the clock_file that it tells: share that one), or "
            "[budgets] wait_for_expiry of at least that"
        )


async def stays_behind(session: Session, lane: str) -> bool:
    """Return whether a lane's node has control verbs and none that moves its block times (specification 9.1)."""
    try:
        payer = await session.payers.for_rail(lane)
    except Inconclusive:
        return False
    return payer.has_control and await payer.lacks("block_time_offset")


def now(case: Case) -> int:
    """Return the target's present time in unix seconds, by the clock file when there is one."""
    offset_file = case.profile.clock.offset_file
    return int(time.time() + (0.0 if offset_file is None else offset_of(offset_file)))


async def _wait_for_chains(case: Case, offset: float) -> None:
    deadline = time.monotonic() + _CATCH_UP_SECONDS
    for payer in tuple(case.session.payers.open_payers.values()):  # asking one of its lane may make another
        if await stays_behind(case.session, payer.lane):
            continue
        while await payer.block_time() < time.time() + offset - _TOLERANCE:
            if time.monotonic() > deadline:
                raise Inconclusive(f"the {payer.lane} chain did not follow the clock within {_CATCH_UP_SECONDS:g} s")
            await asyncio.sleep(0.05)
