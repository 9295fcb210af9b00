"""A whole stack: chains, simulated or real nodes, and the surfaces that exist, wired to each other."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import aiohttp

from localnet import real_nodes
from localnet.balancer import start_balancer
from localnet.block_clocks import keep_current
from localnet.lanes.lane import Ask, Lane, Reach, Simulator
from localnet.lanes.registry import LANES, lane_of
from localnet.node_control import ControlFault, control, verbs_of
from localnet.node_processes import NodeProcesses
from localnet.plan import BALANCED, COMPANIONS, PORTS, Plan, list_further_workers, worker_place
from localnet.prepared.service import Prepared, start_fork_server
from localnet.processes import Child, ChildFault, all_of, first_end, listening_socket
from localnet.profile import RESTARTED_SERVICES, StackFacts, reprice_file, restart_file, rotation_file
from localnet.surfaces import TITLES, WORKER_MARK, Surfaces, payees, payout_key_file

_CHAIN_PORTS = tuple(name for lane in LANES.values() for name in lane.ports)


class Stack:
    """A running stack."""

    def __init__(
        self, plan: Plan, facts: StackFacts, children: list[Child], session: aiohttp.ClientSession, surfaces: Surfaces
    ) -> None:
        self.plan = plan
        self.facts = facts
        self.children = children
        self._session = session
        self._surfaces = surfaces
        self._changed = asyncio.Event()

    async def renew(self, before: Sequence[str] = ()) -> None:
        """Start every surface again, with nothing of what it kept and at the same address; the chains go on.

        Args:
            before: Words between the interpreter and each service's module, as of a program that runs it in its way.

        Raises:
            ChildFault: One did not become ready.
        """
        services = [child for child in self.children if _service_of(child) in TITLES.values()]
        await _stop_all(services)
        for wish in self._starts_by_wish():
            wish.unlink(missing_ok=True)
        for name in TITLES:
            shutil.rmtree(self.plan.data_dir / name, ignore_errors=True)
        self.children[:] = [child for child in self.children if child not in services]
        self._surfaces.databases.clear()
        self._surfaces.before = before
        await self._surfaces.start()

    async def follow_clock(self) -> None:
        """Forward each change of the clock file to the chains whose block times can be moved, for ever."""
        current_offset = 0.0
        verbs_by_url = {url: await verbs_of(self._session, url) for url in self.facts.controls}
        movable = [url for url, verbs in verbs_by_url.items() if "block_time_offset" in verbs]
        while True:
            with suppress(OSError, ValueError, ControlFault):
                offset = float(self.facts.clock_file.read_text("ascii").strip() or "0")
                if offset > current_offset:
                    for url in movable:
                        await control(self._session, url, "block_time_offset", seconds=int(offset))
                    current_offset = offset
            await asyncio.sleep(0.02)

    async def follow_block_clocks(self) -> None:
        """Keep the block clocks of simulators from falling behind, for ever."""
        reach, mode = self.facts.reach, self.plan.block_mode
        clocks = [
            LANES[name].simulated_clock(self._session, reach, self.facts.payto[name], mode)
            for name in self.plan.of_kind("sim")
        ]
        await asyncio.gather(asyncio.Event().wait(), *(keep_current(clock) for clock in clocks if clock is not None))

    async def first_end(self) -> Child:
        """Wait until a child ends by itself and return it; one that is started again has not."""
        while True:
            self._changed.clear()
            waits = [asyncio.ensure_future(first_end(self.children)), asyncio.ensure_future(self._changed.wait())]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                if waits[0].done() and (child := waits[0].result()) in self.children:
                    return child
            finally:
                for wait in waits:
                    wait.cancel()

    def _starts_by_wish(self) -> Mapping[Path, tuple[str, Callable[[], Awaitable[None]]]]:
        """Return the file that asks for each restart, with the service and what starts it."""
        starts = {"rail": self._surfaces.start_rail, "gateway": self._surfaces.start_gateway}
        folder = self.plan.data_dir
        return {
            **{restart_file(folder, name): (name, starts[name]) for name in RESTARTED_SERVICES},
            reprice_file(folder): ("rail", self._surfaces.start_repriced_rail),
        }

    async def follow_restarts(self) -> None:
        """Start a surface again, with what it kept, or rotate its key, if its file asks for that; then remove the file.

        Raises:
            ChildFault: It did not become ready, or the command that rotates failed.
        """
        starts = self._starts_by_wish()
        while True:
            for wish, (name, start) in starts.items():
                if wish.exists():
                    old = [child for child in self.children if _service_of(child) == TITLES[name]]
                    self.children[:] = [child for child in self.children if child not in old]
                    await _stop_all(old)
                    await start()
                    self._changed.set()
                    wish.unlink()
            for name in RESTARTED_SERVICES:
                if (wish := rotation_file(self.plan.data_dir, name)).exists():
                    await self._surfaces.rotate_key(name)
                    wish.unlink()
            await asyncio.sleep(0.05)


@asynccontextmanager
async def run_stack(plan: Plan, progress: Callable[[str], None]) -> AsyncIterator[Stack]:
    """Bring a stack up, and end every process of it on leaving.

    Args:
        plan: What to start.
        progress: Takes the words for each step as it begins.

    Raises:
        ChildFault: A part did not become ready.
    """
    async with AsyncExitStack() as exits:
        session = await exits.enter_async_context(
            aiohttp.ClientSession(trust_env=False, timeout=aiohttp.ClientTimeout(total=60))
        )
        forks = await exits.enter_async_context(start_fork_server(plan.data_dir))
        children: list[Child] = []
        exits.push_async_callback(_stop_all, children)
        real = {name for lane in plan.of_kind("localnet") for name in LANES[lane].ports}
        sockets = {
            name: exits.enter_context(listening_socket("127.0.0.1", plan.port(name)))
            for name in ((*PORTS, *COMPANIONS) if plan.surfaces else _CHAIN_PORTS)
            if name not in real
        }
        if plan.surfaces:
            for name in BALANCED:
                for number in list_further_workers(plan, name):
                    sockets[worker_place(name, number)] = exits.enter_context(listening_socket("127.0.0.1", 0))
        nodes = NodeProcesses(session, plan.data_dir, plan.port, plan.block_seconds)
        progress(f"starting the chains: {', '.join(plan.lanes)}")
        try:
            await real_nodes.start(nodes, plan.of_kind("localnet"))
        finally:
            children += nodes.children
        files = {
            name: path
            for lane in LANES.values()
            for name, path in lane.files(plan.data_dir, nodes.found.get(lane.name)).items()
        }
        await _start_chains(plan, sockets, files, children, forks)
        facts = _facts(plan, sockets, nodes, files)
        facts.clock_file.write_text("0\n", "ascii")
        if facts.local_networks_file is not None:
            rows = [asdict(local) for local in facts.reach.local.values()]
            facts.local_networks_file.write_text(json.dumps(rows), "utf-8")
        progress("funding accounts")
        await asyncio.gather(*_preparations(plan, session, facts))
        surfaces = Surfaces(plan, facts, sockets, session, children, forks)
        if plan.surfaces and plan.has_nginx:
            balanced_sockets = {name: sockets[name] for name in BALANCED}
            worker_sockets = {name: surfaces.list_listeners(name) for name in BALANCED}
            children.append(await start_balancer(plan.data_dir / "nginx", balanced_sockets, worker_sockets))
        if plan.surfaces:
            progress(f"starting the services: {', '.join(plan.surfaces)}")
        await surfaces.start()
        for name, seed in plan.faults:
            for url in facts.controls:
                await _control(session, url, "fault", name=name, seed=seed, count=1_000_000_000)
        yield Stack(plan, facts, children, session, surfaces)


def _service_of(child: Child) -> str:
    """Return the title of the service of a worker, or the name of another child."""
    return child.name.partition(WORKER_MARK)[0]


async def _stop_all(children: list[Child]) -> None:
    await asyncio.gather(*(child.stop() for child in reversed(children)))


async def _start_chains(
    plan: Plan,
    sockets: Mapping[str, socket.socket],
    files: Mapping[str, Path],
    children: list[Child],
    forks: Prepared | None,
) -> None:
    """Start every simulated chain side by side."""

    async def start(chain: Simulator) -> None:
        fd_options = [word for option, place in chain.fds.items() for word in (option, str(sockets[place].fileno()))]
        log = plan.data_dir / "logs" / f"{chain.title}.log"
        sockets_of_chain = [sockets[place] for place in chain.fds.values()]
        words = [chain.module, *fd_options, *chain.words]
        child = await Child.start(
            f"the simulated {chain.title}", words, log=log, sockets=sockets_of_chain, fork_server=forks
        )
        children.append(child)
        await child.ready_line()

    lanes = [LANES[name] for name in plan.of_kind("sim")]
    simulators = [chain for lane in lanes for chain in lane.simulators(plan.block_seconds, files, plan.block_mode)]
    await all_of(start(chain) for chain in simulators)


def _facts(
    plan: Plan, sockets: Mapping[str, socket.socket], nodes: NodeProcesses, files: Mapping[str, Path]
) -> StackFacts:
    def address(name: str, scheme: str = "http", host: str = "127.0.0.1") -> str:
        if name not in sockets:  # a surface that does not exist
            return nodes.urls.get(name, "")
        return nodes.urls.get(name) or f"{scheme}://{host}:{sockets[name].getsockname()[1]}"

    ports = {name: port for lane in LANES.values() for name, port in lane.ports.items()}
    places = {node: place for lane in LANES.values() for node, place in lane.nodes.items()}
    control = {node: f"{address(place)}/control" for node, place in places.items() if place in sockets}

    return StackFacts(
        rail=address("rail", host="localhost"),
        gateway=address("gateway", host="localhost"),
        agent=address("agent", host="localhost"),
        control_plane=address("control_plane", host="localhost"),
        federation_validator=address("federation_validator", host="localhost"),
        zkp_receipt=address("zkp_receipt", host="localhost"),
        atb_verifier=address("atb_verifier", host="localhost"),
        reach=Reach(
            {name: address(name, port.scheme) for name, port in ports.items()},
            files,
            {**control, **nodes.controls},
            nodes.local,
        ),
        payto={
            lane.name: lane.account(plan.data_dir / f"payto_{lane.name}{lane.key_suffix}") for lane in LANES.values()
        },
        clock_file=plan.data_dir / "clock_offset",
        lanes=plan.lanes,
        kinds=plan.kinds,
        service_word=plan.settings.get("WP_SERVICE_WORD", "Weldproof"),
        surfaces=plan.surfaces,
        payees=payees(plan.data_dir),
    )


def _preparations(plan: Plan, session: aiohttp.ClientSession, facts: StackFacts) -> list[Coroutine[Any, Any, None]]:
    """Return what makes the accounts of the rail ready, and those of the gateway's tenants."""

    async def ask(node: str, verb: str, /, **members: object) -> None:
        await _control(session, facts.reach.control[node], verb, **members)

    lanes = [LANES[name] for name in facts.lanes]
    return [lane.prepare(ask, facts.payto[lane.name], plan.data_dir, facts.reach) for lane in lanes] + [
        _payable(ask, facts, lane, payee[lane.name], payout_key_file(plan.data_dir, name, lane))
        for name, payee in facts.payees.items()
        for lane in lanes
        if lane.opts_in and facts.pays_tenants
    ]


async def _payable(ask: Ask, facts: StackFacts, lane: Lane, payee: str, key_file: Path) -> None:
    """Give a tenant's account coin, and a holding of each asset of its chain that it opts in to by its key."""
    await ask(lane.name, "fund", address=payee, amount="1000000000")
    for network in facts.networks:
        if lane_of(network) is lane:
            local = facts.reach.local.get(lane.name)
            asset = lane.assets.get(network) if local is None else local.asset_id
            await lane.opt_in(key_file, asset, facts.reach)
            await ask(lane.name, "mint", address=payee, amount="1", **({"asset": asset} if asset else {}))


async def _control(session: aiohttp.ClientSession, url: str, verb: str, **members: object) -> None:
    try:
        await control(session, url, verb, **members)
    except ControlFault as fault:
        raise ChildFault(str(fault)) from fault
