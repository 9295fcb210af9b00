"""A whole stack: the simulated chains and the surfaces that exist, wired to each other."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
from algosdk import account, mnemonic

from localnet.control import ControlFault, control
from localnet.processes import READY_SECONDS, Child, ChildFault, listening_socket
from localnet.profile import StackFacts

ALGOD_PORT, INDEXER_PORT, RAIL_PORT = 4001, 8980, 8402
_RAISED = "1000000"


@dataclass(frozen=True, slots=True)
class Plan:
    """What to bring up.

    Attributes:
        data_dir: Folder for keys, databases, logs and the profile.
        port_base: None for the usual ports, 0 for free ones, else the first of consecutive ones.
        block_seconds: Time between blocks.
        mutant: Id of the broken variant that the rail runs as, or None.
        faults: Chain faults to switch on, as (name, seed).
        settings: Further settings of the surfaces, by environment name.
    """

    data_dir: Path
    port_base: int | None = None
    block_seconds: float = 0.2
    mutant: str | None = None
    faults: tuple[tuple[str, int], ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)

    def port(self, usual: int, place: int) -> int:
        """Return the port of the `place`-th address."""
        if self.port_base is None:
            return usual
        return self.port_base + place if self.port_base else 0


class Stack:
    """A running stack."""

    def __init__(self, plan: Plan, facts: StackFacts, children: list[Child], session: aiohttp.ClientSession) -> None:
        self.plan = plan
        self.facts = facts
        self.children = children
        self._session = session

    async def follow_clock(self) -> None:
        """Forward each change of the clock file to the chains, for ever."""
        applied = 0.0
        while True:
            with suppress(OSError, ValueError, ControlFault):
                wanted = float(self.facts.clock_file.read_text("ascii").strip() or "0")
                if wanted > applied:
                    await control(
                        self._session, f"{self.facts.algod}/control", "block_time_offset", seconds=int(wanted)
                    )
                    applied = wanted
            await asyncio.sleep(0.02)

    async def first_end(self) -> Child:
        """Wait until a child ends by itself and return it."""
        waits = {asyncio.create_task(child.ended()): child for child in self.children}
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()
        return waits[done.pop()]


@asynccontextmanager
async def running(plan: Plan) -> AsyncIterator[Stack]:
    """Bring a stack up, and end every process of it on leaving.

    Raises:
        ChildFault: A part did not become ready.
    """
    async with AsyncExitStack() as exits:
        session = await exits.enter_async_context(
            aiohttp.ClientSession(trust_env=False, timeout=aiohttp.ClientTimeout(total=10))
        )
        children: list[Child] = []
        exits.push_async_callback(_stop_all, children)
        algod, indexer, rail = (
            exits.enter_context(listening_socket("127.0.0.1", plan.port(usual, place)))
            for place, usual in enumerate((ALGOD_PORT, INDEXER_PORT, RAIL_PORT))
        )
        token = _token_file(plan.data_dir)
        payto = _payto(plan.data_dir)
        chain = await _start_algorand(plan, algod, indexer, token)
        children.append(chain)
        ready = await chain.ready_line()
        facts = StackFacts(
            rail=f"http://localhost:{rail.getsockname()[1]}",
            algod=str(ready["algod"]),
            indexer=str(ready["indexer"]),
            algod_token_file=token,
            payto_algorand=payto,
            clock_file=plan.data_dir / "clock_offset",
            service_word=plan.settings.get("WP_SERVICE_WORD", "Weldproof"),
        )
        facts.clock_file.write_text("0\n", "ascii")
        await _prepare_payee(session, facts)
        children.append(await _start_rail(plan, facts, rail))
        await _healthy(session, f"{facts.rail}/health", children[-1])
        for name, seed in plan.faults:
            await _control(session, facts, "fault", name=name, seed=seed, count=1_000_000_000)
        yield Stack(plan, facts, children, session)


async def _stop_all(children: list[Child]) -> None:
    await asyncio.gather(*(child.stop() for child in reversed(children)))


async def _start_algorand(plan: Plan, algod: socket.socket, indexer: socket.socket, token: Path) -> Child:
    arguments = ["--algod-fd", str(algod.fileno()), "--indexer-fd", str(indexer.fileno())]
    arguments += ["--block-seconds", str(plan.block_seconds), "--token-file", str(token)]
    log = plan.data_dir / "logs" / "algorand.log"
    return await Child.start("the simulated Algorand", ["sim.algorand", *arguments], log=log, sockets=[algod, indexer])


async def _start_rail(plan: Plan, facts: StackFacts, rail: socket.socket) -> Child:
    module = ["reference.rail"] if plan.mutant is None else ["reference.mutants", plan.mutant, "reference.rail"]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("WP_", "S2CP_", "S2_"))},
        "WP_RAIL_FD": str(rail.fileno()),
        "WP_RAIL_PUBLIC_URL": facts.rail,
        "WP_RAIL_DATA_DIR": str(plan.data_dir / "rail"),
        "WP_RAIL_LANES": "algorand_mainnet",
        "WP_RAIL_PAYTO_ALGORAND": facts.payto_algorand,
        "WP_NODE_ALGORAND_MAINNET": facts.algod,
        "WP_INDEXER_ALGORAND_MAINNET": facts.indexer,
        "WP_NODE_TOKEN_ALGORAND_MAINNET_FILE": str(facts.algod_token_file),
        "WP_CLOCK_OFFSET_FILE": str(facts.clock_file),
        "WP_RAIL_RATE": _RAISED,
        "WP_RAIL_CONFIRM_WAIT": "1",
        **plan.settings,
    }
    log = plan.data_dir / "logs" / "rail.log"
    return await Child.start("the rail", module, log=log, environment=environment, sockets=[rail])


async def _healthy(session: aiohttp.ClientSession, url: str, child: Child) -> None:
    deadline = asyncio.get_running_loop().time() + READY_SECONDS
    while asyncio.get_running_loop().time() < deadline and child.running:
        with suppress(aiohttp.ClientError, TimeoutError):
            async with session.get(url, timeout=aiohttp.ClientTimeout(total=2)) as response:
                if response.status == 200:
                    return
        await asyncio.sleep(0.05)
    raise ChildFault(f"{child.name} did not become ready at {url}: {child.last_words()}")


async def _prepare_payee(session: aiohttp.ClientSession, facts: StackFacts) -> None:
    await _control(session, facts, "fund", address=facts.payto_algorand, amount="10000000")
    await _control(session, facts, "mint", address=facts.payto_algorand, amount="1")


async def _control(session: aiohttp.ClientSession, facts: StackFacts, verb: str, **members: object) -> None:
    try:
        await control(session, f"{facts.algod}/control", verb, **members)
    except ControlFault as fault:
        raise ChildFault(str(fault)) from fault


def _token_file(data_dir: Path) -> Path:
    path = data_dir / "algod_token"
    if not path.exists():
        _write_secret(path, os.urandom(32).hex())
    return path


def _payto(data_dir: Path) -> str:
    """Return the address the rail is paid to; its mnemonic stays in a file of the data directory, mode 0600."""
    path = data_dir / "payto_algorand.mnemonic"
    if not path.exists():
        _write_secret(path, mnemonic.from_private_key(account.generate_account()[0]))
    address: str = account.address_from_private_key(mnemonic.to_private_key(path.read_text("ascii").strip()))
    return address


def _write_secret(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text + "\n")
