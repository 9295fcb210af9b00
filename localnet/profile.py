"""The ready-made target profile of a stack: it claims only what the stack has."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomlkit

from localnet.chain_selection import describe_mixture
from localnet.destinations import Destination
from localnet.hub import ADDONS, HubFacts
from localnet.lanes.lane import Reach
from localnet.lanes.registry import LANES
from localnet.tenants import Tenant

WORKING_NAME = "weldproof.toml"
# Surfaces in the order in which they are shown.
_SURFACES = ("rail", "gateway", "agent", "control_plane")
# A real node makes its blocks at its own pace, and takes processor time from the rail and the gateway beside it. The
# usual 15 s for a paid page were too short on a busy machine. A wait ends when what it waits for is there.
REAL_NODE_SECONDS = 60.0
# The place in a stack of each service for rows about limits.
_LIMITED_PLACES = {"gateway": "limited", "rail": "limited_rail", "agent": "offline"}
# Those that a stack starts again when it is asked.
RESTARTED_SERVICES = ("rail", "gateway")
MARK = "# Written by `weldproof up` for the stack it runs.\n"


@dataclass(frozen=True, slots=True)
class GatewayFacts:
    """What goes with a running gateway: the file of its admin key, its tenants and their webhooks by name."""

    admin_key_file: Path
    tenants: Mapping[str, Tenant]
    destinations: Mapping[str, Destination]


@dataclass(frozen=True, slots=True)
class LimitedFacts:
    """A service with the limits that users meet, on a clock of its own; of a gateway also its tenants by name."""

    url: str
    clock_file: Path
    admin_key_file: Path | None = None
    tenants: Mapping[str, Tenant] = field(default_factory=dict)


@dataclass(slots=True)
class StackFacts:
    """What a running stack is: addresses and the files that go with it.

    `reach` says how the nodes of all lanes are reached, `payto` holds the rail's payee by lane, `payees` each tenant's
    account by chain. `sells`, `limited_gateway`, `limited_rail`, `limited_agent` and `edge` are known once those
    services run, `offline` once an agent runs that can reach no network, `hub` once the control plane runs. `workers`
    has the addresses of the workers of each service that has several without nginx in front of them.
    """

    rail: str
    gateway: str
    agent: str
    control_plane: str
    federation_validator: str
    zkp_receipt: str
    atb_verifier: str
    reach: Reach
    payto: Mapping[str, str]
    clock_file: Path
    lanes: tuple[str, ...]
    kinds: Mapping[str, str]
    service_word: str
    surfaces: tuple[str, ...]
    payees: Mapping[str, Mapping[str, str]]
    sells: GatewayFacts | None = None
    limited_gateway: LimitedFacts | None = None
    limited_rail: LimitedFacts | None = None
    limited_agent: LimitedFacts | None = None
    edge: str | None = None
    offline: str | None = None
    hub: HubFacts | None = None
    bindings: dict[str, Any] = field(default_factory=dict)
    workers: dict[str, list[str]] = field(default_factory=dict)

    @property
    def networks(self) -> tuple[str, ...]:
        """Every network that a gateway of this stack offers: those whose assets the lanes' nodes hold."""
        networks_by_lane = {
            lane: LANES[lane].real_networks if self.kinds[lane] == "localnet" else LANES[lane].networks
            for lane in self.lanes
        }
        keys = {
            self.network_of(lane, place): lane
            for place in (0, 1)
            for lane in self.lanes
            if lane in self.reach.local or LANES[lane].networks[place] in networks_by_lane[lane]
        }
        return tuple(keys)

    @property
    def local_networks_file(self) -> Path | None:
        """File that lists the local networks for services, None without any."""
        return self.clock_file.with_name("local_networks.json") if self.reach.local else None

    def network_of(self, lane: str, place: int) -> str:
        """Return the key of a lane's test network (0) or main network (1); a local network is in both places."""
        local = self.reach.local.get(lane)
        return LANES[lane].networks[place] if local is None else local.key

    @property
    def rail_networks(self) -> tuple[str, ...]:
        """The networks that the rail is paid on."""
        return tuple(self.network_of(lane, 1) for lane in self.lanes)

    @property
    def pays_tenants(self) -> bool:
        """Whether tenants of a gateway are paid here: of the stack's own, or of one beside chains that run alone."""
        return "gateway" in self.surfaces or not self.surfaces

    @property
    def controls(self) -> tuple[str, ...]:
        """Control addresses of the chains that run."""
        return tuple(self.reach.control[node] for lane in self.lanes for node in LANES[lane].nodes)

    def as_json(self) -> Mapping[str, str]:
        """Return the facts as JSON members."""
        present = {*self.surfaces, *(() if self.hub is None else self.hub.addons)}
        members = {name: str(getattr(self, name)) for name in (*_SURFACES, *ADDONS) if name in present}
        members |= {**self.reach.addresses, **{name: str(path) for name, path in self.reach.files.items()}}
        members |= {f"payto_{lane}": address for lane, address in self.payto.items()}
        if not self.surfaces:
            tenants = [(name, lane) for name in self.payees for lane in self.lanes]
            members |= {f"payout_{name}_{lane}": self.payees[name][lane] for name, lane in tenants}
        members |= {"clock_file": str(self.clock_file), **self._sales_members()}
        members |= {} if self.hub is None else self.hub.as_json()
        chains = ",".join(f"{lane}={self.kinds[lane]}" for lane in self.lanes)
        controls = {f"control_{name}": url for name, url in self.reach.control.items()}
        first = {"control": self.controls[0]} if self.controls else {}
        members |= {"lanes": ",".join(self.lanes), "chains": chains, **first, **controls}
        return {name: value for name, value in members.items() if name not in self._not_started}

    @property
    def _not_started(self) -> frozenset[str]:
        """Names of what belongs to the lanes that were left out."""
        left_out = [lane for name, lane in LANES.items() if name not in self.lanes]
        controls = {f"control_{node}" for lane in left_out for node in lane.nodes}
        members_of_lanes = {
            name for lane in left_out for name in (*lane.ports, *lane.options.values(), f"payto_{lane.name}")
        }
        return frozenset(members_of_lanes | controls)

    def _sales_members(self) -> dict[str, str]:
        if self.sells is None:
            return {}
        members = {"dashboard": f"{self.gateway}/dashboard", "admin_key_file": str(self.sells.admin_key_file)}
        for name, tenant in self.sells.tenants.items():
            members |= {f"tenant_{name}": tenant.id, f"tenant_{name}_key_file": str(tenant.key_file)}
        for name, destination in self.sells.destinations.items():
            members |= {f"webhook_{name}": destination.url, f"webhook_{name}_secret_file": str(destination.secret_file)}
        return members


