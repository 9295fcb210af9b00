"""A whole stack: chains, simulated or real nodes, and the surfaces that exist, wired to each other."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp

from localnet import accounts, algod
from localnet.control import ControlFault, control, verbs_of
from localnet.nodes import Nodes, Starter
from localnet.plan import COMPANIONS, PORTS, Plan
from localnet.prepared.service import Prepared, prepared
from localnet.processes import Child, ChildFault, all_of, first_end, listening_socket
from localnet.profile import StackFacts
from localnet.surfaces import TITLES, Surfaces, payees

_NAMES = {"algorand": ("algod", "indexer"), "base": ("base", "base_sepolia"), "solana": ("solana", "solana_ws")}
_CHAIN_PORTS = tuple(name for names in _NAMES.values() for name in names)
SLOT_SECONDS = 0.02
_PAYEE_ALGORAND = "payto_algorand.mnemonic"
# USDC where the network's own is not the node's first.
_ASSETS = {"algorand_testnet": "10458941", "solana_devnet": "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"}


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

    async def renew(self, before: Sequence[str] = ()) -> None:
        """Start every surface again, with nothing of what it kept and at the same address; the chains go on.

        Args:
            before: Words between the interpreter and each service's module, as of a program that runs it in its way.

        Raises:
            ChildFault: One did not become ready.
        """
        started = [child for child in self.children if child.name in TITLES.values()]
        await _stop_all(started)
        for name in TITLES:
            shutil.rmtree(self.plan.data_dir / name, ignore_errors=True)
        self.children[:] = [child for child in self.children if child not in started]
        self._surfaces.before = before
        await self._surfaces.start()

    async def follow_clock(self) -> None:
        """Forward each change of the clock file to the chains whose block times can be moved, for ever."""
        applied = 0.0
        listed = {url: await verbs_of(self._session, url) for url in self.facts.controls}
        movable = [url for url, verbs in listed.items() if "block_time_offset" in verbs]
        while True:
            with suppress(OSError, ValueError, ControlFault):
                wanted = float(self.facts.clock_file.read_text("ascii").strip() or "0")
                if wanted > applied:
                    for url in movable:
                        await control(self._session, url, "block_time_offset", seconds=int(wanted))
                    applied = wanted
            await asyncio.sleep(0.02)

    async def first_end(self) -> Child:
        """Wait until a child ends by itself and return it."""
        return await first_end(self.children)


@asynccontextmanager
async def running(plan: Plan) -> AsyncIterator[Stack]:
    """Bring a stack up, and end every process of it on leaving.

    Raises:
        ChildFault: A part did not become ready.
    """
    async with AsyncExitStack() as exits:
        session = await exits.enter_async_context(
            aiohttp.ClientSession(trust_env=False, timeout=aiohttp.ClientTimeout(total=60))
        )
        forks = await exits.enter_async_context(prepared(plan.data_dir))
        children: list[Child] = []
        exits.push_async_callback(_stop_all, children)
        real = {name for lane in plan.of_kind("localnet") for name in _NAMES[lane]}
        sockets = {
            name: exits.enter_context(listening_socket("127.0.0.1", plan.port(name)))
            for name in ((*PORTS, *COMPANIONS) if plan.surfaces else _CHAIN_PORTS)
            if name not in real
        }
        nodes = await _start_nodes(plan, session, children)
        token = _token_file(plan.data_dir) if nodes.algod is None else nodes.algod.token_file
        await _start_chains(plan, sockets, token, children, forks)
        facts = _facts(plan, sockets, nodes, token)
        facts.clock_file.write_text("0\n", "ascii")
        await asyncio.gather(*_prepared(session, facts, nodes.algod, plan.data_dir / _PAYEE_ALGORAND))
        surfaces = Surfaces(plan, facts, sockets, session, children, forks)
        await surfaces.start()
        for name, seed in plan.faults:
            for url in facts.controls:
                await _control(session, url, "fault", name=name, seed=seed, count=1_000_000_000)
        yield Stack(plan, facts, children, session, surfaces)


async def _stop_all(children: list[Child]) -> None:
    await asyncio.gather(*(child.stop() for child in reversed(children)))


async def _start_nodes(plan: Plan, session: aiohttp.ClientSession, children: list[Child]) -> Nodes:
    """Start the real nodes; what runs already stands in `children` when one of them fails."""
    starter = Starter(session, plan.data_dir, plan.port, plan.block_seconds)
    try:
        return await starter.start(plan.of_kind("localnet"))
    finally:
        children += starter.nodes.children


async def _start_chains(
    plan: Plan, sockets: Mapping[str, socket.socket], token: Path, children: list[Child], forks: Prepared | None
) -> None:
    """Start every simulated chain side by side: Base twice, since a node has one chain id (P-NW-05)."""
    blocks = ["--block-seconds", str(plan.block_seconds)]

    async def start(name: str, module: str, fds: Mapping[str, str], further: list[str]) -> None:
        passed = [word for option, place in fds.items() for word in (option, str(sockets[place].fileno()))]
        log = plan.data_dir / "logs" / f"{name}.log"
        inherited = [sockets[place] for place in fds.values()]
        words = [module, *passed, *further]
        child = await Child.start(f"the simulated {name}", words, log=log, sockets=inherited, prepared=forks)
        children.append(child)
        await child.ready_line()

    algod = {"--algod-fd": "algod", "--indexer-fd": "indexer"}
    solana = {"--fd": "solana", "--ws-fd": "solana_ws"}
    chains = {
        "algorand": lambda: [start("Algorand", "sim.algorand", algod, [*blocks, "--token-file", str(token)])],
        "base": lambda: [
            start("Base", "sim.base", {"--fd": "base"}, blocks),
            start("Base Sepolia", "sim.base", {"--fd": "base_sepolia"}, [*blocks, "--chain-id", "84532"]),
        ],
        "solana": lambda: [start("Solana", "sim.solana", solana, ["--slot-seconds", str(SLOT_SECONDS)])],
    }
    await all_of(one for lane in plan.of_kind("sim") for one in chains[lane]())


def _facts(plan: Plan, sockets: Mapping[str, socket.socket], nodes: Nodes, token: Path) -> StackFacts:
    def address(name: str, scheme: str = "http", host: str = "127.0.0.1") -> str:
        if name not in sockets:  # a surface of which there is none
            return nodes.urls.get(name, "")
        return nodes.urls.get(name) or f"{scheme}://{host}:{sockets[name].getsockname()[1]}"

    simulated = {"algorand": "algod", "base": "base", "base_sepolia": "base_sepolia", "solana": "solana"}
    control = {name: f"{address(place)}/control" for name, place in simulated.items() if place in sockets}

    return StackFacts(
        rail=address("rail", host="localhost"),
        gateway=address("gateway", host="localhost"),
        agent=address("agent", host="localhost"),
        control_plane=address("control_plane", host="localhost"),
        federation_validator=address("federation_validator", host="localhost"),
        zkp_receipt=address("zkp_receipt", host="localhost"),
        atb_verifier=address("atb_verifier", host="localhost"),
        algod=address("algod"),
        indexer=address("indexer"),
        base=address("base"),
        base_sepolia=address("base_sepolia"),
        solana=address("solana"),
        solana_ws=address("solana_ws", "ws"),
        algod_token_file=token,
        settler_key_file=plan.data_dir / "settler.key",
        payto_algorand=accounts.algorand(plan.data_dir / _PAYEE_ALGORAND),
        payto_base=accounts.evm(plan.data_dir / "payto_base.key"),
        payto_solana=accounts.solana(plan.data_dir / "payto_solana.json"),
        clock_file=plan.data_dir / "clock_offset",
        lanes=plan.lanes,
        kinds=plan.kinds,
        control={**control, **nodes.controls},
        service_word=plan.settings.get("WP_SERVICE_WORD", "Weldproof"),
        surfaces=plan.surfaces,
        payees=payees(plan.data_dir),
    )


def _prepared(
    session: aiohttp.ClientSession, facts: StackFacts, node: algod.Algod | None, payee_key: Path
) -> list[Coroutine[Any, Any, None]]:
    """Return what gives payees their token accounts and the settler his gas."""

    async def algorand() -> None:
        await _control(session, facts.control["algorand"], "fund", address=facts.payto_algorand, amount="10000000")
        if node is not None:
            await algod.opt_in(node, payee_key)
        await _control(session, facts.control["algorand"], "mint", address=facts.payto_algorand, amount="1")

    async def base() -> None:
        settler = accounts.evm(facts.settler_key_file)
        await _control(session, facts.control["base"], "fund", address=settler, amount=str(10**20))

    async def solana() -> None:
        await _control(session, facts.control["solana"], "fund", address=facts.payto_solana, amount="1000000000")
        await _control(session, facts.control["solana"], "mint", address=facts.payto_solana, amount="1")

    prepare = {"algorand": algorand, "base": base, "solana": solana}
    return [prepare[lane]() for lane in facts.lanes] + [
        _payable(session, facts, payee, lane)
        for payee in facts.payees.values()
        for lane in facts.lanes
        if lane != "base" and "gateway" in facts.surfaces
    ]


async def _payable(session: aiohttp.ClientSession, facts: StackFacts, payee: Mapping[str, str], lane: str) -> None:
    """Give a tenant's account what it must have to be paid: a token account for each asset of its chain."""
    await _control(session, facts.control[lane], "fund", address=payee[lane], amount="1000000000")
    for network in facts.networks:
        if network.partition("_")[0] == lane:
            asset = {"asset": _ASSETS[network]} if network in _ASSETS else {}
            await _control(session, facts.control[lane], "mint", address=payee[lane], amount="1", **asset)


async def _control(session: aiohttp.ClientSession, url: str, verb: str, **members: object) -> None:
    try:
        await control(session, url, verb, **members)
    except ControlFault as fault:
        raise ChildFault(str(fault)) from fault


def _token_file(data_dir: Path) -> Path:
    path = data_dir / "algod_token"
    if not path.exists():
        accounts.write_secret(path, os.urandom(32).hex())
    return path
