"""Real nodes with their control sidecar: looked for, started, asked whether they are ready."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from localnet.lanes.registry import LANES
from localnet.node_processes import NodeProcesses
from localnet.processes import Child


async def start(nodes: NodeProcesses, lanes: Iterable[str]) -> None:
    """Start the real nodes of `lanes`, then the sidecar that prepares them.

    Raises:
        Missing: Something a node needs is not here; nothing takes its place.
        ChildFault: A node did not become ready.
    """
    nodes.lanes = tuple(lanes)
    # Whatever is missing is reported before anything is started.
    nodes.found |= await asyncio.to_thread(lambda: {name: LANES[name].look(nodes.data_dir) for name in nodes.lanes})
    for name in nodes.lanes:
        await LANES[name].start(nodes, nodes.found[name])
    if nodes.fronts:
        await _sidecar(nodes)


async def _sidecar(nodes: NodeProcesses) -> None:
    words = [word for front, _ in nodes.fronts.values() for word in front.words()]
    sockets = [listener for _, listener in nodes.fronts.values()]
    try:
        child = await Child.start(
            "the control sidecar", ["localnet.sidecar", *words], log=nodes.log("sidecar"), sockets=sockets
        )
    finally:
        for listener in sockets:
            listener.close()
    nodes.children.append(child)
    await child.ready_line()