def _name(facts: StackFacts) -> str:
    """Return the target's name; where lanes differ it says which are simulated, so that every report does."""
    mixture = describe_mixture(facts.kinds, facts.lanes)
    return f"our own stack ({mixture or 'on real nodes'})" if _has_real_nodes(facts) else "our own stack"


def _has_real_nodes(facts: StackFacts) -> bool:
    return any(facts.kinds[lane] == "localnet" for lane in facts.lanes)


def profile_text(facts: StackFacts) -> str:
    """Return the text of `weldproof.toml` for a stack."""
    document = tomlkit.document()
    document["version"] = 1
    document["target"] = {"name": _name(facts), "defaults": "reference", "service_word": facts.service_word}
    document["surfaces"] = {name: _surface(facts, name) for name in facts.surfaces}
    surfaces = [*facts.surfaces, *([] if facts.sells is None else ["webhooks"])]
    claims: dict[str, Any] = {"surfaces": surfaces, "lanes": list(facts.lanes), "options": _options(facts)}
    # Services in another look are free where the interface is, and so claim nothing beyond it.
    document["claims"] = claims if facts.bindings else {**claims, "specification": "1"}
    document["chains"] = {lane: _chain(facts, lane, 1) for lane in facts.lanes}
    if facts.reach.local:
        document["networks"] = {local.key: {"event": local.event} for local in facts.reach.local.values()}
    if facts.sells is not None:
        document["tenants"] = _tenants(facts, facts.sells.tenants)
        lanes = [lane for lane in facts.lanes if facts.network_of(lane, 0) in facts.networks]
        chains = {lane: _chain(facts, lane, 0) for lane in lanes}
        edge = {"edge_url": facts.edge} if facts.edge else {}
        # Limits of a million calls a minute do not limit: rows about limits need a service of their own.
        limits = {"limits": "raised"} if facts.limited_gateway is None else {}
        admin = {"admin_key": {"file": str(facts.sells.admin_key_file)}}
        document["gateway"] = {**edge, **limits, **admin, "chains": chains}
        document["webhook"] = {"destinations": _destinations(facts.sells.destinations)}
    limited = {"gateway": facts.limited_gateway, "rail": facts.limited_rail, "agent": facts.limited_agent}
    if any(limited.values()):
        document["limited"] = {
            name: _limited_members(facts, _LIMITED_PLACES[name], service)
            for name, service in limited.items()
            if service is not None
        }
    if facts.offline is not None:
        document["agent"] = {"offline_url": facts.offline}
    if facts.hub is not None:
        document |= facts.hub.profile()
    document["clock"] = {"offset_file": str(facts.clock_file)}
    document["pace"] = {"requests_per_second": 0.0, "workers": 10}
    if _has_real_nodes(facts):
        document["budgets"] = {"confirmation": REAL_NODE_SECONDS, "paid": REAL_NODE_SECONDS}
    for key, value in facts.bindings.items():
        _bind(document, key.split("."), value)
    return MARK + tomlkit.dumps(document)


