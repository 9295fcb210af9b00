"""`localnet hold`: what `start` leaves in the background, which starts real nodes and ends them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

import aiohttp
import click
import orjson

from localnet import real_nodes, state
from localnet.background import EXIT_FAULT, EXIT_MISSING, IN_FOLDER, ask_nodes
from localnet.chain_selection import LANES
from localnet.node_processes import NodeProcesses
from localnet.plan import PORTS
from localnet.processes import ChildFault, first_end
from localnet.state import Process, State
from programs.missing import Missing

T = TypeVar("T")
_BLOCK_SECONDS = 0.2


@click.command(hidden=True)
@click.argument("lanes", nargs=-1, type=click.Choice(LANES))
@click.option("--port-base", type=click.IntRange(0, 65000))
@IN_FOLDER
def hold(lanes: tuple[str, ...], port_base: int | None, data_dir: Path) -> None:
    """Start real nodes, print localnet.json's content in one line, and end them on SIGTERM."""
    try:
        sys.exit(asyncio.run(_hold(lanes or LANES, port_base, data_dir.resolve())))
    except (ChildFault, Missing) as fault:
        click.echo(f"weldproof localnet: {fault}", err=True)
        sys.exit(EXIT_MISSING if isinstance(fault, Missing) else EXIT_FAULT)


async def _hold(lanes: tuple[str, ...], port_base: int | None, data_dir: Path) -> int:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)

    def port(name: str) -> int:
        if port_base is None:
            return PORTS[name]
        return port_base + list(PORTS).index(name) if port_base else 0

    async def hold_nodes(session: aiohttp.ClientSession) -> int:
        nodes = NodeProcesses(session, data_dir, port, _BLOCK_SECONDS)
        try:
            await _unless(stop, real_nodes.start(nodes, lanes))
            if stop.is_set():
                return 0
            processes = {child.name: Process.of(child.pid) for child in nodes.children}
            state_record = State(Process.of(os.getpid()), processes, nodes.lanes, nodes.urls, nodes.controls)
            click.echo(orjson.dumps(orjson.loads(state_record.write(data_dir).read_bytes())))
            first_child = await _unless(stop, first_end(nodes.children))
            if first_child is None:
                return 0
            click.echo(f"weldproof localnet: {first_child.name} ended by itself: {first_child.last_words()}", err=True)
            return EXIT_FAULT
        finally:
            await asyncio.gather(*(child.stop() for child in reversed(nodes.children)))
            (data_dir / state.NAME).unlink(missing_ok=True)

    return await ask_nodes(hold_nodes)


async def _unless(stop: asyncio.Event, work: Awaitable[T]) -> T | None:
    """Return what is awaited, or None when the stop comes before it."""
    task, stop_task = asyncio.ensure_future(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([task, stop_task], return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        for either in (task, stop_task):
            either.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(task, stop_task, return_exceptions=True)
