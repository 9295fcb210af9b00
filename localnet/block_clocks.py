"""Keeping the block clocks of nodes current that make no block without a transaction."""

from __future__ import annotations

import asyncio
from typing import Final

import click

from localnet.control_verbs import MayTrail
from localnet.rpc import NodeFault

LOOK_SECONDS: Final = 5.0


async def keep_current(node: MayTrail, every: float = LOOK_SECONDS) -> None:
    """Keep the clock of a node from falling behind, for ever; a fault is reported once, and the next look tries again.

    Args:
        node: The node.
        every: Seconds between two looks at its clock.
    """
    last_fault = ""
    while True:
        await asyncio.sleep(every)
        try:
            await node.keep_current()
            fault = ""
        except NodeFault as trouble:
            fault = str(trouble)
        if fault and fault != last_fault:
            click.echo(f"block clock: {fault}", err=True)
        last_fault = fault