def _limited_members(facts: StackFacts, place: str, service: LimitedFacts) -> dict[str, Any]:
    members: dict[str, Any] = {"url": service.url, "offset_file": str(service.clock_file)}
    if place in facts.workers:
        members["workers"] = facts.workers[place]
    if service.admin_key_file is not None:
        members["admin_key"] = {"file": str(service.admin_key_file)}
    return members | ({"tenants": _tenants(facts, service.tenants)} if service.tenants else {})


def _surface(facts: StackFacts, name: str) -> dict[str, Any]:
    members: dict[str, Any] = {"url": getattr(facts, name)}
    if name in facts.workers:
        members["workers"] = facts.workers[name]
    if name in RESTARTED_SERVICES:
        members["restart"] = restart_words(restart_file(facts.clock_file.parent, name))
        # A variant in another shape may keep its keys in another way.
        if not facts.bindings:
            members["rotate_key"] = restart_words(rotation_file(facts.clock_file.parent, name))
    if name == "rail":
        members["reprice"] = restart_words(reprice_file(facts.clock_file.parent))
    return members


def restart_file(data_dir: Path, surface: str) -> Path:
    """Return the file whose presence asks a stack to start a surface again."""
    return data_dir / f"restart_{surface}"


def reprice_file(data_dir: Path) -> Path:
    """Return the file whose presence asks a stack to start the rail again with other prices."""
    return data_dir / "reprice_rail"


def rotation_file(data_dir: Path, surface: str) -> Path:
    """Return the file whose presence asks a stack to rotate the signing key of a surface."""
    return data_dir / f"rotate_key_{surface}"


def restart_words(wish: Path) -> list[str]:
    """Return the command that asks for a restart and ends when that is done, or after two minutes without a stack."""
    wait_command = 'n=0; while [ -e "$0" ]; do [ $n -lt 1200 ] || exit 1; n=$((n+1)); sleep 0.1; done'
    return ["sh", "-c", f'touch "$0" && {{ {wait_command}; }}', str(wish)]


def _options(facts: StackFacts) -> list[str]:
    return ["rail.a2a", "rail.agent_card"] if "rail" in facts.surfaces else []


def _bind(table: MutableMapping[str, Any], names: Sequence[str], value: Any) -> None:
    """Set the value at a dotted key, making the tables on the way."""
    for name in names[:-1]:
        if name not in table:
            table[name] = {}
        table = table[name]
    table[names[-1]] = value


def _tenants(facts: StackFacts, tenants: Mapping[str, Tenant]) -> dict[str, Any]:
    # A gateway in another look may have keys of its own for networks, by which a profile then names them.
    own = {usual: key.split(".")[1] for key, usual in facts.bindings.items() if _names_network(key)}
    return {
        name: {
            "id": tenant.id,
            "key": {"file": str(tenant.key_file)},
            "payout": {own.get(key, key): address for key, address in tenant.payout.items()},
        }
        for name, tenant in tenants.items()
    }


def _names_network(key: str) -> bool:
    return key.startswith("networks.") and key.endswith(".network")


def _destinations(destinations: Mapping[str, Destination]) -> dict[str, Any]:
    return {
        name: {
            "url": destination.url,
            "secret": {"file": str(destination.secret_file)},
            "tenant": destination.tenant,
            "events": list(destination.events),
        }
        for name, destination in destinations.items()
    }


def _chain(facts: StackFacts, lane: str, place: int) -> dict[str, Any]:
    """Return how the suite reaches the node of a lane's test network (0) or main network (1), and its control verbs."""
    network = facts.network_of(lane, place)
    local = facts.reach.local.get(lane)
    asset = {} if local is None else {"asset": local.asset_id}
    return {"network": network, **asset, **LANES[lane].table(network, facts.reach)}
