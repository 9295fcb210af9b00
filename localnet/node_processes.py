"""Processes of real nodes while they are started, and where their control addresses will be."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from localnet.processes import Child, ChildFault, listening_socket
from localnet.rpc import NodeFault, Rpc
from localnet.sidecar_node import SidecarTarget
from localnet.unlisted_network import LocalNetwork


@dataclass(slots=True)
class NodeProcesses:
    """Real nodes that run, and the means to start further ones.

    Attributes:
        session: Asks nodes.
        data_dir: Folder for keys and logs.
        port: Gives the port of an address by its name; 0 for a free one.
        block_seconds: Time between blocks.
        children: Their processes, in the order of their start; what runs stands here also when a start breaks off.
        urls: Address by name.
        controls: Control address by node.
        found: What looking for each lane's nodes found.
        local: The local network that a lane's node serves, by lane.
        lanes: Lanes that run on these nodes.
    """

    session: aiohttp.ClientSession
    data_dir: Path
    port: Callable[[str], int]
    block_seconds: float
    children: list[Child] = field(default_factory=list)
    urls: dict[str, str] = field(default_factory=dict)
    controls: dict[str, str] = field(default_factory=dict)
    found: dict[str, object] = field(default_factory=dict)
    local: dict[str, LocalNetwork] = field(default_factory=dict)
    lanes: tuple[str, ...] = ()
    _fronts: dict[str, tuple[SidecarTarget, socket.socket]] = field(default_factory=dict)

    async def ready(self, child: Child, url: str, method: str, within: float) -> None:
        """Ask a node until it answers, or its process ends.

        Raises:
            ChildFault: It did not become ready.
        """
        answer_task = asyncio.create_task(Rpc(self.session, url).answers(method, within=within))
        end_task = asyncio.create_task(child.wait_for_end())
        try:
            await asyncio.wait([answer_task, end_task], return_when=asyncio.FIRST_COMPLETED)
            if not answer_task.done():
                raise ChildFault(f"{child.name} ended by itself: {child.last_words()}")
            answer_task.result()
            if not child.is_running:
                raise ChildFault(f"{child.name} ended by itself: {child.last_words()}")
        except NodeFault as fault:
            raise ChildFault(f"{child.name} did not become ready: {fault}: {child.last_words()}") from fault
        finally:
            answer_task.cancel()
            end_task.cancel()

    def front(self, name: str, kind: str, url: str, secret: Path | None) -> None:
        """Give a node a control address, which the sidecar will answer at."""
        listener = listening_socket("127.0.0.1", 0)
        self._fronts[name] = SidecarTarget(kind, listener.fileno(), url, secret), listener
        self.controls[name] = f"http://127.0.0.1:{listener.getsockname()[1]}/control"

    def free(self, name: str) -> int:
        """Return the port of an address without a listener; the node binds it a moment later.

        Raises:
            ChildFault: It is taken.
        """
        return free_port(self.port(name))

    def log(self, name: str) -> Path:
        """Return the log file of a process."""
        return self.data_dir / "logs" / f"{name}.log"

    @property
    def fronts(self) -> Mapping[str, tuple[SidecarTarget, socket.socket]]:
        """Each front with its socket by node."""
        return self._fronts


def free_port(port: int = 0) -> int:
    """Return a port without a listener: a given one, or any.

    Raises:
        ChildFault: It is taken.
    """
    with listening_socket("127.0.0.1", port) as bound:
        return int(bound.getsockname()[1])
