"""The target's clock: moved by its clock file if it has one, otherwise waited for within the operator's budget."""

from __future__ import annotations

import asyncio
import time

from conformance.engine.check import Case
from conformance.engine.session import Session
from conformance.outcome import Inconclusive, NodeCannotShow
from conformance.target.clock_file import advance_to, offset_of

# Theory of the clock
#
# Targets expire challenges, links and receipts by their clock, and compare it with the times of blocks (5.5). A check
# of such a rule would have to wait for minutes. Instead, target and simulated chains add the seconds in one file to
# their clocks, and the suite writes that file. Three rules keep verdicts honest:
#
# 1. The clock only moves forward. A target that saw a later time may have deleted or recorded things; an earlier time
#    would be a state that no deployment reaches.
# 2. It moves at a barrier (`clock_barrier`), when every check that takes part is waiting. So no check sees the time
#    jump between two of its requests.
# 3. A check continues only when the chains have followed. Before that, a payment would be in a block that is older
#    than its challenge, and a correct target would refuse it.
#
# Real nodes have no control verb for block times: their chains stay behind, and the rows are documented, not failed.

# How long the chains may take to follow: usually one block, longer on a loaded machine.
_CATCH_UP_SECONDS = 60.0
# Seconds. Block times are whole seconds, and the newest block has an age: exact equality cannot be expected.
_TOLERANCE = 5


async def pass_time(case: Case, seconds: int) -> None:
    """Let `seconds` pass for the target: by its clock file, else by waiting within the budget.

    Returns when the newest block of every chain that can follow the clock has the new time.

    Raises:
        NodeCannotShow: The chain of the check's own lane stays behind.
        Inconclusive: The target has no clock file and the budget does not allow the wait, or the chain did not follow.
    """
    offset_file = case.profile.clock.offset_file
    if offset_file is not None:
        # Asked before the clock moves: other checks would be disturbed for a check that cannot be carried out.
        if case.check.lane is not None and await stays_behind(case.session, case.check.lane):
            raise NodeCannotShow(
                f"the block times of this {case.lane} node cannot follow the clock: it lacks the control verb "
                "block_time_offset, as the table of simulator control lists for real nodes (specification 9.1)"
            )
        target_offset = offset_of(offset_file) + seconds
        async with case.session.clock_barrier.wait_until(target_offset):
            advance_to(offset_file, target_offset)
        await _wait_for_chains(case, target_offset)
    elif seconds <= case.profile.budgets.wait_for_expiry:
        await asyncio.sleep(seconds)
    else:
        raise Inconclusive(_explain_missing_clock(seconds))


def _explain_missing_clock(seconds: int) -> str:
    return (
        f"needs {seconds} s to pass: give [clock] offset_file, a file whose seconds the target adds to its clock, "
        "and its chains as well (those of `weldproof up` follow the clock_file that it prints: share that one), or "
        "[budgets] wait_for_expiry of at least that"
    )


async def reach(case: Case, moment: float) -> None:
    """Let the target's clock reach a moment, by its clock file, else by waiting within the budget.

    The chains may stay behind. If the moment is in the past, nothing happens.

    Args:
        case: The check's case.
        moment: The target's time in unix seconds.

    Raises:
        Inconclusive: The target has no clock file and the budget does not allow the wait.
    """
    offset_file, seconds = case.profile.clock.offset_file, moment - time.time() - read_offset(case)
    if seconds <= 0:
        return
    if offset_file is not None:
        async with case.session.clock_barrier.wait_until(read_offset(case) + seconds):
            # Real time passed while the other checks were busy, and no more than the rest is missing.
            advance_to(offset_file, moment - time.time())
    elif seconds > case.profile.budgets.wait_for_expiry:
        raise Inconclusive(_explain_missing_clock(round(seconds)))
    else:
        await asyncio.sleep(seconds)


async def stays_behind(session: Session, lane: str) -> bool:
    """Return whether a lane's node has control verbs and none that moves its block times (specification 9.1)."""
    try:
        payer = await session.payers.for_rail(lane)
    except Inconclusive:
        return False
    # A node without control verbs may belong to a chain that reads the clock file, so `_wait_for_chains` decides there.
    return payer.has_control and await payer.lacks("block_time_offset")


def now(case: Case) -> int:
    """Return the target's present time in unix seconds, by the clock file when there is one."""
    return int(time.time() + read_offset(case))


def read_offset(case: Case) -> float:
    """Return the seconds by which the target's clock is ahead of this machine's; 0 without a clock file."""
    offset_file = case.profile.clock.offset_file
    return 0.0 if offset_file is None else offset_of(offset_file)


async def _wait_for_chains(case: Case, offset: float) -> None:
    deadline = time.monotonic() + _CATCH_UP_SECONDS
    for payer in tuple(case.session.payers.open_payers.values()):  # asking one of its lane may make another
        if await stays_behind(case.session, payer.lane):
            continue
        while await payer.block_time() < time.time() + offset - _TOLERANCE:
            if time.monotonic() > deadline:
                raise Inconclusive(f"the {payer.lane} chain did not follow the clock within {_CATCH_UP_SECONDS:g} s")
            await asyncio.sleep(0.05)
