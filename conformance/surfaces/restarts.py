"""Restarts of a surface for a check, by the command in the profile, and the verdict without such a command."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from conformance.engine.check import Case
from conformance.outcome import Inconclusive
from conformance.processes.restarting import restart

# What each command does: as a participle, and as a noun with the surface's name.
_DEEDS: Final = {
    "restart": ("restarted", "a restart of the {}"),
    "reprice": ("restarted with other prices", "a restart of the {} with other prices"),
    "rotate_key": ("given another signing key", "a rotation of the key of the {}"),
}


def restart_command(case: Case, surface: str) -> Sequence[str] | None:
    """Return the profile's command that restarts a surface, word by word, or None."""
    surface_table = case.profile.surfaces.get(surface)
    return None if surface_table is None else surface_table.restart


def leave_without_restart(case: Case, surface: str, key: str = "restart") -> None:
    """Mark every row of a check as not applicable, because the profile lacks a command, `restart` or another one."""
    place, (deed, noun) = f"[surfaces.{surface}] {key}", _DEEDS[key]
    for row in case.check.rows:
        reason = f"the profile does not say how the {surface} is {deed} ({place})"
        trial = f"what {noun.format(surface)} forgets (bind {place})"
        case.mark_not_applicable(row, reason, skipped_trial=trial)


async def ready_for_restart(case: Case) -> None:
    """Wait until every concurrent check that needs a restart is ready for it, so that one restart serves all."""
    async with case.session.restart_barrier.wait_until(0):
        pass


async def start_again(case: Case, words: Sequence[str], url: str) -> None:
    """Restart a surface, and wait until it answers at an address that needs no credential.

    A check that asks for this during a restart waits for the same restart.

    Raises:
        Inconclusive: The command did not end with 0 in time, or the surface does not answer afterwards.
    """
    restarts = case.session.restarts
    if url in restarts:
        fault = await restarts[url]
        if fault is not None:
            raise Inconclusive(fault)
        return
    # The future is stored before anything is awaited, so that a concurrent check finds this
    # restart.
    restarts[url] = asyncio.get_running_loop().create_future()
    # The fault if this check is cancelled before the restart is complete.
    fault = "another check was ended while the service was started again"
    try:
        await asyncio.sleep(0)  # lets the other ready checks join, even if the command fails at once
        await restart(words, url, case.client, case.client.names)
        fault = None
    except Inconclusive as reason:
        fault = str(reason)
        raise
    finally:
        # Removed before the result is set: a later request for a restart must start a new one.
        restarts.pop(url).set_result(fault)
