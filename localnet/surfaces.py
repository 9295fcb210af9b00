"""The surfaces of a stack as child processes: what each is given about the chains, the clock and its limits."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from localnet import network_namespace
from localnet.databases import create_database
from localnet.destinations import destinations
from localnet.hub import HubFacts
from localnet.lanes.lane import Lane
from localnet.lanes.registry import LANES, lane_of
from localnet.plan import BALANCED, Plan, list_further_workers, worker_place
from localnet.prepared.service import Prepared
from localnet.processes import READY_SECONDS, Child, ChildFault, all_of
from localnet.profile import GatewayFacts, LimitedFacts, StackFacts
from localnet.tenants import NAMES, Seeding

TITLES = {
    "rail": "the rail",
    "gateway": "the gateway",
    "agent": "the agent",
    "limited": "the limited gateway",
    "limited_rail": "the limited rail",
    "edge": "the edge host",
    "offline": "the limited agent",
    "control_plane": "the control plane",
    "federation_validator": "the federation validator",
    "zkp_receipt": "the ZK receipt addon",
    "atb_verifier": "the credential verifier",
}
# Between the title of a service and the number of a worker after the first one.
WORKER_MARK = ", worker "
_DATABASE_SETTINGS = {"rail": "WP_RAIL_DB", "gateway": "WP_GATEWAY_DB", "control_plane": "S2CP_DB"}
_OTHER_PRICES = "receipt-verify=12500,rfc9421-verify=7500,compliance-receipt=62500"
_RAISED_LIMIT = "1000000"
_GATEWAY_RATES = (
    *("WP_TENANT_RATE", "WP_TENANT_BURST", "WP_IP_RATE", "WP_IP_BURST"),
    *("WP_RECEIPT_VERIFY_RATE", "WP_CHECKOUT_TOKEN_RATE"),
)


@dataclass(slots=True)
class Surfaces:
    """Starts the surfaces of one stack; what runs stands in `children`.

    `before` are words between the interpreter and each service's module: a program that runs it in its own way.
    `databases` has the address of each service's database on the PostgreSQL server, once it was made.
    """

    plan: Plan
    facts: StackFacts
    sockets: Mapping[str, socket.socket]
    session: aiohttp.ClientSession
    children: list[Child] = field(default_factory=list)
    fork_server: Prepared | None = None
    before: Sequence[str] = ()
    databases: dict[str, str] = field(default_factory=dict)

    async def start(self) -> None:
        """Start every surface of the plan side by side and wait until each is healthy and its tenants exist.

        The control plane goes before all that join it.

        Raises:
            ChildFault: One did not become ready.
        """
        starts = []
        self._write_trusted([])
        if "control_plane" in self.plan.surfaces:
            await self._hub()
            starts += [self._addon(name) for name in self.plan.addons]
        if "rail" in self.plan.surfaces:
            starts.append(self.start_rail())
            if self.plan.companions:
                starts.append(self._start_limited_rail())
        if "agent" in self.plan.surfaces:
            starts.append(self._agent())
            if self.plan.companions:
                starts.append(self._start_limited_agent(await network_namespace.command_prefix()))
        if "gateway" in self.plan.surfaces:
            starts.append(self._gateway())
            if self.plan.companions:
                starts.append(self._start_limited_gateway())
        await all_of(starts)

    async def start_repriced_rail(self) -> None:
        """Start the rail again with other prices.

        Raises:
            ChildFault: It did not become ready.
        """
        await self.start_rail(_OTHER_PRICES)

    async def start_rail(self, prices: str | None = None) -> None:
        """Start the rail, with what it kept where it ran before, and with these prices in place of its own.

        Raises:
            ChildFault: It did not become ready.
        """
        environment = {**self._rail_environment(), **({} if prices is None else {"WP_RAIL_PRICES": prices})}
        is_new = not (self.plan.data_dir / "rail").exists()
        await self._start_service("rail", "rail", environment, self.facts.rail)
        # So every run meets a retired key (P-KY-07). A variant may keep its keys in another way.
        if is_new and self.plan.chameleon is None:
            await self.rotate_key("rail")
        await self._publish_rail_keys()

    def _rail_environment(self) -> dict[str, str]:
        return {
            **self._place_rail("rail", self.facts.rail),
            "WP_RAIL_RATE": _RAISED_LIMIT,
            "WP_RAIL_CONFIRM_WAIT": "2",
            # A row takes a node away for some seconds, and the rows after it pay there.
            "WP_RAIL_NODE_LOOK_SECONDS": "20",
            **self._join_environment(self.facts.rail),
        }

    def _place_rail(self, name: str, url: str) -> dict[str, str]:
        return {
            "WP_RAIL_PUBLIC_URL": url,
            "WP_RAIL_DATA_DIR": str(self.plan.data_dir / name),
            "WP_RAIL_LANES": ",".join(self.facts.rail_networks),
            **{f"WP_RAIL_PAYTO_{lane.upper()}": address for lane, address in self.facts.payto.items()},
            **{
                setting: value
                for lane in LANES.values()
                for setting, value in lane.rail_settings(self.plan.data_dir).items()
            },
        }

    async def _start_limited_rail(self) -> None:
        """A second rail with the limits that users meet, a database and a clock of its own, which no chain follows."""
        url = f"http://localhost:{self.sockets['limited_rail'].getsockname()[1]}"
        clock_file = self.plan.data_dir / "clock_offset_limited_rail"
        clock_file.write_text("0\n", "ascii")
        environment = {
            **self._place_rail("limited_rail", url),
            "WP_CLOCK_OFFSET_FILE": str(clock_file),
            "WP_RAIL_CONFIRM_WAIT": "2",
            # A row takes nodes away until their lanes are gone, so three looks must not take long.
            "WP_RAIL_NODE_LOOK_SECONDS": "1",
        }
        await self._start_service("limited_rail", "rail", environment, url)
        self.facts.limited_rail = LimitedFacts(url, clock_file)

    async def rotate_key(self, name: str) -> None:
        """Rotate the signing key of the rail or the gateway by its command (P-KY-08).

        Raises:
            ChildFault: The command failed.
        """
        settings = self._rail_environment() if name == "rail" else self._place("gateway", self.facts.gateway)
        rotation = await Child.start(
            f"the rotation of the key of {TITLES[name]}",
            # A variant of the service has the command of the service itself.
            [f"reference.{name}", "rotate-key"],
            log=self.plan.data_dir / "logs" / f"rotation_{name}.log",
            environment={**self._build_common_environment(), **settings, **self.plan.settings},
            fork_server=self.fork_server,
        )
        if await rotation.wait_for_end() != 0:
            raise ChildFault(f"{rotation.name} failed: {rotation.last_words()}")
        if name == "rail":
            await self._publish_rail_keys()

    async def _publish_rail_keys(self) -> None:
        """Write the rail's public keys where the gateways look for those they trust, which read it when it changes.

        A rail in a look of its own or with a rule broken may not publish them; then no gateway trusts it.
        """
        with suppress(aiohttp.ClientError, TimeoutError, ValueError):
            async with self.session.get(f"{self.facts.rail}/.well-known/jwks.json") as answer:
                keys = json.loads(await answer.read()).get("keys") if answer.status == 200 else None
            if isinstance(keys, list):
                self._write_trusted(keys)

    def _write_trusted(self, keys: Sequence[object]) -> None:
        fresh = self._trust_file.with_suffix(".new")
        fresh.write_text(json.dumps({"keys": list(keys)}), "utf-8")
        fresh.replace(self._trust_file)

    @property
    def _trust_file(self) -> Path:
        """File of the keys, beside their own, whose receipts the gateways of the stack take."""
        return self.plan.data_dir / "trusted_jwks.json"

    async def _agent(self) -> None:
        environment = {"WP_AGENT_PUBLIC_URL": self.facts.agent, "WP_AGENT_RATE": _RAISED_LIMIT}
        environment |= self._join_environment(self.facts.agent)
        await self._start_service("agent", "agent", environment, self.facts.agent)

    async def _start_limited_agent(self, apart: Sequence[str]) -> None:
        """A second agent with the limits that users meet and its own clock, without a network if this machine can.

        It answers on the socket that it was given, which was made outside of its namespace.
        """
        url = f"http://localhost:{self.sockets['offline'].getsockname()[1]}"
        clock_file = self.plan.data_dir / "clock_offset_limited_agent"
        clock_file.write_text("0\n", "ascii")
        environment = {"WP_AGENT_PUBLIC_URL": url, "WP_CLOCK_OFFSET_FILE": str(clock_file)}
        child = await self._start_service("offline", "agent", environment, url, apart=apart)
        self.facts.limited_agent = LimitedFacts(url, clock_file)
        if apart and network_namespace.is_apart(child.pid):
            self.facts.offline = url

    async def _gateway(self) -> None:
        await self.start_gateway()
        await all_of([self._seed_gateway(), *([self._edge()] if self.plan.companions else [])])

    async def start_gateway(self) -> None:
        """Start the gateway, with what it kept where it ran before.

        Raises:
            ChildFault: It did not become ready.
        """
        facts = self.facts
        environment = {**self._place("gateway", facts.gateway), **dict.fromkeys(_GATEWAY_RATES, _RAISED_LIMIT)}
        environment |= self._join_environment(facts.gateway)
        await self._start_service("gateway", "gateway", environment, facts.gateway)

    async def _hub(self) -> None:
        facts, folder = self.facts, self.plan.data_dir / "control_plane"
        environment = {"S2CP_DATA_DIR": str(folder), "S2CP_RATE": _RAISED_LIMIT}
        await self._start_service("control_plane", "control_plane", environment, facts.control_plane, fd="S2CP_FD")
        before = self._words("control_plane")[:-1]
        facts.hub = HubFacts(facts.control_plane, folder, before, self.plan.addons, self.fork_server)

    async def _addon(self, name: str) -> None:
        url = str(getattr(self.facts, name))
        environment = {"WP_ADDON_DATA_DIR": str(self.plan.data_dir / name), "WP_ADDON_RATE": _RAISED_LIMIT}
        environment |= self._join_environment(url)
        await self._start_service(name, f"addons.{name}", environment, url, fd="WP_ADDON_FD")

    def _join_environment(self, url: str) -> dict[str, str]:
        return {} if self.facts.hub is None else self.facts.hub.join_environment(url)

    async def _seed_gateway(self) -> None:
        folder = self.plan.data_dir / "gateway"
        gateway_admin = Seeding(self.session, self.facts.gateway, folder)
        tenants = await gateway_admin.tenants(self._payout())
        self.facts.sells = GatewayFacts(
            folder / "admin_key", tenants, await destinations(gateway_admin, folder, tenants)
        )

    async def _start_limited_gateway(self) -> None:
        """A second gateway with the limits that users meet, a database and a clock of its own."""
        url = f"http://localhost:{self.sockets['limited'].getsockname()[1]}"
        folder, clock_file = self.plan.data_dir / "limited", self.plan.data_dir / "clock_offset_limited"
        clock_file.write_text("0\n", "ascii")
        # No link is paid here, and links end when the chains are searched.
        own = {"WP_CLOCK_OFFSET_FILE": str(clock_file), "WP_CHAIN_POLL_SECONDS": "1"}
        # Its destinations follow the rules outside tests: https and public addresses only.
        own["WP_WEBHOOK_ALLOW_LOOPBACK"] = "off"
        environment = {**self._place("limited", url), **own}
        await self._start_service("limited", "gateway", environment, url)
        seeding = Seeding(self.session, url, folder)
        tenants = await seeding.tenants(self._payout())
        # Days pass here, and a trial that ends would end the calls of every later check.
        await seeding.approve(tenants["first"].id)
        self.facts.limited_gateway = LimitedFacts(url, clock_file, folder / "admin_key", tenants)

    async def _edge(self) -> None:
        """An edge host over the gateway's own database."""
        url = f"http://localhost:{self.sockets['edge'].getsockname()[1]}"
        environment = {
            **self._place("edge", self.facts.gateway),
            "WP_GATEWAY_DATA_DIR": str(self.plan.data_dir / "gateway"),
            "WP_GATEWAY_ROLE": "edge",
        }
        await self._start_service("edge", "gateway", environment, url)
        self.facts.edge = url

    def _place(self, name: str, url: str) -> dict[str, str]:
        return {
            "WP_GATEWAY_PUBLIC_URL": url,
            "WP_GATEWAY_DATA_DIR": str(self.plan.data_dir / name),
            "WP_GATEWAY_TRUSTED_JWKS": str(self._trust_file),
            # Blocks come faster here than on any public network.
            "WP_CHAIN_POLL_SECONDS": "0.3",
        }

    def _payout(self) -> dict[str, dict[str, str]]:
        """Return where each tenant is paid: on every network, those that its key reaches first."""
        payout: dict[str, dict[str, str]] = {}
        for name in NAMES:
            keys = sorted(self.facts.networks, key=lambda key: key.endswith("_mainnet") is (name == "first"))
            payout[name] = {key: self._payee(name, key) for key in keys}
        return payout

    def _payee(self, name: str, key: str) -> str:
        """Return where a tenant is paid on a network: on the rail's networks one of the two to the rail's payee.

        It is the second tenant, whose key is live. On a local network beside main networks it is the first, since a
        live key reaches main networks only.
        """
        lane = lane_of(key).name
        has_main = any(network.endswith("_mainnet") for network in self.facts.networks)
        shares = "first" if has_main and not key.endswith("_mainnet") else "second"
        with_rail = name == shares and key in self.facts.rail_networks and "rail" in self.plan.surfaces
        return self.facts.payto[lane] if with_rail else self.facts.payees[name][lane]

    async def _start_service(
        self,
        name: str,
        surface: str,
        environment: Mapping[str, str],
        url: str,
        *,
        apart: Sequence[str] = (),
        fd: str = "",
    ) -> Child:
        """Start all workers of a service, wait until each is healthy, and return the first one.

        Args:
            name: Its place in the stack.
            surface: Its module below `reference`.
            environment: Settings in addition to those of every service.
            url: Where it will be.
            apart: A program that starts it.
            fd: The setting that takes its socket.
        """
        listeners = self.list_listeners(name)
        # What a variant states about itself, as its operator's profile would: a chameleon's names, a mutant's commands.
        statement_file = self.plan.data_dir / f"variant_{name}.json"
        statement_file.unlink(missing_ok=True)
        words, log = self._words(surface), self.plan.data_dir / "logs" / f"{name}.log"
        service_environment = {
            **self._build_common_environment(),
            **await self._build_store_environment(name, surface),
            **({"WP_VARIANT_FILE": str(statement_file)} if self.plan.chameleon is not None or self.plan.mutant else {}),
            **environment,
            **self.plan.settings,
        }
        workers: list[Child] = []
        for number, listener in enumerate(listeners, 1):
            title = TITLES[name] if number == 1 else f"{TITLES[name]}{WORKER_MARK}{number}"
            own_environment = {
                **service_environment,
                fd or f"WP_{surface.upper()}_FD": str(listener.fileno()),
            }
            if apart:
                command = [*apart, sys.executable, "-m", *words]
                child = await Child.start_program(
                    title, command, log=log, environment=own_environment, sockets=[listener]
                )
            else:
                child = await Child.start(
                    title,
                    words,
                    log=log,
                    environment=own_environment,
                    sockets=[listener],
                    fork_server=self.fork_server,
                )
            workers.append(child)
        self.children += workers
        urls = [url] if len(listeners) == 1 else [_url_of(listener) for listener in listeners]
        await all_of(self._healthy(f"{one}/health", child) for one, child in zip(urls, workers, strict=True))
        if len(urls) > 1 and not self.plan.has_nginx:
            self.facts.workers[name] = urls
        if statement_file.exists():
            self.facts.bindings |= json.loads(statement_file.read_bytes())["bindings"]
        return workers[0]

    def list_listeners(self, name: str) -> list[socket.socket]:
        """Return the sockets on which the workers of a service listen."""
        further = [self.sockets[worker_place(name, number)] for number in list_further_workers(self.plan, name)]
        return further if name in BALANCED and self.plan.has_nginx else [self.sockets[name], *further]

    async def _build_store_environment(self, name: str, surface: str) -> dict[str, str]:
        """Return the settings of what the workers of a service share: database, store of limits, nginx."""
        settings = {"WP_TRUSTED_PROXIES": "127.0.0.1"} if name in BALANCED and self.plan.has_nginx else {}
        if self.plan.valkey is not None:
            # Services of one stack have other limits, so each has a database of its own there.
            settings["WP_RATE_STORE"] = f"{self.plan.valkey}/{list(TITLES).index(name)}"
        setting = _DATABASE_SETTINGS.get(surface)
        if self.plan.postgres is not None and setting is not None:
            # The edge host serves the links of the gateway.
            owner = "gateway" if name == "edge" else name
            if owner not in self.databases:
                self.databases[owner] = await create_database(self.plan.postgres, owner)
            settings[setting] = self.databases[owner]
        return settings

    def _build_common_environment(self) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith(("WP_", "S2CP_", "S2_"))}
        clock_file = str(self.facts.clock_file)
        return {**own, **_nodes(self.facts), "WP_MODE": "test", "WP_CLOCK_OFFSET_FILE": clock_file}

    def _words(self, surface: str) -> list[str]:
        module = f"reference.{surface}"
        if self.plan.chameleon is not None:
            return ["reference.variants.chameleon", str(self.plan.chameleon), module]
        mutant = [] if self.plan.mutant is None else ["reference.variants.mutants", self.plan.mutant]
        return [*self.before, *mutant, module]

    async def _healthy(self, url: str, child: Child) -> None:
        deadline = asyncio.get_running_loop().time() + READY_SECONDS
        while asyncio.get_running_loop().time() < deadline and child.is_running:
            with suppress(aiohttp.ClientError, TimeoutError):
                async with self.session.get(url, timeout=aiohttp.ClientTimeout(total=2)) as response:
                    if response.status == 200:
                        return
            await asyncio.sleep(0.05)
        raise ChildFault(f"{child.name} did not become ready at {url}: {child.last_words()}")


def _url_of(listener: socket.socket) -> str:
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


def _nodes(facts: StackFacts) -> dict[str, str]:
    """Return where each network's node is; one node may hold the assets of two networks (P-NW-05)."""
    settings = {} if facts.local_networks_file is None else {"WP_LOCAL_NETWORKS": str(facts.local_networks_file)}
    for key in facts.networks:
        settings |= lane_of(key).node_settings(key, facts.reach)
    return settings


def payees(data_dir: Path) -> dict[str, dict[str, str]]:
    """Return each tenant's account on each chain, made on the first start."""
    return {
        name: {lane.name: lane.account(payout_key_file(data_dir, name, lane)) for lane in LANES.values()}
        for name in NAMES
    }


def payout_key_file(data_dir: Path, tenant: str, lane: Lane) -> Path:
    """Return the file with the key of a tenant's account on a chain."""
    return data_dir / f"payout_{tenant}_{lane.name}{lane.key_suffix}"
