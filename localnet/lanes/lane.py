"""What a lane is to a stack: its addresses, its simulators, its real nodes, and what services are given about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from localnet.unlisted_network import LocalNetwork

if TYPE_CHECKING:  # help waits for nothing that starts or asks nodes
    import aiohttp

    from localnet.control_verbs import MayTrail, Verbs
    from localnet.node_processes import NodeProcesses
    from localnet.sidecar_node import SidecarTarget


@dataclass(frozen=True, slots=True)
class Port:
    """Where a node listens.

    Attributes:
        usual: Its usual port.
        place: Its place in the order in which `--port-base` numbers all addresses of a stack.
        scheme: Scheme of its address.
    """

    usual: int
    place: int
    scheme: str = "http"


@dataclass(frozen=True, slots=True)
class Simulator:
    """One simulator to start.

    Attributes:
        title: What logs call it.
        module: Its module.
        fds: The name of the address it listens at, by the option that takes the socket.
        words: Its further words.
    """

    title: str
    module: str
    fds: Mapping[str, str]
    words: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """What one chain's real node would run on.

    Attributes:
        chain: The lane.
        ready: Whether a node could be started now.
        how: What it would run on, or what is missing.
        remedy: The line that installs it; empty when it is there.
    """

    chain: str
    ready: bool
    how: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Reach:
    """How a lane's nodes are reached.

    Attributes:
        addresses: Their addresses by name.
        files: Files that go with them by name.
        control: Their control addresses by node.
        local: The local network that a lane's node serves, by lane.
    """

    addresses: Mapping[str, str]
    files: Mapping[str, Path] = field(default_factory=dict)
    control: Mapping[str, str] = field(default_factory=dict)
    local: Mapping[str, LocalNetwork] = field(default_factory=dict)


class Ask(Protocol):
    """Carries out a control verb on a node, by the node's name.

    Raises:
        ChildFault: The node refused it.
    """

    async def __call__(self, node: str, verb: str, /, **members: object) -> None:
        """Carry it out."""


class Lane(ABC):
    """One lane.

    Attributes:
        name: The lane.
        networks: Keys of its two networks: where test keys reach, and where live keys do.
        real_networks: Those whose assets its real nodes hold.
        ports: Its addresses by name.
        nodes: Name of the address of each node that has control verbs, by the node's name.
        key_suffix: How files with the key of an account end.
        kind: What the control sidecar calls its real nodes.
        has_secret: Whether the sidecar needs a file with what the verbs sign or ask with.
        assets: USDC by network key, where it is not the node's first.
        opts_in: Whether an account must be prepared before it can be paid.
        options: Options of `weldproof init` that name its nodes, with the fact of a stack that each takes.
        settings: Settings of services that are this lane's own.
        advice: A sentence for an operator who runs another server on its nodes.
    """

    name: str
    networks: tuple[str, str]
    real_networks: tuple[str, ...]
    ports: Mapping[str, Port]
    nodes: Mapping[str, str]
    key_suffix: str
    kind: str
    has_secret: bool = True
    assets: Mapping[str, str] = {}
    opts_in: bool = True
    options: Mapping[str, str]
    settings: Sequence[str] = ()
    advice: str = ""

    @property
    def local_key(self) -> str:
        """The key of its local network, if its real node serves one."""
        return f"{self.name}_localnet"

    @abstractmethod
    def account(self, path: Path) -> str:
        """Return the address whose key a file holds, writing a new one if the file is missing."""

    @abstractmethod
    def simulators(self, block_seconds: float, files: Mapping[str, Path], mode: str) -> Sequence[Simulator]:
        """Return the simulators of its networks; `mode` says when those that know modes make blocks."""

    def files(self, data_dir: Path, node: object) -> Mapping[str, Path]:
        """Return the files that clients of its nodes need, by name; missing ones are made."""
        del data_dir, node
        return {}

    @abstractmethod
    async def prepare(self, ask: Ask, payee: str, data_dir: Path, reach: Reach) -> None:
        """Make ready the rail's payee, and whatever account of the rail signs.

        Args:
            ask: Carries out control verbs.
            payee: Address that the rail is paid at.
            data_dir: Folder of the stack.
            reach: How the nodes are reached.

        Raises:
            ChildFault: A node refused it.
        """

    async def opt_in(self, key_file: Path, asset: str | None, reach: Reach) -> None:
        """Have an account agree by its own key to hold an asset (USDC when None), on chains that ask for it.

        Raises:
            ChildFault: The node refused it.
        """
        del key_file, asset, reach

    def simulated_clock(self, session: aiohttp.ClientSession, reach: Reach, payee: str, mode: str) -> MayTrail | None:
        """Return its simulator as a node whose block clock falls behind in a mode; None if it does not.

        Args:
            session: Asks it.
            reach: How it is reached.
            payee: Address that the rail is paid at.
            mode: When the simulator makes blocks, as `simulators` takes it.
        """
        del session, reach, payee, mode
        return None

    @abstractmethod
    def node_settings(self, network: str, reach: Reach) -> Mapping[str, str]:
        """Return the settings of services that say where a network's node is."""

    def rail_settings(self, data_dir: Path) -> Mapping[str, str]:
        """Return the settings of the rail that this lane needs further."""
        del data_dir
        return {}

    @abstractmethod
    def table(self, network: str, reach: Reach) -> dict[str, Any]:
        """Return the table of a target profile by which the suite reaches a network's node."""

    @abstractmethod
    def examine(self) -> Found:
        """Look for its real node, in the order in which it would be taken."""

    @abstractmethod
    def look(self, data_dir: Path) -> object:
        """Look for what its real nodes need, and return what else has to be known of them.

        Raises:
            Missing: Something is not here.
        """

    @abstractmethod
    async def start(self, processes: NodeProcesses, node: object) -> None:
        """Start its real nodes.

        Args:
            processes: Takes what is started.
            node: What `look` returned.

        Raises:
            Missing: Something a node needs is not here.
            ChildFault: A node did not become ready.
        """

    @abstractmethod
    def verbs(self, session: aiohttp.ClientSession, front: SidecarTarget) -> Verbs:
        """Return the control verbs of one of its real nodes."""

    @abstractmethod
    async def head(self, session: aiohttp.ClientSession, url: str, data_dir: Path) -> int | None:
        """Return the number of a node's newest block, None if it answers with anything else.

        Args:
            session: Asks the node.
            url: One of the lane's addresses.
            data_dir: Folder in which its nodes keep their files.

        Raises:
            NodeFault, aiohttp.ClientError, TimeoutError: It could not be asked.
        """
