"""What a check of a restart does where the profile says how a surface is started again, and where it does not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from conformance.engine.check import Case
from conformance.outcome import Inconclusive
from conformance.processes.restarting import restart


def restart_command(case: Case, surface: str) -> Sequence[str] | None:
    """Return the profile's command that starts a surface again, word by word; None where it has none."""
    surface_table = case.profile.surfaces.get(surface)
    return None if surface_table is None else surface_table.restart


def leave_without_restart(case: Case, surface: str) -> None:
    """Say of every row of a check that it does not apply, since the profile has no command, and what is not tried."""
    key = f"[surfaces.{surface}] restart"
    for row in case.check.rows:
        reason = f"the profile does not say how the {surface} is restarted ({key})"
        case.mark_not_applicable(row, reason, skipped_trial=f"what a restart of the {surface} forgets (bind {key})")


async def ready_for_restart(case: Case) -> None:
    """Wait until every check beside this one that has a service started again is as far: one restart does for all."""
    async with case.session.restart_barrier.wait_until(0):
        pass


async def start_again(case: Case, words: Sequence[str], url: str) -> None:
    """Have a surface started again, and wait until it answers at an address that anybody may read.

    Whoever asks for that while it is under way waits for the same restart.

    Raises:
        Inconclusive: The command did not end with 0 in time, or the surface does not answer afterwards.
    """
    restarts = case.session.restarts
    if url in restarts:
        fault = await restarts[url]
        if fault is not None:
            raise Inconclusive(fault)
        return
    restarts[url] = asyncio.get_running_loop().create_future()
    fault = "another check was ended while the service was started again"
    try:
        await asyncio.sleep(0)  # all who were ready at the same time join in, were the command to fail at once
        await restart(words, url, case.client, case.client.names)
        fault = None
    except Inconclusive as reason:
        fault = str(reason)
        raise
    finally:
        restarts.pop(url).set_result(fault)
