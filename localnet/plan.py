"""What a stack is made of: which chains and surfaces, at which ports, and how they differ from the usual ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from localnet.chain_selection import LANES
from localnet.hub import ADDONS
from localnet.lanes import registry
from localnet.lanes.lane import Port
from localnet.surface_names import SURFACES

# The usual port of every address that is no lane's, with its place as a lane's `Port` has one.
_SURFACES = {
    "rail": Port(8402, 2),
    "gateway": Port(8090, 7),
    "agent": Port(8403, 8),
    "control_plane": Port(8094, 9),
    "federation_validator": Port(8092, 10),
    "zkp_receipt": Port(8093, 11),
    "atb_verifier": Port(8095, 12),
}
_ALL_PORTS = {**_SURFACES, **{name: port for lane in registry.LANES.values() for name, port in lane.ports.items()}}
# Every address of a stack with its usual port, in the order in which `--port-base` numbers them.
PORTS = {name: _ALL_PORTS[name].usual for name in sorted(_ALL_PORTS, key=lambda name: _ALL_PORTS[name].place)}
# Services that may have several workers. The others keep in memory what a second worker would not know
# (docs/deployment.md).
BALANCED = ("rail", "gateway", "limited", "limited_rail", "edge")
COMPANIONS = ("limited", "limited_rail", "edge", "offline")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to bring up.

    Attributes:
        data_dir: Folder for keys, databases, logs and the profile.
        port_base: None for the usual ports, 0 for free ones, else the first of consecutive ones.
        block_seconds: Time between blocks.
        mutant: Id of the broken variant that its surface runs as, or None.
        faults: Chain faults to switch on, as (name, seed).
        lanes: Chains to start, and lanes that the rail offers on them.
        settings: Further settings of the surfaces, by environment name.
        kinds: What each lane's chain is, `sim` or `localnet`.
        surfaces: Surfaces to start.
        companions: Whether further services come along: a gateway, a rail and an agent with the limits that users
            meet, and an edge host. The agent can reach no network if this machine allows it.
        chameleon: Seed of the look that the surfaces take, or None.
        addons: Addons that come along with the control plane.
        block_mode: When simulators that know modes make blocks: `steady`, `dev` or `rounds`.
        workers: How many processes each service of `BALANCED` has.
        has_nginx: Whether nginx is in front of these processes. Otherwise the profile lists their addresses.
        postgres: Address of a PostgreSQL server, where each service gets a new database; None for SQLite.
        valkey: Address of a Valkey server, where the workers of each service share their limits; None for limits in the
            memory of each worker.
    """

    data_dir: Path
    port_base: int | None = None
    block_seconds: float = 0.2
    mutant: str | None = None
    faults: tuple[tuple[str, int], ...] = ()
    lanes: tuple[str, ...] = LANES
    settings: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=lambda: dict.fromkeys(LANES, "sim"))
    surfaces: tuple[str, ...] = SURFACES
    companions: bool = False
    chameleon: int | None = None
    addons: tuple[str, ...] = ADDONS
    block_mode: str = "steady"
    workers: int = 1
    has_nginx: bool = False
    postgres: str | None = None
    valkey: str | None = None

    def of_kind(self, kind: str) -> tuple[str, ...]:
        """Return the lanes of this stack whose chain is of a kind."""
        return tuple(lane for lane in self.lanes if self.kinds[lane] == kind)

    def port(self, name: str) -> int:
        """Return the port of an address; 0 picks a free one."""
        # What does not start needs no usual port, which another program may use.
        if name in COMPANIONS or self._is_left_out(name):
            return 0
        if self.port_base is None:
            return PORTS[name]
        return self.port_base + list(PORTS).index(name) if self.port_base else 0

    def _is_left_out(self, name: str) -> bool:
        """Return whether an address belongs to a lane or a surface that does not start."""
        left_out_lanes = (lane for key, lane in registry.LANES.items() if key not in self.lanes)
        return (name in SURFACES and name not in self.surfaces) or any(name in lane.ports for lane in left_out_lanes)


def list_further_workers(plan: Plan, name: str) -> range:
    """Return the numbers of the workers of a service that do not listen at its address.

    The first worker is number 1. It listens at the address of the service, unless nginx does.
    """
    if name not in BALANCED:
        return range(0)
    return range(1 if plan.has_nginx else 2, plan.workers + 1)


def worker_place(name: str, number: int) -> str:
    """Return the name of the socket of a worker."""
    return f"{name} {number}"
